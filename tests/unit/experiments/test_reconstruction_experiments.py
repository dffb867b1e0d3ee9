"""The experiments on reconstruction: the stand-in census, exact tails of ratios, claims on small data."""

import itertools

import numpy as np
import pytest
from scipy import stats

from app.cli import program
from app.domain.mechanisms.balanced_samples import copies
from app.domain.mechanisms.query_pool import PoolQuestion, query_pool
from app.experiments import pooled_errors
from app.experiments.cells import Cells
from app.experiments.census import Census
from app.experiments.errors_of_samples import education
from app.experiments.noisy_ratios import binomial_interval, occupation
from app.experiments.noisy_ratios import education as education_ratios
from app.experiments.pooled_errors import KINDS, PooledErrors
from app.experiments.reconstruction_examples import run as examples_in_numbers
from app.experiments.reconstruction_grid import Setting
from app.experiments.report import Effort
from app.experiments.stand_in_census import EDUCATION, base_tables, stand_in, words_of_pool
from tests.oracles.reconstruction_by_hand import census
from tests.oracles.reconstruction_by_hand import words_of_pool as words_by_hand

SMALL = Effort(seeds=2, records=24, entities=80)


@pytest.mark.spec("RP-T12")
def test_the_stand_in_census_is_that_of_its_definition():
    own = stand_in(2000)
    assert (np.stack(own.columns, axis=1) - 1).tolist() == census(2000).tolist()
    people = stand_in(300_000)
    assert [int(column[-1]) - 1 for column in people.columns] == [9, 0, 1, 1, 0, 3, 40]
    first = np.bincount(people.columns[EDUCATION] - 1).tolist()
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


@pytest.mark.parametrize("chance", [0.02, 0.3, 0.47])
def test_the_interval_of_a_binomial_law_is_that_of_its_quantiles(chance):
    ends = [int(stats.binom.ppf(tail, 100, chance)) for tail in (0.5e-4, 1 - 0.5e-4)]
    assert list(binomial_interval(100, chance)) == ends


@pytest.mark.deep
def test_what_the_errors_of_copies_claim_holds_on_few_records():
    report = education(SMALL)
    assert [claim.text for claim in report.claims if claim.grade == "exact" and not claim.holds] == []
    (slight,) = [claim for claim in report.claims if "only slightly more" in claim.text]
    assert slight.grade == "qualitative"
    assert "times at the middle setting" in slight.evidence
    assert "balanced_fixed" in slight.evidence
    (drawn,) = [table for table in report.tables if "releases of the middle" in table.title]
    assert [row[0] for row in drawn.rows] == ["plain", "balanced", "balanced_fixed"]
    by_setting = [table for table in report.tables if table.title.startswith("Errors in 4 releases by ")]
    assert [len(table.rows) for table in by_setting] == [5, 5, 5, 5]
    assert by_setting[0].columns[:5] == ("p", "plain", "balanced", "balanced_fixed", "paper")
    # What is plain is the same whatever ε and δ are.
    for table in by_setting[1:3]:
        assert len({row[1] for row in table.rows}) == 1
    assert {picture.name for picture in report.pictures} >= {"r2-p", "r2-p-drawn", "r2-table-drawn"}


def crowded(values):
    """Records of four groups only, all of which are too large: samples of them are copied."""
    own = stand_in(5000)
    columns = [np.ones(5000, dtype=np.int32) for _ in own.columns]
    columns[0], columns[1] = 1 + own.columns[0] % 2, own.columns[1]
    columns[EDUCATION] = np.minimum(own.columns[EDUCATION], values)
    return Census(tuple(columns), (2, 2, values, 1, 1, 1, 1))


def test_releases_of_every_kind_tell_what_is_asked_where_nothing_is_changed_or_cut():
    own = PooledErrors(base_tables(Effort(census=crowded(5)), EDUCATION)[0], "R2", Cells())
    vars(own)["pool"] = query_pool(own.table, PoolQuestion(queries=100), words_of_pool())
    exact, cut = Setting(p=1 - 1e-9, epsilon=1e-4), Setting(p=1 - 1e-9, epsilon=0.9)
    assert own.drawn(exact, "plain", 0) == own.drawn(cut, "plain", 0)
    for kind in KINDS:
        assert own.drawn(exact, kind, 0) == pytest.approx((0, 0), abs=1e-8)
        assert own.drawn(cut, kind, 0)[0] < 1e-8 or kind != "plain"
    assert 0.01 < own.drawn(cut, "paper", 0)[0] < 0.2


