"""The papers' experiments: their exact claims hold, and a claim that fails is told."""

import itertools
import json
from dataclasses import replace

import numpy as np
import pytest

from app.cli import program
from app.experiments import catalogue
from app.experiments.catalogue import EXPERIMENTS, chosen
from app.experiments.report import Effort, Experiment
from app.experiments.solving import never_falls

SMALL = Effort(seeds=2, records=24, entities=240)


class Reports(dict):
    """Id of an experiment → its report, made when a test first asks for it."""

    def __missing__(self, name):
        (experiment,) = chosen((name,))
        self[name] = experiment.run(SMALL)
        return self[name]


@pytest.fixture(scope="module")
def reports():
    return Reports()


@pytest.mark.deep
@pytest.mark.spec(*(experiment.id for experiment in EXPERIMENTS))
@pytest.mark.parametrize("name", [experiment.id for experiment in EXPERIMENTS])
def test_every_exact_claim_holds(reports, name):
    report = reports[name]
    failed = [claim.text for claim in report.claims if claim.grade == "exact" and not claim.holds]
    assert failed == []
    assert report.claims
    assert report.tables[0].rows
    json.dumps(report.to_document(), allow_nan=False)


@pytest.mark.deep
@pytest.mark.spec("E-45")
def test_multiplicative_harm_is_above_additive_harm_because_it_is_another_number(reports):
    rows = reports["X1"].tables[0].rows
    assert all(multiplicative > additive for _, additive, multiplicative in rows)


@pytest.mark.deep
@pytest.mark.spec("E-46")
def test_a_dictionary_without_the_records_gives_less_risk_than_one_that_holds_them(reports):
    rows = reports["X1"].tables[1].rows
    assert all(strangers <= holding for _, holding, strangers in rows)


@pytest.mark.deep
def test_the_correlation_of_random_releases_is_that_of_their_points(reports):
    report = reports["X4"]
    (_, told), *_ = report.tables[0].rows
    cloud = report.pictures[0].series[0]
    x, y = np.array(cloud.x), np.array(cloud.y)
    by_hand = ((x - x.mean()) * (y - y.mean())).mean() / (x.std() * y.std())
    assert told == pytest.approx(by_hand)


@pytest.mark.deep
@pytest.mark.spec("E-47")
def test_the_gap_to_k_anonymity_is_reported_and_need_not_grow(reports):
    report = reports["X2"]
    (claim,) = [claim for claim in report.claims if "gap to k-anonymity" in claim.text]
    assert claim.grade == "qualitative"
    gaps = [risk - least for _, risk, _, least in report.tables[0].rows]
    assert claim.holds == all(b >= a for a, b in itertools.pairwise(gaps))


@pytest.mark.deep
def test_truncated_search_is_told_with_its_excess(reports):
    rows = reports["X6"].tables[0].rows
    assert all(cut >= best - 1e-9 for _, best, _, cut, *_ in rows)
    assert any(cut > best for _, best, _, cut, *_ in rows)


@pytest.mark.deep
@pytest.mark.spec("E-27")
def test_the_published_lattice_of_seventy_attributes_is_too_large_to_enumerate(reports):
    (claim,) = [claim for claim in reports["X8"].claims if "cannot be enumerated" in claim.text]
    assert "1.4e+42 nodes" in claim.evidence
    assert "e+40 of them on the middle frontier" in claim.evidence


@pytest.mark.deep
@pytest.mark.spec("E-28")
def test_that_aruba_is_ahead_everywhere_is_reported_as_it_is_found(reports):
    """The frontier sizes are those of the specification; the claim follows the table beside it."""
    counted = [claim for claim in reports["X9"].claims if "frontier nodes alone" in claim.text]
    assert "35, 155, 35 at floors 3, 8, 12" in counted[0].evidence
    (against,) = [claim for claim in reports["X9"].claims if "no law that" in claim.text]
    assert "top-down visits 19 nodes, the frontier alone has 30" in against.evidence
    (fewer,) = [
        claim for claim in reports["X9"].claims if "fewer nodes than top-down search in every" in claim.text
    ]
    rows = [row for table in reports["X9"].tables for row in table.rows]
    assert fewer.grade == "qualitative"
    assert fewer.holds == all(row[9] < row[1] for row in rows)


