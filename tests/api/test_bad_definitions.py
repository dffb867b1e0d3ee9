"""Bad hierarchies, datasets, dictionaries, weights, rules, questions: refused whole, with clear words."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import httpx
import pytest

from app.api.examples.assessments import ASSESSMENTS
from app.api.examples.files import MEMBERS_CSV
from app.api.examples.inputs import DATASETS, DICTIONARIES, SENSITIVITY_PROFILES
from app.api.examples.rules import RULES
from app.api.examples.searches import OPTIMISATIONS
from app.services.questions import DirectBudget
from tests.api.problem_documents import pointers, problem_of
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio


def flat(**source: Any) -> dict[str, Any]:
    return {"kind": "flat", **source}


def chain(length: int) -> dict[str, list[str | None]]:
    """Each value below the next one."""
    return {str(n): [str(n + 1) if n < length else None] for n in range(length + 1)}


BAD_HIERARCHIES: list[tuple[str, dict[str, Any], str]] = [
    ("cyclic", {"kind": "parents", "parents": {"a": ["b"], "b": ["c"], "c": ["a"]}}, "cycl"),
    ("own parent", {"kind": "parents", "parents": {"a": ["a"]}}, ""),
    ("unknown parent", {"kind": "parents", "parents": {"a": ["nowhere"]}}, "nowhere"),
    ("no values", {"kind": "parents", "parents": {}}, ""),
    ("ragged rows", {"kind": "rows", "rows": [["a", "x"], ["b"]]}, ""),
    ("two parents in rows", {"kind": "rows", "rows": [["a", "x", "t"], ["b", "x", "u"]]}, "x"),
    ("a leaf twice", {"kind": "rows", "rows": [["a", "x"], ["a", "y"]]}, "a"),
    ("no source", flat(), "exactly one"),
    ("two sources", flat(values=["a"], range={"first": "1", "last": "2"}), "exactly one"),
    ("empty range", {"kind": "intervals", "range": {"first": "5", "last": "1"}, "widths": ["10"]}, ""),
    ("step zero", flat(range={"first": "0", "last": "9", "step": "0"}), ""),
    ("no numbers", {"kind": "intervals", "values": ["ten"], "widths": ["10"]}, ""),
    ("not multiples", {"kind": "intervals", "values": ["1", "2"], "widths": ["10", "15"]}, "multiple"),
    ("width NaN", {"kind": "intervals", "values": ["1"], "widths": ["NaN"]}, ""),
    ("width zero", {"kind": "intervals", "values": ["1"], "widths": ["0"]}, ""),
    ("no dates", {"kind": "dates", "values": ["1975-02-30"], "levels": ["day", "year"]}, ""),
    ("levels out of order", {"kind": "dates", "values": ["1975-02-03"], "levels": ["year", "day"]}, ""),
    ("unknown level", {"kind": "dates", "values": ["1975-02-03"], "levels": ["week"]}, "day"),
    ("group of zero", {"kind": "ordered_groups", "values": ["a", "b"], "group_sizes": [0]}, ""),
    ("mask of two", {"kind": "masking", "values": ["abc"], "char": "**"}, ""),
    ("unknown kind", {"kind": "magic"}, "'intervals'"),
    ("nul in a label", flat(values=["a\x00b"]), ""),
    ("lone surrogate", flat(values=["\ud800"]), ""),
    ("range of huge numbers", flat(range={"first": "0", "last": "1e300"}), "too-many-leaves"),
    ("range beyond all numbers", flat(range={"first": "0", "last": "1e999999999"}), "30 digits"),
    ("steps too fine", flat(range={"first": "0", "last": "1", "step": "1e-9999"}), "too-many-leaves"),
    ("huge numbers", {"kind": "intervals", "values": ["1e999999999"], "widths": ["10"]}, "30 digits"),
    ("chain too long", {"kind": "parents", "parents": chain(1500)}, "999"),
    ("bounds out of order", {"kind": "bounds", "values": ["1"], "bounds": [["65", "18"]]}, "/bounds/0/1"),
    ("a bound twice", {"kind": "bounds", "values": ["1"], "bounds": [["18", "18"]]}, "ascending"),
    ("bounds not nested", {"kind": "bounds", "values": ["1"], "bounds": [["18"], ["19"]]}, "/bounds/1/0"),
    ("same bounds", {"kind": "bounds", "values": ["1"], "bounds": [["18"], ["18"]]}, "/bounds/1"),
    (
        "labels of parts",
        {"kind": "bounds", "values": ["1"], "bounds": [["18", "65"]], "labels": [["minor", "adult"]]},
        "2 labels for the 3 parts",
    ),
    (
        "labels of levels",
        {"kind": "bounds", "values": ["1"], "bounds": [["18", "65"], ["18"]], "labels": [["a", "b", "c"]]},
        "each level",
    ),
    (
        "labels twice",
        {"kind": "bounds", "values": ["1"], "bounds": [["18"]], "labels": [["a", "a"]]},
        "of its own",
    ),
    ("bound no number", {"kind": "bounds", "values": ["1"], "bounds": [["x"]]}, "/bounds/0/0"),
    ("lengths", {"kind": "code_prefixes", "values": ["2511"], "lengths": [2, 3]}, "/lengths/1"),
    ("unknown country", {"kind": "postcodes", "values": ["10115"], "country": "XX"}, "'DE'"),
    ("no country", {"kind": "postcodes", "values": ["10115"]}, "/definition/country"),
    ("no postcode", {"kind": "postcodes", "values": ["1011"], "country": "DE"}, "'1011'"),
    ("no diagnosis", {"kind": "diagnoses", "values": ["I21", "I2"]}, "1 of 2 values"),
    ("a category of no block", {"kind": "diagnoses", "values": ["A11"]}, "name in others"),
    ("no land", {"kind": "countries", "values": ["Atlantis"]}, "'Atlantis'"),
    ("no state", {"kind": "us_states", "values": ["Ontario"], "others": ""}, "empty"),
    ("no time", {"kind": "times", "values": ["24:00"]}, "14:35"),
    ("rare among what", {"kind": "rare_values", "values": ["a"], "at_least": 2}, "upload's column"),
    ("mask too long", {"kind": "masking", "values": ["x" * 1000]}, "999"),
]


@pytest.mark.parametrize(
    ("definition", "said"), [case[1:] for case in BAD_HIERARCHIES], ids=[case[0] for case in BAD_HIERARCHIES]
)
async def test_a_bad_hierarchy_is_refused(client, unchanged, definition, said):
    content = json.dumps({"name": "bad", "definition": definition})
    response = await client.post(
        "/v1/hierarchies", content=content, headers={"Content-Type": "application/json"}
    )
    problem = problem_of(response, 422, "invalid-input")
    assert all(pointer.startswith("/definition") for pointer in pointers(problem)), problem
    assert said in " ".join(" ".join(error.values()) for error in problem["errors"])


async def test_a_long_label_in_a_hierarchy_file_is_refused(client, unchanged):
    for text in (b"x" * 1001 + b";t\n", b";".join(b"%d" % n for n in range(1500))):
        response = await client.post("/v1/hierarchies/csv", params={"name": "bad"}, content=text)
        problem_of(response, 422, "invalid-input")


async def test_masking_many_long_values_is_refused_before_it_is_done(client, unchanged):
    values = ["x" * 900 + str(number) for number in range(1000)]
    body = {"name": "bad", "definition": {"kind": "masking", "values": values}}
    problem_of(await client.post("/v1/hierarchies", json=body), 413, "too-large")


async def test_values_with_too_many_ancestors_are_refused(client, unchanged, monkeypatch):
    """Ten layers of ten values, each with all of the layer above as parents."""
    monkeypatch.setattr("app.domain.hierarchies.definitions.MAX_ANCESTORS", 1000)
    layers = [[f"{layer}-{n}" for n in range(10)] for layer in range(10)]
    parents: dict[str, list[str | None]] = {value: [None] for value in layers[0]}
    for above, layer in pairwise(layers):
        parents |= {value: [*above] for value in layer}
    body = {"name": "bad", "definition": {"kind": "parents", "parents": parents}}
    problem_of(await client.post("/v1/hierarchies", json=body), 413, "too-large")


async def test_many_warnings_are_shown_in_part(client):
    """Each value names the top beside its parent, which implies it."""
    parents = {"all": [None]} | {str(n): ["all", None] for n in range(1500)}
    body = {"name": "warned", "definition": {"kind": "parents", "parents": parents}}
    response = await client.post("/v1/hierarchies", json=body)
    assert response.status_code == 201, response.text
    assert response.json()["warnings"][-1] == "There are 501 more warnings."
    assert (await client.get("/v1/hierarchies")).status_code == 200


async def test_intervals_of_long_numbers_are_exact(client):
    value = "123456789012345678901234567890.5"
    definition = {"kind": "intervals", "values": [value], "widths": ["1"]}
    created = await client.post("/v1/hierarchies", json={"name": "long", "definition": definition})
    assert created.status_code == 201, created.text
    tree = (await client.get("/v1/hierarchies/long/tree")).json()
    assert tree["children"][0]["label"] == (
        "[123456789012345678901234567890, 123456789012345678901234567891["
    )


async def test_an_endless_range_is_refused(client, unchanged):
    body = {"name": "bad", "definition": flat(range={"first": "0", "last": "9" * 20})}
    problem = problem_of(await client.post("/v1/hierarchies", json=body), 422, "invalid-input")
    assert pointers(problem) == ["/definition/range/step"]


@pytest.mark.parametrize(
    ("text", "params"),
    [
        (b"", {}),
        (b"a;x\nb\n", {}),
        (b"\xff\xfe", {}),
        (b"a;x;t\nb;x;u\n", {}),
        (b"a;x\n", {"delimiter": ";;"}),
    ],
    ids=["empty", "ragged", "encoding", "two parents", "delimiter"],
)
async def test_a_bad_hierarchy_file_is_refused(client, unchanged, text, params):
    response = await client.post("/v1/hierarchies/csv", params={"name": "bad", **params}, content=text)
    problem_of(response, 422, "invalid-input")


@pytest.mark.parametrize(
    ("text", "warned"),
    [
        (b"Paris,France\nRome,Italy\n", True),
        (b"Paris\tFrance\nRome\tItaly\n", True),
        (b"Paris, France\nRome\n", False),
        (b"Paris;France, all of it\nRome;Italy, all of it\n", False),
        (b"Paris\nRome\n", False),
    ],
)
async def test_labels_that_look_like_rows_of_another_delimiter_are_told(client, text, warned):
    response = await client.post("/v1/hierarchies/csv", params={"name": "towns"}, content=text)
    assert response.status_code == 201
    warnings = response.json()["warnings"]
    assert len(warnings) == warned
    assert all("with that delimiter" in own for own in warnings)


def example(collection: dict[str, Any], which: str, /, **changes: Any) -> dict[str, Any]:
    return collection[which]["value"] | changes


def attributes(**changes: Any) -> list[dict[str, Any]]:
    """The example's attributes, those of city changed."""
    found = DATASETS["members"]["value"]["attributes"]
    return [one | changes if one["name"] == "city" else one for one in found]


