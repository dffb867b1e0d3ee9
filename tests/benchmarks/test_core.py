"""The core's bars on real data; the rows are those that ``benchmark`` prints."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from app.domain.search.objectives import Lagrangian, MinRisk
from app.domain.search.problem import Problem
from app.domain.search.solvers import BranchAndBound
from tests.benchmarks import core

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]


@pytest.fixture(scope="module")
def adult():
    return core.Adult(Path(DATA))


@pytest.fixture(scope="module")
def four_attributes():
    return core.Adult(Path(DATA), core.RECORD_LEVEL_ATTRIBUTES)


def show(row, capsys):
    with capsys.disabled():
        print(
            f"\n{row.work}: {row.ours_seconds:.4f} s, baseline {row.baseline_seconds:.4f} s, "
            f"ratio {row.ratio:.1f}, peak {row.peak_bytes / 2**20:.0f} MiB ({row.bar}; {row.detail})"
        )
    assert row.same_result


def test_scoring_one_rule_gives_what_pandas_gives(adult, capsys, benchmark):
    rules = iter(adult.some_rules(2000))
    benchmark.pedantic(lambda: adult.assess(next(rules)), rounds=30, iterations=1)
    show(core.score_one_rule(adult), capsys)


def test_scoring_all_rules_gives_what_pandas_gives(adult, capsys, benchmark):
    problem = Problem(Lagrangian(0.0))
    benchmark.pedantic(lambda: core.solve(adult.context, problem), rounds=3)
    show(core.score_all_rules(adult), capsys)


def test_branch_and_bound_finds_the_enumerated_rule_with_half_the_evaluations(adult, capsys, benchmark):
    problem = Problem(MinRisk(8.0))
    benchmark.pedantic(lambda: core.solve(adult.context, problem, BranchAndBound()), rounds=1)
    show(core.branch_and_bound(adult), capsys)


def test_record_level_optima_are_those_of_pandas(four_attributes, capsys, benchmark):
    problem = Problem(MinRisk(4.0), "record_level")
    benchmark.pedantic(lambda: core.solve(four_attributes.context, problem), rounds=5)
    show(core.optimise_records(four_attributes), capsys)
