"""What a load sends, and what is made of the answers."""

import asyncio
import json
from dataclasses import asdict
from itertools import islice

import httpx
import pytest

from tests.benchmarks.service.load import Sent, growth
from tests.benchmarks.service.load_clients import BROKEN, Load
from tests.benchmarks.service.load_plan import Asking, Kind, Plan, Told, mixed
from tests.benchmarks.service.service_log import ServiceLog

READ = Kind("GET", 3.0, [Asking("GET", "/v1/a"), Asking("GET", "/v1/b")])
NEW = Kind("new", 1.0, [Asking("POST", f"/v1/n{number}", {"n": number}) for number in range(40)], False)


def plan(*kinds, **changes):
    return Plan("http://service", "key", kinds or (READ,), **({"seconds": 0.1} | changes))


def test_a_plan_comes_out_of_its_text_as_it_went_in():
    stated = plan(READ, NEW, rate=20.0, listened="/v1/runs/r/events", listeners=3, cookie="a=b")
    read = Plan.from_json(stated.to_json())
    assert asdict(read) == json.loads(stated.to_json())
    assert read.kinds[1].requests[7] == Asking("POST", "/v1/n7", {"n": 7})


def test_kinds_are_drawn_by_weight_and_their_requests_in_turn():
    sent = list(islice(mixed(plan(READ, NEW)), 100))
    read = [asking.path for kind, asking in sent if kind == "GET"]
    assert 60 <= len(read) <= 90
    assert read[:4] == ["/v1/a", "/v1/b", "/v1/a", "/v1/b"]


def test_a_load_ends_when_what_is_sent_once_is_used_up():
    sent = [asking.body["n"] for kind, asking in mixed(plan(READ, NEW)) if kind == "new"]
    assert sent == list(range(40))


def test_refusals_and_failures_are_no_answers():
    told = Told(seconds=2.0)
    told.note("GET", 200, 10.0, "")
    told.note("GET", 201, 30.0, "")
    for _ in range(2):
        told.note("new", 429, 1.0, "too-many")
    told.note("new", BROKEN, 0.0, "reset")
    assert (told.answered, told.refused, told.failed, told.throughput) == (2, 2, 1, 1.0)
    assert told.percentile(0.5) == 10.0
    assert told.percentile(0.99) == 30.0
    assert told.examples == ["new 429 too-many", "new 599 reset"]


def test_however_many_are_refused_what_failed_is_told():
    told = Told(seconds=1.0)
    for number in range(9):
        told.note(f"kind {number}", 429, 1.0, "too-many")
    told.note("gate", 500, 1.0, "internal-error")
    assert told.examples == [
        *(f"kind {number} 429 too-many" for number in range(5)),
        "gate 500 internal-error",
    ]


MEMORY = [(0.0, 90.0), (1.0, 100.0)]
SPENT = {"api": 0.1, "worker": 0.0, "worker_children": 0.2, "postgres": 0.05}


@pytest.mark.parametrize(("status", "is_right"), [(200, True), (500, False), (BROKEN, False)])
def test_a_row_is_wrong_where_anything_failed(status, is_right):
    told = Told(seconds=1.0, processor=0.01)
    told.note("GET", 200, 5.0, "")
    told.note("GET", status, 5.0, "")
    row = Sent(told, 1, SPENT, MEMORY).row("mixed", "requests/s", 1.0)
    assert row.same_result is is_right


def test_a_row_tells_where_the_service_failed(tmp_path):
    log, told = ServiceLog(tmp_path), Told(seconds=1.0)
    told.note("gate", 500, 5.0, "/problems/internal-error")
    answered = {"event": "request", "route": "/v1/rules", "status": 200}
    failed = {
        "event": "request",
        "route": "/v1/gates",
        "error": "KeyError",
        "frames": ["a.py:1 f", "b.py:2 g"],
    }
    lines = [json.dumps(answered), "no JSON, but an error", '{"error": half', *2 * [json.dumps(failed)]]
    (tmp_path / "api.log").write_text("\n".join(lines) + "\n")
    row = Sent(told, 1, SPENT, MEMORY, log.errors()).row("mixed", "requests/s", 1.0)
    assert row.detail.endswith(
        "; gate 500 /problems/internal-error; /v1/gates: KeyError at a.py:1 f > b.py:2 g"
    )
    assert log.errors() == []
    with (tmp_path / "worker.log").open("a") as worker:
        worker.write(
            json.dumps({"event": "a run failed", "logger": "app.worker", "error": "ValueError"}) + "\n"
        )
    assert log.errors() == ["app.worker: ValueError at "]


