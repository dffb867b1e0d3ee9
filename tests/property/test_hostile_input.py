"""Whatever is sent to a parser, it reads it or says what is wrong: never another error, and not for long."""

from __future__ import annotations

import asyncio
import contextlib
import copy
import io
import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.domain.errors import PrivacyRiskError
from app.domain.risk.models import refuse_unless_sampled_conditions_hold
from app.domain.rules.condition_text import parse_condition
from app.domain.views.datalog import parse_query
from app.services.datasets.hierarchy_building import csv_resource
from app.services.datasets.ingest.csv_reader import CsvReader
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.ingest.workbook_reader import WorkbookReader
from app.services.datasets.structured_text import read_json, read_yaml
from app.services.gates.policies import checked_policy, templates
from app.services.resources import Actor, Scope, TenantId
from app.services.views.reading import WrittenQuery, read_schema, reader
from privacy_risk.answers import ClientError, cursor_in, items_in, number_in, object_of, text_in
from privacy_risk.events import EventParser
from privacy_risk.problems import checked, json_object
from tests.oracles.effort import examples
from tests.unit.services.memory_store import MemoryStore
from tests.unit.services.uploading import Uploading, as_arrow, as_parquet
from tests.unit.services.workbooks import by_hand, workbook

SECONDS = 10
"""Of processor time, which a busy machine does not stretch; what is too costly is refused long before."""

HOSTILE = st.sampled_from(
    ["", "\0", "\ud7ff", "\ufffe", "\U0001f600", "⊥", '"', "'", ";", ",", "\r", "\n", "\\", "*", "(", ")",
     "{", "}", "[", "]", "%", "-0", "1e999", "NaN", "inf", "9" * 400, "٣", "İ", "ß", "\u202e", "null", "~",
     "&a", "*a", "<<", "!!python"]
)  # fmt: skip
SOME = st.one_of(HOSTILE, st.text(max_size=8))
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), SOME),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(SOME, inner, max_size=4)),
    max_leaves=12,
)
FEW = settings(max_examples=examples(60), suppress_health_check=list(HealthCheck))


@contextmanager
def in_time() -> Iterator[None]:
    """Ends what computes for too long."""

    def end(*_: object) -> None:
        raise AssertionError(f"more than {SECONDS} s of processor time")

    before = signal.signal(signal.SIGVTALRM, end)
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


@contextmanager
def only_refused(*refusals: type[Exception]) -> Iterator[None]:
    """In time, and without another error than one that says what is wrong."""
    with in_time(), contextlib.suppress(*(refusals or (PrivacyRiskError,))):
        yield


@st.composite
def spoilt(draw, whole):
    """Something valid of which parts are left out, doubled, or replaced by what is hostile."""
    pieces = list(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(0, 5))):
        at = draw(st.integers(0, len(pieces)))
        match draw(st.sampled_from(["insert", "drop", "double", "cut"])):
            case "insert":
                pieces.insert(at, draw(SOME))
            case "drop":
                del pieces[at : at + draw(st.integers(1, 6))]
            case "double":
                pieces[at:at] = pieces[at : at + draw(st.integers(1, 20))] * draw(st.integers(1, 30))
            case "cut":
                del pieces[at:]
    return "".join(pieces)


@st.composite
def spoilt_bytes(draw, whole):
    """A file of which single bytes differ, or that ends early."""
    content = bytearray(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(0, 6))):
        if content:
            content[draw(st.integers(0, len(content) - 1))] = draw(st.integers(0, 255))
    if draw(st.integers(0, 4)) == 0:
        del content[draw(st.integers(0, len(content))) :]
    return bytes(content)


@st.composite
def spoilt_documents(draw, whole):
    """A document of which a few members are replaced, left out, or put elsewhere."""
    document = copy.deepcopy(draw(st.sampled_from(whole)))
    for _ in range(draw(st.integers(1, 4))):
        place = document
        while isinstance(place, dict | list) and place:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], dict | list) or not place[key] or draw(st.integers(0, 3)) == 0:
                if draw(st.booleans()):
                    place[key] = draw(JSON)
                else:
                    del place[key]
                break
            place = place[key]
    return document


CSV = ['name,age\nAda,36\n"Bob, jr",41\n', "a;b\r\n1;2\r\n", '"x""y"\n"line\nbreak"\n', "a\n"]


@FEW
@given(
    st.one_of(spoilt(CSV).map(lambda own: own.encode(errors="surrogatepass")), spoilt_bytes([b"a,b\n1,2\n"])),
    st.integers(1, 30),
    st.booleans(),
)
def test_csv(data, size, header):
    with only_refused():
        own = CsvReader(Dialect(header=header), UploadLimits(max_cell_bytes=100))
        for at in range(0, len(data), size):
            own.feed(data[at : at + size])
        own.finish()


SHEETS = [
    workbook(["name", "age"], ["Ada", 36], ["Bob", "=1+A1"]),
    by_hand('<sheetData><row r="1"><c r="A1" t="s"><v>0</v></c></row></sheetData>'),
]
CELLS = [
    '<sheetData><row r="1"><c r="A1" t="inlineStr"><is><t>a</t></is></c></row>'
    '<row r="2"><c r="A2"><v>1</v></c></row>'
    '<row r="3"><c r="A3" t="str"><f>1+1</f><v>2</v></c></row></sheetData>'
    '<mergeCells><mergeCell ref="A1:B2"/></mergeCells>'
]


