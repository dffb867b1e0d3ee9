"""Gates on tables with several rows per person: what a row is comes first, and doubt passes nothing."""

from __future__ import annotations

import random
from typing import Any

import httpx
import pytest

from app.api.schemas.verdicts import VerdictResult
from app.domain.mechanisms.catalogue import MECHANISMS
from app.evidence.keys import read_keys
from app.evidence.verification import verify
from tests.api.problem_documents import problem_of
from tests.unit.domain.mechanism_questions import QUESTIONS

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
CSV = {"Content-Type": "text/csv"}
NOT_SAID = "Each row counts as one person: assumed, nobody said so."
OF_PERSONS = "Persons are counted by column 'pid': 8 persons in 15 rows."
ROWS = [
    (pid, *place.split(","), dx)
    for pid, place, several in (
        ("p1", "N,m", "d0 d1 d2 d0 d1"), ("p2", "S,f", "d0 d1 d2"), ("p3", "S,f", "d0 d1"),
        *((f"p{number}", "E,m", "d0") for number in range(4, 9)),
    )
    for dx in several.split()
]  # fmt: skip
"""The visits of 8 persons, 15 in all; each of the three classes has 5 rows."""

VISITS = "visit,pid,region,sex,dx\n" + "".join(
    f"v{number},{','.join(row)}\n" for number, row in enumerate(ROWS)
)
PID = {"name": "pid", "type": "text", "role": "person"}
VISIT = {"name": "visit", "type": "text", "role": "identifier"}
REST = [
    {"name": "region", "type": "categorical", "role": "quasi_identifier"},
    {"name": "sex", "type": "categorical", "role": "quasi_identifier"},
    {"name": "dx", "type": "categorical", "role": "sensitive"},
]
ROLES = {own["name"]: own["role"] for own in REST}
IDENTITY = {"rule": {"kind": "identity"}}


async def visits(client: httpx.AsyncClient, *columns: Json, text: str = VISITS, **said: Any) -> None:
    """The dataset of the visits under the name ``visits``."""
    assert (await client.post("/v1/uploads?name=visits", content=text, headers=CSV)).status_code == 201
    body = {"name": "visits", "upload": "visits", "attributes": [*columns, *REST], **said}
    made = await client.post("/v1/datasets", json=body)
    assert made.status_code == 201, made.text


def policy(schema: Json | None = None, severity: str = "block") -> Json:
    return {
        "format": "privacy-risk/policy/2", "name": "five", "version": 1, "title": "Five in every class",
        "assumes": {"attacker": "Who knows region and sex."},
        **({} if schema is None else {"schema": schema}),
        # What no requirement reads may leave: these tests are of what a row is.
        "not_covered": [{"columns": ["dx", *([] if schema else ["visit"])], "reason": "For the test."}],
        "requirements": [{
            "id": "k", "title": "5-anonymity", "reason": "Chosen for the test.", "severity": severity,
            "requirement": {"kind": "measure", "measure": {"kind": "equivalence_classes"}, "value": "k",
                            "comparison": "at_least", "threshold": 5},
        }],
    }  # fmt: skip


async def judged(
    client: httpx.AsyncClient, schema: Json | None = None, severity: str = "block", **asked: Any
) -> Json:
    """The verdict on the visits as they are, or on the release that is asked about, under the name ``e``."""
    made = await client.post("/v1/policies", json=policy(schema, severity))
    assert made.status_code in (200, 201), made.text
    body = {"name": "e", "dataset": "visits", **(asked or IDENTITY)}
    answer = await client.post("/v1/gates/five/evaluations", json=body)
    assert answer.status_code == 201, answer.text
    result: Json = answer.json()["result"]
    return result


def is_refused(result: Json, *texts: str) -> None:
    """It is an error in which no requirement has a value, and which says why in every text."""
    assert (result["verdict"], result["coverage"]["outcome"]) == ("error", "not_computable")
    (criterion,) = result["criteria"]
    assert (criterion["outcome"], criterion["value"], result["risk"]) == ("not_computable", None, None)
    for text in texts:
        assert text in result["coverage"]["explanation"]
        assert text in criterion["error"]["message"] + criterion["error"]["remedy"]


