"""A column of many parts is the column of one."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.datasets import text_columns
from app.services.datasets.text_columns import columns_of

CELLS = st.lists(st.none() | st.sampled_from("abcde"), max_size=7)


@given(st.lists(st.tuples(CELLS, st.integers(0, 3)), min_size=1, max_size=8), st.integers(1, 12))
def test_cells_and_texts_are_those_of_all_parts(parts, step):
    """Of a part's first rows, which are cut off, it may hold texts that no cell has."""
    tables, cells = [], []
    for own, cut in parts:
        column = pa.array(own, pa.string()).dictionary_encode().slice(cut)
        tables.append(pa.table({"x": column, "y": pa.array(own, pa.string()).dictionary_encode().slice(cut)}))
        cells += own[cut:]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(text_columns, "_STEP", step)
        columns = columns_of(tables)
    for column in columns.values():
        assert column.cells() == cells
        assert sorted(column.values) == sorted({cell for cell in cells if cell is not None})
        assert column.rows_per_value.tolist() == [cells.count(value) for value in column.values]
    assert columns["x"].values == columns_of([pa.concat_tables(tables).unify_dictionaries()])["x"].values
