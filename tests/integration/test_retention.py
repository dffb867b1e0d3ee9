"""What is past its retention leaves whole, once, and with a trace; nothing else leaves."""

from __future__ import annotations

import asyncio
import hashlib

import psycopg
import pytest

from app.domain.errors import NotFound
from app.persistence.registry import PostgresRegistry
from app.persistence.store import unit_of_work
from app.services.access.tenant_settings import DEFAULT, TenantSettings
from app.services.resources import IdempotentReply, Kind, Removed, RunState
from app.workers.retention import RetentionKeeper
from tests.integration.population import add_evidence, resource

pytestmark = pytest.mark.anyio

DAY = 24 * 3600
SETTINGS = TenantSettings(results_days=10, runs_days=None, unused_uploads_days=5)


@pytest.fixture
def keeper(engine, master_key, clock):
    """The registry of a worker whose operator keeps results for 10 days and unused uploads for 5."""
    return PostgresRegistry(engine, master_key, clock, SETTINGS)


class Desk:
    """What a tenant does, and what is left of it."""

    def __init__(self, store, registry, tenant, urls):
        self.store, self.registry, self.tenant, self.urls = store, registry, tenant, urls

    async def do(self, action):
        async with self.store.work(self.tenant) as work:
            answer = await action(work)
            await work.commit()
        return answer

    async def asked(self, name, question=None):
        """An optimisation and its run; ``question`` tells equal ones."""
        sha256 = hashlib.sha256((question or name).encode()).hexdigest()

        async def create(work):
            stored, _ = await work.resources.add(resource(Kind.OPTIMISATION, name, sha256=sha256))
            return await work.runs.create(stored, sha256, {})

        return await self.do(create)

    async def ended(self, name, state=RunState.SUCCEEDED, question=None, reproducible=True):
        run = await self.asked(name, question)
        claim = await self.registry.claim(run.id, "worker", 15)
        result = {"of": name} if state is RunState.SUCCEEDED else None
        return await self.do(
            lambda work: work.runs.finish(claim, state, result=result, error=None, reproducible=reproducible)
        )

    async def run(self, run_id):
        return await self.do(lambda work: work.runs.get(run_id))

    async def uploaded(self, upload_id):
        async with self.store.work(self.tenant) as work:
            await work.pieces.stage(upload_id, 0, 1, b"piece")
            new = resource(Kind.UPLOAD, upload_id, hashlib.sha256(upload_id.encode()).hexdigest())
            await work.pieces.publish(upload_id, new)
            await work.commit()
        self.left(upload_id, 0)

    def left(self, upload_id, seconds_ago):
        """Have the upload last used so long before the tests' clock began."""
        self.sql(
            "UPDATE data_keys SET touched_at = '2026-11-20T12:00:00Z'::timestamptz"
            " - make_interval(secs => %s) WHERE id = %s",
            seconds_ago,
            upload_id,
        )

    async def events(self, action):
        page, _ = await self.do(
            lambda work: work.audit.list(action=action, subject=None, limit=200, cursor=None)
        )
        return [(event.key_id, event.subject) for event in page]

    def sql(self, statement, *values):
        with psycopg.connect(self.urls.admin) as connection:
            done = connection.execute(statement, values)
            return done.fetchall() if done.description else None

    def count(self, table):
        return self.sql(f"SELECT count(*) FROM {table} WHERE tenant_id = %s", self.tenant)[0][0]


@pytest.fixture
def desk(store, registry, tenant, database_urls):
    return Desk(store, registry, tenant, database_urls)


async def test_a_result_past_its_days_is_gone_and_its_run_says_so(desk, keeper, clock):
    old = await desk.ended("old")
    clock.advance(5 * DAY)
    young = await desk.ended("young")
    clock.advance(5 * DAY - 1)
    assert not await keeper.apply_retention(desk.tenant, 50)
    clock.advance(1)
    assert await keeper.apply_retention(desk.tenant, 50) == Removed(1, 0, 0)
    run = await desk.run(old.id)
    assert (run.state, run.result_id, run.finished_at) == (RunState.EXPIRED, None, old.finished_at)
    assert run.error["code"] == "expired"
    assert "10 days" in run.error["message"]
    assert "again" in run.error["remedy"]
    with pytest.raises(NotFound):
        await desk.do(lambda work: work.runs.result(old.id))
    assert desk.count("results") == 1
    assert (await desk.run(young.id)).state is RunState.SUCCEEDED
    events = await desk.do(lambda work: work.runs.events_after(old.id, 0, 100))
    assert events[-1].data["state"] == "expired"
    assert await desk.events("run.") == [("retention", old.id)]
    assert (await desk.do(lambda work: work.audit.verify())).first_broken is None


