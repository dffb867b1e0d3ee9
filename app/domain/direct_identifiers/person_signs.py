"""Signs in a table that one person has several rows, where nobody said what a row is."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.direct_identifiers.recognition import RECOGNISERS
from app.domain.direct_identifiers.sample import sample_of

BY_ACCIDENT: Final = 0.25
"""A column is not counted if chance would fix more than so many columns that are as easily fixed."""

_FEWEST_REPEATED: Final = 3
_MOST_ROWS_PER_VALUE: Final = 50
_COPIES: Final = 0.05
_LEAST_SHARE: Final = 0.01
_FEWEST_DISTINCT_ROWS: Final = 20
_NUMBERS: Final = ("email", "telephone", "national_number", "tax_number")
_UNREAD: Final = ("postal_address", "personal_name", "free_text")
_FEWEST_DIGITS: Final = 6
_LOOKED_AT: Final = 1_000
_MOST_KEYS: Final = 2**62
_FIRST_ROWS: Final = 10_000
_NAMED: Final = 5
_PERSON: Final = re.compile(
    r"(?:^|[_\W\d]|(?<=[a-z])(?=[A-Z]))(?i:pid|pers(?:on)?|p(?=_?(?:id|nr|no)$)|patient(?:en|in)?|subject|member"
    r"|customer|client|user|employee|student|pupil|household|hh|haushalt|family|participant|respondent|insured"
    r"|holder|donor|kunden?|mitglieds?|teilnehmer|proband(?:en)?|versicherten?|device|ssn|mrn)s?"
    r"(?:[_\W]*(?i:ids?|uuid|nr|no|num|number|nummer|key|code|name))?$"
)
_NUMBERED: Final = re.compile(r"(?i:(?:^|[_\W])(?:id|uuid|key|nr|no|number|nummer)$)|[a-z]Id$")

_DATE_OR_AMOUNT: Final = re.compile(r"\d+(?:[-./,]\d+)+(?:[T ].*)?")


@dataclass(frozen=True)
class PersonSign:
    """A kind of sign, the columns that show it, none for whole rows, and what was found, without any cell."""

    kind: Literal["fixes_others", "number_repeats", "common_divisor"]
    columns: tuple[str, ...]
    sentence: str


@dataclass(frozen=True)
class PersonSigns:
    """The signs, the column that seems to say whom a row is about, and the persons that it would make."""

    signs: tuple[PersonSign, ...] = ()
    person: str | None = None
    persons: int | None = None

    @property
    def sentences(self) -> tuple[str, ...]:
        """What was found, without any cell."""
        return tuple(own.sentence for own in self.signs)

    @property
    def stops(self) -> bool:
        """Whether there is a sign other than a common divisor, which releases of the product may have."""
        return any(own.kind != "common_divisor" for own in self.signs)


NO_SIGNS: Final = PersonSigns()


def person_signs(
    columns: Mapping[str, tuple[Sequence[str], Ints]],
    topics: Mapping[str, str],
    not_persons: Collection[str] = (),
) -> PersonSigns:
    """The signs of several rows per person in a table, and the column that seems to name the persons.

    ``fixes_others``: at least 3 values of a column repeat, it has at most 50 rows per value on average, and
    each value has one value in each of two other columns that are neither constant nor unique. A column of
    the same topic is the same fact twice and does not count, nor does one that chance may fix: the chance to
    be fixed if values fell to rows at random, times the number of columns, exceeds :data:`BY_ACCIDENT`. If
    at most 5 % of the rows have a value that repeats, those that only repeat whole rows do not count.
    ``number_repeats``: e-mail addresses, telephone or official numbers stand in several rows, in more than
    1 % of all. ``common_divisor``: the numbers of times that at least 20 distinct rows occur share one above
    1. A million rows of ten columns take less than a second.

    Parameters
    ----------
    columns
        Of every column its distinct texts and, int32 (n,), each row's position among them, −1 if missing.
    topics
        What columns are about by their names, such as places; nothing for numbers of persons.
    not_persons
        Columns that cannot name persons, such as record weights.
    """
    tables = [_Column(name, *own) for name, own in columns.items()]
    signs: list[PersonSign] = []
    named = (own for own in tables if own.name not in not_persons)
    found = {own: fixed for own in named if len(fixed := _fixed(own, tables, topics)) > 1}
    # Of equally fit ones the first in the table comes first.
    fixing = sorted(found, key=lambda own: _fitness(own, topics), reverse=True)
    if fixing:
        names = tuple(own.name for own in fixing)
        sentence = (
            f"Each of the {len(fixing[0].texts):,} values of {names[0]!r} has one value in "
            f"{_listed(found[fixing[0]])}: it seems to say whom a row is about."
        )
        sentence += f" So it is with {_listed(names[1:])}." if names[1:] else ""
        signs.append(PersonSign("fixes_others", names, sentence))
    numbers = {own: rows for own in tables if (rows := _rows_of_numbers(own))}
    if numbers:
        names, rows = tuple(own.name for own in numbers), max(numbers.values())
        what = "E-mail addresses, telephone or official numbers"
        sentence = f"{what} of {_listed(names)} stand in more than one row, in {rows:,} rows in all."
        signs.append(PersonSign("number_repeats", names, sentence))
    if (divisor := _common_divisor(tables)) > 1:
        sentence = f"Every distinct row occurs {divisor:,} times, or a multiple of that."
        signs.append(PersonSign("common_divisor", (), sentence))
    person = fixing[0] if fixing else max(numbers, key=lambda own: numbers[own], default=None)
    if person is None:
        return PersonSigns(tuple(signs))
    return PersonSigns(tuple(signs), person.name, len(person.texts) + int(person.rows[0]))


class _Column:
    """A column, and (1 + values,) in how many rows it is missing and has each of its texts."""

    def __init__(self, name: str, texts: Sequence[str], positions: Ints) -> None:
        self.name, self.texts, self.positions = name, texts, positions
        self.rows: Longs = np.bincount(positions + 1, minlength=len(texts) + 1)


def _fixed(one: _Column, tables: Sequence[_Column], topics: Mapping[str, str]) -> list[str]:
    """The columns that each value of one column fixes, beyond what is the same fact or chance."""
    n_rows, counts = len(one.positions), one.rows[1:]
    repeats = counts[counts > 1]
    if len(repeats) < _FEWEST_REPEATED or counts.sum() > _MOST_ROWS_PER_VALUE * len(counts):
        return []
    varied = [own for own in tables if own is not one and 1 < np.count_nonzero(own.rows) < n_rows]
    topic = None if _PERSON.search(one.name) else topics.get(one.name)
    of, last = one.positions, np.zeros(len(counts) + 1, dtype=np.int64)
    last[of] = np.arange(n_rows)

    def others(own: _Column, rows: int = n_rows) -> Ints:
        """The values among the first rows that have another value of the column elsewhere."""
        differs = own.positions[:rows] != own.positions[last[of[:rows]]]
        return np.asarray(of[:rows][differs & (of[:rows] >= 0)])

    fixed = [
        own.name
        for own in varied
        if (topic is None or topics.get(own.name) != topic)
        # The first rows show nearly every column that is not fixed.
        and not any(len(others(own, rows)) for rows in (_FIRST_ROWS, n_rows))
        and _chance(own.rows, repeats) * len(varied) <= BY_ACCIDENT
    ]
    if len(fixed) > 1 and repeats.sum() <= _COPIES * n_rows:
        differing = np.unique(np.concatenate([others(own) for own in tables]))
        return fixed if len(differing) >= _FEWEST_REPEATED else []
    return fixed


def _chance(rows: Longs, repeats: Longs) -> float:
    """The chance that groups of these sizes have one value each, if values fall to rows at random."""
    shares = rows[rows > 0] / rows.sum()
    sizes, n_groups = np.unique(repeats, return_counts=True)
    agree = [float((shares**size).sum()) for size in sizes.tolist()]
    return float(np.prod(np.array(agree) ** n_groups))


def _fitness(column: _Column, topics: Mapping[str, str]) -> tuple[int, int, bool]:
    """How well a column fits as the one that names persons: by name, by values, and by what it is about."""
    by_name = 2 if _PERSON.search(column.name) else int(_NUMBERED.search(column.name) is not None)
    is_date_or_amount = _DATE_OR_AMOUNT.fullmatch(column.texts[0]) is not None
    return by_name, len(column.texts), column.name not in topics and not is_date_or_amount


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:_NAMED])) + (", …" if len(names) > _NAMED else "")


def _rows_of_numbers(column: _Column) -> int:
    """Rows whose e-mail address, telephone or official number another row has too; 0 if they are few."""
    counts, few = column.rows[1:], _LEAST_SHARE * len(column.positions)
    again = np.flatnonzero(counts > 1)
    if counts[again].sum() <= few:
        return 0
    texts = (column.texts[at] for at in again.tolist())
    again = again[["@" in text or sum(map(str.isdigit, text)) >= _FEWEST_DIGITS for text in texts]]
    if counts[again].sum() <= few:
        return 0
    # Numbers are recognised by what many have in common: those that do not repeat help where few do.
    chosen = np.concatenate(
        [again[:_LOOKED_AT], np.flatnonzero(counts == 1)[: _LOOKED_AT - len(again[:_LOOKED_AT])]]
    )
    sample, rows = sample_of([column.texts[at] for at in chosen.tolist()], counts[chosen]), 0
    for recogniser in RECOGNISERS:
        found = None if recogniser.kind in _UNREAD else recogniser.find(sample)
        if found is not None and found.is_evident and sample.share(found.texts) >= recogniser.least_share:
            if recogniser.kind in _NUMBERS:
                rows += int(sample.counts[found.texts & (sample.counts > 1)].sum())
            sample = sample.only(~found.texts)
    rows = rows * int(counts[again].sum()) // int(counts[again[:_LOOKED_AT]].sum())
    return rows if rows > few else 0


def _common_divisor(columns: Sequence[_Column]) -> int:
    """The greatest common divisor of how often distinct rows occur; 1 if these are fewer than 20."""
    # What divides the sizes of all groups divides those of groups that are made of them.
    if not columns or reduce(np.gcd, (np.gcd.reduce(own.rows) for own in columns)) == 1:
        return 1
    keys: Longs = np.zeros(len(columns[0].positions), dtype=np.int64)
    limit = 1
    for own in columns:
        if limit * len(own.rows) >= _MOST_KEYS:
            keys, limit = np.unique(keys, return_inverse=True)[1], len(keys)
        keys, limit = keys * len(own.rows) + own.positions + 1, limit * len(own.rows)
    _, sizes = np.unique(keys, return_counts=True)
    return int(np.gcd.reduce(sizes)) if len(sizes) >= _FEWEST_DISTINCT_ROWS else 1
