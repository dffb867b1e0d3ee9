"""The case study as X4 to X7 take it: the paper's record, both ways of X5, and the sample of X6."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.rules.rule import TableRule
from app.experiments import branch_and_bound, random_releases, thresholds
from app.experiments.case_study import ENTITIES, MEMBERS, case_study
from app.experiments.catalogue import chosen
from app.experiments.report import Effort
from app.experiments.solving import context_at, least_risk, score

SMALL = Effort(seeds=1, records=120, entities=400, case_study=True)


def test_the_size_is_the_published_one() -> None:
    assert (MEMBERS, ENTITIES) == (5_667_004, 9_857_623)


@pytest.mark.parametrize("size", [(1, 7), (120, 400), (400, 400)])
def test_the_record_of_the_paper_has_its_numbers_at_any_size(size: tuple[int, int]) -> None:
    context = case_study(0, *size)
    assert context.table.heights == (4, 2, 3, 4)
    assert (context.table.n_records, context.dictionary.n_entities) == size
    found = score(context.table, TableRule((0, 0, 0, 0)), context.dictionary, context.sensitivity).records
    assert found.counts[0] == 7
    assert found.phi[0] == pytest.approx(np.exp(1.95))
    assert found.utility[0] == 13
    assert found.counts.min() >= 1


def test_one_walk_over_all_rules_answers_what_searches_do() -> None:
    context = context_at(0, SMALL)
    least, most = thresholds._scored(context)
    searched_least, searched_most = thresholds._searched(context)
    for floor in (0.0, 4.0, 9.0, 13.0):
        risk = searched_least(floor)
        assert least(floor) == pytest.approx(risk, rel=1e-12)
        assert most(least(floor)) == searched_most(risk)


@pytest.mark.parametrize("name", ["X4", "X5", "X7"])
def test_exact_claims_hold_of_the_case_study(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(random_releases, "RULES_OF_MILLIONS", 3)
    (experiment,) = chosen((name,))
    report = experiment.run(SMALL)
    assert [claim for claim in report.claims if claim.grade == "exact"]
    assert report.holds
    if name == "X7":
        assert {row[1] for row in report.tables[0].rows} == {"city", "race", "birth_date", "income"}


@pytest.mark.deep
def test_a_sample_of_the_members_estimates_their_least_risk_within_five_of_its_standard_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A normal estimate is off by five standard errors once in 1.7 million; seeds are fixed."""
    monkeypatch.setattr(branch_and_bound, "SAMPLED", 60)
    rows = branch_and_bound._compare(0, SMALL)
    context = context_at(0, SMALL)
    for row in rows:
        assert abs(row.risks[0] - least_risk(context, row.floor)) <= 5 * row.standard_error + 1e-12
    assert rows[-1].standard_error > 0
    report = branch_and_bound.run(SMALL)
    assert report.holds
    assert "60 are drawn at random" in report.setting
    assert "standard error of at most" in report.setting
