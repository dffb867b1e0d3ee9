"""Connections that come too slowly are cut off, by a clock of the test's own."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
import uvicorn
from uvicorn.server import ServerState

from app.api.connections import BoundedConnection, ConnectionLimits

pytestmark = pytest.mark.anyio

LIMITS = BoundedConnection.limits
POST = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4000000\r\n\r\n"
OF_PROXIES = 60
"""Seconds for which nginx and load balancers keep a connection that nobody uses."""

GET = b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"


class Timer:
    def __init__(self, when: float, call: Callable[..., None]) -> None:
        self.when, self.call, self.is_cancelled = when, call, False

    def cancel(self) -> None:
        self.is_cancelled = True


class Loop:
    """The part of an event loop that a connection uses, with a clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[Timer] = []

    def time(self) -> float:
        return self.now

    def call_later(self, delay: float, call: Callable[..., None]) -> Timer:
        self.timers.append(Timer(self.now + delay, call))
        return self.timers[-1]

    def create_task(self, work: Any) -> asyncio.Task[None]:
        return asyncio.get_running_loop().create_task(work)

    def advance(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.when <= end and not timer.is_cancelled]:
            timer = min(due, key=lambda timer: timer.when)
            self.timers.remove(timer)
            self.now = timer.when
            timer.call()
        self.now = end


class Transport(asyncio.Transport):
    """A transport that keeps what is written, and gives what is sent if it reads."""

    socket: socket.socket

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.unread = 0
        self.is_closed = self.is_paused = self.is_half_closed = False

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        return self.socket if name == "socket" else default

    def write(self, data: bytes) -> None:  # type: ignore[override]
        self.written += data

    def is_closing(self) -> bool:
        return self.is_closed

    def close(self) -> None:
        self.is_closed = True

    def abort(self) -> None:
        self.is_closed = True
        self.unread = 0

    def get_write_buffer_size(self) -> int:
        return self.unread

    def write_eof(self) -> None:
        self.is_half_closed = True

    def pause_reading(self) -> None:
        self.is_paused = True

    def resume_reading(self) -> None:
        self.is_paused = False


@pytest.fixture(autouse=True, scope="module")
def sockets() -> Iterator[None]:
    """Give all connections a socket at which nothing arrives."""
    Transport.socket, other_side = socket.socketpair()
    with Transport.socket, other_side:
        yield


class Visit:
    """A connection to an application, which answers 401, or reads the body and answers 200."""

    state = ServerState()

    def __init__(self, loop: Loop, reads: bool, state: ServerState | None = None) -> None:
        self.asked = 0
        self.go_on = asyncio.Event()
        self.go_on.set()

        async def application(scope: Any, receive: Any, send: Any) -> None:
            await self.go_on.wait()
            more = reads
            while more:
                self.asked += 1
                message = await receive()
                if message["type"] == "http.disconnect":
                    return
                more = message["more_body"]
            await send({"type": "http.response.start", "status": 200 if reads else 401, "headers": []})
            await send({"type": "http.response.body", "body": b""})

        config = uvicorn.Config(application, http=BoundedConnection, ws="none", log_config=None)
        self.loop = loop
        self.connection = BoundedConnection(config, state or ServerState(), {}, loop)
        self.transport = Transport()
        self.connection.connection_made(self.transport)

    async def send(self, data: bytes) -> None:
        """Put bytes where the connection wants them, as a transport does."""
        while data and not self.transport.is_paused and not self.transport.is_closed:
            room = self.connection.get_buffer(-1)
            part, data = data[: len(room)], data[len(room) :]
            room[: len(part)] = part
            self.connection.buffer_updated(len(part))
            await settled()

    @property
    def problem(self) -> tuple[int, dict[str, Any]]:
        head, _, body = self.transport.written.partition(b"\r\n\r\n")
        assert b"application/problem+json" in head
        return int(head.split()[1]), json.loads(body)


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


@pytest.mark.parametrize("sent", [b"", b"GET / HT", b"GET / HTTP/1.1\r\nHost: a\r\n"])
async def test_a_head_that_does_not_end_in_time_is_cut_off(sent):
    loop = Loop()
    visit = Visit(loop, reads=True)
    await visit.send(sent)
    loop.advance(LIMITS.head_seconds - 0.1)
    assert not visit.transport.is_closed
    loop.advance(0.1)
    assert visit.transport.is_closed
    status, problem = visit.problem
    assert (status, problem["type"]) == (408, "/problems/request-timeout")
    assert LIMITS.head_seconds <= 15


