"""Measurements over HTTP: every measure of the catalogue, runs, dry runs, refusals, other tenants."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

from app.api.examples.files import MEMBERS_CSV
from app.api.examples.inputs import DATASETS, SENSITIVITY_PROFILES
from app.api.examples.measurements import BY_MEASURE, MEASUREMENTS, RUN_NAME, RUNS
from app.api.schemas.measurements import RESULTS
from app.domain.analyses.catalogue import MEASURES
from app.services.resources import Scope
from tests.api.prepared import Prepared
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

ANONYMITY = BY_MEASURE["anonymity"]["value"]
ATTRIBUTION = BY_MEASURE["risk_attribution"]["value"]


async def list_of(client: httpx.AsyncClient) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await client.get("/v1/measurements", params={"limit": 200})).json()[
        "items"
    ]
    return found


async def test_every_measure_computes_its_example(journey: httpx.AsyncClient):
    """What comes back is of the measure's own type, not of an earlier version's."""
    for measure in MEASURES:
        name = BY_MEASURE[measure.name]["value"]["name"]
        answer = (await journey.get(f"/v1/measurements/{name}")).json()
        assert (answer["measure"], answer["version"]) == (measure.name, measure.version)
        assert answer["guarantee"] == measure.guarantee
        result = answer["result"]
        assert (result["kind"], result["version"]) == (measure.name, measure.version)
        typed = RESULTS[measure.name].model_validate(result)
        assert set(result) == set(type(typed).model_fields)
        assert json.loads(typed.model_dump_json()) == result
    assert {item["name"] for item in await list_of(journey)} >= {*MEASUREMENTS, RUN_NAME}


async def test_k_anonymity_of_the_proposal_is_what_a_reader_counts(journey: httpx.AsyncClient):
    """Counties, races, years of birth, incomes by ten thousand: all twelve members stand alone."""
    answer = (await journey.get("/v1/measurements/proposal-anonymity")).json()
    assert answer["parameters"] == {"k": 2}
    assert answer["rule"]["name"] == "proposal"
    assert answer["result"] == {
        "kind": "anonymity",
        "version": 1,
        "k_matching": 1,
        "k_equivalence": 1,
        "classes": 12,
        "class_sizes": [{"size": 1, "classes": 12}],
        "records_below_k": 12,
        "is_k_anonymous": False,
        "row_of_k_matching": 1,
        "row_of_k_equivalence": 1,
    }


async def test_an_equal_create_answers_the_one_that_exists(journey: httpx.AsyncClient):
    again = await journey.post("/v1/measurements", json=ANONYMITY)
    assert again.status_code == 200
    assert again.json() == (await journey.get("/v1/measurements/proposal-anonymity")).json()
    other = await journey.post(
        "/v1/measurements", json=ANONYMITY | {"measure": {"kind": "anonymity", "k": 4}}
    )
    problem_of(other, 409, "conflict")


async def test_without_a_name_one_is_made_of_the_content(journey: httpx.AsyncClient):
    body = {key: value for key, value in ANONYMITY.items() if key != "name"}
    made = await journey.post("/v1/measurements", json=body)
    assert made.status_code == 201
    assert made.json()["name"] == f"measurement-{made.json()['sha256'][:16]}"
    assert made.headers["location"] == f"/v1/measurements/{made.json()['id']}"
    assert (await journey.post("/v1/measurements", json=body)).status_code == 200
    assert (await journey.delete(f"/v1/measurements/{made.json()['name']}")).status_code == 204


async def test_an_id_and_a_name_ask_the_same_question(journey: httpx.AsyncClient):
    """Also inside the measure's parameters."""
    body = BY_MEASURE["record_linkage"]["value"]
    auxiliary = (await journey.get(f"/v1/dictionaries/{body['measure']['auxiliary']}")).json()
    by_id = body | {"name": "by-id", "measure": body["measure"] | {"auxiliary": auxiliary["id"]}}
    answer = (await journey.post("/v1/measurements", json=by_id)).json()
    assert answer["parameters"]["auxiliary"] == auxiliary["name"]
    assert answer["sha256"] == (await journey.get(f"/v1/measurements/{body['name']}")).json()["sha256"]
    used = await journey.delete(f"/v1/dictionaries/{auxiliary['id']}")
    assert "by-id" in problem_of(used, 409, "conflict")["detail"] + used.text


