"""The optima that another tool's tests expect of the Adult table, and the page that lists them."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.losses.loss import LossChoice
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.population_uniqueness import PopulationUniqueness, SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import TableRule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.unit.measures.populations_by_hand import context_of, measured
from tests.unit.search.least_loss_tables import read, solve

pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(
        not os.environ.get("PRIVACY_RISK_DATA"),
        reason="PRIVACY_RISK_DATA does not point at the public data sets",
    ),
]
PAGE = (Path(__file__).parents[3] / "docs" / "peers.md").read_text()
FIVE = KAnonymity(5)
DIVERSE = RecursiveLDiversity(4.0, 5, "occupation")
CLOSE = TCloseness(0.2, "hierarchical", "occupation")
ZAYATZ = PopulationUniqueness(1e-4, population=317_238_626, estimator="zayatz")


@pytest.fixture(scope="module")
def adult() -> Table:
    return read("arx-adult", "adult.csv", "adult_hierarchy_")


@pytest.fixture(scope="module")
def occupations(adult) -> Table:
    return replace(adult, sensitive=frozenset({"occupation"}))


def solve_by_rank(table, criteria, factor, *, weighted):
    """The answer, and what its losses are multiplied by where the greatest weight is 1."""
    named = {table.attributes[j]: j + 1.0 for j in table.quasi_identifiers} if weighted else {}
    choice = LossChoice("arithmetic", weights=named, aggregate="rank", suppression_factor=factor)
    found = solve(table, AnonymityProblem(criteria, 1.0, choice))
    return found, sum(named.values()) / len(named) / max(named.values()) if named else 1.0


@pytest.mark.spec("FM-6")
@pytest.mark.parametrize(
    ("criteria", "weighted", "factor", "levels", "losses"),
    [
        ((FIVE,), False, 0.5, "0,3,0,0,1,0,0,0", (0.297248193, 0.29678055, *[0.1297659306] * 6)),
        ((FIVE,), False, 0.33, "0,1,0,0,0,0,0,0", (0.2300344804, *[0.1976148796] * 7)),
        (
            (FIVE,), True, 0.5, "1,3,0,0,0,0,0,0",
            (0.1485312645, 0.1155243168, 0.1111111111, 0.099020843, 0.0825173692, 0.0693209902, 0.0660138953,
             0.0495104215),
        ),
        (
            (FIVE,), True, 0.33, "1,3,0,0,0,0,0,0",
            (0.1111111111, 0.0980306345, 0.0762460491, 0.0653537563, 0.0602524147, 0.0544614636, 0.0435691709,
             0.0326768782),
        ),
        (
            (FIVE,), True, 0.66, "1,3,0,0,1,0,0,0",
            (0.1217690499, 0.1045686625, 0.0813311819, 0.0697124417, 0.0628723859, 0.0491223261, 0.0464749611,
             0.0348562208),
        ),
        ((DIVERSE,), False, 0.33, "0,2,0,0,0,0,0,0", (0.3414163517, *[0.2755579868] * 7)),
        pytest.param(
            (DIVERSE,), True, 0.5, "1,4,0,0,1,0,0,0",
            (0.2222222222, 0.1935081424, 0.1844373715, 0.1434512889, 0.1229582477, 0.1111111111, 0.0819721651,
             0.0614791238),
            marks=pytest.mark.deep,
        ),
        (
            (DIVERSE,), True, 0.33, "1,3,0,0,1,0,0,0",
            (0.1758934101, 0.1484026258, 0.1154242645, 0.1111111111, 0.0989350839, 0.0692978902, 0.0659567226,
             0.0494675419),
        ),
        pytest.param(
            (FIVE, CLOSE), False, 0.33, "0,1,0,0,0,0,0,0", (0.6348915854, *[0.6195185995] * 7),
            marks=pytest.mark.deep,
        ),
        pytest.param(
            (FIVE, CLOSE), True, 0.33, "1,4,1,1,2,0,0,0",
            (0.3347921225, 0.3333333333, 0.3221498722, 0.2937121764, 0.2603938731, 0.2231947483, 0.2222222222,
             0.1111111111),
            marks=pytest.mark.deep,
        ),
    ],
)  # fmt: skip
def test_ranks_are_those_that_were_published(occupations, criteria, weighted, factor, levels, losses):
    found, scale = solve_by_rank(occupations, criteria, factor, weighted=weighted)
    assert found.status == "optimal"
    assert ",".join(str(found.rule.levels[j]) for j in occupations.quasi_identifiers) == levels
    told = sorted((scale * loss for _, loss in found.attribute_losses), reverse=True)
    assert told == pytest.approx(losses, abs=2e-10)
    weights = "1, 2, 3, …" if weighted else "equal"
    greatest = ", ".join(f"{loss:.9f}" for loss in told[:2])
    assert f"| {weights} | {factor:g} | {levels} | {greatest} |" in PAGE


def test_the_published_hierarchies_make_another_loss_of_country(occupations):
    """With a suppression factor of 0 an attribute's loss is that of its level."""
    choice = LossChoice("arithmetic", aggregate="rank", suppression_factor=0.0)
    found = solve(occupations, AnonymityProblem((DIVERSE,), 0.05, choice))
    assert found.rule.levels[occupations.position("native-country")] == 1
    country = dict(found.attribute_losses)["native-country"]
    assert abs(country - 0.271754194) > 1e-3
    assert f"loses 0.271754194 there and {country:.9f}" in PAGE


