"""Webhooks: every event reaches its receivers, however often it takes, and nobody else."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import Counter
from datetime import UTC, datetime

import psycopg
import pytest

from app.persistence.doctor import examine
from app.persistence.webhooks import KEPT
from app.services.resources import Kind, NewResource, RunState, Scope
from app.services.runs.webhook_values import Attempt, WebhookEvent
from app.services.runs.webhooks import MOST_WEBHOOKS
from app.workers.webhook_delivery import HOLD_SECONDS, PAUSES, SHARES, SPREAD, WebhookDelivery
from tests.api.problem_documents import problem_of
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio

MANY = 12
"""Messages, more than a tenant may have under way."""

HOOK = {"name": "watcher", "url": "https://hooks.example.org/x", "events": ["run.failed", "run.succeeded"]}


class Receivers:
    """Takes the place of the network: answers as told, and keeps what arrives."""

    def __init__(self, *answers):
        self.answers = list(answers)
        self.received = []

    async def send(self, message, timestamp):
        self.received.append((message, timestamp))
        return self.answers.pop(0) if self.answers else Attempt(204)

    @property
    def bodies(self):
        return [json.loads(message.body) for message, _ in self.received]


@pytest.fixture
def deliver(api, clock):
    def deliver(receivers):
        delivery = WebhookDelivery(api.registry, api.store, receivers, clock)

        async def round_() -> int:
            begun = await delivery.begin_due()
            await delivery.drain()
            return begun

        return round_

    return deliver


async def made(client, **changes):
    response = await client.post("/v1/webhooks", json=HOOK | changes)
    assert response.status_code == 201, response.text
    return response.json()


async def tenant_of(api, client):
    token = client.headers["Authorization"].removeprefix("Bearer ")
    return (await api.services.tenants.authenticate(token)).tenant


async def ended_run(api, tenant, state=RunState.FAILED, name="asked"):
    """A run that a worker brought to its end."""
    new = NewResource(Kind.OPTIMISATION, name, f"{name:0<64}"[:64], {}, {})
    async with api.store.work(tenant) as work:
        stored, _ = await work.resources.add(new)
        run = await work.runs.create(stored, stored.sha256, {})
        await work.commit()
    claim = await api.registry.claim(run.id, "worker", 15)
    failed = state is RunState.FAILED
    async with api.store.work(tenant) as work:
        await work.runs.finish(
            claim,
            state,
            result=None if failed else {"risk": 0.5},
            error={"code": "out-of-memory", "message": "the words of a cell"} if failed else None,
        )
        await work.commit()
    return run.id


async def test_a_failed_run_is_told_once_and_signed_with_the_shown_secret(api, client, deliver, clock):
    hook = await made(client)
    run_id = await ended_run(api, await tenant_of(api, client))
    receivers = Receivers()
    assert await deliver(receivers)() == 1
    assert await deliver(receivers)() == 0
    ((message, timestamp),) = receivers.received
    assert message.url == HOOK["url"]
    assert timestamp == int(clock().timestamp())
    assert message.secrets == (hook["secret"],)
    assert receivers.bodies == [
        {
            "type": "run.failed",
            "timestamp": clock().astimezone(UTC).isoformat(),
            "data": {
                "run": {
                    "id": run_id,
                    "state": "failed",
                    "resource": {"id": receivers.bodies[0]["data"]["run"]["resource"]["id"],
                                 "kind": "optimisation", "name": "asked"},
                    "error": {"code": "out-of-memory"},
                }
            },
        }
    ]  # fmt: skip
    (shown,) = (await client.get("/v1/webhooks/watcher/deliveries")).json()["items"]
    assert (shown["id"], shown["state"], shown["attempts"], shown["status"]) == (
        message.id, "delivered", 1, 204,
    )  # fmt: skip


async def test_only_events_that_were_asked_for_are_told(api, client, deliver):
    await made(client, events=["run.failed"])
    tenant = await tenant_of(api, client)
    await ended_run(api, tenant, RunState.SUCCEEDED, "well")
    await ended_run(api, tenant, RunState.FAILED, "badly")
    receivers = Receivers()
    await deliver(receivers)()
    assert [body["type"] for body in receivers.bodies] == ["run.failed"]


async def test_what_an_event_tells_is_not_told_if_it_did_not_happen(api, client, deliver):
    await made(client)
    async with api.store.work(await tenant_of(api, client)) as work:
        await work.webhooks.emit(WebhookEvent.RUN_FAILED, {})
    receivers = Receivers()
    assert await deliver(receivers)() == 0


async def test_no_other_tenant_hears_of_it_or_sees_the_webhook(api, client, other_client, deliver):
    await made(client)
    await made(other_client, name="theirs")
    await ended_run(api, await tenant_of(api, client))
    receivers = Receivers()
    assert await deliver(receivers)() == 1
    assert [own["name"] for own in (await other_client.get("/v1/webhooks")).json()["items"]] == ["theirs"]
    for method, path in (
        ("GET", ""), ("DELETE", ""), ("GET", "/deliveries"), ("POST", "/tests"), ("POST", "/secret-rotations")
    ):  # fmt: skip
        body = {"json": {}} if path == "/secret-rotations" else {}
        response = await other_client.request(method, f"/v1/webhooks/watcher{path}", **body)
        problem_of(response, 404, "not-found")


async def test_a_message_is_sent_again_with_growing_pauses_and_given_up_after_three_days(
    api, client, deliver, clock
):
    await made(client)
    await ended_run(api, await tenant_of(api, client))
    receivers = Receivers(*[Attempt(500)] * (len(PAUSES) + 1))
    began = clock()
    assert await deliver(receivers)() == 1
    for pause in PAUSES:
        assert await deliver(receivers)() == 0, "not before its time"
        clock.advance(pause.total_seconds() * (1 + SPREAD))
        assert await deliver(receivers)() == 1
    clock.advance(10 * 86_400)
    assert await deliver(receivers)() == 0
    assert len({message.id for message, _ in receivers.received}) == 1
    (shown,) = (await client.get("/v1/webhooks/watcher/deliveries")).json()["items"]
    assert (shown["state"], shown["attempts"], shown["status"]) == ("failed", len(PAUSES) + 1, 500)
    assert 3 <= (datetime.fromisoformat(shown["created_at"]) - began).total_seconds() / 86_400 + 3.2 < 4


async def test_a_message_whose_worker_died_is_sent_by_the_next_one(api, client, deliver, clock):
    await made(client)
    await ended_run(api, await tenant_of(api, client))
    assert len(await api.registry.due_deliveries(10, SHARES, HOLD_SECONDS)) == 1  # and then it died
    receivers = Receivers()
    assert await deliver(receivers)() == 0
    clock.advance(HOLD_SECONDS + 1)
    assert await deliver(receivers)() == 1


async def test_a_silent_receiver_holds_its_own_places_and_delays_nobody(api, client, other_client, clock):
    """Its tenant has several of the kind; another tenant's receiver gets all its messages meanwhile."""
    answering, silence = asyncio.Event(), {f"https://silent-{number}.example.org/" for number in range(3)}
    for number, url in enumerate(sorted(silence)):
        await made(client, name=f"silent-{number}", url=url)
    await made(other_client, url="https://quick.example.org/")
    for _ in range(SHARES.of_webhook + 1):
        for number in range(len(silence)):
            await client.post(f"/v1/webhooks/silent-{number}/tests")
    for _ in range(MANY):
        await other_client.post("/v1/webhooks/watcher/tests")

    class Network(Receivers):
        async def send(self, message, timestamp):
            await super().send(message, timestamp)
            if message.url in silence:
                await answering.wait()
            return Attempt(204)

    network = Network()
    delivery = WebhookDelivery(api.registry, api.store, network, clock)
    stop = asyncio.Event()
    serving = asyncio.create_task(delivery.serve(stop))
    try:
        async with asyncio.timeout(HANG_SECONDS):
            while sum("quick" in message.url for message, _ in network.received) < MANY:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        held = Counter(message.url for message, _ in network.received if message.url in silence)
        assert sum(held.values()) == SHARES.of_tenant
        assert max(held.values()) <= SHARES.of_webhook
        assert len(held) == len(silence)
    finally:
        stop.set()
        answering.set()
        await serving
        for number in range(len(silence)):
            await client.delete(f"/v1/webhooks/silent-{number}")


