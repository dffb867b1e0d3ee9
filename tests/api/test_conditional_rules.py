"""Rules by condition and by value over HTTP: what they disclose, what is refused, and who may see what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

PATIENTS = '''\
nr,größe (cm),Ort,geboren,note
1,170,Köln,1975-05-10,vip
2,180.5,Zürich,1980-01-01,
3,,Köln,1990-12-31,
4,1.65e2,"O'Hara ""Süd""",,vip
'''

PLACES = {
    "Köln": ["Nord/Rhein"],
    "Zürich": ["Schweiz"],
    'O\'Hara "Süd"': ["Nord/Rhein"],
    "Nord/Rhein": [None],
    "Schweiz": [None],
}

RISKY = "\"größe (cm)\" >= 170 and Ort != 'O''Hara \"Süd\"'"


@pytest.fixture
async def patients(client: httpx.AsyncClient, once: Callable[[str], bool]) -> httpx.AsyncClient:
    """A client whose tenant has a small table with names and values of many alphabets."""
    if not once("patients"):
        return client
    for path, body in (
        ("/v1/hierarchies", {"name": "places", "definition": {"kind": "parents", "parents": PLACES}}),
        (
            "/v1/datasets",
            {
                "name": "patients",
                "upload": "patients",
                "attributes": [
                    {"name": "nr", "type": "number", "role": "identifier"},
                    {"name": "größe (cm)", "type": "number", "role": "other"},
                    {"name": "Ort", "type": "text", "role": "quasi_identifier", "hierarchy": "places"},
                    {"name": "geboren", "type": "date", "role": "sensitive"},
                    {"name": "note", "type": "categorical", "role": "other", "map": {"vip": "★"}},
                ],
            },
        ),
        ("/v1/dictionaries", {"name": "themselves", "from_dataset": "patients"}),
        (
            "/v1/sensitivity-profiles",
            {
                "name": "harm",
                "dataset": "patients",
                "family": "linear",
                "attributes": {"Ort": {"leaves": 1}, "geboren": {"leaves": 1}},
            },
        ),
    ):
        if path == "/v1/datasets":
            made = await client.post(
                "/v1/uploads?name=patients",
                content=PATIENTS.encode(),
                headers={"Content-Type": "text/csv"},
            )
            assert made.status_code == 201, made.text
        made = await client.post(path, json=body)
        assert made.status_code == 201, made.text
    return client


def conditional(*statements: dict[str, Any], name: str = "r") -> dict[str, Any]:
    return {"name": name, "dataset": "patients", "rule": {"kind": "conditional", "statements": statements}}


def hide(unless: Any, attribute: str = "Ort") -> dict[str, Any]:
    return {"kind": "hide", "attribute": attribute, "unless": unless}


def gen(unless: Any, to: dict[str, Any], attribute: str = "Ort") -> dict[str, Any]:
    return {"kind": "generalise", "attribute": attribute, "unless": unless, "to": to}


async def released(client: httpx.AsyncClient, rule: dict[str, Any]) -> list[str]:
    """The rows of a release under a new rule."""
    name = f"rule-{len((await client.get('/v1/rules')).json()['items'])}"
    made = await client.post("/v1/rules", json={"name": name, "dataset": "patients", "rule": rule})
    assert made.status_code == 201, made.text
    body = {"name": f"of-{name}", "dataset": "patients", "rule": name, "order": "records"}
    assert (await client.post("/v1/releases", json=body)).status_code == 201
    data = await client.get(f"/v1/releases/of-{name}/data?format=csv")
    return data.content.decode().splitlines()[1:]


async def test_a_condition_in_text_is_answered_in_both_forms(patients):
    made = await patients.post("/v1/rules", json=conditional(hide(RISKY)))
    assert made.status_code == 201, made.text
    rule = made.json()
    assert (rule["kind"], rule["levels"], rule["records"]) == ("conditional", None, 2)
    (statement,) = rule["definition"]["statements"]
    assert statement["unless_text"] == RISKY
    assert statement["unless"] == {
        "op": "and",
        "args": [
            {"op": ">=", "left": {"attr": "größe (cm)"}, "right": {"const": 170}},
            {"op": "!=", "left": {"attr": "Ort"}, "right": {"const": 'O\'Hara "Süd"'}},
        ],
    }
    assert statement["affected"] == 2
    assert (await patients.get("/v1/rules/r")).json() == rule
    assert (await patients.get("/v1/rules")).json()["items"][0]["definition"] is None
    again = await patients.post("/v1/rules", json=conditional(hide(statement["unless"])))
    assert (again.status_code, again.json()["id"]) == (200, rule["id"])
    other = await patients.post("/v1/rules", json=conditional(hide("nr = 1")))
    problem_of(other, 409, "conflict")


@pytest.mark.parametrize(
    ("statements", "rows"),
    [
        (
            [hide("\"größe (cm)\" >= 170")],
            ["Köln,1975-05-10", "Zürich,1980-01-01", "*,1990-12-31", "*,*"],
        ),
        (
            [hide("note != '★'"), hide("nr > 1", "geboren")],
            ["*,*", "*,1980-01-01", "*,1990-12-31", "*,*"],
        ),
        (
            [gen("nr = 2", {"kind": "level", "level": 1}), hide("geboren < 1980-01-01", "geboren")],
            ["Nord/Rhein,1975-05-10", "Zürich,*", "Nord/Rhein,*", "Nord/Rhein,*"],
        ),
        (
            [
                gen("nr != 1", {"kind": "entities", "values": {"1": "Nord/Rhein"}}),
                gen("nr != 2", {"kind": "rows", "values": {"2": None}}),
                gen("not (nr = 3)", {"kind": "value", "value": "Nord/Rhein"}),
            ],
            ["Nord/Rhein,1975-05-10", "*,1980-01-01", "Nord/Rhein,1990-12-31", '"O\'Hara ""Süd""",*'],
        ),
    ],
)  # fmt: skip
async def test_a_conditional_rule_discloses_what_its_conditions_say(patients, statements, rows):
    assert await released(patients, {"kind": "conditional", "statements": statements}) == rows
    reverse = {"kind": "conditional", "statements": statements[::-1]}
    if len(statements) > 1:
        assert await released(patients, reverse) == rows


async def test_values_are_generalised_by_name_in_the_table_and_in_single_records(patients):
    rule = {"kind": "generalisation", "values": {"Ort": {"Köln": "Nord/Rhein", "Zürich": None}}}
    rows = ["Nord/Rhein,1975-05-10", "*,1980-01-01", "Nord/Rhein,1990-12-31", '"O\'Hara ""Süd""",*']
    assert await released(patients, rule) == rows
    shown = (await patients.get("/v1/rules/rule-0")).json()
    assert (shown["kind"], shown["records"], shown["definition"]) == ("generalisation", 3, rule)
    records = [
        {"entity": "1", "values": {"Ort": "Nord/Rhein", "geboren": None}},
        {"row": 3, "levels": {"geboren": 1}, "values": {"Ort": "Köln"}},
    ]
    rows = ["Nord/Rhein,*", "Zürich,1980-01-01", "Köln,*", '"O\'Hara ""Süd""",*']
    assert await released(patients, {"kind": "record_level", "records": records}) == rows
    shown = (await patients.get("/v1/rules/rule-1")).json()
    assert (shown["kind"], shown["records"], shown["definition"]) == ("record_level", 2, None)


async def test_stored_and_inline_conditional_rules_score_the_same(patients):
    body = conditional(hide("nr = 2"), name="but-two")
    assert (await patients.post("/v1/rules", json=body)).status_code == 201
    question = {"dataset": "patients", "dictionary": "themselves", "sensitivity": "harm"}
    stored = await patients.post("/v1/assessments", json=question | {"rule": "but-two"})
    assert stored.status_code == 201, stored.text
    inline = await patients.post("/v1/assessments", json=question | {"rule": body["rule"]})
    assert inline.json()["result"] == stored.json()["result"]
    assert inline.json()["id"] == stored.json()["id"]
    assert stored.json()["rule"] == {
        "name": "but-two", "kind": "conditional", "levels": None, "records": 3,
        "suppress_classes_below": None,
        "suppress_classes_failing": None,
        "missing": None,
        "suppressed": None,
    }  # fmt: skip
    # Places alone: three of four are suppressed, and one of four days of birth is missing.
    assert stored.json()["result"]["utility_average"] == (2 + 3 * 1) / 4
    as_is = await patients.post("/v1/assessments", json=question | {"rule": {"kind": "identity"}})
    assert as_is.json()["result"]["risk_average"] > stored.json()["result"]["risk_average"]


ORT, NR = {"attr": "Ort"}, {"attr": "nr"}

BAD: list[tuple[str, dict[str, Any], str, str]] = [
    ("unread", hide("Ort != "), "/rule/statements/0/unless", "not-a-condition"),
    ("unknown column", hide("Stadt = 'x'"), "/rule/statements/0/unless", "unknown-attribute"),
    ("unlike", hide("nr = 'x'"), "/rule/statements/0/unless", "incompatible-types"),
    ("no date", hide("geboren > 'May'"), "/rule/statements/0/unless", "not-a-date"),
    ("not disclosed", hide("nr = 1", "note"), "/rule/statements/0/attribute", "unknown-attribute"),
    (
        "unknown column in a tree",
        hide({"op": "not", "args": [{"op": "=", "left": {"attr": "Stadt"}, "right": {"const": 1}}]}),
        "/rule/statements/0/unless/args/0/left",
        "unknown-attribute",
    ),
    (
        "unlike in a tree",
        hide({"op": "=", "left": ORT, "right": {"const": 1}}),
        "/rule/statements/0/unless/right",
        "incompatible-types",
    ),
    (
        "unknown operator",
        hide({"op": "like", "left": ORT, "right": {"const": "x"}}),
        "/rule/statements/0/unless/op",
        "union-tag-invalid",
    ),
    (
        "missing constant",
        hide({"op": "=", "left": ORT, "right": {"const": None}}),
        "/rule/statements/0/unless/right/const",
        "int-type",
    ),
    (
        "truth value",
        hide({"op": "=", "left": NR, "right": {"const": True}}),
        "/rule/statements/0/unless/right/const",
        "int-type",
    ),
    (
        "one of and",
        hide({"op": "and", "args": [{"op": "=", "left": NR, "right": {"const": 1}}]}),
        "/rule/statements/0/unless/args",
        "too-short",
    ),
    ("nul", hide("Ort = '\x00'"), "/rule/statements/0/unless", "string-pattern-mismatch"),
    (
        "level",
        gen("nr = 1", {"kind": "level", "level": 3}),
        "/rule/statements/0/to/level",
        "level-out-of-range",
    ),
    (
        "unknown value",
        gen("nr = 1", {"kind": "value", "value": "Bayern"}),
        "/rule/statements/0/to/value",
        "unknown-value",
    ),
    (
        "no ancestor",
        gen("nr != 2", {"kind": "value", "value": "Nord/Rhein"}),
        "/rule/statements/0/to/value",
        "not-a-generalisation",
    ),
    (
        "missing in G",
        gen("nr = 1", {"kind": "rows", "values": {"2": None}}),
        "/rule/statements/0/to/values",
        "missing-value",
    ),
    ("row zero", gen("nr = 1", {"kind": "rows", "values": {"0": None}}), "", "greater-than-equal"),
    ("no kind", {"attribute": "Ort", "unless": "nr = 1"}, "/rule/statements/0", "union-tag-not-found"),
]


@pytest.mark.parametrize(("statement", "pointer", "code"), [c[1:] for c in BAD], ids=[c[0] for c in BAD])
async def test_a_bad_statement_is_refused_where_it_is_bad(patients, unchanged, statement, pointer, code):
    problem = problem_of(await patients.post("/v1/rules", json=conditional(statement)), 422, "invalid-input")
    fault = problem["errors"][0]
    assert fault["code"] == code
    assert fault["pointer"].startswith(pointer)
    assert fault["remedy"]
    assert (await patients.get("/v1/rules")).json()["items"] == []


async def test_everything_that_cannot_be_read_is_named_at_once(patients, unchanged):
    body = conditional(hide("nr ="), hide("nr = 1"), hide("= 1"))
    problem = problem_of(await patients.post("/v1/rules", json=body), 422, "invalid-input")
    assert pointers(problem) == ["/rule/statements/0/unless", "/rule/statements/2/unless"]


@pytest.mark.parametrize(("depth", "status"), [(40, 201), (60, 422), (5000, 400)])
async def test_a_condition_of_any_depth_is_answered(patients, depth, status):
    answered = await patients.post("/v1/rules", content=nested(depth), headers=JSON)
    assert answered.status_code == status, answered.text


JSON = {"Content-Type": "application/json"}


def nested(depth: int) -> bytes:
    """A rule with a condition in so many negations, written without recursion."""
    tree = '{"op": "not", "args": [' * depth + '{"op": "=", "left": {"attr": "nr"}, "right": {"const": 1}}'
    statement = '{"kind": "hide", "attribute": "Ort", "unless": ' + tree + "]}" * depth + "}"
    rule = '{"kind": "conditional", "statements": [' + statement + "]}"
    return ('{"name": "deep", "dataset": "patients", "rule": ' + rule + "}").encode()


BAD_VALUES: list[tuple[dict[str, Any], str, str]] = [
    ({"kind": "generalisation", "values": {"note": {}}}, "/rule/values/note", "unknown-attribute"),
    (
        {"kind": "generalisation", "values": {"Ort": {"Nord/Rhein": "Köln"}}},
        "/rule/values/Ort/Nord~1Rhein",
        "not-a-generalisation",
    ),
    (
        {"kind": "generalisation", "values": {"Ort": {"Bonn": None}}},
        "/rule/values/Ort/Bonn",
        "unknown-value",
    ),
    (
        {"kind": "record_level", "records": [{"row": 1, "values": {"Ort": "Schweiz"}}]},
        "/rule/records/0/values/Ort",
        "not-a-generalisation",
    ),
    (
        {"kind": "record_level", "records": [{"row": 1, "levels": {"Ort": 1}, "values": {"Ort": None}}]},
        "/rule/records/0/values/Ort",
        "level-and-value",
    ),
    (
        {"kind": "record_level", "records": [{"row": 1, "values": {"note": None}}]},
        "/rule/records/0/values/note",
        "unknown-attribute",
    ),
]


@pytest.mark.parametrize(("rule", "pointer", "code"), BAD_VALUES)
async def test_a_bad_value_is_refused_where_it_is_bad(patients, unchanged, rule, pointer, code):
    body = {"name": "r", "dataset": "patients", "rule": rule}
    problem = problem_of(await patients.post("/v1/rules", json=body), 422, "invalid-input")
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == (pointer, code)


async def test_conditions_are_for_those_who_may_read_the_data(api, patients):
    assert (await patients.post("/v1/rules", json=conditional(hide("nr = 2")))).status_code == 201
    scopes = ["data:write", "assess"]
    key = await patients.post("/v1/api-keys", json={"name": "blind", "scopes": scopes})
    async with api.client(key.json()["token"]) as blind:
        assert (await blind.get("/v1/rules/r")).json()["definition"] is None
        refused = await blind.post("/v1/rules", json=conditional(hide("nr = 1"), name="s"))
        assert problem_of(refused, 403, "forbidden")["scope"] == "data:read"
        # Whether a value is refused for a record would tell what its cell holds.
        guessed = {"kind": "record_level", "records": [{"row": 1, "values": {"city": "Indiana"}}]}
        body = {"name": "s", "dataset": "patients", "rule": guessed}
        assert problem_of(await blind.post("/v1/rules", json=body), 403, "forbidden")["scope"] == "data:read"
        question = {"dataset": "patients", "dictionary": "themselves", "sensitivity": "harm"}
        for rule in (conditional(hide("nr = 1"))["rule"], guessed):
            asked = await blind.post("/v1/assessments", json=question | {"rule": rule})
            assert problem_of(asked, 403, "forbidden")["scope"] == "data:read"
        scored = await blind.post("/v1/assessments", json=question | {"rule": "r"})
        assert scored.status_code == 201


async def test_a_conditional_rule_is_stated_anew_for_the_next_delivery(patients):
    """Nobody of the next delivery has an id of the first: only conditions can say who is affected."""
    await patients.post(
        "/v1/uploads?name=next",
        content=PATIENTS.replace("\n1,", "\n11,").replace("\n3,,", "\n13,190,").encode(),
        headers={"Content-Type": "text/csv"},
    )
    schema = (await patients.get("/v1/datasets/patients")).json()["attributes"]
    attributes = [{key: a[key] for key in ("name", "type", "role", "hierarchy")} for a in schema]
    made = await patients.post(
        "/v1/datasets", json={"name": "next", "upload": "next", "attributes": attributes}
    )
    assert made.status_code == 201, made.text
    body = conditional(hide('"größe (cm)" > 165'), name="tall")
    assert (await patients.post("/v1/rules", json=body)).status_code == 201
    question = {
        "dataset": "patients",
        "dictionary": "themselves",
        "sensitivity": "harm",
        "rule": "tall",
        "measure": {"kind": "rule_reuse", "next_dataset": "next"},
    }
    reused = await patients.post("/v1/measurements", json=question)
    assert reused.status_code == 201, reused.text
    result = reused.json()["result"]
    assert result["matched_records"] is None
    # Before, two places and three days of birth are shown; now the third is tall enough, too.
    assert (result["before"]["utility"], result["now"]["utility"]) == ((2 * 2 + 3) / 4, (3 * 2 + 3) / 4)
