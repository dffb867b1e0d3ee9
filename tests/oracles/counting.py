"""Consistent entities, counted by comparing every record with every entity."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table


@st.composite
def hierarchies(draw, trees: bool = True) -> Hierarchy:
    n = draw(st.integers(1, 9))
    above: dict[str, list[str | None]] = {}
    for i in range(n):
        choices = [None, *above]
        parents = draw(
            st.lists(st.sampled_from(choices), min_size=1, max_size=1 if trees else 3, unique=True)
        )
        above[f"v{i}"] = parents
    return Hierarchy.from_parents(above)


@st.composite
def links(draw, attribute: str, h: Hierarchy, n_entities: int) -> LinkedAttribute:
    """Cells that are any set of leaves, ⊥ (None) or elsewhere (the empty set)."""
    leaf_sets = st.one_of(
        st.none(),
        st.lists(st.integers(0, h.n_leaves - 1), max_size=3, unique=True).map(sorted),
        st.sampled_from(range(h.n_nodes)).map(lambda v: h.leaves_of(v).tolist()),
    )
    codes = draw(st.lists(leaf_sets, min_size=1, max_size=6))
    column = draw(st.lists(st.integers(0, len(codes) - 1), min_size=n_entities, max_size=n_entities))
    sets = [[] if code is None else code for code in codes]
    return LinkedAttribute(
        attribute,
        h,
        np.array(column, dtype=np.int32),
        np.cumsum([0, *map(len, sets)]),
        np.array([leaf for code in sets for leaf in code], dtype=np.int32),
        np.array([code is None for code in codes]),
    )


@st.composite
def instances(draw, trees: bool = True, cells: str = "any") -> tuple[Table, Dictionary]:
    m = draw(st.integers(1, 3))
    hs = [draw(hierarchies(trees)) for _ in range(m)]
    n, n_entities = draw(st.integers(1, 8)), draw(st.integers(0, 12))
    allowed = [range(h.n_nodes) if cells == "any" else h.leaves.tolist() for h in hs]
    codes = [[draw(st.sampled_from(allowed[j])) for j in range(m)] for _ in range(n)]
    names = tuple(f"a{j}" for j in range(m))
    ids = np.array([str(i) for i in range(n)], dtype=object)
    table = Table(names, tuple(hs), np.array(codes, dtype=np.int32), ids)
    linked = draw(st.lists(st.sampled_from(range(m)), unique=True))
    found = tuple(draw(links(names[j], hs[j], n_entities)) for j in linked)
    first = draw(st.integers(0, 5))
    entities = np.array([str(first + i) for i in range(n_entities)], dtype=object)
    return table, Dictionary(n_entities, found, entities, comparable_ids=True)


@st.composite
def table_rules(draw, table: Table) -> TableRule:
    return TableRule(tuple(draw(st.integers(0, h)) for h in table.heights))


def brute_consistent(table: Table, dictionary: Dictionary, row: np.ndarray, entity: int) -> bool:
    for link in dictionary.links:
        node = int(row[table.attributes.index(link.attribute)])
        code = int(link.column[entity])
        leaves = set(link.leaves[link.starts[code] : link.starts[code + 1]].tolist())
        below = {
            i for i, leaf in enumerate(link.hierarchy.leaves.tolist()) if link.hierarchy.is_above(node, leaf)
        }
        if node != TOP and not link.everything[code] and not leaves & below:
            return False
    return True


def brute_counts(table: Table, dictionary: Dictionary, codes: np.ndarray) -> list[int]:
    return [
        sum(brute_consistent(table, dictionary, row, e) for e in range(dictionary.n_entities))
        for row in codes
    ]


def raised(h: Hierarchy, node: int, level: int) -> int:
    """The ancestor in a tree at depth min(depth, height − level)."""
    while h.depth[node] > h.height - level:
        (node,) = h.parents[node]
    return node


def disclosed_by(table: Table, levels, codes=None) -> np.ndarray:
    """What a rule of these levels shows of the table's records, or of records with these codes."""
    rows = table.codes.tolist() if codes is None else codes
    shown = [[raised(h, node, k) for h, node, k in zip(table.hierarchies, row, levels, strict=True)]
             for row in rows]  # fmt: skip
    return np.array(shown, dtype=np.int32).reshape(len(rows), table.n_attributes)