@pytest.fixture
async def filled(client):
    """Adds more messages to each of two webhooks than a receiver may have under way."""
    for name in ("first", "second"):
        await made(client, name=name, url=f"https://{name}.example.org/")

    async def fill():
        for name in ("first", "second") * (SHARES.of_webhook + 1):
            await client.post(f"/v1/webhooks/{name}/tests")

    yield fill
    for name in ("first", "second"):
        await client.delete(f"/v1/webhooks/{name}")


async def test_two_workers_at_once_hold_no_more_than_the_shares(filled, database_urls, clock):
    """The second counts what the first has taken and not yet committed, though what it finds is older."""
    clock.advance(1)
    await filled()
    take = "SELECT count(*) FROM lookup_due_deliveries(%s, 40, %s, %s, %s)"
    asked = (clock(), SHARES.of_tenant, SHARES.of_webhook, HOLD_SECONDS)
    connect = psycopg.AsyncConnection.connect
    async with await connect(database_urls.runtime) as one, await connect(database_urls.runtime) as other:
        assert await (await one.execute(take, asked)).fetchone() == (SHARES.of_tenant,)
        clock.advance(-1)
        await filled()
        asking = asyncio.create_task(other.execute(take, asked))
        await asyncio.wait({asking}, timeout=0.2)
        await one.commit()
        assert await (await asking).fetchone() == (0,)


