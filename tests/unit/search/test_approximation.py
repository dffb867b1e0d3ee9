"""The approximation and the Lovász extension on the specification's instances."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.aggregate import approximation
from app.domain.search.aggregate.approximation import (
    approximate,
    draw,
    expected_inverse,
    least_risk,
    outcomes,
    point_of,
    polished,
    require_acceptance,
)
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.aggregate.programmes import Rows, greatest, least_maximum_closure
from app.domain.search.blocks import carry_out
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import Approx
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from app.services.searches.objectives import solver_document, solver_of
from tests.oracles.chain_instances import C1, nodes_of
from tests.oracles.effort import examples
from tests.oracles.lovasz import extended_count, extension

TABULATED = (np.array([0.8, 0.5, 0.1]), np.array([0.6, 0.2]))
COUNTEREXAMPLE = ChainRecord.of(
    [np.array([1.0, 0.5, 0.0])], [np.ones(3)], np.array([[0], [1], [2]]), np.array([1, 49, 950])
)
PRINTED = {"epsilon": 0.01, "kept_utility": 0.5, "sensitivity_slack": 3.1}


@pytest.mark.spec("TV-21", "INV-18")
def test_the_extension_is_linear_where_the_function_is_modular():
    assert extended_count(C1, TABULATED) == pytest.approx(4.5)
    assert extension(lambda x: float(C1.count(x)), TABULATED) == pytest.approx(4.5)
    assert extension(C1.utility, TABULATED) == pytest.approx(2.8)
    assert extension(C1.phi, TABULATED) == pytest.approx(0.49)


@pytest.mark.spec("TV-21", "INV-18")
def test_rounding_has_the_tabulated_chances():
    chances = {outcome.levels: outcome.probability for outcome in outcomes(TABULATED)}
    assert chances == pytest.approx(
        {(0, 0): 0.2, (1, 0): 0.2, (1, 1): 0.1, (2, 1): 0.3, (2, 2): 0.1, (3, 2): 0.1}
    )


@pytest.mark.spec("TV-21", "E-41")
def test_the_dissertations_example_leaves_the_rest_to_the_empty_set():
    point = tuple(np.array([v]) for v in (0.4, 0.7, 0.0, 0.5, 0.1))
    chances = {outcome.levels: outcome.probability for outcome in outcomes(point)}
    assert chances == pytest.approx(
        {(0, 0, 0, 0, 0): 0.3, (0, 1, 0, 0, 0): 0.2, (0, 1, 0, 1, 0): 0.1, (1, 1, 0, 1, 0): 0.3,
         (1, 1, 0, 1, 1): 0.1}
    )  # fmt: skip
    assert sum(chances.values()) == pytest.approx(1.0)


def test_draws_follow_the_chances():
    random = np.random.default_rng(3)
    chances = outcomes(TABULATED)
    drawn = [draw(chances, random) for _ in range(4000)]
    for outcome in chances:
        # Six standard deviations of 4,000 draws: a false alarm in less than one of 10⁸ runs.
        assert abs(drawn.count(outcome.levels) / 4000 - outcome.probability) < 0.05


def test_a_point_falls_along_its_chains_whatever_a_solver_returns():
    point = point_of(np.array([0.5, 0.5 + 1e-9, -1e-9, 1 + 1e-9]), (3, 1))
    assert [part.tolist() for part in point] == [[0.5, 0.5, 0.0], [1.0]]
    assert sum(outcome.probability for outcome in outcomes(point)) == pytest.approx(1.0)


@pytest.mark.spec("TV-22", "E-43", "E-44")
@pytest.mark.parametrize(("epsilon", "bound"), [(0.5, 0.083077), (0.1, 0.113331)])
def test_the_canonical_instance_has_the_tabulated_certificate(epsilon, bound):
    found = approximate(C1, 3.0, Approx(epsilon=epsilon))
    assert found.levels == (1, 1)
    assert found.risk == pytest.approx(0.125)
    assert found.lower_bound == pytest.approx(bound, abs=5e-7)
    assert found.ratio == pytest.approx(0.125 / bound, rel=1e-5)
    if epsilon == 0.5:
        limits, optima = zip(*found.programmes, strict=True)
        assert limits == pytest.approx((0.1, 0.15, 0.225, 0.3375, 0.50625, 0.759375, 1.1390625))
        assert optima[:4] == (None,) * 4
        assert optima[4:] == pytest.approx((4.0625, 4.6, 4.6), rel=1e-6)


@pytest.mark.spec("TV-22")
@pytest.mark.parametrize("start", [(0, 0), (1, 1)])
def test_polishing_ends_at_the_tabulated_rule(start):
    assert polished(C1, start, 2.4) == (1, 1)


@pytest.mark.spec("TV-22", "E-42")
def test_the_published_guarantee_fails_and_the_certificate_says_so():
    rough, fine = Approx(**PRINTED, polish=False), Approx(**PRINTED)
    found = approximate(COUNTEREXAMPLE, 0.5, rough)
    assert (found.levels, found.risk) == ((0,), 1.0)
    assert found.programmes == ((1.0, pytest.approx(500.5, rel=1e-6)),)
    assert found.lower_bound == pytest.approx(0.001998, abs=5e-7)
    assert not found.met(rough)
    found = approximate(COUNTEREXAMPLE, 0.5, fine)
    assert (found.levels, found.risk) == ((1,), pytest.approx(0.02))
    assert found.ratio == pytest.approx(10.01, abs=1e-4)
    assert not found.met(fine)
    exact = least_risk(COUNTEREXAMPLE, 0.5)
    assert (exact.levels, exact.risk, exact.lower_bound, exact.exact) == ((1,), 0.02, 0.02, True)


def test_the_certificate_of_the_approximation_alone_is_given_when_asked_for():
    """The counterexample as a table: one of 1,000 people is told from 49 others, and these from the rest."""
    tree = Hierarchy.from_parents({"near": [None], "far": [None], "a": ["near"], "b": ["near"], "c": ["far"]})
    table = Table(("x",), (tree,), tree.encode(["a"])[0][:, None])
    people = tree.encode(["a"] + ["b"] * 49 + ["c"] * 950)[0]
    dictionary = Dictionary(1000, (link_nodes("x", tree, people),))
    context = SearchContext(table, dictionary, constant_sensitivity(table, 1.0), build_utility(table))
    asked = Problem(MinRisk(1.0), "record_level")
    rough = Approx(**PRINTED, polish=False)
    by_itself = carry_out(plan(context, asked, replace(rough, fallback=False)))
    assert (by_itself.status, by_itself.risk) == ("heuristic", 1.0)
    assert by_itself.certificate.ratio == pytest.approx(500.5, rel=1e-6)
    assert (by_itself.certificate.met, by_itself.certificate.fallback) == (0, 0)
    assert (by_itself.certificate.rounded, by_itself.certificate.expected_met) == (1, 0)
    assert by_itself.certificate.expected_inverse_risk == 1.0
    assert by_itself.certificate.promised_inverse_risk == pytest.approx(500.5 / (3.1 * 1.01), rel=1e-6)
    mended = carry_out(plan(context, asked, rough))
    assert (mended.status, mended.risk, mended.certificate.fallback) == ("optimal", 0.02, 1)
    # What was published for this instance, whose least risk is 1/50, and what it gets.
    assert mended.certificate.promised_inverse_risk == pytest.approx(15.969, abs=5e-4)
    assert (mended.certificate.expected_inverse_risk, mended.certificate.expected_met) == (1.0, 0)
    # What was stored before there was the choice reads as it did.
    assert "fallback" not in solver_document(rough)
    assert solver_of(solver_document(replace(rough, fallback=False))) == replace(rough, fallback=False)


@pytest.mark.deep
@pytest.mark.spec("TV-22")
def test_the_expected_inverse_risk_is_that_of_the_printed_algorithm(monkeypatch):
    """Every draw of the printed algorithm, run 2,000 times on the same solutions of its programmes."""
    known = {}
    solve = approximation._Relaxation.solve

    def remembered(self, limit):
        if limit not in known:
            known[limit] = solve(self, limit)
        return known[limit]

    monkeypatch.setattr(approximation._Relaxation, "solve", remembered)
    printed = Approx(mode="sampling", polish=False, kept_utility=0.2)
    runs = [approximate(C1, 3.0, printed, np.random.default_rng(seed)) for seed in range(2000)]
    inverse = np.array([1 / found.risk for found in runs])
    assert len(set(inverse)) > 1
    # Six standard errors: a false alarm in less than one of 10⁸ runs.
    assert abs(inverse.mean() - runs[0].expected_inverse) < 6 * inverse.std() / 2000**0.5


@given(
    st.lists(
        st.lists(
            st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 7.0]), st.integers(1, 5)),
            min_size=1, max_size=4,
        ),
        min_size=1, max_size=4,
    )
)  # fmt: skip
@settings(deadline=None, max_examples=examples(200))
def test_the_expected_inverse_of_the_least_risk_is_that_of_all_combinations(draws):
    total, each = 0.0, [sum(chance for _, chance in own) for own in draws]
    for combination in itertools.product(*draws):
        least = min(risk for risk, _ in combination)
        chance = math.prod(p / whole for (_, p), whole in zip(combination, each, strict=True))
        total += chance / least if least else math.inf
    assert expected_inverse(draws) == pytest.approx(total, rel=1e-12)


@pytest.mark.spec("E-42")
def test_no_draw_of_the_printed_algorithm_beats_the_derandomised_one():
    sampling = Approx(**PRINTED, mode="sampling", polish=False)
    for seed in range(20):
        found = approximate(COUNTEREXAMPLE, 0.5, sampling, np.random.default_rng(seed))
        assert found.levels == (0,)
        assert found.trials >= 1


@pytest.mark.spec("E-43", "INV-20")
def test_what_needs_no_programme_is_solved_exactly():
    plain = approximate(C1, 0.0, Approx())
    assert (plain.levels, plain.risk, plain.exact, plain.programmes) == ((3, 2), 0.0, True, ())
    assert approximate(C1, 6.0, Approx()).levels is None
    barred = ChainRecord.of(C1.utilities, [np.full(4, np.inf), C1.weights[1]], C1.thresholds)
    assert approximate(barred, 1.0, Approx()).prohibited


def test_a_halt_leaves_a_rule_and_no_certificate():
    asked = iter([False, False, True, True, True, True, True])
    found = approximate(C1, 3.0, Approx(), halted=lambda: next(asked))
    assert C1.utility(found.levels) >= 2.4
    assert found.lower_bound == 0.0
    assert len(found.programmes) == 2


def test_parameters_that_accept_nothing_for_certain_are_refused():
    require_acceptance(Approx(), 0.6)
    with pytest.raises(InvalidInput) as refusal:
        require_acceptance(Approx(), 0.3)
    needed = float(refusal.value.faults[0].remedy.split("at least ")[1].split(",")[0])
    assert needed == pytest.approx(1 / (1 - 0.7 / 0.76), abs=0.01)
    require_acceptance(Approx(sensitivity_slack=needed), 0.3)


def test_programmes_without_a_point_have_no_optimum():
    rows = Rows(np.array([0]), np.array([0]), np.array([-1.0]), np.array([-2.0]))
    assert greatest(np.array([1.0]), rows) is None
    tight = Rows(np.array([0]), np.array([0]), np.array([2.0]), np.array([1.0]))
    found = greatest(np.array([3.0]), tight)
    assert found.value == pytest.approx(1.5)
    assert found.bound >= 1.5 - 1e-12


def test_the_least_of_several_closures_of_greatest_profit_is_found():
    rng = np.random.default_rng(4)
    for _ in range(60):
        n, pairs = int(rng.integers(1, 8)), int(rng.integers(0, 12))
        profits = rng.choice([-1.0, -0.5, 0.0, 0.5, 1.0, 1e-4, 1e6], n)
        before, after = rng.integers(0, n, pairs), rng.integers(0, n, pairs)
        closed = [
            chosen
            for chosen in (
                np.array([number >> i & 1 for i in range(n)], dtype=bool) for number in range(2**n)
            )
            if not (chosen[before] & ~chosen[after]).any()
        ]
        best = max(profits[chosen].sum() for chosen in closed)
        sizes = [int(chosen.sum()) for chosen in closed if profits[chosen].sum() >= best - 1e-9]
        found = least_maximum_closure(profits, before, after)
        assert any((found == chosen).all() for chosen in closed)
        assert profits[found].sum() == pytest.approx(best, abs=1e-9)
        assert found.sum() == min(sizes)


@pytest.mark.spec("INV-20")
def test_counts_of_boxes_are_those_of_the_whole():
    for lo, hi in (((0, 0), (2, 2)), ((1, 0), (3, 1)), ((2, 2), (3, 2)), ((1, 1), (1, 1))):
        box = C1.box(lo, hi)
        for x, count, phi, utility in nodes_of(box):
            whole = tuple(a + b for a, b in zip(lo, x, strict=True))
            assert (count, phi, utility) == (C1.count(whole), C1.phi(whole), C1.utility(whole))


@pytest.mark.parametrize("mode", ["derandomised", "sampling"])
def test_rounding_and_polishing_end_once_they_are_halted(mode):
    for patience in range(12):
        looks = itertools.count()
        found = approximate(
            C1,
            3.0,
            Approx(mode=mode),
            np.random.default_rng(1),
            lambda looks=looks, p=patience: next(looks) >= p,
        )
        assert next(looks) <= patience + 12
        assert C1.utility(found.levels) >= 0.8 * 3.0 - 1e-9
        assert found.lower_bound <= 0.125
