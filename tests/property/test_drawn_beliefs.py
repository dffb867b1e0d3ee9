"""What is believed of drawn rows by who knows a population, person by person."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.attacks import posterior_beliefs
from app.domain.attacks.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.models.reading import unreadable
from app.domain.rules.rule import TableRule
from tests.oracles.drawn_releases import context_of, drawn_of, measured
from tests.unit.measures import diversity_tables as tables

NEAR = pytest.approx
PLACES, ILLS = ["a", "b", "c"], ["ache", "cold", "flu", "gout"]
RULES = [None, TableRule((1, 0))]


def world(rng):
    """A table, and a population of more people, some of them ill of what no record has."""
    rows = [(str(rng.choice(PLACES)), str(ill)) for ill in [*ILLS[:3], *rng.choice(ILLS[:3], 20)]]
    people = [(str(rng.choice(PLACES[:2])), str(rng.choice(ILLS, p=[0.1, 0.5, 0.3, 0.1]))) for _ in range(80)]
    hierarchies = [tables.flat(PLACES), tables.flat(ILLS)]
    links = tuple(
        link_identity(name, own, [row[j] for row in people])
        for j, (name, own) in enumerate(zip(("place", "ill"), hierarchies, strict=True))
    )
    return tables.table(("place", "ill"), hierarchies, rows, {"ill"}), Dictionary(len(people), links), people


def believed_by_hand(table, drawn, people):
    """Per row what is believed of each published value, and the prior; None where nobody is like it."""
    matrix, values = drawn.published.matrix.dense(), drawn.published.values
    found = []
    for place, ill in drawn.table.codes:
        label = table.hierarchies[0].labels[place]
        like = [own for town, own in people if place == 0 or town == label]
        prior = [like.count(value) / len(like) if like else 0.0 for value in values]
        published = values.index(table.hierarchies[1].labels[ill])
        weights = [b * entry for b, entry in zip(prior, matrix[published], strict=True)]
        found.append((prior, [w / sum(weights) for w in weights]) if sum(weights) else None)
    return found


@pytest.mark.parametrize("rule", RULES, ids=["as it is", "suppressed"])
@pytest.mark.parametrize("seed", range(6))
def test_beliefs_follow_from_the_matrix_and_what_the_attacker_knew(seed, rule):
    table, known, people = world(np.random.default_rng(seed))
    drawn = drawn_of(table, f"beliefs {seed}", rule)
    context = context_of(table, drawn, known)
    found = measured(POSTERIOR_BELIEFS, context, delta=0.4, epsilon=0.1, rho_1=0.3, rho_2=0.5)
    by_hand = believed_by_hand(table, drawn, people)
    judged = [own for own in by_hand if own is not None]
    assert (found.records_with_number, found.records_inconsistent) == (
        len(judged),
        len(by_hand) - len(judged),
    )
    assert (found.records_contradicted, found.attribute) == (0, "ill")
    assert found.positive.records == sum(max(belief) > 0.6 for _, belief in judged)
    assert found.positive.greatest_belief == NEAR(max(max(belief) for _, belief in judged))
    assert found.negative.records == sum(
        any(b < 0.1 for i, b in enumerate(belief) if i != belief.index(max(belief))) for _, belief in judged
    )
    pairs = [own for prior, belief in judged for own in zip(prior, belief, strict=True)]
    assert found.greatest_increase == NEAR(max(b - p for p, b in pairs))
    assert found.greatest_decrease == NEAR(max(p - b for p, b in pairs))
    assert found.greatest_ratio == NEAR(max(b / p for p, b in pairs if p))
    assert found.upward.records == sum(
        any(p < 0.3 and b > 0.5 for p, b in zip(prior, belief, strict=True)) for prior, belief in judged
    )
    top = found.exposed[0]
    row = top.records.rows[0] - 1
    assert by_hand[row][1][drawn.published.values.index(top.value)] == NEAR(top.belief)
    assert top.belief == found.positive.greatest_belief


def test_without_a_draw_of_its_own_an_attribute_has_no_beliefs():
    table, known, _ = world(np.random.default_rng(1))
    context = context_of(table, drawn_of(table), known)
    asked = POSTERIOR_BELIEFS.parameters(attribute="place")
    assert "only 'ill' was drawn" in POSTERIOR_BELIEFS.supports(context, asked)
    asked = POSTERIOR_BELIEFS.parameters(quasi_identifiers=("place", "ill"))
    assert "'ill' is among the quasi-identifiers" in POSTERIOR_BELIEFS.supports(context, asked)
    assert unreadable(POSTERIOR_BELIEFS, context, asked) is None


def test_a_prior_of_the_table_itself_is_what_the_guarantee_is_about():
    rng = np.random.default_rng(3)
    rows = [("a", str(ill)) for ill in [*ILLS, *rng.choice(ILLS, 60, p=[0.1, 0.2, 0.3, 0.4])]]
    hierarchies = [tables.flat(PLACES), tables.flat(ILLS)]
    table = tables.table(("place", "ill"), hierarchies, rows, {"ill"})
    links = tuple(
        link_identity(name, hierarchies[j], [row[j] for row in rows])
        for j, name in enumerate(("place", "ill"))
    )
    context = context_of(table, drawn_of(table, beta=1.0), Dictionary(len(rows), links))
    found = measured(POSTERIOR_BELIEFS, context)
    assert 1.2 < found.greatest_ratio <= 2 * (1 + 1e-9)


def test_the_estimate_is_of_the_rows_and_of_the_values_that_can_be_published():
    """All records are alike; the rows show the 40 values of the reference, of which beliefs are told."""
    ills = [f"i{k:02}" for k in range(40)]
    hierarchies = [tables.flat(PLACES), tables.flat(ills)]
    table = tables.table(("place", "ill"), hierarchies, [("a", ills[0])] * 500, {"ill"})
    links = tuple(
        link_identity(name, own, [label] * 3)
        for name, own, label in zip(("place", "ill"), hierarchies, ("a", ills[0]), strict=True)
    )
    drawn = drawn_of(table, reference=dict.fromkeys(ills, 10))
    context, asked = context_of(table, drawn, Dictionary(3, links)), POSTERIOR_BELIEFS.parameters()
    cost, shown = POSTERIOR_BELIEFS.cost(context, asked), len(np.unique(drawn.table.codes, axis=0))
    assert (table.reduced.size, cost.units) == (1, shown)
    assert shown > 30
    assert cost.seconds >= 40 * shown * posterior_beliefs.SECONDS_PER_PAIR
    ticks = []
    POSTERIOR_BELIEFS.compute(context, asked, ticks.append)
    assert ticks[-1] == shown