async def test_what_a_worker_holds_counts_for_one_whose_clock_is_behind(api, filled, clock):
    clock.advance(1)
    await filled()
    assert len(await api.registry.due_deliveries(40, SHARES, HOLD_SECONDS)) == SHARES.of_tenant
    clock.advance(-1)
    await filled()
    assert await api.registry.due_deliveries(40, SHARES, HOLD_SECONDS) == []


async def test_a_message_that_two_workers_hold_is_sent_by_one_of_them(api, client, deliver, clock):
    await made(client)
    await ended_run(api, await tenant_of(api, client))
    (held,) = await api.registry.due_deliveries(10, SHARES, HOLD_SECONDS)  # by a worker that is slow
    clock.advance(HOLD_SECONDS + 1)
    assert await deliver(Receivers())() == 1
    async with api.store.work(held.tenant) as work:
        assert await work.webhooks.message(held.id) is None


async def test_messages_are_listed_a_page_at_a_time_and_done_ones_for_thirty_days(
    api, client, deliver, clock
):
    await made(client)
    sent = []
    for _ in range(5):
        sent.insert(0, (await client.post("/v1/webhooks/watcher/tests")).json()["id"])
        await deliver(Receivers())()
        clock.advance(86_400)

    async def listed(limit):
        found, cursor = [], None
        while cursor is not None or not found:
            asked = {"limit": limit} | ({"cursor": cursor} if cursor else {})
            page = (await client.get("/v1/webhooks/watcher/deliveries", params=asked)).json()
            found += [own["id"] for own in page["items"]]
            cursor = page["next_cursor"]
        return found

    assert await listed(2) == await listed(50) == sent
    clock.advance(KEPT.total_seconds() - 2 * 86_400 - 3600)
    following = (await client.post("/v1/webhooks/watcher/tests")).json()["id"]
    assert await listed(50) == [following, *sent[:2]]


async def test_no_more_webhooks_than_the_most(client):
    for number in range(MOST_WEBHOOKS):
        await made(client, name=f"watcher-{number}")
    problem_of(await client.post("/v1/webhooks", json=HOOK), 409, "conflict")
    again = await client.post("/v1/webhooks", json=HOOK | {"name": "watcher-0"})
    assert again.status_code == 200


async def test_a_receiver_that_is_gone_is_left_alone(api, client, deliver, clock):
    await made(client)
    tenant = await tenant_of(api, client)
    await ended_run(api, tenant, name="first")
    receivers = Receivers(Attempt(410))
    await deliver(receivers)()
    await ended_run(api, tenant, name="second")
    clock.advance(86_400)
    assert await deliver(receivers)() == 0
    assert (await client.get("/v1/webhooks/watcher")).json()["disabled_at"] is not None
    (shown,) = (await client.get("/v1/webhooks/watcher/deliveries")).json()["items"]
    assert (shown["state"], shown["status"], shown["error"]) == ("failed", 410, None)
    problem_of(await client.post("/v1/webhooks/watcher/tests"), 409, "conflict")


