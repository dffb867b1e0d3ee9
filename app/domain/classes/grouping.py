"""Equivalence classes: the records that a reader cannot tell apart by their quasi-identifiers.

Records with the same released values (⊥ equals ⊥) are an equivalence class. Two questions have more than one
answer in the field, so they are parameters and every result states them: what a value that is missing in the
original matches, and what becomes of records that are suppressed altogether (Definitions: equivalence
classes).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal

import numpy as np
from annotated_types import Len, MaxLen, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.persons import ONE_ROW, ClassPersons, class_persons
from app.domain.classes.wildcards import matching_records, seconds_of_matching
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import TOP
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import missing_cells, shows_nothing
from app.domain.tables.table import Table, no_attribute

SECONDS_PER_GROUPING: Final = 4e-4
SECONDS_PER_CELL: Final = 1.5e-9
"""Fitted to the least processor times of the measures of classes on Adult, 60 repetitions of 30,162 records,
and on 33 copies of it, 12 repetitions; cells are those of the quasi-identifiers and four columns more."""

Missing = Literal["own_category", "matches_everything", "excluded"]
MissingSensitive = Literal["own_category", "excluded", "most_frequent"]
MissingSensitiveOption = Annotated[
    MissingSensitive,
    doc(
        "Whether a missing sensitive value is a value of its own, leaves the record out of its counts, or "
        "counts as the most frequent of its class (`most_frequent`; where ℓ and α are counted)."
    ),
]
Suppressed = Literal["excluded", "own_block"]
SensitiveName = Annotated[
    str | None, MaxLen(1000), doc("The sensitive attribute; null: the only one of that role.")
]


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How records are grouped; parameters of measures extend it."""

    quasi_identifiers: Annotated[
        tuple[Annotated[str, MaxLen(1000)], ...] | None,
        Len(1, 100),
        doc("Attributes that an attacker may know; null: those of the role quasi_identifier."),
    ] = None
    missing: Annotated[
        Missing,
        doc(
            "How missing values are matched: a missing quasi-identifier matches other missing ones "
            "(`own_category`), every value (`matches_everything`), or the record is left out, and "
            "counted (`excluded`)."
        ),
    ] = "own_category"
    missing_sensitive: MissingSensitiveOption = "own_category"
    suppressed: Annotated[
        Suppressed,
        doc(
            "Whether records all of whose quasi-identifiers are suppressed are left out, and counted "
            "(`excluded`), or judged as one more class (`own_block`)."
        ),
    ] = "excluded"

    @property
    def groups_all(self) -> bool:
        """Whether without any quasi-identifier all records are one group; else that is refused."""
        return False

    @property
    def folds(self) -> bool:
        """Whether sensitive values that a person reads as one are one; else each spelling is a value."""
        return False


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The G classes of n records, in canonical order of their codes.

    Attributes
    ----------
    attributes
        Positions in the table of the attributes that were grouped by.
    codes
        (G, q) disclosed nodes of these. Two classes show the same only where one of them matches everything
        in an attribute that the other is suppressed in.
    records
        (G,) records in each class, at least 1.
    of_record
        (n,) class of each record, −1 for those left out.
    n_suppressed, n_missing
        Records left out because they are suppressed, and for a missing quasi-identifier.
    is_wildcard
        (G, q) whether a class matches everything in an attribute; None if no class does.
    persons
        The persons of the classes; None where no column names them.
    """

    attributes: tuple[int, ...]
    codes: Ints
    records: Longs
    of_record: Ints
    n_suppressed: int
    n_missing: int
    is_wildcard: Bools | None = None
    persons: ClassPersons | None = None

    @property
    def units(self) -> Longs:
        """(G,) persons of each class; its records where no column names persons."""
        return self.records if self.persons is None else self.persons.persons

    @cached_property
    def sizes(self) -> Longs:
        """(G,) the same, and records of classes that match it where a missing value matches everything."""
        if self.is_wildcard is None:
            return self.units
        return matching_records(self.codes, self.is_wildcard, self.records)

    @cached_property
    def largest_share(self) -> Floats:
        """(G,) largest share that one person has of the records of a class: 1/size by records."""
        return np.asarray(1.0 / self.sizes) if self.persons is None else self.persons.largest_share

    @cached_property
    def expected_matches(self) -> Floats:
        """(G,) records of a class attributed to the right person by a random choice, in expectation."""
        if self.persons is not None:
            return self.persons.expected_matches
        return np.asarray(self.records / self.sizes)

    @property
    def n_classes(self) -> int:
        """G, without the records that were left out."""
        return len(self.records)

    @property
    def n_judged(self) -> int:
        """Records that are in a class."""
        return len(self.of_record) - self.n_suppressed - self.n_missing

    def rows_of(self, class_: int) -> Longs:
        """Positions of the records of a class, ascending."""
        return np.flatnonzero(self.of_record == class_)


def positions_of(table: Table, names: tuple[str, ...] | None, pointer: str = "/measure") -> tuple[int, ...]:
    """Positions of the quasi-identifiers; InvalidInput for none, unknown and repeated ones."""
    if names is None:
        if not table.quasi_identifiers:
            raise InvalidInput.of(
                f"{pointer}/quasi_identifiers",
                "no-quasi-identifiers",
                "No attribute of the dataset has the role quasi_identifier.",
                "Name the attributes that an attacker may know.",
            )
        return table.quasi_identifiers
    if len(set(names)) != len(names):
        raise InvalidInput.of(
            f"{pointer}/quasi_identifiers",
            "duplicate-attribute",
            "An attribute is named twice.",
            "Name it once.",
        )
    unknown = [name for name in names if name not in table.attributes]
    if unknown:
        raise InvalidInput([no_attribute(f"{pointer}/quasi_identifiers", unknown[0], table.attributes)])
    return tuple(sorted(map(table.position, names)))


def known_to(table: Table, grouping: Grouping) -> tuple[int, ...]:
    """Positions of the quasi-identifiers; none where there is none and all records are one group."""
    if grouping.groups_all and grouping.quasi_identifiers is None and not table.quasi_identifiers:
        return ()
    return positions_of(table, grouping.quasi_identifiers)


def seconds_of_grouping(table: Table, grouping: Grouping) -> float:
    """Estimated time of :func:`equivalence_classes`; where missing values match, of counting values too."""
    known = positions_of(table, grouping.quasi_identifiers)
    seconds = SECONDS_PER_GROUPING + table.n_records * (len(known) + 4) * SECONDS_PER_CELL
    if grouping.missing != "matches_everything":
        return seconds
    missing = [table.is_missing(j).astype(np.int8) for j in known]
    patterns = distinct_rows(missing, (2,) * len(known), table.n_records).size
    return seconds + (seconds_of_matching(patterns, table.reduced.size, len(known)) if patterns > 1 else 0.0)


def lacking_records(codes: Ints, attributes: Iterable[int], missing: Missing) -> Bools:
    """(n,) records that are left out because their original ``codes`` (n, m) miss one of the attributes."""
    found = np.zeros(len(codes), dtype=bool)
    if missing == "excluded":
        for j in attributes:
            found |= missing_cells(codes[:, j])
    return found


def equivalence_classes(
    table: Table,
    disclosed: Ints,
    is_suppressed: Bools,
    grouping: Grouping,
    also: tuple[int, ...] = (),
    left_out: Bools | None = None,
) -> EquivalenceClasses:
    """Group the records of a release.

    Parameters
    ----------
    disclosed
        (n, m) nodes that the release shows.
    is_suppressed
        (n,) records that are suppressed altogether.
    also
        Positions of further attributes to group by, sensitive ones (Machanavajjhala (2008), definition 3.11).
    left_out
        (n,) records that are in no class; None: the suppressed ones, unless they are judged.

    Raises InvalidInput for quasi-identifiers that the table does not have.
    """
    known = known_to(table, grouping)
    attributes = tuple(dict.fromkeys((*known, *also)))
    if left_out is None:
        left_out = is_suppressed if grouping.suppressed == "excluded" else np.zeros_like(is_suppressed)
    missing = lacking_records(table.codes, known, grouping.missing) & ~left_out
    gone = left_out | missing
    kept = np.flatnonzero(~gone) if gone.any() else slice(None)
    wildcards = {}
    if grouping.missing == "matches_everything":
        wildcards = _wildcards(table, disclosed, is_suppressed, kept, known)
    codes, records, of_record, is_wildcard = _grouped(table, disclosed, kept, attributes, wildcards)
    persons = None
    if table.persons is not None:
        require_rows_of_persons(grouping.missing, grouping.suppressed)
        persons = class_persons(of_record, table.persons[kept], len(records), table.n_persons)
    if len(of_record) < len(disclosed):
        of_kept, of_record = of_record, np.full(len(disclosed), -1, dtype=np.int32)
        of_record[kept] = of_kept
    return EquivalenceClasses(
        attributes,
        codes,
        records,
        of_record,
        int(np.count_nonzero(left_out)),
        int(np.count_nonzero(missing)),
        is_wildcard,
        persons,
    )


def require_rows_of_persons(missing: Missing, suppressed: Suppressed) -> None:
    """Refuse what has no meaning where a person may have several records: NotSupported."""
    if missing == "matches_everything":
        refused, instead = "A missing value that matches everything", "own_category or excluded for missing"
    elif suppressed == "own_block":
        refused, instead = "A class of all suppressed records", "excluded for suppressed"
    else:
        return
    raise NotSupported(
        f"{refused} is not defined where a person may have several records.",
        f"Choose {instead}, or judge a table with {ONE_ROW}.",
    )


def _wildcards(
    table: Table, disclosed: Ints, is_suppressed: Bools, kept: Longs | slice, known: tuple[int, ...]
) -> dict[int, Bools]:
    """Per attribute with such records which of the kept ones match everything in it.

    They miss the value in the original. What the rule suppresses of a record is no wildcard: it would lower
    the risks of all others the more is suppressed. In an attribute that is suppressed of all kept records
    none is needed.
    """
    found = {}
    for j in known:
        missing = (table.is_missing(j) & ~is_suppressed)[kept]
        if missing.any() and not shows_nothing(disclosed[kept, j]).all():
            found[j] = missing
    return found


def _grouped(
    table: Table,
    disclosed: Ints,
    kept: Longs | slice,
    attributes: tuple[int, ...],
    wildcards: dict[int, Bools],
) -> tuple[Ints, Longs, Ints, Bools | None]:
    """Codes and records of the classes, the class of each kept record, and where classes match everything."""
    if not attributes:
        n = len(disclosed[kept])
        n_groups = min(n, 1)
        codes = np.empty((n_groups, 0), dtype=np.int32)
        return codes, np.full(n_groups, n, dtype=np.int64), np.zeros(n, dtype=np.int32), None
    columns, sizes = [], []
    for j in attributes:
        column, size = disclosed[kept, j], table.sizes[j]
        if j in wildcards:
            # A value that is suppressed is told from one that is missing by a code of its own.
            column, size = np.where(shows_nothing(column) & ~wildcards[j], size, column), size + 1
        columns.append(column)
        sizes.append(size)
    rows = distinct_rows(columns, sizes, len(columns[0]))
    if not wildcards:
        return rows.codes, rows.counts, rows.inverse, None
    is_wildcard = np.zeros(rows.codes.shape, dtype=bool)
    for place, j in enumerate(attributes):
        if j in wildcards:
            own = rows.codes[:, place]
            is_wildcard[:, place] = shows_nothing(own)
            own[own == table.sizes[j]] = TOP
    return rows.codes, rows.counts, rows.inverse, is_wildcard
