"""First rules of one record, and the local search whose node no exchange improves.

Counts of all exchanges of a node are taken by bits where many entities are nearby; where few are consistent
with the node itself, its specialisations are counted among those. The counts of pairs start as upper bounds
and become exact where they are asked for. With g(up) entities gained by the generalisation
alone, a pair counts at most min(count(up), count(down) + g(up)): what it counts more than ``down`` alone was
gained by ``up``.

An exchange changes at most two attributes, one to any more specific level and another to any more general
one. All of them are counted at once from the entities nearby; where these are too many, by bits, and then
pairs only while an upper bound of their count does not rule them out.

First rules are nodes along a way from ⊥ to the record as it is. The way takes the steps in the order of what
they cost per utility, the cost being the logarithm of the count that is lost if attributes were independent
plus the share of the weight. |ρ| along it falls, so that one pass counts all its nodes.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.counting.bitsets import Words, at_least, everybody, members_of, size_of, sum_planes
from app.domain.search.budget import Halted
from app.domain.search.large_lattices.chains import Chains
from app.domain.search.large_lattices.least_weights import Goal, Rated
from app.domain.search.large_lattices.near_entities import Exchanges, NearRows, Steps
from app.domain.tables.numbers import tie_margin

FEW_ROWS = 2**13
"""Entities nearby up to which all exchanges are counted from their thresholds."""
REFINED_AT_ONCE = 16
MOST_ROUNDS = 1000

FEW = 2**9

MOST_LISTED = 2**11
"""Entities of a node up to which those of its specialisations are counted by their thresholds."""


@dataclass(frozen=True, eq=False)
class BitExchanges(Exchanges):
    """As :class:`Exchanges`, entries outside ``exact`` being upper bounds until they are refined."""

    chains: Chains
    whole: Words
    others: dict[int, Words]
    missed: npt.NDArray[np.float64] | None
    exact: npt.NDArray[np.bool_]
    refined: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, chains: Chains, steps: Steps, levels: Longs) -> BitExchanges:
        """Count the single steps of a node, and bound the pairs."""
        ups = np.flatnonzero(steps.level >= levels[steps.attribute])
        downs = np.flatnonzero(steps.level < levels[steps.attribute])
        up, up_level = steps.attribute[ups], steps.level[ups] + 1
        down, down_level = steps.attribute[downs], steps.level[downs]
        linked = {j: q for q, j in enumerate(chains.linked)}
        whole, others = _without_each(chains, levels, linked)
        counts = np.zeros((1 + len(up), 1 + len(down)))
        counts[0, 0] = size_of(whole)
        spare = np.empty_like(whole)
        for i, (j, level) in enumerate(zip(up.tolist(), up_level.tolist(), strict=True), start=1):
            rest = others.get(j, whole)
            counts[i, 0] = _size_with(chains, rest, linked, j, level, spare)
        if counts[0, 0] <= MOST_LISTED:
            listed = NearRows.listed(chains, members_of(whole))
            counts[0, 1:] = (listed[:, down] <= down_level).sum(axis=0)
        else:
            for i, (j, level) in enumerate(zip(down.tolist(), down_level.tolist(), strict=True), start=1):
                counts[0, i] = _size_with(chains, whole, linked, j, level, spare)
        gained = counts[1:, :1] - counts[0, 0]
        counts[1:, 1:] = np.minimum(counts[1:, :1], counts[0, 1:] + gained)
        exact = np.zeros(counts.shape, dtype=bool)
        exact[0], exact[:, 0] = True, True
        missed = None
        if chains.own is not None:
            missed = _missed(chains.own, levels, (up, up_level), (down, down_level))
            counts += missed
        refined = [len(up) + len(down) + 1]
        return cls(counts, up, up_level, down, down_level, chains, whole, others, missed, exact, refined)

    @property
    def evaluated(self) -> int:
        """Nodes that were counted."""
        return sum(self.refined)

    def is_exact(self, row: int, column: int) -> bool:
        """Whether an entry is a count, not a bound."""
        return bool(self.exact[row, column])

    def refine(self, entries: Longs) -> None:
        """Count some entries, numbered row by row."""
        linked = {j: q for q, j in enumerate(self.chains.linked)}
        for row, column in (divmod(entry, self.counts.shape[1]) for entry in entries.tolist()):
            if self.exact[row, column]:
                continue
            j, i = int(self.up[row - 1]), int(self.down[column - 1])
            words = self.others.get(j, self.whole)
            words = _with(self.chains, words, linked, j, int(self.up_level[row - 1]))
            words = _with(self.chains, words, linked, i, int(self.down_level[column - 1]))
            self.counts[row, column] = size_of(words) + (
                0.0 if self.missed is None else self.missed[row, column]
            )
            self.exact[row, column] = True
            self.refined.append(1)


def _missed(
    own: Ints, levels: Longs, up: tuple[Longs, Longs], down: tuple[Longs, Longs]
) -> npt.NDArray[np.float64]:
    """1 where the own row misses a node, which then counts itself, else 0 (1 + ups, 1 + downs)."""
    short = (own > levels).astype(np.int64)
    ups, downs = ((own[j] > level).astype(np.int64) - short[j] for j, level in (up, down))
    none = np.zeros(1, dtype=np.int64)
    total = short.sum() + np.concatenate([none, ups])[:, None] + np.concatenate([none, downs])
    found: npt.NDArray[np.float64] = (total > 0).astype(np.float64)
    return found


def _with(chains: Chains, words: Words, linked: dict[int, int], attribute: int, level: int) -> Words:
    """Those of some entities that are consistent with one attribute on a level."""
    node = int(chains.nodes[attribute, level])
    if not node or attribute not in linked:
        return words
    return words & chains.index.of(linked[attribute], node)


def _size_with(
    chains: Chains, words: Words, linked: dict[int, int], attribute: int, level: int, spare: Words
) -> int:
    """How many :func:`_with` leaves; ``spare`` is overwritten."""
    node = int(chains.nodes[attribute, level])
    if not node or attribute not in linked:
        return size_of(words)
    return size_of(np.bitwise_and(words, chains.index.of(linked[attribute], node), out=spare))


def _without_each(chains: Chains, levels: Longs, linked: dict[int, int]) -> tuple[Words, dict[int, Words]]:
    """The entities consistent with a node, and, per attribute it discloses, with all others of it."""
    all_ = everybody(chains.index.n_entities)
    shown = [j for j in linked if chains.nodes[j, levels[j]]]
    prefixes = [all_]
    for j in shown:
        prefixes.append(_with(chains, prefixes[-1], linked, j, int(levels[j])))
    others, suffix = {}, all_
    for j, prefix in zip(reversed(shown), reversed(prefixes[:-1]), strict=True):
        others[j] = prefix & suffix
        suffix = _with(chains, suffix, linked, j, int(levels[j]))
    return prefixes[-1], others


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
            levels = np.array(best.levels, dtype=np.int64)
            rows = near if near is not None else self._near(levels)
            if rows is None:
                exchanges: Exchanges | BitExchanges = BitExchanges.of(self._chains, self._steps, levels)
            else:
                exchanges = rows.exchanges(levels)
            self._work.visited += 1
            better, open_ = self._choose(best, levels, exchanges)
            while isinstance(exchanges, BitExchanges) and len(open_):
                exchanges.refine(open_)
                better, open_ = self._choose(best, levels, exchanges)
            self._work.evaluated += exchanges.evaluated
            if better is None:
                return best, True
            best = better
        return best, False

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


def way_down(chains: Chains) -> Longs:
    """Nodes from ⊥ on, each specialising one attribute of the one before, int64 (nodes, k)."""
    # What each level costs, 0 at ⊥ (k, levels)
    whole = float(np.where(np.isfinite(chains.weights[:, 0]), chains.weights[:, 0], 0.0).sum())
    weights = chains.weights - chains.weights[:, -1:]
    costs = np.where(np.isfinite(weights), weights, 0.0) * (1.0 / whole if whole > 0 else 0.0)
    lost = np.log(max(1, chains.index.n_entities) / np.maximum(1, chains.sizes))
    found: Floats = costs + lost
    moves = sorted(_hulls(chains, found))
    nodes = np.tile(chains.top, (len(moves) + 1, 1))
    # A hull's slopes rise from ⊥ down, so that sorting keeps each attribute's order.
    for i, (_, j, _, level) in enumerate(moves, start=1):
        nodes[i:, j] = level
    return nodes


def _hulls(chains: Chains, costs: Floats) -> list[tuple[float, int, int, int]]:
    """Steps down the lower convex hull of cost over utility of each attribute.

    Each with its slope, the attribute, its number on the attribute's way, and the level that it leads to.
    """
    found: list[tuple[float, int, int, int]] = []
    at = np.arange(chains.n_attributes)
    every = np.arange(costs.shape[1])
    level = chains.top.copy()
    for number in range(costs.shape[1]):
        open_ = (every >= chains.low[:, None]) & (every < level[:, None])
        gains = chains.utility - chains.utility[at, level][:, None]
        with np.errstate(divide="ignore", invalid="ignore"):
            slopes = np.where(open_ & (gains > 0), (costs - costs[at, level][:, None]) / gains, np.inf)
        # Of equal slopes the first is the longest way down; steps that gain nothing come last of all.
        below = slopes.argmin(axis=1)
        slope = slopes[at, below]
        below = np.where(np.isfinite(slope), below, chains.low)
        moved = np.flatnonzero(below < level)
        if not len(moved):
            break
        here = zip(slope[moved].tolist(), moved.tolist(), below[moved].tolist(), strict=True)
        found += [(price, j, number, to) for price, j, to in here]
        level[moved] = below[moved]
    return found


def counts_along(chains: Chains, nodes: Longs) -> Longs:
    """|ρ| of nodes that each specialise one attribute of the one before, from ⊥ on."""
    counts = np.full(len(nodes), chains.index.n_entities, dtype=np.int64)
    changed = (nodes[1:] != nodes[:-1]).argmax(axis=1) if nodes.shape[1] else np.empty(0, dtype=np.int64)
    linked = {j: q for q, j in enumerate(chains.linked)}
    words: Words | None = None
    done = len(nodes)
    for i, j in enumerate(changed.tolist(), start=1):
        counts[i] = counts[i - 1]
        if j not in linked or not chains.nodes[j, nodes[i, j]]:
            continue
        here = chains.index.of(linked[j], int(chains.nodes[j, nodes[i, j]]))
        words = here if words is None else words & here
        counts[i] = size_of(words)
        if counts[i] <= FEW:
            done = i + 1
            break
    if done < len(nodes) and words is not None:
        thresholds = NearRows.listed(chains, members_of(words))
        # When each level is left: an entity is lost where the last of its levels is.
        left_at = np.full((chains.n_attributes, chains.weights.shape[1] + 1), len(nodes))
        for i in range(done, len(nodes)):
            j = int(changed[i - 1])
            left_at[j, nodes[i, j] + 1 : nodes[i - 1, j] + 1] = i
        lost = left_at[np.arange(chains.n_attributes), thresholds].min(axis=1, initial=len(nodes))
        gone = np.bincount(lost, minlength=len(nodes) + 1)
        counts[done:] = len(thresholds) - np.cumsum(gone)[done : len(nodes)]
    if chains.own is not None:
        counts += (chains.own > nodes).any(axis=1)
    return counts


def first_rule(goal: Goal) -> tuple[Rated | None, int]:
    """The best feasible node of the way down, None if none is feasible, and the nodes that were rated."""
    chains = goal.chains
    nodes = way_down(chains)
    counts = counts_along(chains, nodes)
    at = np.arange(chains.n_attributes)
    weights = chains.weights[at, nodes].sum(axis=1)
    utility = chains.utility[at, nodes].sum(axis=1)
    criteria = goal.criteria(weights, counts.astype(np.float64), utility)
    chosen = int(np.where(criteria.feasible, criteria.first, np.inf).argmin())
    return goal.rate(tuple(nodes[chosen].tolist()), int(counts[chosen])), len(nodes)