async def test_earlier_releases_are_those_that_were_recorded(journey: httpx.AsyncClient):
    """Left open, they become the rules of the dataset's releases at the time of asking."""
    answer = (await journey.get("/v1/measurements/proposal-after-release")).json()
    assert answer["parameters"] == {"earlier": ["members-optimum"]}
    assert answer["result"]["releases"] == 1
    used = await journey.delete("/v1/rules/members-optimum")
    assert "proposal-after-release" in used.text
    body = BY_MEASURE["risk_given_releases"]["value"]
    body = body | {"name": "alone", "measure": body["measure"] | {"earlier": []}}
    alone = (await journey.post("/v1/measurements", json=body)).json()["result"]
    assert alone["releases"] == 0
    assert alone["given"] == alone["alone"] == answer["result"]["alone"]


async def test_a_rule_may_be_given_where_it_is_used(journey: httpx.AsyncClient):
    rule = {"kind": "suppression", "attributes": ["city", "race", "birth_date", "income"]}
    body = ANONYMITY | {"name": "withheld", "rule": rule}
    answer = (await journey.post("/v1/measurements", json=body)).json()
    assert (answer["rule"]["name"], answer["rule"]["kind"]) == (None, "suppression")
    assert answer["result"]["k_equivalence"] == 12


async def test_a_run_computes_what_the_direct_answer_would(api, journey: httpx.AsyncClient):
    run = await journey.post("/v1/measurements/runs", json=ATTRIBUTION | {"absent_policy": "add_self"})
    problem_of(run, 409, "conflict")
    body = ATTRIBUTION | {"name": "by-run", "risk_model": "II"}
    run = await journey.post("/v1/measurements/runs", json=body)
    assert run.status_code == 202
    assert run.headers["location"] == f"/v1/runs/{run.json()['id']}"
    assert (await journey.get("/v1/measurements/by-run")).json()["result"] is None
    await api.work_off(run.json()["id"])
    done = (await journey.get("/v1/runs/by-run")).json()
    assert (done["state"], done["progress"]["done"]) == ("succeeded", done["progress"]["total"])
    result = (await journey.get("/v1/measurements/by-run")).json()["result"]
    assert result == (await journey.get(f"/v1/runs/{done['id']}/result")).json()
    # What a run has found is found by the direct route: the same inputs have the same hash.
    direct = await journey.post("/v1/measurements", json=body | {"name": "directly"})
    assert direct.json()["result"] == result


async def test_the_example_of_the_run_route_has_its_result(journey: httpx.AsyncClient):
    answer = (await journey.get(f"/v1/measurements/{RUN_NAME}")).json()
    assert answer["parameters"] == {"k": RUNS[RUN_NAME]["value"]["measure"]["k"]}
    assert answer["result"]["records_below_k"] == 12


async def test_a_dry_run_of_every_measure_tells_the_cost_and_stores_nothing(
    journey: httpx.AsyncClient, unchanged: None
):
    for name, example in BY_MEASURE.items():
        body = example["value"] | {"name": "never"}
        answer = await journey.post("/v1/measurements", params={"dry_run": True}, json=body)
        assert answer.status_code == 200, (name, answer.text)
        plan = answer.json()
        assert plan == (await journey.post("/v1/measurements/plans", json=body)).json(), name
        assert (plan["route"], plan["missing"]) == ("direct", []), name
        assert plan["seconds"] > 0, name
        assert plan["units"] >= 1, name


async def test_what_a_measure_needs_is_asked_for_by_name(journey: httpx.AsyncClient):
    body = {"dataset": "members", "measure": {"kind": "risk_attribution"}}
    problem = problem_of(await journey.post("/v1/measurements", json=body), 422, "invalid-input")
    faults = {(fault["pointer"], fault["code"]) for fault in problem["errors"]}
    assert faults == {("/rule", "missing"), ("/dictionary", "missing"), ("/sensitivity", "missing")}
    plan = (await journey.post("/v1/measurements", params={"dry_run": True}, json=body)).json()
    assert plan["route"] is None
    assert {(fault["pointer"], fault["code"]) for fault in plan["missing"]} == faults
    problem_of(await journey.post("/v1/measurements/runs", json=body), 422, "invalid-input")


