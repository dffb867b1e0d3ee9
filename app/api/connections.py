"""Connections: how long a request may take to arrive, and how many may be open.

The server below this has a limit for idle connections only, and is told it here. Whoever sends the head of a
request too slowly, or its body, is cut off, nothing is read of a body before the application asks for it, and
of what nobody wants to read only so much is taken in as lets the sender see the answer. Whoever does not read
an answer is cut off, too.

Where a request ends must never be in doubt, or a proxy and this server could see different requests in the
same bytes. h11 refuses most of what is in doubt; a body with both a length and chunks is refused here. A
parser in C would save 0.08 ms per request, but takes more of what is in doubt, and reads ahead.
"""

from __future__ import annotations

import asyncio
import json
import select
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from app.api.problems import BY_CODE, MEDIA_TYPE, RETRY_SECONDS, problem_body

Phase = Literal["head", "body", "unread", "closing"]

_HEAD_BYTES: Final = 16 * 1024
_BODY_BYTES: Final = 64 * 1024

# What has arrived is copied out of it at once, so that one serves all connections of the event loop.
_ARRIVING: Final = memoryview(bytearray(_BODY_BYTES))


@dataclass(frozen=True)
class ConnectionLimits:
    """What a connection may take: seconds, bytes, bytes per second."""

    head_seconds: float = 10
    """For all header fields."""

    window_seconds: float = 7
    """How often it is looked at how much of a body has come; the first look may be in vain."""

    least_rate: int = 8 * 1024
    """Bytes per second of a body, while the application waits for them."""

    unread_seconds: float = 5
    """How long the rest of a body is taken in that nobody reads, so that its sender sees the answer."""

    unread_bytes: int = 16 * 1024**2
    """How much of it."""

    answer_seconds: float = 10
    """How often it is looked at how much of a large answer was read, and how long the end of one may take."""

    idle_seconds: int = 75
    """How long a connection stays open between two requests.

    Longer than clients and proxies usually keep theirs (httpx 5 s, nginx and load balancers 60 s), so that it
    is they who close it: a request that is sent while this side closes is lost.
    """

    connections: int = 500
    """Most open connections; at more, those that wait for a request give way, the longest waiting first."""


class _UnambiguousRequests(h11.Connection):
    """Refuses what h11 takes though RFC 9112 (6.1) warns of it: a length and chunks for the same body."""

    def next_event(self) -> h11.Event | type[h11.NEED_DATA] | type[h11.PAUSED]:
        """What has come, as h11 says it; RemoteProtocolError if it is in doubt."""
        event = super().next_event()
        if isinstance(event, h11.Request) and {name.lower() for name, _ in event.headers} >= _FRAMINGS:
            raise h11.RemoteProtocolError("A request has both Content-Length and Transfer-Encoding.")
        return event


_FRAMINGS: Final = frozenset({b"content-length", b"transfer-encoding"})


