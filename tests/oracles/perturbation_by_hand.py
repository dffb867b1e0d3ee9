"""Perturbation by loops over dense matrices, and streams of random bytes that tests can repeat."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.table import Table


def bound(p, beta):
    """f(p) of enhanced β-likeness."""
    return p * (1 + min(beta, -math.log(p)))


def gamma(p, beta):
    """The factor by which probabilities of a row may differ."""
    return bound(p, beta) / p * (1 - p) / (1 - bound(p, beta))


def matrix_as_published(prior, beta):
    """PM of Cao and Karras (2012), equation 12, as a list of rows."""
    m = len(prior)
    gammas = [gamma(p, beta) for p in prior]
    c = 1 / (max(gammas) + m - 1)
    kept = [own * c for own in gammas]
    return [[kept[j] if i == j else (1 - kept[j]) / (m - 1) for j in range(m)] for i in range(m)]


def matrix_of(prior, beta, c):
    """PM of a C, as a list of rows."""
    m = len(prior)
    kept = [min(gamma(p, beta) * c, 1 - (m - 1) * c) for p in prior]
    return [[kept[j] if i == j else (1 - kept[j]) / (m - 1) for j in range(m)] for i in range(m)]


def posteriors(rows, prior):
    """post[published][true] by Bayes."""
    found = []
    for row in rows:
        joint = [p * entry for p, entry in zip(prior, row, strict=True)]
        found.append([own / sum(joint) for own in joint])
    return found


def greatest_posteriors(rows, prior):
    """Of each value, whatever is published."""
    return [max(column) for column in zip(*posteriors(rows, prior), strict=True)]


def random_totals(rng, n_values=None):
    """How often each of some values occurs: even, skewed, or with one that nearly all have."""
    m = int(rng.integers(2, 8)) if n_values is None else n_values
    totals = rng.integers(1, 40, m)
    kind = rng.integers(4)
    if kind == 1:
        totals[0] *= int(rng.choice([20, 1000, 10**6]))
    if kind == 2:
        totals[:] = 7
    if kind == 3:
        totals = totals ** int(rng.integers(1, 4))
    return totals.astype(np.int64)


def table_of(totals, quasi=None):
    """One sensitive attribute with these counts, beside a quasi-identifier, row by row."""
    labels = [f"v{i}" for i in range(len(totals))]
    values = Hierarchy.from_parents({label: [None] for label in labels})
    nodes = np.array([values.node_of(label) for label in labels])
    column = np.repeat(nodes, totals)
    others = np.ones(len(column), dtype=np.int64) if quasi is None else np.asarray(quasi)
    ages = Hierarchy.from_parents({str(a): [None] for a in range(1, int(others.max()) + 1)})
    codes = np.stack([others, column], axis=1).astype(np.int32)
    return Table(("age", "illness"), (ages, values), codes, sensitive=frozenset({"illness"}))


def table_of_groups(groups):
    """So many records of each group (the age) with each value."""
    totals = np.array(groups).sum(axis=0)
    places = [g + 1 for v in range(len(totals)) for g, own in enumerate(groups) for _ in range(own[v])]
    return table_of(totals, places)


def stream(seed: str) -> Callable[[int], bytes]:
    """Random bytes that are the same for the same seed; each is given once."""
    place = 0

    def bits(n: int) -> bytes:
        nonlocal place
        place += 1
        return hashlib.shake_256(f"{seed} {place}".encode()).digest(n)

    return bits


def drawn_by_hand(values, matrix: TransitionMatrix, data: bytes):
    """What is published of each value, one by one in whole numbers of any size."""
    found = []
    for i, value in enumerate(values):
        first = int.from_bytes(data[16 * i : 16 * i + 8], "little")
        second = int.from_bytes(data[16 * i + 8 : 16 * i + 16], "little")
        if first < round(Fraction(float(matrix.kept[value])) * 2**64):
            found.append(int(value))
            continue
        others = [v for v in range(matrix.n_values) if v != value]
        found.append(others[second * len(others) >> 64])
    return found
