"""COUNT queries on copies of samples: the truth beside what a reader estimates, by loops over the rows."""

from __future__ import annotations

from statistics import median

import numpy as np
import pytest

from app.domain.analyses.drawn_answers import AS_THEY_ARE
from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.analyses.query_accuracy import QUERY_ACCURACY
from app.domain.hierarchies.predicates import AskedAttribute, Predicate
from app.domain.losses.count_queries import LeafScale, Workload
from app.domain.mechanisms.copied_counts import ONE_RECORD, SIZES_UNTOLD
from app.domain.mechanisms.count_estimates import EstimateOptions
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.sample_perturb_scale import SAMPLE_PERTURB_SCALE, SamplePerturbScale
from app.domain.mechanisms.uniform_perturbation import UNIFORM_PERTURBATION, UniformPerturbation
from app.domain.models.reading import unreadable
from app.domain.rules.rule import TableRule
from tests.oracles.drawn_releases import context_of, drawn_by, measured
from tests.unit.measures.diversity_tables import measured as measured_under
from tests.unit.measures.ill_people import AGES, ILLNESSES, TOWNS, people

TREES = (TOWNS, AGES, ILLNESSES)
SAMPLED = {"p": 0.5, "p_cap": 0.5, "epsilon": 0.9}
MODES = {
    "balanced_fixed": {},
    "balanced": {"mode": "balanced"},
    "paper": {"mode": "paper", "accept_known_leak": True},
}
ASKED = {"queries": 60, "predicates": 1, "selectivity": 0.4, "seed": 3}


def drawn_in(mode, table, seed="copies", rule=None, **more):
    parameters = SamplePerturbScale(**(SAMPLED | MODES[mode] | more))
    return drawn_by(SAMPLE_PERTURB_SCALE, parameters, table, seed, rule)


def workload(table, queries, predicates, selectivity, seed):
    scales = {j: LeafScale(tree) for j, tree in enumerate(table.hierarchies)}
    drawing = Workload(scales, (0, 1), 2, predicates, selectivity, seed)
    return [drawing.draw() for _ in range(queries)]


def answers_by_hand(table, drawn, queries, p=0.5):
    """(right answer, estimate) of each query, record by record: (O − n·c·values) / p of the rows selected."""
    found = []
    for query in queries:
        inside = {
            j: [int(node) for node in TREES[j].leaves[int(first) : int(last) + 1]]
            for j, (first, last) in query.items()
        }
        right = sum(all(row[j] in own for j, own in inside.items()) for row in table.codes.tolist())
        rows = [
            row for row in drawn.table.codes.tolist() if all(row[j] in inside[j] for j in query if j != 2)
        ]
        shown, asked = sum(row[2] in inside[2] for row in rows), len(inside[2])
        found.append((right, (shown - len(rows) * asked * (1 - p) / 4) / p))
    return np.array(found)


@pytest.mark.parametrize("mode", MODES)
def test_answers_are_the_unbiased_estimates_from_the_rows_in_every_mode(mode):
    table = people(4, 600)
    drawn = drawn_in(mode, table)
    assert drawn.table.n_records != 600 if mode == "paper" else drawn.table.n_records <= 600
    found = measured(QUERY_ACCURACY, context_of(table, drawn), **ASKED)
    by_hand = answers_by_hand(table, drawn, workload(table, **ASKED))
    right, estimates = by_hand[by_hand[:, 0] > 0].T
    errors = ((estimates - right) / right).tolist()
    assert (found.attribute, found.answered) == ("ill", len(errors))
    assert found.median_signed_error == pytest.approx(median(errors), abs=1e-9)
    assert found.median_error == pytest.approx(median(map(abs, errors)), abs=1e-9)
    assert found.greatest_error == pytest.approx(max(map(abs, errors)), abs=1e-9)
    # Drawn of some 7 records a group, the counts are off much farther than without a release at all.
    assert found.median_error > 0.01


def readers_errors(drawn, queries):
    """The standard errors that a reader gets who asks the same queries of the release."""
    own = drawn.table
    attributes = [
        AskedAttribute(name, tree, None, top_is_missing=True)
        for name, tree in zip(own.attributes, own.hierarchies, strict=True)
    ]
    release = CountedRelease.drawn(drawn, attributes)
    asked = [
        [
            Predicate(
                own.attributes[j],
                tuple(TREES[j].labels[int(n)] for n in TREES[j].leaves[int(first) : int(last) + 1]),
            )
            for j, (first, last) in query.items()
        ]
        for query in queries
    ]
    return release.estimates(release.read(asked), EstimateOptions()).standard_errors


