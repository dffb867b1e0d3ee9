"""Sensitivity profiles over HTTP: every family and option, and what is refused at which place."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from tests.api.journey import walk
from tests.api.prepared import Prepared
from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio

ATTRIBUTES = {
    "city": {"leaves": 0.3},
    "race": {"leaves": 0.4},
    "birth_date": {"constant": 0.5},
    "income": {"leaves": 0.75},
}
ADDRESS = "/v1/sensitivity-profiles"


@pytest.fixture
async def members(api: Any, with_datasets: Prepared) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose tenant has the dataset of the examples, and no profile yet."""
    async with api.client(with_datasets.token) as client:
        yield client


def profile(family: str = "interactions", **more: Any) -> dict[str, Any]:
    return {"name": "p", "dataset": "members", "family": family, "attributes": ATTRIBUTES, **more}


def sets(*weights: float | str, **options: Any) -> dict[str, Any]:
    names = [["city", "race"], ["city", "birth_date"], ["race", "birth_date", "income"]]
    given = [{"attributes": a, "weight": w} for a, w in zip(names, weights, strict=False)]
    return {"sets": given, **options}


FAMILIES = [
    profile("linear"),
    profile("linear_personal"),
    profile(interactions=sets(0.1, 0.2, "inf")),
    profile("multiplicative"),
    profile("multiplicative_centered"),
    {"name": "p", "dataset": "members", "family": "constant", "constant": "inf"},
]


@pytest.mark.parametrize("body", FAMILIES, ids=lambda body: body["family"])
async def test_a_profile_of_every_family_is_made_and_read_again(members, body):
    created = await members.post(ADDRESS, json=body)
    assert created.status_code == 201, created.text
    assert (await members.get(f"{ADDRESS}/p")).json() == created.json()
    assert created.json()["family"] == body["family"]
    assert (await members.post(ADDRESS, json=body)).status_code == 200
    otherwise = json.loads(json.dumps(body).replace('"inf"', '"Infinity"'))
    assert (await members.post(ADDRESS, json=otherwise)).status_code == 200, "the same by its other name"


async def test_a_profile_says_all_that_it_was_given(members):
    await members.post(
        "/v1/uploads",
        params={"name": "w"},
        content=b"who,what,weight\nm-01,city & race,secret\nm-02,city,1\n",
    )
    await members.post("/v1/uploads", params={"name": "g"}, content=b"who,what,weight\nBoston,city,0.5\n")
    columns = {"key_column": "who", "attribute_column": "what", "weight_column": "weight"}
    body = profile(
        interactions=sets(0.1, 0.2, order=2),
        overrides=[
            {"upload": "w", "by": "entity", **columns, "labels": {"secret": 0.25}},
            {"upload": "g", "by": "group", **columns, "group_attribute": "city"},
        ],
        normalisation={"rule": "at_most", "total": 1.5, "mode": "rescale"},
        unit="euro",
        viewpoint="organisation",
    )
    created = await members.post(ADDRESS, json=body)
    assert created.status_code == 201, created.text
    found = created.json()
    assert found["interactions"] == {"sets": 2, "order": 2, "min": 0.1, "max": 0.2}
    # All but the last record, which has no income, hold weights of more than 1.5.
    assert found["normalisation"] == {"rule": "at_most", "total": 1.5, "mode": "rescale", "rescaled": 11}
    assert [(one["upload"], one["by"]) for one in found["overrides"]] == [("w", "entity"), ("g", "group")]
    assert (found["unit"], found["viewpoint"]) == ("euro", "organisation")
    assert found["warnings"] == []


