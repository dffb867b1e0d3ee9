"""Small worlds written in labels, and what the definitions say of them, by loops over labels alone.

The oracles below know nothing of the domain's types; :meth:`World.table` and the like turn a world into them.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from app.domain.dictionaries.consistency import Consistency, under
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table
from tests.oracles.rules import cell_rule

LABELS = ["".join(t) for n in (1, 2, 3, 4) for t in itertools.product("ab", repeat=n)]
STRANGERS = ["aba b", "bbbbb", "abc", "", "A", "aabba"]
MODES = ("compatible", "subsumed", "jaro")


def up(parents, value):
    """The value and everything above it; None is ⊥."""
    found, open_ = {value, None}, [value]
    while open_:
        for parent in parents.get(open_.pop(), ()):
            if parent not in found:
                found.add(parent)
                open_.append(parent)
    return found


def leaves(parents, value):
    """The least values below; a hierarchy of ⊥ alone has ⊥."""
    bottom = set(parents) - {p for above in parents.values() for p in above}
    return {leaf for leaf in bottom if value in up(parents, leaf)} or {value}


def jaro(s, t):
    """Section 4.2, step by step."""
    if s == t:
        return 1.0
    window, used, first = max(0, max(len(s), len(t)) // 2 - 1), set(), []
    for i, c in enumerate(s):
        for j in range(max(0, i - window), min(len(t), i + window + 1)):
            if j not in used and t[j] == c:
                used.add(j)
                first.append(c)
                break
    if not first:
        return 0.0
    second = [t[j] for j in sorted(used)]
    moved = sum(a != b for a, b in zip(first, second, strict=True)) // 2
    c = len(first)
    return (c / len(s) + c / len(t) + (c - moved) / c) / 3


def consistent(parents, shown, cell, mode, threshold=0.8):
    """The attribute test of section 4.1; ``cell`` may be a text that the hierarchy does not have."""
    if shown is None:
        return True
    known = cell is None or cell in parents
    if mode == "subsumed":
        return known and shown in up(parents, cell) and cell is not None
    if cell is None:
        return True
    if mode == "compatible":
        return known and bool(leaves(parents, shown) & leaves(parents, cell))
    texts = leaves(parents, cell) if known else {cell}
    return any(jaro(p, q) >= threshold - 1e-9 for p in leaves(parents, shown) for q in texts)


@dataclass
class World:
    """Hierarchies as {value: parents}, records and dictionary rows as tuples of labels, None for ⊥."""

    hierarchies: list
    records: list
    entities: dict
    modes: list
    thresholds: list

    @property
    def names(self):
        return tuple(f"a{j}" for j in range(len(self.hierarchies)))

    def built(self):
        """The domain's hierarchies, made once."""
        if not hasattr(self, "_built"):
            self._built = tuple(Hierarchy.from_parents(h) for h in self.hierarchies)
        return self._built

    def table(self, weights=None):
        return Table(self.names, self.built(), self.codes(self.records), self.ids(len(self.records)), weights)

    def ids(self, n):
        return np.array([f"e{i}" for i in range(n)], dtype=object)

    def codes(self, rows):
        columns = [h.encode([row[j] for row in rows])[0] for j, h in enumerate(self.built())]
        return np.stack(columns, axis=1)

    def options(self):
        pairs = zip(self.names, self.modes, self.thresholds, strict=True)
        return {name: Consistency(mode, threshold) for name, mode, threshold in pairs}

    def dictionary(self, entities=None, plain=False):
        """The entities (default: the world's) as a dictionary under the world's modes."""
        rows = self.entities if entities is None else entities
        links = tuple(
            link_identity(name, h, [row[j] for row in rows.values()])
            for j, (name, h) in enumerate(zip(self.names, self.built(), strict=True))
        )
        ids = np.array(list(rows), dtype=object)
        found = Dictionary(len(rows), links, ids, comparable_ids=True)
        return found if plain else under(found, Consistency(), self.options())

    def rule(self, shown) -> CellRule:
        return cell_rule(self.table(), self.codes(shown))

    def candidates(self, shown, entities=None):
        """ρ of one disclosed record."""
        rows = self.entities if entities is None else entities
        return {
            entity
            for entity, row in rows.items()
            if all(
                consistent(h, y, t, mode, threshold)
                for h, y, t, mode, threshold in zip(
                    self.hierarchies, shown, row, self.modes, self.thresholds, strict=True
                )
            )
        }


def risk(model, count, phi, n, psi=0.0):
    """Sections 6.1 and 10 for one record."""
    if model == "I":
        if math.isinf(psi):
            return math.inf
        p = 1 / count if count else 0.0
        return (phi * p if count else 0.0) + ((1 - p) * psi if p < 1 else 0.0)
    if not count or (model == "III" and not phi):
        return 0.0
    if model == "II":
        return 1 / count
    return math.inf if math.isinf(phi) else phi * math.log(n / count)


@st.composite
def parents_of_labels(draw, dag=True):
    labels = draw(st.lists(st.sampled_from(LABELS), min_size=1, max_size=7, unique=True))
    found = {}
    for label in labels:
        above = st.sampled_from([None, *found])
        found[label] = draw(st.lists(above, min_size=1, max_size=2 if dag else 1, unique=True))
    return found


@st.composite
def worlds(draw, modes=MODES, dag=True, least_entities=0, strangers=True):
    """Tables of up to 4 records with missing and inner values, dictionaries with anything."""
    m = draw(st.integers(1, 2))
    hierarchies = [draw(parents_of_labels(dag)) for _ in range(m)]
    known = [st.sampled_from([None, *h]) for h in hierarchies]
    cells = [st.one_of(k, st.sampled_from(STRANGERS)) if strangers else k for k in known]
    records = draw(st.lists(st.tuples(*known), min_size=1, max_size=4))
    rows = draw(st.lists(st.tuples(*cells), min_size=least_entities, max_size=6))
    first = draw(st.integers(0, 3))
    entities = {f"e{first + i}": row for i, row in enumerate(rows)}
    chosen = [draw(st.sampled_from(modes)) for _ in range(m)]
    thresholds = [draw(st.sampled_from([0.8, 0.5, 0.0, 1.0, 2 / 3])) for _ in range(m)]
    return World(hierarchies, records, entities, chosen, thresholds)


@st.composite
def generalised(draw, world, rows):
    """Rows of which each cell is its own or something above it."""
    return [
        tuple(
            draw(st.sampled_from(sorted(up(h, value), key=str)))
            for h, value in zip(world.hierarchies, row, strict=True)
        )
        for row in rows
    ]
