"""Measures of synthetic tables over HTTP."""

import httpx
import pytest

pytestmark = pytest.mark.anyio


async def test_a_copy_of_the_members_is_found_out(journey: httpx.AsyncClient):
    asked = {"kind": "synthetic_distances", "synthetic": "members"}
    answer = await journey.post("/v1/measurements", json={"dataset": "members", "measure": asked})
    assert answer.is_success, answer.text
    result = answer.json()["result"]
    assert result["copies"]["share"] == 1
    assert result["synthetic"]["dcr_median"] == 0
    assert result["nearer"] is None


async def test_a_secret_that_is_no_attribute_is_refused(journey: httpx.AsyncClient):
    asked = {"kind": "synthetic_attacks", "synthetic": "members", "secrets": ["shoe"]}
    answer = await journey.post("/v1/measurements", json={"dataset": "members", "measure": asked})
    assert answer.status_code == 422
    (fault,) = answer.json()["errors"]
    assert (fault["pointer"], fault["code"]) == ("/measure/secrets/0", "unknown-attribute")


async def test_few_records_tell_little_about_attacks(journey: httpx.AsyncClient):
    asked = {"kind": "synthetic_attacks", "synthetic": "members", "secrets": ["income"]}
    answer = await journey.post("/v1/measurements", json={"dataset": "members", "measure": asked})
    (inferred,) = answer.json()["result"]["inference"]
    assert inferred["attack"]["main"]["low"] < 0.8 < inferred["attack"]["main"]["high"]
    assert inferred["attack"]["risk"] is None


async def test_sides_of_another_table_are_named_by_their_fields(journey: httpx.AsyncClient):
    asked = {
        "kind": "synthetic_attacks",
        "synthetic": "members",
        "linkable": ["city"],
        "linkable_with": ["x"],
    }
    answer = await journey.post("/v1/measurements", json={"dataset": "members", "measure": asked})
    assert [own["pointer"] for own in answer.json()["errors"]] == ["/measure/linkable_with/0"]
