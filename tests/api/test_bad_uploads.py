"""Every kind of bad upload: a message that names the place and the remedy, and nothing half-written."""

from __future__ import annotations

import gzip
import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.api.problem_documents import problem_of
from tests.unit.services.workbooks import workbook

pytestmark = pytest.mark.anyio


def parquet(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink)
    return sink.getvalue()


def arrow(table: pa.Table) -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


GOOD = pa.table({"a": ["1", "2"], "b": ["x", "y"]})
NESTED = pa.table({"a": [[1, 2], [3]]})
TWINS = pa.Table.from_arrays([pa.array(["1"]), pa.array(["2"])], names=["a", "a"])
NUL_NAMED = pa.table({"a\0b": ["1"]})
WIDE = ",".join(f"c{number}" for number in range(51)).encode() + b"\n" + b",".join([b"1"] * 51) + b"\n"

BAD_UPLOADS: list[tuple[str, dict[str, str], bytes, str]] = [
    ("empty", {}, b"", "empty"),
    ("only line ends", {}, b"\n\n", ""),
    ("ragged, too short", {}, b"a,b\n1,2\n3\n", "row 2"),
    ("ragged, too long", {}, b"a,b\n1,2,3\n", "row 1"),
    ("duplicate columns", {}, b"a,b,a\n1,2,3\n", "'a'"),
    ("unnamed column", {}, b"a,,c\n1,2,3\n", "2"),
    ("not utf-8", {}, "a,b\nJosé,2\n".encode("latin-1"), "utf-8"),
    ("utf-16 read as utf-8", {}, "a,b\n1,2\n".encode("utf-16"), ""),
    ("unknown encoding", {"encoding": "klingon"}, b"a,b\n1,2\n", "encoding"),
    ("encoding with a NUL", {"encoding": "utf-8\0"}, b"a,b\n1,2\n", "encoding"),
    ("quote that never ends", {}, b'a,b\n"1,2\n3,4\n', "quote"),
    ("nul byte", {}, b"a,b\n1,\x00\n", ""),
    ("delimiter that is the quote", {"delimiter": '"'}, b"a,b\n1,2\n", "delimiter"),
    ("delimiter of two characters", {"delimiter": ";;"}, b"a,b\n1,2\n", "delimiter"),
    ("gzip that is none", {"format": "csv.gz"}, b"a,b\n1,2\n", "csv.gz"),
    ("gzip cut off", {"format": "csv.gz"}, gzip.compress(b"a,b\n" + b"1,2\n" * 999)[:-9], "csv.gz"),
    ("parquet that is none", {"format": "parquet"}, b"PAR1 nonsense PAR1", "parquet"),
    ("parquet cut off", {"format": "parquet"}, parquet(GOOD)[:-20], "parquet"),
    ("parquet with lists", {"format": "parquet"}, parquet(NESTED), "'a'"),
    ("arrow that is none", {"format": "arrow"}, b"ARROW1 nonsense", "arrow"),
    ("arrow cut off", {"format": "arrow"}, arrow(GOOD)[:-100], "arrow"),
    ("arrow with lists", {"format": "arrow"}, arrow(NESTED), "'a'"),
    ("arrow with duplicate columns", {"format": "arrow"}, arrow(TWINS), "'a'"),
    ("parquet with NUL in a name", {"format": "parquet"}, parquet(NUL_NAMED), "column 1"),
    ("arrow with NUL in a name", {"format": "arrow"}, arrow(NUL_NAMED), "column 1"),
    ("csv declared as parquet", {"format": "parquet"}, b"a,b\n1,2\n", "parquet"),
    ("unknown format", {"format": "xlsx"}, b"a,b\n1,2\n", "format"),
    ("bad name", {"name": "a b"}, b"a,b\n1,2\n", "name"),
    ("unknown parameter", {"delimeter": ";"}, b"a,b\n1,2\n", "delimeter"),
]


IN_EVERY_RUN = {"parquet that is none", "arrow cut off"}
"""Of the files that a process of its own reads, which takes longer than all else, those for the others."""


def sent(path: str, told: str, case: tuple[str, dict[str, str], bytes, str]) -> Any:
    """The case, in the deep tier if another one stands for it."""
    name, parameters, body, said = case
    is_deep = parameters.get("format") in ("parquet", "arrow") and name not in IN_EVERY_RUN
    marks = [pytest.mark.deep] if is_deep else []
    return pytest.param(path, parameters, body, said, id=f"{name}{told}", marks=marks)


@pytest.mark.parametrize(
    ("path", "parameters", "body", "said"),
    [
        sent(path, told, case)
        for path, told in (("/v1/uploads", ""), ("/v1/uploads/form", ", in a form"))
        for case in BAD_UPLOADS
    ],
)
async def test_a_bad_upload_is_refused_whole(client, unchanged, path, parameters, body, said):
    content = {"files": {"file": body}} if path.endswith("form") else {"content": body}
    response = await client.post(path, params={"name": "bad", **parameters}, **content)
    problem = problem_of(response, 422, "invalid-input")
    text = " ".join([problem["detail"], *(" ".join(error.values()) for error in problem["errors"])])
    assert said in text
    assert problem["errors"][0]["remedy"]


