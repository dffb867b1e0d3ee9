"""Sensitivity and utility against loops over labels, on random trees, tables and weights."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.normalisation import Normalisation, normalise
from app.domain.sensitivity.sensitivity import Overrides, build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight, LeafWeights, NodeWeights
from app.domain.tables.table import Table
from tests.oracles.effort import examples

THOROUGH = settings(max_examples=examples(150), deadline=None)
WEIGHT = st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0, math.inf])


@st.composite
def trees(draw, most=6):
    n = draw(st.integers(1, most))
    return {f"v{i}": draw(st.sampled_from([None, *(f"v{k}" for k in range(i))])) for i in range(n)}


def harmonic(tree, leaf_weight):
    """Label → weight by the definition, in exact fractions; ``None`` is the top."""

    def weight(label):
        children = [child for child, parent in tree.items() if parent == label]
        if not children:
            return leaf_weight(label)
        if any(weight(child) == 0 for child in children):
            return 0.0
        inverses = sum(1 / Fraction(weight(c)) for c in children if weight(c) != math.inf)
        return math.inf if inverses == 0 else float(1 / inverses)

    return {None: 0.0} | {label: weight(label) for label in tree}


def build(tree):
    return Hierarchy.from_parents({label: [parent] for label, parent in tree.items()})


def label_of(hierarchy, node):
    return None if node == TOP else hierarchy.labels[node]


@st.composite
def worlds(draw):
    """A table of random trees with missing cells, weights per leaf, groups with overrides, interactions."""
    m, n = draw(st.integers(2, 3)), draw(st.integers(1, 5))
    forest = [draw(trees()) for _ in range(m)]
    hierarchies = tuple(build(tree) for tree in forest)
    names = tuple("abc"[:m])
    codes = np.array([[draw(st.integers(0, h.n_nodes - 1)) for h in hierarchies] for _ in range(n)])
    leaves = [{h.labels[v]: draw(WEIGHT) for v in h.leaves.tolist()} for h in hierarchies]
    groups = np.array([draw(st.integers(0, 1)) for _ in range(n)], np.int32)
    own = [[draw(st.one_of(st.just(math.nan), WEIGHT)) for _ in names] for _ in range(2)]
    possible = [s for q in (2, 3) for s in itertools.combinations(range(m), q)]
    sets = draw(st.lists(st.sampled_from(possible), min_size=1, unique=True))
    common = [draw(WEIGHT) for _ in sets]
    theirs = [[draw(st.one_of(st.just(math.nan), WEIGHT)) for _ in sets] for _ in range(2)]
    return forest, Table(names, hierarchies, codes), leaves, groups, own, sets, common, theirs


@pytest.mark.spec("E-2", "E-6")
@THOROUGH
@given(
    worlds(),
    st.sampled_from(["linear_personal", "interactions", "multiplicative_centered", "multiplicative"]),
)
def test_every_family_is_the_sum_over_what_is_disclosed(world, family):
    forest, table, leaves, groups, own, sets, common, theirs = world
    names = table.attributes
    given_sets = tuple(
        GivenInteraction(tuple(names[j] for j in s), w) for s, w in zip(sets, common, strict=True)
    )
    sensitivity = build_sensitivity(
        table,
        family,
        {name: LeafWeights(None, weights) for name, weights in zip(names, leaves, strict=True)},
        Overrides(groups, np.array(own), np.array(theirs)),
        interactions=GivenInteractions(given_sets if family == "interactions" else ()),
    )
    found = sensitivity.phi(table.codes, groups)
    for row, value in enumerate(found.tolist()):
        g = groups[row]
        total, disclosed = 0.0, set()
        for j, hierarchy in enumerate(table.hierarchies):
            label = label_of(hierarchy, table.codes[row, j])
            if label is None:
                continue
            disclosed.add(j)
            replaced = own[g][j]
            leaf_weight = leaves[j].get if math.isnan(replaced) else (lambda _, w=replaced: w)
            total += harmonic(forest[j], leaf_weight)[label]
        if family == "interactions":
            for s, weight, personal in zip(sets, common, theirs[g], strict=True):
                if set(s) <= disclosed:
                    total += weight if math.isnan(personal) else personal
        if family == "multiplicative":
            total = math.exp(total)
        if family == "multiplicative_centered":
            total = math.exp(total) - 1
        assert value == pytest.approx(total, rel=1e-9, abs=1e-12)


@st.composite
def interaction_instances(draw):
    """Whole-number weights of nodes and pairs, so that every sum is exact."""
    m = draw(st.integers(2, 4))
    forest = [draw(trees(4)) for _ in range(m)]
    weights = []
    for tree in forest:
        own = {}
        for label, parent in tree.items():
            least = own[parent] if parent else 0
            own[label] = least + draw(st.integers(0, 2))
        weights.append(own)
    pairs = draw(
        st.lists(st.sampled_from(list(itertools.combinations(range(m), 2))), min_size=1, unique=True)
    )
    return forest, weights, {pair: draw(st.integers(-3, 2)) for pair in pairs}


@pytest.mark.spec("INV-3", "E-1")
@THOROUGH
@given(interaction_instances())
def test_negative_interactions_are_admitted_if_and_only_if_harm_never_rises_with_generalising(instance):
    forest, weights, pairs = instance
    names = tuple("abcd"[: len(forest)])
    hierarchies = tuple(build(tree) for tree in forest)
    table = Table(names, hierarchies, np.zeros((1, len(forest))))
    interactions = GivenInteractions(
        tuple(GivenInteraction((names[i], names[j]), w) for (i, j), w in pairs.items()), 4, True
    )
    given_weights = {name: NodeWeights(own) for name, own in zip(names, weights, strict=True)}

    def phi(labels):
        total = sum(own[v] for own, v in zip(weights, labels, strict=True) if v is not None)
        return total + sum(
            w for (i, j), w in pairs.items() if labels[i] is not None and labels[j] is not None
        )

    rises = any(
        phi((*labels[:j], tree[labels[j]], *labels[j + 1 :])) > phi(labels)
        for labels in itertools.product(*([None, *tree] for tree in forest))
        for j, tree in enumerate(forest)
        if labels[j] is not None
    )
    if rises:
        with pytest.raises(InvalidInput) as caught:
            build_sensitivity(table, "interactions", given_weights, interactions=interactions)
        assert {fault.code for fault in caught.value.faults} == {"not-monotone"}
    else:
        built = build_sensitivity(table, "interactions", given_weights, interactions=interactions)
        assert built.is_monotone


@pytest.mark.spec("INV-12")
@THOROUGH
@given(trees(9), st.data())
def test_inner_weights_are_the_inverse_of_the_sum_of_the_inverses(tree, data):
    hierarchy = build(tree)
    leaves = {hierarchy.labels[v]: data.draw(WEIGHT) for v in hierarchy.leaves.tolist()}
    table = Table(("a",), (hierarchy,), np.zeros((1, 1)))
    built = build_sensitivity(table, "linear", {"a": LeafWeights(None, leaves)})
    found = built.phi(np.arange(hierarchy.n_nodes, dtype=np.int32)[:, None])
    expected = harmonic(tree, leaves.get)
    for node, weight in enumerate(found.tolist()):
        assert weight == pytest.approx(expected[label_of(hierarchy, node)], rel=1e-12)


@THOROUGH
@given(worlds(), st.sampled_from(["equal", "at_most"]), st.sampled_from([0.25, 1.0, 2.5]), st.booleans())
def test_normalised_weights_of_what_a_record_holds_sum_to_the_total(world, rule, total, with_overrides):
    _, table, leaves, groups, own, *_ = world
    if with_overrides:
        given_weights = {name: ConstantWeight(0.75) for name in table.attributes}
    else:
        given_weights = {
            name: LeafWeights(None, weights) for name, weights in zip(table.attributes, leaves, strict=True)
        }
    before = build_sensitivity(
        table, "linear_personal", given_weights, Overrides(groups, np.array(own)) if with_overrides else None
    )

    def held(sensitivity, row):
        """The weights one by one: what is left of Φ if only that value is disclosed."""
        for j in range(table.n_attributes):
            alone = np.full((1, table.n_attributes), TOP, dtype=np.int32)
            alone[0, j] = table.codes[row, j]
            group = None if sensitivity.groups is None else sensitivity.groups[[row]]
            yield float(sensitivity.phi(alone, group)[0])

    sums = [math.fsum(w for w in held(before, row) if w < math.inf) for row in range(table.n_records)]
    concerned = [s > total + 1e-9 or (rule == "equal" and s < total - 1e-9) for s in sums]
    impossible = rule == "equal" and 0.0 in sums
    for mode in ("validate", "rescale"):
        to = Normalisation(rule, total, mode)
        if impossible or (mode == "validate" and any(concerned)):
            with pytest.raises(InvalidInput):
                normalise(table, before, to)
            continue
        after = normalise(table, before, to)
        assert after.rescaled == (sum(concerned) if mode == "rescale" else 0)
        for row, was in enumerate(sums):
            factor = total / was if concerned[row] else 1.0
            assert list(held(after, row)) == pytest.approx([w * factor for w in held(before, row)])


@THOROUGH
@given(trees(6), st.data())
def test_custom_utilities_are_admitted_if_and_only_if_no_more_general_value_is_of_more_use(tree, data):
    hierarchy = build(tree)
    table = Table(("a",), (hierarchy,), np.zeros((1, 1)))
    values = {label: float(data.draw(st.integers(0, 3))) for label in tree}
    top = float(data.draw(st.integers(0, 1)))
    rises = any(values[label] < (top if parent is None else values[parent]) for label, parent in tree.items())
    node_values = {"a": {**values, hierarchy.labels[TOP]: top}}
    if rises:
        with pytest.raises(InvalidInput):
            build_utility(table, "custom", node_values=node_values)
    else:
        built = build_utility(table, "custom", node_values=node_values)
        expected = [
            top if node == TOP else values[hierarchy.labels[node]] for node in range(hierarchy.n_nodes)
        ]
        assert built.of(np.arange(hierarchy.n_nodes, dtype=np.int32)[:, None]).tolist() == expected
