"""Table-level searches with hierarchies that are no trees, which keep two levels: 0 and the highest.

A level between names one ancestor of every value, which only a tree has; as it is and ⊥ every hierarchy has.
The search sees a hierarchy with those two levels alone, so that it neither counts nor visits any others; what
it answers speaks of the levels of the hierarchy itself.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Generic

from app.domain.arrays import Bools, Levels
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import TableRule
from app.domain.search.answers import answers_of
from app.domain.search.blocks import A_co, BlockedSearch
from app.domain.search.budget import Halted, never
from app.domain.search.context import SearchContext
from app.domain.search.frontier import FrontierOutcome
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityOutcome
from app.domain.search.outcome import Outcome
from app.domain.tables.table import Table


class HierarchyOfEnds(Hierarchy):
    """A hierarchy whose level 1 is ⊥; all else is that of the one it is made of."""

    @cached_property
    def height(self) -> int:
        """1: what is no tree has values below ⊥."""
        return 1

    @property
    def numbers_of_levels(self) -> tuple[int, ...]:
        """0 and the height of the hierarchy that it is made of."""
        return (0, int(self.depth.max()))


def of_ends(context: SearchContext) -> SearchContext:
    """The instance with only the end levels of hierarchies that are no trees; itself if all others are."""
    table = table_of_ends(context.table, range(context.table.n_attributes))
    return context if table is context.table else replace(context, table=table)


def table_of_ends(table: Table, attributes: Sequence[int]) -> Table:
    """The table with only the end levels of those of the attributes' hierarchies that are no trees.

    Itself if all of them are.
    """
    chosen = {j for j in attributes if not table.hierarchies[j].is_tree}
    if not chosen:
        return table
    hierarchies = tuple(
        HierarchyOfEnds(own.labels, own.parents, own.warnings) if j in chosen else own
        for j, own in enumerate(table.hierarchies)
    )
    return replace(table, hierarchies=hierarchies)


class _SearchOfEnds(Generic[A_co]):
    """A search on a table of ends, which answers in the levels of the table's own hierarchies."""

    def __init__(self, search: BlockedSearch[A_co], ends: Table) -> None:
        self._search = search
        self._numbers = [hierarchy.numbers_of_levels for hierarchy in ends.hierarchies]
        self.n_blocks, self.units, self.solver = search.n_blocks, search.units, search.solver
        self.answers = answers_of(search)

    @property
    def seconds(self) -> float:
        """Estimated time of all blocks."""
        return self._search.seconds

    @property
    def n_bytes(self) -> int:
        """Estimated memory."""
        return self._search.n_bytes

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """One block of the search."""
        return self._search.run_block(index, tick, halted)

    def _levels(self, levels: Levels) -> Levels:
        return tuple(own[level] for own, level in zip(self._numbers, levels, strict=True))


class RuleSearchOfEnds(_SearchOfEnds[Outcome]):
    """A search for one rule."""

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """What the search answers, with the levels of the hierarchies themselves."""
        found = self._search.combine(blocks)
        rule, shown = found.rule, found.risk_map
        if isinstance(rule, TableRule):
            rule = TableRule(self._levels(rule.levels))
        if shown is not None:
            points = tuple(replace(own, levels=self._levels(own.levels)) for own in shown.points)
            shown = replace(shown, points=points)
        return replace(found, rule=rule, risk_map=shown)


class FrontierSearchOfEnds(_SearchOfEnds[FrontierOutcome]):
    """A search for the rules that no other dominates."""

    def combine(self, blocks: Mapping[int, bytes]) -> FrontierOutcome:
        """What the search answers, with the levels of the hierarchies themselves."""
        found = self._search.combine(blocks)
        points = tuple(
            own if own.levels is None else replace(own, levels=self._levels(own.levels))
            for own in found.points
        )
        return replace(found, points=points)


class LeastLossOfEnds(_SearchOfEnds[AnonymityOutcome]):
    """A search for the rule of least loss."""

    def __init__(self, search: AnonymityPlan, ends: Table) -> None:
        super().__init__(search, ends)
        self._of_loss = search

    def combine(self, blocks: Mapping[int, bytes]) -> AnonymityOutcome:
        """What the search answers, with the levels of the hierarchies themselves."""
        found = self._search.combine(blocks)
        rule, minimal = found.rule, found.minimal
        if isinstance(rule, TableRule):
            rule = TableRule(self._levels(rule.levels))
        if minimal is not None:
            minimal = tuple(TableRule(self._levels(own.levels)) for own in minimal)
        return replace(found, rule=rule, minimal=minimal)

    def suppressed_records(self, levels: Levels) -> Bools:
        """(n,) records that a rule with these levels of all attributes suppresses."""
        numbered = zip(self._numbers, levels, strict=True)
        return self._of_loss.suppressed_records(tuple(own.index(level) for own, level in numbered))
