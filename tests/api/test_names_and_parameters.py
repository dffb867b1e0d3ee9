"""A name means one thing: of live API keys, of what looks like an id; and what is not known is refused."""

import httpx
import psycopg
import pytest


async def created(client: httpx.AsyncClient, name: str) -> httpx.Response:
    return await client.post("/v1/api-keys", json={"name": name, "scopes": ["assess"]})


async def test_a_live_key_has_its_name_alone_and_is_revoked_by_it(client: httpx.AsyncClient):
    first = (await created(client, "release-bot")).json()
    again = await created(client, "release-bot")
    assert again.status_code == 409
    assert "'release-bot'" in again.json()["detail"]
    ended = await client.delete("/v1/api-keys/release-bot")
    assert ended.json()["id"] == first["key"]["id"]
    assert ended.json()["revoked_at"] is not None
    assert (await client.delete("/v1/api-keys/release-bot")).status_code == 404
    # Revoked, it stays in the list under its id, and its name is free.
    second = (await created(client, "release-bot")).json()
    assert second["key"]["id"] != first["key"]["id"]
    await client.delete(f"/v1/api-keys/{first['key']['id']}")
    live = [key for key in (await client.get("/v1/api-keys")).json()["items"] if key["revoked_at"] is None]
    assert second["key"]["id"] in {key["id"] for key in live}


async def test_of_a_key_s_id_and_another_s_name_from_before_the_id_counts(
    client: httpx.AsyncClient, database_urls
):
    first, second = [(await created(client, name)).json()["key"] for name in ("first", "second")]
    with psycopg.connect(database_urls.admin) as connection:
        renamed = "UPDATE api_keys SET name = %s WHERE id = %s"
        assert connection.execute(renamed, [first["id"], second["id"]]).rowcount == 1
    assert (await client.delete(f"/v1/api-keys/{first['id']}")).json()["id"] == first["id"]
    ended = {key["id"]: key["revoked_at"] for key in (await client.get("/v1/api-keys")).json()["items"]}
    assert (ended[first["id"]] is None, ended[second["id"]] is None) == (False, True)


async def test_a_name_that_looks_like_an_id_is_refused(client: httpx.AsyncClient):
    refused = await created(client, "0123456789abcdef0123456789abcdef")
    assert refused.status_code == 422
    assert [fault["code"] for fault in refused.json()["errors"]] == ["invalid-name"]
    assert (await created(client, "0123456789abcdef0123456789abcde")).status_code == 201


@pytest.mark.parametrize(
    ("method", "address", "known"),
    [
        ("GET", "/v1/datasets?nme=a&limit=2", "limit"),
        ("GET", "/v1/catalogue?nme=a", "takes none"),
        ("POST", "/v1/uploads?name=x&nme=a", ""),
        ("DELETE", "/v1/rules/x?nme=a", "dry_run"),
    ],
)
async def test_a_query_parameter_that_is_not_known_is_refused_with_those_that_are(
    client: httpx.AsyncClient, method: str, address: str, known: str
):
    refused = await client.request(method, address, content=b"a\n1\n" if "uploads" in address else None)
    assert refused.status_code == 422
    (fault,) = refused.json()["errors"]
    assert fault["pointer"] == "query/nme"
    assert known in fault["remedy"]


async def test_a_name_of_two_kinds_leads_to_neither_run_but_names_both(fixture: httpx.AsyncClient):
    least = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}], "suppression_limit": 1}
    search = {"name": "twice", "dataset": "T", "objective": least}
    first = (await fixture.post("/v1/optimisations", json=search)).json()
    assert (await fixture.get("/v1/runs/twice")).json()["id"] == first["id"]
    measure = {"name": "twice", "dataset": "T", "measure": {"kind": "equivalence_classes"}}
    second = (await fixture.post("/v1/measurements/runs", json=measure)).json()
    refused = await fixture.get("/v1/runs/twice")
    assert refused.status_code == 409
    candidates = refused.json()["details"]["candidates"]
    assert {own["kind"]: own["id"] for own in candidates} == {
        "optimisation": first["id"],
        "measurement": second["id"],
    }
    for own in candidates:
        assert (await fixture.get(f"/v1/runs/{own['id']}")).json()["id"] == own["id"]