RACE_AS_IDENTIFIER = {"name": "race", "type": "text", "role": "identifier"}
INCOME = attributes()[-1]

BAD_DATASETS = [
    ("unknown column", {"attributes": attributes(name="town")}, 422, "town"),
    ("a column twice", {"attributes": attributes() + attributes()}, 422, "city"),
    ("unknown role", {"attributes": attributes(role="secret")}, 422, "role"),
    ("two identifiers", {"attributes": attributes(role="identifier")}, 422, "identifier"),
    ("identifier not unique", {"attributes": [RACE_AS_IDENTIFIER, INCOME]}, 422, "identifier"),
    ("unknown hierarchy", {"attributes": attributes(hierarchy="towns")}, 422, "towns"),
    ("unknown upload", {"upload": "nothing"}, 422, "nothing"),
    ("nothing disclosed", {"attributes": [{"name": "city", "type": "text", "role": "other"}]}, 422, ""),
    ("no number", {"attributes": attributes(type="number")}, 422, "city"),
    ("no date", {"attributes": attributes(type="date")}, 422, "city"),
    ("no attributes", {"attributes": []}, 422, "attributes"),
]


@pytest.mark.parametrize(
    ("changes", "status", "said"), [case[1:] for case in BAD_DATASETS], ids=[case[0] for case in BAD_DATASETS]
)
async def test_a_bad_dataset_is_refused(journey, unchanged, changes, status, said):
    body = example(DATASETS, "members", name="bad", **changes)
    await _refused(journey, "/v1/datasets", body, status, said)


