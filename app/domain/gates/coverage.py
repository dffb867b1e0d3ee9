"""What a gate checks before any requirement: that somebody answers for every column that leaves.

A column is *not covered* if no blocking requirement bounds telling records apart by it, and its released
values single out more than the allowed share of the records, alone or together with the other columns of
that kind, or look like direct identifiers; and if it is the key column of a release file. A requirement
that reads a column as a sensitive attribute, or weighs its disclosure, keeps others from learning
somebody's value; it does not keep whoever knows the value from finding the record. A guarantee about values
that were drawn does keep from that, for a record need not show its own. A column may leave all the same
where the policy names it and gives a reason.

Counts are of the release: a cell that is suppressed singles nobody out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.direct_identifiers.recognition import RecognisedKind
from app.domain.gates.reading import Reading
from app.domain.policies.policy import Policy
from app.domain.policies.schema import Giver
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.numbers import highest_accepted

Why = Literal["singles_out", "single_out_together", "direct_identifier", "key"]
Recognise = Callable[[Sequence[str], Longs], tuple[RecognisedKind, ...]]
"""The kinds of identifiers that distinct texts with these counts look like."""

NOTHING_SHOWN: Final = -1
KEY: Final = "key"
"""What the key column of a release file is to it."""


@dataclass(frozen=True)
class Levels:
    """How far the values of a column are generalised, of ``height`` levels; 0 is as they are."""

    least: int
    greatest: int
    height: int


@dataclass(frozen=True, eq=False)
class ReleasedColumn:
    """A column as it is released.

    Parameters
    ----------
    role, given_by
        Its role, :data:`KEY` for the key column of a file, and who gave it.
    texts
        The distinct texts.
    codes
        int32 (n,): the position of each record's text, −1 where nothing is shown.
    levels
        None where nobody knows what the values were.
    """

    name: str
    role: str
    given_by: Giver
    texts: tuple[str, ...]
    codes: Ints
    levels: Levels | None = None

    @cached_property
    def counts(self) -> Longs:
        """int64, one per text: how many records show it."""
        shown = self.codes[self.codes != NOTHING_SHOWN]
        return np.bincount(shown, minlength=len(self.texts)).astype(np.int64)

    @property
    def singled_out(self) -> int:
        """Records whose text no other record shows."""
        return int((self.counts == 1).sum())


@dataclass(frozen=True)
class JudgedColumn:
    """What is said of one disclosed column.

    ``judged_by``, ``warned_by`` and ``waived`` are the requirements that read it: those that block, those
    that only warn, and those that would block if they were not waived; ``identifiers`` the kinds of direct
    identifiers that it looks like; ``reason`` why the policy lets it leave unjudged.
    """

    name: str
    role: str
    given_by: Giver
    levels: Levels | None
    values: int
    singled_out: int
    identifiers: tuple[RecognisedKind, ...]
    judged_by: tuple[str, ...]
    warned_by: tuple[str, ...]
    waived: tuple[str, ...]
    reason: str | None


@dataclass(frozen=True)
class Uncovered:
    """Columns that are not covered: why, how many records they single out, and which kind they look like."""

    columns: tuple[str, ...]
    why: Why
    singled_out: int
    identifier: RecognisedKind | None = None


@dataclass(frozen=True)
class Coverage:
    """All disclosed columns, and which of them are not covered.

    ``records`` are those of the release, of which ``allowed_share`` may be singled out. ``draft`` says that
    the policy's schema is one, with the columns ``to_confirm``.
    """

    columns: tuple[JudgedColumn, ...]
    uncovered: tuple[Uncovered, ...]
    records: int
    allowed_share: float
    draft: bool
    to_confirm: tuple[str, ...]

    @property
    def passes(self) -> bool:
        """Whether every column is covered, by a schema that somebody answers for."""
        return not self.draft and not self.uncovered


def coverage_of(
    policy: Policy,
    columns: Sequence[ReleasedColumn],
    readings: Mapping[str, Reading],
    recognise: Recognise,
    waived: Set[str] = frozenset(),
) -> Coverage:
    """Compare the released columns, at least one, with what the requirements of the policy read.

    ``readings`` are by the ids of the requirements. Those that are ``waived``, since they fail and need not
    hold, cover nothing. All columns have the same number of records.
    """
    blocking = frozenset(own.id for own in policy.requirements if own.severity == "block") - waived
    found = [_judged(policy, own, readings, recognise, blocking) for own in columns]
    records = len(columns[0].codes)
    allowed = highest_accepted(policy.singled_out_share * records)
    bounds = [readings[id_].tells_apart for id_ in sorted(blocking)]
    apart = frozenset().union(*bounds)
    not_their_own = frozenset().union(*(readings[id_].not_their_own for id_ in blocking))
    uncovered: list[Uncovered] = []
    unread: list[ReleasedColumn] = []
    for released, judged in zip(columns, found, strict=True):
        if judged.reason is not None:
            continue
        is_told_apart = judged.name in apart
        finds_nobody = is_told_apart or judged.name in not_their_own
        own = _alone(judged, allowed, is_told_apart=is_told_apart, finds_nobody=finds_nobody)
        uncovered += own
        if not own and not finds_nobody:
            unread.append(released)
    for group in (unread, _apart_only_singly(policy, columns, bounds)):
        codes = [own.codes + 1 for own in group]
        together = int(alone_in(codes, [len(own.texts) + 1 for own in group]).sum()) if group else 0
        if together > allowed:
            uncovered.append(Uncovered(tuple(own.name for own in group), "single_out_together", together))
    schema = policy.schema
    return Coverage(
        columns=tuple(found),
        uncovered=tuple(uncovered),
        records=records,
        allowed_share=policy.singled_out_share,
        draft=schema is not None and schema.is_draft,
        to_confirm=() if schema is None else schema.to_confirm,
    )


def _judged(
    policy: Policy,
    column: ReleasedColumn,
    readings: Mapping[str, Reading],
    recognise: Recognise,
    blocking: Set[str],
) -> JudgedColumn:
    counts = column.counts
    shown = np.flatnonzero(counts)
    kinds: tuple[RecognisedKind, ...] = ()
    if column.role != KEY:
        kinds = recognise([column.texts[code] for code in shown.tolist()], counts[shown])
    readers = [own for own in policy.requirements if column.name in readings[own.id].read]
    return JudgedColumn(
        name=column.name,
        role=column.role,
        given_by=column.given_by,
        levels=column.levels,
        values=len(shown),
        singled_out=column.singled_out,
        identifiers=tuple(own for own in kinds if own.is_direct_identifier),
        judged_by=tuple(own.id for own in readers if own.id in blocking),
        warned_by=tuple(own.id for own in readers if own.severity != "block"),
        waived=tuple(own.id for own in readers if own.severity == "block" and own.id not in blocking),
        reason=policy.reason_for(column.name),
    )


def _alone(
    column: JudgedColumn, allowed: float, *, is_told_apart: bool, finds_nobody: bool
) -> list[Uncovered]:
    """Why a column by itself is not covered, if it is not."""
    if column.role == KEY:
        return [Uncovered((column.name,), "key", column.singled_out)]
    found = []
    if column.identifiers and not is_told_apart:
        likely = max(column.identifiers, key=lambda own: own.share)
        found.append(Uncovered((column.name,), "direct_identifier", column.singled_out, likely))
    if not finds_nobody and column.singled_out > allowed:
        found.append(Uncovered((column.name,), "singles_out", column.singled_out))
    return found


def _apart_only_singly(
    policy: Policy, columns: Sequence[ReleasedColumn], bounds: Sequence[Set[str]]
) -> list[ReleasedColumn]:
    """The quasi-identifiers by which requirements bound telling apart, if none does by all at once."""
    apart_by_some = frozenset().union(*bounds)
    names = {
        own.name
        for own in columns
        if own.role == "quasi_identifier"
        and own.name in apart_by_some
        and policy.reason_for(own.name) is None
    }
    if any(names <= apart for apart in bounds):
        return []
    return [own for own in columns if own.name in names]


def alone_in(columns: Sequence[Ints], sizes: Sequence[int]) -> Bools:
    """(n,) which records differ from every other in these columns, and have a value in some of them.

    Codes lie in [0, size); 0 is a cell without a value.
    """
    rows = distinct_rows(columns, sizes, len(columns[0]))
    alone: Bools = ((rows.counts == 1) & rows.codes.any(axis=1))[rows.inverse]
    return alone