async def test_what_leads_nowhere_is_listed_by_a_dry_run(journey: httpx.AsyncClient):
    linkage = BY_MEASURE["record_linkage"]["value"]
    body = linkage | {"rule": "nothing", "measure": linkage["measure"] | {"auxiliary": "nobody"}}
    plan = (await journey.post("/v1/measurements", params={"dry_run": True}, json=body)).json()
    assert {fault["pointer"] for fault in plan["missing"]} == {"/rule", "/measure/auxiliary"}
    problem_of(await journey.post("/v1/measurements", json=body), 422, "invalid-input")


async def test_a_measure_that_does_not_cover_the_case_says_why(journey: httpx.AsyncClient):
    body = BY_MEASURE["record_linkage"]["value"] | {"name": "never", "absent_policy": "add_self"}
    problem = problem_of(await journey.post("/v1/measurements", json=body), 422, "not-supported")
    assert "absent policy" in problem["detail"]
    plan = (await journey.post("/v1/measurements", params={"dry_run": True}, json=body)).json()
    assert [fault["code"] for fault in plan["missing"]] == ["not-supported"]
    assert plan["missing"][0]["message"] == problem["detail"]


@pytest.mark.parametrize(
    ("measure", "pointer"),
    [
        ({"kind": "anonymity", "k": 0}, "/measure/k"),
        ({"kind": "anonymity", "k": "5"}, "/measure/k"),
        ({"kind": "anonymity", "k": 2.5}, "/measure/k"),
        ({"kind": "anonymity", "kk": 2}, "/measure/kk"),
        ({"kind": "unheard_of"}, "/measure/kind"),
        ({"k": 2}, "/measure"),
        ({"kind": "record_linkage"}, "/measure/auxiliary"),
        ({"kind": "record_linkage", "auxiliary": "../x"}, "/measure/auxiliary"),
        ({"kind": "expected_count_errors"}, "/measure/p_cap"),
        ({"kind": "expected_count_errors", "p_cap": 0.5, "queries": 99}, "/measure/queries"),
        ({"kind": "expected_count_errors", "p_cap": 0.5, "seed": 1}, "/measure/seed"),
        ({"kind": "expected_count_errors", "rho_1": 0.5, "rho_2": 0.5}, "/measure/rho_1"),
    ],
)
async def test_parameters_are_held_to_their_bounds(
    client: httpx.AsyncClient, measure: dict[str, Any], pointer: str
):
    body = {"dataset": "members", "measure": measure}
    problem = problem_of(await client.post("/v1/measurements", json=body), 422, "invalid-input")
    assert [fault["pointer"] for fault in problem["errors"]] == [pointer]


async def test_rules_named_by_parameters_are_those_of_the_dataset(journey: httpx.AsyncClient):
    """A rule of another dataset over the same columns would be applied to the wrong records."""
    (known,) = [d for d in (await journey.get("/v1/datasets")).json()["items"] if d["name"] == "members"]
    body = DATASETS["members"]["value"] | {"name": "fewer"}
    fewer = body | {"attributes": [a for a in body["attributes"] if a["name"] != "income"]}
    made = await journey.post("/v1/datasets", json=fewer)
    assert made.status_code == 201, made.text
    assert made.json()["sha256"] != known["sha256"]
    rule = {"name": "of-fewer", "dataset": "fewer", "rule": {"kind": "identity"}}
    assert (await journey.post("/v1/rules", json=rule)).status_code == 201
    body = BY_MEASURE["risk_given_releases"]["value"]
    body = body | {"name": "never", "measure": body["measure"] | {"earlier": ["proposal", "of-fewer"]}}
    problem = problem_of(await journey.post("/v1/measurements", json=body), 422, "invalid-input")
    assert [(fault["pointer"], fault["code"]) for fault in problem["errors"]] == [
        ("/measure/earlier/1", "other-dataset")
    ]


