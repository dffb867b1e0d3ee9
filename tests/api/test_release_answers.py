"""COUNT queries, answered from a release alone."""

from __future__ import annotations

from statistics import NormalDist
from typing import Any

import httpx
import numpy as np
import pytest

from app.services.deletions import Erased
from tests.api.drawn_people import ILLNESSES, SAMPLED, TOWNS, UNIFORM, asked, data, declared, made, people
from tests.api.problem_documents import problem_of
from tests.api.service import Api

pytestmark = pytest.mark.anyio

FLU = {"attribute": "illness", "values": ["flu"]}
ROME = {"attribute": "town", "values": ["Rome"]}


def where(*predicates: dict[str, Any]) -> dict[str, Any]:
    return {"where": list(predicates)}


async def answered(
    client: httpx.AsyncClient, *queries: dict[str, Any], name: str = "drawn", **more: Any
) -> dict[str, Any]:
    answer = await client.post(f"/v1/releases/{name}/answers", json={"queries": list(queries), **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def faults(client: httpx.AsyncClient, *queries: dict[str, Any], name: str = "drawn") -> list[Any]:
    answer = await client.post(f"/v1/releases/{name}/answers", json={"queries": list(queries)})
    return [(own["pointer"], own["code"]) for own in problem_of(answer, 422, "invalid-input")["errors"]]


async def test_what_is_estimated_is_what_the_inverse_matrix_makes_of_the_table(client: httpx.AsyncClient):
    await people(client)
    published = (await made(client.post("/v1/releases", json=asked())))["mechanism"]["published"]
    rows = [line.split(",") for line in (await data(client)).decode().splitlines()[1:]]
    values = published["values"]
    matrix = np.diag(published["retention"]) + np.array(published["elsewhere"])
    counts = np.array([sum(row == ["Rome", value] for row in rows) for value in values])
    chosen = np.array([value in ("flu", "gout") for value in values], dtype=float)
    estimate = chosen @ np.linalg.inv(matrix) @ counts
    weights = np.linalg.inv(matrix).T @ chosen
    # All values are replaced alike, so that every record with one of them adds the same to the variance, and
    # every record without as well: how many have one is estimated, and that alone is kept within bounds.
    added = (matrix * weights[:, None] ** 2).sum(axis=0) - chosen
    assert added == pytest.approx(
        np.where(chosen == 1, added[values.index("flu")], added[values.index("asthma")])
    )
    having = np.clip(estimate, 0, counts.sum())
    variance = having * added[values.index("flu")] + (counts.sum() - having) * added[values.index("asthma")]
    found = await answered(
        client,
        where(ROME, {"attribute": "illness", "values": ["gout", "flu"]}),
        where(),
        where({"attribute": "town", "values": ["Bari"]}),
        level=0.9,
    )
    assert (found["release"], found["drawn_attribute"], found["rows"]) == ("drawn", "illness", 60)
    one, everybody, bari = found["answers"]
    assert one["estimate"] == pytest.approx(estimate)
    assert one["standard_error"] == pytest.approx(np.sqrt(variance))
    # The interval ends with the counts of which the estimate is z standard errors and half a step off.
    per = {own: added[values.index(own)] for own in ("flu", "asthma")}
    half = (weights.max() - weights.min()) / 2
    for end in (one["low"], one["high"]):
        true = end * per["flu"] + (counts.sum() - end) * per["asthma"]
        assert abs(end - estimate) == pytest.approx(1.6448536 * np.sqrt(true) + half)
    assert one["interval"] == "normal"
    assert (one["records"], one["is_spread"], one["is_biased"]) == (30, False, False)
    assert (everybody["estimate"], everybody["standard_error"], everybody["records"]) == (60, 0, 60)
    assert (bari["estimate"], bari["standard_error"]) == (TOWNS.count("Bari"), 0)


async def test_clipped_estimates_are_between_nothing_and_the_records_and_say_that_they_are_biased(
    client: httpx.AsyncClient,
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    queries = [where(ROME, {"attribute": "illness", "values": [own]}) for own in sorted(set(ILLNESSES))]
    plain = (await answered(client, *queries, level=0.999999999))["answers"]
    clipped = (await answered(client, *queries, level=0.999999999, clip=True))["answers"]
    assert any(own["low"] < 0 for own in plain)
    for own, bounded in zip(plain, clipped, strict=True):
        for key in ("estimate", "low", "high"):
            assert bounded[key] == min(max(own[key], 0), 30)
        assert (own["is_biased"], bounded["is_biased"]) == (False, True)


async def test_what_cannot_be_meant_is_refused_by_name(api: Api, client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    at = "/queries/0/where/0"
    for predicate, pointer, code in [
        ({"attribute": "age", "values": ["1"]}, "/attribute", "unknown-attribute"),
        ({"attribute": "town", "values": ["Rome", "Paris"]}, "/values/1", "unknown-value"),
        ({"attribute": "town", "low": "Bari"}, "/low", "without-order"),
        ({"attribute": "town"}, "", "values-or-interval"),
        ({"attribute": "town", "values": ["Rome"], "high": "Rome"}, "", "values-or-interval"),
        ({"attribute": "town", "values": []}, "/values", "too-short"),
    ]:
        assert await faults(client, where(predicate)) == [(at + pointer, code)], predicate
    assert await faults(client, where(ROME), where(FLU, ROME, FLU)) == [
        ("/queries/1/where/2/attribute", "duplicate-attribute")
    ]
    assert [code for _, code in await faults(client)] == ["too-short"]
    assert [code for _, code in await faults(client, *[where()] * 10_001)] == ["too-long"]
    many = where(*[{"attribute": "a", "low": 1}] * 5_001)
    assert await faults(client, many, many) == [("/queries", "too-many-predicates")]
    assert len((await answered(client, *[where(FLU)] * 5_000))["answers"]) == 5_000
    unknown = await client.post(
        "/v1/releases/drawn/answers", json={"queries": [where({**ROME, "values": ["Paris"]})]}
    )
    assert "'Paris'" in unknown.text


async def test_a_value_that_is_called_as_a_group_of_others_is_counted_measured_and_read_as_the_value(
    client: httpx.AsyncClient,
):
    """The leaf `other` is of the lung; the group `other` has burns and falls."""
    rows = [["other", "lung", "*"], ["asthma", "lung", "*"], ["burn", "other", "*"], ["fall", "other", "*"]]
    await made(
        client.post("/v1/hierarchies", json={"name": "ill", "definition": {"kind": "rows", "rows": rows}})
    )
    text = "ill\n" + "other\nasthma\nburn\nfall\n" * 15
    await made(client.post("/v1/uploads?name=ill", content=text, headers={"Content-Type": "text/csv"}))
    attributes = [{"name": "ill", "type": "categorical", "role": "sensitive", "hierarchy": "ill"}]
    await made(
        client.post("/v1/datasets", json={"name": "people", "upload": "ill", "attributes": attributes})
    )
    published = (await made(client.post("/v1/releases", json=asked())))["mechanism"]["published"]
    cells = (await data(client)).decode().splitlines()[1:]
    values = published["values"]
    assert sorted(values) == ["asthma", "burn", "fall", "other"]
    matrix = np.diag(published["retention"]) + np.array(published["elsewhere"])
    true = np.linalg.inv(matrix) @ [cells.count(own) for own in values]
    queries = [where({"attribute": "ill", "values": [own]}) for own in values]
    found = (await answered(client, *queries))["answers"]
    assert [own["estimate"] for own in found] == pytest.approx(true.tolist())
    assert all(own["standard_error"] > 0 and not own["is_biased"] for own in found)
    measure = {"kind": "beta_likeness", "top": 10}
    body = {"release": "drawn", "measure": measure, "name": "likeness"}
    likeness = (await made(client.post("/v1/measurements", json=body)))["result"]
    shown = {own["value"]: own["exposed"]["records"] for own in likeness["by_value"]}
    assert shown == {own: cells.count(own) for own in values}


async def test_a_matrix_that_cannot_be_undone_is_refused_by_plans_and_counts_alike(client: httpx.AsyncClient):
    """Of two rare values no record is kept but by chance, so that nothing tells one from the other."""
    ills = ["flu"] * 70 + ["gout"] * 20 + ["hiv"] * 5 + ["sars"] * 5
    text = "town,illness\n" + "".join(f"Rome,{own}\n" for own in ills)
    await made(client.post("/v1/uploads?name=ill", content=text, headers={"Content-Type": "text/csv"}))
    await people(client, upload="ill", illnesses=ills)
    mechanism = {"kind": "perturbation", "beta": 1, "alpha_floor": 1e-300}
    await made(client.post("/v1/releases", json=asked(mechanism=mechanism)))
    answer = await client.post("/v1/releases/drawn/answers", json={"queries": [where(FLU)]})
    assert "no useful inverse" in problem_of(answer, 422, "not-supported")["detail"]
    body = {"release": "drawn", "measure": {"kind": "group_inference"}}
    problem_of(await client.post("/v1/measurements", json=body), 422, "not-supported")
    plan = (await client.post("/v1/measurements/plans", json=body)).json()
    assert [own["code"] for own in plan["missing"]] == ["not-supported"]


async def test_any_level_below_1_has_a_finite_interval(client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    for level in (5e-324, 0.9999999999999999):
        (found,) = (await answered(client, where(FLU), level=level))["answers"]
        reach = (found["high"] - found["low"]) / 2 / found["standard_error"]
        # However low the level is, a count is whole: half a step stays.
        assert 0 < reach < 0.2 if level < 0.5 else 8.2923611 < reach < 100


async def test_queries_that_would_take_too_long_are_refused_before_any_is_answered(
    client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    monkeypatch.setattr("app.services.releases.count_answers.MOST_SECONDS", 1e-3)
    assert len((await answered(client, where(FLU)))["answers"]) == 1
    assert await faults(client, *[where(FLU)] * 100) == [("/queries", "too-much-work")]


async def test_only_who_may_read_the_data_of_the_tenant_is_answered_and_only_while_it_is_given_out(
    api: Api, client: httpx.AsyncClient
):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    address, body = "/v1/releases/drawn/answers", {"queries": [where(FLU)]}
    key = {"name": "blind", "scopes": ["assess", "data:write", "govern"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as blind:
        problem_of(await blind.post(address, json=body), 403, "forbidden")
    _, stranger = await api.tenant_with_key()
    async with api.client(stranger) as other:
        problem_of(await other.post(address, json=body), 404, "not-found")
    await answered(client, where(FLU))
    assert (await client.post("/v1/releases/drawn/withdrawal")).status_code == 200
    problem_of(await client.post(address, json=body), 410, "withdrawn")


async def test_what_is_erased_is_in_memory_no_more(api: Api, client: httpx.AsyncClient):
    await people(client)
    manifest = await made(client.post("/v1/releases", json=asked()))
    before = api.loader._cache.bytes
    await answered(client, where(FLU))
    held = [key for key in api.loader._cache._held if manifest["id"] in key]
    assert len(held) == 2
    assert api.loader._cache.bytes > before
    assert (await client.delete("/v1/releases/drawn")).status_code == 204
    tenant = (await api.services.tenants.authenticate(client.headers["Authorization"].split()[1])).tenant
    api.loader.forget(Erased(tenant, manifest["id"], manifest["sha256"]))
    assert not [key for key in api.loader._cache._held if manifest["id"] in key]
    problem_of(await client.post("/v1/releases/drawn/answers", json={"queries": [where()]}), 404, "not-found")


AGES = {
    "name": "age",
    "definition": {"kind": "intervals", "range": {"first": "0", "last": "39"}, "widths": ["10", "20"]},
}
DAYS = {
    "name": "day",
    "definition": {
        "kind": "dates",
        "range": {"first": "2020-01-01", "last": "2020-12-31"},
        "levels": ["day", "month", "year"],
    },
}
SIZES = {
    "name": "size",
    "definition": {"kind": "ordered_groups", "values": ["S", "M", "L", "XL"], "group_sizes": [2]},
}


async def generalised(client: httpx.AsyncClient, levels: dict[str, int]) -> None:
    """Twelve people of three ages, days and sizes, one without a size, released under a rule."""
    lines = ["age,day,size,illness"]
    for i in range(12):
        size = "" if i == 11 else ("S", "M", "XL")[i % 3]
        lines.append(f"{(5, 15, 35)[i % 3]},2020-0{1 + i % 3}-15,{size},{('flu', 'gout')[i % 2]}")
    headers = {"Content-Type": "text/csv"}
    text = "\n".join(lines) + "\n"
    await made(client.post("/v1/uploads?name=aged", content=text, headers=headers))
    for own in (AGES, DAYS, SIZES):
        await made(client.post("/v1/hierarchies", json=own))
    kinds = {"age": "number", "day": "date", "size": "categorical"}
    attributes = [
        {"name": own, "type": kind, "role": "quasi_identifier", "hierarchy": own}
        for own, kind in kinds.items()
    ]
    illness = {"name": "illness", "type": "categorical", "role": "sensitive"}
    attributes.append({**illness, "hierarchy": await declared(client, ["flu", "gout"])})
    await made(client.post("/v1/datasets", json={"name": "aged", "upload": "aged", "attributes": attributes}))
    rule = {"kind": "table_level", "levels": levels}
    await made(client.post("/v1/rules", json={"name": "rule", "dataset": "aged", "rule": rule}))


async def test_a_rules_release_is_counted_with_generalised_cells_spread_evenly(client: httpx.AsyncClient):
    await generalised(client, {"age": 2, "day": 1})
    await made(client.post("/v1/releases", json={"name": "ruled", "dataset": "aged", "rule": "rule"}))
    asked_of = [
        # [0, 20[ holds eight of the records, and 5..14 half of its twenty numbers.
        (where({"attribute": "age", "low": 5, "high": 14}), 4.0, True),
        (where({"attribute": "age", "low": 0, "high": 19.5}), 8.0, False),
        (where({"attribute": "age", "values": ["[20, 40["]}), 4.0, False),
        # Fifteen of the days of February 2020, which has 29.
        (where({"attribute": "day", "low": "2020-01", "high": "2020-02-15"}), 4 + 4 * 15 / 29, True),
        (where({"attribute": "day", "low": "2020-03"}, FLU), 2.0, False),
        (where({"attribute": "size", "low": "M", "high": "XL"}), 7.0, False),
        (where({"attribute": "size", "values": ["S", "M", "L", "XL"]}), 11.0, False),
        (where(), 12.0, False),
    ]
    found = await answered(client, *(own for own, _, _ in asked_of), name="ruled")
    assert found["drawn_attribute"] is None
    for own, (query, right, spread) in zip(found["answers"], asked_of, strict=True):
        assert own["estimate"] == pytest.approx(right), query
        assert (own["is_spread"], own["is_biased"]) == (spread, spread), query
        assert (own["standard_error"], own["low"], own["high"]) == (None, None, None)


async def test_what_may_be_suppressed_may_be_any_value(client: httpx.AsyncClient):
    await generalised(client, {"size": 2})
    await made(client.post("/v1/releases", json={"name": "ruled", "dataset": "aged", "rule": "rule"}))
    (found,) = (await answered(client, where({"attribute": "size", "low": "M", "high": "L"}), name="ruled"))[
        "answers"
    ]
    assert (found["estimate"], found["is_spread"]) == (6.0, True)


@pytest.mark.parametrize(
    ("predicate", "pointer", "code"),
    [
        ({"attribute": "age", "low": 20, "high": 10}, "/low", "empty-interval"),
        ({"attribute": "day", "low": "2020-03", "high": "2020-02"}, "/low", "empty-interval"),
        ({"attribute": "size", "low": "XL", "high": "M"}, "/low", "empty-interval"),
        ({"attribute": "age", "low": "ten"}, "/low", "not-a-number"),
        ({"attribute": "day", "high": 2020}, "/high", "not-a-date"),
        ({"attribute": "day", "high": "20 May"}, "/high", "not-a-date"),
        ({"attribute": "size", "high": "XXL"}, "/high", "unknown-value"),
        ({"attribute": "illness", "high": "flu"}, "/high", "without-order"),
    ],
)
async def test_an_interval_that_is_none_is_refused(
    client: httpx.AsyncClient, predicate: dict[str, Any], pointer: str, code: str
):
    await generalised(client, {"age": 2})
    await made(client.post("/v1/releases", json={"name": "ruled", "dataset": "aged", "rule": "rule"}))
    assert await faults(client, where(predicate), name="ruled") == [("/queries/0/where/0" + pointer, code)]


async def test_a_drawn_release_of_generalised_records_is_spread_too(client: httpx.AsyncClient):
    await generalised(client, {"age": 2})
    body = {
        "name": "both",
        "dataset": "aged",
        "rule": "rule",
        "mechanism": {"kind": "perturbation", "beta": 1},
    }
    await made(client.post("/v1/releases", json=body))
    half, whole = (
        await answered(
            client,
            where({"attribute": "age", "low": 5, "high": 14}),
            where({"attribute": "age", "high": 19}),
            name="both",
        )
    )["answers"]
    assert (half["estimate"], half["is_spread"], half["is_biased"]) == (4.0, True, True)
    assert (whole["estimate"], whole["is_spread"], whole["is_biased"]) == (8.0, False, False)


async def test_what_counts_tell_of_people_is_measured_of_the_release(api: Api, client: httpx.AsyncClient):
    await people(client)
    await made(client.post("/v1/releases", json=asked()))
    of = {"dataset": "people", "release": "drawn"}
    guessed = await made(
        client.post("/v1/measurements", json={**of, "name": "g", "measure": {"kind": "population_inference"}})
    )
    assert (guessed["result"]["records"], guessed["result"]["values"]) == (60, 3)
    assert guessed["result"]["success_before"] == pytest.approx(1 / 3)
    told = {"kind": "group_inference", "least_records": 30}
    await made(client.post("/v1/measurements", json={**of, "name": "t", "measure": told}))
    answer = await client.get("/v1/measurements/t")
    assert answer.json()["result"]["groups"] == 2
    assert "Rome" in answer.text
    key = {"name": "blind", "scopes": ["assess"]}
    token = (await made(client.post("/v1/api-keys", json=key)))["token"]
    async with api.client(token) as blind:
        shown = await blind.get("/v1/measurements/t")
        assert shown.json()["result"]["worst"][0]["records"] == 30
        assert "Rome" not in shown.text


async def test_values_replaced_alike_come_with_both_errors_and_with_estimates_within_bounds(
    client: httpx.AsyncClient,
):
    await people(client)
    await made(client.post("/v1/releases", json=asked(mechanism=UNIFORM)))
    found = await answered(client, where(ROME, FLU), where(FLU), where(ROME))
    assert (found["estimator"], found["without_errors"]) == ("unbiased", None)
    *estimated, told = found["answers"]
    assert [own["kind"] for own in found["answers"]] == ["micro", "aggregate", "micro"]
    p, c = 0.25, 0.25
    for own, n in zip(estimated, (30, 60), strict=True):
        shown = own["estimate"] * p + n * c
        true, q = min(max(own["estimate"], 0), n), shown / n
        variance = (true * (p + c) * (1 - p - c) + (n - true) * c * (1 - c)) / p**2
        assert own["standard_error"] == pytest.approx(np.sqrt(variance))
        assert own["underlying"]["standard_error"] == pytest.approx(np.sqrt(n * q * (1 - q)) / p)
        # By the normal law where so many records show one of the values, and others do not.
        is_few = n * q * (1 - q) < 1.5 * NormalDist().inv_cdf(0.975) ** 2
        at_edge = round(shown) in (0, n)
        assert own["underlying"]["interval"] in (
            ("wilson", "bounded") if at_edge else ("bounded",) if is_few else ("normal",)
        )
    assert told["underlying"] is None
    queries = [where(ROME, {"attribute": "illness", "values": [own]}) for own in ("flu", "asthma", "gout")]
    bounded = await answered(client, *queries, estimator="maximum_likelihood")
    assert sum(own["estimate"] for own in bounded["answers"]) == pytest.approx(30)
    assert all(own["estimate"] >= 0 and own["is_biased"] for own in bounded["answers"])


@pytest.mark.parametrize(("mode", "is_told"), [("balanced_fixed", True), ("balanced", False)])
async def test_counts_in_copies_say_why_they_have_no_errors(
    client: httpx.AsyncClient, mode: str, is_told: bool
):
    await people(client)
    mechanism = {**SAMPLED, "mode": mode, "epsilon": 0.9}
    await made(client.post("/v1/releases", json=asked(mechanism=mechanism)))
    found = await answered(client, where(ROME, FLU), where(ROME))
    estimated, counted = found["answers"]
    assert (counted["estimate"], counted["records"]) == (30, 30)
    assert estimated["underlying"] is None
    assert estimated["kind"] == "micro"
    errors = [estimated[key] for key in ("standard_error", "low", "high")]
    assert (None not in errors) == is_told
    assert (found["without_errors"] is None) == is_told