@pytest.mark.parametrize("severity", ["block", "warn"])
async def test_where_nobody_said_what_a_row_is_signs_make_the_verdict_an_error(
    client: httpx.AsyncClient, severity: str
):
    await visits(client)
    result = await judged(client, severity=severity)
    is_refused(result, "one person seems to have several", "'pid'", "role person", "rows_are: persons")
    assert result["rows_are"] == {
        "kind": "not_said", "column": None, "persons": None, "said_by": None, "sentence": NOT_SAID
    }  # fmt: skip
    assert result["assumptions"][0] == NOT_SAID


async def test_signs_are_looked_for_in_columns_too_that_the_dataset_leaves_out(client: httpx.AsyncClient):
    # The policy names every column that is disclosed; that of persons is in the upload alone.
    await visits(client)
    is_refused(await judged(client, {"attributes": {**ROLES, "pid": "dropped"}}), "'pid'")


async def test_whole_rows_that_are_repeated_are_a_sign(client: httpx.AsyncClient):
    rows = [f"{region},{sex},d{number % 7}" for number in range(20) for region, sex in [(f"r{number}", "f")]]
    await visits(client, text="region,sex,dx\n" + "\n".join(rows * 11) + "\n")
    is_refused(await judged(client), "Every distinct row occurs 11 times")


async def test_where_persons_are_named_they_are_counted(client: httpx.AsyncClient):
    await visits(client, PID)
    result = await judged(client)
    (criterion,) = result["criteria"]
    assert (result["verdict"], criterion["outcome"], criterion["value"]) == ("fail", "failed", 1)
    assert result["rows_are"] == {
        "kind": "person_column", "column": "pid", "persons": 8, "said_by": "dataset", "sentence": OF_PERSONS
    }  # fmt: skip
    assert "several rows of one person" in " ".join(result["not_covered"])
    assert (await judged_again(client, "person"))["criteria"][0]["value"] == 1


async def test_persons_weigh_one_each_in_what_is_required_of_distributions(client: httpx.AsyncClient):
    """By rows the farthest class is at 0.4; by persons (N, m), of one of them, is at 0.379 of the table."""
    await visits(client, PID)
    measures = [
        ("e", {"kind": "l_diversity"}, "entropy_l", "at_least", 2),
        ("near", {"kind": "t_closeness", "t": 0.38}, "records_farther", "at_most", 0),
        ("far", {"kind": "t_closeness", "t": 0.37}, "records_farther", "at_most", 0),
    ]
    asked = policy() | {"name": "distributions"}
    asked["requirements"] = [
        {"id": id_, "title": id_, "reason": "For the test.", "severity": "block",
         "requirement": {"kind": "measure", "measure": measure, "value": value, "comparison": how,
                         "threshold": threshold}}
        for id_, measure, value, how, threshold in measures
    ]  # fmt: skip
    made = await client.post("/v1/policies", json=asked)
    assert made.status_code == 201, made.text
    answer = await client.post("/v1/gates/distributions/evaluations", json={"dataset": "visits", **IDENTITY})
    found = {own["id"]: (own["outcome"], own["value"]) for own in answer.json()["result"]["criteria"]}
    assert found == {"e": ("failed", 1.0), "near": ("passed", 0), "far": ("failed", 5)}


async def judged_again(client: httpx.AsyncClient, role: str) -> Json:
    """The same by a policy that names the persons, too."""
    named = policy({"attributes": {**ROLES, "pid": role}}) | {"name": "named"}
    assert (await client.post("/v1/policies", json=named)).status_code == 201
    answer = await client.post("/v1/gates/named/evaluations", json={"dataset": "visits", **IDENTITY})
    assert answer.status_code == 201, answer.text
    result: Json = answer.json()["result"]
    return result


