"""What is guessed from counts of a release, by loops over records, values and a dense matrix."""

from __future__ import annotations

import math

import numpy as np


def dense(matrix):
    """PM as a list of rows."""
    m = len(matrix.retention)
    return [
        [float(matrix.elsewhere[j] + (matrix.retention[j] if i == j else 0)) for j in range(m)]
        for i in range(m)
    ]


def solved(matrix, published):
    """PM⁻¹·e by a solver."""
    return np.linalg.solve(np.array(dense(matrix)), np.array(published, dtype=float)).tolist()


def likeliest(matrix, published, prior, rounds):
    """Expectation-maximisation, one value after the other."""
    rows, m = dense(matrix), len(prior)
    n = [sum(published) * p for p in prior]
    for _ in range(rounds):
        expected = [sum(rows[i][j] * n[j] for j in range(m)) for i in range(m)]
        n = [
            n[j] * sum(rows[i][j] * published[i] / expected[i] for i in range(m) if expected[i] > 0)
            for j in range(m)
        ]
    return n


def likelihoods(hierarchy, column, numbers, prior, reconstruct):
    """{leaf: [count with each value / prior]} of rows that show a node of a leaf's; none if no row does."""
    found, m = {}, len(prior)
    if not any(column):
        return found
    for index, leaf in enumerate(hierarchy.leaves.tolist()):
        published = [0.0] * m
        for node, number in zip(column, numbers, strict=True):
            below = hierarchy.leaves_of(node).tolist()
            if number >= 0 and index in below and (node != 0 or hierarchy.n_nodes == 1):
                published[number] += 1 / len(below)
        found[leaf] = [max(n, 0.0) / p for n, p in zip(reconstruct(published), prior, strict=True)]
    return found


def guess(prior, parts):
    """The likeliest value, the first of equals; the most frequent one, and True, if all are ruled out."""
    scores = []
    for i, p in enumerate(prior):
        terms = [p, *(part[i] for part in parts)]
        scores.append(sum(map(math.log, terms)) if all(t > 0 for t in terms) else -math.inf)
    if max(scores) == -math.inf:
        return prior.index(max(prior)), True
    return max(range(len(prior)), key=lambda i: (round(scores[i], 9), -i)), False


def shares_in_group(matrix, published):
    """Estimated share of each value in a group, and its standard error."""
    rows, m, total = dense(matrix), len(published), sum(published)
    n, inverse = solved(matrix, published), np.linalg.inv(np.array(rows))
    errors = []
    for i in range(m):
        of_j = [sum(rows[r][j] * inverse[i][r] ** 2 for r in range(m)) - (i == j) for j in range(m)]
        errors.append(math.sqrt(max(0.0, sum(max(n[j], 0.0) * of_j[j] for j in range(m)))) / total)
    return [own / total for own in n], errors