@pytest.mark.deep
@pytest.mark.spec("E-44")
def test_the_risk_of_the_aggregate_objective_is_told_as_a_ratio(reports):
    (claim,) = [claim for claim in reports["X13"].claims if "are comparable" in claim.text]
    ratios = [row[2] / row[5] for row in reports["X13"].tables[0].rows if row[5] > 0]
    assert claim.grade == "qualitative"
    assert claim.holds == all(ratio <= 2 for ratio in ratios)
    assert [float(word) for word in claim.evidence.split(": ")[1].split()] == pytest.approx(ratios, rel=0.01)


@pytest.mark.deep
@pytest.mark.spec("INV-21")
def test_genetic_search_is_not_below_the_optimum_and_its_excess_is_told(reports):
    (claim,) = [claim for claim in reports["X12"].claims if "above ARUBA" in claim.text]
    assert claim.grade == "qualitative"
    rows = reports["X12"].tables[0].rows
    assert all(genetic >= aruba - 1e-12 for _, genetic, aruba, _ in rows)
    assert claim.holds == all(excess <= 0.07 for *_, excess in rows)


def test_a_fall_is_a_fall_and_rounding_is_none():
    assert never_falls(np.array([0.0, 0.0, 1.0, 1.0 - 1e-12]))
    assert not never_falls(np.array([[0.0, 1.0], [1.0, 0.999]]))


def test_names_choose_in_the_order_of_the_catalogue():
    assert [e.id for e in chosen(("x5", "X1"))] == ["X1", "X5"]
    assert chosen(("X1", "all")) == EXPERIMENTS


SMALL_RUN = ["--seeds", "1", "--records", "10", "--entities", "40"]


def test_the_command_prints_one_json_object_and_draws(capsys, tmp_path):
    assert program.run(["experiment", "X7", *SMALL_RUN, "--json", "--output", str(tmp_path)], None) == 0
    report = json.loads(capsys.readouterr().out)
    assert [e["id"] for e in report["experiments"]] == ["X7"]
    assert all(claim["holds"] for claim in report["experiments"][0]["claims"] if claim["grade"] == "exact")
    assert (tmp_path / "x7-steps.svg").read_text().startswith("<svg")
    assert json.loads((tmp_path / "x7.json").read_text()) == report["experiments"][0]


@pytest.mark.deep
def test_a_failed_exact_claim_makes_status_1_and_is_told(capsys, monkeypatch):
    def failing(effort):
        report = EXPERIMENTS[-1].run(effort)
        return replace(report, claims=tuple(replace(claim, holds=False) for claim in report.claims))

    monkeypatch.setattr(catalogue, "EXPERIMENTS", (Experiment("X7", failing, 1, "", ""),))
    assert program.run(["experiment", "all", *SMALL_RUN], None) == 1
    assert "[exact, FAILS]" in capsys.readouterr().out


def test_an_unknown_experiment_is_refused_with_the_known_ones(capsys):
    assert program.run(["experiment", "X99"], None) == 1
    assert "X99" in capsys.readouterr().err


@pytest.mark.deep
def test_that_perturbation_is_always_better_is_told_as_it_is_found(reports):
    (claim,) = [claim for claim in reports["X14"].claims if "frequencies alone" in claim.text]
    points = [row for table in reports["X14"].tables for row in table.rows]
    better = sum(perturbed < baseline for _, perturbed, baseline in points)
    assert claim.grade == "qualitative"
    assert (claim.holds, claim.evidence) == (better == 20, f"at {better} of 20 points")
