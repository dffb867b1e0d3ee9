"""The table to disclose, encoded once: one node code per cell (Definitions: records and datasets)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Floats, Integers, Ints
from app.domain.errors import Fault, InvalidInput, having
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.distinct import DistinctRows, distinct_rows
from app.domain.tables.masks import missing_cells
from app.domain.tables.rarity import Rarities


@dataclass(frozen=True, eq=False)
class Table:
    """Records to disclose.

    Parameters
    ----------
    attributes
        The disclosed attributes A_2..A_m in schema order.
    hierarchies
        One per attribute.
    codes
        int32 (n, m), column-major: the node of each cell, 0 (⊥) where missing.
    entity_ids
        Unique identifiers as text, or None: then the row number is an identifier private to the table.
    weights
        float64 (n,): how much each record counts in means, ≥ 0 and finite, not all 0. None: all
        alike. Counts of entities and of identical records ignore them.
    sensitive
        The attributes of the role sensitive; all others are quasi-identifiers.
    has_unique_ids
        Whether it is known that no identifier occurs twice, so that it need not be looked for.
    persons
        int32 (n,): number from 0 of the person whom each record is about, every number occurring. None: no
        column names persons, and each record counts as one.
    """

    attributes: tuple[str, ...]
    hierarchies: tuple[Hierarchy, ...]
    codes: Ints
    entity_ids: npt.NDArray[Any] | None = None
    weights: Floats | None = None
    sensitive: frozenset[str] = frozenset()
    has_unique_ids: bool = False
    persons: Ints | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", np.asfortranarray(self.codes, dtype=np.int32))
        if self.codes.ndim != 2 or not len(self.attributes) == len(self.hierarchies) == self.codes.shape[1]:
            raise ValueError("a table has one hierarchy and one column of codes per attribute")
        if not self.n_records:
            raise InvalidInput.of("/", "empty-dataset", "The dataset has no records.", "Give at least one.")
        for j, hierarchy in enumerate(self.hierarchies):
            column = self.codes[:, j]
            if column.min() < 0 or column.max() >= hierarchy.n_nodes:
                raise ValueError(f"column {self.attributes[j]!r} holds codes that are not nodes")
        if self.entity_ids is not None and not self.has_unique_ids:
            require_unique_ids(self.entity_ids, self.n_records, "dataset")
        if not self.sensitive <= set(self.attributes):
            raise ValueError("the sensitive attributes are among the table's")
        if self.weights is not None:
            object.__setattr__(self, "weights", _checked_weights(self.weights, self.n_records))
        if self.persons is not None and self.persons.shape != (self.n_records,):
            raise ValueError("one person per record")

    @cached_property
    def n_persons(self) -> int:
        """Persons whom the records are about; as many as records where no column names them."""
        return self.n_records if self.persons is None else int(self.persons.max()) + 1

    @property
    def n_records(self) -> int:
        """n, repeated records included."""
        return int(self.codes.shape[0])

    @property
    def n_attributes(self) -> int:
        """m, the disclosed attributes."""
        return len(self.attributes)

    @cached_property
    def quasi_identifiers(self) -> tuple[int, ...]:
        """Positions of the attributes that are not sensitive."""
        return tuple(j for j, name in enumerate(self.attributes) if name not in self.sensitive)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Number of nodes per attribute, the radices of row keys."""
        return tuple(hierarchy.n_nodes for hierarchy in self.hierarchies)

    @cached_property
    def heights(self) -> tuple[int, ...]:
        """Greatest level of each attribute's hierarchy."""
        return tuple(hierarchy.height for hierarchy in self.hierarchies)

    @cached_property
    def is_complete(self) -> bool:
        """Whether every cell is a leaf: nothing is missing or generalised in the original."""
        return all(bool(h.is_leaf[self.codes[:, j]].all()) for j, h in enumerate(self.hierarchies))

    def is_missing(self, attribute: int) -> Bools:
        """(n,) which cells of the attribute at this position are missing.

        Found in the codes whenever it is asked, in 0.2 ms for a million records: kept for 70 attributes, the
        answers would take 70 MB.
        """
        return missing_cells(self.codes[:, attribute])

    @cached_property
    def own_ids(self) -> npt.NDArray[Any]:
        """What a dictionary of the same entities calls each record: its identifier, else its row number."""
        return np.arange(self.n_records) if self.entity_ids is None else self.entity_ids

    @cached_property
    def used_nodes(self) -> tuple[Ints, ...]:
        """Per attribute the nodes that occur, ascending."""
        used = []
        for j, size in enumerate(self.sizes):
            occurs = np.zeros(size, dtype=bool)
            occurs[self.codes[:, j]] = True
            used.append(np.flatnonzero(occurs).astype(np.int32))
        return tuple(used)

    @cached_property
    def rarities(self) -> tuple[Rarities, ...]:
        """Per attribute, how many values are how rare on each level."""
        return tuple(Rarities(own, self.codes[:, j]) for j, own in enumerate(self.hierarchies))

    def position(self, attribute: str) -> int:
        """Index of an attribute; InvalidInput if the table does not have it."""
        try:
            return self.attributes.index(attribute)
        except ValueError:
            raise InvalidInput([no_attribute(f"/{attribute}", attribute, self.attributes)]) from None

    @cached_property
    def reduced(self) -> DistinctRows:
        """Distinct records in canonical order, computed once."""
        return self.distinct()

    @cached_property
    def reduced_missing(self) -> Bools:
        """(d, m) which cells of the distinct records are missing; read-only.

        Kept, since searches ask for it again and again: a byte per cell, a quarter of what the codes take.
        """
        found = missing_cells(self.reduced.codes)
        found.flags.writeable = False
        return found

    def distinct(
        self,
        attributes: Sequence[int] | None = None,
        extra: Sequence[tuple[Integers, int]] = (),
    ) -> DistinctRows:
        """Distinct combinations of some attributes (default: all), optionally split further.

        ``extra`` are columns (codes, exclusive limit) appended after the attributes, such as weight groups.
        """
        chosen = range(self.n_attributes) if attributes is None else attributes
        columns = [self.codes[:, j] for j in chosen] + [column for column, _ in extra]
        sizes = [self.sizes[j] for j in chosen] + [size for _, size in extra]
        return distinct_rows(columns, sizes, self.n_records)


