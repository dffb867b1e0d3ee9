"""Local search on one record's lattice: no exchange improves the node that it ends with.

An exchange changes at most two attributes, one to any more specific level and another to any more general
one. All of them are counted at once from the entities nearby; where these are too many, by bits, and then
pairs only while an upper bound of their count does not rule them out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.counting.bit_sums import at_least, sum_planes
from app.domain.counting.bitsets import Words, members_of, size_of
from app.domain.numbers import tie_margin
from app.domain.search.budget import Halted
from app.domain.search.chains.bit_exchanges import BitExchanges
from app.domain.search.chains.chains import Chains, Floats
from app.domain.search.chains.goal import Goal, Rated
from app.domain.search.chains.least_weights import Longs
from app.domain.search.chains.near_rows import Exchanges, NearRows, Steps

FEW_ROWS = 2**13
"""Entities nearby up to which all exchanges are counted from their thresholds."""
REFINED_AT_ONCE = 16
MOST_ROUNDS = 1000


@dataclass
class Work:
    """How many nodes were moved to, and of how many the risk was evaluated."""

    visited: int = 0
    evaluated: int = 0


class ExchangeSearch:
    """Improves nodes of one record; ``near`` are entities that are known to suffice for all of them."""

    def __init__(self, goal: Goal, steps: Steps, work: Work, halted: Halted) -> None:
        self._goal = goal
        self._chains: Chains = goal.chains
        self._steps = steps
        self._work = work
        self._halted = halted

    def improve(self, start: Rated, near: NearRows | None = None) -> tuple[Rated, bool]:
        """A node at least as good, and whether it was verified that no exchange improves it."""
        best = start
        for _ in range(MOST_ROUNDS):
            if self._halted():
                return best, False
            better = self._best_exchange(best, near)
            if better is None:
                return best, True
            best = better
        return best, False

    def _best_exchange(self, best: Rated, near: NearRows | None) -> Rated | None:
        levels = np.array(best.levels, dtype=np.int64)
        rows = near if near is not None else self._near(levels)
        if rows is None:
            exchanges: Exchanges | BitExchanges = BitExchanges.of(self._chains, self._steps, levels)
        else:
            exchanges = rows.exchanges(levels)
        self._work.visited += 1
        found, open_ = self._choose(best, levels, exchanges)
        while isinstance(exchanges, BitExchanges) and len(open_):
            exchanges.refine(open_)
            found, open_ = self._choose(best, levels, exchanges)
        self._work.evaluated += exchanges.evaluated
        return found

    def _choose(self, best: Rated, levels: Longs, exchanges: Exchanges) -> tuple[Rated | None, Longs]:
        """The best exchange if it improves, and the entries to be counted before it is known to be."""
        weights = self._spread(self._chains.weights, levels, exchanges)
        utility = self._spread(self._chains.utility, levels, exchanges)
        criteria = self._goal.criteria(weights, exchanges.counts, utility)
        tied = np.abs(criteria.first - best.first) <= tie_margin(best.first)
        gains = criteria.second < best.second - tie_margin(best.second)
        improves = np.where(tied, gains, criteria.first < best.first)
        improves &= criteria.feasible & exchanges.distinct
        places = np.flatnonzero(improves)
        if not len(places):
            return None, places
        first, second = criteria.first.reshape(-1)[places], criteria.second.reshape(-1)[places]
        places = places[np.lexsort((second, first))]
        row, column = divmod(int(places[0]), criteria.first.shape[1])
        if not exchanges.is_exact(row, column):
            return None, places[:REFINED_AT_ONCE]
        after = levels.copy()
        if row:
            after[exchanges.up[row - 1]] = exchanges.up_level[row - 1]
        if column:
            after[exchanges.down[column - 1]] = exchanges.down_level[column - 1]
        rated = self._goal.rate(tuple(after.tolist()), int(exchanges.counts[row, column]))
        better = rated is not None and self._goal.is_better(rated, best)
        return (rated if better else None), places[:0]

    @staticmethod
    def _spread(values: Floats, levels: Longs, exchanges: Exchanges) -> Floats:
        """Sums of the values of the levels (1 + ups, 1 + downs)."""
        now = values[np.arange(len(levels)), levels]
        up = values[exchanges.up, exchanges.up_level] - now[exchanges.up]
        down = values[exchanges.down, exchanges.down_level] - now[exchanges.down]
        found: Floats = now.sum() + np.concatenate([[0.0], up])[:, None] + np.concatenate([[0.0], down])
        return found

    def _near(self, levels: Longs) -> NearRows | None:
        """The entities that miss a node on at most one attribute, None if they are too many."""
        chains = self._chains
        shown = [(q, int(chains.nodes[j, levels[j]])) for q, j in enumerate(chains.linked)]
        sets = [(chains.index.of(q, node), 1) for q, node in shown if node]
        n = chains.index.n_entities
        planes = sum_planes(sets, chains.index.n_words)
        words: Words = at_least(planes, len(sets) - 1, n)
        if size_of(words) > FEW_ROWS:
            return None
        return NearRows.of(chains, self._steps, members_of(words))