async def test_infinite_risk_travels_as_text_in_what_is_asked_and_answered(journey: httpx.AsyncClient):
    body = SENSITIVITY_PROFILES["members-harm"]["value"]
    weights = body["attributes"] | {"city": {"constant": "inf"}}
    made = await journey.post(
        "/v1/sensitivity-profiles", json=body | {"name": "prohibited", "attributes": weights}
    )
    assert made.status_code == 201, made.text
    asked = ATTRIBUTION | {"name": "prohibited", "sensitivity": "prohibited"}
    result = (await journey.post("/v1/measurements", json=asked)).json()["result"]
    assert result["risk"] == "inf"
    assert result["responsible"] == ["city"]


async def test_a_condition_asks_the_data_and_needs_the_scope_for_it(
    api, journey: httpx.AsyncClient, journeys_end: Prepared
):
    actor = await api.services.tenants.authenticate(journeys_end.token)
    rule = {
        "kind": "conditional",
        "statements": [{"kind": "hide", "attribute": "city", "unless": "income >= 50000"}],
    }
    asked = ANONYMITY | {"name": "by-condition", "rule": rule}
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as assessor:
        problem_of(await assessor.post("/v1/measurements", json=asked), 403, "forbidden")
    made = await journey.post("/v1/measurements", json=asked)
    assert made.status_code == 201, made.text
    assert made.json()["rule"]["kind"] == "conditional"


async def test_a_set_of_dictionaries_is_refused_with_what_to_do(journey: httpx.AsyncClient):
    (known, *_) = (await journey.get("/v1/dictionary-sets")).json()["items"]
    body = ATTRIBUTION | {"name": "never", "dictionary": known["name"]}
    problem = problem_of(await journey.post("/v1/measurements", json=body), 422, "invalid-input")
    assert [fault["code"] for fault in problem["errors"]] == ["dictionary-set"]


async def test_parameters_cannot_refer_to_the_resources_of_another_tenant(
    journey: httpx.AsyncClient, other_client: httpx.AsyncClient
):
    """All else is the tenant's own; only what the parameters name is another's."""
    sent = await other_client.post("/v1/uploads?name=people", content=b"race\nWhite\n")
    assert sent.status_code == 201, sent.text
    links = [{"attribute": "race", "column": "race", "transform": {"kind": "identity"}}]
    theirs = await other_client.post(
        "/v1/dictionaries", json={"name": "people", "upload": "people", "links": links}
    )
    body = BY_MEASURE["record_linkage"]["value"]
    body = body | {"name": "stolen", "measure": body["measure"] | {"auxiliary": theirs.json()["id"]}}
    problem_of(await journey.post("/v1/measurements", json=body), 422, "invalid-input")
    plan = (await journey.post("/v1/measurements", params={"dry_run": True}, json=body)).json()
    assert [fault["pointer"] for fault in plan["missing"]] == ["/measure/auxiliary"]


async def test_measuring_needs_the_scope_and_reading_does_not(api, journey: httpx.AsyncClient):
    actor, _ = await api.tenant_with_key()
    async with api.client(await api.key_with(actor, Scope.DATA_READ)) as reader:
        problem_of(await reader.post("/v1/measurements", json=ANONYMITY), 403, "forbidden")
        assert (await reader.get("/v1/measurements")).status_code == 200
        assert (await reader.get("/v1/catalogue")).status_code == 200


async def test_the_catalogue_says_what_a_value_can_be_and_which_way_people_are_safer(client):
    catalogue = (await client.get("/v1/catalogue")).json()["measures"]
    values = {
        (measure["name"], own["path"]): (own["kind"], own["least"], own["greatest"], own["safer"])
        for measure in catalogue
        for own in measure["values"]
    }
    assert values["anonymity", "k_equivalence"] == ("whole number", 1, "inf", "high")
    assert values["equivalence_classes", "unique_share"] == ("number", 0, 1, "low")
    assert values["anonymity", "is_k_anonymous"] == ("boolean", 0, 1, "high")
    assert values["equivalence_classes", "judged.records"] == ("whole number", 0, "inf", None)
    assert all(measure["values"] for measure in catalogue)


