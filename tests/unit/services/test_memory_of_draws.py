"""What is estimated that a private release takes, against what its draw and its labels have taken."""

from __future__ import annotations

import io
import os
import tracemalloc
from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.stability_histogram import STABILITY_HISTOGRAM, StabilityHistogram
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from app.services.datasets.arrow_arrays import text_array
from app.services.datasets.csv_text import csv_fields
from app.services.releases.bytes_written import Texts, bytes_of_writing
from app.services.releases.drawing import BYTES_OF_RELEASE, BYTES_PER_CELL, BYTES_PER_LINE
from app.services.releases.released_tables import drawn_lines
from tests.oracles.effort import examples


def taken(work: Callable[[], object]) -> int:
    """The most bytes that Python and numpy had at once; what Arrow itself takes beside them is little."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("level", [None, 1])
def test_records_that_all_differ_take_no_more_than_is_estimated_and_hardly_less(level: int | None):
    """Of many columns, which a draw holds several times; under a rule once more."""
    own, k, n = Hierarchy.from_rows([[f"v{at}", f"g{at // 2}"] for at in range(100)]), 40, 40_000
    codes = own.leaves[np.random.default_rng(1).integers(0, 100, (n, k))].astype(np.int32)
    names = tuple(f"c{j}" for j in range(k))
    rule = None if level is None else TableRule((level,) * k)
    of = MechanismContext(Table(names, (own,) * k, codes), rule, frozenset(names))
    asked = StabilityHistogram(epsilon=1.0, delta=1e-6, least_records=1000, rule_is_public=True)
    plan = STABILITY_HISTOGRAM.plan(of, asked)
    estimated = n * (plan.bytes_per_record + BYTES_PER_LINE + BYTES_PER_CELL * k)
    most = taken(lambda: STABILITY_HISTOGRAM.draw(of, asked, os.urandom))
    assert estimated / 1.5 < most < estimated + plan.bytes / 2


def written(trees: tuple[Hierarchy, ...], codes: np.ndarray) -> int:
    """The most bytes that Python, numpy and Arrow had while a table was written, or a little more."""
    names = tuple(f"c{j}" for j in range(len(trees)))
    table = Table(names, trees, np.asfortranarray(codes, dtype=np.int32))
    usual = pa.default_memory_pool()
    own = pa.proxy_memory_pool(usual)
    pa.set_memory_pool(own)
    try:

        def write() -> None:
            lines = drawn_lines(table, [table.codes[:, j] for j in range(len(trees))], bytes(32))
            parquet = io.BytesIO()
            parquet.writelines(lines.parquet_chunks({}))
            lines.csv_sha256(neutralise_formulas=True)

        return taken(write) + own.max_memory()
    finally:
        pa.set_memory_pool(usual)


SHAPES = ((1, 8), (4, 8), (1, 200), (4, 200))


@pytest.mark.parametrize(
    ("columns", "letters", "sign"),
    [
        pytest.param(*shape, sign, marks=[] if at == turn % len(SHAPES) else pytest.mark.deep)
        for turn, sign in enumerate(("a", "é", "漢", '"', "="))
        for at, shape in enumerate(SHAPES)
    ],
)
def test_labels_that_nobody_has_are_estimated_too(columns: int, letters: int, sign: str):
    """Of two records, of which each column could have any of 2,000 values, whatever these are written in."""
    trees = tuple(
        Hierarchy.from_parents({f"{sign * (letters - 5)}{column}{at:04}": [None] for at in range(2_000)})
        for column in range(columns)
    )
    estimated = bytes_of_writing([own.labels for own in trees], 2)
    assert estimated / 3 < written(trees, np.ones((2, columns))) < estimated + BYTES_OF_RELEASE / 16


def test_a_block_of_lines_with_long_labels_takes_no_more_than_is_estimated():
    """60 MB of texts, of which a block has been there three times."""
    tree = Hierarchy.from_parents({f"{at:0>1000}": [None] for at in range(20)})
    codes = 1 + np.random.default_rng(1).integers(0, 20, (3_000, 20))
    estimated = bytes_of_writing([tree.labels] * 20, 3_000)
    assert written((tree,) * 20, codes) < estimated + BYTES_OF_RELEASE < 120_000_000


@settings(max_examples=examples(200), deadline=None)
@given(st.lists(st.text('ab=+-@\t\r\n",é漢\0', max_size=5), min_size=1, max_size=5))
def test_texts_are_counted_as_they_are_and_never_too_few_as_fields(labels: list[str]):
    found = Texts.of(labels)
    columns = csv_fields([text_array(labels), text_array(["last"])], neutralise_formulas=True)
    fields = columns[0].to_pylist()
    sizes, of_fields = ([len(own.encode()) for own in texts] for texts in (labels, fields))
    assert (found.n, found.bytes, found.longest) == (len(labels), sum(sizes), max(sizes))
    assert found.longest_field >= max(of_fields)
    assert found.fields >= sum(of_fields) or (found.fields, fields) == (0, labels)
