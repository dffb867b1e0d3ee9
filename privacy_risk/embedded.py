"""A service of one's own: one per Python process, started when it is first needed.

It runs as another process, which is told its work and its end by a pipe: when this process ends, however it
does, the pipe is closed, and the service ends and removes its files. Nothing of it is imported here.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final

import httpx

from privacy_risk.answers import ClientError
from privacy_risk.arguments import InvalidArgument
from privacy_risk.client import Client
from privacy_risk.progress import one_line

COMMAND: Final = "embedded"
STAGES: Final = "--stages"
START_WORKER: Final = "worker"
"""What is written to the command's standard input, a line, when there is work for a worker."""
_END_SECONDS: Final = 15.0
_TOP: Final = Path(__file__).resolve().parents[1]


class ServiceNotStarted(ClientError):
    """The embedded service cannot be started; the message says why and what to do."""


class WorkedOff(httpx.HTTPTransport):
    """Has the service's worker started when the service has accepted work for it: short answers need none."""

    def __init__(self, start_worker: Callable[[], None]) -> None:
        super().__init__()
        self._start_worker = start_worker

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send the request."""
        response = super().handle_request(request)
        if response.status_code == httpx.codes.ACCEPTED:
            self._start_worker()
        return response


class _Embedded:
    """A service that runs, and the client that asks it."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        if not (_TOP / "app" / "__main__.py").is_file():
            raise ServiceNotStarted(
                "The service is not installed, only its client. Install all of it: "
                "pip install 'privacy-risk[embedded]'; or name a service that runs by server= and key=."
            )
        tell("a service is being started …")  # at once: it takes seconds, on a busy machine half a minute
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the service
        # In this process's environment no other package called ``app`` may come first.
        paths = [str(_TOP), os.environ.get("PYTHONPATH", "")]
        self._process = subprocess.Popen(  # noqa: S603 - this interpreter and a constant
            [sys.executable, "-m", "app", COMMAND, STAGES],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths)), "PYTHONSAFEPATH": "1"},
            # An interrupt in a terminal or a notebook is for what asks, not for the service.
            start_new_session=True,
        )
        try:
            told = self._told(tell)
        except BaseException:
            self.end()
            raise
        transport = WorkedOff(self._start_worker)
        self.client = Client(told["base_url"], told["api_key"], transport=transport)

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def _told(self, tell: Callable[[str], None]) -> dict[str, str]:
        """The address and the key, which the command prints once the service is ready, after its stages."""
        for line in iter(_pipe(self._process.stdout).readline, b""):
            told: dict[str, str] = json.loads(line)
            if "stage" not in told:
                return told
            tell(f"a service is being started: {told['stage']} …")
        self._process.wait()
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()
        raise ServiceNotStarted(f"The embedded service did not start. {said}".rstrip())

    def _start_worker(self) -> None:
        pipe = _pipe(self._process.stdin)
        with contextlib.suppress(OSError):  # that the service has ended is told by the next request
            pipe.write(f"{START_WORKER}\n".encode())
            pipe.flush()

    def forget(self) -> None:
        """Leave the service to the process that this one was forked from."""
        self._close_pipes()
        self._process.returncode = 0

    def end(self) -> None:
        """End the service, and wait until it has removed its files."""
        self._close_pipes()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _close_pipes(self) -> None:
        for pipe in (self._process.stdin, self._process.stdout, self._errors):
            with contextlib.suppress(OSError):
                _pipe(pipe).close()


_lock = threading.Lock()
_embedded: _Embedded | None = None


def client_of(server: str | None, key: str | None) -> Client:
    """A client of the server, or of this process's own service, which is started unless it runs.

    Raises InvalidArgument if only one of the two is given, ServiceNotStarted if there is no service to start.
    """
    global _embedded
    if server is not None and key is not None:
        return Client(server, key)
    if server is not None or key is not None:
        missing, other = ("key", "server") if key is None else ("server", "key")
        raise InvalidArgument(
            missing,
            f"{other} is given, but {missing} is not.",
            "Give both for a service that runs, or neither for an embedded one.",
        )
    with _lock:
        if _embedded is not None and not _embedded.runs:
            _embedded.end()
            _embedded = None
        if _embedded is None:
            with one_line() as tell:
                _embedded = _Embedded(tell)
        return _embedded.client


def end_embedded() -> None:
    """End the embedded service of this process, if it has one; it is started again when it is needed."""
    global _embedded
    with _lock:
        ending, _embedded = _embedded, None
    if ending is not None:
        ending.client.close()
        ending.end()


def _forget() -> None:
    """In a process that was forked: a service of its own, if it needs one, and no hold on its parent's."""
    global _embedded, _lock
    _lock = threading.Lock()  # some thread of the parent may have held it
    forgotten, _embedded = _embedded, None
    if forgotten is not None:
        forgotten.forget()


atexit.register(end_embedded)
os.register_at_fork(after_in_child=_forget)


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise RuntimeError("The process was started without its pipes.")
    return pipe