SQUARES = "Their squares have the expected mean"


@pytest.mark.deep
def test_the_errors_of_groups_that_are_cut_are_those_expected(monkeypatch):
    def squares():
        report = education(Effort(seeds=1, census=crowded(5)))
        (found,) = [claim for claim in report.claims if claim.text.startswith(SQUARES)]
        return found, {row[0]: row[1:] for row in report.tables[-1].rows}

    right, rows = squares()
    assert (right.grade, right.holds) == ("exact", True)
    assert rows["balanced"][3] > 2 * rows["plain"][3]
    assert rows["balanced_fixed"][3] > rows["balanced"][3]
    for wrong in (np.ones_like, lambda often: often + often // 2, lambda often: often * 10**6):
        monkeypatch.setattr(
            pooled_errors,
            "copies",
            lambda owners, sizes, samples, bits, wrong=wrong: np.where(
                samples[owners] < sizes[owners], wrong(copies(owners, sizes, samples, bits)), 1
            ),
        )
        assert not squares()[0].holds


@pytest.mark.parametrize("experiment", ["R0", "R1", "R2", "R3", "R4", "R5", "R6"])
def test_an_extract_that_is_too_small_or_has_one_value_is_refused(tmp_path, capsys, experiment):
    head = "AGE,SEX,EDUC,MARST,RACE,CLASSWKR,OCC\n"
    for name, rows, fault in (
        ("tiny", [(30 + i, 1 + i % 2, 2 + i % 2, 1, 1, 1, i) for i in range(3)], "3 records"),
        (
            "constant",
            [(30 + i % 3, 1 + i % 2, 7, 1, 1, 1, 4) for i in range(600)],
            "have the same",
        ),
    ):
        (tmp_path / name).write_text(head + "\n".join(",".join(map(str, row)) for row in rows))
        asked = ["experiment", experiment, "--census", str(tmp_path / name), "--seeds", "1"]
        assert program.run(asked, None) != 0
        assert fault in capsys.readouterr().err


def test_the_examples_hold_and_say_what_they_come_to():
    report = examples_in_numbers(SMALL)
    assert [claim.text for claim in report.claims if claim.grade == "exact" and not claim.holds] == []
    (example,) = [claim for claim in report.claims if "5.15" in claim.text]
    assert "of 10,000 samples" in example.evidence


def test_the_readers_own_census_of_seven_attributes(tmp_path, capsys):
    rows = census(400) + 1
    text = "AGE,SEX,EDUC,MARST,RACE,CLASSWKR,OCC\n" + "\n".join(
        ",".join(map(str, row)) for row in rows.tolist()
    )
    (tmp_path / "own.csv").write_text(text)
    own = ["--census", str(tmp_path / "own.csv"), "--seeds", "1"]
    assert program.run(["experiment", "R1", "R3", *own], None) == 0
    assert "the reader's census, 240 records" in capsys.readouterr().out
    with pytest.raises(SystemExit, match="for X14 and B1 to B10, or for R0 to R6"):
        program.run(["experiment", "R1", "X14", *own], None)


def test_the_ratios_of_a_group_that_the_paper_highlights():
    report = occupation(SMALL)
    row = report.tables[0].rows[1]
    assert (row[0], row[1]) == (213, pytest.approx(100 / 213))
    assert row[2:6:2] == pytest.approx((0.092454, 0.078381), abs=1e-6)
    assert all(claim.holds for claim in report.claims)
    assert {claim.text.split(":")[0] for claim in report.claims} == {"Groups of the paper"}


def test_the_ratios_of_groups_of_the_data_are_claimed_about_too():
    report = education_ratios(Effort(seeds=1, census=crowded(5)))
    about = [claim for claim in report.claims if claim.text.startswith("Groups of the data")]
    assert [claim.holds for claim in about if claim.grade == "exact"] == [True, True]