async def test_a_rotated_secret_signs_beside_the_old_one_until_its_end(api, client, deliver, clock):
    first = (await made(client))["secret"]
    response = await client.post("/v1/webhooks/watcher/secret-rotations", json={"overlap_hours": 2})
    second = response.json()["secret"]
    receivers = Receivers()
    for hours in (0, 1, 3):
        clock.advance(hours * 3600)
        await client.post("/v1/webhooks/watcher/tests")
        await deliver(receivers)()
    used = [message.secrets for message, _ in receivers.received]
    assert used == [(second, first), (second, first), (second,)]
    assert len(base64.b64decode(second.removeprefix("whsec_"))) == 32


async def test_rotating_again_prolongs_no_secret(api, client, deliver, clock):
    first = (await made(client))["secret"]
    rotate = "/v1/webhooks/watcher/secret-rotations"
    second = (await client.post(rotate, json={"overlap_hours": 1})).json()["secret"]
    third = (await client.post(rotate, json={"overlap_hours": 5})).json()["secret"]
    receivers = Receivers()
    for hours in (0, 2):
        clock.advance(hours * 3600)
        await client.post("/v1/webhooks/watcher/tests")
        await deliver(receivers)()
    assert [message.secrets for message, _ in receivers.received] == [(third, second, first), (third, second)]


async def test_the_secret_is_shown_once_and_kept_sealed(client, database_urls):
    headers = {"Idempotency-Key": "once"}
    first = (await client.post("/v1/webhooks", json=HOOK, headers=headers)).json()
    again = await client.post("/v1/webhooks", json=HOOK, headers=headers)
    anew = await client.post("/v1/webhooks", json=HOOK)
    assert first["secret"].startswith("whsec_")
    assert (again.json()["secret"], anew.json()["secret"], anew.status_code) == (None, None, 200)
    assert first["secret"] not in (await client.get("/v1/webhooks")).text

    with psycopg.connect(database_urls.admin) as connection:
        (held,) = connection.execute("SELECT secrets FROM webhooks WHERE id = %s", [first["id"]]).fetchone()
    assert first["secret"].encode() not in held
    assert base64.b64decode(first["secret"].removeprefix("whsec_")) not in held


SECRET_HOOK = HOOK | {"url": "https://hooks.example.org/services/T0KEN?key=s3cret"}


def stored_addresses(database_urls):
    with psycopg.connect(database_urls.admin) as connection:
        return connection.execute("SELECT url, address FROM webhooks").fetchall()


async def test_an_address_is_kept_sealed_and_named_nowhere_else(
    api, client, deliver, database_urls, no_webhooks
):
    hook = await made(client, url=SECRET_HOOK["url"])
    assert hook["url"] == SECRET_HOOK["url"]
    assert (await client.post("/v1/webhooks", json=SECRET_HOOK)).status_code == 200
    ((url, address),) = stored_addresses(database_urls)
    assert url is None
    assert not any(part in address for part in (b"hooks.example.org", b"T0KEN", b"s3cret"))
    other = await client.post("/v1/webhooks", json=HOOK | {"url": "https://hooks.example.org/T0KEN"})
    await client.post("/v1/webhooks/watcher/tests")
    receivers = Receivers(Attempt(None, "unreachable"))
    await deliver(receivers)()
    assert [message.url for message, _ in receivers.received] == [SECRET_HOOK["url"]]
    shown = [
        problem_of(other, 409, "conflict"),
        (await client.get("/v1/webhooks/watcher/deliveries")).text,
        (await client.get("/v1/audit-events")).text,
        api.log.getvalue(),
    ]
    assert "T0KEN" not in str(shown)


