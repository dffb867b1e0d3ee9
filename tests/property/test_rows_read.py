"""What is lost in a release that was drawn, and how well it answers: against loops and dense matrices."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.analyses.query_accuracy import QUERY_ACCURACY
from app.domain.errors import InvalidInput
from app.domain.losses.count_queries import LeafScale, Workload
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.models.reading import unreadable
from app.domain.rules.rule import CellRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.drawn_releases import context_of, drawn_of, measured
from tests.unit.measures.diversity_tables import measured as measured_under
from tests.unit.measures.ill_groups import AGES, ILLS, PLACES

NEAR = pytest.approx
TREES = (PLACES, AGES, ILLS)
ALONE = {"judged", "ail_of_classes", "kl_divergence", "kl_dropped", "kl_withheld", "expected_retention"}


def people(rng, n=40):
    """Records with missing ages and places that are groups already."""
    codes = np.empty((n, 3), dtype=np.int32)
    for j, tree in enumerate(TREES):
        leaves = np.array(tree.leaves)
        codes[:, j] = rng.choice(leaves, n)
    codes[rng.random(n) < 0.1, 1] = 0
    codes[rng.random(n) < 0.1, 0] = PLACES.node_of("n")
    codes[: len(ILLS.leaves), 2] = ILLS.leaves
    return Table(("place", "age", "ill"), TREES, codes, sensitive=frozenset({"ill"}))


RULES = [None, TableRule((1, 1, 0)), TableRule((0, 2, 0)), TableRule((2, 2, 0))]


@pytest.mark.parametrize("rule", RULES, ids=["as it is", "raised", "no age", "nothing"])
@pytest.mark.parametrize("seed", range(3))
def test_drawn_rows_lose_what_the_table_loses_under_their_rule(rule, seed):
    table = people(np.random.default_rng(seed))
    drawn = drawn_of(table, f"loss {seed}", rule)
    for domain in ("declared", "active"):
        found = measured(INFORMATION_LOSS, context_of(table, drawn), leaf_domain=domain)
        under = measured_under(INFORMATION_LOSS, table, rule or TableRule((0, 0, 0)), leaf_domain=domain)
        for name, value in vars(under).items():
            if name in ALONE:
                continue
            if name == "attributes":
                for own, other in zip(found.attributes, value, strict=True):
                    assert vars(own) == {
                        k: v if k == "attribute" else NEAR(v) for k, v in vars(other).items()
                    }
                continue
            assert getattr(found, name) == NEAR(value), name
    prior, kept = np.array(drawn.published.prior), drawn.published.matrix.dense().diagonal()
    assert found.expected_retention == NEAR(float(prior @ kept))
    assert (under.expected_retention, found.kl_divergence, found.ail_of_classes) == (None, None, None)


def test_a_group_that_is_shown_as_it_was_has_lost_nothing_beside_a_cell_that_was_raised():
    codes = np.array([[PLACES.node_of("n"), 2, 1], [PLACES.node_of("d"), 2, 1]], dtype=np.int32)
    table = Table(("place", "age", "ill"), TREES, codes, sensitive=frozenset({"ill"}))
    shown = codes.copy()
    shown[1, 0] = 0
    drawn = drawn_of(table, rule=CellRule(shown))
    found = measured(INFORMATION_LOSS, context_of(table, drawn))
    # Of the two places one is as it was; the other one lost both of its levels.
    assert [own.precision_loss for own in found.attributes] == [0.5, 0.0]
    assert found.generalisation_height == 2


def test_the_loss_of_a_sample_is_not_told():
    table = people(np.random.default_rng(5))
    drawn = drawn_of(table)
    half = replace(drawn.table, codes=drawn.table.codes[:20])
    asked, context = INFORMATION_LOSS.parameters(), context_of(table, replace(drawn, table=half))
    assert "has 20 rows of a dataset of 40 records" in INFORMATION_LOSS.supports(context, asked)
    assert unreadable(INFORMATION_LOSS, context, asked) is None


def answers_by_hand(table, drawn, queries, counted):
    """(right, estimate, baseline) of each query, record by record and by the inverse of the dense matrix."""
    inverse = np.linalg.inv(drawn.published.matrix.dense())
    number = drawn.published.numbers(ILLS)
    found = []
    for query in queries:
        inside = {j: set(range(first, last + 1)) for j, (first, last) in query.items()}
        own = {
            j: [set(tree.leaves_of(v).tolist()) for v in range(tree.n_nodes)] for j, tree in enumerate(TREES)
        }

        def is_in(j, node, inside=inside, own=own):
            return node != 0 and own[j][node] <= inside[j]

        quasi = [j for j in query if j != 2]
        selected = [row for row in table.codes[counted] if all(is_in(j, row[j]) for j in quasi)]
        right = sum(is_in(2, row[2]) for row in selected)
        share = sum(is_in(2, row[2]) for row in table.codes[counted]) / counted.sum()
        published = np.zeros(len(inverse))
        for row in drawn.table.codes:
            weight = 1.0
            for j in quasi:
                hidden = not drawn.table.codes[:, j].any()
                nothing = row[j] == 0 and not hidden
                weight *= 0.0 if nothing else len(own[j][row[j]] & inside[j]) / len(own[j][row[j]])
            published[number[row[2]]] += weight
        asked = [is_in(2, ILLS.node_of(label)) for label in drawn.published.values]
        found.append((right, (inverse @ published)[asked].sum(), len(selected) * share))
    return np.array(found)


@pytest.mark.parametrize("rule", RULES, ids=["as it is", "raised", "no age", "nothing"])
@pytest.mark.parametrize("seed", range(3))
def test_counts_are_estimated_as_by_the_inverse_of_the_dense_matrix(rule, seed):
    table = people(np.random.default_rng(100 + seed))
    drawn = drawn_of(table, f"counts {seed}", rule)
    found = measured(
        QUERY_ACCURACY, context_of(table, drawn), queries=30, predicates=1 + seed % 2, selectivity=0.4
    )
    scales = {j: LeafScale(tree) for j, tree in enumerate(TREES)}
    workload = Workload(scales, (0, 1), 2, 1 + seed % 2, 0.4, 1)
    queries = [workload.draw() for _ in range(30)]
    right, estimates, baseline = answers_by_hand(table, drawn, queries, np.ones(40, dtype=bool)).T
    kept = right > 0
    errors = (estimates - right)[kept] / right[kept]
    assert (found.answered, found.dropped) == (kept.sum(), (~kept).sum())
    assert found.median_error == NEAR(np.median(np.abs(errors)))
    assert found.median_signed_error == NEAR(np.median(errors))
    assert found.greatest_error == NEAR(np.abs(errors).max())
    assert found.baseline_error == NEAR(np.median(np.abs(baseline - right)[kept] / right[kept]))
    assert found.attribute == "ill"


def test_suppressed_rows_are_left_out_of_estimates():
    table = people(np.random.default_rng(7))
    shown = table.codes.copy()
    shown[:15, :2] = 0
    drawn = drawn_of(table, rule=CellRule(shown))
    found = measured(QUERY_ACCURACY, context_of(table, drawn), queries=40, predicates=1, selectivity=0.9)
    block = measured(
        QUERY_ACCURACY, context_of(table, drawn), queries=40, predicates=1, selectivity=0.9,
        suppressed="own_block",
    )  # fmt: skip
    assert (found.judged.records_suppressed, block.judged.records_suppressed) == (15, 0)
    assert found.median_signed_error < -0.1 < block.median_signed_error


def test_an_attribute_that_was_not_drawn_is_counted_as_it_is_shown():
    table = people(np.random.default_rng(8))
    drawn = drawn_of(table, rule=None)
    found = measured(
        QUERY_ACCURACY, context_of(table, drawn), attribute="age", quasi_identifiers=("place",),
        queries=40, predicates=1, selectivity=0.3,
    )  # fmt: skip
    complete = measured_under(
        QUERY_ACCURACY, table, None, attribute="age", quasi_identifiers=("place",),
        queries=40, predicates=1, selectivity=0.3,
    )  # fmt: skip
    assert (found.median_error, found.greatest_error) == (complete.median_error, complete.greatest_error)
    asked = QUERY_ACCURACY.parameters(quasi_identifiers=("place", "ill"), attribute="age")
    reason = QUERY_ACCURACY.supports(context_of(table, drawn), asked)
    assert "'ill' is among the quasi-identifiers" in reason


def test_rows_of_a_mechanism_without_a_matrix_are_counted_as_they_are():
    table = people(np.random.default_rng(9))
    context = context_of(table, DrawnRelease(table, "synthesis", object()))
    found = measured(QUERY_ACCURACY, context, queries=40, predicates=2, selectivity=0.6)
    under = measured_under(QUERY_ACCURACY, table, None, queries=40, predicates=2, selectivity=0.6)
    assert vars(found) | {"judged": 0} == vars(under) | {"judged": 0}
    with pytest.raises(InvalidInput, match="among the quasi-identifiers"):
        measured(QUERY_ACCURACY, context, quasi_identifiers=("place", "ill"), queries=40, predicates=2)
