"""Linking, independence, k-anonymity, drawn records and drawn dictionaries over HTTP, on fixture F."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.api.fixture_f import (
    ATTRIBUTES,
    WEIGHTS,
    dictionary,
    post,
    profile,
    rule,
    upload,
)
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

REGISTER = [("1", "Lafayette", None, "20-39"), ("6", "Lafayette", None, "40-59")]


@pytest.fixture
async def fixture_f(fixture: httpx.AsyncClient) -> httpx.AsyncClient:
    await upload(fixture, "register", ("id", *ATTRIBUTES), REGISTER)
    await dictionary(fixture, "register", ATTRIBUTES)
    await profile(fixture, "linear", "linear")
    return fixture


def body(measure: dict[str, Any], **more: Any) -> dict[str, Any]:
    asked = {"dataset": "T", "rule": rule("G2"), "dictionary": "D1", "sensitivity": "personal"}
    return {key: value for key, value in (asked | more | {"measure": measure}).items() if value is not None}


async def result_of(client: httpx.AsyncClient, measure: dict[str, Any], **more: Any) -> dict[str, Any]:
    found: dict[str, Any] = (await post(client, "measurements", body(measure, **more)))["result"]
    return found


@pytest.mark.spec("TV-19")
@pytest.mark.spec("INV-17")
async def test_linking_changes_the_risk_as_computed_by_hand(fixture_f: httpx.AsyncClient):
    """Entities 1 and 6 find their own rows: 1.183333/3 as in the vector, and 1.05/5; the others find none."""
    linkage = {"kind": "record_linkage", "auxiliary": "register", "estimator": "own_row"}
    result = await result_of(fixture_f, linkage)
    others = 0.21875 + 0.122222 + 0.625 + 1.075
    assert result["risk"] == pytest.approx((0.152083 + others + 0.079167) / 6, abs=1e-6)
    assert result["risk_linked"] == pytest.approx((0.394444 + others + 0.21) / 6, abs=1e-6)
    assert result["share_linked"] == pytest.approx(1 / 3)
    # Whom linking does not help keeps the greatest loss.
    assert result["risk_max"] == result["risk_linked_max"] == pytest.approx(1.075)
    assert result["row_of_risk_max"] == result["row_of_risk_linked_max"] in range(2, 6)
    assert result["own_entity_consistent_linked"] == 1.0
    uniform = await result_of(fixture_f, linkage | {"estimator": "uniform", "probability_correct": 0.5})
    assert uniform["mean_candidates"] > result["mean_candidates"]
    assert set(result["loss_quantiles_linked"]) == {"0.05", "0.25", "0.5", "0.75", "0.95", "0.99"}


async def test_links_are_given_pair_by_pair_and_the_rest_is_nobodys(fixture_f: httpx.AsyncClient):
    """Entities 1 and 6 are linked as above, each with half a chance, and one link in four is wrong."""
    ids = [row[0] for row in REGISTER]
    links = [
        {"row": int(id_), "auxiliary_row": ids.index(id_) + 1, "probability": 0.5, "correct": 0.75}
        for id_ in ("1", "6")
    ]
    linkage = {"kind": "record_linkage", "auxiliary": "register", "estimator": "given", "links": links}
    result = await result_of(fixture_f, linkage)
    expected = result["risk"] + 0.5 * (0.75 * (0.394444 + 0.21) - (0.152083 + 0.079167)) / 6
    assert result["risk_linked"] == pytest.approx(expected, abs=1e-6)
    assert result["probability_no_link"] == pytest.approx(5 / 6)
    own = {"kind": "record_linkage", "auxiliary": "register", "estimator": "own_row"}
    half = await result_of(fixture_f, own | {"probability_nobody": 0.5})
    assert half["probability_no_link"] == pytest.approx(5 / 6)


@pytest.mark.parametrize(
    ("wrong", "pointer", "code"),
    [
        ({"links": [(1, 1, 0.6), (1, 2, 0.6)]}, "/measure/links", "probabilities-above-one"),
        ({"links": [(1, 1, 0.1), (1, 1, 0.1)]}, "/measure/links", "duplicate-link"),
        ({"links": [(7, 1, 0.1)]}, "/measure/links/0/row", "unknown-row"),
        ({"links": [(1, 1, 0.1), (1, 99, 0.1)]}, "/measure/links/1/auxiliary_row", "unknown-row"),
        ({}, "/measure/links", "missing"),
        ({"links": [], "estimator": "uniform"}, "/measure/links", "not-wanted"),
        ({"links": [], "probability_nobody": 0.5}, "/measure/probability_nobody", "not-wanted"),
    ],
)
async def test_links_that_cannot_be_are_refused_where_they_stand(
    fixture_f: httpx.AsyncClient, wrong, pointer, code
):
    linkage = {"kind": "record_linkage", "auxiliary": "register", "estimator": "given", **wrong}
    if "links" in wrong:
        names = ("row", "auxiliary_row", "probability")
        linkage["links"] = [dict(zip(names, link, strict=True)) for link in wrong["links"]]
    refused = await fixture_f.post("/v1/measurements", json=body(linkage))
    dry = await fixture_f.post("/v1/measurements?dry_run=true", json=body(linkage))
    for faults in (problem_of(refused, 422, "invalid-input")["errors"], dry.json()["missing"]):
        assert [(own["pointer"], own["code"], bool(own["remedy"])) for own in faults] == [
            (pointer, code, True)
        ]


async def test_links_of_values_that_exclude_each_other_are_refused_with_what_to_do(
    fixture_f: httpx.AsyncClient,
):
    await upload(fixture_f, "misspelt", ("id", *ATTRIBUTES), [("1", "Lafayett", "Chinese", "20-39")])
    await dictionary(fixture_f, "misspelt", ATTRIBUTES)
    linkage = {"kind": "record_linkage", "auxiliary": "misspelt", "mode": "jaro", "threshold": 0.9}
    asked = body(linkage, rule=rule("identity"))
    problem = problem_of(await fixture_f.post("/v1/measurements", json=asked), 422, "invalid-input")
    assert [(f["pointer"], f["code"]) for f in problem["errors"]] == [
        ("/measure/on_conflict", "conflicting-links")
    ]
    assert "Lafayett" not in str(problem)
    dropped = await result_of(fixture_f, linkage | {"on_conflict": "drop_conflicts"}, rule=rule("identity"))
    assert dropped["probability_conflict"] == pytest.approx(1 / 6)
    assert dropped["risk_linked"] == dropped["risk"]


async def test_the_closed_form_needs_a_product_and_stands_beside_the_truth(fixture_f: httpx.AsyncClient):
    estimate = {"kind": "independence_estimate", "clusters": [["race", "income"]]}
    refused = await fixture_f.post("/v1/measurements", json=body(estimate, rule=None))
    assert "multiplicative" in problem_of(refused, 422, "not-supported")["detail"]
    result = await result_of(fixture_f, estimate, rule=None, sensitivity="multiplicative")
    assert result["clusters"] == [["race", "income"], ["city"]]
    assert [entry["n_disclosed"] for entry in result["by_number"]] == [0, 1, 2, 3]
    assert result["by_number"][3]["loss_exact"] == pytest.approx(2.527487, abs=1e-6)
    assert result["by_number"][0]["loss_exact"] == pytest.approx(1 / 12)
    unknown = estimate | {"clusters": [["race", "zip"]]}
    problem = await fixture_f.post(
        "/v1/measurements", json=body(unknown, rule=None, sensitivity="multiplicative")
    )
    assert problem_of(problem, 422, "invalid-input")["errors"][0]["pointer"] == "/measure/clusters/0/1"


@pytest.mark.spec("E-47")
async def test_rules_of_least_risk_are_never_worse_than_k_anonymous_ones(fixture_f: httpx.AsyncClient):
    compare = {"kind": "k_anonymity_comparison", "k": [1, 2, 6], "rules": 4}
    result = await result_of(fixture_f, compare, rule=None, dictionary="T")
    assert result["rules_searched"] == 54
    assert result["never_worse"] is True
    identity = result["by_k"][0]
    assert (identity["risk"], identity["table_level_risk"]) == pytest.approx((1.45, 1.45))
    assert identity["record_level_gap"] == pytest.approx(0.54375)
    too_many = body(compare | {"k": [7]}, rule=None)
    assert (
        "7-anonymous"
        in problem_of(await fixture_f.post("/v1/measurements", json=too_many), 422, "not-supported")["detail"]
    )


async def test_drawn_records_have_a_risk_with_its_error(fixture_f: httpx.AsyncClient):
    parametric = {"kind": "parametric_risk", "samples": 2000, "marginals": {"race": {"White": 1.0}}}
    refused = await fixture_f.post("/v1/measurements", json=body(parametric))
    assert "belong to nobody" in problem_of(refused, 422, "not-supported")["detail"]
    result = await result_of(fixture_f, parametric, sensitivity="linear")
    assert result["interval_guaranteed"]["low"] <= result["interval"]["low"] <= result["risk"]
    assert result["standard_error"] > 0
    assert result["greatest_possible"] <= sum(WEIGHTS.values())
    wrong = parametric | {"marginals": {"race": {"White": 0.5}}}
    problem = await fixture_f.post("/v1/measurements", json=body(wrong, sensitivity="linear"))
    assert problem_of(problem, 422, "invalid-input")["errors"][0]["code"] == "no-distribution"


async def test_sampled_dictionaries_have_a_mean_risk_with_its_error(fixture_f: httpx.AsyncClient):
    sampled = {"kind": "bayes_risk_sampled", "dictionaries": ["T", "D1", "D2"]}
    result = await result_of(fixture_f, sampled, rule=rule("G1"), dictionary=None)
    assert [sample["dictionary"] for sample in result["samples"]] == ["T", "D1", "D2"]
    assert [sample["risk"] for sample in result["samples"]] == pytest.approx(
        [0.5, 0.371627, 0.234722], abs=1e-6
    )
    assert result["risk"] == pytest.approx(0.368783, abs=1e-6)
    assert result["standard_error"] == pytest.approx(0.076588, abs=1e-5)
    one = await fixture_f.post("/v1/measurements", json=body(sampled | {"dictionaries": ["T"]}))
    assert problem_of(one, 422, "invalid-input")["errors"][0]["pointer"] == "/measure/dictionaries"