@pytest.mark.parametrize("quasi_identifiers", [None, ("age", "town")])
def test_standard_errors_are_those_that_a_reader_of_the_release_gets(quasi_identifiers):
    table = people(4, 600)
    drawn = drawn_in("balanced_fixed", table)
    found = measured(QUERY_ACCURACY, context_of(table, drawn), quasi_identifiers=quasi_identifiers, **ASKED)
    queries = workload(table, **ASKED)
    right, estimates = answers_by_hand(table, drawn, queries).T
    errors = readers_errors(drawn, queries)
    asked = right > 0
    assert found.without_errors is None
    assert found.median_standard_error == pytest.approx(median((errors / right)[asked].tolist()))
    within = np.abs(estimates - right) <= 1.959963984540054 * errors + 1e-9
    assert found.within_intervals == pytest.approx(within[asked].mean())
    # The one draw here, of which they are bounds on average.
    assert found.within_intervals >= 0.95


def test_groups_of_samples_are_those_of_all_quasi_identifiers_whatever_is_asked():
    """Rows that agree in their age are of four samples, one a town."""
    table = people(4, 600)
    drawn = drawn_in("balanced_fixed", table)
    asked = {"queries": 40, "predicates": 1, "selectivity": 0.2, "seed": 2}
    found = measured(QUERY_ACCURACY, context_of(table, drawn), quasi_identifiers=("age",), **asked)
    scales = {j: LeafScale(tree) for j, tree in enumerate(TREES)}
    drawing = Workload(scales, (1,), 2, 1, 0.2, 2)
    queries = [drawing.draw() for _ in range(40)]
    right = answers_by_hand(table, drawn, queries)[:, 0]
    errors = readers_errors(drawn, queries)
    assert found.median_standard_error == pytest.approx(median((errors / right)[right > 0].tolist()))


@pytest.mark.parametrize(
    ("mode", "more", "why"),
    [
        ("balanced", {}, SIZES_UNTOLD),
        ("paper", {}, SIZES_UNTOLD),
        ("balanced_fixed", {"delta": 0.8}, ONE_RECORD),
    ],
)
def test_a_reader_who_has_no_standard_errors_is_told_why(mode, more, why):
    table = people(4, 600)
    found = measured(QUERY_ACCURACY, context_of(table, drawn_in(mode, table, **more)), **ASKED)
    assert (found.median_standard_error, found.within_intervals) == (None, None)
    assert found.without_errors == why


def test_errors_of_independent_rows_are_told_and_those_of_a_rule_are_not():
    table = people(4, 600)
    uniform = drawn_by(UNIFORM_PERTURBATION, UniformPerturbation(p=0.5, p_cap=0.5, epsilon=0.2), table)
    found = measured(QUERY_ACCURACY, context_of(table, uniform), **ASKED)
    queries = workload(table, **ASKED)
    right, errors = answers_by_hand(table, uniform, queries)[:, 0], readers_errors(uniform, queries)
    assert found.median_standard_error == pytest.approx(median((errors / right)[right > 0].tolist()))
    assert 0.8 < found.within_intervals <= 1
    under = measured_under(QUERY_ACCURACY, table, TableRule((1, 0, 0)), **ASKED)
    assert (under.median_standard_error, under.within_intervals) == (None, None)
    assert under.without_errors == AS_THEY_ARE


def test_copies_of_a_rule_before_are_counted_with_spread_cells():
    table = people(4, 600)
    drawn = drawn_in("balanced_fixed", table, rule=TableRule((1, 0, 0)))
    found = measured(QUERY_ACCURACY, context_of(table, drawn), **ASKED)
    assert found.without_errors is None
    assert 0 < found.median_standard_error < 1


def test_what_compares_rows_with_records_still_does_not_read_copies():
    table = people(4, 60)
    context = context_of(table, drawn_in("balanced_fixed", table))
    assert "publishes none" in unreadable(INFORMATION_LOSS, context, INFORMATION_LOSS.parameters())
