"""``verify``: whether a report is genuine and what was asked: a verdict, what it is about, its age.

Needs no service, and loads nothing else, unless it is to ask whether the verdict was revoked since.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from app.cli.files import file_sha256, read_bounded
from app.cli.plain_lines import plain_line, plain_lines
from app.evidence.canonical import instant_text
from app.evidence.faults import EvidenceError
from app.evidence.keys import read_keys
from app.evidence.statement import VERDICTS, Statement, is_sha256
from app.evidence.verification import Verified, check_page, verify

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE: Final = re.compile(r"([0-9]{1,6})([smhdw])")
CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""How far ahead of this machine's clock the issuer's may be."""


@dataclass(frozen=True)
class Requirements:
    """What must hold of a report; what is empty or None is not asked."""

    verdict: str | None = None
    """``pass``, ``fail`` or ``error``."""
    subjects: tuple[str, ...] = ()
    """Hashes (sha256) that must be among those of the statement's subjects."""
    files: tuple[tuple[Path, str], ...] = ()
    """Files, with the sha256 of their bytes, that must be the release file that was judged or its canonical
    form.
    """
    max_age: timedelta | None = None
    """How long ago it may have been issued."""
    policy: str | None = None
    """The policy of the verdict: its name, ``NAME@VERSION``, or its sha256."""


def unmet(statement: Statement, requirements: Requirements, now: datetime) -> list[str]:
    """A sentence for each requirement that is not met."""
    return [
        *_verdict(statement, requirements),
        *_policy(statement, requirements),
        *_subjects(statement, requirements),
        *_age(statement, requirements, now),
    ]


def other_bytes(statement: Statement, requirements: Requirements) -> list[str]:
    """A sentence for each release file that is asked about as it was judged, which is not its canonical form.

    How a file is written can carry what its cells do not; the canonical form carries nothing else.
    """
    asked = [(own, own) for own in requirements.subjects]
    asked += [(str(path), found) for path, found in requirements.files]
    return [
        f"{shown}: same content, other bytes than the canonical file (sha256 {statement.files[found]})"
        for shown, found in asked
        if statement.files.get(found, found) != found
    ]


def policy_of(statement: Statement) -> tuple[str, str] | None:
    """``NAME@VERSION`` and the sha256 of the policy of a verdict; None for an assessment."""
    if statement.report != "verdict":
        return None
    policy = statement.predicate["result"]["policy"]
    return f"{policy['name']}@{policy['version']}", policy["sha256"]


def age_of(text: str) -> timedelta:
    """The age that ``90s``, ``30m``, ``24h``, ``7d`` or ``2w`` names; ValueError for anything else."""
    found = _AGE.fullmatch(text)
    if found is None:
        raise ValueError("an age is a whole number with s, m, h, d or w, such as 7d")
    return timedelta(**{_UNITS[found[2]]: int(found[1])})


def sha256_text(text: str) -> str:
    """The hash, in lower case; ValueError unless it is 64 hexadecimal digits."""
    if not is_sha256(text.lower()):
        raise ValueError("a sha256 is 64 hexadecimal digits")
    return text.lower()


def _verdict(statement: Statement, requirements: Requirements) -> Iterator[str]:
    if requirements.verdict is None:
        return
    if statement.report != "verdict":
        yield "It is an assessment, which has no verdict."
        return
    found = statement.predicate["result"].get("verdict")
    if found != requirements.verdict:
        yield f"Its verdict is {found}, not {requirements.verdict}."


def _policy(statement: Statement, requirements: Requirements) -> Iterator[str]:
    if requirements.policy is None:
        return
    found = policy_of(statement)
    if found is None:
        yield "It is an assessment, which has no policy."
        return
    name, sha256 = found
    # A policy may be called like the hash of another one: what reads as a hash is never taken for a name.
    by_hash = is_sha256(requirements.policy.lower())
    answers = (sha256,) if by_hash else (name, name.rpartition("@")[0])
    if (requirements.policy.lower() if by_hash else requirements.policy) not in answers:
        yield f"It was judged by the policy {name} (sha256 {sha256}), not by {requirements.policy}."


