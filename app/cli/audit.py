"""``audit``: tries to refute what a certified mechanism promises, on made-up tables."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from app.cli.operations import Operations
from app.cli.shared_arguments import add_json_argument
from app.domain.errors import Fault, InvalidInput

if TYPE_CHECKING:
    from app.domain.mechanisms.mechanism_audit import Audit
    from app.services.resources import JsonObject

_RUNS: Final = 200_000


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "audit",
        description="Try to refute what a differentially private mechanism promises, on made-up tables of "
        "few records about its own thresholds: by the exact laws of what they can be released as, then by "
        "draws of pairs that are hard to hide. Status 1 means refuted. That nothing is refuted is no proof.",
    )
    parser.add_argument("mechanism", metavar="MECHANISM", help="its name in the catalogue")
    parser.add_argument(
        "--parameters",
        type=json.loads,
        metavar="JSON",
        help="as a release is asked for, without the kind (default: some by which small tables are enough)",
    )
    parser.add_argument("--only", choices=("exact", "draws"), help="one of the two (default: both)")
    parser.add_argument("--runs", type=int, default=_RUNS, help=f"draws of each table (default {_RUNS:,})")
    add_json_argument(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Audit; 1 if anything is refuted."""
    # Imported here: no other command needs them.
    from app.domain.mechanisms.mechanism_audit import (
        audit_by_draws,
        drawn_parts,
        exact_audit,
        exact_parts,
    )
    from app.services.releases.audit_work import document_of_audit
    from app.services.scoring.measurement_documents import document_of_parameters

    try:
        own = _asked(arguments.mechanism, arguments.parameters)
        # What is refused is refused before anything is computed: it must not take the place of a verdict.
        exactly = [] if arguments.only == "draws" else [exact_parts(own)]
        drawn = [] if arguments.only == "exact" else [drawn_parts(own, arguments.runs, os.urandom)]
    except InvalidInput as error:
        raise InvalidInput([_by_argument(fault) for fault in error.faults]) from None
    audits = [exact_audit(own, [part() for part in parts]) for parts in exactly]
    audits += [audit_by_draws(own, [part() for part in parts]) for parts in drawn]
    parameters = document_of_parameters(own.parameters)
    if arguments.json:
        found = {"audits": [document_of_audit(audit) for audit in audits]}
        print(json.dumps({"parameters": parameters} | found, ensure_ascii=False))
    else:
        print("\n".join(_lines(audits, parameters)))
    return 1 if any(audit.is_refuted for audit in audits) else 0


def _asked(name: str, parameters: Any) -> Any:  # noqa: ANN401 - loaded with the command
    from pydantic import ValidationError

    from app.api.schemas.derived import value_of
    from app.api.schemas.mechanisms import REQUESTS
    from app.domain.mechanisms.mechanism_audit import AuditedMechanism
    from app.experiments.audited_mechanisms import CERTIFIED
    from app.services.releases.mechanism_manifests import BY_NAME

    if not isinstance(parameters, dict | None):
        raise InvalidInput.of(
            "--parameters", "wrong-type", "It is no JSON object.", "Give the parameters by name."
        )
    if name not in BY_NAME:
        raise InvalidInput.of("MECHANISM", "unknown", f"{name!r} is none of {', '.join(sorted(BY_NAME))}.")
    try:
        body = REQUESTS[name].model_validate(
            {"kind": name, **(CERTIFIED.get(name, {}) if parameters is None else parameters)}
        )
    except ValidationError as error:
        first = error.errors()[0]
        place = "/".join(map(str, first["loc"]))
        raise InvalidInput.of(f"/mechanism/{place}", "invalid", f"{first['msg']}.") from None
    return AuditedMechanism.of(BY_NAME[name], value_of(body, "/mechanism"))


def _by_argument(fault: Fault) -> Fault:
    """At the argument that has the field of a request."""
    if fault.pointer == "/runs":
        return replace(fault, pointer="--runs")
    return replace(fault, pointer=fault.pointer.replace("/mechanism/", "--parameters /", 1))


def _lines(audits: Sequence[Audit], parameters: JsonObject) -> Iterator[str]:
    """What each audit found, and of what: a verdict holds of what was asked for, and of nothing else."""
    against = _against(parameters.get("dictionary"))
    for audit in audits:
        promised = f"{audit.mechanism}, ε = {audit.epsilon:g}, δ = {audit.delta:g}{against}"
        how = "exactly, of small tables" if audit.needs else "by draws of hard pairs"
        yield f"{promised}, {how}: {audit.verdict}"
        yield from (
            f"    {one.part}: {one.least:.6g} needed, {one.promised:.6g} promised" for one in audit.needs
        )
        yield from (f"    {one.pair}, {one.order}, {one.event}: {one.verdict}" for one in audit.tests)
    given = {name: own for name, own in parameters.items() if own is not None and name != "dictionary"}
    yield (
        f"Audited was the code of {audits[0].mechanism} with {json.dumps(given, ensure_ascii=False)}"
        f"{against}, on made-up tables and no dataset. That nothing is refuted is no proof."
    )


def _against(dictionary: Mapping[str, Sequence[str]] | None) -> str:
    if dictionary is None:
        return ""
    entities = max(map(len, dictionary.values()))
    return f", against a dictionary of {entities:,} {'entity' if entities == 1 else 'entities'}"
