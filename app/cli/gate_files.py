"""What is told of a gate's files before a service is started for them, which takes seconds.

Looked at are names, formats, what people wrote and which columns tables have; what else they hold is read by
the service alone. Errors are those that loading the files would meet.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from app.cli.gate_loading import linked_of, profile_of, slots_filled, tables_of
from app.cli.gate_question import Subject
from app.cli.journey import TableFile, check_tables
from app.cli.table_header import require_described
from app.cli.tables_file import Json
from app.domain.errors import InvalidInput


def check_files(subject: Subject, policy: Json) -> None:
    """InvalidInput, or OSError, if the files of the subject cannot be loaded, whatever is in the columns."""
    tables = tables_of(subject, policy)
    uploaded = [tables.dataset]
    if isinstance(subject.release, Path):
        uploaded.append(TableFile("release", subject.release, None, {}))
    for slot, path in slots_filled(subject, tables, policy).items():
        if isinstance(path, Path):
            linked = linked_of(tables, slot, path)
            uploaded += [TableFile(linked.name, path, None, {}), *linked.lookups]
    for profile in (subject.sensitivity, subject.failure):
        if isinstance(profile, Path):
            profile_of(profile)
    check_tables(uploaded, tables.attributes)
    require_described(tables.dataset, tables.attributes)


def check_policy_file(path: Path, policy: Json) -> None:
    """InvalidInput, naming every mistake, if the file holds no policy."""
    # Imported here: a policy that a server holds is that server's to read.
    from app.services.gates.policy_documents import policy_of

    try:
        policy_of(policy)
    except InvalidInput as error:
        raise InvalidInput(
            [replace(fault, pointer=f"{path}{fault.pointer}") for fault in error.faults]
        ) from None
