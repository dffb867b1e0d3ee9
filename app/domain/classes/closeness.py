"""How far the sensitive values of each class are distributed from those of the whole table: t-closeness.

P are the shares p_i = N_i / N of the values in the whole table, Q the shares q_i = n_i / |G| in a class. The
earth mover's distances (Li et al. (2007)) are quotients of whole numbers
and computed as such; the two divergences are in bits. All are convex in Q: no class made of others is farther
from P than the farthest of them. A class without values is at distance 0.

Values stand in the order of the hierarchy, depth first, which is the declared order of the leaves. A value
that is no leaf counts as a leaf of its own below its node.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.classes.ratios import Quotients
from app.domain.classes.sensitive_counts import SensitiveCounts, sum_by_class
from app.domain.classes.value_groups import NO_GROUP, group_counts, inner_layers
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import highest_accepted

Distance = Literal["equal", "ordered", "hierarchical", "kl", "js"]

NO_ORDER: Final = (
    "the values are texts that nobody put into an order, and the alphabet is none; give a hierarchy whose "
    "leaves stand in their order."
)
LARGEST: Final = 2**62
"""Whole numbers that may become larger are Python's, of any size."""


def whole_numbers(counts: SensitiveCounts, steps: int = 1) -> tuple[Longs, Longs, Longs, int]:
    """Counts (E,), totals (m,), sizes (G,) and population; as Python's numbers if products are large."""
    sizes, population = counts.sizes, int(counts.totals.sum())
    is_large = int(sizes.max(initial=0)) * population * steps >= LARGEST
    number = object if is_large else np.int64
    amounts, totals, of_class = (
        own.astype(number, copy=False) for own in (counts.counts, counts.totals, sizes)
    )
    return amounts, totals, of_class, population


def equal_distances(counts: SensitiveCounts) -> Quotients:
    """Any two different values are at distance 1: ½ Σ |p_i − q_i|, the mass that has to move."""
    amounts, totals, sizes, population = whole_numbers(counts)
    excess = amounts * population - sizes[counts.of_entry] * totals[counts.values]
    return _quotients(sum_by_class(counts, np.maximum(excess, 0)), sizes * population)


