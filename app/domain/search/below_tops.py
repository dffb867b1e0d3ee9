"""Table-level searches among the rules that show every quasi-identifier at some level.

The search sees a hierarchy without its highest level, so that it neither counts nor visits rules that hide an
attribute. What a level is called, what it makes of a value and what that loses stay those of the hierarchy.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from app.domain.arrays import Ints
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class HierarchyBelowTop(Hierarchy):
    """The levels of a ``whole`` hierarchy but for its highest one."""

    whole: Hierarchy = field(kw_only=True)

    @cached_property
    def height(self) -> int:
        """The highest level at which something is shown."""
        return max(0, self.whole.height - 1)

    @property
    def level_of_top(self) -> int:
        """That of the whole hierarchy, which no rule has."""
        return self.whole.height

    def ancestors_at(self, level: int) -> Ints:
        """Per node, what it becomes at a level of the whole hierarchy."""
        return self.whole.ancestors_at(level)


def table_below_tops(table: Table) -> Table:
    """The table whose quasi-identifiers have no level at which nothing of them is shown."""
    hierarchies = list(table.hierarchies)
    for j in table.quasi_identifiers:
        own = hierarchies[j]
        hierarchies[j] = HierarchyBelowTop(own.labels, own.parents, own.warnings, whole=own)
    return replace(table, hierarchies=tuple(hierarchies))