async def test_addresses_of_the_time_before_work_on_and_are_sealed_by_the_next_start(
    api, client, deliver, database_urls, master_key, no_webhooks
):
    await made(client)
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE webhooks SET url = %s, address = NULL", [SECRET_HOOK["url"]])
    receivers = Receivers()
    for is_sealed in (False, True):
        found = {one.name: one.passed for one in await examine(database_urls.runtime, master_key)}
        assert found["webhook addresses"] == is_sealed
        assert (await client.get("/v1/webhooks/watcher")).json()["url"] == SECRET_HOOK["url"]
        await client.post("/v1/webhooks/watcher/tests")
        await deliver(receivers)()
        assert await api.registry.encrypt_webhook_addresses() == (0 if is_sealed else 1)
    assert [message.url for message, _ in receivers.received] == [SECRET_HOOK["url"]] * 2
    ((url, address),) = stored_addresses(database_urls)
    assert url is None
    assert b"s3cret" not in address


@pytest.fixture
def no_webhooks(database_urls):
    """None of another test: what is sealed or not is told of the whole database."""
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("DELETE FROM webhooks")


@pytest.mark.parametrize(
    "url",
    [
        "ftp://x.example/", "https://", "//x.example", "https://user:pa55@x.example/", "https://x.example/#a",
        "https://x.example:99999/", "https://x.example/\u00e9", "https://x.exa mple/", "javascript:alert(1)",
    ],
)  # fmt: skip
async def test_an_address_that_is_none_is_refused_and_not_repeated(client, url, unchanged):
    response = await client.post("/v1/webhooks", json=HOOK | {"url": url})
    problem_of(response, 422, "invalid-input")
    assert response.json()["errors"][0]["pointer"] == "/url"
    assert "pa55" not in response.json()["detail"]


async def test_other_content_under_the_name_is_a_conflict(client):
    await made(client)
    changed = await client.post("/v1/webhooks", json=HOOK | {"events": ["run.failed"]})
    problem_of(changed, 409, "conflict")
    for event in ("webhook.test", "run.begun"):
        refused = await client.post("/v1/webhooks", json=HOOK | {"name": "x", "events": [event]})
        problem_of(refused, 422, "invalid-input")


async def test_webhooks_and_the_trail_are_the_administrators_alone(api, client):
    token = client.headers["Authorization"].removeprefix("Bearer ")
    actor = await api.services.tenants.authenticate(token)
    assess = await api.key_with(actor, Scope.ASSESS, Scope.GOVERN, Scope.DATA_READ, Scope.DATA_WRITE)
    async with api.client(assess) as lesser:
        for response in (
            await lesser.get("/v1/webhooks"),
            await lesser.post("/v1/webhooks", json=HOOK),
            await lesser.get("/v1/audit-events"),
            await lesser.get("/v1/audit-events/verification"),
        ):
            problem_of(response, 403, "forbidden")


async def test_the_trail_tells_who_did_what_a_page_at_a_time(client):
    await made(client)
    await client.delete("/v1/webhooks/watcher")
    page = (await client.get("/v1/audit-events", params={"limit": 2})).json()
    assert [(event["action"], event["key_name"]) for event in page["items"]] == [
        ("webhook.delete", "admin"),
        ("webhook.create", "admin"),
    ]
    following = await client.get("/v1/audit-events", params={"limit": 2, "cursor": page["next_cursor"]})
    assert [event["number"] for event in following.json()["items"]] == [2, 1]
    chosen = (await client.get("/v1/audit-events", params={"action": "webhook.c"})).json()["items"]
    assert [event["action"] for event in chosen] == ["webhook.create"]
    about = (await client.get("/v1/audit-events", params={"subject": chosen[0]["subject"]})).json()["items"]
    assert len(about) == 2


async def test_a_changed_event_shows(client, database_urls):

    await made(client)
    before = (await client.get("/v1/audit-events/verification")).json()
    assert (before["intact"], before["first_broken"], before["events"]) == (True, None, 3)
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute(
            "UPDATE audit_events SET action = 'nothing' WHERE number = 2 AND tenant_id ="
            " (SELECT tenant_id FROM webhooks WHERE id = %s)",
            [(await client.get("/v1/webhooks/watcher")).json()["id"]],
        )
    after = (await client.get("/v1/audit-events/verification")).json()
    assert (after["intact"], after["first_broken"]) == (False, 2)
