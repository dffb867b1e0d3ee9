"""Random small instances for the searches, and the obviously right way to solve them."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.search.objectives import OBJECTIVES
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights
from app.domain.tables.numbers import tie_margin
from app.domain.tables.table import Table

FAMILIES = ("linear", "linear_personal", "multiplicative", "multiplicative_centered", "constant")


@st.composite
def hierarchies(draw):
    """A tree of at most 9 nodes, often unbalanced."""
    n = draw(st.integers(1, 8))
    parents = {}
    for i in range(n):
        above = draw(st.integers(-1, i - 1))
        parents[f"v{i}"] = [None if above < 0 else f"v{above}"]
    return Hierarchy.from_parents(parents)


@st.composite
def contexts(draw, shapes=None):
    """Missing, inner and leaf values on both sides; links missing; personal, zero and infinite weights."""
    m = draw(st.integers(1, 3))
    trees = [draw(hierarchies() if shapes is None else shapes) for _ in range(m)]
    n, entities = draw(st.integers(1, 6)), draw(st.integers(0, 8))
    codes = np.array(
        [[draw(st.integers(0, tree.n_nodes - 1)) for tree in trees] for _ in range(n)], dtype=np.int32
    ).reshape(n, m)
    names = tuple(f"a{j}" for j in range(m))
    table = Table(names, tuple(trees), codes, np.array([f"e{i}" for i in range(n)], dtype=object))
    links = []
    for name, tree in zip(names, trees, strict=True):
        if draw(st.integers(0, 3)):
            cells = [draw(st.integers(-1, tree.n_nodes - 1)) for _ in range(entities)]
            links.append(link_nodes(name, tree, np.array(cells, dtype=np.int32)))
    ids = np.array([f"e{i + draw(st.integers(0, 1)) * 100}" for i in range(entities)], dtype=object)
    dictionary = Dictionary(entities, tuple(links), ids, True)
    family = draw(st.sampled_from(FAMILIES))
    number = st.sampled_from([0.0, 0.25, 0.5, 1.0, 1.5, 2.0, math.inf])
    if family == "constant":
        sensitivity = constant_sensitivity(table, draw(number))
    else:
        weights = {name: draw(st.sampled_from([ConstantWeight, LeafWeights]))(draw(number)) for name in names}
        overrides = None
        if family != "linear" and draw(st.booleans()):
            groups = np.array([draw(st.integers(0, 1)) for _ in range(n)], dtype=np.int32)
            table_of_groups = [[draw(st.one_of(st.just(math.nan), number)) for _ in names] for _ in range(2)]
            overrides = Overrides(groups, np.array(table_of_groups))
        sensitivity = build_sensitivity(table, family, weights, overrides)
    model = draw(st.sampled_from(["depth_sum", "log_leaves", "inverse_leaves", "info_loss_xt"]))
    return SearchContext(table, dictionary, sensitivity, build_utility(table, model))


@dataclass
class BruteForce:
    """Scores by looping over records and entities."""

    context: SearchContext
    policy: str

    def count(self, row, codes):
        """|ρ| of one disclosed record."""
        table, dictionary = self.context.table, self.context.dictionary
        own, others = 0, 0
        for entity in range(dictionary.n_entities):
            consistent = True
            for link in dictionary.links:
                j = table.attributes.index(link.attribute)
                code = link.column[entity]
                means = set(link.leaves[link.starts[code] : link.starts[code + 1]].tolist())
                covered = set(table.hierarchies[j].leaves_of(int(codes[j])).tolist())
                consistent &= bool(codes[j] == TOP or link.everything[code] or means & covered)
            if dictionary.entity_ids[entity] == table.entity_ids[row]:
                own += consistent
            else:
                others += consistent
        return others + (1 if self.policy == "add_self" else own)

    def score(self, row, codes):
        """Loss and utility of one disclosed record."""
        sensitivity = self.context.sensitivity
        matrix = np.array([codes], dtype=np.int32)
        groups = None if sensitivity.groups is None else sensitivity.groups[[row]]
        count, phi = self.count(row, codes), float(sensitivity.phi(matrix, groups)[0])
        return (phi / count if count else 0.0), float(self.context.utility.of(matrix)[0])

    def table_rules(self):
        """(levels, risk, utility) of every table-level rule."""
        table = self.context.table
        cache = {}
        possible = [range(h.height + 1) if h.is_tree else (0, h.height) for h in table.hierarchies]
        for levels in itertools.product(*possible):
            losses, utilities = [], []
            for row in range(table.n_records):
                codes = tuple(
                    int(tree.ancestors_at(level)[code])
                    for tree, level, code in zip(table.hierarchies, levels, table.codes[row], strict=True)
                )
                if (row, codes) not in cache:
                    cache[row, codes] = self.score(row, codes)
                losses.append(cache[row, codes][0])
                utilities.append(cache[row, codes][1])
            yield levels, math.fsum(losses) / len(losses), math.fsum(utilities) / len(utilities)

    def record_nodes(self, row):
        """(steps, loss, utility) of every node of one record's lattice."""
        table = self.context.table
        chains = []
        for tree, code in zip(table.hierarchies, table.codes[row].tolist(), strict=True):
            chain = [code]
            while chain[-1] != TOP:
                chain.append(int(tree.parents[chain[-1]][0]))
            chains.append(chain)
        for steps in itertools.product(*(range(len(chain)) for chain in chains)):
            codes = tuple(chain[s] for chain, s in zip(chains, steps, strict=True))
            yield steps, *self.score(row, codes)


def objective_of(kind, threshold):
    """The objective of a kind, with all else as usual."""
    return OBJECTIVES[kind](threshold)


def solve(nodes, problem):
    """(status, value, levels) of the optimum, first in the order of ties, among (levels, risk, utility)."""
    rated = []
    for levels, risk, utility in nodes:
        if problem.objective.kind == "min_risk" and utility >= problem.objective.threshold - 1e-9:
            rated.append((risk, -utility, levels))
        if problem.objective.kind == "max_utility" and risk <= problem.objective.threshold + 1e-9:
            rated.append((-utility, risk, levels))
        if problem.objective.kind == "lagrangian":
            rated.append((risk - problem.objective.threshold * utility, -utility, levels))
    if not rated:
        return "infeasible", None, None
    value = min(rated)[0]
    if math.isinf(value):
        return "prohibited", None, None
    rated = [r for r in rated if r[0] <= value + tie_margin(value)]
    second = min(r[1] for r in rated)
    return "optimal", value, min(r[2] for r in rated if r[1] <= second + tie_margin(second))
