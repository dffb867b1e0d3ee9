"""The scalable models find what loops over all nodes, records and entities find, and prove their bounds."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from app.domain.errors import InvalidInput, NotSupported
from app.domain.search.aggregate.approximation import (
    approximate,
    least_risk,
    outcomes,
    point_of,
)
from app.domain.search.aggregate.chain_records import ChainRecords
from app.domain.search.aggregate.objective import BoxObjective, maximise_aggregate
from app.domain.search.aggregate.submodular import ClosureMaximiser, RingFamilyMaximiser
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.objectives import AggregateObjective, MaxUtility, MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import Approx, Aruba
from app.domain.tables.numbers import tie_margin
from tests.oracles.chain_instances import best_by_loops, nodes_of, random_record
from tests.oracles.effort import examples
from tests.oracles.lovasz import extended_count, extension
from tests.oracles.search_instances import BruteForce, contexts, solve

THOROUGH = settings(
    max_examples=examples(40),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TRADE_OFFS = st.sampled_from([0.0, 0.01, 0.1, 0.5, 2.0, 10.0])
OPTIONS = st.builds(
    lambda kappa, policy, search: AggregateObjective(
        kappa, policy, 0.5 if policy == "offset" else None, parametric_search=search, trade_off=0.0
    ),
    st.integers(0, 2),
    st.sampled_from(["exclude", "offset", "unbounded"]),
    st.sampled_from(["dinkelbach", "bisection"]),
)


def rated(context, row, brute, trade_off, options):
    """(−f, −u, steps) of the nodes that the policy admits."""
    found, harmless = [], []
    for steps, _, utility, phi, count in scored_nodes(context, row, brute):
        phi += options.phi_offset or 0.0
        gained = utility**options.kappa
        if math.isinf(phi):
            continue
        if trade_off == 0:
            found.append((-gained, -utility, steps))
        elif phi > 0:
            found.append((-(trade_off * count / phi + gained), -utility, steps))
        elif options.phi_zero_policy == "unbounded":
            found.append((-math.inf, -utility, steps))
        else:
            harmless.append((-gained, -utility, steps))
    return found or harmless


def scored_nodes(context, row, brute):
    table = context.table
    for steps, loss, utility in brute.record_nodes(row):
        codes = []
        for tree, code, up in zip(table.hierarchies, table.codes[row].tolist(), steps, strict=True):
            for _ in range(up):
                code = int(tree.parents[code][0])
            codes.append(code)
        groups = None if context.sensitivity.groups is None else context.sensitivity.groups[[row]]
        phi = float(context.sensitivity.phi(np.array([codes], dtype=np.int32), groups)[0])
        yield steps, loss, utility, phi, brute.count(row, codes)


def best_of(nodes):
    """The first of rated nodes in the order of ties: value and steps."""
    value = min(nodes)[0]
    nodes = [n for n in nodes if n[0] == value or n[0] <= value + tie_margin(value)]
    second = min(n[1] for n in nodes)
    return value, min(n[2] for n in nodes if n[1] <= second + tie_margin(second))


def is_additive(context):
    return context.sensitivity.family in ("linear", "linear_personal", "constant")


@pytest.mark.spec("INV-19", "E-37", "E-38", "E-48")
@THOROUGH
@given(contexts(), st.sampled_from(["zero", "add_self"]), TRADE_OFFS, OPTIONS)
def test_every_method_finds_the_rule_that_loops_find(context, policy, trade_off, options):
    brute = BruteForce(context, policy)
    n = context.table.n_records
    for method in ("enumeration", "closure", "ring_family"):
        # The slowest method goes through the fewest steps.
        search = "dinkelbach" if method == "ring_family" else options.parametric_search
        chosen = replace(options, method=method, parametric_search=search, trade_off=trade_off)
        asked = Problem(chosen, "record_level", policy)
        if method != "enumeration" and not is_additive(context):
            with pytest.raises(NotSupported, match="sum over attributes"):
                plan(context, asked)
            continue
        if any(brute.count(row, context.table.codes[row].tolist()) == 0 for row in range(n)):
            with pytest.raises(InvalidInput):
                plan(context, asked)
            return
        outcome = carry_out(plan(context, asked))
        solved = [rated(context, row, brute, trade_off, options) for row in range(n)]
        assert outcome.prohibited_records == sum(not nodes for nodes in solved)
        if not all(solved):
            assert (outcome.status, outcome.rule) == ("prohibited", None)
            continue
        assert outcome.status == "optimal"
        best = [best_of(nodes) for nodes in solved]
        assert [tuple(row) for row in outcome.rule.steps.tolist()] == [steps for _, steps in best]
        assert outcome.objective == pytest.approx(-math.fsum(value for value, _ in best) / n, rel=1e-11)
        assert outcome.bounds.gap == 0


@THOROUGH
@given(contexts(), st.sampled_from(["zero", "add_self"]))
def test_chain_records_count_what_loops_count(context, policy):
    assume(is_additive(context))
    brute, records = BruteForce(context, policy), ChainRecords(context, policy, "known")
    for row in range(context.table.n_records):
        record = records.record(int(records.of_record[row]))
        for steps, _, utility, phi, count in scored_nodes(context, row, brute):
            assert record.count(steps) == count
            assert record.phi(steps) == pytest.approx(phi)
            assert record.utility(steps) == pytest.approx(utility)


@pytest.mark.spec("INV-20", "E-43")
@THOROUGH
@given(
    contexts(), st.sampled_from(["zero", "add_self"]), st.sampled_from([0.5, 0.8, 1.0]), st.booleans(),
    st.sampled_from(["derandomised", "sampling"]), st.integers(0, 3),
)  # fmt: skip
def test_the_approximation_keeps_its_floor_and_its_bound(context, policy, share, polish, mode, seed):
    assume(is_additive(context))
    most = float(context.utility.of(context.table.codes).max())
    floor = share * most
    problem = Problem(MinRisk(floor), "record_level", policy)
    parameters = Approx(sensitivity_slack=50.0, polish=polish, mode=mode, seed=seed)
    chosen = plan(context, problem, parameters)
    outcome = carry_out(chosen)
    exact = carry_out(plan(context, problem))
    assert outcome.status in (exact.status, "heuristic" if exact.status == "optimal" else exact.status)
    if outcome.rule is None:
        return
    assert outcome.bounds.lower <= exact.risk + 1e-9
    kept = outcome.assessment.records.utility
    assert (kept >= outcome.certificate.kept_floor - 1e-9).all()
    assert outcome.certificate.records == context.table.n_records
    if outcome.status == "optimal":
        assert outcome.rule.steps.tolist() == exact.rule.steps.tolist()
    again = plan(context, problem, parameters)
    assert [again.run_block(i, lambda _: None) for i in range(again.n_blocks)] == [
        chosen.run_block(i, lambda _: None) for i in range(chosen.n_blocks)
    ]


@THOROUGH
@given(contexts(), st.integers(0, 6), st.sampled_from(["closure", "enumeration", "approx"]))
def test_a_halt_leaves_a_rule_with_a_bound(context, calls, method):
    assume(is_additive(context))
    assume(float(np.max([w[1:].max(initial=0) for w, _ in context.sensitivity.shapes])) < math.inf)
    left = [calls]

    def halted():
        left[0] -= 1
        return left[0] < 0

    if method == "approx":
        problem, solver = Problem(MinRisk(1.0), "record_level", "add_self"), Approx(sensitivity_slack=900)
    else:
        problem = Problem(AggregateObjective(method=method, trade_off=0.5), "record_level", "add_self")
        solver = None
    whole = plan(context, problem) if solver is None else plan(context, problem, solver)
    optimum = carry_out(whole)
    stopped = carry_out(whole, halted=halted)
    assert stopped.complete == (left[0] >= 0) or stopped.status in ("optimal", "infeasible")
    assert (stopped.rule is None) == (optimum.rule is None)
    if stopped.rule is not None:
        exact = optimum if solver is None else carry_out(plan(context, problem))
        best = -exact.objective if method != "approx" else exact.objective
        assert stopped.bounds.lower <= best + 1e-9 * max(1.0, abs(best))
        if method == "approx":
            assert (stopped.assessment.records.utility >= 0.8 - 1e-9).all()
    nothing = whole.combine({})
    assert (nothing.rule is None) == (optimum.rule is None)
    assert not nothing.complete


@THOROUGH
@given(contexts(), st.integers(1, 30), TRADE_OFFS)
def test_a_budget_of_steps_gives_a_rule_within_its_bound(context, nodes, trade_off):
    assume(is_additive(context))
    objective = AggregateObjective(method="closure", trade_off=trade_off)
    asked = Problem(objective, "record_level", "add_self")
    best = carry_out(plan(context, asked))
    assume(best.rule is not None)
    for budget in (Budget(max_nodes=nodes), Budget(relative_gap=0.3)):
        found = carry_out(plan(context, asked, budget=budget))
        assert found.complete
        assert found.objective <= best.objective + 1e-9 * abs(best.objective)
        assert -found.bounds.lower >= best.objective - 1e-9 * abs(best.objective)
    assert found.bounds.gap <= 0.3 * found.objective + 1e-9


@given(contexts(), st.sampled_from(["table_level", "max", "average", "II", "aruba", "max_utility"]))
@settings(max_examples=examples(20), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_what_the_models_do_not_cover_is_refused_with_alternatives(context, case):
    asked, solver = Problem(AggregateObjective(trade_off=1.0), "record_level", "add_self"), None
    if case == "table_level":
        asked = replace(asked, scope="table_level")
    elif case == "max":
        asked = replace(asked, aggregate="max")
    elif case == "average":
        asked = replace(asked, constraint="average")
    elif case == "II":
        context = replace(context, model=type(context.model)("II"))
    elif case == "aruba":
        solver = Aruba()
    else:
        asked, solver = Problem(MaxUtility(1.0), "record_level"), Approx()
    with pytest.raises(NotSupported) as refusal:
        plan(context, asked) if solver is None else plan(context, asked, solver)
    assert any(word in refusal.value.message + refusal.value.remedy for word in ("Choose", "choose", "Ask"))


@pytest.mark.spec("INV-18")
def test_counts_are_supermodular_and_rounding_has_the_extension_as_its_mean():
    rng = np.random.default_rng(18)
    for _ in range(examples(120)):
        record = random_record(rng, infinite=False)
        for _ in range(8):
            x, y = (tuple(int(v) for v in rng.integers(0, np.array(record.heights) + 1)) for _ in range(2))
            low, high = tuple(map(min, x, y)), tuple(map(max, x, y))
            assert record.count(low) + record.count(high) >= record.count(x) + record.count(y)
            for modular in (record.phi, record.utility):
                assert modular(low) + modular(high) == pytest.approx(modular(x) + modular(y))
            alpha, objective = float(rng.choice([0.0, 1.0, 7.0])), BoxObjective(record, 0.7, 2)
            lifted = [objective.lifted(node, alpha) for node in (low, high, x, y)]
            assert lifted[0] + lifted[1] >= lifted[2] + lifted[3] - 1e-9
        values = np.concatenate([np.sort(rng.random(h))[::-1] for h in record.heights])
        point = point_of(values, record.heights)
        assert sum(o.probability for o in outcomes(point)) == pytest.approx(1.0)
        mean = extension(lambda node, of=record: float(of.count(node)), point)
        assert mean == pytest.approx(extended_count(record, point))


def agree(seed, instances):
    """Closure, ring family and loops agree in value and node on random records."""
    rng = np.random.default_rng(seed)
    for _ in range(instances):
        record = random_record(rng)
        trade_off = float(rng.choice([0.0, 0.01, 0.1, 0.3, 1.0, 3.0, 20.0]))
        policy = str(rng.choice(["exclude", "offset", "unbounded"]))
        offset = 0.3 if policy == "offset" else None
        search = str(rng.choice(["dinkelbach", "bisection"], p=[0.8, 0.2]))
        asked = AggregateObjective(
            int(rng.integers(0, 4)), policy, offset, parametric_search=search, trade_off=trade_off
        )
        levels, value = best_by_loops(record, trade_off, asked.kappa, policy, offset or 0.0)
        for maximiser in (ClosureMaximiser, RingFamilyMaximiser):
            found = maximise_aggregate(record, asked, maximiser)
            assert found.levels == levels
            assert found.value == pytest.approx(value, rel=1e-11)
            assert found.bound == pytest.approx(value, rel=1e-9)
            for steps in found.steps if search == "dinkelbach" else ():
                assert all(a.alpha < b.alpha for a, b in itertools.pairwise(steps))


def certify(seed, instances):
    """Bounds, floors and polishing of the approximation on random records."""
    rng = np.random.default_rng(seed)
    for _ in range(instances):
        record = random_record(rng)
        nodes = list(nodes_of(record))
        for share in (0.6, 0.8, 1.0, 1.1):
            floor = share * nodes[0][3]
            rows = [(x, phi / count if count else 0.0, u) for x, count, phi, u in nodes]
            status, value, levels = solve(rows, Problem(MinRisk(floor), "record_level"))
            exact = least_risk(record, floor)
            assert (exact.levels, exact.prohibited) == (levels, status == "prohibited")
            for polish in (True, False):
                found = approximate(record, floor, Approx(polish=polish))
                if levels is None:
                    assert found.levels is None
                    continue
                assert record.utility(found.levels) >= (1.0 if found.exact else 0.8) * floor - 1e-8
                assert found.lower_bound <= value + 1e-12
                if found.exact:
                    assert found.levels == levels
                if polish:
                    polished = found.risk
                elif not found.exact:
                    assert polished <= found.risk + 1e-12


@pytest.mark.spec("INV-19", "E-39")
def test_cuts_ring_families_and_loops_agree():
    agree(19, examples(30))


@pytest.mark.spec("INV-20", "E-42", "E-44")
def test_certificates_hold():
    certify(20, examples(20))


@pytest.mark.deep
@pytest.mark.spec("INV-19")
def test_cuts_ring_families_and_loops_agree_on_a_thousand_records():
    agree(1900, 1000)


@pytest.mark.deep
@pytest.mark.spec("INV-20")
def test_certificates_hold_on_hundreds_of_records():
    certify(2000, 200)
