"""Searches carried out at once, as the experiments need them: of tables, and of single lattices, timed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.risk.assessment import Assessment, assess
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import RecordRule, Rule, TableRule
from app.domain.search.blocks import carry_out
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.context import SearchContext
from app.domain.search.lattices.branch_and_bound import Found, Lattice
from app.domain.search.lattices.search import LatticeSolver, search_lattice
from app.domain.search.objectives import MinRisk
from app.domain.search.outcome import Outcome
from app.domain.search.plans import plan
from app.domain.search.problem import Problem, Scope
from app.domain.search.solvers import AUTO, Solver
from app.domain.sensitivity.sensitivity import Family, Sensitivity
from app.domain.tables.numbers import tie_margin
from app.domain.tables.table import Table
from app.experiments.case_study import case_study
from app.experiments.report import Effort
from app.experiments.synthetic import Synthetic, generate


def context_of(data: Synthetic, records: int, dictionary: Dictionary, family: Family) -> SearchContext:
    """The first records against a dictionary, depth-sum utility."""
    table = data.table(records)
    return SearchContext(table, dictionary, data.sensitivity(table, family), build_utility(table))


def context_at(seed: int, effort: Effort) -> SearchContext:
    """The first records of a seed's data against all entities, or members of the case study."""
    if effort.case_study:
        return case_study(seed, effort.records, effort.entities)
    data = generate(seed, effort.entities)
    return context_of(data, effort.records, data.dictionary(0, effort.entities), "linear_personal")


def solve(
    context: SearchContext, problem: Problem, solver: Solver = AUTO, budget: Budget = UNLIMITED
) -> Outcome:
    """The outcome of a search, every block in this process."""
    return carry_out(plan(context, problem, solver, budget))


def least_risk(context: SearchContext, floor: float, scope: Scope = "record_level") -> float:
    """Least mean risk at a utility of at least ``floor`` (record-level: of every record)."""
    risk = solve(context, Problem(MinRisk(floor), scope)).risk
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


@dataclass(frozen=True)
class Searched:
    """What one search found, and the processor seconds it took."""

    found: Found
    seconds: float

    @property
    def risk(self) -> float:
        """Mean risk of the rule found."""
        return self.found.risk


def search(lattice: Lattice, floor: float, solver: LatticeSolver) -> Searched:
    """The least risk at a utility of at least ``floor``."""
    start = time.process_time()
    found = search_lattice(lattice, Problem(MinRisk(floor), "record_level"), solver)
    return Searched(found, time.process_time() - start)


def agree(risks: tuple[float, ...]) -> bool:
    """Whether exact searches found the same least risk, but for rounding."""
    return max(risks) - min(risks) <= tie_margin(min(risks))
