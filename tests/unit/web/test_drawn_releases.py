"""What the page of a drawn release computes of the published matrix, against the matrix written out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from app.web.drawn_releases import MOST_BARS, MOST_READ, Matrix, _counts, _released, drawn_facts, report_facts

PRIOR = np.array([0.5, 0.3, 0.15, 0.05])
ALPHA = np.array([0.6, 0.4, 0.3, 0.2])
DENSE = np.diag(ALPHA) + (1 - ALPHA) / 4


def published(**other):
    return {
        "kind": "perturbation",
        "attribute": "illness",
        "values": ["flu", "asthma", "gout", "measles"],
        "prior": PRIOR.tolist(),
        "retention": ALPHA.tolist(),
        "elsewhere": ((1 - ALPHA) / 4).tolist(),
        **other,
    }


def release(**other):
    asked = {"beta": 2, "mode": "safe", "reference": None}
    mechanism = {"family": "perturb", "parameters": asked, "published": published()}
    return {"rows": 1000, "mechanism": {**mechanism, **other}}


def test_the_matrix_is_that_which_is_published():
    matrix = Matrix.of(published())
    assert np.array(matrix.entries()) == pytest.approx(DENSE)
    assert matrix.expected(PRIOR) == pytest.approx((DENSE @ PRIOR).tolist())
    assert matrix.kept == pytest.approx(np.diag(DENSE).tolist())


@pytest.mark.parametrize("value", range(4))
def test_the_error_of_a_count_is_that_of_estimates_of_many_draws(value):
    """The variance over draws of the estimate, written out for each record: a multinomial of its column."""
    weights = np.linalg.inv(DENSE)[value]
    per_value = (DENSE * weights[:, None] ** 2).sum(axis=0) - (weights @ DENSE) ** 2
    assert Matrix.of(published()).deviation(value, PRIOR) == pytest.approx(np.sqrt(PRIOR @ per_value))


def test_what_is_published_otherwise_has_no_matrix():
    assert Matrix.of(None) is None
    assert Matrix.of({"kind": "other", "retention": 0.3}) is None
    told = report_facts(release(published={"kind": "other", "retention": 0.3}))
    assert (told["drawn_values"], told["errors"], told["values"]) == ([], None, 0)


def uniform(**other):
    return {
        "kind": "uniform_perturbation",
        "attribute": "illness",
        "values": ["flu", "gout", "ague"],
        "p": 0.4,
    } | other


def test_a_matrix_that_treats_all_values_alike_is_told_without_frequencies():
    matrix = Matrix.of(uniform())
    assert np.array(matrix.entries()) == pytest.approx(np.full((3, 3), 0.2) + 0.4 * np.eye(3))
    told = report_facts(release(published=uniform()))
    assert told["drawn_values"][0] == {
        "name": "flu",
        "kept": pytest.approx(0.6),
        "elsewhere": pytest.approx(0.2),
    }
    assert not told["prior_is_known"]
    assert Matrix.of(uniform(values=None)) is None


def test_its_errors_are_those_of_round_shares_whatever_the_other_values_are():
    errors = report_facts(release(published=uniform()))["errors"]
    for name, share, at in zip(errors["names"], (0.5, 0.01), range(2), strict=True):
        variance = (share * 0.6 * 0.4 + (1 - share) * 0.2 * 0.8) / 0.4**2
        assert errors["rows"][1]["shares"][at] == pytest.approx(np.sqrt(variance / 100)), name


def test_of_values_published_in_copies_no_error_is_told():
    told = report_facts(release(published=uniform(mode="balanced"), family="sample"))
    assert told["errors"] is None
    assert len(told["drawn_values"]) == 3


def test_who_may_not_read_values_is_told_their_numbers():
    assert Matrix.of(published(values=None)).names == ("value 1", "value 2", "value 3", "value 4")
    assert Matrix.of(published(values=[None] * 4)).names[3] == "value 4"


def test_errors_are_told_of_the_most_and_the_least_frequent_value_and_fall_with_the_size():
    told = report_facts(release())
    assert told["asked"] == [("β", "2"), ("mode", "safe")]
    assert told["errors"]["names"] == ["most frequent: flu", "least frequent: measles"]
    assert [row["size"] for row in told["errors"]["rows"]] == [10, 100, 1000]
    first, second, _ = (row["shares"] for row in told["errors"]["rows"])
    assert np.array(first) == pytest.approx(np.sqrt(10) * np.array(second))


def test_what_is_expected_follows_from_the_counts_before_and_not_from_a_reference():
    matrix = Matrix.of(published(prior=[0.25] * 4))
    before = dict(zip(matrix.names, (500, 300, 150, 50), strict=True))
    told = list(_counts(matrix, before, None))
    assert [own["after"] for own in told] == np.rint(DENSE @ (1000 * PRIOR)).tolist()
    assert list(_counts(matrix, {"flu": 500}, None)) == []


class Quiet:
    """A visit of somebody who may not read data."""

    reads_data = False


@pytest.mark.anyio
async def test_of_many_values_those_that_stay_most_and_least_often_are_drawn():
    m = 100
    prior, retention = [1 / m] * m, [0.2 + 0.005 * i for i in range(m)]
    many = published(
        values=[f"v{i}" for i in range(m)],
        prior=prior,
        retention=retention,
        elsewhere=[(1 - own) / m for own in retention],
    )
    facts = await drawn_facts(Quiet(), {"dataset": "people", **release(published=many)})
    drawn = str(facts["matrix"])
    assert not facts["is_whole_matrix"]
    assert drawn.count('class="bar"') == MOST_BARS
    assert "<title>v99:" in drawn
    assert "<title>v50:" not in drawn
    assert facts["rows"] == []


def test_how_often_values_stay_is_computed_once_however_many_there_are():
    matrix = Matrix.of(published())
    assert matrix.kept is matrix.kept


class Reader:
    """A visit of somebody who may read data: a table in pieces, of which the first is the header alone."""

    reads_data = True

    def __init__(self, *pieces: str) -> None:
        self.client = SimpleNamespace(releases=SimpleNamespace(data=self._data))
        self._pieces = pieces
        self.read = 0

    async def _data(self, name):
        for piece in self._pieces:
            self.read += 1
            yield piece.encode()


def stored(rows):
    return {"name": "drawn", "rows": rows, "columns": ["town", "illness"], "neutralise_formulas": False}


@pytest.mark.anyio
async def test_the_first_rows_of_a_large_table_are_read_beyond_its_header():
    visit = Reader("town,illness\r\n", *["Rome,flu\r\n" * 600] * 100)
    rows, counts = await _released(visit, stored(MOST_READ + 1), "illness")
    assert rows == [["Rome", "flu"]] * 12
    assert counts is None
    assert visit.read == 3


@pytest.mark.anyio
async def test_all_rows_of_a_table_that_is_not_large_are_counted_by_value():
    visit = Reader("town,illness\r\n", "Rome,flu\r\n" * 20, '"Ba\nri",gout\r\n' * 3)
    rows, counts = await _released(visit, stored(23), "illness")
    assert len(rows) == 12
    assert counts == {"flu": 20, "gout": 3}