@pytest.mark.parametrize(
    ("body", "said"),
    [(WIDE, "50 columns"), (b"a,b\n1," + b"x" * 1001 + b"\n", "row 1")],
    ids=["wide", "long"],
)
async def test_a_table_beyond_a_limit_is_refused(client, unchanged, body, said):
    response = await client.post("/v1/uploads", params={"name": "bad"}, content=body)
    assert said in problem_of(response, 413, "too-large")["detail"]


async def test_a_fault_names_row_and_column_but_never_the_cell(client, unchanged):
    body = b"a,b\n1,2\n3,4\n5,Zebediah,6\n"
    response = await client.post("/v1/uploads", params={"name": "bad"}, content=body)
    problem_of(response, 422, "invalid-input")
    assert "Zebediah" not in response.text
    assert "3" in response.json()["errors"][0]["message"]


async def test_a_huge_upload_is_refused_by_its_length_and_while_it_streams(client, unchanged):
    body = b"a,b\n" + b"1,2\n" * 60_000
    response = await client.post("/v1/uploads", params={"name": "huge"}, content=body)
    assert problem_of(response, 413, "too-large")["limit"] == 200_000

    async def chunks():
        for start in range(0, len(body), 10_000):
            yield body[start : start + 10_000]

    response = await client.post("/v1/uploads", params={"name": "huge"}, content=chunks())
    problem_of(response, 413, "too-large")


async def test_a_gzip_bomb_is_stopped_by_what_it_unpacks_to(api, client, unchanged):
    bomb = gzip.compress(b"a,b\n" + b"1,2\n" * 1_000_000)
    assert len(bomb) < 200_000
    response = await client.post("/v1/uploads", params={"name": "bomb", "format": "csv.gz"}, content=bomb)
    problem_of(response, 413, "too-large")


@pytest.mark.deep
async def test_a_binary_bomb_is_stopped_by_what_it_unpacks_to(client, unchanged):
    """One text of 900 characters, 1 million times, is a dictionary and a run of zeros."""
    indices = pa.array([0] * 1_000_000, pa.int32())
    table = pa.table({"a": pa.DictionaryArray.from_arrays(indices, pa.array(["z" * 900]))})
    sink = io.BytesIO()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    for format, bomb in (("parquet", parquet(table)), ("arrow", sink.getvalue())):
        assert len(bomb) < 200_000
        response = await client.post("/v1/uploads", params={"name": "bomb", "format": format}, content=bomb)
        assert "after decompression" in problem_of(response, 413, "too-large")["detail"]


