"""What answers count, whom they name, what they warn of; and that upgrades leave questions as they were."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.api.examples.gates import EVALUATIONS, NAME
from app.api.examples.inputs import DATASETS, DICTIONARIES
from app.services.fingerprints import resource_sha256
from app.services.resources import Kind, NewResource, RunState
from tests.api.operations import DOCUMENT
from tests.api.optimisations import EXAMPLES, QUESTION, asking, found
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

SOURCES = {key: QUESTION[key] for key in ("dataset", "dictionary", "sensitivity")}


async def created(client: httpx.AsyncClient, address: str, body: dict[str, Any]) -> dict[str, Any]:
    response = await client.post(f"/v1/{address}", json=body)
    assert response.status_code == 201, response.text
    made: dict[str, Any] = response.json()
    return made


async def run(api, client: httpx.AsyncClient, address: str, body: dict[str, Any]) -> None:
    response = await client.post(f"/v1/{address}", json=body)
    assert response.status_code in (201, 202), response.text
    await api.work_off(response.json()["id"])


@pytest.mark.deep
async def test_tied_rules_and_records_with_ties_are_counted_under_names_of_their_own(
    api, journey: httpx.AsyncClient
):
    harmless = {"name": "no-harm", "dataset": "members", "family": "constant", "constant": 0}
    await created(journey, "sensitivity-profiles", harmless)
    asked = QUESTION | {"sensitivity": "no-harm", "objective": {"kind": "min_risk", "utility_floor": 0}}
    whole = await found(api, journey, asked | {"name": "whole"})
    assert whole["optimal_rules"] == whole["ties"] == whole["rules"] > 12, "no rule has any risk"
    assert whole["records_with_ties"] is None
    single = asked | {"scope": "record_level", "solver": "enumeration"}
    each = await found(api, journey, single | {"name": "each"})
    assert each["records_with_ties"] == each["ties"] == 12
    assert each["optimal_rules"] is None
    given = EXAMPLES["best-proposal"]["solver"]
    among = await found(api, journey, asked | {"name": "among", "solver": given})
    assert (among["optimal_rules"], among["ties"], among["records_with_ties"]) == (3, 3, None)
    pruned = await found(api, journey, asked | {"name": "pruned", "solver": "btda"})
    assert (pruned["optimal_rules"], pruned["ties"], pruned["records_with_ties"]) == (None, None, None)
    fields = DOCUMENT["components"]["schemas"]["SearchResult"]["properties"]
    assert fields["ties"]["deprecated"] is True
    assert not any(fields[name].get("deprecated") for name in ("optimal_rules", "records_with_ties"))


async def test_an_assessment_names_the_record_of_each_extreme(journey: httpx.AsyncClient):
    body = {"name": "named", **SOURCES, "rule": {"kind": "table_level", "levels": {"city": 1, "race": 1}}}
    result = (await created(journey, "assessments", body))["result"]
    records = (await journey.get("/v1/assessments/named/records?format=csv")).text.splitlines()
    columns = records[0].split(",")
    rows = [dict(zip(columns, line.split(","), strict=True)) for line in records[1:]]
    for column, headline in (("loss", "risk_max"), ("loss", "risk_min"), ("utility", "utility_min")):
        values = [float(row[column]) for row in rows]
        extreme = max(values) if headline.endswith("max") else min(values)
        assert extreme == pytest.approx(result[headline])
        assert result[f"row_of_{headline}"] == 1 + values.index(extreme), headline
    counts = [int(row["count"]) for row in rows]
    assert result["row_of_min_consistent"] == 1 + counts.index(result["min_consistent"])
    assert 1 <= result["row_of_k_equivalence"] <= 12


async def test_the_worst_case_of_several_dictionaries_names_the_record_too(journey: httpx.AsyncClient):
    body = {**SOURCES, "rule": "proposal"}
    worst = {"name": "worst", "dictionary": "attackers", "attacker_view": "worst_case"}
    result = (await created(journey, "assessments", body | worst))["result"]
    view, parts = result["views"]["worst_case"], result["dictionaries"]
    assert result["row_of_risk_max"] == view["row_of_risk_max"]
    assert result["row_of_risk_max"] == parts[view["at_max"] - 1]["row_of_risk_max"]
    fewest = min(parts, key=lambda part: part["min_consistent"])
    assert result["row_of_min_consistent"] == fewest["row_of_min_consistent"]
    for name in ("bayes", "worst_case_per_record"):
        assert 1 <= result["views"][name]["row_of_risk_max"] <= 12


@pytest.fixture
async def without_hierarchies(journey: httpx.AsyncClient) -> httpx.AsyncClient:
    """Another dataset of the members whose city and income have no hierarchy."""
    dataset = DATASETS["members"]["value"]
    bare = [
        {key: own[key] for key in own if key != "hierarchy" or own["name"] not in ("city", "income")}
        for own in dataset["attributes"]
    ]
    made = await created(journey, "datasets", {**dataset, "name": "bare", "attributes": bare})
    assert ["'city' has no hierarchy" in own for own in made["warnings"]].count(True) == 1
    await created(journey, "dictionaries", {"name": "bare-themselves", "from_dataset": "bare"})
    harm = {"name": "bare-harm", "dataset": "bare", "family": "constant", "constant": 1}
    await created(journey, "sensitivity-profiles", harm)
    return journey


SCORED = {"dataset": "bare", "dictionary": "bare-themselves", "sensitivity": "bare-harm"}
LEAST = {"dataset": "bare", "objective": asking("", [{"kind": "k_anonymity", "k": 2}])["objective"]}
BY_RISK = SCORED | {"objective": {"kind": "min_risk", "utility_floor": 1}}
LOCAL = LEAST["objective"] | {"local_recoding": True, "suppression_limit": 0.5}


@pytest.mark.parametrize(
    ("address", "asked", "columns"),
    [
        ("optimisations", BY_RISK, ["city", "income"]),
        ("optimisations", BY_RISK | {"scope": "record_level"}, ["city", "income"]),
        ("optimisations", LEAST, ["city"]),
        ("optimisations", LEAST | {"scope": "record_level"}, ["city"]),
        ("optimisations", LEAST | {"objective": LOCAL}, ["city"]),
        ("frontiers", SCORED, ["city", "income"]),
        ("frontiers", SCORED | {"scope": "record_level"}, ["city", "income"]),
    ],
)
async def test_a_search_warns_of_the_columns_that_it_can_only_show_or_suppress(
    api, without_hierarchies: httpx.AsyncClient, address, asked, columns
):
    client = without_hierarchies
    await run(api, client, address, asked | {"name": "asked"})
    shown = (await client.get(f"/v1/{address}/asked")).json()
    assert [own.split("'")[1] for own in shown["warnings"]] == columns
    assert all("show its values as they are or suppress them" in own for own in shown["warnings"])
    assert shown["result"] is not None


async def test_a_search_of_columns_with_hierarchies_or_of_given_rules_warns_of_nothing(
    api, without_hierarchies: httpx.AsyncClient
):
    client = without_hierarchies
    assert (await client.get("/v1/optimisations/members-optimum")).json()["warnings"] == []
    await created(client, "rules", {"name": "as-is", "dataset": "bare", "rule": {"kind": "identity"}})
    solver = {"kind": "min_risk_of_candidates", "rules": ["as-is"]}
    await run(api, client, "optimisations", BY_RISK | {"name": "given", "solver": solver})
    assert (await client.get("/v1/optimisations/given")).json()["warnings"] == []


MAPPED = {
    "kind": "table_level",
    "levels": {"city": 3, "birth_date": 2},
    "suppress_classes_failing": [{"kind": "k_map", "k": 4}],
    "dictionary": "people",
}


async def test_a_rule_without_a_name_keeps_its_population(api, journey: httpx.AsyncClient):
    """Restating it for the next delivery, or scoring it again, needs the dictionary that it names."""
    await created(journey, "dictionaries", DICTIONARIES["census"]["value"] | {"name": "people"})
    dataset = DATASETS["members"]["value"]
    await created(journey, "datasets", {**dataset, "name": "next"})
    reuse = {"kind": "rule_reuse", "next_dataset": "next"}
    await run(
        api, journey, "measurements/runs", {"name": "reused", **SOURCES, "rule": MAPPED, "measure": reuse}
    )
    await created(journey, "assessments", {"name": "mapped-score", **SOURCES, "rule": MAPPED})
    gate = EVALUATIONS[NAME]["value"] | {"name": "mapped-gate", "rule": MAPPED}
    judged = await created(journey, "gates/members-release/evaluations", gate)
    assert 1 <= judged["result"]["risk"]["register"]["row_of_risk_max"] <= 12
    users = problem_of(await journey.delete("/v1/dictionaries/people"), 409, "conflict")["details"]["users"]
    assert sorted((own["kind"], own["name"]) for own in users) == [
        ("assessment", "mapped-score"),
        ("evaluation", "mapped-gate"),
        ("measurement", "reused"),
    ]
    result = (await journey.get("/v1/measurements/reused")).json()["result"]
    assert result["before"]["risk"] == result["now"]["risk"], "the same records under the rule stated anew"
    assert result["now"]["row_of_risk_max"] == result["before"]["row_of_risk_max"]


async def test_an_empty_dictionary_never_promises_more_than_it_knows(journey: httpx.AsyncClient):
    """With add_self the one entity that counts is the record's own: nobody is safe from it."""
    uploaded = await journey.post("/v1/uploads", params={"name": "nobody"}, content=b"member_id,place,race\n")
    assert uploaded.status_code == 201, uploaded.text
    register = DICTIONARIES["register"]["value"] | {"name": "nobody", "upload": "nobody"}
    await created(journey, "dictionaries", register)
    said = {}
    for policy in ("zero", "add_self"):
        body = {**SOURCES, "dictionary": "nobody", "rule": "proposal", "absent_policy": policy}
        result = (await created(journey, "assessments", body))["result"]
        said[policy] = " ".join(result["warnings"])
        assert (result["risk_average"] > 0) is (policy == "add_self")
    assert "every identification probability is 0" in said["zero"]
    assert "every identification probability is 1" in said["add_self"]
    assert "is 0" not in said["add_self"]


