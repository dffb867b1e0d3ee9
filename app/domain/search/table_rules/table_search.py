"""Optimal table-level rules by branch and bound, node by node of the lattice."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict

from app.domain.search.budget import Budget, Halted, added_up, never
from app.domain.search.lattices.search import LatticeSolver, search_lattice
from app.domain.search.outcome import Outcome
from app.domain.search.table_rules.estimates import ratings_by_bounding, share_shown
from app.domain.search.table_rules.table_level import RatingSearch, TableInstance

RULES_PER_RATED = 8


class TableSearch(RatingSearch):
    """Searches the lattice node by node."""

    def __init__(self, instance: TableInstance, solver: LatticeSolver, budget: Budget) -> None:
        super().__init__(instance, budget)
        self._how = solver
        self.solver = solver.name

    @property
    def seconds(self) -> float:
        """Estimated time; where nothing says better an eighth of the rules is rated, at most the budget."""
        context = self._instance.context
        wanted = ratings_by_bounding(self._instance, context.n_rules / RULES_PER_RATED)
        rated = min(self._budget.max_nodes or math.inf, wanted)
        shown = share_shown(self._instance)
        return context.preparing_seconds + self._ratings.seconds_of_ratings(rated, shown)

    def run_block(self, index: int, tick: Callable[[int], None], halted: Halted = never) -> bytes:
        """What the search found, as JSON."""
        instance, count = self._instance, added_up(tick)
        found = search_lattice(instance, instance.problem, self._how, self._budget, count, halted)
        return json.dumps(asdict(found), sort_keys=True).encode()

    def combine(self, blocks: Mapping[int, bytes]) -> Outcome:
        """The optimal rule, or the best that was found with the smallest open bound."""
        return self._concluded(json.loads(blocks[0]) if blocks else None)
