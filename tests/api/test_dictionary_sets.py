"""Sets of dictionaries: what they say of themselves, and every prior that is none."""

from __future__ import annotations

import pytest

from tests.api.problem_documents import pointers, problem_of

pytestmark = pytest.mark.anyio


def members(*priors: float | None) -> list[dict]:
    names = ("census", "members-themselves")
    return [
        {"dictionary": name} if prior is None else {"dictionary": name, "prior": prior}
        for name, prior in zip(names, priors, strict=False)
    ]


async def test_a_set_shows_its_dictionaries_in_their_order(journey):
    shown = (await journey.get("/v1/dictionary-sets/attackers")).json()
    assert shown["dictionaries"] == [
        {"dictionary": "census", "entities": 20, "prior": 0.75},
        {"dictionary": "members-themselves", "entities": 12, "prior": 0.25},
    ]
    assert shown["warnings"] == []


async def test_the_same_set_is_there_already_and_another_prior_is_another_set(journey):
    body = {"name": "attackers", "dictionaries": members(0.75, 0.25)}
    assert (await journey.post("/v1/dictionary-sets", json=body)).status_code == 200
    body["dictionaries"] = members(0.25, 0.75)
    problem_of(await journey.post("/v1/dictionary-sets", json=body), 409, "conflict")


@pytest.mark.parametrize("priors", [(0.3, 0.7 + 5e-10), (1.0, 0.0), (0.1, 0.9), (None, None)])
async def test_a_prior_that_sums_to_one_within_the_tolerance_is_accepted(journey, priors):
    body = {"name": "another", "dictionaries": members(*priors)}
    response = await journey.post("/v1/dictionary-sets", json=body)
    assert response.status_code == 201, response.text
    ignored = [w for w in response.json()["warnings"] if "prior 0" in w]
    assert len(ignored) == (0.0 in priors)


@pytest.mark.parametrize(
    ("dictionaries", "code", "pointer"),
    [
        (members(0.5, None), "incomplete-prior", "/dictionaries"),
        (members(0.5, 0.5 + 2e-9), "prior-not-one", "/dictionaries"),
        (members(0.5, 0.4), "prior-not-one", "/dictionaries"),
        ([*members(0.5, 0.25), *members(0.25)], "duplicate-dictionary", "/dictionaries/2/dictionary"),
        (members(-0.5, 1.5), "greater_than_equal", "/dictionaries/0/prior"),
        ([], "too_short", "/dictionaries"),
    ],
)
async def test_a_prior_that_is_none_is_refused(journey, dictionaries, code, pointer):
    response = await journey.post("/v1/dictionary-sets", json={"name": "bad", "dictionaries": dictionaries})
    problem = problem_of(response, 422, "invalid-input")
    assert problem["errors"][0]["code"].replace("-", "_") == code.replace("-", "_")
    assert pointers(problem)[0] == pointer


async def test_a_set_of_an_unknown_dictionary_is_not_made(journey):
    body = {"name": "bad", "dictionaries": [{"dictionary": "nobody"}]}
    problem_of(await journey.post("/v1/dictionary-sets", json=body), 422, "invalid-input")


async def test_an_empty_dictionary_is_named(journey):
    await journey.post("/v1/uploads", params={"name": "empty", "format": "csv"}, content=b"city\n")
    link = {"attribute": "city", "column": "city"}
    made = await journey.post("/v1/dictionaries", json={"name": "empty", "upload": "empty", "links": [link]})
    assert made.status_code == 201, made.text
    body = {"name": "with-empty", "dictionaries": [{"dictionary": "empty"}, {"dictionary": "census"}]}
    (warning,) = (await journey.post("/v1/dictionary-sets", json=body)).json()["warnings"]
    assert "'empty' has no entities" in warning


async def test_a_dictionary_of_a_set_cannot_be_deleted(journey):
    made = await journey.post("/v1/dictionaries", json={"name": "lone", "from_dataset": "members"})
    assert made.status_code == 201
    body = {"name": "of-one", "dictionaries": [{"dictionary": "lone"}]}
    assert (await journey.post("/v1/dictionary-sets", json=body)).status_code == 201
    problem = problem_of(await journey.delete("/v1/dictionaries/lone"), 409, "conflict")
    assert "dictionary_set 'of-one'" in problem["detail"]
    assert (await journey.delete("/v1/dictionary-sets/of-one")).status_code == 204
    assert (await journey.delete("/v1/dictionaries/lone")).status_code == 204