async def test_overrides_of_entities_that_a_delivery_lacks_are_ignored(journey: httpx.AsyncClient):
    content = b"who,what,weight\nm-01,city,Infinity\nm-99,city,5\n"
    uploaded = await journey.post("/v1/uploads", params={"name": "weights"}, content=content)
    assert uploaded.status_code == 201, uploaded.text
    overrides = {
        "by": "entity",
        "upload": "weights",
        "key_column": "who",
        "attribute_column": "what",
        "weight_column": "weight",
    }
    harm = {"dataset": "members", "family": "linear_personal", "overrides": overrides}
    attributes = {
        name: {"leaves": 1, "inner": "harmonic"} for name in ("city", "race", "birth_date", "income")
    }
    made = await created(
        journey, "sensitivity-profiles", {"name": "personal", **harm, "attributes": attributes}
    )
    assert any(own.startswith("Ignored for entities") and "1 row" in own for own in made["warnings"]), made
    body = {**SOURCES, "sensitivity": "personal", "rule": {"kind": "identity"}}
    result = (await created(journey, "assessments", body))["result"]
    assert (result["risk_max"], result["row_of_risk_max"], result["infinite"]) == ("inf", 1, 1)


OLD = {
    "objective": {"kind": "min_risk", "utility_floor": 6.0},
    "scope": "table_level",
    "solver": "branch_and_bound",
    "utility": "depth_sum",
    "absent_policy": "zero",
    "max_nodes": 9,
}
"""An optimisation as the first version stored it: no budget, no sources, no name of a model."""


