"""The page about very large registers: its figures follow from what was measured, and by its own law."""

from __future__ import annotations

import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.scale_plan import (
    BIN,
    COLUMNS,
    CORES,
    DOCS,
    MEASURED,
    TABLES,
    Costs,
    cells,
    expected,
    reduction,
    sealed_pieces,
    shares,
    written,
)

KEPT = json.loads(MEASURED.read_text())
ROWS = 3_000


def test_page_and_pictures_are_what_the_measurements_give():
    for path, text in written(KEPT).items():
        assert path.read_text(encoding="utf-8") == text, "Write it anew by python -m tests.scale_plan."
        assert path.suffix == ".md" or f"](scale/{path.name})" in (DOCS / "scale.md").read_text()


@pytest.mark.parametrize("columns", TABLES)
def test_the_cells_are_all_of_them_and_their_probabilities_sum_to_one(columns):
    probability, number = cells(columns)
    assert number.sum() == pytest.approx(math.prod(size for _, size, _ in COLUMNS[:columns]), rel=1e-9)
    assert (probability * number).sum() == pytest.approx(1, rel=math.expm1(columns * BIN / 2))


def test_the_expected_combinations_are_those_of_the_law(monkeypatch):
    """Of two columns whose cells can be gone through one by one."""
    exact = np.outer(shares(100, 0.3), shares(2, 0.0)).ravel()
    for rows in (1, 50, 2_000):
        by_hand = float((1 - (1 - exact) ** rows).sum())
        assert expected(2, rows) == pytest.approx(by_hand, rel=math.expm1(2 * BIN / 2))


def test_what_was_measured_is_what_was_to_be_expected():
    """The number of distinct draws has a variance below its mean: five deviations, and the bins' error."""
    for found in KEPT["reductions"]:
        mean = expected(found["columns"], found["rows"])
        error = math.expm1(found["columns"] * BIN / 2) * mean
        assert abs(found["combinations"] - mean) <= 5 * math.sqrt(mean) + error


@pytest.mark.parametrize("columns", TABLES)
def test_the_reduction_that_is_measured_counts_as_a_loop_does(monkeypatch, columns):
    monkeypatch.setattr("tests.scale_plan.PIECE_ROWS", ROWS // 7)
    key = AESGCM(AESGCM.generate_key(256))
    pieces = list(sealed_pieces(ROWS, key))
    assert len(pieces) == 8
    rows = []
    for piece in pieces:
        table = pq.read_table(pa.BufferReader(key.decrypt(piece[:12], piece[12:], None)))
        rows += zip(*(column.to_pylist() for column in table.columns[:columns]), strict=True)
    assert len(rows) == ROWS
    assert reduction(pieces, key, columns)["combinations"] == len(set(rows))


def test_the_plan_adds_up_to_the_work_of_one_core():
    """One core has no tree above it, and of what several do nothing is done twice."""
    costs = Costs.of(KEPT, TABLES[0])
    assert list(costs.tree(10**8, 1)) == []
    assert costs.by_tree(10**8, 1) == costs.folding(10**8)
    assert costs.by_key(10**8, CORES) < costs.by_tree(10**8, CORES) < costs.folding(10**8)
    (seconds, moved), *_ = costs.tree(10**8, 2)
    part = expected(TABLES[0], 5 * 10**7)
    assert seconds == pytest.approx(2 * costs.merge_seconds * part)
    assert moved == pytest.approx(16 * part)