def links(**changes: Any) -> dict[str, Any]:
    found = DICTIONARIES["census"]["value"]["links"]
    return {"links": [one | changes if one["attribute"] == "city" else one for one in found]}


BAD_DICTIONARIES = [
    ("unknown column", links(column="postcode"), 422, "postcode"),
    ("an attribute twice", {"links": links()["links"] * 2}, 422, ""),
    ("lookup without an entry", links(transform={"kind": "lookup", "table": {"1": "Gary"}}), 422, "city"),
    ("lookup of nothing", links(transform={"kind": "lookup"}), 422, "either"),
    ("age that is none", links(transform={"kind": "age", "reference_date": "2020-04-01"}), 422, ""),
    ("date that is none", links(transform={"kind": "age", "reference_date": "2020-02-30"}), 422, "date"),
    ("two sources", {"from_dataset": "members"}, 422, "either"),
    ("unknown identifier", {"identifier": "nobody"}, 422, "nobody"),
    ("identifier not unique", {"identifier": "race"}, 422, "identifier"),
    ("unknown upload", {"upload": "nothing"}, 422, "nothing"),
    ("unknown dataset", {"same_entities_as": "nothing"}, 422, "nothing"),
]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [case[1:] for case in BAD_DICTIONARIES],
    ids=[case[0] for case in BAD_DICTIONARIES],
)
async def test_a_bad_dictionary_is_refused(journey, unchanged, changes, status, said):
    body = example(DICTIONARIES, "census", name="bad", **changes)
    await _refused(journey, "/v1/dictionaries", body, status, said)


