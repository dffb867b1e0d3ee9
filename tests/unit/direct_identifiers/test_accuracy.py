"""Each kind is found where it is and nowhere else: precision at least 0.98, recall at least 0.95."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from app.domain.direct_identifiers.recognition import RECOGNISERS
from tests.unit.direct_identifiers.accuracy import accuracy, found_in, table
from tests.unit.direct_identifiers.columns import columns

LEAST_PRECISION, LEAST_RECALL = 0.98, 0.95


@pytest.fixture(scope="module")
def found():
    return {column: found_in(column.cells) for column in columns()}


@pytest.mark.deep
def test_every_kind_is_told_from_its_look_alikes(found):
    measured = accuracy(found)
    assert set(measured) == {own.kind for own in RECOGNISERS}
    for kind, own in measured.items():
        assert own.columns >= 2, kind
        for tally in (own.by_cell, own.by_column):
            assert tally.precision >= LEAST_PRECISION, (kind, tally)
            assert tally.recall >= LEAST_RECALL, (kind, tally)


@pytest.mark.deep
def test_the_page_reports_what_was_measured(found):
    page = (Path(__file__).parents[3] / "docs" / "measures.md").read_text(encoding="utf-8")
    assert "\n".join(table(accuracy(found))) in page
    look_alikes = sum(column.kind is None for column in found)
    assert f"{len(found) - look_alikes} columns" in page
    assert f"{look_alikes} columns that only look" in page


@pytest.mark.deep
def test_no_answer_holds_a_cell(found):
    for column, findings in found.items():
        shown = repr(findings)
        assert not any(len(cell) > 8 and cell in shown for cell in column.cells), column.name


@pytest.mark.deep
def test_a_column_half_of_which_is_of_a_kind_is_told_by_half():
    cells = {own.name: own.cells for own in columns()}
    numbers = [*cells["national numbers sv_SE"], *cells["postcodes"]]
    (finding,) = found_in(numbers)
    assert (finding.kind, finding.share) == ("national_number", 0.5)


@pytest.mark.deep
def test_a_check_digit_that_one_number_in_ten_has_is_no_evidence():
    """As many valid numbers among random ones as chance gives, and all of eight: both are nothing."""
    valid = next(own.cells for own in columns() if own.name == "national numbers en_CA")
    rng = np.random.default_rng(3)
    numbers = [str(number) for number in rng.integers(10**8, 10**9, 3_000)]
    assert found_in(numbers) == ()
    assert found_in(sorted(set(valid))[:8]) == ()
    assert found_in(sorted(set(valid))[:10])[0].is_direct_identifier
