"""Equivalence classes: the records that a reader cannot tell apart by their quasi-identifiers.

Records disclosed alike (⊥ is like ⊥) are a class. Two questions have more than one answer in the field, so
they are parameters and every result states them: what a value that is missing in the original matches, and
what becomes of records that are withheld altogether (field models 1; ℓ-diversity 6.6, 14).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt
from annotated_types import Len, doc

from app.domain.distinct import Ints, Longs, distinct_rows
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies import TOP
from app.domain.tables import Table

Bools = npt.NDArray[np.bool_]

Missing = Literal["own_category", "matches_everything", "excluded"]
MissingSensitive = Literal["own_category", "excluded"]
Suppressed = Literal["excluded", "own_block"]


@dataclass(frozen=True, kw_only=True)
class Grouping:
    """How records are grouped; parameters of measures extend it."""

    quasi_identifiers: Annotated[
        tuple[str, ...] | None,
        Len(1, 100),
        doc("Attributes that an attacker may know; null: those of the role quasi_identifier."),
    ] = None
    missing: Annotated[
        Missing,
        doc(
            "What a missing quasi-identifier is like: another missing one (`own_category`), any value "
            "(`matches_everything`), or reason to leave the record out, which is counted (`excluded`)."
        ),
    ] = "own_category"
    missing_sensitive: Annotated[
        MissingSensitive,
        doc(
            "Whether a missing sensitive value is a value of its own or leaves the record out of its counts."
        ),
    ] = "own_category"
    suppressed: Annotated[
        Suppressed,
        doc(
            "Whether records all of whose quasi-identifiers are withheld are left out, and counted "
            "(`excluded`), or judged as one more class (`own_block`)."
        ),
    ] = "excluded"


@dataclass(frozen=True, eq=False)
class EquivalenceClasses:
    """The G classes of n records, in canonical order of their codes.

    Attributes
    ----------
    attributes
        Positions in the table of the attributes that were grouped by.
    codes
        (G, q) disclosed nodes of these.
    records
        (G,) records in each class, at least 1.
    sizes
        (G,) records that a reader cannot tell from those of the class: ``records``, and more where a missing
        value matches everything.
    of_record
        (n,) class of each record, −1 for those left out.
    n_suppressed, n_missing
        Records left out because they are withheld, and for a missing quasi-identifier.
    """

    attributes: tuple[int, ...]
    codes: Ints
    records: Longs
    sizes: Longs
    of_record: Ints
    n_suppressed: int
    n_missing: int

    @property
    def n_classes(self) -> int:
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
        raise InvalidInput.of(
            f"{pointer}/quasi_identifiers",
            "unknown-attribute",
            f"There is no attribute {unknown[0]!r}.",
            f"The attributes are: {', '.join(table.attributes)}.",
        )
    return tuple(sorted(table.attributes.index(name) for name in names))


def equivalence_classes(
    table: Table, disclosed: Ints, is_suppressed: Bools, grouping: Grouping, also: tuple[int, ...] = ()
) -> EquivalenceClasses:
    """Group the records of a release.

    Parameters
    ----------
    disclosed
        (n, m) nodes that the release shows.
    is_suppressed
        (n,) records that are withheld altogether.
    also
        Positions of further attributes to group by: the other sensitive ones (ℓ-diversity, Def. 3.11).

    Raises InvalidInput for quasi-identifiers that the table does not have.
    """
    attributes = tuple(dict.fromkeys((*positions_of(table, grouping.quasi_identifiers), *also)))
    left_out = is_suppressed if grouping.suppressed == "excluded" else np.zeros(len(disclosed), dtype=bool)
    is_missing = (table.codes[:, attributes] == TOP).any(axis=1) & ~left_out
    if grouping.missing == "matches_everything" and is_missing.any():
        raise NotSupported("Missing values that match everything are not counted yet.", "Choose another way.")
    missing = is_missing if grouping.missing == "excluded" else np.zeros_like(left_out)
    kept = np.flatnonzero(~(left_out | missing))
    columns = [disclosed[kept, j] for j in attributes]
    rows = distinct_rows(columns, [table.sizes[j] for j in attributes], len(kept))
    of_record = np.full(len(disclosed), -1, dtype=np.int32)
    of_record[kept] = rows.inverse
    return EquivalenceClasses(
        attributes,
        rows.codes,
        rows.counts,
        rows.counts,
        of_record,
        int(np.count_nonzero(left_out)),
        int(np.count_nonzero(missing)),
    )
