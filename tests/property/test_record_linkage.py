"""Linking records with a second source against loops over sets of leaves, and what must hold of the risk."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.analyses.linkage_units import GivenLink
from app.domain.analyses.record_linkage import RECORD_LINKAGE, LinkageParameters
from app.domain.catalogue.catalogue_types import RowInQuestion
from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.consistency import Consistency, under
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import NotSupported
from app.domain.models.entry import MeasureContext
from app.domain.risk.linkage import Candidates, Joiner
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import apply
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from tests.oracles.counting import instances, links, table_rules
from tests.oracles.effort import examples


@st.composite
def worlds(draw, trees: bool = True):
    """A table, a rule, an attacker's dictionary and an auxiliary source, identifiers comparable."""
    table, dictionary = draw(instances(trees))
    n = draw(st.integers(0, 6))
    linked = draw(st.lists(st.sampled_from(range(table.n_attributes)), unique=True))
    found = tuple(draw(links(table.attributes[j], table.hierarchies[j], n)) for j in linked)
    ids = np.array([str(i) for i in range(n)], dtype=object)
    auxiliary = Dictionary(n, found, ids, comparable_ids=True)
    leaf = [draw(st.sampled_from([0.0, 0.25, 1.0, math.inf])) for _ in table.attributes]
    weights = {name: LeafWeights(w) for name, w in zip(table.attributes, leaf, strict=True)}
    sensitivity = build_sensitivity(table, "linear", weights)
    if trees:
        rule = draw(table_rules(table))
    else:
        rule = type(draw(table_rules(table)))(tuple(draw(st.sampled_from([0, h])) for h in table.heights))
    return table, rule, dictionary, auxiliary, sensitivity


def measured(world, parameters: LinkageParameters):
    table, rule, dictionary, auxiliary, sensitivity = world
    context = MeasureContext(
        table, rule, dictionary, sensitivity, None, build_utility(table), MODEL_I, "zero",
        dictionaries={"aux": auxiliary},
    )  # fmt: skip
    assert RECORD_LINKAGE.supports(context, parameters) is None
    done: list[int] = []
    result = RECORD_LINKAGE.compute(context, parameters, done.append)
    assert done[-1] == RECORD_LINKAGE.cost(context, parameters).units
    return result


def cell_of(dictionary: Dictionary, attribute: str, entity: int):
    """None where the source says nothing, else the leaves that the cell may mean."""
    for link in dictionary.links:
        if link.attribute == attribute and not link.everything[link.column[entity]]:
            code = int(link.column[entity])
            return frozenset(link.leaves[link.starts[code] : link.starts[code + 1]].tolist())
    return None


def below(h, node: int) -> frozenset[int]:
    return frozenset(i for i, leaf in enumerate(h.leaves.tolist()) if h.is_above(node, leaf))


def fits(known, cell) -> bool:
    """``known`` None: nothing is known of the attribute; ``cell`` None: the source says nothing."""
    return known is None or cell is None or bool(known & cell)


def joined_cell(h, node: int, cell):
    """What is known of the attribute (None: nothing) and the node whose weight it has."""
    own = None if node == 0 else below(h, node)
    if cell is None or (own is None and not cell):
        return own, node
    if (below(h, 0) if own is None else own) <= cell:
        return own, node
    both = cell if own is None else own & cell
    covers = [v for v in range(h.n_nodes) if below(h, v) >= both]
    return both, min(covers, key=lambda v: (len(below(h, v)), -int(h.depth[v])))


