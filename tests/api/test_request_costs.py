"""What a request costs the database: statements as the server gets them, with those that begin and end."""

from __future__ import annotations

import asyncio
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import IO, Any

import httpx
import pytest
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from app.domain.counting.counter import Counter
from app.services.scoring.assessment_work import RuleScore
from tests.api.prepared import Prepared
from tests.api.service import Api, build_api

pytestmark = pytest.mark.anyio

LEVELS = {"city": 1, "race": 0, "birth_date": 0, "income": 0}
QUESTION = {"dataset": "members", "dictionary": "census", "sensitivity": "members-harm"}


@dataclass
class Sent:
    """What was sent: the statements as the driver is given them, and all that the server was told to do."""

    statements: list[str] = field(default_factory=list)
    executed: int = 0
    plain: list[str] = field(default_factory=list)

    @property
    def counted(self) -> tuple[int, list[str]]:
        """Statements with parameters, those that set the tenant among them; and BEGIN, COMMIT and so on."""
        assert len(self.statements) == self.executed
        return self.executed, self.plain


@contextmanager
def sent(engine: AsyncEngine) -> Iterator[Sent]:
    """What goes to the server inside, told by the driver's layer and by the protocol itself."""
    found = Sent()

    def told(connection: object, cursor: object, statement: str, *more: object) -> None:
        found.statements.append(statement)

    with tempfile.TemporaryFile("w+") as trace:
        traced: list[Any] = []

        def follow(connection: Any, record: object, proxy: object) -> None:
            connection.driver_connection.pgconn.trace(trace.fileno())
            traced.append(connection.driver_connection)

        event.listen(engine.sync_engine, "before_cursor_execute", told)
        event.listen(engine.sync_engine, "checkout", follow)
        try:
            yield found
        finally:
            event.remove(engine.sync_engine, "before_cursor_execute", told)
            event.remove(engine.sync_engine, "checkout", follow)
            for connection in traced:
                connection.pgconn.untrace()
        _read(trace, found)


def _read(trace: IO[str], found: Sent) -> None:
    trace.seek(0)
    for message, about in _TO_SERVER.findall(trace.read()):
        if message == "Execute":
            found.executed += 1
        else:
            found.plain.append(about.strip(' "').split()[0])


# A statement may go over several lines; each message begins with its time and its side.
_TO_SERVER = re.compile(r"^[0-9][^\t\n]*\tF\t\d+\t(Execute|Query)\t(.*)$", re.MULTILINE)


async def post(client: httpx.AsyncClient, levels: dict[str, int], **more: str) -> httpx.Response:
    return await client.post("/v1/assessments", json={**QUESTION, "rule": _at(**levels), **more})


def _at(**levels: int) -> dict[str, Any]:
    """A rule of these levels, and of LEVELS else."""
    return {"kind": "table_level", "levels": LEVELS | levels}


@pytest.fixture
async def client(api: Api, assessable: Prepared):
    """A client whose process has answered a question about the same data."""
    async with api.client(assessable.token) as client:
        response = await post(client, LEVELS | {"race": 1})
        assert response.status_code == 201, response.text
        yield client


async def test_a_new_assessment_is_six_statements_and_one_transaction(client, engine):
    with sent(engine) as found:
        response = await post(client, LEVELS)
    assert response.status_code == 201, response.text
    assert found.counted == (6, ["BEGIN", "COMMIT"]), found.statements


async def test_the_same_question_again_is_two_statements_and_nothing_else(client, engine):
    first = await post(client, LEVELS)
    with sent(engine) as found:
        again = await post(client, LEVELS)
    assert (again.status_code, again.json()) == (200, first.json())
    assert found.counted == (2, []), found.statements


@pytest.mark.parametrize("address", ["/v1/datasets/members", "/v1/hierarchies/city", "/v1/assessments/{id}"])
async def test_reading_a_resource_is_two_statements_and_nothing_else(client, engine, address):
    made = (await post(client, LEVELS)).json()
    with sent(engine) as found:
        response = await client.get(address.format(id=made["id"]))
    assert response.status_code == 200, response.text
    assert found.counted == (2, []), found.statements


