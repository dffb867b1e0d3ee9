"""Losses of releases from what is shown of each record."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.loss import LossKind, SummedLoss
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.table import Table

BALANCED = Hierarchy.from_parents(
    {"u": [None], "v": [None], "a": ["u"], "b": ["u"], "c": ["v"], "d": ["v"], "e": ["v"]}
)


SHALLOW = Hierarchy.from_parents({"w": [None], "x": ["w"], "p": ["x"], "q": ["x"], "r": ["w"], "s": [None]})


ILLNESS = Hierarchy.from_parents({"1": [None], "2": [None], "3": ["2"], "4": ["2"]})


TREES = (BALANCED, SHALLOW, ILLNESS)


@dataclass(frozen=True)
class Classes:
    sizes: np.ndarray
    of_row: np.ndarray


@st.composite
def tables(draw):
    """Records over three trees, the last attribute sensitive: leaves, nodes above them and missing values."""
    rows = draw(st.integers(1, 14))
    columns = []
    for tree in TREES:
        # Most tables have leaves alone in some of their attributes.
        values = draw(st.sampled_from([tree.leaves.tolist(), [TOP, *tree.leaves], range(tree.n_nodes)]))
        columns.append(draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows)))
    codes = np.array(columns, dtype=np.int32).T
    return Table(("x", "y", "s"), TREES, codes, sensitive=frozenset({"s"}))


def classes_of(table: Table, levels: tuple[int, ...]) -> Classes:
    shown = apply(TableRule((*levels, 0)), table)[:, :2]
    _, of_record = np.unique(shown, axis=0, return_inverse=True)
    of_row = np.empty(table.reduced.size, dtype=np.intp)
    of_row[table.reduced.inverse] = of_record.reshape(-1)
    return Classes(np.bincount(of_record.reshape(-1)).astype(np.int64), of_row)


def value(loss, table: Table, levels: tuple[int, ...], suppressed: np.ndarray | None) -> float:
    """Loss of a rule that suppresses some of its classes."""
    classes = classes_of(table, levels)
    if not isinstance(loss, SummedLoss):
        return loss.of(levels, classes, suppressed)
    if suppressed is None:
        return loss.of(levels)
    out, reduced = suppressed[classes.of_row], table.reduced
    per_node = [
        [int(reduced.counts[out & (reduced.codes[:, j] == node)].sum()) for node in nodes]
        for j, nodes in enumerate(loss.nodes)
    ]
    added = loss.added([np.array(counts, dtype=np.int64) for counts in per_node])
    terms = [float(loss.terms(j, a)[v]) for j, (a, v) in enumerate(zip(added, levels, strict=True))]
    assert loss.of(levels, added) == pytest.approx(loss.of_sum(math.fsum(terms)), abs=1e-9)
    return loss.of(levels, added)


# Squared errors may fall by suppression; the searches that minimise them allow for it.
KINDS = tuple(kind for kind in get_args(LossKind) if kind != "squared_error")


def divergence_by_hand(table: Table, shown: np.ndarray, declared: bool) -> tuple[float, float]:
    """Spread and dropped, from the sets of values that every box holds; ⊥ of an original is a category.

    The sensitive values of suppressed records are known.
    """
    suppressed = [not (row[:2]).any() for row in shown]
    kept_rows = [row for row, out in enumerate(suppressed) if not out]
    everywhere = [bool(kept_rows) and not shown[kept_rows, j].any() for j in range(3)]

    def categories(j):
        leaves = set(table.hierarchies[j].leaves.tolist()) if declared else set()
        return leaves | set(table.codes[:, j].tolist())

    def holds(row, j):
        if everywhere[j]:
            return categories(j)
        tree, own = table.hierarchies[j], int(table.codes[row, j])
        hides = suppressed[row] and j < 2
        cell = own if suppressed[row] and not hides else int(shown[row, j])
        if cell == own == TOP and not hides:
            return {TOP}
        return {v for v in categories(j) if tree.is_above(cell, v)}

    boxes = [[holds(row, j) for j in range(3)] for row in range(len(shown))]
    n, kept = len(shown), len(shown) - sum(suppressed)
    spread = dropped = 0.0
    for x, count in Counter(map(tuple, table.codes.tolist())).items():
        inside = [row for row in range(n) if all(x[j] in boxes[row][j] for j in range(3))]
        masses = {row: 1 / math.prod(len(own) for own in boxes[row]) for row in inside}
        spread += count / n * math.log(count / sum(masses.values()))
        left = sum(mass for row, mass in masses.items() if not suppressed[row])
        dropped += count / n * math.log(count / n / (left / kept)) if left else math.inf
    return spread, dropped