def oracle(world, truth: bool, p_correct: float, failed: str):
    """R_link, R, and the rates with which the right entity is named, from the definition."""
    table, rule, dictionary, auxiliary, sensitivity = world
    rows, m = apply(rule, table).tolist(), table.n_attributes
    entities = range(dictionary.n_entities)

    def count(known) -> list[int]:
        return [
            e for e in entities
            if all(fits(known[j], cell_of(dictionary, table.attributes[j], e)) for j in range(m))
        ]  # fmt: skip

    def loss(found, nodes) -> float:
        phi = sum(float(sensitivity.shapes[j][0][nodes[j]]) for j in range(m))
        return phi / len(found) if found else 0.0

    total = [0.0, 0.0, 0.0, 0.0]
    for i, row in enumerate(rows):
        own = [e for e in entities if dictionary.entity_ids[e] == table.entity_ids[i]]
        y = [None if row[j] == 0 else below(table.hierarchies[j], row[j]) for j in range(m)]
        found = count(y)
        unlinked = loss(found, row)
        named = 1 / len(found) if set(own) & set(found) else 0.0
        consistent = [
            z for z in range(auxiliary.n_entities)
            if all(fits(y[j], cell_of(auxiliary, table.attributes[j], z)) for j in range(m))
        ]  # fmt: skip
        total[1] += unlinked
        total[3] += named
        if not consistent:
            total[0] += unlinked
            total[2] += named
        for z in consistent:
            cells = [
                joined_cell(table.hierarchies[j], row[j], cell_of(auxiliary, table.attributes[j], z))
                for j in range(m)
            ]
            linked = count([known for known, _ in cells])
            right = (auxiliary.entity_ids[z] == table.entity_ids[i]) * 1.0 if truth else p_correct
            fail = unlinked if failed == "fallback" else 0.0
            parts = [(right, loss(linked, [node for _, node in cells])), (1 - right, fail)]
            total[0] += sum(p * v for p, v in parts if p > 0) / len(consistent)
            total[2] += (1 / len(linked) if set(own) & set(linked) else 0.0) / len(consistent)
    return [value / len(rows) for value in total]


