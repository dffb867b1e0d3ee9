"""Folders of Parquet pieces as one table."""

from __future__ import annotations

import httpx
import pandas as pd
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest

import privacy_risk as pr
from privacy_risk.sources import BATCH_ROWS, ArrowStream
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
    (folder / "archive").mkdir()
    assert "has the folder archive in it, which is no key=value" in fault_of(folder)
    assert "no .parquet file" in fault_of(tmp_path_factory.mktemp("empty"))
    assert "There is no folder" in fault_of(folder / "none")


@pytest.fixture
def partitioned(tmp_path):
    """As writers of partitioned tables leave it: by year and city, of which one is missing."""
    for name, ages in (
        ("year=2026/city=Gr%C3%BCn%2Fau/part-10", [30, 31]),
        ("year=2026/city=Gr%C3%BCn%2Fau/part-2", [32]),
        ("year=2025/city=0815/a", [40]),
        ("year=2025/city=__HIVE_DEFAULT_PARTITION__/a", [50]),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"age": ages}), tmp_path / f"{name}.parquet")
    pq.write_metadata(pa.schema([("age", pa.int64())]), tmp_path / "_common_metadata")
    (tmp_path / ".part-0.parquet.crc").touch()
    (tmp_path / "year=2025" / "_temporary").mkdir()
    return tmp_path


def test_names_of_folders_give_columns_of_texts_in_the_order_of_their_names(partitioned):
    assert rows_of(partitioned).to_pydict() == {
        "age": [40, 50, 30, 31, 32],
        "year": ["2025", "2025", "2026", "2026", "2026"],
        "city": ["0815", None, "Grün/au", "Grün/au", "Grün/au"],
    }


def test_what_pandas_writes_by_partitions_is_read(tmp_path):
    frame = pd.DataFrame({"zip": ["02139", "00501", "02139"], "age": [1, 2, 3], "sex": ["f", None, "m"]})
    frame.to_parquet(tmp_path / "people", partition_cols=["zip", "sex"], index=False)
    found = rows_of(tmp_path / "people").to_pandas().sort_values("age")[list(frame)]
    assert found.astype(object).where(found.notna(), None).to_numpy().tolist() == [
        ["02139", 1, "f"], ["00501", 2, None], ["02139", 3, "m"],
    ]  # fmt: skip


def test_partitions_that_differ_in_their_columns_are_refused_by_name(partitioned):
    pq.write_table(pa.table({"age": [1]}), partitioned / "year=2026" / "lone.parquet")
    fault = fault_of(partitioned)
    assert "year=2026/lone.parquet has the column 'city' not" in fault
    assert "year=2025/city=0815/a.parquet has it as string" in fault


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("year=2026/age=7/a", "year=2026/age=7/a.parquet has a column 'age', and its folder"),
        ("year=2026/year=1/a", "year=2026/year=1 gives the column 'year' twice"),
        ("year=2026/=1/a", "has the folder year=2026/=1 in it, which is no key=value"),
    ],
)
def test_a_column_has_one_place_only(partitioned, name, said):
    (partitioned / name).parent.mkdir(parents=True)
    pq.write_table(pa.table({"age": [1]}), partitioned / f"{name}.parquet")
    assert said in fault_of(partitioned)


def test_a_source_is_an_arrow_stream_each_time_it_is_sent(partitioned):
    stream = ArrowStream(pr.parquet_folder(partitioned))
    sent = [list(stream), list(stream)]
    assert sent[0] == sent[1]
    assert len(sent[0]) == 5  # one for each piece, and the end
    assert pa.ipc.open_stream(b"".join(sent[0])).read_all() == rows_of(partitioned)


def test_a_stream_holds_one_batch_at_a_time(tmp_path):
    rows = 200_000
    for number in range(3):
        pq.write_table(pa.table({"n": range(rows)}), tmp_path / f"{number}.parquet")
    sizes = [len(piece) for piece in ArrowStream(pr.parquet_folder(tmp_path))]
    assert sum(sizes) > 3 * 8 * rows
    assert max(sizes) < 2 * 8 * BATCH_ROWS


class TakesBodies(httpx.BaseTransport):
    """A service that takes bodies as far as they come."""

    def __init__(self):
        self.requests, self.received = [], []

    def handle_request(self, request):
        self.requests.append(request)
        for piece in request.stream:
            self.received.append(piece)
        return httpx.Response(201, json={})


def test_a_piece_that_breaks_on_the_way_ends_the_request_and_is_named(partitioned):
    piece = partitioned / "year=2026" / "city=Gr%C3%BCn%2Fau" / "part-2.parquet"
    whole = piece.read_bytes()
    piece.write_bytes(whole[:4] + bytes(40) + whole[44:])
    takes = TakesBodies()
    with (
        pr.Client("http://service", "key", transport=takes) as client,
        pytest.raises(pr.InvalidArgument, match=r"part-2\.parquet cannot be read"),
    ):
        client.uploads.create_from_source("people", pr.parquet_folder(partitioned))
    assert [request.url.params["format"] for request in takes.requests] == ["arrow"]
    assert takes.received