def weights(city: Any) -> dict[str, Any]:
    found = SENSITIVITY_PROFILES["members-harm"]["value"]["attributes"]
    return {"attributes": found | {"city": city}}


BAD_PROFILES = [
    ("negative", weights({"leaves": -0.1}), 422, "0"),
    ("minus infinity", weights({"leaves": "-inf"}), 422, "inf"),
    ("NaN as text", weights({"leaves": "NaN"}), 422, "inf"),
    ("a number as text", weights({"leaves": "0.5"}), 422, ""),
    ("true", weights({"constant": True}), 422, ""),
    ("no form", weights({"weight": 1}), 422, "constant, leaves and nodes"),
    ("unknown value", weights({"leaves": {"Atlantis": 1}}), 422, "Atlantis"),
    ("a node without a weight", weights({"nodes": {"Lafayette": 1}}), 422, ""),
    ("more above than below", weights({"nodes": {"Midwest": 9}}), 422, ""),
    ("unknown attribute", {"attributes": {"colour": {"leaves": 1}}}, 422, "colour"),
    ("unknown family", {"family": "cubic"}, 422, "linear"),
    ("a constant elsewhere", {"constant": 1.0}, 422, "constant"),
    ("unknown dataset", {"dataset": "nothing"}, 422, "nothing"),
]


@pytest.mark.parametrize(
    ("changes", "status", "said"), [case[1:] for case in BAD_PROFILES], ids=[case[0] for case in BAD_PROFILES]
)
async def test_bad_weights_are_refused(journey, unchanged, changes, status, said):
    body = example(SENSITIVITY_PROFILES, "members-harm", name="bad", **changes)
    await _refused(journey, "/v1/sensitivity-profiles", body, status, said)


async def test_a_literal_nan_is_no_json(journey, unchanged):
    body = b'{"name": "bad", "dataset": "members", "family": "constant", "constant": NaN}'
    response = await journey.post(
        "/v1/sensitivity-profiles", content=body, headers={"Content-Type": "application/json"}
    )
    problem_of(response, 422, "invalid-input")
    response = await journey.post(
        "/v1/sensitivity-profiles",
        content=body.replace(b"NaN", b"1e999"),
        headers={"Content-Type": "application/json"},
    )
    assert pointers(problem_of(response, 422, "invalid-input")) == ["/constant"]


@pytest.mark.parametrize("sign", ["", "-"])
async def test_a_whole_number_beyond_all_floats_is_no_weight(journey, unchanged, sign):
    number = f"{sign}1{'0' * 400}"
    content = f'{{"name": "bad", "dataset": "members", "family": "constant", "constant": {number}}}'
    response = await journey.post(
        "/v1/sensitivity-profiles", content=content, headers={"Content-Type": "application/json"}
    )
    assert pointers(problem_of(response, 422, "invalid-input")) == ["/constant"]