FAULTS = [
    (profile(), ["/interactions"], "at least one set"),
    (profile("linear", interactions=sets(0.1)), ["/interactions"], "family interactions"),
    (profile(interactions=sets(-0.1)), ["/interactions/sets/0/weight"], "allow_negative"),
    (
        profile(interactions=sets(-0.1, -0.1, allow_negative=True)),
        ["/interactions/city"],
        "least weight",
    ),
    (profile(interactions=sets("-inf", allow_negative=True)), ["/interactions/sets/0/weight"] * 2, ""),
    (profile(interactions=sets(0.1, 0.1, 0.1, order=2)), ["/interactions/sets/2/attributes"], "order"),
    (
        profile(interactions={"sets": [{"attributes": ["city", "colour"], "weight": 1}]}),
        ["/interactions/sets/0/attributes"],
        "The attributes are: city",
    ),
    (
        profile(interactions={"sets": [{"attributes": ["city"], "weight": 1}]}),
        ["/interactions/sets/0/attributes"],
        "",
    ),
    (profile(interactions={"sets": []}), ["/interactions/sets"], ""),
    (profile(interactions=sets(0.1, order=1)), ["/interactions/order"], ""),
    (
        profile("linear", normalisation={"rule": "equal", "total": 1, "mode": "validate"}),
        ["/normalisation"],
        "rescaled",
    ),
    (
        profile("linear", normalisation={"rule": "at_most", "total": 1, "mode": "rescale"}),
        ["/normalisation/mode"],
        "another family",
    ),
    (
        profile("linear_personal", normalisation={"rule": "equal", "total": 0, "mode": "rescale"}),
        ["/normalisation/total"],
        "",
    ),
    (
        profile("linear", attributes=ATTRIBUTES | {"city": {"leaves": 0.0}, "birth_date": {"leaves": "inf"}})
        | {"normalisation": {"rule": "equal", "total": 1.15, "mode": "validate"}},
        ["/normalisation"],
        "first rows: 12)",
    ),
    (
        profile(
            "linear",
            attributes=ATTRIBUTES
            | {
                "race": {
                    "nodes": dict.fromkeys(["White", "Middle Eastern", "Black", "Chinese", "Japanese"], 1.0)
                    | {"European": 1, "African American": 1, "Asian": 1, "*": 0.5}
                }
            },
        ),
        ["/attributes/race/*"],
        "explicitly",
    ),
    (
        {
            "name": "p",
            "dataset": "members",
            "family": "constant",
            "constant": 1,
            "interactions": sets(0.1),
        },
        ["/attributes"],
        "",
    ),
]


@pytest.mark.parametrize(("body", "where", "said"), FAULTS)
async def test_what_is_wrong_is_named_where_it_is(members, body, where, said):
    problem = problem_of(await members.post(ADDRESS, json=body), 422, "invalid-input")
    assert pointers(problem) == where, problem
    assert said in " ".join(error["message"] + error["remedy"] for error in problem["errors"])
    assert (await members.get(f"{ADDRESS}/p")).status_code == 404


async def test_who_violates_a_normalisation_is_named_by_row_and_not_by_identifier(members):
    body = profile("linear", normalisation={"rule": "equal", "total": 1.95, "mode": "validate"})
    response = await members.post(ADDRESS, json=body)
    (error,) = problem_of(response, 422, "invalid-input")["errors"]
    assert error["code"] == "weights-below-total"
    assert "1 entity sum to less than 1.95, by up to 0.75 (first rows: 12)" in error["message"]
    assert "m-12" not in response.text


@pytest.mark.deep
async def test_interactions_raise_the_harm_of_records_that_disclose_the_whole_set(api, members):
    async for _, response in walk(api, members, before="assessments"):
        assert response.status_code < 400, response.text
    bodies = [
        profile(interactions=sets(weight)) | {"name": name}
        for name, weight in (("apart", 0), ("together", 2))
    ]
    bodies.append({"name": "alone", "dataset": "members", "family": "constant", "constant": 2})
    risks = {}
    for body in bodies:
        assert (await members.post(ADDRESS, json=body)).status_code == 201
        for suppressed in ([], ["race"]):
            question = {
                "dataset": "members",
                "dictionary": "census",
                "sensitivity": body["name"],
                "rule": {"kind": "suppression", "attributes": suppressed},
            }
            scored = await members.post("/v1/assessments", json=question)
            assert scored.status_code in (200, 201), scored.text
            risks[body["name"], len(suppressed)] = scored.json()["result"]["risk_average"]
    assert risks["together", 0] == pytest.approx(risks["apart", 0] + risks["alone", 0])
    assert risks["together", 1] == risks["apart", 1]
