"""Rules that fail and the criteria that they fail, to look for the nearest that pass."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, RecordRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.search_instances import hierarchies

MODELS = ["depth_sum", "inverse_leaves", "log_leaves", "info_loss_xt", "info_loss_lm"]


@st.composite
def dags(draw):
    """A hierarchy in which values may have two parents."""
    parents = {"x": [None], "y": [None]}
    for i in range(draw(st.integers(1, 3))):
        parents[f"v{i}"] = draw(st.sampled_from([["x"], ["y"], ["x", "y"]]))
    return Hierarchy.from_parents(parents)


@dataclass
class Case:
    table: Table
    rule: TableRule | RecordRule | CellRule
    utility: object
    mask: int

    def __repr__(self):
        return f"{self.table.codes.tolist()} {self.table.hierarchies} {self.rule} {self.utility.model}"


@st.composite
def cases(draw, kinds=("table", "record", "cell"), has_sensitive=False):
    m, n = draw(st.integers(1 + has_sensitive, 3)), draw(st.integers(1, 7))
    kind = draw(st.sampled_from(kinds))
    shapes = st.one_of(hierarchies(), dags()) if kind != "record" else hierarchies()
    trees = [draw(shapes) for _ in range(m)]
    codes = np.array([[draw(st.integers(0, t.n_nodes - 1)) for t in trees] for _ in range(n)], dtype=np.int32)
    names = tuple(f"a{j}" for j in range(m))
    weights = draw(st.one_of(st.none(), st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=n, max_size=n)))
    sensitive = frozenset(names[1:2]) if has_sensitive or (m > 1 and draw(st.booleans())) else frozenset()
    table = Table(names, tuple(trees), codes, None, None if weights is None else np.array(weights), sensitive)
    if kind == "table":
        levels = [
            draw(st.integers(0, t.height)) if t.is_tree else draw(st.sampled_from([0, t.height]))
            for t in trees
        ]
        rule = TableRule(tuple(levels))
    elif kind == "record":
        rule = RecordRule(
            np.array([[draw(st.integers(0, t.height)) for t in trees] for _ in range(n)], dtype=np.int16)
        )
    else:
        shown = [
            [draw(st.sampled_from(sorted(t.up(int(code))))) for t, code in zip(trees, row, strict=True)]
            for row in codes
        ]
        rule = CellRule(np.array(shown, dtype=np.int32))
    factors = {name: draw(st.sampled_from([0.0, 1.0, 2.5])) for name in names}
    if draw(st.integers(0, 4)):
        utility = build_utility(table, draw(st.sampled_from(MODELS)), factors)
    else:
        values = {
            name: {label: float(depth) for label, depth in zip(t.labels, t.depth.tolist(), strict=True)}
            for name, t in zip(names, trees, strict=True)
        }
        utility = build_utility(table, "custom", factors, values)
    return Case(table, rule, utility, draw(st.integers(0, 2**16)))