@pytest.mark.parametrize("said_by", ["dataset", "policy"])
async def test_where_each_row_is_said_to_be_a_person_rows_are_counted(
    client: httpx.AsyncClient, said_by: str
):
    said = {"rows_are": "persons"}
    await visits(client, **(said if said_by == "dataset" else {}))
    result = await judged(client, {"attributes": ROLES, **(said if said_by == "policy" else {})})
    assert (result["verdict"], result["criteria"][0]["value"]) == ("pass", 5)
    sentence = f"Each row is a person, as the {said_by} says."
    assert (result["rows_are"]["kind"], result["rows_are"]["said_by"]) == ("persons", said_by)
    assert result["rows_are"]["sentence"] == result["assumptions"][0] == sentence
    page = (await client.get("/v1/evaluations/e/report")).text
    assert page.index(sentence) < page.index('id="attacker"')


@pytest.mark.parametrize(
    ("columns", "schema", "by_policy", "by_dataset"),
    [
        ([PID], {"attributes": ROLES, "rows_are": "persons"}, "persons", "pid"),
        ([PID], {"attributes": {**ROLES, "visit": "person"}}, "visit", "pid"),
        ([], {"attributes": {**ROLES, "pid": "person"}}, "pid", "no column"),
        ([VISIT], {"attributes": {**ROLES, "visit": "person"}}, "visit", "no column"),
    ],
)
async def test_policy_and_dataset_that_name_different_persons_make_an_error(
    client: httpx.AsyncClient, columns: list[Json], schema: Json, by_policy: str, by_dataset: str
):
    await visits(client, *columns)
    is_refused(
        await judged(client, schema),
        f"{by_policy} in the policy 'five', and by {by_dataset} in the dataset 'visits'",
        "Make a new version of the policy, or another dataset",
    )


@pytest.mark.parametrize("role", [None, "dropped", "identifier"])
async def test_of_a_policy_that_says_nothing_of_persons_those_of_the_dataset_are_counted(
    client: httpx.AsyncClient, role: str | None
):
    await visits(client, PID)
    result = await judged(client, {"attributes": ROLES | ({} if role is None else {"pid": role})})
    assert (result["verdict"], result["criteria"][0]["value"]) == ("fail", 1)
    assert result["rows_are"]["sentence"] == OF_PERSONS


async def test_a_dataset_of_persons_is_no_match_for_a_policy_that_names_a_column(client: httpx.AsyncClient):
    await visits(client, rows_are="persons")
    is_refused(await judged(client, {"attributes": {**ROLES, "pid": "person"}}), "said by pid in the policy")


@pytest.mark.parametrize("columns", [[], [PID]], ids=["not said", "by a column"])
async def test_evidence_says_what_a_row_is_and_verifies(client: httpx.AsyncClient, columns: list[Json]):
    await visits(client, *columns)
    result = await judged(client)
    signed = (await client.get("/v1/evaluations/e/evidence")).content
    verified = verify(signed, read_keys((await client.get("/v1/signing-keys")).content))
    assert verified.statement.predicate["result"]["rows_are"] == result["rows_are"]
    assert verified.statement.predicate["result"]["verdict"] == result["verdict"]


def test_verdicts_from_before_did_not_say_what_a_row_is():
    assert VerdictResult.model_fields["rows_are"].default is None


async def release(client: httpx.AsyncClient, rows: list[int], *, key: bool) -> None:
    """The visits of these numbers as a file under the name ``out``, all cells as they are."""
    lines = [",".join((*([f"v{row}"] if key else []), *ROWS[row][1:])) for row in rows]
    text = ("visit," if key else "") + "region,sex,dx\n" + "\n".join(lines) + "\n"
    assert (await client.post("/v1/uploads?name=out", content=text, headers=CSV)).status_code == 201


SHUFFLED = random.Random(3).sample(range(len(ROWS)), len(ROWS))