@pytest.mark.parametrize(
    ("criterion", "kind", "levels", "published"),
    [
        (SampleUniqueness(0.01), "geometric", (0, 3, 0, 0, 1, 1, 1, 1, 0), 0.1606952725863784),
        pytest.param(
            AverageRisk(0.01), "non_uniform_entropy", (1, 0, 1, 1, 3, 2, 2, 1, 1), 314_637.8461904862,
            marks=pytest.mark.deep,
        ),
    ],
    ids=lambda value: getattr(value, "kind", None),
)  # fmt: skip
def test_criteria_of_the_whole_table_have_the_published_levels(adult, criterion, kind, levels, published):
    found = solve(adult, AnonymityProblem((criterion,), 0.04, LossChoice(kind)))
    assert found.rule.levels == levels
    assert found.bounds.lower <= found.loss
    # What was published is worse, or below what any rule can lose by the definition used here.
    assert published > found.loss if kind == "geometric" else published < found.bounds.lower
    places, shown = (10, f"{published:.10f}") if kind == "geometric" else (1, f"{published:,.1f}")
    figures = f"{shown} | {found.loss:,.{places}f}, no other less than {found.bounds.lower:,.{places}f}"
    row = f"| `{kind}` | {','.join(map(str, levels))} | {figures} | {found.suppressed_records:,} |"
    assert f"| `{criterion.kind}` 0.01 {row}" in PAGE


def measured_zayatz(table, levels):
    """The loss and the suppressed records of a rule that suppresses for the estimate of Zayatz."""
    rule, gone = suppress_failing(
        table, TableRule(levels), ClassSuppression((ZAYATZ,), order="class_by_class")
    )
    return measured(INFORMATION_LOSS, context_of(table, rule)).geometric, int(gone.sum())


def test_uniqueness_by_zayatz_loses_less_than_was_published(adult):
    loss, gone = measured_zayatz(adult, (0, 3, 0, 0, 1, 1, 1, 1, 0))
    assert loss < 0.16078200456326086
    assert gone <= 0.04 * adult.n_records
    assert f"| 0,3,0,0,1,1,1,1,0 | 0.1607820046 | {loss:.10f} | {gone:,} |" in PAGE


@pytest.mark.deep
def test_no_rule_is_found_that_does_better_by_zayatz(adult):
    found = solve(adult, AnonymityProblem((ZAYATZ,), 0.04))
    loss, gone = measured_zayatz(adult, (0, 3, 0, 0, 1, 1, 1, 1, 0))
    assert (found.rule.levels, found.suppressed_records) == ((0, 3, 0, 0, 1, 1, 1, 1, 0), gone)
    assert found.loss == pytest.approx(loss, abs=1e-12)


UNEVEN = {"age": 3.0, "sex": 0.5, "race": 2.0}


@pytest.mark.parametrize(
    ("choice", "limit", "row"),
    [
        (LossChoice("geometric", weights=UNEVEN), 0.0, "none | {levels} | {loss:.12f}"),
        (LossChoice("geometric", weights=UNEVEN), 0.04, "4 % | {levels} | {loss:.12f}"),
        (LossChoice("arithmetic", aggregate="rank"), 0.0, "none | {levels} | greatest {loss:g}"),
        (LossChoice("arithmetic", aggregate="rank"), 0.04, "4 % | {levels} | greatest {loss:g}"),
        (LossChoice("arithmetic", suppression_factor=0.0), 0.04, "4 % | {levels} | {loss:.12f}"),
    ],
    ids=["weights", "weights, 4 %", "rank", "rank, 4 %", "suppression factor, 4 %"],
)
def test_weighed_optima_stand_on_the_page(adult, choice, limit, row):
    """That they are the optima is proved by trying every rule, in the tests of weighed losses."""
    found = solve(adult, AnonymityProblem((FIVE,), limit, choice))
    levels = ", ".join(map(str, found.rule.levels))
    assert found.status == "optimal"
    assert f"| {row.format(levels=levels, loss=found.loss)} |" in PAGE
