"""Least loss with levels of its own for every record, through the interface."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.fixture_f import post

pytestmark = pytest.mark.anyio


async def least_loss(api, client, name: str, **more: Any) -> dict[str, Any]:
    scope, dictionary = more.pop("scope", "table_level"), more.pop("dictionary", None)
    asked = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 0.4}
    body = {"name": name, "dataset": "T", "objective": asked | more, "scope": scope}
    if dictionary is not None:
        body["dictionary"] = dictionary
    run = await post(client, "optimisations", body)
    await api.work_off(run["id"])
    shown = (await client.get(f"/v1/optimisations/{name}")).json()
    assert shown["result"] is not None, (await client.get(f"/v1/runs/{run['id']}")).json()
    return shown["result"]


async def measured(client, rule: str, measure: dict[str, Any], **more: Any) -> dict[str, Any]:
    body = {"name": f"{rule}-{measure['kind']}", "dataset": "T", "rule": rule, "measure": measure} | more
    return (await post(client, "measurements", body))["result"]


async def test_records_with_levels_of_their_own_lose_less_and_are_measured_as_the_search_says(api, fixture):
    for_table = await least_loss(api, fixture, "for-table")
    found = await least_loss(api, fixture, "for-records", scope="record_level")
    assert (for_table["scope"], for_table["table_level_loss"], for_table["rounds"]) == (
        "table_level",
        None,
        [],
    )
    assert (found["scope"], found["table_level_loss"]) == ("record_level", for_table["loss"])
    assert found["lower_bound"] <= found["loss"] < for_table["loss"]
    assert found["gap"] == pytest.approx(found["loss"] - found["lower_bound"])
    assert found["rule"]["kind"] == "record_level"
    classes = await measured(fixture, "for-records", {"kind": "equivalence_classes"})
    assert classes["k"] == found["smallest_class"] >= 2
    assert classes["judged"]["classes"] == found["classes"]
    assert classes["judged"]["records_suppressed"] == found["suppressed_records"]
    loss = await measured(fixture, "for-records", {"kind": "information_loss"})
    assert loss["geometric"] == pytest.approx(found["loss"], rel=1e-12)
    assert found["privacy"][0]["attained"] == found["smallest_class"]


async def test_local_recoding_shows_its_rounds(api, fixture):
    for_table = await least_loss(api, fixture, "suppressing")
    found = await least_loss(api, fixture, "recoded", local_recoding=True)
    assert found["objective"]["local_recoding"] is True
    assert found["loss"] <= for_table["loss"]
    if found["rounds"]:
        disclosed = sum(own["records"] for own in found["rounds"])
        assert disclosed <= for_table["suppressed_records"] - found["suppressed_records"]
    assert found["table_level_loss"] in (None, for_table["loss"])


async def test_losses_of_classes_and_criteria_of_a_population_are_reached_and_measured(api, fixture):
    privacy = [{"kind": "k_map", "k": 2}, {"kind": "k_anonymity", "k": 2}]
    asked = {"privacy": privacy, "loss": "discernibility", "dictionary": "D1"}
    found = await least_loss(api, fixture, "mapped", scope="record_level", **asked)
    assert found["lower_bound"] <= found["loss"] <= found["table_level_loss"]
    assert found["rule"]["kind"] == "record_level"
    loss = await measured(fixture, "mapped", {"kind": "information_loss"})
    assert loss["discernibility"] == found["loss"]
    people = await measured(fixture, "mapped", {"kind": "k_map", "k": 2}, dictionary="D1")
    assert people["is_k_map"] is True
    assert [own["attained"] for own in found["privacy"]] == [people["k_population"], found["smallest_class"]]