def _subjects(statement: Statement, requirements: Requirements) -> Iterator[str]:
    hashes = {own.sha256 for own in statement.subjects}
    for wanted in requirements.subjects:
        if wanted not in hashes:
            yield f"It is not about {wanted}."
    for path, found in requirements.files:
        if found not in statement.files:
            yield f"The release that was judged is not the file {path} as that is now (sha256 {found})."


def _age(statement: Statement, requirements: Requirements, now: datetime) -> Iterator[str]:
    if requirements.max_age is None:
        return
    issued = statement.issued_at
    if now - issued > requirements.max_age:
        yield f"It was issued at {instant_text(issued)}, longer ago than is allowed."
    elif issued - now > CLOCKS_DIFFER:
        yield f"It was issued at {instant_text(issued)}, which is still to come by this machine's clock."


def revoked(server: str | None, sha256: str) -> Iterator[str]:
    """A sentence if the service says that the report's verdict was revoked; OSError if it cannot say."""
    import httpx

    from privacy_risk import Client, ClientError

    key = os.environ.get("PRIVACY_RISK_API_KEY")
    if not server or not key:
        raise OSError("--online needs --server, and the server's key in PRIVACY_RISK_API_KEY.")
    try:
        with Client(server, key) as client:
            standing = client.evidence.standing(sha256)
    except (ClientError, httpx.TransportError) as error:
        raise OSError(f"The service does not say whether the report still stands: {error}") from error
    revocation = standing["revocation"]
    if revocation is not None:
        yield f"Its verdict was revoked on {revocation['revoked_at'][:10]}: {revocation['reason']}"


GENUINE: Final = 0
NOT_AS_ASKED: Final = 1
NOT_GENUINE: Final = 2
"""Also where nothing can be said, since a file cannot be read: anything but 0 is no reason to trust."""
ORIGIN_NOT_PROVEN: Final = 3

_Read = TypeVar("_Read")


def _now() -> datetime:
    return datetime.now(UTC)


def main(argv: list[str], clock: Callable[[], datetime] = _now) -> int:
    """Run the command by itself; ``argv`` begins after its name."""
    parser = argparse.ArgumentParser(prog="privacy-risk verify", description=_DESCRIPTION)
    _add_arguments(parser)
    return run_verify(parser.parse_args(argv), clock)


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser("verify", description=_DESCRIPTION)
    _add_arguments(parser)
    parser.set_defaults(run=lambda arguments, _operations: run_verify(arguments))


def keys_beside(report: Path) -> Path:
    """Where a gate without a server writes the public key: ``evidence.keys.json`` for ``evidence.json``."""
    return report.with_name(f"{report.name.removesuffix('.json')}.keys.json")


_DESCRIPTION: Final = (
    "Whether a report is what was signed, byte by byte, by whom, and whether it is what you ask for. Exit "
    "status 0: it is, and one of the keys that you trust has signed it; 1: it is genuine, but not what you "
    "ask for; 2: it was altered, is of no known key, or cannot be read; 3: it is unaltered, and who signed "
    "it is not proven, since its key came along with it."
)


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("report", type=Path, help="the signed report, as the service answered it")
    parser.add_argument(
        "--keys",
        type=Path,
        help="the public keys that you trust, from the service (GET /v1/signing-keys) or the pipeline "
        "(signing-key); without them those that lie beside the report, which prove nothing of its origin",
    )
    parser.add_argument("--html", type=Path, help="a readable page that must carry the report's hash")
    asked = parser.add_argument_group("what the report must say (exit status 1 if it does not)")
    asked.add_argument("--verdict", choices=VERDICTS, help="the verdict")
    asked.add_argument(
        "--policy",
        metavar="POLICY",
        help="it was judged by this policy: NAME, NAME@VERSION, or the policy's sha256, which alone says "
        "what it asked for",
    )
    asked.add_argument(
        "--subject", type=_argument(sha256_text), action="append", default=[], metavar="SHA256",
        help="it is about this: the sha256 of the release file's bytes or of its canonical form, or the "
        "hash of a dataset, rule, release or dictionary; may be repeated",
    )  # fmt: skip
    asked.add_argument(
        "--subject-file", type=Path, action="append", default=[], metavar="FILE",
        help="it is about this very release file, byte by byte, or this is its canonical form; may be "
        "repeated",
    )  # fmt: skip
    asked.add_argument(
        "--max-age",
        type=_argument(age_of),
        metavar="AGE",
        help="how long ago it may have been issued: 24h, 7d",
    )
    asked.add_argument(
        "--online", action="store_true",
        help="its verdict was not revoked, as the service of --server says; the key is in "
        "PRIVACY_RISK_API_KEY. Exit status 2 if that does not answer",
    )  # fmt: skip
    asked.add_argument("--server", metavar="URL", help="the service that issued it, for --online")


