"""What pages show beside resources: values counted on their hierarchy, rules previewed, the key that asks."""

from __future__ import annotations

import csv
import io

import httpx
import pytest

from app.services.resources import Scope
from tests.api.problem_documents import problem_of

pytestmark = pytest.mark.anyio

PREVIEW = {"dataset": "members", "rule": "proposal", "limit": 3}


async def test_every_node_counts_the_records_below_it(journey: httpx.AsyncClient):
    cities = {}
    rows = (await journey.get("/v1/datasets/members/preview", params={"limit": 200})).json()
    column = rows["columns"].index("city")
    for row in rows["rows"]:
        cities[row[column]] = cities.get(row[column], 0) + 1
    tree = (
        await journey.get(
            "/v1/datasets/members/attributes/city/tree", params={"depth": 10, "sensitivity": "members-harm"}
        )
    ).json()
    assert (tree["rows"], tree["height"], tree["path"]) == (12, 4, [])
    leaves = {}

    def check(node) -> int:
        if not node["n_children"]:
            leaves[node["label"]] = node["records"]
            assert node["weight"] == 0.3
            return node["records"]
        assert 0 <= node["weight"] <= 0.3
        below = sum(check(child) for child in node["children"])
        assert node["records"] == below, node["label"]
        return below

    assert check(tree["root"]) == 12
    assert {city: n for city, n in leaves.items() if n} == cities


async def test_a_part_of_the_tree_says_where_it_hangs(journey: httpx.AsyncClient):
    top = (await journey.get("/v1/datasets/members/attributes/city/tree", params={"depth": 2})).json()
    inner = top["root"]["children"][0]["children"][0]
    part = (
        await journey.get(
            "/v1/datasets/members/attributes/city/tree", params={"node": inner["node"], "limit": 1}
        )
    ).json()
    assert part["root"]["label"] == inner["label"]
    assert [one["label"] for one in part["path"]] == ["*", top["root"]["children"][0]["label"]]
    assert len(part["root"]["children"]) == 1
    assert part["root"]["weight"] is None
    address = "/v1/datasets/members/attributes/city/tree"
    problem_of(await journey.get(address, params={"node": 10**6}), 404, "not-found")
    problem_of(await journey.get("/v1/datasets/members/attributes/member_id/tree"), 404, "not-found")


async def test_only_who_reads_the_data_sees_counts_and_previews(api, journey, journeys_end):
    actor = await api.services.tenants.authenticate(journeys_end.token)
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as client:
        tree = (
            await client.get(
                "/v1/datasets/members/attributes/city/tree", params={"sensitivity": "members-harm"}
            )
        ).json()
        assert tree["root"]["records"] is tree["root"]["weight"] is None
        assert tree["root"]["children"]
        problem_of(await client.post("/v1/rule-previews", json=PREVIEW), 403, "forbidden")
        key = (await client.get("/v1/api-keys/current")).json()
        assert key["scopes"] == ["assess"]
        assert "token" not in key


@pytest.mark.parametrize("declared", [{}, {"hierarchy": "nicknames", "on_unknown": "attach"}])
async def test_a_tree_made_of_cells_is_for_who_reads_the_data(api, declared):
    actor, token = await api.tenant_with_key()
    mark, text = "marker-4711", {"Content-Type": "text/csv"}
    definition = {"kind": "rows", "rows": [["x", "*"]]}
    attribute = {"name": "nick", "type": "text", "role": "quasi_identifier", **declared}
    address = "/v1/datasets/nicks/attributes/nick/tree"
    async with api.client(token) as client:
        await client.post("/v1/hierarchies", json={"name": "nicknames", "definition": definition})
        await client.post("/v1/uploads", params={"name": "nicks"}, content=f"nick\n{mark}\nx\n", headers=text)
        body = {"name": "nicks", "upload": "nicks", "attributes": [attribute]}
        made = await client.post("/v1/datasets", json=body)
        assert made.status_code == 201, made.text
        assert mark in (await client.get(address)).text
    async with api.client(await api.key_with(actor, Scope.ASSESS)) as client:
        refused = await client.get(address)
        problem_of(refused, 403, "forbidden")
        assert mark not in refused.text


async def test_a_preview_is_what_is_released(journey: httpx.AsyncClient):
    """The proposal's first rows against its own release, cell by cell."""
    body = {"name": "proposed", "dataset": "members", "rule": "proposal", "order": "records"}
    await journey.post("/v1/releases", json=body)
    released = list(csv.reader(io.StringIO((await journey.get("/v1/releases/proposed/data")).text)))
    body = {"dataset": "members", "rule": "proposal", "first": 2, "limit": 3}
    preview = (await journey.post("/v1/rule-previews", json=body)).json()
    assert preview["columns"] == released[0]
    assert [record["row"] for record in preview["records"]] == [2, 3, 4]
    for record in preview["records"]:
        assert record["after"] == released[record["row"]]
        assert record["steps"] == [1, 0, 2, 1]
        shown_as_is = [a == b for a, b in zip(record["before"], record["after"], strict=True)]
        assert shown_as_is == [step == 0 for step in record["steps"]]


async def test_a_rule_that_is_only_tried_is_previewed_and_not_kept(journey: httpx.AsyncClient):
    before = (await journey.get("/v1/rules")).json()
    rule = {"kind": "suppression", "attributes": ["race"]}
    preview = (await journey.post("/v1/rule-previews", json={"dataset": "members", "rule": rule})).json()
    assert {(record["after"][1], record["steps"][1]) for record in preview["records"]} == {(None, 2)}
    assert len(preview["records"]) == preview["total_rows"] == 12
    assert (await journey.get("/v1/rules")).json() == before
    beyond = {"dataset": "members", "rule": rule, "first": 13}
    assert (await journey.post("/v1/rule-previews", json=beyond)).json()["records"] == []