async def test_values_of_cells_are_shown_to_nobody_without_data_read(api, journey: httpx.AsyncClient):
    """Neither in measurements nor in the results of runs; rows and numbers are the same for everybody."""
    token = journey.headers["authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    body = {
        "name": "share-by-run",
        "dataset": "members",
        "measure": {"kind": "alpha_k_anonymity", "attribute": "income", "k": 2},
    }
    run = (await journey.post("/v1/measurements/runs", json=body)).json()
    await api.work_off(run["id"])
    incomes = {"[", *(line.rpartition(",")[2] for line in MEMBERS_CSV.splitlines()[1:])}
    shown: set[str] = set()
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as assessor:
        for path in (*(f"measurements/{name}" for name in MEASUREMENTS), f"runs/{run['id']}/result"):
            everything = (await journey.get(f"/v1/{path}")).json()
            hidden = (await assessor.get(f"/v1/{path}")).json()
            assert hidden.keys() == everything.keys()
            told = texts_in(everything) - texts_in(hidden)
            shown |= told
            assert all(text.startswith(tuple(incomes)) for text in told), path
            assert not texts_in(hidden.get("result", hidden)) & incomes, path
    assert len(shown) > 1, "the measures of sensitive values name some"


async def test_whom_a_record_may_be_is_named_to_those_who_may_read_the_data(api, journey: httpx.AsyncClient):
    token = journey.headers["authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    levels = {"city": 3, "birth_date": 2}
    body = BY_MEASURE["consistent_entities"]["value"] | {
        "name": "whom", "rule": {"kind": "table_level", "levels": levels}
    }  # fmt: skip
    found = (await journey.post("/v1/measurements", json=body)).json()["result"]
    assert 0 < found["consistent"] == len(found["entities"])
    assert all(isinstance(own, str) for own in found["entities"])
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as assessor:
        hidden = (await assessor.get("/v1/measurements/whom")).json()["result"]
    assert hidden["consistent"] == found["consistent"]
    assert set(hidden["entities"]) == {None}


HIGHEST = {"kind": "pd_recursive_l_diversity", "c": 1, "l": 2, "harmless": ["[0, 100000["]}


@pytest.mark.parametrize(
    "asked",
    [
        {"measure": {"kind": "disclosure_diversity", "harmless": ["[0, 100000["]}},
        {"measure": {"kind": "disclosure_diversity", "protected": ["[0, 100000["]}},
        {"measure": {"kind": "alpha_k_anonymity", "values": ["[0, 100000["]}},
        {"measure": {"kind": "similarity_attack", "groups": ["[0, 100000["]}},
        {"measure": {"kind": "beta_likeness", "reference": {"39000": 1, "41000": 10}}},
        {"measure": {"kind": "beta_likeness", "groups": ["[0, 100000["]}},
        {"measure": {"kind": "background_knowledge_attack", "target": 1, "not_values": ["39000"]}},
        {
            "measure": {"kind": "consistent_entities", "id": "m1"},
            "rule": "proposal",
            "dictionary": "census",
        },
        {
            "measure": {"kind": "consistent_entities", "row": 1},
            "rule": "proposal",
            "dictionary": "census",
        },
        {
            "measure": {
                "kind": "record_linkage",
                "auxiliary": "census",
                "estimator": "given",
                "links": [{"row": 1, "auxiliary_row": 1, "probability": 1.0}],
            },
            "rule": "proposal",
            "dictionary": "census",
        },
        {
            "measure": {"kind": "equivalence_classes"},
            "rule": {"kind": "table_level", "levels": {}, "suppress_classes_failing": [HIGHEST]},
        },
        {"measure": {"kind": "expected_count_errors", "p_cap": 0.5}},
    ],
)
async def test_who_names_values_or_a_record_learns_who_has_them_and_must_be_allowed_to(
    api, journey: httpx.AsyncClient, asked
):
    """Whose rows an answer lists says as much as the value would, if the question has just the one."""
    token = journey.headers["authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    body = {"dataset": "members", **asked}
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as assessor:
        paths = ("measurements", "measurements?dry_run=true", "measurements/runs", "measurements/plans")
        for path in paths:
            refused = problem_of(await assessor.post(f"/v1/{path}", json=body), 403, "forbidden")
            assert refused["scope"] == "data:read"


def texts_in(value: object) -> set[str]:
    """All texts of a JSON value that are no keys."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return set().union(*map(texts_in, inner))
    return {value} if isinstance(value, str) else set()