async def test_values_without_a_weight_are_not_named_where_they_are_cells(client):
    """Without a hierarchy an attribute's values are the cells of its column."""
    table = b"name,town\nZebediah,Gary\nObadiah,Gary\n"
    await client.post("/v1/uploads", params={"name": "people"}, content=table)
    towns = {"name": "towns", "definition": flat(values=["Gary", "Lafayette"])}
    await client.post("/v1/hierarchies", json=towns)
    schema = [
        {"name": "name", "type": "categorical", "role": "quasi_identifier"},
        {"name": "town", "type": "categorical", "role": "quasi_identifier", "hierarchy": "towns"},
    ]
    await client.post("/v1/datasets", json={"name": "people", "upload": "people", "attributes": schema})
    for kind in ("leaves", "nodes"):
        given = {"name": {kind: {"x": 1}}, "town": {kind: {"Gary": 1}}}
        body = {"name": "bad", "dataset": "people", "family": "linear", "attributes": given}
        response = await client.post("/v1/sensitivity-profiles", json=body)
        problem = problem_of(response, 422, "invalid-input")
        assert pointers(problem) == ["/attributes/name/x", "/attributes/name", "/attributes/town/Lafayette"]
        assert "diah" not in response.text


async def test_an_infinite_weight_gives_an_infinite_risk_that_is_written_inf(journey):
    body = example(SENSITIVITY_PROFILES, "members-harm", name="infinite", **weights({"leaves": "inf"}))
    body["family"] = "linear"
    created = await journey.post("/v1/sensitivity-profiles", json=body)
    assert created.status_code == 201, created.text
    assert created.json()["attributes"]["city"]["max"] == "inf"
    body = example(ASSESSMENTS, "as-is-score", name="infinite", sensitivity="infinite")
    scored = await journey.post("/v1/assessments", json=body)
    assert scored.status_code == 201, scored.text
    assert scored.json()["result"]["risk_average"] == "inf"
    assert scored.json()["result"]["infinite"] == 12


def table_rule(**levels: int) -> dict[str, Any]:
    return {"rule": {"kind": "table_level", "levels": levels}}


def record_rule(**record: Any) -> dict[str, Any]:
    return {"rule": {"kind": "record_level", "records": [record]}}


BAD_RULES = [
    ("above the top", table_rule(city=5), 422, "4"),
    ("below zero", table_rule(city=-1), 422, "0"),
    ("no whole number", {"rule": {"kind": "table_level", "levels": {"city": 1.5}}}, 422, ""),
    ("no number", {"rule": {"kind": "table_level", "levels": {"city": "1"}}}, 422, ""),
    ("a truth value", {"rule": {"kind": "table_level", "levels": {"city": True}}}, 422, ""),
    ("unknown attribute", table_rule(colour=1), 422, "colour"),
    ("not disclosed", table_rule(member_id=1), 422, "member_id"),
    ("suppress the unknown", {"rule": {"kind": "suppression", "attributes": ["colour"]}}, 422, "colour"),
    ("unknown entity", record_rule(entity="m-99", levels={"city": 1}), 422, "m-99"),
    ("unknown row", record_rule(row=13, levels={"city": 1}), 422, "12"),
    ("entity and row", record_rule(entity="m-01", row=1, levels={"city": 1}), 422, "exactly one"),
    ("unknown dataset", {"dataset": "nothing"}, 422, "nothing"),
]


@pytest.mark.parametrize(
    ("changes", "status", "said"), [case[1:] for case in BAD_RULES], ids=[case[0] for case in BAD_RULES]
)
async def test_a_bad_rule_is_refused(journey, unchanged, changes, status, said):
    body = example(RULES, "proposal", name="bad", **changes)
    await _refused(journey, "/v1/rules", body, status, said)


BAD_ASSESSMENTS = [
    ("unknown rule", {"rule": "nothing"}, 422, "nothing"),
    ("bad inline rule", table_rule(city=5), 422, "4"),
    ("unknown dictionary", {"dictionary": "nothing"}, 422, "nothing"),
    ("unknown sensitivity", {"sensitivity": "nothing"}, 422, "nothing"),
    ("unknown policy", {"absent_policy": "ignore"}, 422, "zero"),
]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [case[1:] for case in BAD_ASSESSMENTS],
    ids=[case[0] for case in BAD_ASSESSMENTS],
)
async def test_a_bad_assessment_is_refused(journey, unchanged, changes, status, said):
    body = example(ASSESSMENTS, "proposal-score", name="bad", **changes)
    for path in ("/v1/assessments", "/v1/assessments/runs"):
        await _refused(journey, path, body, status, said)


