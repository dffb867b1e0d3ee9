"""Roles proposed for tables of many kinds, against what is right for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from app.services.datasets.ingest.hierarchy_proposals import with_hierarchies
from app.services.datasets.ingest.pieces import PieceWriter
from app.services.datasets.ingest.proposals import AttributeProposal, propose_schema
from app.services.datasets.ingest.role_proposals import subject_of
from tests.unit.roles.tables import Right, cells_of, schemas

ROLES = {"identifier": "d", "other": "d", "quasi_identifier": "q", "sensitive": "s"}
DOCUMENTED = (Path(__file__).parents[3] / "docs" / "proposals.md").read_text(encoding="utf-8")
Judged = list[tuple[Right, AttributeProposal]]


def proposed(columns: dict[str, list[str | None]]) -> dict[str, AttributeProposal]:
    writer = PieceWriter(tuple(columns))
    pieces = [*writer.add(pa.table({name: pa.array(cells, pa.string()) for name, cells in columns.items()}))]
    (piece,) = [*pieces, *writer.finish()]
    found = with_hierarchies(propose_schema(piece.payload), piece.payload, "table", is_whole=True)
    return {own.name: own for own in found.attributes}


@pytest.fixture(scope="module")
def judged() -> Judged:
    pairs = []
    for columns in schemas().values():
        found = proposed({right.column: cells_of(right) for right in columns})
        pairs += [(right, found[right.column]) for right in columns]
    return pairs


def share_right(judged: Judged, chosen: Callable[[Right], bool]) -> float:
    hits = [ROLES[own.role] == right.role for right, own in judged if right.role in "qs" and chosen(right)]
    return sum(hits) / len(hits)


def test_there_are_enough_schemas_in_enough_languages():
    names = list(schemas())
    assert len(names) >= 30
    assert {name[-3:-1] for name in names} >= {"en", "de", "fr", "es", "it", "nl", "pl", "pt"}
    assert sum(columns[0].is_held_out for columns in schemas().values()) >= 10


def test_nine_in_ten_disclosed_roles_are_right_also_for_schemas_that_nobody_tuned_for(judged):
    assert share_right(judged, lambda right: not right.is_held_out) >= 0.9
    assert share_right(judged, lambda right: right.is_held_out) >= 0.9


def figures(judged: Judged) -> str:
    """A line of the documentation's table, behind its first cell."""

    def right(role: str) -> list[bool]:
        return [ROLES[own.role] == role for known, own in judged if known.role == role]

    q, s, d = right("q"), right("s"), right("d")
    both = 100 * sum(q + s) / len(q + s)
    counted = [f"{sum(own)} of {len(own)}" for own in (q, s, d)]
    tables = len({known.schema for known, _ in judged})
    return f" | {tables} | {counted[0]} | {counted[1]} | {both:.1f} % | {counted[2]} |"


def test_the_documentation_tells_what_is_measured(judged):
    for part, said in (
        ("tuned", "known when the words were chosen"),
        ("hold-out", "held out"),
        ("added", "a payroll and twenty more, added later: now"),
    ):
        assert f"| {said}{figures([pair for pair in judged if pair[0].part == part])}" in DOCUMENTED


def test_the_documentation_tells_how_many_columns_have_groups(judged):
    for part in ("tuned", "hold-out", "added"):
        columns = [
            own.hierarchy is not None and own.hierarchy["kind"] != "flat"
            for right, own in judged
            if right.part == part and right.role == "q" == ROLES[own.role] and own.distinct_in_sample > 3
        ]
        assert f"| {part} | {sum(columns)} of {len(columns)} |" in DOCUMENTED


def test_amounts_with_the_sign_of_a_currency_are_numbers(judged):
    amounts = [own for right, own in judged if right.values.split()[0] in ("usd", "eur")]
    assert len(amounts) == 16
    assert {own.type for own in amounts} == {"number"}
    assert {own.format.value for own in amounts} == {"$1,234.56", "1.234,56 €"}


@pytest.mark.deep
def test_the_documentation_tells_what_is_left_without_names():
    columns = [right for schema in schemas().values() for right in schema]
    unnamed = [(right, proposed({"x": cells_of(right)})["x"]) for right in columns]
    assert f"| all, with the names of all columns taken away{figures(unnamed)}" in DOCUMENTED


@pytest.mark.parametrize("role", ["q", "s"])
def test_nine_in_ten_are_right_of_either_role(judged, role):
    assert share_right(judged, lambda right: right.role == role) >= 0.9


def test_no_direct_identifier_is_proposed_to_be_disclosed(judged):
    wrong = [
        (right.schema, right.column) for right, own in judged if right.role == "d" and ROLES[own.role] != "d"
    ]
    assert wrong == []
    assert sum(right.role == "d" for right, _ in judged) >= 60