async def test_a_head_that_drips_is_cut_off_as_well_also_on_a_connection_that_was_used():
    loop = Loop()
    visit = Visit(loop, reads=True)
    await visit.send(GET)
    assert visit.transport.written.startswith(b"HTTP/1.1 200")
    loop.advance(1)
    for _ in range(12):
        assert not visit.transport.is_closed
        await visit.send(b"G")
        loop.advance(0.9)
    assert visit.transport.is_closed


async def test_a_body_that_stops_or_drips_is_cut_off_within_15_seconds():
    for drip in (b"", b"x" * 1000):
        loop = Loop()
        visit = Visit(loop, reads=True)
        await visit.send(POST)
        assert visit.asked == 1
        for _ in range(15):
            await visit.send(drip)
            loop.advance(1)
        assert visit.transport.is_closed
        assert visit.problem[0] == 408
        await settled()
        assert not visit.connection.tasks


async def test_a_body_of_the_least_rate_goes_on_and_so_does_one_that_is_told_to_wait():
    loop = Loop()
    visit = Visit(loop, reads=True)
    await visit.send(POST)
    for _ in range(60):
        await visit.send(b"x" * LIMITS.least_rate)
        loop.advance(1)
    assert not visit.transport.is_closed
    visit.connection.flow.pause_reading()
    loop.advance(60)
    assert not visit.transport.is_closed


class BusyLoop(Loop):
    """A loop that does not get to what the application has to do."""

    def create_task(self, work: Any) -> Any:
        work.close()
        return asyncio.get_running_loop().create_future()


async def test_nothing_of_a_body_is_taken_in_before_the_application_asks():
    visit = Visit(BusyLoop(), reads=True)
    taken = []
    take = visit.connection.data_received
    visit.connection.data_received = lambda data: (taken.append(len(data)), take(data))[1]  # type: ignore
    await visit.send(POST + b"x" * 4_000_000)
    assert visit.transport.is_paused
    assert sum(taken) <= 16 * 1024


async def test_the_rest_of_a_refused_body_is_taken_in_for_a_while_and_kept_nowhere():
    loop = Loop()
    visit = Visit(loop, reads=False)
    await visit.send(POST)
    assert visit.transport.written.startswith(b"HTTP/1.1 401")
    await visit.send(b"x" * 1_000_000)
    assert len(visit.connection.cycle.body) == 0
    await visit.send(b"x" * 3_000_000 + GET)
    assert visit.transport.written.count(b"HTTP/1.1 401") == 2
    await visit.send(POST)
    loop.advance(LIMITS.unread_seconds)
    assert visit.transport.is_closed