@FEW
@given(
    st.one_of(
        spoilt_bytes(SHEETS),
        spoilt(CELLS).map(lambda sheet: by_hand(sheet.encode("utf-8", "replace").decode())),
    )
)
def test_workbooks(data):
    with only_refused():
        own = WorkbookReader(io.BytesIO(data), Dialect(), UploadLimits(max_cell_bytes=1000), len(data))
        for table in own.tables(lambda: None):
            assert table.num_rows >= 0


TABLE = pa.table(
    {
        "name": ["Ada", "Bob", None],
        "age": pa.array([1, 2, None]),
        "kind": pa.array(["x", "y", "x"]).dictionary_encode(),
    }
)


@pytest.mark.parametrize(
    ("format", "content"),
    [(UploadFormat.PARQUET, as_parquet(TABLE)), (UploadFormat.ARROW, as_arrow(TABLE))],
    ids=["parquet", "arrow"],
)
def test_binary_tables(format, content):
    """Each in a process of its own, which may crash; so they are few."""
    actor = Actor(TenantId("acme"), "key", frozenset(Scope))

    @settings(max_examples=max(examples(20) // 5, 2), suppress_health_check=list(HealthCheck))
    @given(spoilt_bytes([content]))
    def read(data):
        with contextlib.suppress(PrivacyRiskError):
            asyncio.run(Uploading(MemoryStore(), actor).send(data, format=format))

    read()


@FEW
@given(spoilt(["35;30-39;*\n36;30-39;*\n40;40-49;*\n", 'a,b\n"c",b\n', "x\ny\n"]), st.sampled_from(";,|\t"))
def test_hierarchies(text, delimiter):
    with only_refused():
        csv_resource("ages", text, delimiter)


POLICIES = [template.text for template in templates()]
DOCUMENTS = [read_yaml(text).value for text in POLICIES]


@FEW
@given(st.one_of(spoilt(POLICIES), spoilt(['{"a": [1, {"b": null}], "c": "d"}'])))
def test_texts_of_policies(text):
    for read in (read_yaml, read_json):
        with only_refused():
            checked_policy(read(text).value)


@FEW
@given(spoilt_documents(DOCUMENTS))
def test_documents_of_policies(document):
    with only_refused():
        checked_policy(document)


CONDITIONS = [
    "age >= 18 and not (city = 'Ulm' or name in ('a', 'b'))",
    "a is missing",
    "zip starts_with '021'",
]


@FEW
@given(spoilt(CONDITIONS))
def test_conditions(text):
    with only_refused():
        parse_condition(text, "/condition")


FORMULAS = [
    "phi / count",
    "phi * log(n / count)",
    "min(1, phi ** 2) / sqrt(count)",
    "max(phi, exp(-count), 0)",
]


@FEW
@given(spoilt(FORMULAS))
def test_formulas(text):
    with only_refused():
        refuse_unless_sampled_conditions_hold(text)


TABLES = """
CREATE TABLE r (a INTEGER PRIMARY KEY, b TEXT NOT NULL CHECK (b IN ('x', 'y')), c DECIMAL(4, 2));
CREATE TABLE s (a INT REFERENCES r(a), d DATE, UNIQUE (a, d));
"""
QUERIES = [
    "SELECT r.a, count(*) AS n FROM r JOIN s ON r.a = s.a WHERE r.b = 'x' AND s.d > DATE '2020-01-01'",
    "WITH t AS (SELECT a FROM r UNION ALL SELECT a FROM s) SELECT DISTINCT * FROM t ORDER BY 1 LIMIT 3",
    "SELECT b FROM r WHERE NOT EXISTS (SELECT 1 FROM s WHERE s.a = r.a) OR c BETWEEN 1 AND 2.5",
    "SELECT CASE WHEN a > 1 THEN b ELSE NULL END, coalesce(c, 0) FROM r LEFT JOIN s USING (a)",
]


@FEW
@given(spoilt([TABLES]))
def test_schemas_in_sql(text):
    with only_refused():
        read_schema({}, (), text, "postgres")


@FEW
@given(spoilt(QUERIES))
def test_views_in_sql(text):
    schema = read_schema({}, (), TABLES, "postgres")
    with only_refused():
        reader("sql", "postgres", schema)(WrittenQuery("view", text))


@FEW
@given(spoilt(["v(x, y) :- r(x, 'b', z), s(x, y), z > 3, x != y.", "v() :- r(a, b, c).", "v(1) :- s(_, _)."]))
def test_views_in_datalog(text):
    schema = read_schema({}, (), TABLES, "postgres").relational
    with only_refused():
        parse_query(text, schema)


@FEW
@given(JSON)
def test_answers_to_the_client(answer):
    for read in (
        lambda: text_in(answer, "id"), lambda: number_in(answer, "rows"), lambda: items_in(answer),
        lambda: cursor_in(answer), lambda: object_of(answer),
    ):  # fmt: skip
        with only_refused(ClientError):
            read()


@FEW
@given(
    spoilt(
        [
            json.dumps(
                {"type": "/problems/conflict", "title": "t", "status": 409, "errors": [{"pointer": "/a"}]}
            )
        ]
    ),
    st.sampled_from([200, 409, 500]),
)
def test_bodies_told_to_the_client(text, status):
    response = httpx.Response(
        status, content=text.encode("utf-8", "replace"), request=httpx.Request("GET", "http://a")
    )
    for read in (checked, json_object):
        with only_refused(ClientError):
            read(response)


@FEW
@given(
    st.lists(st.one_of(spoilt(["id: 3", "event: progress", 'data: {"done": 1}']), st.just("")), max_size=8)
)
def test_events_told_to_the_client(lines):
    with only_refused(ClientError):
        own = EventParser()
        for line in lines:
            own.take(line)
