"""Folders of Parquet pieces as one table."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import privacy_risk as pr
from privacy_risk.tables import table_of


@pytest.fixture
def folder(tmp_path):
    for number, zips in ((2, ["02139"]), (1, ["00501", None])):
        pq.write_table(pa.table({"zip": zips, "n": range(len(zips))}), tmp_path / f"part-{number}.parquet")
    (tmp_path / "_SUCCESS").touch()
    return tmp_path


def rows_of(folder):
    return pa.Table.from_batches(pr.parquet_folder(folder).batches())


def fault_of(folder):
    with pytest.raises(pr.InvalidArgument) as raised:
        rows_of(folder)
    assert raised.value.argument == "folder"
    assert raised.value.remedy
    return raised.value.fault


def test_the_pieces_follow_in_the_order_of_their_names(folder):
    assert rows_of(folder).column("zip").to_pylist() == ["00501", None, "02139"]
    assert table_of(pr.parquet_folder(folder), "frame").rows == 3


def test_pieces_may_point_into_dictionaries_of_their_own(folder):
    zips = pa.array(["10115", "10115"]).dictionary_encode()
    pq.write_table(pa.table({"zip": zips, "n": [1, 2]}), folder / "part-3.parquet")
    assert rows_of(folder).column("zip").to_pylist()[3:] == ["10115", "10115"]


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"zip": [2139], "n": [1]}, "part-3.parquet has the column 'zip' as int64, part-1.parquet has it as"),
        ({"zip": ["a"]}, "part-3.parquet has the column 'n' not, part-1.parquet has it as int64"),
        ({"zip": ["a"], "n": [1], "x": [1]}, "part-3.parquet has the column 'x' as int64"),
        ({"n": [1], "zip": ["a"]}, "another order"),
    ],
)
def test_pieces_of_other_columns_are_refused_by_name(folder, columns, said):
    pq.write_table(pa.table(columns), folder / "part-3.parquet")
    assert said in fault_of(folder)


def test_a_damaged_piece_is_named(folder):
    whole = (folder / "part-1.parquet").read_bytes()
    (folder / "part-1.parquet").write_bytes(whole[:4] + bytes(40) + whole[44:])
    assert "part-1.parquet cannot be read" in fault_of(folder)
    (folder / "part-1.parquet").write_bytes(b"")
    assert "part-1.parquet cannot be read" in fault_of(folder)


def test_what_is_no_folder_of_pieces_is_refused(folder, tmp_path_factory):
    (folder / "notes.txt").touch()
    assert "notes.txt" in fault_of(folder)
    (folder / "notes.txt").unlink()
    (folder / "year=2026").mkdir()
    assert "Partitioned tables" in fault_of(folder)
    assert "no .parquet file" in fault_of(tmp_path_factory.mktemp("empty"))
    assert "There is no folder" in fault_of(folder / "none")