def _argument(read: Callable[[str], _Read]) -> Callable[[str], _Read]:
    """The reader of an option's text, whose fault the parser shows."""

    def checked(text: str) -> _Read:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return checked


def run_verify(arguments: argparse.Namespace, clock: Callable[[], datetime] = _now) -> int:
    """Verify and say what was found."""
    beside = keys_beside(arguments.report)
    try:
        trusted = arguments.keys is not None and not _is_same_file(arguments.keys, beside)
        keys = read_keys(read_bounded(arguments.keys if trusted else beside))
        verified = verify(read_bounded(arguments.report), keys)
        if arguments.html is not None:
            check_page(read_bounded(arguments.html).decode("utf-8"), verified.sha256)
        requirements = Requirements(
            arguments.verdict,
            tuple(arguments.subject),
            tuple((path, file_sha256(path)) for path in arguments.subject_file),
            arguments.max_age,
            arguments.policy,
        )
        missed = unmet(verified.statement, requirements, clock())
        notes = other_bytes(verified.statement, requirements)
        if arguments.online:
            missed += revoked(arguments.server, verified.sha256)
    except EvidenceError as error:
        print(plain_lines(f"privacy-risk: {error.code}: {error.message} {error.remedy}"), file=sys.stderr)
        return NOT_GENUINE
    except UnicodeDecodeError:
        print(f"privacy-risk: {arguments.html} is not a page of UTF-8 text.", file=sys.stderr)
        return NOT_GENUINE
    except OSError as error:
        print(f"privacy-risk: {error}", file=sys.stderr)
        return NOT_GENUINE
    proven = trusted and verified.proves_origin
    print(_text(verified, proven))
    for sentence in notes:
        print(plain_line(f"  note    {sentence}"))
    for sentence in missed:
        print(plain_line(f"privacy-risk: not what was asked: {sentence}"), file=sys.stderr)
    if missed:
        return NOT_AS_ASKED
    return GENUINE if proven else ORIGIN_NOT_PROVEN


def _is_same_file(one: Path, other: Path) -> bool:
    return other.exists() and one.exists() and one.samefile(other)


def _text(verified: Verified, proven: bool) -> str:
    statement, predicate = verified.statement, verified.statement.predicate
    resource = predicate["resource"]
    result = predicate["result"]
    about = f"{statement.report} {resource['name']!r}"
    if statement.report == "verdict":
        about += f": {result.get('verdict')}"
    policy = policy_of(statement)
    until = "now" if verified.key.valid_until is None else instant_text(verified.key.valid_until)
    if verified.withdrawal is not None:
        later = ", after this verdict" if verified.withdrawal.withdrawn_at >= statement.issued_at else ""
        about += f"; the release was withdrawn on {verified.withdrawal.withdrawn_at:%Y-%m-%d}{later}"
    lines = [
        f"{'Genuine' if proven else 'Unaltered, origin not proven'}: {about}",
        f"  sha256  {verified.sha256}",
        f"  issued  {predicate['issued_at']}",
        f"  key     {verified.key.id}",
        f"          in use from {instant_text(verified.key.valid_from)} to {until}",
        *([] if proven else [f"          {_why_not_proven(verified)}"]),
        *([] if policy is None else [f"  policy  {policy[0]}, sha256 {policy[1]}"]),
        "  about",
        *(f"          {subject.sha256}  {subject.name}" for subject in statement.subjects),
    ]
    # Names are whatever the signer wrote, who may be nobody that is trusted.
    return "\n".join(plain_line(line) for line in lines)


def _why_not_proven(verified: Verified) -> str:
    if verified.statement.signed_by == "temporary":
        return "made for this report alone: anybody can make a report with such a key"
    return "came along with the report: compare it with a key that you have from whoever signs"