async def test_two_identical_new_questions_at_once_are_computed_once(client, monkeypatch):
    computed = []
    own = RuleScore.result

    def result(self: RuleScore, *arguments: Any) -> Any:
        computed.append(self)
        return own(self, *arguments)

    monkeypatch.setattr(RuleScore, "result", result)
    answers = await asyncio.gather(*(post(client, LEVELS, name="at-once") for _ in range(4)))
    assert sorted(answer.status_code for answer in answers) == [200, 200, 200, 201]
    assert all(answer.json() == answers[0].json() for answer in answers)
    assert len(computed) == 1


async def test_what_fits_what_is_kept_from_one_question_to_the_next(client, monkeypatch):
    given = []

    class Noted(Counter):
        def __init__(self, table: Any, dictionary: Any, ceiling: int, matching: Any) -> None:
            given.append(matching)
            super().__init__(table, dictionary, ceiling, matching)

    monkeypatch.setattr("app.services.scoring.assessment_work.Counter", Noted)
    answers = [await post(client, {"income": income}) for income in (1, 2)]
    assert [answer.status_code for answer in answers] == [201, 201]
    assert given[0] is given[1] is not None


async def test_two_processes_at_once_store_one_answer(api: Api, client, store, registry, clock, assessable):
    other = build_api(store, registry, clock)
    async with other.client(assessable.token) as beside:
        one, two = await asyncio.gather(
            post(client, LEVELS, name="at-once"), post(beside, LEVELS, name="at-once")
        )
    assert sorted((one.status_code, two.status_code)) == [200, 201]
    assert one.json() == two.json()


async def test_a_question_about_an_erased_dataset_is_refused_in_every_process(
    api: Api, client, store, registry, clock, assessable
):
    other = build_api(store, registry, clock)
    async with other.client(assessable.token) as beside:
        assert (await post(beside, LEVELS)).status_code == 201  # and remembers what it rests on
        await _erase(client, "datasets", "members")
        for asking in (client, beside, client, beside):
            refused = await post(asking, LEVELS)
            assert refused.status_code == 422, refused.text
            assert "members" in refused.json()["detail"]


async def test_a_name_that_leads_elsewhere_by_now_is_followed(
    api: Api, client, store, registry, clock, assessable
):
    question = {**QUESTION, "rule": "followed"}
    rule = {"name": "followed", "dataset": "members"}
    other = build_api(store, registry, clock)
    async with other.client(assessable.token) as beside:
        answers = []
        for city in (0, 2):
            made = await client.post("/v1/rules", json={**rule, "rule": _at(city=city)})
            assert made.status_code == 201, made.text
            for _ in range(2):  # the second time it is known
                answer = await beside.post("/v1/assessments", json=question)
                assert answer.status_code in (200, 201), answer.text
            answers.append(answer.json())
            assert (await client.delete(f"/v1/assessments/{answer.json()['id']}")).status_code == 204
            assert (await client.delete("/v1/rules/followed")).status_code == 204
    assert [answer["rule"]["levels"]["city"] for answer in answers] == [0, 2]
    assert answers[0]["result"]["risk_average"] != answers[1]["result"]["risk_average"]


async def test_a_name_that_begins_to_lead_somewhere_is_found(client):
    question = {**QUESTION, "dictionary": "of-late", "rule": _at()}
    for _ in range(2):
        assert (await client.post("/v1/assessments", json=question)).status_code == 422
    made = await client.post("/v1/dictionaries", json={"name": "of-late", "from_dataset": "members"})
    assert made.status_code == 201, made.text
    assert (await client.post("/v1/assessments", json=question)).status_code == 201


async def test_a_revoked_key_is_refused_at_once(api: Api, client, assessable):
    admin = (await client.get("/v1/api-keys")).json()["items"][0]
    made = (await client.post("/v1/api-keys", json={"name": "short", "scopes": admin["scopes"]})).json()
    async with api.client(made["token"]) as short:
        assert (await post(short, LEVELS)).status_code in (200, 201)
        assert (await client.delete(f"/v1/api-keys/{made['key']['id']}")).status_code < 300
        assert (await post(short, LEVELS)).status_code == 401


async def _erase(client: httpx.AsyncClient, collection: str, name: str) -> None:
    """Delete a resource after what uses it."""
    while (response := await client.delete(f"/v1/{collection}/{name}")).status_code == 409:
        users = response.json()["details"]["users"]
        for user in users:
            plural = {"dictionary": "dictionaries", "policy": "policies"}.get(
                user["kind"], f"{user['kind']}s"
            )
            await _erase(client, plural.replace("_", "-"), user["name"])
    assert response.status_code in (204, 404), response.text
