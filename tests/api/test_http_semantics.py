"""What HTTP promises of every address: HEAD, Allow, If-Match, and content types that are what they say."""

from __future__ import annotations

import httpx
import pytest

from tests.api.operations import DOCUMENT
from tests.api.problem_documents import problem_of

CSV = b"city,age\nGary,7\n"


async def test_head_is_answered_wherever_get_is_with_the_same_headers(journey: httpx.AsyncClient):
    addresses = [
        path.replace("{ref}", "members") for path, own in DOCUMENT["paths"].items()
        if "get" in own and path.removesuffix("/{ref}") in ("/v1/datasets", "/v1/uploads", "/v1/catalogue")
    ] + ["/v1/datasets/members/preview", "/livez", "/v1/releases/members-release/data?format=csv",
         "/v1/runs/members-optimum/events", "/v1/datasets/nothing"]  # fmt: skip
    for address in addresses:
        got, head = await journey.get(address), await journey.head(address)
        assert (head.status_code, head.content) == (got.status_code, b""), address
        own = {"x-request-id", "transfer-encoding", "content-length", "date"}
        assert {k: v for k, v in head.headers.items() if k not in own} == {
            k: v for k, v in got.headers.items() if k not in own
        }, address
        assert head.headers.get("content-length") == (got.headers.get("content-length")) or (
            got.status_code >= 400
        )


async def test_a_method_that_an_address_lacks_names_all_that_it_has(client: httpx.AsyncClient):
    for address, path in DOCUMENT["paths"].items():
        known = {method.upper() for method in path} & {"GET", "POST", "DELETE"}
        if not address.startswith("/v1/") or ("POST" in known and address.endswith("/{ref}")):
            continue
        refused = await client.put(address.replace("{", "").replace("}", ""))
        problem_of(refused, 405, "method-not-allowed")
        allowed = set(refused.headers["allow"].split(", "))
        assert known | ({"HEAD"} & allowed) <= allowed, address
        assert ("HEAD" in allowed) == ("GET" in allowed), address
    head = await client.head("/v1/rule-previews")
    assert (head.status_code, head.headers["allow"]) == (405, "POST")


async def test_a_delete_holds_to_the_state_that_if_match_names(client: httpx.AsyncClient):
    body = {"name": "city", "definition": {"kind": "flat", "values": ["a", "b"]}}
    assert (await client.post("/v1/hierarchies", json=body)).status_code == 201
    tag = (await client.get("/v1/hierarchies/city")).headers["etag"]
    for wrong in ('"another"', f"W/{tag}", ""):
        refused = await client.delete("/v1/hierarchies/city", headers={"If-Match": wrong})
        problem_of(refused, 412, "precondition-failed")
    assert (await client.get("/v1/hierarchies/city")).status_code == 200
    listed = {"If-Match": f'"another", {tag}'}
    assert (await client.delete("/v1/hierarchies/city?dry_run=true", headers=listed)).status_code == 200
    assert (await client.delete("/v1/hierarchies/city", headers=listed)).status_code == 204
    problem_of(await client.delete("/v1/hierarchies/city", headers=listed), 404, "not-found")
    await client.post("/v1/hierarchies", json=body)
    assert (await client.delete("/v1/hierarchies/city", headers={"If-Match": "*"})).status_code == 204


@pytest.mark.parametrize(
    ("sent_as", "query", "status"),
    [
        (None, "", 201),
        ("text/csv; charset=utf-8", "", 201),
        ("TEXT/PLAIN", "", 201),
        ("application/octet-stream", "&format=csv", 201),
        ("application/json", "", 415),
        ("application/x-www-form-urlencoded", "&format=csv", 415),
        ("application/vnd.apache.parquet", "&format=csv", 415),
        ("text/csv", "&format=parquet", 415),
        ("application/vnd.apache.parquet", "", 422),
    ],
)
async def test_an_upload_is_what_its_content_type_says(
    client: httpx.AsyncClient, sent_as: str | None, query: str, status: int
):
    headers = {} if sent_as is None else {"Content-Type": sent_as}
    answer = await client.post(f"/v1/uploads?name=t{query}", content=CSV, headers=headers)
    assert answer.status_code == status, answer.text
    if status == 415:
        said = problem_of(answer, 415, "unsupported-media-type")["detail"]
        assert "application/octet-stream" in said
    if status != 201:
        assert (await client.get("/v1/uploads/t")).status_code == 404
