"""Evidence of a gate that runs without a server: the command signs it, for its service goes with it.

The key is the pipeline's own, from a file or a secret; without one it is made for the report and forgotten.
Its public part lies beside the report. What the pipeline says of itself and the names of its files are added.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from app.cli.files import file_sha256
from app.cli.gate_question import Subject
from app.domain.errors import InvalidInput
from app.evidence.envelope import opened
from app.evidence.faults import EvidenceError
from app.evidence.keys import PublicKey
from app.evidence.private_keys import read_private_key, resealed
from app.evidence.statement import CANONICAL_PREFIX, FILE_PREFIX, statement_of

KEY_VARIABLE: Final = "PRIVACY_RISK_SIGNING_KEY"
FILE_VARIABLE: Final = "PRIVACY_RISK_SIGNING_KEY_FILE"
MOST_SAID: Final = 200

_PIPELINES: Final = (
    ("GitHub Actions", {"GITHUB_REPOSITORY": "", "GITHUB_RUN_ID": "run ", "GITHUB_SHA": "commit "}),
    ("GitLab CI", {"CI_PROJECT_PATH": "", "CI_PIPELINE_ID": "pipeline ", "CI_COMMIT_SHA": "commit "}),
)
"""What pipelines say of themselves: no name of whoever has set them off."""


@dataclass(frozen=True)
class Own:
    """The evidence as the command signs it, and the public key to lie beside it."""

    envelope: bytes
    key: PublicKey


def add_signing_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options by which a gate without a server signs."""
    signing = parser.add_argument_group("how the evidence is signed, without --server")
    signing.add_argument(
        "--signing-key", type=Path, metavar="FILE",
        help="the pipeline's private key, as signing-key makes one (also by the variable "
        f"{FILE_VARIABLE}, or the key itself in {KEY_VARIABLE}); without one a key is made for this report "
        "alone, which proves no origin",
    )  # fmt: skip
    signing.add_argument(
        "--keys", type=Path, metavar="FILE",
        help="write the public key here, not beside the report (evidence.keys.json for evidence.json)",
    )  # fmt: skip
    signing.add_argument(
        "--requested-by", metavar="TEXT",
        help="who asks, for the report; without it what GitHub Actions or GitLab CI say of the run",
    )  # fmt: skip


def check_signing_arguments(arguments: argparse.Namespace) -> None:
    """InvalidInput for options of signing beside a server, which signs itself, or without a report."""
    for option, given in (
        ("--signing-key", arguments.signing_key),
        ("--keys", arguments.keys),
        ("--requested-by", arguments.requested_by),
    ):
        if given is not None and arguments.server is not None:
            raise InvalidInput.of(
                option, "not-applicable", f"{option} is for gates without a server: a server signs itself.",
                f"Leave {option} out, or --server.",
            )  # fmt: skip
    if arguments.keys is not None and arguments.report is None:
        raise InvalidInput.of(
            "--keys", "needs-report", "There is no report that the key could belong to.", "Add --report."
        )


def signing_key(path: Path | None, environment: MutableMapping[str, str]) -> Ed25519PrivateKey | None:
    """The pipeline's private key, if there is one; InvalidInput for what is none, OSError for an unread file.

    A key is taken out of the environment: no process that is started later inherits it.
    """
    text, where = environment.pop(KEY_VARIABLE, ""), KEY_VARIABLE
    if path is None and not text and environment.get(FILE_VARIABLE):
        path, where = Path(environment[FILE_VARIABLE]), FILE_VARIABLE
    elif path is not None:
        where = "--signing-key"
    try:
        if path is not None:
            text = path.read_text(encoding="ascii", errors="replace")
        return read_private_key(text) if text else None
    except EvidenceError as error:
        raise InvalidInput.of(where, error.code, error.message, error.remedy) from None


def requested_by(given: str | None, environment: Mapping[str, str]) -> str | None:
    """Who asks, as is given, or as the pipeline says of itself; None if nothing is said."""
    said = given
    if said is None:
        said = next(
            (
                f"{name}: " + ", ".join(f"{word}{environment[own]}" for own, word in named.items())
                for name, named in _PIPELINES
                if all(environment.get(own) for own in named)
            ),
            "",
        )
    return " ".join(said.split())[:MOST_SAID] or None


def signed_here(
    envelope: bytes,
    key: Ed25519PrivateKey | None,
    asked_by: str | None,
    subject: Subject,
    also: Mapping[str, Any],
) -> Own:
    """The evidence with who asked and the files' own names, signed by the key or a temporary one.

    ``also`` is what the parameters tell beside what the service says.
    """
    statement = statement_of(opened(envelope).content)
    names = {
        file_sha256(path): path.name for path in (subject.dataset, subject.release) if isinstance(path, Path)
    }
    files: list[dict[str, Any]] = [
        {**own, "name": names.get(own["sha256"], own["name"])}
        for own in statement.predicate.get("files") or ()
    ]
    renamed = {
        f"{prefix}{own['name']}": f"{prefix}{new['name']}"
        for own, new in zip(statement.predicate.get("files") or (), files, strict=True)
        for prefix in (FILE_PREFIX, CANONICAL_PREFIX)
        if own["role"] == "release"
    }
    subjects = tuple(replace(own, name=renamed.get(own.name, own.name)) for own in statement.subjects)
    asker = {"kind": "pipeline", "id": None, "name": asked_by}
    parameters = {**statement.predicate["parameters"], **also}
    predicate = {**statement.predicate, "asked_by": asker, "files": files, "parameters": parameters}
    return Own(*resealed(replace(statement, subjects=subjects, predicate=predicate), key))
