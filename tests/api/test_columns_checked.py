"""Tables with every role wrong and every kind of identifier hidden somewhere: no template lets one pass."""

from __future__ import annotations

import base64
from functools import cache
from typing import Any

import httpx
import pytest
from faker import Faker

from app.cli.policy_table import identifiers_of
from app.services.datasets.spellings import MOST_NAMED
from app.services.gates.policies import OWN, template
from app.services.gates.policy_documents import document_of_policy
from tests.api.problem_documents import problem_of
from tests.api.tables import made

pytestmark = pytest.mark.anyio

N = 120
CSV = {"Content-Type": "text/csv"}
SURNAMES = ["Smith", "Johnson", "Williams", "Brown", "Jones", "Garcia", "Miller", "Davis", "Wilson", "Taylor"]
IDENTIFIERS = ("email", "iban", "card", "address", "page", "telephone", "full name")
"""Columns that are recognised by their texts, however often each occurs."""
SINGLING_OUT = ("member no", "birth date", "zip", "remark")
"""Columns that nothing recognises, and that single people out."""
TOGETHER = ("year", "village", "job")
"""Columns each value of which many people share, and which together say who it is."""
HIDDEN = (*IDENTIFIERS, *SINGLING_OUT)


@cache
def cells() -> dict[str, list[str]]:
    """The columns of the hostile table; identifiers occur twelve times each and single nobody out."""
    fake = Faker("en_US")
    fake.seed_instance(7)
    found = {
        "email": [f"{fake.user_name()}@example.com" for _ in range(10)],
        "iban": [fake.iban() for _ in range(10)],
        "card": [fake.credit_card_number("visa16") for _ in range(10)],
        "address": [fake.ipv4_public() for _ in range(10)],
        "page": [fake.url() + "profile" for _ in range(10)],
        "telephone": [f"+4930{12345670 + 13 * n}" for n in range(10)],
        "full name": [f"{fake.first_name()} {surname}" for surname in SURNAMES],
    }
    columns = {name: own * (N // 10) for name, own in found.items()}
    columns["member no"] = [f"m{7 * n + 13}" for n in range(N)]
    columns["birth date"] = [f"19{50 + n % 50}-{1 + n % 12:02}-{1 + n % 28:02}" for n in range(N)]
    columns["zip"] = [f"{10000 + 37 * n}" for n in range(N)]
    columns["remark"] = [f"case {n}, seen in ward {n % 7}" for n in range(N)]
    columns["year"] = [f"{1980 + n % 5}" for n in range(N)]
    columns["village"] = [f"V{n // 5 % 5}" for n in range(N)]
    columns["job"] = [f"J{n // 25}" for n in range(N)]
    columns["sex"] = ["fm"[n // 2 % 2] for n in range(N)]
    return columns


async def begin_with(client: httpx.AsyncClient) -> None:
    """A client whose tenant has the hostile table, and a register of many people of either sex."""
    columns = cells()
    quoted = [",".join(f'"{cell}"' for cell in row) for row in zip(*columns.values(), strict=True)]
    table = "\n".join([",".join(columns), *quoted]) + "\n"
    register = "sex\n" + "f\nm\n" * 100
    for name, content in (("hostile", table), ("register", register)):
        answer = await client.post(f"/v1/uploads?name={name}", content=content, headers=CSV)
        assert answer.status_code == 201, answer.text


@pytest.fixture
def hostile(begun: httpx.AsyncClient) -> httpx.AsyncClient:
    return begun


async def judged(
    client: httpx.AsyncClient, name: str, number: int, roles: dict[str, str], **more: Any
) -> dict[str, Any]:
    """The verdict of a template, filled with these roles, on a dataset with the same roles."""
    slug = f"{name}-{number}"
    declared = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    # Identifiers that occur twelve times each are signs of several rows per person.
    dataset = {"name": slug, "upload": "hostile", "attributes": declared, "rows_are": "persons"}
    await made(client, "datasets", dataset)
    harm = {"name": slug, "dataset": slug, "family": "multiplicative"}
    await made(client, "sensitivity-profiles", harm | {"attributes": {own: {"leaves": 0.1} for own in roles}})
    policy = document_of_policy(template(name).policy)
    policy |= {"name": slug, "schema": {"attributes": roles}, **more}
    await made(client, "policies", policy)
    body: dict[str, Any] = {"dataset": slug, "rule": {"kind": "identity"}, "sensitivity": slug}
    if policy["dictionaries"]:
        link = {"attribute": "sex", "column": "sex", "transform": {"kind": "identity"}}
        await made(client, "dictionaries", {"name": slug, "upload": "register", "links": [link]})
        body["dictionaries"] = {"register": slug}
    answer = await client.post(f"/v1/gates/{slug}/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result: dict[str, Any] = answer.json()["result"]
    return result


@pytest.mark.parametrize("name", OWN)
async def test_no_template_passes_a_table_with_wrong_roles(hostile: httpx.AsyncClient, name: str):
    innocent = await judged(hostile, name, 0, {"sex": "quasi_identifier"})
    # Nothing but the hidden columns makes the others fail.
    assert (innocent["verdict"], innocent["coverage"]["outcome"]) == ("pass", "covered")
    every = {"sex": "quasi_identifier"} | dict.fromkeys(HIDDEN, "sensitive")
    result = await judged(hostile, name, 50, every)
    assert result["verdict"] == "fail"
    why = {own["columns"][0]: own["why"] for own in result["coverage"]["uncovered"]}
    assert why == dict.fromkeys(IDENTIFIERS, "direct_identifier") | dict.fromkeys(SINGLING_OUT, "singles_out")
    assert [own["status"] for own in result["changes"] if own["for"] == "all"] in ([], ["not_found"])
    jointly = await judged(hostile, name, 51, every_of(TOGETHER))
    (found,) = jointly["coverage"]["uncovered"]
    assert (jointly["verdict"], found["why"]) == ("fail", "single_out_together")
    assert set(found["columns"]) == set(TOGETHER)


def every_of(columns: tuple[str, ...]) -> dict[str, str]:
    return {"sex": "quasi_identifier"} | dict.fromkeys(columns, "sensitive")


@pytest.mark.parametrize("name", OWN)
async def test_a_schema_that_nobody_answers_for_is_no_pass(hostile: httpx.AsyncClient, name: str):
    roles = {"sex": "quasi_identifier"}
    draft = await judged(hostile, name, 0, roles, schema={"attributes": {}})
    assert (draft["verdict"], draft["coverage"]["outcome"]) == ("error", "draft_schema")
    proposed = {"attributes": roles, "to_confirm": ["sex"]}
    draft = await judged(hostile, name, 1, roles, schema=proposed)
    assert (draft["verdict"], draft["coverage"]["to_confirm"]) == ("error", ["sex"])


async def test_a_reason_lets_a_column_leave_and_the_verdict_repeats_it(hostile: httpx.AsyncClient):
    given = [{"columns": ["zip"], "reason": "Drawn at random."}]
    roles = {"sex": "quasi_identifier", "zip": "sensitive"}
    result = await judged(hostile, "internal-analytics", 0, roles, not_covered=given)
    assert result["verdict"] == "pass"
    sex, zip_ = result["coverage"]["columns"]
    assert (zip_["name"], zip_["reason"], zip_["singled_out_share"]) == ("zip", "Drawn at random.", 1)
    assert (sex["role"], sex["given_by"], sex["singled_out"]) == ("quasi_identifier", "policy", 0)
    assert sex["judged_by"] == ["small-classes", "average-risk"]
    assert sex["levels"] == {"least": 0, "greatest": 0, "height": 1}
    lax = await judged(hostile, "internal-analytics", 1, roles, singled_out_share=1.0)
    assert lax["verdict"] == "pass"


@pytest.mark.parametrize("reason", ["", ".", "\u200b\u3164"])
async def test_a_verdict_is_an_error_until_somebody_writes_a_reason(hostile: httpx.AsyncClient, reason: str):
    roles = {"sex": "quasi_identifier", "zip": "sensitive"}
    unwritten = [{"columns": ["zip"], "reason": reason}]
    result = await judged(hostile, "internal-analytics", 0, roles, not_covered=unwritten)
    assert (result["verdict"], result["coverage"]["outcome"]) == ("error", "missing_reason")
    assert "'zip'" in result["coverage"]["explanation"]
    assert result["coverage"]["uncovered"] == []  # the reason is all that is missing
    (zips,) = [own for own in result["coverage"]["columns"] if own["name"] == "zip"]
    assert zips["singled_out"] > 0
    kept = (await hostile.get("/v1/policies/internal-analytics-0")).json()
    assert kept["document"]["not_covered"] == [{"columns": ["zip"], "reason": reason}]
    warned = [own["pointer"] for own in kept["warnings"] if own["code"] == "missing-reason"]
    assert warned == ["/not_covered/0/reason"]


async def test_a_requirement_goes_on_where_a_reason_is_given(hostile: httpx.AsyncClient):
    """The reason lets the zip single out; that classes tell it still fails."""
    roles = {"sex": "quasi_identifier", "job": "sensitive"}
    told = {
        "id": "told", "title": "Told", "reason": "A doubt is left.",
        "requirement": {"kind": "privacy_model", "model": {"kind": "distinct_l_diversity", "l": 9}},
    }  # fmt: skip
    given = [{"columns": ["job"], "reason": "Nobody knows it."}]
    result = await judged(hostile, "internal-analytics", 0, roles, not_covered=given, requirements=[told])
    assert (result["verdict"], result["coverage"]["outcome"]) == ("fail", "covered")
    assert [own["outcome"] for own in result["criteria"]] == ["failed"]


async def test_a_stored_policy_keeps_the_check_that_it_was_stored_with(hostile: httpx.AsyncClient):
    """Twenty-four people share each year: nobody is alone with it, and they are fewer than the k of 40."""
    roles = {"sex": "quasi_identifier", "year": "sensitive"}
    few = {"requirements": [
        {"id": "k", "title": "k", "reason": "As asked.",
         "requirement": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 40}}}
    ]}  # fmt: skip
    old = {"not_covered": [{"columns": ["sex"], "reason": "."}], "coverage_version": 1}
    before = await judged(hostile, "internal-analytics", 0, roles, **few, **old)
    assert (before["verdict"], "least_persons" in before["coverage"]) == ("pass", False)
    assert any("keeps version 1" in own for own in before["warnings"])
    stored = (await hostile.get("/v1/policies/internal-analytics-0")).json()["document"]
    assert "coverage_version" not in stored
    again = await hostile.post("/v1/policies", json=stored)
    assert (again.status_code, again.json()["document"]) == (200, stored)
    now = await judged(hostile, "internal-analytics", 1, roles, **few)
    assert (now["verdict"], now["coverage"]["least_persons"]) == ("fail", 40)
    assert [own["columns"] for own in now["coverage"]["uncovered"]] == [["year"]]
    assert not any("keeps version 1" in own for own in now["warnings"])
    newer = {**stored, "version": 2, "coverage_version": 2}
    await made(hostile, "policies", newer)
    changed = (await hostile.get("/v1/policies/internal-analytics-0/diff")).json()
    assert changed["effect"] == "different"
    assert {"coverage_version"} <= {own["field"] for part in changed["changes"] for own in part["fields"]}


async def test_lint_beside_a_dataset_asks_what_the_service_understands(hostile: httpx.AsyncClient):
    declared = [{"name": own, "type": "categorical", "role": "sensitive"} for own in ("email", "sex")]
    await made(hostile, "datasets", {"name": "linted", "upload": "hostile", "attributes": declared})
    answer = await hostile.post("/v1/measurements", json=identifiers_of("linted"))
    found = {own["attribute"]: own["kinds"] for own in answer.json()["result"]["attributes"]}
    assert [(own["kind"], own["is_direct_identifier"]) for own in found["email"]] == [("email", True)]
    assert found["sex"] == []


async def test_a_schema_is_exclusive(hostile: httpx.AsyncClient):
    roles = {"sex": "quasi_identifier", "job": "sensitive"}
    await judged(hostile, "internal-analytics", 0, roles)
    policy = document_of_policy(template("internal-analytics").policy)
    for number, schema in enumerate(
        (
            {"attributes": {"sex": "quasi_identifier"}},
            {"attributes": {"sex": "quasi_identifier"}, "patterns": {"J*": "dropped"}},
            {"attributes": {"sex": "quasi_identifier", "job": "dropped"}},
            {"attributes": {"sex": "quasi_identifier", "job": "other"}},
            {"attributes": {**roles, "year": "sensitive"}},
        )
    ):
        await made(hostile, "policies", policy | {"name": f"exclusive-{number}", "schema": schema})
        body = {"dataset": "internal-analytics-0", "rule": {"kind": "identity"}}
        refused = await hostile.post(f"/v1/gates/exclusive-{number}/evaluations", json=body)
        problem = problem_of(refused, 422, "invalid-input")
        assert [own["code"] for own in problem["errors"]] == ["other-schema"], schema


async def test_earlier_releases_are_listed_and_a_later_verdict_is_another_one(hostile: httpx.AsyncClient):
    first = await judged(hostile, "internal-analytics", 0, {"sex": "quasi_identifier"})
    assert first["earlier_releases"]["total"] == 0
    assert "judged alone" in first["earlier_releases"]["explanation"]
    dataset = "internal-analytics-0"
    rule = {"name": "as-is", "dataset": dataset, "rule": {"kind": "identity"}}
    await made(hostile, "rules", rule)
    await made(hostile, "releases", {"name": "first", "dataset": dataset, "rule": "as-is"})
    # Another dataset of the same upload is of the same people.
    second = await judged(hostile, "internal-analytics", 1, {"sex": "quasi_identifier", "job": "sensitive"})
    (listed,) = second["earlier_releases"]["releases"]
    assert (listed["name"], listed["dataset"], listed["judged_by"]) == ("first", dataset, [])
    assert (listed["order"], [own for own in second["warnings"] if "order" in own]) == ("shuffled", [])
    assert "1 earlier release of the same data is known here" in second["earlier_releases"]["explanation"]
    body = {"dataset": dataset, "rule": {"kind": "identity"}, "sensitivity": dataset}
    again = (await hostile.post(f"/v1/gates/{dataset}/evaluations", json=body)).json()["result"]
    assert again["earlier_releases"]["total"] == 1
    ordered = {"name": "ordered", "dataset": dataset, "rule": "as-is", "order": "records"}
    await made(hostile, "releases", ordered)
    last = (await hostile.post(f"/v1/gates/{dataset}/evaluations", json=body)).json()["result"]
    assert [own["order"] for own in last["earlier_releases"]["releases"]] == ["records", "shuffled"]
    (warning,) = [own for own in last["warnings"] if "left in the records' order before" in own]
    assert "'ordered'" in warning
    assert "'first'" not in warning


async def test_the_key_of_a_file_and_texts_taken_for_alike_are_not_covered(hostile: httpx.AsyncClient):
    surnames = {f"{name}{n}": "person" for n in range(12) for name in SURNAMES}
    declared = [
        {"name": "member no", "type": "text", "role": "identifier"},
        {"name": "sex", "type": "categorical", "role": "quasi_identifier", "map": surnames},
    ]
    # The dataset takes every surname for one value, so that classes of it are large.
    rows = [f"m{n},person" for n in range(N)]
    sent = [f"m{n},{name}" for n, name in enumerate(surnames)]
    for name, lines in (("mapped", rows), ("sent", sent)):
        content = "member no,sex\n" + "\n".join(lines) + "\n"
        answer = await hostile.post(f"/v1/uploads?name={name}", content=content, headers=CSV)
        assert answer.status_code == 201, answer.text
    await made(hostile, "datasets", {"name": "mapped", "upload": "mapped", "attributes": declared})
    policy = document_of_policy(template("internal-analytics").policy)
    schema = {"attributes": {"member no": "identifier", "sex": "quasi_identifier"}}
    await made(hostile, "policies", policy | {"name": "mapped", "schema": schema})
    body = {"dataset": "mapped", "release": {"upload": "sent", "key": "member no"}}
    answer = await hostile.post("/v1/gates/mapped/evaluations", json=body)
    result = answer.json()["result"]
    assert {own["outcome"] for own in result["criteria"] if own["severity"] == "block"} == {"passed"}
    assert result["verdict"] == "fail"
    assert {tuple(own["columns"]): own["why"] for own in result["coverage"]["uncovered"]} == {
        ("sex",): "singles_out",
        ("member no",): "key",
    }
    # A column that the policy drops is no key either.
    schema = {"attributes": {"member no": "dropped", "sex": "quasi_identifier"}}
    await made(hostile, "policies", policy | {"name": "dropping", "schema": schema})
    problem = problem_of(
        await hostile.post("/v1/gates/dropping/evaluations", json=body), 422, "invalid-input"
    )
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [("/release/key", "other-schema")]


@pytest.mark.parametrize(
    ("dialect", "cells", "spellings", "values"),
    [
        ({"missing": ["", *SURNAMES]}, "{surname}", 10, 11),
        ({"trim": "true"}, "f{blanks}", MOST_NAMED, N),
        ({"missing": ["", "NA"]}, "NA", 0, 2),
        ({"missing": ["NA"]}, "NA", 0, 2),
    ],
)
async def test_a_file_is_judged_as_it_is_written(
    hostile: httpx.AsyncClient, dialect: dict[str, Any], cells: str, spellings: int, values: int
):
    """Surnames that are declared to mean nothing, or numbers of blanks, tell records apart all the same."""
    await judged(hostile, "internal-analytics", 0, {"sex": "quasi_identifier"})
    rows = [cells.format(surname=SURNAMES[n % 10], blanks=" " * n) for n in range(N)]
    content = "sex\n" + "\n".join(["f", *rows[1:]]) + "\n"
    query = {"name": "sent", **dialect}
    assert (await hostile.post("/v1/uploads", params=query, content=content, headers=CSV)).status_code == 201
    body = {"dataset": "internal-analytics-0", "release": {"upload": "sent"}}
    answer = await hostile.post("/v1/gates/internal-analytics-0/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result = answer.json()["result"]
    (column,) = result["coverage"]["columns"]
    assert len(column.get("spellings", ())) == spellings
    assert column["values"] == values
    assert result["verdict"] == "fail"
    evidence = await hostile.get(f"/v1/evaluations/{answer.json()['name']}/evidence")
    assert SURNAMES[3] not in base64.b64decode(evidence.json()["payload"]).decode()


async def test_cells_of_which_nothing_is_shown_single_nobody_out(hostile: httpx.AsyncClient):
    rows = [f"f,{'' if n == 0 else 'J'}" for n in range(20)]
    sent = [f"f,{'*' if n < 2 else 'J'}" for n in range(20)]
    for name, lines in (("lacking", rows), ("sent", sent)):
        content = "sex,job\n" + "\n".join(lines) + "\n"
        query = {"name": name, "missing": "" if name == "lacking" else "NA"}
        answer = await hostile.post("/v1/uploads", params=query, content=content, headers=CSV)
        assert answer.status_code == 201, answer.text
    roles = {"sex": "quasi_identifier", "job": "sensitive"}
    declared = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    await made(hostile, "datasets", {"name": "lacking", "upload": "lacking", "attributes": declared})
    policy = document_of_policy(template("internal-analytics").policy)
    await made(hostile, "policies", policy | {"name": "lacking", "schema": {"attributes": roles}})
    for form in ({"rule": {"kind": "identity"}}, {"release": {"upload": "sent"}}):
        answer = await hostile.post("/v1/gates/lacking/evaluations", json={"dataset": "lacking", **form})
        assert answer.status_code == 201, answer.text
        coverage = answer.json()["result"]["coverage"]
        assert [(own["name"], own["values"], own["singled_out"]) for own in coverage["columns"]] == [
            ("sex", 1, 0),
            ("job", 1, 0),
        ]
        assert coverage["outcome"] == "covered"


async def test_cells_that_show_nothing_in_several_ways_can_be_told_apart(hostile: httpx.AsyncClient):
    """Empty cells and asterisks in six columns number all the rows, although no row shows anything."""
    names = [f"c{at}" for at in range(6)]
    rows = {"coded": ["f" * 6] * 64, "numbers": [f"{n:06b}" for n in range(64)]}
    for name, lines in rows.items():
        written = [",".join({"0": "", "1": "*", "f": "x"}[sign] for sign in line) for line in lines]
        content = "\n".join([",".join(names), *written]) + "\n"
        answer = await hostile.post(f"/v1/uploads?name={name}", content=content, headers=CSV)
        assert answer.status_code == 201, answer.text
    roles = dict.fromkeys(names, "quasi_identifier")
    declared = [{"name": own, "type": "categorical", "role": role} for own, role in roles.items()]
    await made(hostile, "datasets", {"name": "coded", "upload": "coded", "attributes": declared})
    policy = document_of_policy(template("internal-analytics").policy)
    await made(hostile, "policies", policy | {"name": "coded", "schema": {"attributes": roles}})
    body = {"dataset": "coded", "release": {"upload": "numbers"}}
    result = (await hostile.post("/v1/gates/coded/evaluations", json=body)).json()["result"]
    failed = next(own for own in result["criteria"] if own["id"] == "small-classes")
    assert (result["verdict"], failed["outcome"]) == ("fail", "failed")
    assert [own["rows"] for column in result["coverage"]["columns"] for own in column["spellings"]] == [
        32
    ] * 6


@pytest.mark.parametrize(
    ("zips", "uncovered"),
    [([""], ["zip"]), (["7", *[""] * 9], ["zip"]), (["", *["7"] * 9], ["zip"]), (["7"], [])],
    ids=["none", "one in ten", "nine in ten", "all the same"],
)
async def test_a_dictionary_that_lacks_the_values_of_a_column_does_not_carry_it(
    hostile: httpx.AsyncClient, zips: list[str], uncovered: list[str]
):
    blank = [f"f,{own}" for own in zips] * (400 // len(zips))
    for name, lines in {"zips": [f"f,{n}" for n in range(40)], "blank": blank}.items():
        content = "sex,zip\n" + "\n".join(lines) + "\n"
        answer = await hostile.post(f"/v1/uploads?name={name}", content=content, headers=CSV)
        assert answer.status_code == 201, answer.text
    names = ("sex", "zip")
    declared = [{"name": own, "type": "categorical", "role": "quasi_identifier"} for own in names]
    await made(hostile, "datasets", {"name": "zips", "upload": "zips", "attributes": declared})
    links = [{"attribute": own, "column": own, "transform": {"kind": "identity"}} for own in names]
    await made(hostile, "dictionaries", {"name": "blank", "upload": "blank", "links": links})
    harm = {own: {"leaves": 0.1} for own in names}
    profile = {"name": "zips", "dataset": "zips", "family": "multiplicative", "attributes": harm}
    await made(hostile, "sensitivity-profiles", profile)
    score = {"kind": "score", "value": "min_consistent", "comparison": "at_least", "threshold": 2}
    criterion = {"id": "several", "title": "Several", "reason": "For the test.", "demand": score}
    policy = {"format": "privacy-risk/policy/1", "name": "zips", "version": 1, "title": "Zips"}
    more = {"assumes": {"attacker": "A"}, "dictionaries": [{"name": "r"}], "criteria": [criterion]}
    await made(hostile, "policies", policy | more)
    body = {"dataset": "zips", "rule": {"kind": "identity"}, "sensitivity": "zips"}
    answer = await hostile.post("/v1/gates/zips/evaluations", json=body | {"dictionaries": {"r": "blank"}})
    result = answer.json()["result"]
    assert result["verdict"] == "fail"
    assert [own["columns"] for own in result["coverage"]["uncovered"]] == [uncovered] * bool(uncovered)


RISKS: tuple[dict[str, Any], ...] = (
    *({"kind": "score", "value": own} for own in ("risk_max", "risk_average", "loss_quantiles.0.95")),
    {"kind": "measure", "measure": {"kind": "riskiest_records"}, "value": "risk_average"},
    {"kind": "measure", "measure": {"kind": "linking_attack"}, "value": "greatest_probability"},
)


@pytest.mark.deep
@pytest.mark.parametrize(
    ("register", "outcome"),
    [
        ([f"f,0{10000 + n}" for n in range(40)] * 20, "fail"),
        (["f,10000"] * 800, "fail"),
        ([f"f,{10000 + n}" for n in range(39)] * 20, "fail"),
        ([f"f,{10000 + n}" for n in range(40)] * 20, "pass"),
        ([f"f,{10000 + n}.0" for n in range(40)] * 20, "pass"),
    ],
    ids=[
        "another spelling",
        "one value",
        "one person lacking",
        "everybody",
        "everybody, with a fraction of 0",
    ],
)
async def test_the_risk_of_whom_the_dictionary_does_not_have_covers_nothing(
    client: httpx.AsyncClient, register: list[str], outcome: str
):
    for name, lines in {"zips": [f"f,{10000 + n}" for n in range(40)], "spelt": register}.items():
        content = "sex,zip\n" + "\n".join(lines) + "\n"
        answer = await client.post(f"/v1/uploads?name={name}", content=content, headers=CSV)
        assert answer.status_code == 201, answer.text
    names = ("sex", "zip")
    declared = [{"name": own, "type": "categorical", "role": "quasi_identifier"} for own in names]
    await made(client, "datasets", {"name": "zips", "upload": "zips", "attributes": declared})
    links = [{"attribute": own, "column": own, "transform": {"kind": "identity"}} for own in names]
    await made(client, "dictionaries", {"name": "spelt", "upload": "spelt", "links": links})
    harm = {own: {"leaves": 0.1} for own in names}
    profile = {"name": "zips", "dataset": "zips", "family": "multiplicative", "attributes": harm}
    await made(client, "sensitivity-profiles", profile)
    for number, demand in enumerate(RISKS):
        asked = {"comparison": "at_most", "threshold": 0.1, "dictionary": "r"}
        criterion = {"id": "risk", "title": "Risk", "reason": "For the test.", "demand": demand | asked}
        policy = {"format": "privacy-risk/policy/1", "name": f"zips-{number}", "version": 1, "title": "Zips"}
        more = {"assumes": {"attacker": "A"}, "dictionaries": [{"name": "r"}], "criteria": [criterion]}
        await made(client, "policies", policy | more)
        body = {"dataset": "zips", "rule": {"kind": "identity"}, "sensitivity": "zips"}
        body |= {"dictionaries": {"r": "spelt"}}
        result = (await client.post(f"/v1/gates/zips-{number}/evaluations", json=body)).json()["result"]
        if result["criteria"][0]["outcome"] == "failed":
            # An attacker who has everybody finds them all, whatever risk that is.
            assert demand["value"] == "greatest_probability"
            continue
        assert result["verdict"] == outcome, demand
        uncovered = [own["columns"] for own in result["coverage"]["uncovered"]]
        assert uncovered == [["zip"]] * (outcome == "fail"), demand
