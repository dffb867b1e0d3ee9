"""How many requests a key may send in a minute, and what it is told of that."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

import psycopg
import pytest

from app.persistence.registry import PostgresRequestRates
from app.services.resources import Actor
from tests.api.operations import OPERATIONS, answers_of
from tests.api.problem_documents import problem_of
from tests.api.service import Api, build_api

pytestmark = pytest.mark.anyio


def rates(engine, limit: int) -> PostgresRequestRates:
    return PostgresRequestRates(engine, lambda: datetime.now(UTC), limit)


@pytest.fixture
def limited(api: Api, engine) -> Api:
    return build_api(api.store, api.registry, api.clock, rates=rates(engine, 3))


async def test_each_answer_tells_what_is_left_and_one_too_many_is_told_when_to_come_back(
    limited: Api, database_urls
):
    actor, token = await limited.tenant_with_key()
    async with limited.client(token) as client:
        for left in (2, 1, 0):
            answer = await client.get("/v1/rules" if left else "/v1/rules/nothing")
            assert answer.status_code == (200 if left else 404)
            assert answer.headers["ratelimit-policy"] == '"requests";q=3;w=60'
            name, remaining, seconds = answer.headers["ratelimit"].split(";")
            assert (name, remaining) == ('"requests"', f"r={left}")
            assert 1 <= int(seconds.removeprefix("t=")) <= 60
        refused = await client.post("/v1/rules", content=b"not even JSON")
        problem = problem_of(refused, 429, "rate-limited")
        assert refused.headers["ratelimit"] == f'"requests";r=0;t={refused.headers["retry-after"]}'
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        assert "3 requests" in problem["detail"]
        async with limited.client(await limited.key_with(actor, *actor.scopes)) as other:
            assert (await other.get("/v1/rules")).status_code == 200
        with psycopg.connect(database_urls.admin) as connection:
            connection.execute("UPDATE request_counts SET ends_at = now() - interval '1 s'")
        assert (await client.get("/v1/rules")).headers["ratelimit"] == '"requests";r=2;t=60'


async def test_who_has_no_valid_key_uses_up_nobodys_requests(limited: Api):
    _, token = await limited.tenant_with_key()
    async with limited.client(f"{token}x") as stranger:
        for _ in range(5):
            answer = await stranger.get("/v1/rules")
            assert answer.status_code == 401
            assert "ratelimit" not in answer.headers
    async with limited.client(token) as client:
        assert (await client.get("/v1/rules")).headers["ratelimit"].startswith('"requests";r=2;')


async def test_all_processes_count_together_and_forget_who_is_gone(api: Api, engine, database_urls):
    actor, _ = await api.tenant_with_key()
    processes = [rates(engine, 5) for _ in range(2)]
    counted = await asyncio.gather(*(processes[n % 2].count(actor) for n in range(20)))
    assert sorted(own.used for own in counted) == list(range(1, 21))
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE request_counts SET ends_at = now() - interval '2 min'")
        connection.commit()
        await processes[0].count(Actor(actor.tenant, "somebody else", frozenset()))
        ((rows,),) = connection.execute("SELECT count(*) FROM request_counts").fetchall()
    assert rows == 1


async def test_without_a_limit_nothing_is_counted_and_no_field_is_sent(client, api: Api, database_urls):
    answer = await client.get("/v1/rules")
    assert not {"ratelimit", "ratelimit-policy"} & set(answer.headers)


def test_every_operation_documents_the_refusal_and_its_fields():
    for _, path, operation in OPERATIONS:
        said = answers_of(operation)["429"]
        assert {"Retry-After", "RateLimit", "RateLimit-Policy"} <= set(said["headers"]), path
        schemes = [name for one in operation["security"] for name in one]
        assert schemes == ["api_key", "identity_token"], path
