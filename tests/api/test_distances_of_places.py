"""Distances between homes and work of synthetic tables over HTTP: of a dataset, of a release, refused."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from app.domain.analyses.synthetic_measures import SYNTHETIC_UTILITY
from app.services.scoring.measurement_documents import document_of_parameters, parameters_of
from tests.api.drawn_people import declared, made
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

CSV = {"Content-Type": "text/csv"}
ROWS = [("A", "A"), ("A", "B"), ("B", "C"), ("A", "C")] * 20
ZONES = "home,longitude,latitude\nA,0,0\nB,1,0\nC,2,0\nN,0,90\n"
DEGREE = 111.195080


async def commuters(client: httpx.AsyncClient, name: str, rows: list[tuple[str, str]]) -> None:
    text = "home,work\n" + "".join(f"{home},{work}\n" for home, work in rows)
    await made(client.post(f"/v1/uploads?name={name}", content=text, headers=CSV))
    hierarchy = await declared(client, ["A", "B", "C", "N", "X"])
    attributes = [
        {"name": "home", "type": "categorical", "role": "sensitive", "hierarchy": hierarchy},
        {"name": "work", "type": "categorical", "role": "quasi_identifier"},
    ]
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))


async def zones(client: httpx.AsyncClient, text: str = ZONES, name: str = "zones") -> None:
    await made(client.post(f"/v1/uploads?name={name}", content=text, headers=CSV))
    attributes = [
        {"name": own, "type": "categorical" if own == "home" else "number", "role": "quasi_identifier"}
        for own in text.split("\n", 1)[0].split(",")
    ]
    await made(client.post("/v1/datasets", json={"name": name, "upload": name, "attributes": attributes}))


async def asked(client: httpx.AsyncClient, of: dict[str, Any], **parameters: Any) -> httpx.Response:
    measure = {"kind": "synthetic_utility", "pair": ["home", "work"], "places": "zones", **parameters}
    return await client.post("/v1/measurements", json={**of, "measure": measure})


async def test_a_synthetic_dataset_is_compared_by_bands_of_distance(client: httpx.AsyncClient):
    await commuters(client, "people", ROWS)
    rows = [("A", "A"), ("A", "A"), ("A", "B"), ("N", "A"), ("X", "A")]
    await commuters(client, "drawn", rows * 20)
    await zones(client)
    answer = await asked(client, {"dataset": "people"}, synthetic="drawn", bands=[150, 50])
    assert answer.status_code in (200, 201), answer.text
    found = answer.json()["result"]["pairs"]
    assert found["bands"] == [
        {"least": 0, "below": 50, "original": 0.25, "synthetic": 0.5, "difference": 0.25},
        {"least": 50, "below": 150, "original": 0.5, "synthetic": 0.25, "difference": -0.25},
        {"least": 150, "below": None, "original": 0.25, "synthetic": 0.25, "difference": 0},
    ]
    assert found["difference"] == 0.25
    assert found["median_original"] == pytest.approx(DEGREE, abs=1e-5)
    assert found["median_difference"] == pytest.approx(-DEGREE / 2, abs=1e-5)
    assert (found["left_out_original"], found["left_out_synthetic"], found["unknown_places"]) == (0, 20, 1)


async def test_without_a_pair_no_distances_are_compared_and_the_question_stays_as_it_was(
    client: httpx.AsyncClient,
):
    await commuters(client, "people", ROWS)
    measure = {"kind": "synthetic_utility", "synthetic": "people"}
    answer = await client.post("/v1/measurements", json={"dataset": "people", "measure": measure})
    assert answer.json()["result"]["pairs"] is None
    parameters = parameters_of(SYNTHETIC_UTILITY, {"synthetic": "people", "pair": [], "bands": []})
    assert document_of_parameters(parameters) == {"synthetic": "people", "holdout": None, "seed": 0, "k": 2}


async def test_homes_of_a_release_are_compared_with_those_of_which_it_was_drawn(client: httpx.AsyncClient):
    await commuters(client, "people", ROWS)
    await zones(client)
    mechanism = {"kind": "dirichlet_multinomial", "partition": ["work"], "epsilon": 2, "delta": 0.000001,
                 "certificate": "exact_tail"}  # fmt: skip
    await made(
        client.post("/v1/releases", json={"name": "drawn", "dataset": "people", "mechanism": mechanism})
    )
    answer = await asked(client, {"release": "drawn"})
    assert answer.status_code in (200, 201), answer.text
    found = answer.json()["result"]["pairs"]
    rows = (await client.get("/v1/releases/drawn/data?format=csv")).text.split()[1:]
    assert found["left_out_synthetic"] == sum("X" in row.split(",") for row in rows)
    assert [sum(own[name] for own in found["bands"]) for name in ("original", "synthetic")] == [
        pytest.approx(1), pytest.approx(1),
    ]  # fmt: skip


async def test_a_policy_names_no_places_and_says_so(client: httpx.AsyncClient):
    policy = {
        "format": "privacy-risk/policy/2", "name": "near", "version": 1, "title": "As near as before",
        "assumes": {"attacker": "Who knows everybody else."},
        "schema": {"attributes": {"work": "quasi_identifier", "home": "sensitive"}},
        "requirements": [
            {"id": "near", "title": "Commutes are as long as before", "reason": "Test.", "severity": "warn",
             "requirement": {"kind": "measure", "value": "pairs.difference", "comparison": "at_most",
                             "threshold": 0.1,
                             "measure": {"kind": "synthetic_utility", "synthetic": "dataset",
                                         "pair": ["home", "work"], "places": "zones"}}},
        ],
    }  # fmt: skip
    answer = await client.post("/v1/policies", json=policy)
    errors = problem_of(answer, 422, "invalid-input")["errors"]
    assert [(own["pointer"], own["code"]) for own in errors] == [
        ("/requirements/0/requirement/measure/places", "names-a-resource")
    ]
    assert "A policy names no dataset" in errors[0]["message"]


async def test_wrong_questions_name_the_field_and_a_remedy(client: httpx.AsyncClient):
    await commuters(client, "people", ROWS)
    await zones(client)
    await zones(client, "home,x,y\nA,0,0\n", "plane")
    await zones(client, "home,longitude,latitude\nA,0,0\nB,200,0\n", "outside")
    await zones(client, "home,longitude,latitude\nQ,0,0\n", "elsewhere")
    cases: list[tuple[dict[str, Any], str, str]] = [
        ({"pair": ["home", "street"]}, "/measure/pair/1", "unknown-attribute"),
        ({"pair": ["home"]}, "/measure/pair", "incomplete"),
        ({"places": None}, "/measure/pair", "incomplete"),
        ({"places": "nowhere"}, "/measure/places", "unknown-reference"),
        ({"places": "plane"}, "/measure/places", "other-columns"),
        ({"places": "outside"}, "/measure/places", "wrong-coordinates"),
        ({"places": "elsewhere"}, "/measure/places", "no-pair"),
        ({"bands": [5, -1]}, "/measure/bands/1", "greater-than"),
    ]
    for parameters, pointer, code in cases:
        answer = await asked(client, {"dataset": "people"}, synthetic="people", **parameters)
        assert answer.status_code == 422, answer.text
        errors = answer.json()["errors"]
        assert [(own["pointer"], own["code"]) for own in errors] == [(pointer, code)], answer.text
        assert errors[0]["remedy"]
