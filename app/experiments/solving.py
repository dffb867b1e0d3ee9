"""Searches carried out at once, as the experiments need them."""

from __future__ import annotations

import numpy as np

from app.domain.assessment import Assessment, assess
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.harm.sensitivity import Family, Sensitivity
from app.domain.harm.weights import Floats
from app.domain.rules.rule import RecordRule, Rule, TableRule
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.context import SearchContext
from app.domain.search.outcome import Outcome
from app.domain.search.plans import carry_out, plan
from app.domain.search.problem import Problem, Scope
from app.domain.search.solvers import AUTO, Solver
from app.domain.tables import Table
from app.domain.utility import build_utility
from app.experiments.synthetic import Synthetic


def context_of(data: Synthetic, records: int, dictionary: Dictionary, family: Family) -> SearchContext:
    """The first records against a dictionary, depth-sum utility."""
    table = data.table(records)
    return SearchContext(table, dictionary, data.sensitivity(table, family), build_utility(table))


def solve(
    context: SearchContext, problem: Problem, solver: Solver = AUTO, budget: Budget = UNLIMITED
) -> Outcome:
    """The outcome of a search, every block in this process."""
    return carry_out(plan(context, problem, solver, budget))


def counters_of(outcome: Outcome) -> dict[str, int]:
    """How much a search did, by kind of work."""
    counters = outcome.counters
    return {
        "visited_nodes": counters.visited_nodes,
        "risk_evaluations": counters.risk_evaluations,
        "utility_evaluations": counters.utility_evaluations,
    }


def least_risk(context: SearchContext, floor: float, scope: Scope = "record_level") -> float:
    """Least mean risk at a utility of at least ``floor`` (record-level: of every record)."""
    risk = solve(context, Problem("min_risk", floor, scope)).risk
    if risk is None:
        raise ValueError(f"no rule has utility {floor}")
    return risk


def score(table: Table, rule: Rule, dictionary: Dictionary, sensitivity: Sensitivity) -> Assessment:
    """The score of one rule under depth-sum utility."""
    return assess(table, rule, dictionary, sensitivity, build_utility(table))


def random_table_rule(table: Table, rng: np.random.Generator) -> TableRule:
    """A level per attribute, each uniform over its levels."""
    return TableRule(tuple(int(rng.integers(height + 1)) for height in table.heights))


def random_record_rule(table: Table, rng: np.random.Generator, rate: float | None = None) -> RecordRule:
    """Steps per record and attribute: uniform, or so many successes of ``rate`` among the height."""
    shape = (table.n_records, table.n_attributes)
    heights = np.array(table.heights)
    steps = rng.integers(heights + 1, size=shape) if rate is None else rng.binomial(heights, rate, size=shape)
    return RecordRule(np.asfortranarray(steps, dtype=np.int16))


def never_falls(values: Floats, tolerance: float = 1e-9) -> bool:
    """Whether a sequence, along the last axis, is non-decreasing but for rounding."""
    return bool((np.diff(values, axis=-1) >= -tolerance * np.maximum(1.0, np.abs(values[..., 1:]))).all())