async def test_the_same_question_is_worked_on_anew_once_its_result_has_expired(desk, keeper, clock):
    await desk.ended("old", question="same")
    assert (await desk.asked("known", "same")).state is RunState.SUCCEEDED
    clock.advance(10 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 2
    assert (await desk.asked("again", "same")).state is RunState.QUEUED


async def test_a_result_stays_for_the_younger_run_of_an_equal_question(desk, keeper, clock):
    old = await desk.ended("old", question="same")
    clock.advance(5 * DAY)
    known = await desk.asked("known", "same")
    clock.advance(5 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 1
    assert (await desk.run(old.id)).state is RunState.EXPIRED
    assert await desk.do(lambda work: work.runs.result(known.id)) == {"of": "old"}
    clock.advance(5 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 1
    assert desk.count("results") == 0


async def test_what_was_answered_without_a_run_stays_as_long_as_it_does(desk, keeper, clock):
    run = await desk.ended("by-run", question="same")
    stored, _ = await desk.do(
        lambda work: work.resources.add(resource(Kind.OPTIMISATION, "at-once", sha256=run.input_sha256))
    )
    clock.advance(10 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 1
    found = await desk.do(lambda work: work.results.find(Kind.OPTIMISATION.value, stored.sha256))
    assert found == {"of": "by-run"}


async def test_an_answer_given_at_once_stays_though_runs_were_asked_for_it_later(desk, keeper, clock):
    sha256 = hashlib.sha256(b"at-once").hexdigest()

    async def answer(work):
        stored, _ = await work.resources.add(resource(Kind.OPTIMISATION, "at-once", sha256=sha256))
        await work.results.save(Kind.OPTIMISATION.value, sha256, {"of": "at-once"}, stored.id)

    await desk.do(answer)
    clock.advance(DAY)
    runs = [await desk.asked("at-once"), await desk.asked("an equal one", question="at-once")]
    assert {run.state for run in runs} == {RunState.SUCCEEDED}
    clock.advance(10 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 2
    assert await desk.do(lambda work: work.results.find(Kind.OPTIMISATION.value, sha256)) == {"of": "at-once"}


async def test_a_result_found_by_a_run_goes_when_the_last_run_that_was_given_it_expires(desk, keeper, clock):
    await desk.ended("first", question="same")
    clock.advance(DAY)
    await desk.asked("second", question="same")
    clock.advance(20 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 2
    assert desk.count("results") == 0


async def test_a_result_that_answers_its_own_run_alone_goes_with_it(desk, keeper, clock):
    await desk.ended("stopped", reproducible=False)
    clock.advance(10 * DAY)
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 1
    assert desk.count("results") == 0


async def test_runs_without_a_result_stay_unless_a_setting_says_otherwise(desk, keeper, clock):
    kept = [await desk.ended(state.value, state) for state in (RunState.FAILED, RunState.CANCELLED)]
    waiting, old = await desk.asked("waiting"), await desk.ended("old")
    clock.advance(10 * DAY)
    assert await keeper.apply_retention(desk.tenant, 50) == Removed(1, 0, 0)
    assert desk.count("runs") == 4
    await desk.do(lambda work: work.tenant.change({"runs_days": 10}))
    assert await keeper.apply_retention(desk.tenant, 50) == Removed(0, 3, 0)
    assert {run_id for _, run_id in await desk.events("run.remove")} == {run.id for run in (*kept, old)}
    assert (await desk.run(waiting.id)).state is RunState.QUEUED
    assert desk.sql("SELECT DISTINCT run_id FROM run_events WHERE tenant_id = %s", desk.tenant) == [
        (waiting.id,)
    ]


async def test_an_upload_that_nothing_uses_goes_with_its_pieces_and_key(desk, keeper, clock):
    for upload_id in ("unused", "used"):
        await desk.uploaded(upload_id)
    await desk.do(lambda work: work.resources.add(resource(Kind.DATASET, "d", uses=["used"])))
    clock.advance(5 * DAY - 1)
    assert not await keeper.apply_retention(desk.tenant, 50)
    clock.advance(1)
    assert await keeper.apply_retention(desk.tenant, 50) == Removed(0, 0, 1)
    with pytest.raises(NotFound):
        await desk.do(lambda work: work.resources.get(Kind.UPLOAD, "unused"))
    await desk.do(lambda work: work.resources.get(Kind.UPLOAD, "used"))
    assert desk.sql("SELECT id FROM data_keys WHERE tenant_id = %s AND purpose = 'upload'", desk.tenant) == [
        ("used",)
    ]
    assert desk.count("upload_pieces") == 1
    assert await desk.events("upload.") == [("retention", "unused")]


async def test_the_days_of_an_upload_begin_when_its_last_user_is_deleted(desk, keeper, clock, database_urls):
    await desk.uploaded("members")
    await desk.do(lambda work: work.resources.add(resource(Kind.DATASET, "d", uses=["members"])))
    desk.left("members", 400 * DAY)
    await desk.do(lambda work: work.resources.delete(Kind.DATASET, "d"))
    ((age,),) = desk.sql("SELECT extract(epoch FROM now() - touched_at) FROM data_keys WHERE id = 'members'")
    assert age < DAY


async def test_a_half_written_upload_is_not_touched(desk, keeper, clock):
    async with desk.store.work(desk.tenant) as work:
        await work.pieces.stage("half", 0, 1, b"piece")
    desk.left("half", 400 * DAY)
    assert not await keeper.apply_retention(desk.tenant, 50)


async def test_evidence_and_datasets_stay(desk, keeper, clock):
    run = await desk.ended("judged")
    stored = await desk.do(lambda work: work.resources.get(Kind.OPTIMISATION, run.resource_id))
    evidence_id = await desk.do(lambda work: add_evidence(work, stored))
    await desk.do(lambda work: work.resources.add(resource(Kind.DATASET, "d")))
    clock.advance(20_000 * DAY)
    assert await keeper.apply_retention(desk.tenant, 50)
    assert (await desk.do(lambda work: work.evidence.get(evidence_id))).envelope
    await desk.do(lambda work: work.resources.get(Kind.DATASET, "d"))


async def test_a_tenants_own_setting_goes_before_the_default_and_is_nobody_elses(
    desk, keeper, store, registry, second_tenant, clock, database_urls
):
    other = Desk(store, registry, second_tenant, database_urls)
    for own in (desk, other):
        await own.ended("asked")
    await desk.do(lambda work: work.tenant.change({"results_days": None}))
    await other.do(lambda work: work.tenant.change({"results_days": 300}))
    clock.advance(200 * DAY)
    assert not await keeper.apply_retention(desk.tenant, 50)
    assert not await keeper.apply_retention(other.tenant, 50)
    clock.advance(100 * DAY)
    await RetentionKeeper(keeper).go_round(asyncio.Event())
    assert [own.count("results") for own in (desk, other)] == [1, 0]
    await desk.do(lambda work: work.tenant.change({"results_days": DEFAULT}))
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 1


async def test_replies_to_requests_of_yesterday_are_forgotten_without_another_request(desk, keeper, clock):
    await desk.do(lambda work: work.idempotency.begin("POST /v1/rules", "key", "fingerprint", "owner"))
    reply = IdempotentReply(201, b"{}")
    await desk.do(lambda work: work.idempotency.complete("POST /v1/rules", "key", "owner", reply))
    clock.advance(DAY)
    await keeper.apply_retention(desk.tenant, 50)
    assert desk.count("idempotency_keys") == 0


@pytest.mark.deep
async def test_keepers_at_once_remove_each_thing_once(desk, keeper, clock):
    for number in range(12):
        await desk.ended(f"q{number}")
    for number in range(6):
        await desk.uploaded(f"u{number}")
    clock.advance(10 * DAY)

    async def go_round():
        removed = []
        while batch := await keeper.apply_retention(desk.tenant, 2):
            removed.append(batch)
        return sum(own.results for own in removed), sum(own.uploads for own in removed)

    found = await asyncio.gather(*(go_round() for _ in range(4)))
    # Who finds everything held by others ends early; so a last one goes after them.
    found.append(await go_round())
    assert [sum(kind) for kind in zip(*found, strict=True)] == [12, 6]
    assert len(await desk.events("run.expire")) == 12
    assert len(await desk.events("upload.expire")) == 6
    assert desk.count("results") == desk.count("upload_pieces") == 0


async def test_a_run_asked_for_while_its_answer_expires_is_worked_on(desk, keeper, clock, engine, master_key):
    await desk.ended("old", question="same")
    clock.advance(10 * DAY)
    async with unit_of_work(engine, desk.tenant, master_key, clock, SETTINGS) as work:
        assert await work.retention.expire_results(10, 50) == 1
        asking = asyncio.create_task(desk.asked("again", "same"))
        await asyncio.sleep(0.2)
        assert not asking.done()
        await work.commit()
    assert (await asking).state is RunState.QUEUED
    assert desk.count("results") == 0


async def test_an_answer_that_a_run_is_just_given_stays(desk, keeper, clock):
    old = await desk.ended("old", question="same")
    clock.advance(10 * DAY)
    async with desk.store.work(desk.tenant) as work:
        new = resource(Kind.OPTIMISATION, "again", sha256=old.input_sha256)
        stored, _ = await work.resources.add(new)
        run = await work.runs.create(stored, old.input_sha256, {})
        assert not await keeper.apply_retention(desk.tenant, 50)
        await work.commit()
    assert (await keeper.apply_retention(desk.tenant, 50)).results == 1
    assert (await desk.run(old.id)).state is RunState.EXPIRED
    assert await desk.do(lambda work: work.runs.result(run.id)) == {"of": "old"}
