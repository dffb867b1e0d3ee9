"""Random instances whose risks are sums of weights, or exponentials of them, by counts of classes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.models import RiskModel
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from app.domain.tables.table import Table

FAMILIES = ("linear", "linear_personal", "multiplicative", "multiplicative_centered", "constant")


@st.composite
def hierarchies(draw):
    """A tree of at most 8 nodes below the top, often unbalanced."""
    parents = {}
    for i in range(draw(st.integers(1, 8))):
        above = draw(st.integers(-1, i - 1))
        parents[f"v{i}"] = [None if above < 0 else f"v{above}"]
    return Hierarchy.from_parents(parents)


@st.composite
def balanced_hierarchies(draw):
    """A tree whose leaves all have the same depth."""
    n, height = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    above = [[draw(st.integers(0, 3 - level)) for level in range(1, height)] for _ in range(n)]
    rows = []
    for i, groups in enumerate(above):
        # A label says all that is above it, so that no node has two parents.
        rows.append([f"v{i}", *(str(groups[level:]) for level in range(height - 1))])
    return Hierarchy.from_rows([[*row, "top"] for row in rows])


@st.composite
def separable_contexts(draw, balanced=False):
    """Trees with missing and inner cells in the table, leaves and values elsewhere in the dictionary.

    ``balanced``: trees with all leaves at one depth, and leaves alone in the table.
    """
    m = draw(st.integers(1, 4))
    trees = [draw(balanced_hierarchies() if balanced else hierarchies()) for _ in range(m)]
    n, entities = draw(st.integers(1, 12)), draw(st.integers(0, 30))
    rng = np.random.default_rng(draw(st.integers(0, 2**20)))
    columns = [
        tree.leaves[rng.integers(0, tree.n_leaves, n)] if balanced else rng.integers(0, tree.n_nodes, n)
        for tree in trees
    ]
    codes = np.stack(columns, axis=1).astype(np.int32)
    names = tuple(f"a{j}" for j in range(m))
    table = Table(names, tuple(trees), codes)
    links = []
    for j, (name, tree) in enumerate(zip(names, trees, strict=True)):
        if j == 0 or draw(st.integers(0, 2)):
            cells = tree.leaves[rng.integers(0, tree.n_leaves, entities)]
            if draw(st.booleans()):
                cells = np.where(rng.random(entities) < 0.2, -1, cells)
            links.append(link_nodes(name, tree, cells.astype(np.int32)))
    family = draw(st.sampled_from(FAMILIES))
    number = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0])
    weights = {name: draw(st.sampled_from([ConstantWeight, LeafWeights]))(draw(number)) for name in names}
    overrides = None
    if family not in ("linear", "constant") and draw(st.booleans()):
        given_ = [[draw(st.one_of(st.just(np.nan), number)) for _ in names] for _ in range(2)]
        overrides = Overrides(rng.integers(0, 2, n).astype(np.int32), np.array(given_))
    if family == "constant":
        sensitivity = constant_sensitivity(table, draw(number))
    else:
        sensitivity = build_sensitivity(table, family, weights, overrides)
    model = draw(st.sampled_from(["depth_sum", "log_leaves", "info_loss_xt"]))
    return SearchContext(
        table,
        Dictionary(entities, tuple(links)),
        sensitivity,
        build_utility(table, model),
        model=RiskModel(draw(st.sampled_from(["I", "III"]))),
    )
