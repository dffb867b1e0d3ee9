"""What requests that should not get far cost everybody else: waiting, memory, open connections."""

from __future__ import annotations

import contextlib
import http.client
import socket
import threading
import time
from collections.abc import Callable
from typing import Final
from urllib.parse import urlsplit

from app.cli.operations import RunningService
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.memory_watch import MemoryWatch

_JSON: Final = {"Content-Type": "application/json"}
_PATH: Final = "/v1/hierarchies"
_POST: Final = f"POST {_PATH} HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: "


def measure_door(service: RunningService) -> list[Measurement]:
    """Attack a running service from outside, one attack after another."""
    members = ("{" + ",".join(f'"k{number:06}":1' for number in range(700_000)) + "}").encode()
    objects = ("[" + ",".join(f'{{"a":"{number:06}"}}' for number in range(950_000)) + "]").encode()
    key = {"Authorization": f"Bearer {service.api_key}"}
    door = _Door(service)
    return [
        door.wait_of_others("700,000 members without a key", members, {}, 0.05),
        door.wait_of_others("700,000 members with a key", members, key, 0.1),
        door.wait_of_others("950,000 small objects with a key", objects, key, 0.1),
        door.memory_of_bodies(),
        door.open_after(15.0),
    ]


class _Door:
    """The address of a service, and what can be done to it."""

    def __init__(self, service: RunningService) -> None:
        parts = urlsplit(service.base_url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._pid = service.api_pid

    def wait_of_others(self, what: str, body: bytes, headers: dict[str, str], bar: float) -> Measurement:
        """The longest that /healthz takes while a body is sent and answered."""
        with _Probe(self._connect) as probe:
            time.sleep(0.3)
            before = max(probe.seconds)
            start = time.perf_counter()
            status = self._post(body, headers | _JSON)
            seconds = time.perf_counter() - start
            time.sleep(0.1)
        longest = max(probe.seconds)
        return Measurement(
            part="http",
            work=f"longest wait for /healthz beside {len(body) / 2**20:.1f} MiB, {what}",
            bar=f"≤ {bar} s",
            unit="s",
            ours=longest,
            bar_met=longest <= bar,
            detail=f"answered {status} after {seconds:.2f} s; the longest wait before was {before:.3f} s",
        )

    def memory_of_bodies(self, connections: int = 100, size: int = 4_000_000) -> Measurement:
        """What the process grows by under bodies that nobody asked for."""
        content = f"{_POST}{4 * size}\r\n\r\n".encode() + b" " * size
        with MemoryWatch(self._pid) as watch, contextlib.ExitStack() as opened:
            for _ in range(connections):
                _send(opened.enter_context(self._socket()), content)
            time.sleep(0.5)
        return Measurement(
            part="http",
            work=f"memory of {connections} connections with {size / 1e6:g} MB each, without a key",
            bar="API process + ≤ 16 MiB",
            unit="MiB",
            ours=watch.growth_mib,
            bar_met=watch.growth_mib <= 16,
            peak_mib=watch.growth_mib,
        )

    def open_after(self, seconds: float, heads: int = 500, bodies: int = 300) -> Measurement:
        """How many of the requests that never end are open after some time."""
        with contextlib.ExitStack() as opened:
            begun = [b"GET / HTTP/1.1\r\nHost: a\r\n"] * heads
            begun += [f"{_POST}1000000\r\n\r\n{{".encode()] * bodies
            sockets = []
            for content in begun:
                sockets.append(opened.enter_context(self._socket()))
                _send(sockets[-1], content)
            time.sleep(seconds)
            still_open = sum(_is_open(connection) for connection in sockets)
        return Measurement(
            part="http",
            work=f"of {heads} half heads and {bodies} half bodies open after {seconds:g} s",
            bar="0",
            unit="connections",
            ours=float(still_open),
            bar_met=still_open == 0,
        )

    def _connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self._host, self._port, timeout=60)

    def _socket(self) -> socket.socket:
        return socket.create_connection((self._host, self._port), timeout=0.05)

    def _post(self, body: bytes, headers: dict[str, str]) -> int:
        connection = self._connect()
        try:
            connection.request("POST", _PATH, body, headers)
            response = connection.getresponse()
            response.read()
            return response.status
        finally:
            connection.close()


class _Probe:
    """Asks whether the service lives, again and again, while something else happens."""

    def __init__(self, connect: Callable[[], http.client.HTTPConnection]) -> None:
        self.seconds: list[float] = []
        self._connect = connect
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._ask, daemon=True)

    def __enter__(self) -> _Probe:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _ask(self) -> None:
        connection = self._connect()
        while not self._ended.wait(0.005):
            start = time.perf_counter()
            connection.request("GET", "/healthz")
            connection.getresponse().read()
            self.seconds.append(time.perf_counter() - start)
        connection.close()


def _send(connection: socket.socket, content: bytes) -> None:
    with contextlib.suppress(OSError):  # it takes no more, or has hung up
        connection.sendall(content)


def _is_open(connection: socket.socket) -> bool:
    connection.setblocking(False)
    try:
        while connection.recv(65536):
            pass
    except BlockingIOError:
        return True
    except OSError:
        return False
    return False