def objective(kind: str, **bounds: Any) -> dict[str, Any]:
    return {"objective": {"kind": kind, **bounds}}


BAD_OPTIMISATIONS = [
    ("no objective", objective("least_effort"), 422, "min_risk"),
    ("no floor", objective("min_risk"), 422, "utility_floor"),
    ("negative floor", objective("min_risk", utility_floor=-1), 422, "utility_floor"),
    ("negative cap", objective("max_utility", risk_cap=-1), 422, "risk_cap"),
    ("negative trade-off", objective("lagrangian", trade_off=-1), 422, "trade_off"),
    ("no nodes", {"budget": {"max_nodes": 0}}, 422, "/budget/max_nodes"),
    ("a gap of everything", {"budget": {"relative_gap": 1}}, 422, "/budget/relative_gap"),
    ("no time", {"budget": {"time_limit_seconds": 0}}, 422, "/budget/time_limit_seconds"),
    ("unknown kind of solver", {"solver": {"kind": "oracle"}}, 422, "/solver/kind"),
    ("parameter of no solver", {"solver": {"kind": "enumeration", "seed": 1}}, 422, "/solver/seed"),
    ("unknown solver", {"solver": "oracle"}, 422, "solver"),
    ("unknown dictionary", {"dictionary": "nothing"}, 422, "nothing"),
]


@pytest.mark.parametrize(
    ("changes", "status", "said"),
    [case[1:] for case in BAD_OPTIMISATIONS],
    ids=[case[0] for case in BAD_OPTIMISATIONS],
)
async def test_a_bad_optimisation_is_refused(journey, unchanged, changes, status, said):
    body = example(OPTIMISATIONS, "members-optimum", name="bad", **changes)
    await _refused(journey, "/v1/optimisations", body, status, said)


async def test_an_infeasible_threshold_is_a_result_that_says_by_how_much(api, journey):
    body = example(
        OPTIMISATIONS,
        "members-optimum",
        name="infeasible",
        **objective("min_risk", utility_floor=50),
    )
    started = await journey.post("/v1/optimisations", json=body)
    assert started.status_code == 201
    await api.work_off(started.json()["id"])
    assert (await journey.get("/v1/runs/infeasible")).json()["state"] == "succeeded"
    result = (await journey.get("/v1/runs/infeasible/result")).json()
    assert result["status"] == "infeasible"
    assert result["infeasible_by"]
    problem_of(await journey.get("/v1/rules/infeasible"), 404, "not-found")


async def test_a_dataset_with_unknown_values_is_kept_but_not_scored(journey):
    await journey.post(
        "/v1/uploads",
        params={"name": "odd"},
        content=MEMBERS_CSV.replace("Gary", "Gaary").encode(),
    )
    body = example(DATASETS, "members", name="odd", upload="odd")
    created = await journey.post("/v1/datasets", json=body)
    assert (created.status_code, created.json()["status"]) == (201, "needs_attention")
    assert "Gaary" not in created.text
    profile = (await journey.get("/v1/datasets/odd/profile")).json()
    city = next(one for one in profile["attributes"] if one["name"] == "city")
    assert (city["unknown_rows"], city["unknown"]) == (1, [{"value": "Gaary", "rows": 1}])
    response = await journey.post(
        "/v1/rules", json={"name": "odd", "dataset": "odd", "rule": {"kind": "identity"}}
    )
    assert response.status_code in (201, 422)
    body = example(ASSESSMENTS, "as-is-score", name="odd", dataset="odd")
    response = await journey.post("/v1/assessments", json=body)
    assert response.status_code in (409, 422)
    assert "Gaary" not in response.text
    mended = example(
        DATASETS,
        "members",
        name="mended",
        upload="odd",
        attributes=attributes(map={"Gaary": "Gary"}),
    )
    assert (await journey.post("/v1/datasets", json=mended)).json()["status"] == "ready"


