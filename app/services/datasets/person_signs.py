"""Signs in a table that one person has several rows, where nobody said what a row is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Ge, MaxLen

from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import Example
from app.domain.direct_identifiers.recognition import recognised_kinds
from app.domain.tables.distinct import distinct_rows, one_of_each
from app.services.datasets.ingest.role_proposals import subject_of
from app.services.datasets.ingest.role_words import DROPPED, QUASI, SENSITIVE
from app.services.datasets.text_columns import TextColumn

BY_ACCIDENT: Final = 0.25
"""A column is not counted if chance would fix more than so many columns that are as easily fixed."""

_FEWEST_REPEATED: Final = 3
_MOST_ROWS_PER_VALUE: Final = 50
_COPIES: Final = 0.05
_LEAST_SHARE: Final = 0.01
_FEWEST_DISTINCT_ROWS: Final = 20
_NUMBERS: Final = frozenset({"email", "telephone", "national_number", "tax_number"})
_LOOKED_AT: Final = 1_000
_NAMED: Final = 5
_PERSON: Final = re.compile(
    r"(?:^|[_\W\d]|(?<=[a-z])(?=[A-Z]))(?i:pid|pers(?:on)?|p(?=_?(?:id|nr|no)$)|patient(?:en|in)?|subject|member"
    r"|customer|client|user|employee|student|pupil|household|hh|haushalt|family|participant|respondent|insured"
    r"|holder|donor|kunden?|mitglieds?|teilnehmer|proband(?:en)?|versicherten?|device|ssn|mrn)s?"
    r"(?:[_\W]*(?i:ids?|uuid|nr|no|num|number|nummer|key|code|name))?$"
)
_NUMBERED: Final = re.compile(r"(?i:(?:^|[_\W])(?:id|uuid|key|nr|no|number|nummer)$)|[a-z]Id$")
_DATE_OR_AMOUNT: Final = re.compile(r"\d+(?:[-./,]\d+)+(?:[T ].*)?")
_ADDRESS_OR_NUMBER: Final = re.compile(r"@|(?:\d\D*){6}")

SignKind = Literal["fixes_others", "number_repeats", "common_divisor"]


@dataclass(frozen=True)
class PersonSign:
    """A sign that one person has several rows."""

    kind: Annotated[SignKind, Example("fixes_others")]
    """A column repeats and fixes others; e-mail addresses, telephone or official numbers repeat; or
    all rows occur a multiple of times, as in releases of this service.
    """
    columns: Annotated[tuple[str, ...], MaxLen(10_000), Example(["patient"])]
    """The columns that show it; none for whole rows."""
    sentence: Annotated[str, Example("Every distinct row occurs 2 times, or a multiple of that.")]
    """What was found, without any cell."""


@dataclass(frozen=True)
class PersonSigns:
    """Signs that one person has several rows, looked for in all columns of the upload."""

    signs: Annotated[tuple[PersonSign, ...], MaxLen(3), Example([])] = ()
    """The signs."""
    person: Annotated[str | None, MaxLen(1_000), Example("patient")] = None
    """Column that seems to say whom a row is about."""
    persons: Annotated[int | None, Ge(0), Example(150)] = None
    """Persons that it would make."""

    @property
    def doubt(self) -> str:
        """What was found, in words."""
        said = "Nobody said what a row is, and one person seems to have several."
        return " ".join([said, *(own.sentence for own in self.signs)])


NO_SIGNS: Final = PersonSigns()


def signs_of(columns: Mapping[str, TextColumn], weights: Collection[str] = ()) -> PersonSigns:
    """The signs of several rows per person in a table of these columns, some of them record weights.

    ``fixes_others``: at least 3 values of a column repeat, it has at most 50 rows per value on average, and
    each value has one value in each of two other columns that are neither constant nor unique. A column of
    the same topic is the same fact twice and does not count, nor does one that chance may fix: the chance to
    be fixed if values fell to rows at random, times the number of columns, exceeds :data:`BY_ACCIDENT`. If
    at most 5 % of the rows have a value that repeats, those that only repeat whole rows do not count.
    ``number_repeats``: e-mail addresses, telephone or official numbers stand in several rows, in more than
    1 % of all. ``common_divisor``: the numbers of times that at least 20 distinct rows occur share one above
    1. A million rows of ten columns take about a second.
    """
    subjects = {name: subject for name in columns if (subject := subject_of(name)) is not None}
    topics = {name: own.title for name, own in subjects.items() if own.role in (QUASI, SENSITIVE)}
    no_persons = {*weights, *(name for name, own in subjects.items() if own.role == DROPPED)}
    signs: list[PersonSign] = []
    found = {name: _fixed(name, columns, topics) for name in columns if name not in no_persons}

    def fitness(name: str) -> tuple[int, int, bool]:
        """How well a column fits as that of persons: by name, by values, and by what it is about."""
        by_name = 2 if _PERSON.search(name) else int(_NUMBERED.search(name) is not None)
        values = columns[name].values
        return by_name, len(values), name not in topics and not _DATE_OR_AMOUNT.fullmatch(values[0])

    # Of equally fit ones the first in the table comes first.
    fixing = sorted((name for name, fixed in found.items() if len(fixed) > 1), key=fitness, reverse=True)
    if fixing:
        sentence = (
            f"Each of the {len(columns[fixing[0]].values):,} values of {fixing[0]!r} has one value in "
            f"{_listed(found[fixing[0]])}: it seems to say whom a row is about."
        )
        sentence += f" So it is with {_listed(fixing[1:])}." if fixing[1:] else ""
        signs.append(PersonSign("fixes_others", tuple(fixing), sentence))
    numbers = {name: rows for name, own in columns.items() if (rows := _rows_of_numbers(own))}
    if numbers:
        what = "E-mail addresses, telephone or official numbers"
        rows = max(numbers.values())
        sentence = f"{what} of {_listed([*numbers])} stand in more than one row, in {rows:,} rows in all."
        signs.append(PersonSign("number_repeats", tuple(numbers), sentence))
    if (divisor := _common_divisor([*columns.values()])) > 1:
        sentence = f"Every distinct row occurs {divisor:,} times, or a multiple of that."
        signs.append(PersonSign("common_divisor", (), sentence))
    person = fixing[0] if fixing else max(numbers, key=numbers.__getitem__, default=None)
    if person is None:
        return PersonSigns(tuple(signs))
    return PersonSigns(tuple(signs), person, len(columns[person].values) + columns[person].n_missing)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")


def _fixed(name: str, columns: Mapping[str, TextColumn], topics: Mapping[str, str]) -> list[str]:
    """The columns that each value of one column fixes, beyond what is the same fact or chance."""
    column = columns[name]
    of, counts, n_rows = column.positions, column.rows_per_value, column.n_rows
    repeats = counts[counts > 1]
    if len(repeats) < _FEWEST_REPEATED or counts.sum() > _MOST_ROWS_PER_VALUE * len(counts):
        return []
    varied = {
        other: own
        for other, own in columns.items()
        if other != name and 1 < len(own.values) + (own.n_missing > 0) < n_rows
    }
    topic = None if _PERSON.search(name) else topics.get(name)
    last = one_of_each(of, len(counts))[of]

    def differing(own: TextColumn) -> Ints:
        """The values of the column that have different ones of another; some several times."""
        return np.asarray(of[(own.positions != own.positions[last]) & (of >= 0)])

    fixed = [
        other
        for other, own in varied.items()
        if (topic is None or topics.get(other) != topic)
        and not len(differing(own))
        and _chance(own, repeats) * len(varied) <= BY_ACCIDENT
    ]
    if len(fixed) > 1 and repeats.sum() <= _COPIES * n_rows:
        several = np.unique(np.concatenate([differing(own) for own in columns.values()]))
        return fixed if len(several) >= _FEWEST_REPEATED else []
    return fixed


def _chance(column: TextColumn, repeats: Longs) -> float:
    """The chance that groups of these sizes have one value each, if values fall to rows at random."""
    shares = np.append(column.rows_per_value, column.n_missing) / column.n_rows
    sizes, n_groups = np.unique(repeats, return_counts=True)
    agree = [float((shares**size).sum()) for size in sizes.tolist()]
    return float(np.prod(np.array(agree) ** n_groups))


def _rows_of_numbers(column: TextColumn) -> int:
    """Rows whose e-mail address, telephone or official number another row has too; 0 if they are few."""
    texts, counts = column.values, column.rows_per_value
    few = _LEAST_SHARE * column.n_rows
    again = [at for at in np.flatnonzero(counts > 1).tolist() if _ADDRESS_OR_NUMBER.search(texts[at])]
    if counts[again].sum() <= few:
        return 0
    # Numbers are recognised by what many have in common: those that do not repeat help where few do.
    order = np.argsort(-counts, kind="stable")[:_LOOKED_AT]
    chosen = [at for at in order.tolist() if _ADDRESS_OR_NUMBER.search(texts[at])]
    kinds = recognised_kinds([texts[at] for at in chosen], counts[chosen])
    share = sum(own.share for own in kinds if own.is_direct_identifier and own.kind in _NUMBERS)
    rows = round(share * int(counts[again].sum()))
    return rows if rows > few else 0


def _common_divisor(columns: Sequence[TextColumn]) -> int:
    """The greatest common divisor of how often distinct rows occur; 1 if these are fewer than 20."""
    # What divides the sizes of all groups divides those of groups that are made of them.
    if not columns or any(np.gcd.reduce(own.rows_per_value) == 1 for own in columns):
        return 1
    sizes = [len(own.values) + 1 for own in columns]
    rows = distinct_rows([own.positions + 1 for own in columns], sizes, columns[0].n_rows)
    return int(np.gcd.reduce(rows.counts)) if rows.size >= _FEWEST_DISTINCT_ROWS else 1
