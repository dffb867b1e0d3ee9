"""What a gate checks before any requirement: that somebody answers for every column that leaves.

A column is *not covered* if no blocking requirement bounds telling records apart by it, and its released
values single out more than the allowed share of the records, alone or together with the other columns of
that kind; if it looks like direct identifiers; and if it is the key column of a release file. A value singles
out if fewer persons have it than the policy's largest k. A requirement that reads a column as a sensitive
attribute, or weighs its disclosure, keeps others from learning somebody's value; it does not keep whoever
knows the value from finding the record. A guarantee about values that were drawn does keep from that, for a
record need not show its own. A column may leave all the same where the policy names it and gives a reason;
its requirements are judged nevertheless.

Counts are of the release: a suppressed cell singles nobody out. Version 1, which policies of before keep,
counts unique rows, and lets requirements cover what looks like direct identifiers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge

from app.domain.arrays import Bools, Ints, Longs
from app.domain.catalogue.catalogue_types import Example
from app.domain.classes.persons import class_persons
from app.domain.direct_identifiers.recognition import RecognisedKind
from app.domain.errors import InvalidInput
from app.domain.policies.policy import Policy, Requirement
from app.domain.policies.reading import NO_COLUMNS, NOTHING_READ, Columns, Readable, Reading
from app.domain.policies.schema import Giver
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.numbers import highest_accepted

Why = Literal["singles_out", "single_out_together", "direct_identifier", "key", "rows", "suppressed"]
"""``rows``: the dataset cannot have produced the rows of a file; ``suppressed``: too many records are."""
Recognise = Callable[[Sequence[str], Longs], tuple[RecognisedKind, ...]]
"""The kinds of identifiers that distinct texts with these counts look like."""

NOTHING_SHOWN: Final = -1
LEAST_PERSONS: Final = 2
KEY: Final = "key"
"""What the key column of a release file is to it."""


@dataclass(frozen=True)
class Levels:
    """How far the values of a column are generalised."""

    least: Annotated[int, Example(0)]
    """The least level of any value; 0: as it is."""
    greatest: Annotated[int, Example(2)]
    """The greatest level of any value."""
    height: Annotated[int, Ge(0), Example(4)]
    """The level at which everything is suppressed."""


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


@dataclass(frozen=True, eq=False)
class PersonsOfRows:
    """Whose the rows of a release are.

    ``of_rows`` is int32 (n,), the person of each, None where nobody knows; ``records`` is int64 (persons,),
    how many records of the table each has.
    """

    of_rows: Ints | None
    records: Longs

    def counts(self, groups: Ints, rows: Longs) -> Longs:
        """(G,) persons in each group, ``groups`` of rows (n,) and ``rows`` how many each group has.

        Where nobody knows whose they are, the fewest who can fill it: those with the most records.
        """
        if self.of_rows is None:
            most = np.cumsum(np.sort(self.records)[::-1])
            return np.asarray(np.searchsorted(most, rows) + 1)
        return class_persons(groups, self.of_rows, len(rows), len(self.records)).persons


def singled_out(
    columns: Sequence[Ints], sizes: Sequence[int], persons: PersonsOfRows | None, fewer_than: int
) -> tuple[Bools, Bools]:
    """(n,) rows whose values fewer persons have: surely, and perhaps, where nobody knows whose they are.

    Codes lie in [0, size); 0 is a cell without a value, and a row without any singles nobody out. Without
    ``persons`` each row is one.
    """
    rows = distinct_rows(columns, sizes, len(columns[0]))
    counted = rows.counts if persons is None else persons.counts(rows.inverse, rows.counts)
    most = rows.counts if persons is not None and persons.of_rows is None else counted
    shown = rows.codes.any(axis=1)
    return (shown & (most < fewer_than))[rows.inverse], (shown & (counted < fewer_than))[rows.inverse]


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

    ``records`` are those of the release, of which ``allowed_share`` may be singled out: rows whose value
    fewer than ``least_persons`` have, None: rows whose value no other shows. ``undecided`` are columns of
    which it is not known, since nobody knows whose row is whose. ``draft`` says that the policy's schema is
    one, with the columns ``to_confirm``; ``without_reason`` are those for which it gives none.
    """

    columns: tuple[JudgedColumn, ...]
    uncovered: tuple[Uncovered, ...]
    records: int
    allowed_share: float
    draft: bool
    to_confirm: tuple[str, ...]
    least_persons: int | None = None
    undecided: tuple[str, ...] = ()
    without_reason: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether every column is covered, by a schema and by reasons that somebody answers for."""
        return not (self.draft or self.uncovered or self.undecided or self.without_reason)


def coverage_of(
    policy: Policy,
    columns: Sequence[ReleasedColumn],
    readings: Mapping[str, Reading],
    recognise: Recognise,
    waived: Set[str] = frozenset(),
    persons: PersonsOfRows | None = None,
) -> Coverage:
    """Compare the released columns, at least one, with what the requirements of the policy read.

    ``readings`` are by the ids of the requirements. Those that are ``waived``, since they fail and need not
    hold, cover nothing. All columns have the same number of records; without ``persons`` each is one.
    """
    blocking = frozenset(own.id for own in policy.requirements if own.severity == "block") - waived
    as_before = policy.is_covered_as_before
    persons, fewer_than = (None, LEAST_PERSONS) if as_before else (persons, largest_k(policy))

    def rows_singled_out(group: Sequence[ReleasedColumn]) -> tuple[int, int]:
        codes, sizes = [own.codes + 1 for own in group], [len(own.texts) + 1 for own in group]
        surely, perhaps = singled_out(codes, sizes, persons, fewer_than)
        return int(surely.sum()), int(perhaps.sum())

    singled = [rows_singled_out([own]) for own in columns]
    found = [
        _judged(policy, own, surely, readings, recognise, blocking)
        for own, (surely, _) in zip(columns, singled, strict=True)
    ]
    records = len(columns[0].codes)
    allowed = highest_accepted(policy.singled_out_share * records)
    bounds = [readings[id_].tells_apart for id_ in sorted(blocking)]
    apart = frozenset().union(*bounds)
    not_their_own = frozenset().union(*(readings[id_].not_their_own for id_ in blocking))
    uncovered: list[Uncovered] = []
    unread: list[ReleasedColumn] = []
    undecided: dict[str, None] = {}
    for released, judged, (_, perhaps) in zip(columns, found, singled, strict=True):
        if judged.reason is not None or judged.name in policy.without_reason:
            continue  # the reason is what is missing, and all that is
        is_told_apart = judged.name in apart
        finds_nobody = is_told_apart or judged.name in not_their_own
        own = _alone(judged, allowed, may_name=as_before and is_told_apart, finds_nobody=finds_nobody)
        uncovered += own
        if not own and not finds_nobody:
            unread.append(released)
            if perhaps > allowed:
                undecided[judged.name] = None
    for group in (unread, _apart_only_singly(policy, columns, bounds)):
        names = tuple(own.name for own in group)
        surely, perhaps = rows_singled_out(group) if group else (0, 0)
        if surely > allowed:
            uncovered.append(Uncovered(names, "single_out_together", surely))
        elif perhaps > allowed:
            undecided |= dict.fromkeys(names)
    schema = policy.schema
    return Coverage(
        columns=tuple(found),
        uncovered=tuple(uncovered),
        records=records,
        allowed_share=policy.singled_out_share,
        draft=schema is not None and schema.is_draft,
        to_confirm=() if schema is None else schema.to_confirm,
        least_persons=None if as_before else fewer_than,
        undecided=tuple(undecided),
        without_reason=policy.without_reason,
    )


def reading_of(policy: Policy, criterion: Requirement, columns: Columns) -> Reading:
    """What a requirement of the policy reads of these columns; nothing if it cannot be understood."""
    grouped, condition = columns.quasi_identifiers, criterion.condition
    if criterion.scope.attributes is not None:
        grouped = frozenset(criterion.scope.attributes) & columns.disclosed
    slots = policy.slots_of(condition)
    if policy.takes_absence_for_safety(condition):
        slots -= columns.lacking
    carried = NO_COLUMNS.union(*(columns.carried.get(slot, NO_COLUMNS) for slot in slots))
    try:
        return condition.reading(Readable(columns, grouped, carried))
    except InvalidInput:
        return NOTHING_READ


def largest_k(policy: Policy) -> int:
    """The greatest k of (α, k)- or k-anonymity that a blocking requirement asks for; 2 without any."""
    asked = [
        size for own in policy.requirements if own.severity == "block" for size in own.condition.class_sizes
    ]
    return max([LEAST_PERSONS, *(own for own in asked if isinstance(own, int))])


def _judged(
    policy: Policy,
    column: ReleasedColumn,
    singled_out: int,
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
        singled_out=singled_out,
        identifiers=tuple(own for own in kinds if own.is_direct_identifier),
        judged_by=tuple(own.id for own in readers if own.id in blocking),
        warned_by=tuple(own.id for own in readers if own.severity != "block"),
        waived=tuple(own.id for own in readers if own.severity == "block" and own.id not in blocking),
        reason=policy.reason_for(column.name),
    )


def _alone(column: JudgedColumn, allowed: float, *, may_name: bool, finds_nobody: bool) -> list[Uncovered]:
    """Why a column by itself is not covered, if it is not."""
    if column.role == KEY:
        return [Uncovered((column.name,), "key", column.singled_out)]
    found = []
    if column.identifiers and not may_name:
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
