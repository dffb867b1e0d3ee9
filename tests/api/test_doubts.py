"""Doubts about how a table is read: told by the service as data, and raised by the functions for tables."""

from __future__ import annotations

import httpx
import pandas as pd
import pyarrow as pa
import pytest

import privacy_risk as pr

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
BORN = pd.DataFrame({"born": [f"01/{1 + row % 12:02}/1980" for row in range(36)]})
CODES = pd.DataFrame(
    {
        "sex": [str(row % 2) for row in range(10_020)],
        "msp": [str(row % 5) for row in range(10_000)] + ["N"] * 20,
    }
)
CITIES = pd.DataFrame({"city": ["Bonn", "Ulm", "Bonn", "Ulm", "Jena"], "sex": list("mfmfm")})


async def test_the_proposal_of_a_dialect_tells_what_has_to_be_said(client: httpx.AsyncClient) -> None:
    sample = b"a,a\n1,x\n2,NA\n"
    proposal = (await client.post("/v1/dialect-proposals", content=sample)).json()
    (doubt,) = proposal["doubts"]
    assert (doubt["decides"], doubt["choices"], doubt["column"]) == ("header", ["true", "false"], None)
    assert any("NA" in note for note in proposal["notes"])


async def test_what_is_said_is_not_asked_about(client: httpx.AsyncClient) -> None:
    query = "/v1/uploads?name=said&header=false&missing=&missing=NA"
    sent = await client.post(query, content=b"a,a\n1,x\n2,NA\n", headers=CSV)
    assert (sent.status_code, sent.json()["rows"]) == (201, 3)


async def test_an_index_without_a_name_is_read_told_and_left_out(client: httpx.AsyncClient) -> None:
    content = pd.DataFrame({"sex": list("fmfm"), "city": list("abab")}).to_csv().encode()
    sent = (await client.post("/v1/uploads?name=indexed", content=content, headers=CSV)).json()
    assert (sent["columns"], sent["rows"], sent["index"]) == (["index", "sex", "city"], 4, "index")
    assert "as pandas writes an index" in sent["notes"][0]
    proposal = (await client.get("/v1/uploads/indexed/proposal")).json()
    assert [own["role"] for own in proposal["attributes"]] == [
        "other",
        "quasi_identifier",
        "quasi_identifier",
    ]


@pytest.mark.parametrize("function", [pr.profile, pr.anonymise])
async def test_the_month_is_asked_for_where_every_day_may_be_one(call, function) -> None:
    asked = {"rows_are": "persons"} | ({"k": 3} if function is pr.anonymise else {})
    with pytest.raises(pr.InvalidArgument, match=r"date_formats=\{'born': 'dd/mm/yyyy'\}") as raised:
        await call(function, BORN, **asked)
    assert "--date-format born=dd/mm/yyyy" in raised.value.remedy
    with pytest.raises(pr.InvalidArgument, match="no column 'birth'"):
        await call(function, BORN, date_formats={"birth": "dd/mm/yyyy"}, **asked)


@pytest.mark.parametrize(("written", "second"), [("dd/mm/yyyy", "1980-02-01"), ("mm/dd/yyyy", "1980-01-02")])
async def test_a_date_is_read_as_is_said(call, written: str, second: str) -> None:
    asked = {"quasi_identifiers": ["born"], "rows_are": "persons", "date_formats": {"born": written}}
    release = await call(pr.anonymise, BORN, k=3, **asked)
    assert sorted({*release.frame["born"]})[1] == second
    assert f"born is read as dates written {written}." in release.notes


async def test_markers_mean_missing_only_where_that_is_said(call) -> None:
    lands = pd.DataFrame({"land": ["NA", "DE", "NA", "DE"] * 5})
    asked = {"k": 10, "quasi_identifiers": ["land"], "rows_are": "persons"}
    as_it_is = await call(pr.anonymise, lands, **asked)
    assert {*as_it_is.frame["land"]} == {"NA", "DE"}
    said = await call(pr.anonymise, lands, missing_markers=["NA"], **asked)
    assert {*said.frame["land"]} == {"*", "DE"}


async def test_a_code_beyond_the_first_rows_is_a_category(call) -> None:
    found = await call(pr.profile, CODES, rows_are="persons")
    assert found.roles["msp"].type == "categorical"
    assert "Cells in rows 10001, 10002" in found.roles["msp"].reason
    assert "and 10 more" in found.roles["msp"].reason
    assert found.classes == 2 * 5 + 2
    release = await call(pr.anonymise, CODES, k=5, rows_are="persons")
    assert (release.frame["msp"] == "N").sum() == 20