def test_nothing_answered_is_wrong():
    assert Sent(Told(seconds=1.0), 1, SPENT, MEMORY).row("mixed", "requests/s", 0.0).same_result is False


def test_a_row_tells_the_processor_time_of_every_role_for_an_answer():
    told = Told(seconds=1.0, processor=0.02)
    for _ in range(10):
        told.note("GET", 200, 5.0, "")
    counters = Sent(told, 2, SPENT, MEMORY).row("mixed", "requests/s", 10.0).counters
    assert (counters["api_ms"], counters["postgres_ms"]) == (10.0, 5.0)
    assert (counters["worker_ms"], counters["generator_ms"], counters["api_processes"]) == (20.0, 2.0, 2)


def test_growth_is_that_of_the_second_half():
    told = Told(seconds=600.0)
    told.note("GET", 200, 5.0, "")
    filling = [(100.0 + second, 200.0 + second) for second in range(300)]
    filled = [(400.0 + second, 500.0 + second / 60) for second in range(301)]
    row = growth(Sent(told, 2, SPENT, [*filling, *filled]), 600.0)
    assert (row.part, row.unit, row.peak_mib) == ("memory", "MiB a minute", 505.0)
    assert row.ours == pytest.approx(1.0)
    assert (row.counters["first_mib"], row.counters["half_mib"], row.counters["last_mib"]) == (200, 500, 505)


class Answering(Load):
    """A load whose connections lead to a function."""

    def __init__(self, stated, answer):
        super().__init__(stated)
        self._answer = answer

    def _connected(self):
        return httpx.AsyncClient(base_url="http://service", transport=httpx.MockTransport(self._answer))


def test_pages_are_asked_with_the_cookie_and_the_interface_with_the_key():
    seen = []

    def answer(request):
        seen.append((request.url.path, request.headers.get("Cookie"), request.headers.get("Authorization")))
        return httpx.Response(200)

    kinds = [Kind("page", 1.0, [Asking("GET", "/datasets/members"), Asking("GET", "/v1/a")])]
    # So many whatever the machine does meanwhile: clients that wait for answers may find no time for two.
    asyncio.run(Answering(plan(*kinds, rate=100.0, cookie="session=s"), answer).run(lambda: None))
    assert ("/datasets/members", "session=s", None) in seen
    assert ("/v1/a", None, "Bearer key") in seen


def test_an_open_load_sends_what_is_due_however_slow_the_answers_are():
    async def answer(request):
        await asyncio.sleep(0.3)
        return httpx.Response(200)

    told = asyncio.run(Answering(plan(seconds=0.1, rate=100.0), answer).run(lambda: None))
    assert told.answered == 10
    assert told.percentile(0.01) >= 250


def test_a_broken_connection_is_a_failure():
    def answer(request):
        raise httpx.ConnectError("refused")

    told = asyncio.run(Answering(plan(NEW, seconds=5.0), answer).run(lambda: None))
    assert (told.answered, told.failed) == (0, 40)


def test_what_failed_is_told_by_its_route_and_problem_and_without_names():
    def answer(request):
        if request.url.path.startswith("/v1"):
            return httpx.Response(503, json={"type": "/problems/unavailable", "detail": "of members"})
        raise httpx.ReadError("")

    asked = [Asking("GET", "/v1/datasets/members/preview?limit=2"), Asking("GET", "/datasets/members")]
    kinds = [Kind("look", 1.0, [*asked, Asking("POST", "/v1/rules", {})], False)]
    told = asyncio.run(Answering(plan(*kinds, seconds=5.0), answer).run(lambda: None))
    assert told.examples == [
        "look 503 GET /v1/datasets/… /problems/unavailable",
        "look 599 GET /datasets/… ReadError('')",
        "look 503 POST /v1/rules /problems/unavailable",
    ]


def test_a_load_begins_once_its_listeners_listen():
    seen = []

    async def answer(request):
        await asyncio.sleep(0.05)
        seen.append(request.url.path)
        return httpx.Response(200, content=b"data: {}\n")

    stated = plan(seconds=0.05, rate=100.0, listened="/v1/runs/r/events", listeners=3)
    told = asyncio.run(Answering(stated, answer).run(lambda: seen.append("begin")))
    assert seen[:4] == ["/v1/runs/r/events"] * 3 + ["begin"]
    assert told.events == 3
    assert told.answered == 5


def test_an_open_load_of_hardly_a_request_sends_one():
    told = asyncio.run(
        Answering(plan(seconds=0.1, rate=0.5), lambda _: httpx.Response(200)).run(lambda: None)
    )
    assert told.answered == 1