async def test_the_persons_of_a_file_with_a_key_are_known(client: httpx.AsyncClient):
    await visits(client, VISIT, PID)
    # Without the person who is in a class by itself two are the fewest, and without the next class five.
    for name, kept, k in (("a", "NSE", 1), ("b", "SE", 2), ("c", "E", 5)):
        rows = [row for row in SHUFFLED if ROWS[row][1] in kept]
        await release(client, rows, key=True)
        result = await judged(client, release={"upload": "out", "key": "visit"}, name=name)
        assert (result["criteria"][0]["value"], result["verdict"]) == (k, "pass" if k == 5 else "fail")
        assert (await client.delete(f"/v1/evaluations/{name}")).status_code == 204
        assert (await client.delete("/v1/uploads/out")).status_code == 204


async def test_the_persons_of_a_file_of_whole_classes_are_known_without_a_key(client: httpx.AsyncClient):
    await visits(client, PID)
    for name, kept, k in (("a", "NSE", 1), ("b", "SE", 2), ("c", "E", 5)):
        await release(client, [row for row in SHUFFLED if ROWS[row][1] in kept], key=False)
        result = await judged(client, release={"upload": "out"}, name=name)
        assert (result["criteria"][0]["value"], result["verdict"]) == (k, "pass" if k == 5 else "fail")
        assert result["subject"]["release"]["aligned_by"] == "classes"
        assert (await client.delete(f"/v1/evaluations/{name}")).status_code == 204
        assert (await client.delete("/v1/uploads/out")).status_code == 204


async def test_without_a_key_nobody_knows_whose_the_rows_of_a_part_of_a_class_are(client: httpx.AsyncClient):
    await visits(client, PID)
    await release(client, SHUFFLED[:-1], key=False)
    result = await judged(client, release={"upload": "out"})
    (criterion,) = result["criteria"]
    assert (result["verdict"], criterion["outcome"], criterion["value"]) == ("error", "not_computable", None)
    assert "nobody knows whose the rows of the file are" in criterion["error"]["message"]
    assert "Name a key column" in criterion["error"]["remedy"]
    assert "stored release" in criterion["error"]["remedy"]


async def test_a_file_in_the_order_of_the_records_is_refused(client: httpx.AsyncClient):
    await visits(client, VISIT, PID)
    await release(client, list(range(len(ROWS))), key=False)
    said = {"upload": "out", "order": "records"}
    is_refused(await judged(client, release=said), "the rows of one person can be joined")


async def test_a_file_that_keeps_the_order_of_the_records_is_refused_whatever_is_said(
    client: httpx.AsyncClient,
):
    await visits(client, VISIT, PID)
    await release(client, list(range(len(ROWS))), key=True)
    is_refused(
        await judged(client, release={"upload": "out", "key": "visit"}),
        "the rows of one person can be joined",
    )


async def test_a_release_of_persons_has_no_chosen_order_and_says_what_a_row_is(client: httpx.AsyncClient):
    await visits(client, PID)
    rule = {"name": "as-is", "dataset": "visits", **IDENTITY}
    assert (await client.post("/v1/rules", json=rule)).status_code == 201
    asked = {"name": "r", "dataset": "visits", "rule": "as-is"}
    problem = problem_of(
        await client.post("/v1/releases", json={**asked, "order": "records"}), 422, "invalid-input"
    )
    assert [(own["pointer"], own["code"]) for own in problem["errors"]] == [("/order", "rows-can-be-joined")]
    made = await client.post("/v1/releases", json=asked)
    assert made.status_code == 201, made.text
    assert made.json()["rows_are"]["sentence"] == OF_PERSONS
    result = await judged(client, release={"name": "r"})
    assert (result["verdict"], result["criteria"][0]["value"]) == ("fail", 1)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda own: own.name)
async def test_every_mechanism_refuses_a_table_with_several_rows_per_person(
    client: httpx.AsyncClient, mechanism: Any
):
    await visits(client, PID)
    chosen = {"kind": mechanism.name, **QUESTIONS[mechanism.name][0]}
    asked = {"name": "r", "dataset": "visits", "mechanism": chosen}
    answer = await client.post("/v1/releases", json=asked)
    problem = problem_of(answer, 422, "not-supported")
    assert "with a person column" in problem["detail"] + str(problem)
    assert "one row per person" in str(problem)