async def test_a_stored_question_keeps_its_number_of_nodes_through_an_upgrade(
    api, journey: httpx.AsyncClient
):
    actor = await api.services.tenants.authenticate(journey.headers["Authorization"].split()[1])
    kinds = {"dataset": Kind.DATASET, "dictionary": Kind.DICTIONARY, "sensitivity": Kind.SENSITIVITY_PROFILE}
    async with api.store.work(actor.tenant) as work:
        used = {role: await work.resources.get(kind, SOURCES[role]) for role, kind in kinds.items()}
        old = NewResource(
            Kind.OPTIMISATION,
            "old",
            resource_sha256(Kind.OPTIMISATION, OLD, {role: own.sha256 for role, own in used.items()}),
            {**SOURCES, **OLD},
            OLD,
            tuple(own.id for own in used.values()),
        )
        stored, _ = await work.resources.add(old)
        queued = await work.runs.create(stored, stored.sha256, {})
        await work.commit()
    await api.work_off(queued.id)
    assert (await api.services.runs.get(actor, queued.id)).state is RunState.SUCCEEDED
    shown = (await journey.get("/v1/optimisations/old")).json()
    budget = {"max_nodes": 9, "relative_gap": None, "time_limit_seconds": None}
    assert shown["budget"] == shown["result"]["budget"] == budget
    assert shown["warnings"] == []
    again = QUESTION | {"solver": "branch_and_bound", "budget": {"max_nodes": 9}}
    fresh = await found(api, journey, again | {"name": "fresh"})
    assert fresh == shown["result"], "the same question, asked now"
    assert shown["result"]["visited_nodes"] <= 9
    assert shown["result"]["status"] == "heuristic"
    whole = await found(api, journey, again | {"name": "whole", "budget": {}})
    assert whole["visited_nodes"] > 9