async def test_what_a_hierarchy_lacks_is_told_with_column_rows_and_remedy(call) -> None:
    rows = {"city": [["Bonn", "*"], ["Ulm", "*"]]}
    told = r"hierarchy of 'city' lacks 1 of the column's values, in row 5\.(.|\n)* Add them to the hierarchy"
    asked = {"quasi_identifiers": ["city", "sex"], "rows_are": "persons", "hierarchies": rows}
    with pytest.raises(pr.ProblemError, match=told):
        await call(pr.anonymise, CITIES, k=1, **asked)
    policy = (
        await call(pr.anonymise, CITIES, k=1, quasi_identifiers=["city", "sex"], rows_are="persons")
    ).policy
    with pytest.raises(pr.ProblemError, match=told):
        await call(pr.gate, policy, CITIES, original=CITIES, hierarchies=rows)


@pytest.mark.parametrize("kind", ["pandas", "pyarrow"])
async def test_cells_of_bytes_are_called_so(call, kind: str) -> None:
    cells = {"a": [b"\x00\xff", None], "b": ["1", "2"]}
    frame = pd.DataFrame(cells) if kind == "pandas" else pa.table(cells)
    with pytest.raises(pr.InvalidArgument, match="The cells of 'a' are bytes"):
        await call(pr.profile, frame)


async def test_more_columns_than_are_read_are_told(call) -> None:
    wide = pd.DataFrame({f"c{place}": ["1", "2"] for place in range(51)})
    with pytest.raises(pr.ProblemError, match="more than 50 columns"):
        await call(pr.profile, wide)


async def test_a_file_compressed_twice_is_called_so(client: httpx.AsyncClient) -> None:
    import gzip

    twice = gzip.compress(gzip.compress(b"a,b\n1,2\n"))
    sent = await client.post("/v1/uploads?name=twice&format=csv.gz", content=twice)
    assert sent.status_code == 422
    assert "compressed by gzip twice" in sent.text


TOWNS = "id,town,size\n" + "".join(f"{row},{'Köln' if row % 2 else 'Bonn'},{row % 7}\n" for row in range(40))


@pytest.mark.parametrize(
    ("content", "query", "status", "said"),
    [
        (TOWNS.encode("latin-1"), "", 422, "The characters seem to be encoded in latin-1, not in utf-8."),
        ((20_000 * "1,Bonn,1\n" + TOWNS).encode("cp1252"), "header=false", 422, "latin-1, not in utf-8."),
        (TOWNS.encode(), "encoding=latin-1", 201, "seem to be encoded in utf-8, not in latin-1."),
        (TOWNS.replace(",", ";").encode(), "", 201, "the delimiter is probably a semicolon."),
        (
            TOWNS.replace(",", ";").replace("town", "town, or city").encode(), "", 422,
            "Cells seem to be separated by a semicolon, not by a comma.",
        ),
        (TOWNS.encode(), "header=false", 201, "looks like column names, and is read as a record."),
        (b"1,Bonn\n2,Bonn\n3,Ulm\n4,Bonn\n", "", 201, "look like column names, and is read as these."),
        (b"1,Bonn,1\n2,Bonn,2\n3,Ulm,3\n", "", 422, "look like column names, and is read as these."),
    ],
)  # fmt: skip
async def test_what_is_read_otherwise_than_it_looks_is_told(
    client: httpx.AsyncClient, content: bytes, query: str, status: int, said: str
) -> None:
    sent = await client.post(f"/v1/uploads?name=towns&{query}", content=content, headers=CSV)
    assert sent.status_code == status, sent.text
    told = sent.json()["notes"] if status == 201 else [sent.json()["detail"]]
    assert [own for own in told if own.endswith(said)], told


async def test_what_is_read_as_it_looks_has_no_notes(client: httpx.AsyncClient) -> None:
    for name, content, query in (
        ("plain", TOWNS.encode(), ""),
        ("western", TOWNS.encode("latin-1"), "&encoding=latin-1"),
        ("central", TOWNS.encode("iso8859-2"), "&encoding=iso8859-2"),
        ("wide", TOWNS.encode("utf-16"), "&encoding=utf-16"),
    ):
        sent = await client.post(f"/v1/uploads?name={name}{query}", content=content, headers=CSV)
        assert (sent.status_code, sent.json()["notes"]) == (201, [])