def _checked_weights(weights: Floats, n: int) -> Floats:
    """The weights scaled by a power of 2 to a greatest one below 1; InvalidInput unless they are right."""
    found = np.asarray(weights, dtype=np.float64)
    if found.shape != (n,):
        raise ValueError("one weight per record")
    bad = np.flatnonzero(~(np.isfinite(found) & (found >= 0)))
    if len(bad):
        shown = ", ".join(str(row + 1) for row in bad[:10])
        raise InvalidInput.of(
            "/weights",
            "weight-out-of-range",
            f"{having(len(bad), 'record')} a weight that is no number of at least 0 (first rows: {shown}).",
            "Record weights are finite and 0 or more.",
        )
    if not found.any():
        raise InvalidInput.of(
            "/weights",
            "no-weight",
            "Every record has weight 0.",
            "Give at least one record a positive weight.",
        )
    exponent = np.frexp(found.max())[1]
    # However small beside the others, a positive weight stays positive: an infinite loss must count.
    least = np.finfo(np.float64).smallest_subnormal
    return np.where(found > 0, np.maximum(np.ldexp(found, -exponent), least), 0.0)


def require_unique_ids(ids: npt.NDArray[Any], n: int, what: str) -> None:
    """Raise InvalidInput unless there is one identifier per row and none twice."""
    if len(ids) != n:
        raise ValueError("one identifier per row")
    if ids.dtype.kind in "iu" and bool((ids[1:] > ids[:-1]).all()):
        return
    if len(set(ids.tolist())) == n:
        return
    seen: dict[Any, int] = {}
    rows = []
    for row, entity in enumerate(ids.tolist()):
        if seen.setdefault(entity, row) != row:
            rows.append(row + 1)
    if rows:
        shown = ", ".join(map(str, rows[:10]))
        role = "give the column the role person, or " if what == "dataset" else ""
        raise InvalidInput.of(
            "/identifier",
            "duplicate-identifier",
            f"The {what} repeats an identifier in {len(rows)} rows (first rows: {shown}).",
            f"An identifier is of one row. Where a person has several, {role}take one row per person, which "
            "the service makes of an upload (one-row-per-person).",
        )


def no_attribute(pointer: str, name: str, known: Sequence[str]) -> Fault:
    """The fault of an attribute that is none of those that there are."""
    listed = f"The attributes are: {', '.join(known)}."
    return Fault(pointer, "unknown-attribute", f"There is no attribute {name!r}.", listed)


def unknown_attributes(pointer: str, names: Iterable[str], table: Table) -> list[Fault]:
    """The faults of the names of attributes that are not disclosed, each below the pointer."""
    unknown = (name for name in names if name not in table.attributes)
    return [unknown_attribute(f"{pointer}/{name}", name, table) for name in unknown]


def unknown_attribute(pointer: str, attribute: str, table: Table) -> Fault:
    """The fault of an attribute that is not disclosed."""
    return Fault(
        pointer,
        "unknown-attribute",
        f"There is no disclosed attribute {attribute!r}.",
        f"The attributes are: {', '.join(table.attributes)}.",
    )
