"""Files of persons with several rows, without a key, that a record-level rule made: what is known of them."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.anyio

Json = dict[str, Any]
CSV = {"Content-Type": "text/csv"}
PLACES = {"N": [None], "S": [None], "a": ["N"], "b": ["N"], "c": ["S"], "d": ["S"]}
VISITS = [(f"p{person}", place) for person in range(1, 7) for place in "ab"]
"""Each of six persons was in a and in b."""
THREE_OF_A = {"kind": "record_level", "records": [
    {"row": row, "steps": {"place": 0 if row in (1, 3, 5) else 1}} for row in range(1, 13)
]}  # fmt: skip
"""Shows that three persons were in a, and of all other visits N."""
ASKED = {
    "k": ("equivalence_classes", "k", "at_least", 3),
    "highest": ("attacker_models", "prosecutor.highest", "at_most", 0.34),
}
REFUSED = {
    "mean": ("attacker_models", "prosecutor.average_per_record", "at_most", 1),
    "few": ("equivalence_classes", "k", "at_most", 100),
    "unique": ("equivalence_classes", "unique_records", "at_most", 100),
    "lacking": ("equivalence_classes", "k", "at_least", 1, {"missing": "excluded"}),
    "by values": ("equivalence_classes", "k", "at_least", 1, {"quasi_identifiers": ["place", "illness"]}),
}
MODELS = {
    "k model": {"kind": "k_anonymity", "k": 3},
    "risk model": {"kind": "highest_risk", "threshold": 0.34},
}


def measured(
    kind: str, value: str, comparison: str, threshold: float, parameters: Json | None = None
) -> Json:
    return {
        "kind": "measure", "measure": {"kind": kind, **(parameters or {})}, "value": value,
        "comparison": comparison, "threshold": threshold,
    }  # fmt: skip


def modelled(model: Json) -> Json:
    return {"kind": "privacy_model", "model": model}


BOUNDED = {name: measured(*own) for name, own in ASKED.items()} | {n: modelled(m) for n, m in MODELS.items()}


async def made(request: Any) -> Json:
    answer = await request
    assert answer.status_code in (200, 201), answer.text
    found: Json = answer.json()
    return found


async def visits(client: httpx.AsyncClient, rows: list[tuple[str, str]]) -> None:
    """The dataset ``visits`` of persons and places; the illness of each is a number of its row."""
    text = "pid,place,illness\n" + "".join(f"{pid},{place},i{n}\n" for n, (pid, place) in enumerate(rows))
    attributes = [
        {"name": "pid", "type": "text", "role": "person"},
        {"name": "place", "type": "categorical", "role": "quasi_identifier", "hierarchy": "places"},
        {"name": "illness", "type": "categorical", "role": "sensitive"},
    ]
    places = {"kind": "parents", "parents": PLACES}
    await made(client.post("/v1/uploads?name=visits", content=text, headers=CSV))
    await made(client.post("/v1/hierarchies", json={"name": "places", "definition": places}))
    await made(
        client.post("/v1/datasets", json={"name": "visits", "upload": "visits", "attributes": attributes})
    )


async def released(client: httpx.AsyncClient, rule: Json) -> list[str]:
    """The header and the rows, sorted, of the stored release ``r`` under the rule."""
    await made(client.post("/v1/rules", json={"name": "rule", "dataset": "visits", "rule": rule}))
    await made(client.post("/v1/releases", json={"name": "r", "dataset": "visits", "rule": "rule"}))
    header, *rows = (await client.get("/v1/releases/r/data?format=csv")).text.splitlines()
    return [header, *sorted(rows)]


async def judged(client: httpx.AsyncClient, demands: Json, release: Json | list[str]) -> Json:
    """The verdict on a release, or on a file of these lines; its criteria by id are in ``of``."""
    if isinstance(release, list):
        await made(client.post("/v1/uploads?name=out", content="\n".join(release) + "\n", headers=CSV))
        release = {"upload": "out"}
    policy = {
        "format": "privacy-risk/policy/2", "name": "three", "version": 1, "title": "Three in every class",
        "assumes": {"attacker": "Who knows the place."},
        "not_covered": [{"columns": ["illness"], "reason": "These tests are of who is in a class."}],
        "requirements": [
            {"id": id_.replace(" ", "-"), "title": id_, "reason": "For the test.", "severity": "block",
             "requirement": demand}
            for id_, demand in demands.items()
        ],
    }  # fmt: skip
    await made(client.post("/v1/policies", json=policy))
    body = {"name": "e", "dataset": "visits", "release": release}
    result: Json = (await made(client.post("/v1/gates/three/evaluations", json=body)))["result"]
    return result | {"of": {own["id"]: own for own in result["criteria"]}}


async def test_a_file_passes_by_a_lower_bound_of_its_persons_and_says_so(client: httpx.AsyncClient):
    await visits(client, VISITS)
    result = await judged(client, BOUNDED, await released(client, THREE_OF_A))
    assert (result["verdict"], result["subject"]["release"]["aligned_by"]) == ("pass", None)
    assert {own["outcome"] for own in result["criteria"]} == {"passed"}
    assert {own["guarantee"] for own in result["criteria"]} == {"bound"}
    assert all("lower bound" in own["explanation"] for own in result["criteria"])
    assert result["of"]["k"]["value"] == 3
    assert "at least 3 persons" in result["of"]["k"]["explanation"]
    assert result["of"]["highest"]["value"] == pytest.approx(1 / 3)
    assert result["of"]["k-model"]["value"] == 0
    page = (await client.get("/v1/evaluations/e/report")).text
    assert "at least 3 persons" in page
    assert "a proven bound" in page


async def test_the_persons_of_the_stored_release_under_that_rule_are_known(client: httpx.AsyncClient):
    await visits(client, VISITS)
    await released(client, THREE_OF_A)
    result = await judged(client, BOUNDED, {"name": "r"})
    assert (result["verdict"], result["of"]["k"]["value"]) == ("pass", 3)
    assert {own["guarantee"] for own in result["criteria"]} == {"exact"}
    assert not any("lower bound" in own["explanation"] for own in result["criteria"])


async def test_what_only_the_bound_fails_is_not_computable(client: httpx.AsyncClient):
    # One of the three persons shown in c was there three times, and could be all three of them.
    first = [("q1", "c"), ("q1", "c"), ("q1", "c"), ("q2", "c"), ("q2", "d"), ("q3", "c"), ("q3", "d")]
    await visits(client, [*first, *((f"q{person}", "d") for person in (4, 5, 6))])
    rule = {"kind": "record_level", "records": [
        {"row": row, "steps": {"place": 0 if row in (1, 4, 6) else 1}} for row in range(1, 11)
    ]}  # fmt: skip
    file = await released(client, rule)
    exact = await judged(client, BOUNDED, {"name": "r"})
    assert (exact["verdict"], exact["of"]["k"]["value"]) == ("pass", 3)
    assert (await client.delete("/v1/evaluations/e")).status_code == 204
    result = await judged(client, BOUNDED, file)
    assert result["verdict"] == "error"
    for own in result["criteria"]:
        assert (own["outcome"], own["value"]) == ("not_computable", None)
        assert "nobody knows whose the rows of the file are" in own["error"]["message"]
        assert "Name a key column" in own["error"]["remedy"]
    assert "By a lower bound, at least 1 person, " in result["of"]["k"]["error"]["message"]


async def test_what_the_fewest_persons_do_not_bound_stays_not_computable(client: httpx.AsyncClient):
    await visits(client, VISITS)
    demands = {name: measured(*own) for name, own in REFUSED.items()}
    demands["mean model"] = modelled({"kind": "average_risk", "threshold": 1})
    demands["any"] = modelled({"kind": "k_anonymity", "k": 1}) | {"missing": "matches_everything"}
    result = await judged(client, demands, await released(client, THREE_OF_A))
    assert result["verdict"] == "error"
    assert {own["outcome"] for own in result["criteria"]} == {"not_computable"}


async def test_a_file_that_keeps_the_order_of_the_records_is_not_judged_by_a_bound(client: httpx.AsyncClient):
    await visits(client, VISITS)
    rows = [f"{'a' if n in (0, 2, 4) else 'N'},i{n}" for n in range(len(VISITS))]
    result = await judged(client, BOUNDED, ["place,illness", *rows])
    assert (result["verdict"], result["of"]["k"]["outcome"]) == ("error", "not_computable")
    assert any("seems to keep the order" in own for own in result["warnings"])


async def test_a_file_of_more_rows_than_its_records_fails_whatever_bounds_say(client: httpx.AsyncClient):
    await visits(client, VISITS)
    rows = [*(f"a,i{n}" for n in range(7)), *(f"N,i{n}" for n in range(7, 12))]
    result = await judged(client, BOUNDED, ["place,illness", *sorted(rows, reverse=True)])
    assert (result["verdict"], result["of"]["k"]["outcome"]) == ("fail", "not_computable")
    # Of the seven in a, by their illnesses, four were in b.
    assert (result["coverage"]["outcome"], result["coverage"]["rows"]["matched"]) == ("not_of_dataset", 9)