def ordered_distances(counts: SensitiveCounts) -> Quotients:
    """Values i and j are at distance |i − j| / (m − 1): Σ_i |Σ_{k ≤ i} (p_k − q_k)| / (m − 1).

    Only values that occur count, m is their number. NotSupported if some are missing (:func:`has_missing`).
    """
    if has_missing(counts):
        raise NotSupported(
            "A missing sensitive value has no place in the order of values.",
            "Leave missing sensitive values out, or use a distance without an order.",
        )
    steps = counts.n_values - 1
    amounts, totals, sizes, population = whole_numbers(counts, max(1, steps))
    if steps < 1:
        return _quotients(np.zeros_like(sizes), sizes)
    up_to: Longs = np.cumsum(totals)
    # Sums of the totals' running sums: those of values before a given one.
    before = np.concatenate(([0], np.cumsum(up_to)))
    of_entry = counts.of_entry
    size = sizes[of_entry]
    running = np.concatenate(([0], np.cumsum(amounts)))
    in_class = running[1:] - running[counts.starts[of_entry]]
    first = counts.values.astype(np.int64)
    last = np.empty_like(first)
    last[:-1] = first[1:]
    last[counts.starts[1:][counts.distinct > 0] - 1] = steps
    # From ``first`` to ``last`` the class's running sum stays; the table's overtakes it at ``turn``.
    turn = np.searchsorted(up_to, in_class * population // size, side="right").clip(first, last)
    ahead = in_class * population * (2 * turn - first - last)
    behind = size * (before[first] + before[last] - 2 * before[turn])
    moved = sum_by_class(counts, ahead + behind)
    occupied = np.flatnonzero(counts.distinct)
    moved[occupied] += sizes[occupied] * before[first[counts.starts[occupied]]]
    return _quotients(moved, sizes * (population * steps))


def hierarchical_distances(counts: SensitiveCounts, hierarchy: Hierarchy) -> Quotients:
    """Two values are as far apart as their lowest common node is high, over the height of the tree.

    The height of a node are the edges to its deepest leaf, whether that occurs or not. With e⁺ the excess of
    a node, max(0, q − p) summed over what is under it, the cost Σ h(v) · min(Σ e⁺, Σ e⁻ of v's children) over
    the inner nodes v is Σ e⁺(u) · (h(parent of u) − h(u)) over all nodes u but the root: what a node has too
    much and its children cannot settle leaves it upwards. NotSupported unless the hierarchy is a tree.
    """
    amounts, totals, sizes, population = whole_numbers(counts, max(1, hierarchy.height))
    if not hierarchy.height:
        return _quotients(np.zeros_like(sizes), sizes)
    heights = node_heights(hierarchy)
    own = heights[counts.nodes]
    above = heights[hierarchy.parent[counts.nodes]]
    rise = np.where(hierarchy.is_leaf[counts.nodes], above, own)
    excess = amounts * population - sizes[counts.of_entry] * totals[counts.values]
    moved = sum_by_class(counts, np.maximum(excess, 0) * rise[counts.values])
    for layer in inner_layers(hierarchy, counts.nodes):
        found = group_counts(counts, layer)
        # Records of the table under each node of the layer, and behind them those of values under none.
        under = np.zeros(hierarchy.n_nodes + 1, dtype=totals.dtype)
        np.add.at(under, layer, totals)
        held = found.amounts.astype(totals.dtype)
        excess = held * population - sizes[found.of_class] * under[found.groups]
        rise_of = heights[hierarchy.parent[found.groups]] - heights[found.groups]
        np.add.at(moved, found.of_class, np.maximum(excess, 0) * rise_of)
    return _quotients(moved, sizes * (population * hierarchy.height))


def cuts(hierarchy: Hierarchy, nodes: Ints) -> list[tuple[Ints, int]]:
    """Ways to part values by nodes of a tree, the finest first, each with a height that all parents reach.

    With c the nodes of one of them, the hierarchical distance is at least Σ e⁺(c) · h(parent of c) over the
    height of the tree: what a node has too much, its children had too much before it.
    """
    heights = node_heights(hierarchy)
    parts = [nodes]
    for layer in inner_layers(hierarchy, nodes):
        parts.append(np.where(layer != NO_GROUP, layer, parts[-1]))
    # The parent of an inner node that is a value itself is that node, as long as it stands alone.
    own = np.where(hierarchy.is_leaf[nodes], hierarchy.height, heights[nodes])
    least = [np.minimum(heights[hierarchy.parent[part]], own).min(initial=hierarchy.height) for part in parts]
    return [(part, int(above)) for part, above in zip(parts, least, strict=True)]


def kl_divergences(counts: SensitiveCounts) -> Floats:
    """KL(P‖Q) = Σ p_i log2(p_i / q_i) in bits; ∞ if a value of the table does not occur in the class."""
    p, q = _shares(counts)
    present = np.bincount(counts.of_entry, p * np.log2(p / q), counts.n_classes)
    complete = counts.distinct == np.count_nonzero(counts.totals)
    found = np.where(complete, np.maximum(present, 0.0), np.inf)
    return np.where(counts.distinct > 0, found, 0.0)


def js_divergences(counts: SensitiveCounts) -> Floats:
    """½ KL(P‖M) + ½ KL(Q‖M) with M = (P + Q) / 2 in bits, at most 1."""
    p, q = _shares(counts)
    middle = (p + q) / 2
    terms = (p * np.log2(p / middle) + q * np.log2(q / middle)) / 2
    # A value that does not occur in the class has p log2(p / (p/2)) = p.
    absent = (1 - np.bincount(counts.of_entry, p, counts.n_classes)) / 2
    found = np.bincount(counts.of_entry, terms, counts.n_classes) + absent
    return np.where(counts.distinct > 0, np.clip(found, 0.0, 1.0), 0.0)


def distances(counts: SensitiveCounts, kind: Distance, hierarchy: Hierarchy) -> Floats:
    """(G,) the distance of each class; the divergences to about 1e-15 of a bit per value."""
    found = _measured(counts, kind, hierarchy)
    return found.floats if isinstance(found, Quotients) else found


def farther(counts: SensitiveCounts, kind: Distance, bound: Fraction, hierarchy: Hierarchy) -> Bools:
    """(G,) which classes are farther than the bound: exactly, of the divergences to 1e-9 of a bit."""
    found = _measured(counts, kind, hierarchy)
    if isinstance(found, Quotients):
        return ~found.at_most(bound)
    return np.asarray(found > highest_accepted(float(bound)))


def _measured(counts: SensitiveCounts, kind: Distance, hierarchy: Hierarchy) -> Quotients | Floats:
    if kind == "equal":
        return equal_distances(counts)
    if kind == "ordered":
        return ordered_distances(counts)
    if kind == "hierarchical":
        return hierarchical_distances(counts, hierarchy)
    return kl_divergences(counts) if kind == "kl" else js_divergences(counts)


def has_missing(counts: SensitiveCounts) -> bool:
    """Whether a missing (or suppressed) value is among several values."""
    return counts.n_values > 1 and bool(shows_nothing(counts.nodes[0]))


def lacks_order(counts: SensitiveCounts, hierarchy: Hierarchy) -> bool:
    """Whether the values have no order that means something; two are as far apart in any."""
    return counts.n_values > 2 and not hierarchy.has_order


def node_heights(hierarchy: Hierarchy) -> Longs:
    """Per node of a tree the edges to its deepest leaf."""
    heights = np.zeros(hierarchy.n_nodes, dtype=np.int64)
    indices, above = hierarchy.ancestors(hierarchy.leaves)
    np.maximum.at(heights, above, hierarchy.depth[hierarchy.leaves][indices] - hierarchy.depth[above])
    return heights


def _shares(counts: SensitiveCounts) -> tuple[Floats, Floats]:
    """(E,) p_i and q_i of each entry."""
    p, q = counts.totals[counts.values] / counts.totals.sum(), counts.counts / counts.sizes[counts.of_entry]
    return p.astype(np.float64), q.astype(np.float64)


def _quotients(numerators: Longs, denominators: Longs) -> Quotients:
    """(G,) distances; a class without values has 0 / 1."""
    return Quotients(numerators, np.where(denominators > 0, denominators, 1))
