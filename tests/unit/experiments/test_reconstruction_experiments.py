"""The experiments on reconstruction: the stand-in census, exact tails of ratios, claims on small data."""

import itertools

import numpy as np
import pytest
from scipy import stats

from app.cli import program
from app.experiments.errors_of_samples import education
from app.experiments.noisy_ratios import binomial_interval, ratio_tails
from app.experiments.report import Effort
from app.experiments.stand_in_census import EDUCATION, base_tables, stand_in, words_of_pool
from tests.oracles.reconstruction_by_hand import census
from tests.oracles.reconstruction_by_hand import words_of_pool as words_by_hand

SMALL = Effort(seeds=2, records=24, entities=80)

# n, k, and both tails at (0.1, 0.2), (0.1, 0.3), (0.05, 0.2), (0.05, 0.3).
RATIOS = [
    (89, 77, 0.193634, 0.156140, 0.118732, 0.072059, 0.317827, 0.299011, 0.254501, 0.211526),
    (74, 57, 0.243206, 0.209979, 0.167589, 0.119209, 0.346412, 0.346410, 0.291655, 0.269725),
    (138, 105, 0.116848, 0.087924, 0.054413, 0.029377, 0.257908, 0.226020, 0.183368, 0.134705),
    (104, 79, 0.174911, 0.141559, 0.100947, 0.062895, 0.306483, 0.282728, 0.239477, 0.194634),
    (104, 78, 0.176336, 0.143295, 0.102151, 0.064299, 0.307593, 0.284204, 0.240755, 0.196466),
    (77, 57, 0.239578, 0.207113, 0.163561, 0.117085, 0.345616, 0.342598, 0.290000, 0.265683),
    (102, 73, 0.185737, 0.153726, 0.110420, 0.072611, 0.314531, 0.293325, 0.249021, 0.207483),
]


@pytest.mark.spec("RP-T12")
def test_the_stand_in_census_is_that_of_its_definition():
    own = stand_in(2000)
    assert (np.stack(own.columns, axis=1) - 1).tolist() == census(2000).tolist()
    first = np.bincount(stand_in(300_000).columns[EDUCATION] - 1).tolist()
    assert first == [
        90493,
        59884,
        41716,
        30050,
        21018,
        14971,
        11879,
        9010,
        5929,
        2987,
        3008,
        2989,
        2989,
        3077,
    ]
    for ours, theirs, _ in zip(words_of_pool(), words_by_hand(), range(20_000), strict=False):
        assert ours == theirs


def test_tables_are_nested_fifths():
    tables = base_tables(SMALL, EDUCATION)
    assert [own.n_records for own in tables] == [2000, 4000, 6000, 8000, 10000]
    for before, after in itertools.pairwise(tables):
        assert (before.counts.totals <= after.counts.totals).all()


@pytest.mark.spec("RP-T11")
@pytest.mark.parametrize("row", RATIOS)
def test_tails_of_ratios_of_noisy_counts(row):
    n, k, *tails = row
    found = [
        tail for own in (0.1, 0.05) for epsilon in (0.2, 0.3) for tail in ratio_tails(n, k, 1 / own, epsilon)
    ]
    assert found == pytest.approx(tails, abs=1e-6)


def test_the_tails_of_a_ratio_near_one_are_continuous():
    near = ratio_tails(120, 100, 10.0, 0.2), ratio_tails(120, 100, 10.0, 0.2 + 1e-7)
    assert near[0] == pytest.approx(near[1], abs=1e-6)


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.47])
def test_the_interval_of_a_binomial_law_is_that_of_its_quantiles(chance):
    ends = [int(stats.binom.ppf(tail, 100, chance)) for tail in (0.5e-4, 1 - 0.5e-4)]
    assert list(binomial_interval(100, chance)) == ends


def test_what_the_errors_of_copies_claim_holds_on_few_records():
    report = education(SMALL)
    assert [claim.text for claim in report.claims if claim.grade == "exact" and not claim.holds] == []
    (slight,) = [claim for claim in report.claims if "only slightly more" in claim.text]
    assert slight.grade == "qualitative"
    assert "times at the middle setting" in slight.evidence
    (drawn,) = [table for table in report.tables if "releases of the middle" in table.title]
    assert [row[0] for row in drawn.rows] == ["plain", "balanced", "balanced_fixed"]


def test_the_readers_own_census_of_seven_attributes(tmp_path, capsys):
    rows = census(400) + 1
    text = "AGE,SEX,EDUC,MARST,RACE,CLASSWKR,OCC\n" + "\n".join(
        ",".join(map(str, row)) for row in rows.tolist()
    )
    (tmp_path / "own.csv").write_text(text)
    own = ["--census", str(tmp_path / "own.csv"), "--seeds", "1"]
    assert program.run(["experiment", "R1", "R3", *own], None) == 0
    assert "the reader's census, 240 records" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="for X14 alone, or for R0 to R6"):
        program.run(["experiment", "R1", "X14", *own], None)
