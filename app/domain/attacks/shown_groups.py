"""The groups of rows that a release shows alike, and how often each shows which value of an attribute.

Of a release whose values were all kept with one probability, the published values, be the rows independent
draws or copies; of records, their own values as a rule leaves them, which stand for what uniform replacement
would be applied to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import MaxLen, doc

from app.domain.arrays import Bools, Ints, Longs
from app.domain.attacks.shown_values import require_attribute
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.grouping import positions_of
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.mechanisms.drawn_release import PublishedRetention
from app.domain.models.entry import MeasureContext
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table

KnownAttributes = Annotated[
    tuple[Annotated[str, MaxLen(1000)], ...] | None,
    MaxLen(100),
    doc(
        "Attributes that the reader knows of a person; null: those of the role quasi_identifier. Of none all "
        "rows are one group."
    ),
]


@dataclass(frozen=True, eq=False)
class ShownGroups:
    """G groups with their counts of values.

    Parameters
    ----------
    table
        Whose hierarchies say what is shown.
    name, attributes
        The sensitive attribute, and the places of the quasi-identifiers.
    nodes
        (G, q) what each group shows of these.
    counts
        Of the m values that may be published, numbered as ``labels``; every group has one.
    """

    table: Table
    name: str
    attributes: tuple[int, ...]
    nodes: Ints
    counts: SensitiveCounts
    labels: tuple[CellValue, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The quasi-identifiers."""
        return tuple(self.table.attributes[j] for j in self.attributes)

    def shows(self, group: int) -> tuple[CellValue, ...]:
        """What a group shows, as text."""
        hierarchies = [self.table.hierarchies[j] for j in self.attributes]
        own = self.nodes[group].tolist()
        return tuple(CellValue(one.labels[node]) for one, node in zip(hierarchies, own, strict=True))

    def of(self, groups: Longs) -> SensitiveCounts:
        """The counts of some groups together, at least one, as one group."""
        amounts = np.zeros(len(self.labels), dtype=np.int64)
        for group in groups.tolist():
            entries = slice(*self.counts.starts[group : group + 2].tolist())
            amounts[self.counts.values[entries]] += self.counts.counts[entries]
        values = np.flatnonzero(amounts)
        starts = np.array([0, len(values)], dtype=np.int64)
        own = self.counts
        return SensitiveCounts(starts, values.astype(np.int32), amounts[values], own.totals, own.nodes)


def known_attributes(table: Table, names: Sequence[str] | None) -> tuple[int, ...]:
    """Positions of the quasi-identifiers, maybe none; InvalidInput for unknown and repeated ones."""
    return table.quasi_identifiers if names is None else positions_of(table, tuple(names))


def shown_groups(
    context: MeasureContext, attribute: str | None, quasi_identifiers: Sequence[str] | None
) -> ShownGroups:
    """What a reader groups; InvalidInput for attributes that there are not.

    Rows of which everything is suppressed, or that show no value, are left out.
    """
    attributes = known_attributes(context.table, quasi_identifiers)
    retained = None if context.drawn is None else context.drawn.retained
    if context.drawn is None or retained is None:
        name, table = context.release.sensitive(attribute), context.table
        codes, is_suppressed = context.release.codes, context.release.is_suppressed
    else:
        require_attribute(
            attribute in (None, retained.attribute), f"The release has drawn {retained.attribute!r}."
        )
        name, table = retained.attribute, context.drawn.table
        codes, is_suppressed = table.codes, context.of_rows.release.is_suppressed
    own = table.position(name)
    require_attribute(own not in attributes, f"{name!r} is among the quasi-identifiers.")
    numbers, labels = _numbered(table, own, retained)
    of_row = np.where(is_suppressed, -1, numbers.take(codes[:, own]))
    kept = np.flatnonzero(of_row >= 0)
    require_attribute(len(kept) > 0, f"No row shows a value of {name!r}.")
    columns = [codes[kept, j] for j in attributes]
    rows = distinct_rows(columns, [table.sizes[j] for j in attributes], len(kept))
    values = of_row[kept]
    n_values = len(labels)
    ones: Longs = np.ones(len(values), dtype=np.int64)
    found = count_values(rows.inverse.astype(np.int64), values, ones, rows.size, n_values)
    totals = np.bincount(values, minlength=n_values).astype(np.int64)
    counts = SensitiveCounts(*found, totals, np.arange(n_values, dtype=np.int32))
    return ShownGroups(table, name, attributes, rows.codes, counts, labels)


def _numbered(
    table: Table, attribute: int, retained: PublishedRetention | None
) -> tuple[Ints, tuple[CellValue, ...]]:
    """(nodes,) the number of the value that each node is, −1 for others, and the values' texts."""
    hierarchy = table.hierarchies[attribute]
    if retained is not None:
        return retained.numbers(hierarchy), retained.values
    numbers = np.full(hierarchy.n_nodes, -1, dtype=np.int32)
    numbers[hierarchy.leaves] = np.arange(hierarchy.n_leaves, dtype=np.int32)
    return numbers, tuple(CellValue(hierarchy.labels[node]) for node in hierarchy.leaves.tolist())


def generalised_values(context: MeasureContext, attribute: str | None) -> str | None:
    """Why values under the rule cannot be replaced uniformly; None if they can, or were."""
    if context.drawn is not None:
        return None
    name = context.release.sensitive(attribute)
    own = context.table.position(name)
    hierarchy, column = context.table.hierarchies[own], context.release.codes[:, own]
    if hierarchy.n_leaves < 2:
        return f"The hierarchy of {name!r} has a single value: there is nothing to tell."
    is_value: Bools = hierarchy.is_leaf[column] | (shows_nothing(column) & (hierarchy.n_nodes > 1))
    if is_value.all():
        return None
    return f"Some values of {name!r} are generalised. Choose a rule that leaves them as they are."