async def test_what_is_in_use_cannot_be_deleted_and_its_users_are_named(journey):
    for path, user in (
        ("/v1/hierarchies/city", "members"),
        ("/v1/uploads/members", "members"),
        ("/v1/datasets/members", "proposal"),
    ):
        body = problem_of(await journey.delete(path), 409, "conflict")
        assert user in str(body["details"])
        assert (await journey.get(path)).status_code == 200


async def test_another_content_under_a_name_is_a_conflict(journey, unchanged):
    body = example(RULES, "proposal", rule={"kind": "identity"})
    await _refused(journey, "/v1/rules", body, 409, "proposal")


async def _refused(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], status: int, said: str
) -> None:
    response = await client.post(path, json=body)
    code = {409: "conflict", 422: "invalid-input"}[status]
    problem = problem_of(response, status, code)
    text = " ".join([problem["detail"], *(" ".join(e.values()) for e in problem.get("errors", ()))])
    assert said in text


async def test_what_would_take_too_long_to_be_answered_at_once_becomes_a_run(api, journey, monkeypatch):
    monkeypatch.setattr(api.services.assessments, "_budget", DirectBudget(0.0, 0))
    rule = {"kind": "suppression", "attributes": ["race"]}
    body = example(ASSESSMENTS, "as-is-score", name="large", rule=rule)
    plan = await journey.post("/v1/assessments/plans", json=body)
    assert (plan.status_code, plan.json()["route"]) == (200, "run")
    asked = await journey.post("/v1/assessments", json=body)
    assert (asked.status_code, asked.json()["result"]) == (202, None)
    run = asked.json()["run"]
    assert asked.headers["location"] == f"/v1/runs/{run['id']}"
    again = await journey.post("/v1/assessments", json=body, headers={"Prefer": "wait=0"})
    assert (again.status_code, again.json()) == (202, asked.json())
    twin = await journey.post("/v1/assessments/runs", json=body)
    assert (twin.status_code, twin.json()) == (202, run)
    await api.work_off(run["id"])
    found = (await journey.get("/v1/assessments/large")).json()
    assert found["result"]["n_records"] == 12
    done = await journey.post("/v1/assessments", json=body)
    assert (done.status_code, done.json()) == (200, found)
    assert done.headers["location"] == f"/v1/assessments/{found['id']}"


async def test_whoever_waits_for_a_large_question_is_answered_as_for_a_small_one(api, journey, monkeypatch):
    monkeypatch.setattr(api.services.assessments, "_budget", DirectBudget(0.0, 0))
    rule = {"kind": "suppression", "attributes": ["race"]}
    body = example(ASSESSMENTS, "as-is-score", name="awaited", rule=rule)
    posting = asyncio.create_task(journey.post("/v1/assessments", json=body, headers={"Prefer": "wait=30"}))
    async with asyncio.timeout(HANG_SECONDS):
        while (queued := await journey.get("/v1/runs/awaited")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await api.work_off(queued.json()["id"])
    answer = await posting
    found = answer.json()
    assert (answer.status_code, found["run"]["state"], found["result"]["n_records"]) == (201, "succeeded", 12)
    assert answer.headers["location"] == f"/v1/assessments/{found['id']}"


async def test_whoever_waits_for_a_question_that_comes_to_nothing_is_told_so(api, journey, monkeypatch):
    monkeypatch.setattr(api.services.assessments, "_budget", DirectBudget(0.0, 0))
    rule = {"kind": "suppression", "attributes": ["race"]}
    body = example(ASSESSMENTS, "as-is-score", name="ended", rule=rule)
    posting = asyncio.create_task(journey.post("/v1/assessments", json=body, headers={"Prefer": "wait=30"}))
    async with asyncio.timeout(HANG_SECONDS):
        while (await journey.get("/v1/runs/ended")).status_code != 200:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    await journey.post("/v1/runs/ended/cancel")
    assert "ended as cancelled" in problem_of(await posting, 409, "conflict")["detail"]


async def test_a_dry_run_names_what_is_missing_and_stores_nothing(journey, unchanged):
    body = example(ASSESSMENTS, "as-is-score", name="dry", dictionary="nothing")
    plan = await journey.post("/v1/assessments", params={"dry_run": "true"}, json=body)
    assert plan.status_code == 200
    assert plan.json()["route"] is None
    assert "nothing" in str(plan.json()["missing"])