class _Answering:
    """The part of a transport that an answer uses; to close it waits for what is still being sent."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        self.write = transport.write
        self.is_closing = transport.is_closing
        self.close = close


class BoundedConnection(H11Protocol, asyncio.BufferedProtocol):
    """One connection of the server, with limits of its own."""

    limits = ConnectionLimits()

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401 - as the server calls it
        super().__init__(*args, **kwargs)
        self.conn = _UnambiguousRequests(h11.SERVER, _HEAD_BYTES)
        self.timeout_keep_alive = self.limits.idle_seconds
        self._phase: Phase | None = None
        self._since = self._answered = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._reading: asyncio.TimerHandle | None = None
        self._received = self._unread = 0
        self._was_paused = self._is_ended = False

    # --- what the transport calls ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request, or refuse to if too many do."""
        super().connection_made(transport)
        if len(self.connections) > self.limits.connections and not self._make_room():
            self._refuse("unavailable", "Too many connections are open.", {"retry-after": str(RETRY_SECONDS)})
            return
        self._watch()

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport puts what arrives: little, until a body is wanted."""
        return _ARRIVING[:_HEAD_BYTES] if self._phase in ("head", None) else _ARRIVING

    def buffer_updated(self, nbytes: int) -> None:
        """Take what has arrived."""
        self.data_received(bytes(_ARRIVING[:nbytes]))

    def data_received(self, data: bytes) -> None:
        """Count what arrives, and pass it on if somebody may want it."""
        self._received += len(data)
        if self._phase != "closing":
            super().data_received(data)
            self._watch()
        if self._phase in ("unread", "closing") and self._received > self.limits.unread_bytes:
            self._close()

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """Answer whole requests though no more will come; refuse a body that was cut off; or just close.

        Who hangs up in the middle of an answer does not want the rest: most clients close both ways at once.
        """
        is_answering = self._phase == "body" or self.conn.their_state is h11.DONE
        if not is_answering or self.cycle is None or self.cycle.response_started:
            return None
        self._is_ended = True
        self._end()
        return not self.transport.is_closing()

    def handle_events(self) -> None:
        """Have what was begun to be answered close the connection in a way that lets its sender see that."""
        super().handle_events()
        if self.cycle is not None and self.cycle.transport is self.transport:
            self.cycle.transport = cast("asyncio.Transport", _Answering(self.transport, self._close_gently))

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._enter(None)
        self._stop_watching_reader()
        # The server forgets its own only where no error has ended the connection.
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        """Begin to watch how fast the answer is read: much of it waits here."""
        super().pause_writing()
        self._watch_reader()

    def resume_writing(self) -> None:
        """Nearly all of what waited was read."""
        super().resume_writing()
        self._stop_watching_reader()

    # --- what the server calls -------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of this one."""
        super().on_response_complete()
        self._answered = self.loop.time()
        self._watch()
        if self._is_ended:
            self._end()

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection on which nothing more has come."""
        if (
            not self.transport.is_closing() and self._has_more_to_read()
        ):  # it came in time, and the event loop was late
            return
        super().timeout_keep_alive_handler()
        self._close()

    def send_400_response(self, msg: str) -> None:
        """Refuse what is no HTTP, in the form of every other error."""
        self._refuse("malformed-request", msg)

    def _end(self) -> None:
        """Close unless a whole request is there; no more will come."""
        if self._phase == "body":
            self._refuse("malformed-request", "The body ended before the length that was announced.")
        elif self.conn.their_state is not h11.DONE:
            self._close()

    # --- deadlines -------------------------------------------------------------------------------------

    @property
    def waits_since(self) -> float | None:
        """When it began to wait for a request, or for the other side to hang up; None if it does not."""
        if self.transport.is_closing():
            return None
        if self._phase in ("head", "closing"):
            return self._since
        # Of requests that came together the limit of idle connections holds while the next one is answered.
        is_idle = self.timeout_keep_alive_task is not None and self.conn.their_state is h11.IDLE
        return self._answered if is_idle else None

    def _watch(self) -> None:
        if self._phase == "unread" and self.conn.their_state is h11.IDLE and not self.conn.trailing_data[0]:
            # Nobody has begun another request: the server's own limit holds, which closes without a word.
            self.timeout_keep_alive_task = self.loop.call_later(
                self.timeout_keep_alive, self.timeout_keep_alive_handler
            )
        phase = self._current_phase()
        if phase != self._phase:
            self._enter(phase)

    def _current_phase(self) -> Phase | None:
        if self.transport.is_closing():
            return None
        if self._phase == "closing":
            return "closing"
        if self.conn.their_state is h11.IDLE:
            # Between two requests the server's own limit holds until the first byte.
            return "head" if self.timeout_keep_alive_task is None else None
        if self.conn.their_state is h11.SEND_BODY:
            return "unread" if self.cycle.response_complete else "body"
        return None

    def _enter(self, phase: Phase | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._phase, self._since, self._received = phase, self.loop.time(), 0
        match phase:
            case "head":
                self._timer = self.loop.call_later(self.limits.head_seconds, self._head_is_late)
            case "body":
                # Until the application asks for the body, it stays with the sender.
                self.flow.pause_reading()
                self._look_again()
            case "unread" | "closing":
                self._timer = self.loop.call_later(self.limits.unread_seconds, self._close)

    def _look_again(self) -> None:
        self._received, self._was_paused = 0, self.flow.read_paused
        self._timer = self.loop.call_later(self.limits.window_seconds, self._judge_rate)

    def _judge_rate(self) -> None:
        """Cut off a body that comes too slowly; who was told to wait is not to blame."""
        least = self.limits.least_rate * self.limits.window_seconds
        if self._was_paused or self.flow.read_paused or self._received >= least:
            self._look_again()
            return
        self._refuse(
            "request-timeout", f"The body came at less than {self.limits.least_rate} bytes per second."
        )

    def _watch_reader(self) -> None:
        self._unread = self.transport.get_write_buffer_size()
        self._stop_watching_reader()
        self._reading = self.loop.call_later(self.limits.answer_seconds, self._judge_reader)

    def _stop_watching_reader(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            self._reading = None

    def _judge_reader(self) -> None:
        """Cut off who hardly reads: the answer takes memory, and the connection a place."""
        read = self._unread - self.transport.get_write_buffer_size()
        if read < self.limits.least_rate * self.limits.answer_seconds:
            self.transport.abort()
        else:
            self._watch_reader()

    def _close(self) -> None:
        """Close; if the end of an answer is not read in time either, drop it."""
        self.transport.close()
        if self.transport.get_write_buffer_size() and self._reading is None:
            self._reading = self.loop.call_later(self.limits.answer_seconds, self.transport.abort)

    def _head_is_late(self) -> None:
        self._refuse(
            "request-timeout", f"The head of the request took more than {self.limits.head_seconds:g} s."
        )

    def _make_room(self) -> bool:
        waiting = [
            (other.waits_since, other)
            for other in self.connections
            if isinstance(other, BoundedConnection) and other.waits_since is not None
        ]
        # A request that has arrived and was not read yet would be lost without an answer.
        for _, oldest in sorted(waiting, key=lambda pair: pair[0]):
            if oldest._phase == "closing" or not oldest._has_more_to_read():
                oldest.transport.abort()
                oldest._enter(None)  # the connection is lost later; nobody else should choose it until then
                return True
        return False

    def _has_more_to_read(self) -> bool:
        """Whether something has arrived that the event loop has not come to, or the other side hung up."""
        arrived = select.poll()
        arrived.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(arrived.poll(0))

    def _refuse(self, code: str, detail: str, headers: dict[str, str] | None = None) -> None:
        """Answer with a problem, if no answer has begun, and close the connection."""
        self._enter(None)
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            problem, request_id = BY_CODE[code], uuid.uuid4().hex
            body = json.dumps(problem_body(problem, detail, request_id=request_id)).encode()
            pairs = {
                "content-type": MEDIA_TYPE,
                "content-length": str(len(body)),
                "connection": "close",
                "x-request-id": request_id,
                **(headers or {}),
            }
            for event in (
                h11.Response(status_code=problem.status, headers=[*pairs.items()]),
                h11.Data(data=body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        if self.cycle is not None and not self.cycle.response_complete:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if code == "malformed-request" and not self._is_ended:
            self._close_gently()
        else:  # who is too slow, or one too many, has had the time and the place that there are
            self._close()

    def _close_gently(self) -> None:
        """Close, but not before the sender of a body has seen the answer.

        A connection that is closed while bytes lie unread is reset, and a reset takes the answer away from
        whoever has not read it yet.
        """
        if self._phase == "closing" or self.transport.is_closing():
            return
        if self._is_ended or self.conn.their_state not in (h11.SEND_BODY, h11.ERROR):
            self._close()
            return
        self.transport.write_eof()
        self._enter("closing")
        self.flow.resume_reading()
