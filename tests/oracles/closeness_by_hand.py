"""Distances and gains of one class by loops over its counts (β-likeness 1, 2, 3 and 8)."""

import math
from fractions import Fraction

import numpy as np

from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.hierarchies.hierarchy import Hierarchy


def counts_of(totals, classes, nodes=None):
    """Vectors of counts, one per class, as the domain counts them."""
    starts, values, counts = [0], [], []
    for vector in classes:
        for value, n in enumerate(vector):
            if n:
                values.append(value)
                counts.append(n)
        starts.append(len(values))
    return SensitiveCounts(
        np.array(starts, dtype=np.int64),
        np.array(values, dtype=np.int32),
        np.array(counts, dtype=np.int64),
        np.array(totals, dtype=np.int64),
        np.arange(1, len(totals) + 1, dtype=np.int32) if nodes is None else np.array(nodes, dtype=np.int32),
    )


def shares(counts):
    size = sum(counts)
    return [Fraction(n, size) for n in counts]


def equal(totals, counts):
    return sum(abs(p - q) for p, q in zip(shares(totals), shares(counts), strict=True)) / 2


def ordered(totals, counts):
    population, size, steps = sum(totals), sum(counts), len(totals) - 1
    moved = running = 0
    for n, x in list(zip(totals, counts, strict=True))[:-1]:
        running += n * size - x * population
        moved += abs(running)
    return Fraction(moved, population * size * max(1, steps))


def hierarchical(totals, counts, nested):
    """The tree as nested tuples of value numbers: cost by cost of the inner nodes, as section 8.1 has it."""
    p, q = shares(totals), shares(counts)

    def walk(node):
        """Excess, height and cost below."""
        if isinstance(node, int):
            return p[node] - q[node], 0, Fraction(0)
        below = [walk(child) for child in node]
        high = 1 + max(h for _, h, _ in below)
        over = sum((e for e, _, _ in below if e > 0), Fraction(0))
        under = sum((-e for e, _, _ in below if e < 0), Fraction(0))
        cost = sum((c for _, _, c in below), Fraction(0)) + high * min(over, under)
        return sum((e for e, _, _ in below), Fraction(0)), high, cost

    _, root, cost = walk(nested)
    return cost / root


def kl(p, q):
    if any(b == 0 < a for a, b in zip(p, q, strict=True)):
        return math.inf
    return sum(float(a) * math.log2(a / b) for a, b in zip(p, q, strict=True) if a)


def js(totals, counts):
    p, q = shares(totals), shares(counts)
    middle = [(a + b) / 2 for a, b in zip(p, q, strict=True)]
    return (kl(p, middle) + kl(q, middle)) / 2


def gains(totals, counts):
    return [(q - p) / p for p, q in zip(shares(totals), shares(counts), strict=True)]


def within(x, n, total, population, beta, bound):
    """WITHIN of section 1: is x / n at most f(total / population)?"""
    if x == 0:
        return True
    if bound == "basic" or beta <= -math.log(Fraction(total, population)):
        return x * population <= (1 + beta) * total * n
    p = total / population
    return x / n <= p * (1 - math.log(p)) * (1 + 1e-12)


def like(totals, counts, beta, bound):
    population, size = sum(totals), sum(counts)
    return all(within(x, size, t, population, beta, bound) for x, t in zip(counts, totals, strict=True))


def greatest_ratio(totals, counts, absent_count=True):
    """δ*, natural."""
    p, q = shares(totals), shares(counts)
    if absent_count and 0 in q:
        return math.inf
    return max(abs(math.log(b / a)) for a, b in zip(p, q, strict=True) if b)


def worst_posterior(counts, members, j):
    """Section 5.2: the belief in a set of values once the j most frequent others are ruled out."""
    inside = sum(n for v, n in enumerate(counts) if v in members)
    others = sorted((n for v, n in enumerate(counts) if v not in members), reverse=True)
    return Fraction(inside, inside + sum(others[j:])) if inside else Fraction(0)


def random_tree(rng, n_leaves):
    """A random tree of values 0, 1, … as nested tuples, the values in their order."""
    forest = list(range(n_leaves))
    while len(forest) > 1:
        start = int(rng.integers(0, len(forest)))
        taken = int(rng.integers(1, 4))
        group = tuple(forest[start : start + taken])
        if len(group) == len(forest) or not (len(group) == 1 and isinstance(group[0], tuple)):
            forest[start : start + taken] = [group]
        if rng.random() < 0.1 or len(forest) <= 2:
            return tuple(forest)
    return tuple(forest)


def hierarchy_of(nested):
    """The tree as a hierarchy whose leaves are named by their numbers."""
    parents = {}

    def add(node, name, above):
        if not isinstance(node, int):
            for i, child in enumerate(node):
                add(child, f"{name}.{i}" if isinstance(child, tuple) else str(child), [name])
        if above is not None:
            parents[name] = above

    for i, child in enumerate(nested):
        add(child, f"r{i}" if isinstance(child, tuple) else str(child), [None])
    return Hierarchy.from_parents(parents)


def random_classes(rng, n_values, n_classes, greatest):
    """Vectors of counts, none empty, in which every value occurs somewhere, and their totals."""
    while True:
        classes = rng.integers(0, greatest + 1, (n_classes, n_values)) * (
            rng.random((n_classes, n_values)) < 0.7
        )
        classes = classes[classes.sum(axis=1) > 0]
        totals = classes.sum(axis=0)
        if len(classes) and (totals > 0).all():
            return totals.tolist(), classes.tolist()