@pytest.mark.spec("E-35")
@settings(max_examples=examples(250), deadline=None)
@given(worlds(), st.booleans(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from(["zero", "fallback"]))
def test_linking_amounts_to_what_loops_over_sets_of_leaves_say(world, truth, p_correct, failed):
    parameters = LinkageParameters(
        "aux", probability_correct=None if truth else p_correct, on_failed_link=failed
    )
    result = measured(world, parameters)
    expected = oracle(world, truth, p_correct, failed)
    found = [result.risk_linked, result.risk, result.reidentification_rate,
             result.reidentification_rate_unlinked]  # fmt: skip
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


def given_oracle(world, pairs, p_correct: float, failed: str):
    """Losses ℓ and ℓ_link per record of given pairs (row, auxiliary row, eighths of a chance, correct).

    Pairs that conflict are no link.
    """
    table, rule, dictionary, auxiliary, sensitivity = world
    rows, m = apply(rule, table).tolist(), table.n_attributes

    def loss(known, nodes) -> float:
        fitting = [
            e for e in range(dictionary.n_entities)
            if all(fits(known[j], cell_of(dictionary, table.attributes[j], e)) for j in range(m))
        ]  # fmt: skip
        phi = sum(float(sensitivity.shapes[j][0][nodes[j]]) for j in range(m))
        return phi / len(fitting) if fitting else 0.0

    alone, together = [], []
    for i, row in enumerate(rows):
        y = [None if row[j] == 0 else below(table.hierarchies[j], row[j]) for j in range(m)]
        unlinked, left, total = loss(y, row), 8, 0.0
        for _, z, eighths, correct in (own for own in pairs if own[0] == i):
            cells = [cell_of(auxiliary, name, z) for name in table.attributes]
            if not all(fits(y[j], cells[j]) for j in range(m)):
                continue
            left -= eighths
            joined = [joined_cell(table.hierarchies[j], row[j], cells[j]) for j in range(m)]
            right = p_correct if correct is None else correct
            fail = unlinked if failed == "fallback" else 0.0
            parts = [(right, loss(*zip(*joined, strict=True))), (1 - right, fail)]
            total += sum(eighths / 8 * p * v for p, v in parts if eighths * p > 0)
        alone.append(unlinked)
        together.append(total + (left / 8 * unlinked if left else 0.0))
    return alone, together


@st.composite
def worlds_with_links(draw):
    """A world, and pairs whose probabilities, in eighths, add up to at most 1 for each record."""
    world = draw(worlds())
    pairs = []
    for i in range(world[0].n_records):
        left = 8
        for z in range(world[3].n_entities):
            eighths = draw(st.integers(0, left)) if draw(st.booleans()) else None
            if eighths is not None:
                left -= eighths
                pairs.append((i, z, eighths, draw(st.sampled_from([None, 0.0, 0.5, 1.0]))))
    return world, draw(st.permutations(pairs))


@pytest.mark.spec("E-35")
@settings(max_examples=examples(100), deadline=None)
@given(worlds_with_links(), st.sampled_from([0.0, 0.3, 1.0]), st.sampled_from(["zero", "fallback"]))
def test_given_links_amount_to_what_loops_over_the_pairs_say(world_and_pairs, p_correct, failed):
    world, pairs = world_and_pairs
    links = tuple(
        GivenLink(RowInQuestion(i + 1), z + 1, eighths / 8, correct) for i, z, eighths, correct in pairs
    )
    parameters = LinkageParameters(
        "aux", "given", links=links, probability_correct=p_correct, on_failed_link=failed,
        on_conflict="drop_conflicts",
    )  # fmt: skip
    result = measured(world, parameters)
    alone, together = given_oracle(world, pairs, p_correct, failed)
    np.testing.assert_allclose(result.risk_linked, np.mean(together), rtol=1e-12, atol=1e-12)
    for row, greatest, losses in (
        (result.row_of_risk_max, result.risk_max, alone),
        (result.row_of_risk_linked_max, result.risk_linked_max, together),
    ):
        np.testing.assert_allclose([losses[row - 1], greatest], max(losses), rtol=1e-12, atol=1e-12)


@settings(max_examples=examples(60), deadline=None)
@given(worlds(), st.sampled_from(["zero", "fallback"]))
def test_uniform_links_are_given_links_of_their_probabilities(world, failed):
    """And half a chance of nobody is half of everything."""
    table, rule, _, auxiliary, _ = world
    candidates = Candidates(table, auxiliary)
    row_of = candidates.row_of_entity.tolist()
    links = []
    for i, row in enumerate(apply(rule, table)):
        possible = set(candidates.of(row).tolist())
        entities = [z for z in range(auxiliary.n_entities) if row_of[z] in possible]
        links += [GivenLink(RowInQuestion(i + 1), z + 1, 0.5 / len(entities)) for z in entities]
    by_pair = measured(world, LinkageParameters("aux", "given", links=tuple(links), on_failed_link=failed))
    uniform = measured(world, LinkageParameters("aux", probability_nobody=0.5, on_failed_link=failed))
    for own in ("risk_linked", "probability_no_link", "reidentification_rate", "mean_candidates"):
        np.testing.assert_allclose(getattr(by_pair, own), getattr(uniform, own), rtol=1e-12, atol=1e-12)


@pytest.mark.spec("INV-17")
@settings(max_examples=examples(100), deadline=None)
@given(worlds(), st.sampled_from(["zero", "fallback"]))
def test_without_anything_to_link_with_the_risk_is_that_of_the_release(world, failed):
    nobody = Dictionary(0, (), np.array([], dtype=object), comparable_ids=True)
    for parameters in (
        LinkageParameters("aux", on_failed_link=failed),
        LinkageParameters("aux", estimator="own_row", on_failed_link=failed),
    ):
        result = measured((*world[:3], nobody, world[4]), parameters)
        assert result.risk_linked == result.risk
        assert result.share_linked == 0 == result.mean_candidates
        assert result.probability_no_link == 1


@pytest.mark.deep
@pytest.mark.spec("INV-17")
@settings(max_examples=examples(200), deadline=None)
@given(worlds(), st.data())
def test_truthful_links_never_lower_the_risk(world, data):
    """Each auxiliary row is its entity's original record, some cells suppressed."""
    table, rule, dictionary, _, sensitivity = world
    hidden = data.draw(st.lists(st.booleans(), min_size=table.codes.size, max_size=table.codes.size))
    codes = np.where(np.array(hidden).reshape(table.codes.shape), 0, table.codes)
    auxiliary = dictionary_of(Table(table.attributes, table.hierarchies, codes, table.entity_ids))
    result = measured(
        (table, rule, dictionary, auxiliary, sensitivity), LinkageParameters("aux", estimator="own_row")
    )
    assume(result.probability_emptied == 0)
    assert result.risk_linked >= result.risk * (1 - 1e-12)
    assert result.share_linked == 1


@settings(max_examples=examples(200), deadline=None)
@given(worlds(trees=False), st.sampled_from(["compatible", "subsumed"]))
def test_joined_rows_are_counted_right_on_dags_and_under_both_ways_of_comparing(world, mode):
    table, rule, dictionary, auxiliary, _ = world
    theta = under(dictionary, Consistency(mode))
    disclosed = apply(rule, table)
    try:
        joiner = Joiner(table, theta, auxiliary, disclosed)
    except NotSupported:
        assume(False)
    candidates = Candidates(table, auxiliary)
    for row in disclosed:
        found = candidates.of(row)
        joined, conflicts = joiner.join(np.repeat(row[None], len(found), axis=0), candidates.entity[found])
        assert not conflicts.any()
        counts = joiner.counter.count_records(joined).values
        for z, count in zip(candidates.entity[found].tolist(), counts.tolist(), strict=True):
            known = [
                joined_cell(h, node, cell_of(auxiliary, name, z))[0]
                for h, node, name in zip(table.hierarchies, row.tolist(), table.attributes, strict=True)
            ]
            expected = [
                e for e in range(dictionary.n_entities)
                if all(passes(known[j], dictionary, table, j, e, mode) for j in range(table.n_attributes))
            ]  # fmt: skip
            assert count == len(expected)


@pytest.mark.parametrize("most_held", [0, 100, 4_000_000])
@settings(max_examples=examples(100), deadline=None)
@given(worlds(trees=False), st.sampled_from(["compatible", "subsumed"]), st.randoms(use_true_random=False))
def test_the_same_rows_are_consistent_whatever_is_kept_of_earlier_searches(most_held, world, mode, random):
    table, rule, _, auxiliary, _ = world
    disclosed = [*apply(rule, table), np.zeros(table.n_attributes, np.int32)] * 2
    random.shuffle(disclosed)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("app.domain.risk.linkage._MOST_HELD", most_held)
        candidates = Candidates(table, under(auxiliary, Consistency(mode)))
        found = [tuple(candidates.of(row).tolist()) for row in disclosed]
    for row, own in zip(disclosed, found, strict=True):
        cells = zip(table.hierarchies, row.tolist(), strict=True)
        known = [None if node == 0 else below(h, node) for h, node in cells]
        expected = [
            e for e in range(auxiliary.n_entities)
            if all(passes(known[j], auxiliary, table, j, e, mode) for j in range(table.n_attributes))
        ]  # fmt: skip
        assert sorted({*candidates.row_of_entity[expected].tolist()}) == list(own)
    assert candidates.meanings(np.array(disclosed)) >= len(set(found))
    counted = candidates.counter.count_records(np.array(disclosed)).values
    assert counted.tolist() == [len(own) for own in found]
    assert sum(own.nbytes for own in candidates._found.values()) <= 8 * most_held


def passes(known, dictionary: Dictionary, table: Table, j: int, entity: int, mode: str) -> bool:
    cell = cell_of(dictionary, table.attributes[j], entity)
    if mode == "compatible" or known is None or table.attributes[j] not in dictionary.attributes:
        return fits(known, cell)
    if not cell:
        return False
    # Cells without a node of their own are compared by the least values that cover them.
    h = table.hierarchies[j]
    covers = [v for v in range(h.n_nodes) if below(h, v) >= cell]
    least = [v for v in covers if not any(w != v and h.is_above(v, w) for w in covers)]
    return any(below(h, v) <= known for v in least)
