"""Sensitive values guessed from counts of a release."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.analyses.query_accuracy import QUERY_ACCURACY
from app.domain.attacks.group_inference import GROUP_INFERENCE
from app.domain.attacks.population_inference import POPULATION_INFERENCE
from app.domain.errors import InvalidInput, NotSupported
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.models.reading import unreadable
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.table import Table
from tests.oracles.drawn_releases import context_of, drawn_of, measured
from tests.oracles.inference_by_hand import dense, guess, likeliest, likelihoods, solved
from tests.unit.measures.diversity_tables import measured as measured_under
from tests.unit.measures.ill_people import AGES, ILLNESSES, TOWNS, people


def by_hand(table, rows, numbers, truths, prior, reconstruct, matrix=None):
    """(success rate, of each attribute alone, undecided, with the own row) by loops."""
    prior = list(prior)
    told = [
        likelihoods(table.hierarchies[j], rows[:, j].tolist(), numbers, prior, reconstruct) for j in range(2)
    ]
    right, undecided, with_row = [0, 0, 0], 0, 0.0
    nothing = [1.0] * len(prior)
    for codes, truth in zip(table.codes.tolist(), truths, strict=True):
        parts = [told[j].get(codes[j], nothing) for j in range(2)]
        for place, own in enumerate((parts, parts[:1], parts[1:])):
            found, is_ruled_out = guess(prior, own)
            right[place] += found == truth
            undecided += is_ruled_out and not place
            if matrix is not None and not place:
                with_row += right_with_row(prior, [] if is_ruled_out else own, truth, dense(matrix))
    return [own / len(truths) for own in right], undecided, with_row / len(truths)


def right_with_row(prior, parts, truth, rows):
    """How probable it is to guess the truth, over what the own row shows: its likelihood is one more part."""
    return sum(
        rows[shown][truth] for shown in range(len(prior)) if guess(prior, [*parts, rows[shown]])[0] == truth
    )


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rule", [None, TableRule((1, 1, 0)), TableRule((2, 0, 0))])
def test_guesses_from_a_draw_are_the_best_of_those_of_loops_over_records(seed, rule):
    table = people(seed, missing=seed % 2 == 1)
    drawn = drawn_of(table, f"draw {seed}", rule, beta=4.0)
    published, rows = drawn.published, drawn.table.codes
    number = {label: i for i, label in enumerate(published.values)}
    of = [number[ILLNESSES.labels[node]] for node in rows[:, 2].tolist()]
    truths = [number[ILLNESSES.labels[node]] for node in table.codes[:, 2].tolist()]

    def tried(rounds):
        def reconstruct(counts):
            if rounds is None:
                return solved(published.matrix, counts)
            return likeliest(published.matrix, counts, published.prior, rounds)

        return by_hand(table, rows, of, truths, published.prior, reconstruct, published.matrix)

    found = measured(POPULATION_INFERENCE, context_of(table, drawn), rounds=20)
    asked = (1, 2, 4, 8, 16, 20, None)
    hand = [tried(rounds) for rounds in asked]
    assert tuple(own.rounds for own in found.reconstructions) == asked
    assert [own.success_rate for own in found.reconstructions] == pytest.approx([own[0][0] for own in hand])
    best = max(hand, key=lambda own: own[0][0])
    rates = [found.success_rate, *(own.success_rate for own in found.by_attribute)]
    assert (rates, found.undecided) == (pytest.approx(best[0]), best[1])
    assert found.success_with_own_row == pytest.approx(max(own[2] for own in hand))
    assert (found.records, found.rows, found.values) == (60, 60, 4)
    frequent = max(range(4), key=lambda i: published.prior[i])
    assert found.success_before == truths.count(frequent) / 60


def test_rounds_that_change_nothing_are_not_done():
    table = people(2)
    context = context_of(table, drawn_of(table, beta=4.0))

    def told(rounds):
        found = measured(POPULATION_INFERENCE, context, rounds=rounds)
        return [own.rounds for own in found.reconstructions]

    assert told(3) == [1, 2, 3, None]
    *_, last, inverse = told(10_000)
    assert last < 10_000
    assert inverse is None
    assert told(last)[-2] == last


@pytest.mark.parametrize("levels", [(0, 0, 0), (1, 1, 0), (2, 1, 0)])
def test_under_a_rule_the_values_themselves_are_counted(levels):
    table = people(9, missing=True)
    rows = apply(TableRule(levels), table)
    nodes = sorted(set(rows[:, 2].tolist()))
    numbers = [nodes.index(node) for node in rows[:, 2].tolist()]
    prior = [numbers.count(i) / 60 for i in range(4)]
    found = measured_under(POPULATION_INFERENCE, table, TableRule(levels))
    rates, undecided, _ = by_hand(table, rows, numbers, numbers, prior, lambda counts: counts)
    assert [found.success_rate, *(own.success_rate for own in found.by_attribute)] == pytest.approx(rates)
    assert found.undecided == undecided
    assert (found.reconstructions, found.success_with_own_row) == ((), None)


def test_what_decides_the_value_is_found_through_a_draw_that_keeps_enough():
    n = 4000
    rng = np.random.default_rng(3)
    town = rng.integers(0, 4, n)
    codes = np.stack([TOWNS.leaves[town], AGES.leaves[town % 3], ILLNESSES.leaves[town]], axis=1)
    table = Table(("town", "age", "ill"), (TOWNS, AGES, ILLNESSES), codes, sensitive=frozenset({"ill"}))
    found = measured(POPULATION_INFERENCE, context_of(table, drawn_of(table, beta=1.0)))
    assert found.success_rate == 1.0
    assert found.success_before < 0.27
    alone = measured(
        POPULATION_INFERENCE, context_of(table, drawn_of(table, beta=1.0)), quasi_identifiers=("age",)
    )
    assert alone.success_rate == alone.by_attribute[0].success_rate < 0.8


def test_what_was_not_drawn_or_is_known_cannot_be_guessed():
    table = people(1)
    context = context_of(table, drawn_of(table))
    for asked, named in (
        ({"attribute": "age"}, "'ill'"),
        ({"quasi_identifiers": ("ill", "age")}, "among the quasi-identifiers"),
    ):
        with pytest.raises(InvalidInput, match=named):
            measured(POPULATION_INFERENCE, context, **asked)
    nothing = replace(context, drawn=replace(context.drawn, published=object()))
    assert "publishes none" in unreadable(POPULATION_INFERENCE, nothing, POPULATION_INFERENCE.parameters())
    with pytest.raises(InvalidInput, match="shows no value"):
        measured_under(POPULATION_INFERENCE, table, TableRule((0, 0, 1)))


def test_a_matrix_without_an_inverse_is_refused_and_likelihood_still_counts():
    table = people(1)
    drawn = drawn_of(table)
    flat = replace(drawn.published, retention=(0.0,) * 4, elsewhere=(0.25,) * 4)
    assert (flat.matrix.retention == TransitionMatrix(np.zeros(4)).retention).all()
    context = context_of(table, replace(drawn, published=flat))
    for measure in (GROUP_INFERENCE, QUERY_ACCURACY):
        with pytest.raises(NotSupported, match="no useful inverse"):
            measure.supports(context, measure.parameters())
    found = measured(POPULATION_INFERENCE, context)
    assert found.success_rate == pytest.approx(found.success_before)
    assert [own.rounds for own in found.reconstructions] == [1]