@pytest.mark.deep
async def test_a_spool_that_cannot_be_written_is_named_and_csv_goes_on(client, monkeypatch, tmp_path):
    """Only formats that need seeking wait in a file."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    sent = {"name": "t", "format": "parquet"}
    refused = await client.post("/v1/uploads", params=sent, content=parquet(GOOD))
    problem = problem_of(refused, 503, "unavailable")
    assert "No file can be made" in problem["detail"]
    assert "TMPDIR" in problem["remedy"]
    assert (await client.get("/v1/uploads")).json()["items"] == []
    answer = await client.post("/v1/uploads", params={"name": "t"}, content=b"a,b\n1,2\n")
    assert answer.status_code == 201


@pytest.mark.parametrize(("format", "content"), [("parquet", parquet(GOOD)), ("arrow", arrow(GOOD))])
async def test_a_binary_upload_is_answered_and_listed(client, format, content):
    """Delimiter, quote, encoding and header say nothing of it."""
    response = await client.post("/v1/uploads", params={"name": "binary", "format": format}, content=content)
    assert response.status_code == 201, response.text
    assert response.json()["columns"] == ["a", "b"]
    assert response.json()["dialect"] == {
        "delimiter": None, "quote": None, "encoding": None, "header": None, "sheet": None, "trim": False,
        "missing": [""], "leading_zeros": None,
    }  # fmt: skip
    assert (await client.get("/v1/uploads")).json()["items"] == [response.json()]


async def test_a_form_must_be_one_whole_part_called_file(client, unchanged):
    send = client.post
    params = {"name": "form"}
    many = {"file": b"a,b\n1,2\n", "more": b"x"}
    for files in (many, {"data": b"a,b\n1,2\n"}):
        response = await send("/v1/uploads/form", params=params, files=files)
        assert problem_of(response, 422, "invalid-input")["errors"][0]["code"] == "unexpected-part"
    headers = {"Content-Type": "multipart/form-data; boundary=x"}
    for body in (b"", b"nonsense", b'--x\r\nContent-Disposition: form-data; name="file"\r\n\r\na,b\n1,2\n'):
        response = await send("/v1/uploads/form", params=params, content=body, headers=headers)
        problem_of(response, 422, "invalid-input")
    headers = {"Content-Type": f"multipart/form-data; boundary={'x' * 5000}"}
    response = await send("/v1/uploads/form", params=params, content=b"a", headers=headers)
    problem_of(response, 422, "invalid-input")
    problem_of(await send("/v1/uploads/form", params=params, content=b"a"), 415, "unsupported-media-type")
    response = await send("/v1/uploads", params=params, files={"file": b"a,b\n1,2\n"})
    problem_of(response, 415, "unsupported-media-type")


async def test_an_upload_that_breaks_off_leaves_nothing(api, client, unchanged):
    """The connection goes away in the middle of the body, as a server tells an application."""
    sent: list[Any] = []
    messages = iter(
        [
            {"type": "http.request", "body": b"a,b\n" + b"1,2\n" * 100, "more_body": True},
            {"type": "http.disconnect"},
        ]
    )

    async def receive() -> dict[str, Any]:
        return next(messages)

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(name.lower().encode(), value.encode()) for name, value in client.headers.items()]
    scope = {
        "type": "http", "method": "POST", "path": "/v1/uploads", "raw_path": b"/v1/uploads",
        "query_string": b"name=broken", "headers": headers, "http_version": "1.1", "scheme": "http",
        "server": ("service", 80), "client": ("test", 1), "root_path": "",
    }  # fmt: skip
    await api.app(scope, receive, send)
    assert sent == []
    assert api.log_lines()[-1]["status"] == 499
    problem_of(await client.get("/v1/uploads/broken"), 404, "not-found")


async def test_the_same_name_takes_the_same_content_only(client):
    post = client.post
    first = await post("/v1/uploads", params={"name": "t"}, content=b"a,b\n1,2\n")
    again = await post("/v1/uploads", params={"name": "t"}, content=b"a,b\n1,2\n")
    assert (first.status_code, again.status_code) == (201, 200)
    assert again.json() == first.json()
    response = await post("/v1/uploads", params={"name": "t"}, content=b"a,b\n1,3\n")
    problem_of(response, 409, "conflict")


EXCEL = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"


async def test_a_workbook_is_known_by_its_content_type_and_in_a_form_by_its_name(client):
    content = workbook(("city", "income"), ("Gary", 17100.0))
    name = {"name": "excel"}
    sent = await client.post("/v1/uploads", params=name, content=content, headers={"Content-Type": EXCEL})
    assert sent.status_code == 201, sent.text
    assert sent.json()["format"] == "xlsx"
    assert sent.json()["dialect"]["sheet"] == "People"
    form = {"file": ("People.xlsx", content, "application/octet-stream")}
    again = await client.post("/v1/uploads/form", params=name, files=form)
    assert (again.status_code, again.json()["id"]) == (200, sent.json()["id"])


async def test_zeros_that_only_a_format_shows_are_decided_by_an_option(client, unchanged):
    def zeros(book):
        book.active["A2"].number_format = "00000"

    content = workbook(("zip",), (2139,), change=zeros)
    ask = {"name": "zeros", "format": "xlsx"}
    response = await client.post("/v1/uploads", params=ask, content=content)
    (fault,) = response.json()["errors"]
    assert response.status_code == 422
    assert (fault["pointer"], fault["code"], fault["choices"]) == (
        "/leading_zeros", "leading-zeros", ["keep", "drop"]
    )  # fmt: skip
    bad = await client.post("/v1/uploads", params={**ask, "leading_zeros": "yes"}, content=content)
    assert "leading_zeros" in problem_of(bad, 422, "invalid-input")["errors"][0]["pointer"]


@pytest.mark.parametrize(("leading_zeros", "read"), [("keep", "02139"), ("drop", "2139")])
async def test_zeros_are_read_or_dropped_as_it_is_said(client, leading_zeros, read):
    def zeros(book):
        book.active["A2"].number_format = "00000"

    ask = {"name": "zeros", "format": "xlsx", "leading_zeros": leading_zeros}
    sent = await client.post("/v1/uploads", params=ask, content=workbook(("zip",), (2139,), change=zeros))
    assert sent.status_code == 201, sent.text
    assert sent.json()["dialect"]["leading_zeros"] == leading_zeros
    assert (await client.get("/v1/uploads/zeros/preview")).json()["rows"] == [[read]]


async def test_a_file_of_another_format_is_called_what_it_is(client, unchanged):
    for content, said in ((workbook(("a",)), "format=xlsx"), (b"%PDF-1.7\n", "PDF")):
        response = await client.post("/v1/uploads", params={"name": "bad"}, content=content)
        error = problem_of(response, 422, "invalid-input")["errors"][0]
        assert error["code"] == "other-file"
        assert said in error["message"] + error["remedy"]
