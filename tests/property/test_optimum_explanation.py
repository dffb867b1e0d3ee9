"""What holds an optimum and what utility costs, against all rules scored one by one."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.analyses.optimum_explanation import OPTIMUM_EXPLANATION, OptimumParameters
from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, RecordRule, TableRule, identity
from app.domain.search.blocks import carry_out
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.explained_rules import computed
from tests.oracles.search_instances import BruteForce, contexts, objective_of

THRESHOLDS = st.sampled_from([0.0, 0.1, 0.25, 0.5, 1.0, 1.5, 2.0, 3.0])
CLOSE = 1e-9


def asked(instance, rule, policy="zero"):
    return MeasureContext(
        instance.table, rule, instance.dictionary, instance.sensitivity, None, instance.utility, MODEL_I,
        policy,
    )  # fmt: skip


def value(objective, threshold, risk, utility):
    return {"min_risk": risk, "max_utility": -utility, "lagrangian": risk - threshold * utility}[objective]


def rise(before, after):
    """The price between two risks, as it is written."""
    if before is None or after is None or (math.isinf(before) and math.isinf(after)):
        return None
    return after - before


@pytest.mark.deep
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_a_table_level_rule_is_explained_by_all_the_others(data):
    instance = data.draw(contexts())
    policy = data.draw(st.sampled_from(["zero", "add_self"]))
    objective = data.draw(st.sampled_from(["min_risk", "max_utility", "lagrangian"]))
    threshold = data.draw(THRESHOLDS)
    rules = list(BruteForce(instance, policy).table_rules())
    found_rule = plan(instance, Problem(objective_of(objective, threshold), absent_policy=policy))
    outcome = carry_out(found_rule)
    best_known = outcome.rule is not None and data.draw(st.booleans())
    levels = outcome.rule.levels if best_known else data.draw(st.sampled_from(rules))[0]
    _, risk, utility = next(rule for rule in rules if rule[0] == levels)
    found = computed(
        OPTIMUM_EXPLANATION,
        asked(instance, TableRule(levels), policy),
        OptimumParameters(objective, threshold),
    )
    kept = [
        (r, u)
        for _, r, u in rules
        if objective == "lagrangian"
        or (u >= threshold - CLOSE if objective == "min_risk" else r <= threshold + CLOSE)
    ]
    best = min((value(objective, threshold, r, u) for r, u in kept), default=None)
    free = min(value(objective, threshold, r, u) for _, r, u in rules)
    own = value(objective, threshold, risk, utility)
    assert found.risk == pytest.approx(risk, rel=1e-12)
    assert found.utility == pytest.approx(utility, rel=1e-12, abs=1e-12)
    assert found.is_feasible == ((risk, utility) in kept)
    if best is None:
        assert found.optimum is None
    else:
        assert found.optimum == pytest.approx(-best if objective == "max_utility" else best, abs=1e-9)
    assert found.is_optimal == (found.is_feasible and own <= best + CLOSE)
    if best_known:
        assert found.is_optimal
    if best is None or free < best - CLOSE:
        assert found.binding == ("utility_floor" if objective == "min_risk" else "risk_cap")
    else:
        assert found.binding in ("lattice_edge", "nothing")
    check_prices(found, rules, risk, utility)
    check_neighbours(found, rules, risk, utility)
    check_trade_offs(found, rules, risk, utility)


def check_prices(found, rules, risk, utility):
    def least(floor):
        return min((r for _, r, u in rules if u >= floor - CLOSE), default=None)

    for said, expected in (
        (found.one_more_unit, rise(risk, least(utility + 1))),
        (found.one_unit_less, rise(least(utility - 1), risk)),
    ):
        assert said == (None if expected is None else pytest.approx(expected, abs=1e-9))


def check_neighbours(found, rules, risk, utility):
    """The next one up has the least risk of all above, and none between is any better."""
    above = [(r, u) for _, r, u in rules if u > utility + CLOSE]
    below = [(r, u) for _, r, u in rules if r < risk - CLOSE]
    assert (found.more_utility is None) == (not above)
    assert (found.less_risk is None) == (not below)
    if above:
        up = found.more_utility
        assert up.risk <= min(r for r, _ in above) + CLOSE
        assert up.utility >= max(u for r, u in above if r <= up.risk + CLOSE) - CLOSE
    if below:
        down = found.less_risk
        assert down.utility >= max(u for _, u in below) - CLOSE
        assert down.risk <= min(r for r, u in below if u >= down.utility - CLOSE) + CLOSE


def check_trade_offs(found, rules, risk, utility):
    """Inside the interval no rule is better for the trade-off, outside some rule is."""

    def best_for(trade_off):
        return all(risk - trade_off * utility <= r - trade_off * u + 1e-7 for _, r, u in rules)

    if found.trade_off_from is None:
        assert math.isinf(risk) or not any(
            best_for(t / 8) for t in range(80) if not near(t / 8, rules, risk, utility)
        )
        return
    low, high = found.trade_off_from, found.trade_off_to
    assert best_for(low)
    assert best_for(min(high, low + 1))
    if math.isfinite(high):
        assert best_for(high)
        assert not best_for(high + 0.01)
    if low > 0.01:
        assert not best_for(low - 0.01)


def near(trade_off, rules, risk, utility):
    """Whether the trade-off makes the rule tie with another one within rounding."""
    return any(
        abs((risk - trade_off * utility) - (r - trade_off * u)) < 1e-6
        for _, r, u in rules
        if abs(u - utility) > CLOSE or abs(r - risk) > CLOSE
    )


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_rule_per_record_is_explained_by_the_lattices_of_its_records(data):
    instance = data.draw(contexts())
    table, brute = instance.table, BruteForce(instance, "zero")
    lattices = [list(brute.record_nodes(row)) for row in range(table.n_records)]
    floor = data.draw(THRESHOLDS)
    chosen = [data.draw(st.sampled_from(nodes)) for nodes in lattices]
    rule = RecordRule(np.array([steps for steps, _, _ in chosen], dtype=np.int16))
    found = computed(OPTIMUM_EXPLANATION, asked(instance, rule), OptimumParameters("min_risk", floor))

    def least(at_least):
        """Least mean loss with so much utility of every record; None if a record cannot have it."""
        losses = [min((r for _, r, u in nodes if u >= at_least - CLOSE), default=None) for nodes in lattices]
        return None if None in losses else math.fsum(losses) / len(losses)

    risk = math.fsum(loss for _, loss, _ in chosen) / len(chosen)
    best, free = least(floor), least(-1.0)
    assert found.optimum == (None if best is None else pytest.approx(best, abs=1e-9))
    assert found.is_feasible == all(u >= floor - CLOSE for _, _, u in chosen)
    assert found.slack == pytest.approx(min(u for _, _, u in chosen) - floor)
    assert found.is_optimal == (found.is_feasible and risk <= best + CLOSE)
    assert (found.binding == "utility_floor") == (best is None or free < best - CLOSE)
    if math.isfinite(free):
        alone = [min(r for _, r, _ in nodes) for nodes in lattices]
        bound = sum(low < loss - CLOSE for low, (_, loss, _) in zip(alone, chosen, strict=True))
        assert found.records_bound == bound
    for said, expected in (
        (found.one_more_unit, rise(risk, least(floor + 1))),
        (found.one_unit_less, rise(least(floor - 1), risk)),
    ):
        assert said == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert found.proven
    assert (found.more_utility, found.trade_off_from) == (None, None)


def test_rules_of_which_there_are_too_many_or_no_levels_are_refused_by_name():
    deep = Hierarchy.from_rows([[f"{i}", *(f"{i}-{level}" for level in range(20))] for i in range(2)])
    dag = Hierarchy.from_parents({"v": ["p", "q"], "p": [None], "q": [None]})
    for hierarchy, m, reason in ((deep, 5, "at most 2000000"), (dag, 1, "a0 are no trees")):
        table = Table(tuple(f"a{j}" for j in range(m)), (hierarchy,) * m, np.ones((1, m), dtype=np.int32))
        context = MeasureContext(
            table, identity(m), dictionary_of(table), constant_sensitivity(table), None, build_utility(table),
            MODEL_I, "zero",
        )  # fmt: skip
        assert reason in OPTIMUM_EXPLANATION.supports(context, OptimumParameters("min_risk", 0.0))
    assert "0 or more" in OPTIMUM_EXPLANATION.supports(context, OptimumParameters("max_utility", -1.0))


def test_a_rule_that_shows_everything_or_nothing_is_at_the_edge():
    bit = Hierarchy.from_parents({"0": [None], "1": [None]})
    table = Table(("a",), (bit,), np.array([[1], [2]], dtype=np.int32))
    for codes, objective, threshold in (([[0], [0]], "min_risk", 0.0), ([[1], [2]], "max_utility", 1.0)):
        context = MeasureContext(
            table, CellRule(np.array(codes, dtype=np.int32)), dictionary_of(table),
            constant_sensitivity(table), None, build_utility(table), MODEL_I, "zero",
        )  # fmt: skip
        found = computed(OPTIMUM_EXPLANATION, context, OptimumParameters(objective, threshold))
        assert (found.binding, found.is_optimal) == ("lattice_edge", True)


@settings(max_examples=examples(100), deadline=None)
@given(st.data())
def test_a_mean_over_records_is_explained_by_all_choices_of_their_nodes(data):
    """Every objective under a constraint on means, against the product of the records' lattices."""
    instance = data.draw(contexts())
    table, brute = instance.table, BruteForce(instance, "zero")
    lattices = [list(brute.record_nodes(row)) for row in range(table.n_records)]
    assume(math.prod(map(len, lattices)) <= 3000)
    objective = data.draw(st.sampled_from(["min_risk", "max_utility", "lagrangian"]))
    threshold = data.draw(THRESHOLDS)
    every = [
        (mean_of(node[1] for node in chosen), mean_of(node[2] for node in chosen))
        for chosen in itertools.product(*lattices)
    ]
    chosen = [data.draw(st.sampled_from(nodes)) for nodes in lattices]
    rule = RecordRule(np.array([steps for steps, _, _ in chosen], dtype=np.int16))
    risk, utility = mean_of(node[1] for node in chosen), mean_of(node[2] for node in chosen)
    found = computed(
        OPTIMUM_EXPLANATION, asked(instance, rule), OptimumParameters(objective, threshold, "average")
    )
    kept = [
        (r, u)
        for r, u in every
        if objective == "lagrangian"
        or (u >= threshold - CLOSE if objective == "min_risk" else r <= threshold + CLOSE)
    ]
    best = min((value(objective, threshold, r, u) for r, u in kept), default=None)
    own = value(objective, threshold, risk, utility)
    if not found.proven:
        assert found.optimum is None or best is not None
        return
    if best is None:
        assert found.optimum is None
    else:
        assert found.optimum == pytest.approx(-best if objective == "max_utility" else best, abs=1e-9)
        assert found.is_optimal == (found.is_feasible and own <= best + CLOSE)
    floor = threshold if objective == "min_risk" else utility

    def least(at_least):
        return min((r for r, u in every if u >= at_least - CLOSE), default=None)

    for said, expected in (
        (found.one_more_unit, rise(risk, least(floor + 1))),
        (found.one_unit_less, rise(least(floor - 1), risk)),
    ):
        assert said == (None if expected is None else pytest.approx(expected, abs=1e-9))
    assert found.records_bound is None


def mean_of(values):
    values = list(values)
    return math.fsum(values) / len(values)