def test_free_text_is_proposed_never_to_be_released(judged):
    texts = [own.role for right, own in judged if right.values == "text"]
    assert len(texts) >= 7
    assert "quasi_identifier" not in texts
    assert "sensitive" not in texts


def test_every_proposal_says_why_and_shows_no_cell(judged):
    for right, own in judged:
        assert own.reason.endswith(".")
        shown = [cell for cell in cells_of(right) if len(cell) > 7 and cell in own.reason]
        assert shown == []


def test_a_schema_gets_one_identifier_at_most(judged):
    identifiers: dict[str, int] = {}
    for right, own in judged:
        identifiers[right.schema] = identifiers.get(right.schema, 0) + (own.role == "identifier")
    assert set(identifiers.values()) == {0, 1}


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("dateOfBirth", "birth"),
        ("GEBURTSDATUM", "birth"),
        ("Pat_Geb_Datum", "birth"),
        ("MaritalStatus", "family"),
        ("job_satisfaction", "marks"),
        ("School Name", "institutions"),
        ("physician name", "names of people"),
        ("Krankenkasse", "institutions"),
        ("Krankheit", "diagnoses"),
        ("płeć", "sexes"),
        ("Straße", "postal addresses"),
        ("Kreditkartennummer", "numbers of persons"),
        ("sexual_orientation", "beliefs or sexual life"),
        ("Hire Date", "dates of stays, visits or events"),
        ("tax_paid", "money"),
        ("WEIGHT", "weights, be it of bodies, of goods or of a survey"),
    ],
)
def test_a_name_is_read_by_its_longest_word(name, title):
    subject = subject_of(name)
    assert subject is not None
    assert title in subject.title


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x1",
        "column_7",
        "__",
        "42",
        "taxi",
        "painting",
        "confirmed",
        "operating_system",
        "raceway",
        "famous",
    ],
)
def test_a_name_that_says_nothing_has_no_subject(name):
    assert subject_of(name) is None


N = 200
UNNAMED = {
    "diagnoses": ([f"{'CEI'[i % 3]}{10 + i % 40}.{i % 9}" for i in range(N)], "sensitive"),
    "sexes": (["w", "m"] * (N // 2), "quasi_identifier"),
    "money": ([f"{1000 + 37 * i},{i % 100:02d}" for i in range(N)], "sensitive"),
    "a run": ([str(500 + i) for i in range(N)], "identifier"),
    "members": ([f"C{i:05d}" for i in range(N)], "identifier"),
    "numbers": ([str(1_000 + 7 * i) for i in range(N)], "identifier"),
    "record numbers": ([f"{i % 60:08d}" for i in range(N)], "other"),
    "repeats": ([f"W{i % 4}" for i in range(N)], "quasi_identifier"),
    "texts": ([f"turned up late for appointment {i}" for i in range(N - 1)] + [None], "other"),
}


@pytest.mark.parametrize("what", UNNAMED)
def test_values_speak_where_the_name_says_nothing(what):
    cells, role = UNNAMED[what]
    assert proposed({"x": cells})["x"].role == role


def test_values_overrule_what_a_name_says():
    found = proposed(
        {
            "city": [f"p{i}@example.org" for i in range(N)],
            "address": ["U", "R"] * (N // 2),
            "last_name": ["Schmidt", "Meyer"] * (N // 2),
            "diagnosis": [f"has felt unwell since visit number {i} here" for i in range(N)],
            "type_id": [str(i % 8) for i in range(N)],
            "patient_id": [f"{i % 90:05d}" for i in range(N)],
        }
    )
    assert {name: own.role for name, own in found.items()} == {
        "city": "identifier",
        "address": "quasi_identifier",
        "last_name": "other",
        "diagnosis": "other",
        "type_id": "quasi_identifier",
        "patient_id": "person",
    }


def test_what_is_unsure_is_marked_so():
    found = proposed(
        {"weight": [f"{50 + i % 40}" for i in range(N)], "salary": [f"{i % 90}" for i in range(N)]}
    )
    assert (found["weight"].is_unsure, found["salary"].is_unsure) == (True, False)
    assert "Look whether it does" in found["weight"].reason


def test_dates_are_not_called_what_else_the_name_says():
    found = proposed({"diagnosis_day": [f"2024-0{1 + i % 9}-11" for i in range(N)]})["diagnosis_day"]
    assert found.reason.startswith("Its cells are dates, and its name says diagnoses")


def test_numbers_of_areas_are_codes():
    found = proposed({"tract": [str(100_100 + 700 * (i % 90)) for i in range(N)]})["tract"]
    assert (found.type, found.hierarchy["kind"]) == ("categorical", "code_prefixes")


def test_codes_are_no_numbers():
    found = proposed(
        {"zip": [str(10_000 + i % 50) for i in range(N)], "age": [str(i % 50) for i in range(N)]}
    )
    assert (found["zip"].type, found["age"].type) == ("categorical", "number")