async def test_an_endless_refused_body_is_cut_off():
    visit = Visit(Loop(), reads=False)
    await visit.send(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99000000\r\n\r\n")
    for _ in range(20):
        await visit.send(b"x" * 1_000_000)
    assert visit.transport.is_closed


async def test_at_too_many_connections_the_one_that_waits_longest_for_a_head_gives_way(monkeypatch):
    monkeypatch.setattr(BoundedConnection, "limits", ConnectionLimits(connections=3))
    loop, state = Loop(), ServerState()
    busy = Visit(loop, reads=True, state=state)
    await busy.send(POST)
    waiting = []
    for _ in range(2):
        loop.advance(1)
        waiting.append(Visit(loop, reads=True, state=state))
    more = Visit(loop, reads=True, state=state)
    assert [visit.transport.is_closed for visit in (busy, *waiting, more)] == [False, True, False, False]
    for visit in (waiting[1], more):
        await visit.send(POST)
    waiting[0].connection.connection_lost(None)
    refused = Visit(loop, reads=True, state=state)
    status, problem = refused.problem
    assert (status, problem["type"]) == (503, "/problems/unavailable")
    assert b"retry-after: 5" in refused.transport.written
    assert refused.transport.is_closed


async def test_at_too_many_connections_one_between_requests_gives_way_but_none_that_is_answered(
    monkeypatch,
):
    monkeypatch.setattr(BoundedConnection, "limits", ConnectionLimits(connections=3))
    loop, state = Loop(), ServerState()
    visits = [Visit(loop, reads=False, state=state) for _ in range(3)]
    idle, idle_since_later, answered = visits
    for visit in (idle, idle_since_later):
        loop.advance(1)
        await visit.send(GET)
    answered.go_on.clear()
    await answered.send(GET)
    closed = []
    for _ in range(3):
        more = Visit(loop, reads=False, state=state)
        more.go_on.clear()
        await more.send(GET)
        closed.append([visit.transport.is_closed for visit in (*visits, more)])
        for visit in visits:
            if visit.transport.is_closed:
                visit.connection.connection_lost(None)
    assert closed == [[True, False, False, False], [True, True, False, False], [True, True, False, True]]
    for visit in (answered, more):
        visit.go_on.set()
    await settled()


async def test_a_request_that_has_arrived_and_was_not_read_yet_is_not_lost(monkeypatch):
    monkeypatch.setattr(BoundedConnection, "limits", ConnectionLimits(connections=2))
    loop, state = Loop(), ServerState()
    asks_again, idle = (Visit(loop, reads=False, state=state) for _ in range(2))
    for visit in (asks_again, idle):
        loop.advance(1)
        await visit.send(GET)
    asks_again.transport.socket, other_side = socket.socketpair()
    with asks_again.transport.socket, other_side:
        other_side.send(GET)
        more = Visit(loop, reads=False, state=state)
        assert [visit.transport.is_closed for visit in (asks_again, idle, more)] == [False, True, False]
        loop.advance(LIMITS.idle_seconds)
        assert not asks_again.transport.is_closed
        await asks_again.send(asks_again.transport.socket.recv(len(GET)))
        assert asks_again.transport.written.count(b"HTTP/1.1 401") == 2
        loop.advance(LIMITS.idle_seconds)
        assert asks_again.transport.is_closed


async def test_clients_and_proxies_end_a_connection_between_two_requests_before_the_service_does():
    visit = Visit(Loop(), reads=False)
    await visit.send(GET)
    visit.loop.advance(max(httpx.Limits().keepalive_expiry or 0, OF_PROXIES) + LIMITS.answer_seconds)
    assert not visit.transport.is_closed, "a request that is on its way would be lost"
    await visit.send(GET)
    assert visit.transport.written.count(b"HTTP/1.1 401") == 2
    visit.loop.advance(LIMITS.idle_seconds)
    assert visit.transport.is_closed


async def test_what_is_no_http_is_refused_with_a_problem():
    visit = Visit(Loop(), reads=True)
    await visit.send(b"\x16\x03\x01 nothing\r\n\r\n")
    assert visit.problem[0] == 400
    assert not visit.transport.is_closed, "its sender may not have read that yet"
    visit.loop.advance(LIMITS.unread_seconds)
    assert visit.transport.is_closed


@pytest.mark.parametrize(
    "framing",
    [
        b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"transfer-encoding: chunked\r\nCONTENT-LENGTH: 5\r\n",
        b"Content-Length: 5\r\nContent-Length: 6\r\n",
        b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        b"Transfer-Encoding: xchunked\r\n",
        b"Content-Length : 5\r\n",
    ],
)
async def test_a_body_whose_end_is_in_doubt_is_refused_and_what_follows_is_no_request(framing):
    visit = Visit(Loop(), reads=True)
    await visit.send(b"POST / HTTP/1.1\r\nHost: a\r\n" + framing + b"\r\n0\r\n\r\n" + GET)
    assert visit.problem[0] == 400
    assert visit.transport.written.count(b"HTTP/1.1 ") == 1
    await visit.send(GET)
    assert visit.transport.written.count(b"HTTP/1.1 ") == 1


CLOSE = POST.replace(b"Host: a", b"Host: a\r\nConnection: close")


@pytest.mark.parametrize("head", [CLOSE, POST.replace(b"1.1", b"1.0")], ids=["close", "1.0"])
async def test_a_refused_body_does_not_take_its_answer_away_with_the_connection(head):
    """A socket that is closed with bytes unread is reset, and the answer with it."""
    visit = Visit(Loop(), reads=False)
    await visit.send(head)
    assert visit.transport.written.startswith(b"HTTP/1.1 401")
    assert (visit.transport.is_half_closed, visit.transport.is_closed) == (True, False)
    await visit.send(b"x" * 1_000_000 + GET)
    assert visit.transport.written.count(b"HTTP/1.1 ") == 1
    visit.loop.advance(LIMITS.unread_seconds)
    assert visit.transport.is_closed


async def test_the_rest_of_a_refused_body_is_bounded_before_its_connection_is_closed():
    visit = Visit(Loop(), reads=False)
    await visit.send(CLOSE.replace(b"4000000", b"99000000"))
    for _ in range(17):
        assert not visit.transport.is_closed
        await visit.send(b"x" * 1_000_000)
    assert visit.transport.is_closed


async def test_who_takes_its_time_to_hang_up_gives_way_to_others(monkeypatch):
    monkeypatch.setattr(BoundedConnection, "limits", ConnectionLimits(connections=1))
    state = ServerState()
    refused = Visit(Loop(), reads=False, state=state)
    await refused.send(CLOSE)
    Visit(Loop(), reads=True, state=state)
    assert refused.transport.is_closed


async def test_after_a_refused_body_has_come_nobody_is_told_to_hurry():
    visit = Visit(Loop(), reads=False)
    await visit.send(POST + b"x" * 4_000_000)
    answered = visit.transport.written
    visit.loop.advance(visit.connection.timeout_keep_alive - 0.1)
    assert not visit.transport.is_closed
    visit.loop.advance(LIMITS.head_seconds)
    assert visit.transport.is_closed
    assert visit.transport.written == answered


WHOLE = POST.replace(b"4000000", b"3") + b"abc"


async def test_who_has_sent_all_and_says_so_is_answered():
    visit = Visit(Loop(), reads=True)
    visit.go_on.clear()
    await visit.send(WHOLE + GET)
    assert visit.connection.eof_received()
    visit.go_on.set()
    await settled()
    await settled()
    assert visit.transport.written.count(b"HTTP/1.1 200") == 2
    assert visit.transport.is_closed


async def test_who_stops_in_the_middle_of_a_body_is_told_so_and_the_request_ends():
    visit = Visit(Loop(), reads=True)
    await visit.send(WHOLE[:-1])
    assert not visit.connection.eof_received()
    assert visit.problem[0] == 400
    assert visit.transport.is_closed
    await settled()
    assert not visit.connection.tasks


async def test_who_hangs_up_during_the_answer_or_before_a_request_is_let_go():
    for sent in (b"", b"GET / HT", GET):
        visit = Visit(Loop(), reads=True)
        await visit.send(sent)
        assert not visit.connection.eof_received()


async def test_who_hardly_reads_an_answer_is_cut_off_and_who_reads_is_not():
    for rate, goes_on in ((0, False), (LIMITS.least_rate // 2, False), (2 * LIMITS.least_rate, True)):
        visit = Visit(Loop(), reads=False)
        visit.go_on.clear()
        await visit.send(GET)
        visit.transport.unread = 4_000_000
        visit.connection.pause_writing()
        for _ in range(30):
            visit.transport.unread = max(0, visit.transport.unread - rate)
            visit.loop.advance(1)
        assert visit.transport.is_closed != goes_on
        visit.connection.resume_writing()
        visit.loop.advance(LIMITS.answer_seconds)
        assert visit.transport.is_closed != goes_on
        visit.go_on.set()
        await settled()


async def test_the_end_of_an_answer_that_nobody_reads_is_dropped():
    visit = Visit(Loop(), reads=False)
    await visit.send(GET)
    visit.transport.unread = 10_000
    visit.loop.advance(visit.connection.timeout_keep_alive)
    assert (visit.transport.is_closed, visit.transport.unread) == (True, 10_000), "it may still be read"
    visit.loop.advance(LIMITS.answer_seconds)
    assert visit.transport.unread == 0


async def test_a_connection_that_is_lost_leaves_no_deadline():
    visit = Visit(Loop(), reads=False)
    await visit.send(GET)
    visit.transport.unread = 100_000
    visit.connection.pause_writing()
    visit.connection.connection_lost(ConnectionResetError())
    assert all(timer.is_cancelled for timer in visit.loop.timers)
