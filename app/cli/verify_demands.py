"""What a reader demands of a report beyond its being genuine: a verdict, what it is about, its age."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from app.cli.file_hashes import file_sha256
from app.evidence.instants import instant_text
from app.evidence.statement import FILE_PREFIX, Statement, is_sha256

_UNITS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGE: Final = re.compile(r"([0-9]{1,6})([smhdw])")
CLOCKS_DIFFER: Final = timedelta(minutes=5)
"""How far ahead of this machine's clock the issuer's may be."""


@dataclass(frozen=True)
class Demands:
    """What must hold of a report; what is empty or None is not asked.

    Attributes
    ----------
    verdict
        ``pass``, ``fail`` or ``error``.
    subjects
        Hashes (sha256) that must be among those of the statement's subjects.
    files
        Files that must be the release file that was judged, byte by byte.
    max_age
        How long ago it may have been issued.
    policy
        The policy of the verdict: its name, ``NAME@VERSION``, or its sha256.
    """

    verdict: str | None = None
    subjects: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()
    max_age: timedelta | None = None
    policy: str | None = None


def unmet(statement: Statement, demands: Demands, now: datetime) -> list[str]:
    """A sentence for each demand that the report does not meet; OSError for a file that cannot be read."""
    return [
        *_verdict(statement, demands),
        *_policy(statement, demands),
        *_subjects(statement, demands),
        *_age(statement, demands, now),
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


def _verdict(statement: Statement, demands: Demands) -> Iterator[str]:
    if demands.verdict is None:
        return
    if statement.report != "verdict":
        yield "It is an assessment, which has no verdict."
        return
    found = statement.predicate["result"].get("verdict")
    if found != demands.verdict:
        yield f"Its verdict is {found}, not {demands.verdict}."


def _policy(statement: Statement, demands: Demands) -> Iterator[str]:
    if demands.policy is None:
        return
    found = policy_of(statement)
    if found is None:
        yield "It is an assessment, which has no policy."
        return
    name, sha256 = found
    # A policy may be called like the hash of another one: what reads as a hash is never taken for a name.
    by_hash = is_sha256(demands.policy.lower())
    answers = (sha256,) if by_hash else (name, name.rpartition("@")[0])
    if (demands.policy.lower() if by_hash else demands.policy) not in answers:
        yield f"It was judged by the policy {name} (sha256 {sha256}), not by {demands.policy}."


def _subjects(statement: Statement, demands: Demands) -> Iterator[str]:
    hashes = {own.sha256 for own in statement.subjects}
    released = {own.sha256 for own in statement.subjects if own.name.startswith(FILE_PREFIX)}
    for wanted in demands.subjects:
        if wanted not in hashes:
            yield f"It is not about {wanted}."
    for path in demands.files:
        found = file_sha256(path)
        if found not in released:
            yield f"The release that was judged is not the file {path} as that is now (sha256 {found})."


def _age(statement: Statement, demands: Demands, now: datetime) -> Iterator[str]:
    if demands.max_age is None:
        return
    issued = statement.issued_at
    if now - issued > demands.max_age:
        yield f"It was issued at {instant_text(issued)}, longer ago than is allowed."
    elif issued - now > CLOCKS_DIFFER:
        yield f"It was issued at {instant_text(issued)}, which is still to come by this machine's clock."
