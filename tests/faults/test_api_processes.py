"""Several processes that answer at one address: what one does, all know, and none is missed for long."""

from __future__ import annotations

import base64
import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

import httpx
import psutil
import pytest

from app.main import operations
from app.persistence.encryption import MasterKey
from app.settings import Settings
from tests.conftest import DatabaseUrls
from tests.faults.conftest import ROOT
from tests.processes import (
    HANG_SECONDS,
    command_line,
    descendants,
    held_port,
    is_worker,
    until,
    until_gone,
)

SEVERAL = 2


def is_ready(url: str) -> bool:
    try:
        return httpx.get(f"{url}/readyz").status_code == 200
    except httpx.TransportError:
        return False


@dataclass
class Together:
    """A service of several processes, and a key of a tenant with some data."""

    process: psutil.Popen
    url: str
    metrics_url: str
    key: str
    told: Path
    """What it has written to standard output."""

    def answering(self) -> set[int]:
        """The numbers of the processes that answer: one that was only started listens nowhere yet."""
        port = httpx.URL(self.url).port
        return {one.pid for one in self.process.children() if port in listened_to_by(one)}

    def client(self) -> httpx.Client:
        return httpx.Client(
            base_url=self.url, headers={"Authorization": f"Bearer {self.key}"}, timeout=HANG_SECONDS
        )

    def until_ready(self) -> None:
        def answers() -> bool:
            assert self.process.poll() is None
            return is_ready(self.url)

        until(answers)
        until(lambda: len(self.answering()) == SEVERAL)

    @contextmanager
    def each(self) -> Iterator[list[httpx.Client]]:
        """A client for each process, by a connection that stays with it."""
        found: dict[int, httpx.Client] = {}

        def asked_all() -> bool:
            client = self.client()
            answer = client.get("/healthz")
            assert answer.status_code == 200
            port = answer.extensions["network_stream"].get_extra_info("socket").getsockname()[1]
            pid = next(pid for pid in self.answering() if port in ports_of(pid))
            if pid in found:
                client.close()
            else:
                found[pid] = client
            return len(found) == SEVERAL

        until(asked_all)
        try:
            yield list(found.values())
        finally:
            for client in found.values():
                client.close()


def listened_to_by(process: psutil.Process) -> set[int]:
    """The ports at which it takes connections; none once it has ended."""
    try:
        connections = process.net_connections("tcp")
    except (psutil.NoSuchProcess, psutil.AccessDenied):
        return set()
    return {one.laddr.port for one in connections if one.status == psutil.CONN_LISTEN}


def ports_of(pid: int) -> set[int]:
    return {one.raddr.port for one in psutil.Process(pid).net_connections("tcp") if one.raddr}


def environment(urls: DatabaseUrls, key: MasterKey) -> dict[str, str]:
    return {**os.environ, "DATABASE_URL": urls.runtime, "PRIVACY_RISK_MASTER_KEY": key.to_text()}


@contextmanager
def served(urls: DatabaseUrls, master_key: MasterKey, *arguments: str) -> Iterator[Together]:
    settings = Settings(DATABASE_URL=urls.runtime, master_key=master_key.to_text())  # type: ignore[call-arg]
    key = operations(lambda: settings).bootstrap(f"tenant-{secrets.token_hex(8)}", False).api_key
    with held_port() as port, held_port() as metrics, NamedTemporaryFile() as told:
        process = psutil.Popen(
            [sys.executable, "-m", "app", "serve", "--port", str(port), *arguments],
            cwd=ROOT,
            env=environment(urls, master_key) | {"PRIVACY_RISK_METRICS_PORT": str(metrics)},
            stdout=told,
        )
        url, metrics_url = f"http://127.0.0.1:{port}", f"http://127.0.0.1:{metrics}"
        try:
            yield Together(process, url, metrics_url, key, Path(told.name))
        finally:
            with suppress(psutil.NoSuchProcess):
                process.kill()
            process.wait()


@pytest.fixture(scope="module")
def together(database_urls: DatabaseUrls, master_key: MasterKey) -> Iterator[Together]:
    """A service that all tests use which leave it as it was."""
    with served(database_urls, master_key, "--processes", str(SEVERAL)) as service:
        service.until_ready()
        yield service


def created(client: httpx.Client, path: str, body: dict[str, Any], **headers: str) -> dict[str, Any]:
    named = {"Idempotency-Key": secrets.token_hex(), **headers}
    answer = client.post(f"/v1/{path}", json=body, headers=named)
    assert answer.status_code < 300, answer.text
    found: dict[str, Any] = answer.json()
    return found


def test_a_killed_process_is_replaced_and_requests_go_on(together: Together):
    before = together.answering()
    killed = before.copy().pop()
    os.kill(killed, signal.SIGKILL)
    # Up to its very end it takes connections, which end with it.
    until(lambda: killed not in together.answering())

    def is_replaced() -> bool:
        with together.client() as client:
            assert client.get("/v1/datasets").status_code == 200
        return len(together.answering() - {killed}) == SEVERAL

    until(is_replaced)
    assert len(together.answering() & before) == SEVERAL - 1
    with together.each() as clients:  # the new one answers, too
        assert [client.get("/v1/datasets").status_code for client in clients] == [200] * SEVERAL
    assert together.told.read_text() == (  # once for all of them
        f"pages: {together.url}/\nAPI documentation: {together.url}/docs\n"
        "sign in with a key of: python -m app bootstrap\n"
    )


ARENA_BYTES = 64 * 1024**2
"""What glibc reserves, at a multiple of as much, where a thread allocates from memory of its own."""


def arenas(pid: int) -> int:
    """How many a process has beside its first: of each what is in use, and the rest that is reserved."""
    lines = [line.split() for line in Path(f"/proc/{pid}/maps").read_text().splitlines()]
    parts = [(*(int(end, 16) for end in line[0].split("-")), line[1]) for line in lines]
    return sum(
        begin % ARENA_BYTES == 0 and used == "rw-p" and rest == "---p" and last == begin + ARENA_BYTES
        for (begin, _, used), (_, last, rest) in pairwise(parts)
    )


def test_their_threads_have_no_memory_apart_that_would_fill_once_for_each(together: Together):
    with together.each() as clients:  # the first request for a resource loads its operations in a thread
        assert [client.get("/v1/hierarchies").status_code for client in clients] == [200] * SEVERAL
    threads = [psutil.Process(pid).num_threads() for pid in together.answering()]
    assert min(threads) > 1
    assert [arenas(pid) for pid in together.answering()] == [0] * SEVERAL


def counted(together: Together) -> float:
    lines = httpx.get(f"{together.metrics_url}/metrics", timeout=HANG_SECONDS).text.splitlines()
    ours = [line for line in lines if line.startswith("privacy_risk_http_requests_total{")]
    return sum(float(line.split()[-1]) for line in ours if 'route="/v1/rules"' in line)


def test_the_queue_of_runs_is_shown_once_with_what_all_have_counted(together: Together):
    text = httpx.get(f"{together.metrics_url}/metrics", timeout=HANG_SECONDS).text
    assert text.count('privacy_risk_runs{kind="optimisation",state="queued"} 0.0\n') == 1
    assert "privacy_risk_http_requests_in_flight" in text


def test_what_they_count_is_summed_also_over_one_that_died(together: Together):
    before = counted(together)
    with together.each() as clients:
        for client in clients:
            for _ in range(3):
                client.get("/v1/rules")
        # A request is counted when it is over, which whoever has its answer may be told before.
        until(lambda: counted(together) - before >= 3 * SEVERAL)
        assert counted(together) - before == 3 * SEVERAL
        killed = min(together.answering())
        os.kill(killed, signal.SIGKILL)
    until(lambda: len(together.answering() - {killed}) == SEVERAL)

    def is_whole() -> bool:  # the one that died may be the one that showed them
        try:
            return counted(together) - before == 3 * SEVERAL
        except httpx.TransportError:
            return False

    until(is_whole)


def test_who_listens_to_one_hears_of_a_run_that_another_changed(together: Together):
    with together.each() as (asked, other):
        _, question = (step["body"] for step in created(asked, "example-data", {})["next"])
        run = created(asked, "optimisations", question, Prefer="respond-async")["id"]
        heard: list[str] = []
        begun = threading.Event()

        def listen() -> None:
            with asked.stream("GET", f"/v1/runs/{run}/events") as events:
                for line in events.iter_lines():
                    heard.append(line)
                    begun.set()

        listener = threading.Thread(target=listen)
        listener.start()
        assert begun.wait(HANG_SECONDS)
        assert other.post(f"/v1/runs/{run}/cancel").status_code == 200
        listener.join(HANG_SECONDS)
        assert not listener.is_alive()
        assert any("cancelled" in line for line in heard)


def test_what_one_erased_is_not_there_for_the_other(together: Together):
    with together.each() as clients:
        for position, eraser in enumerate(clients):
            name = f"erased-{position}"
            definition = {"kind": "rows", "rows": [["a", "x"], ["b", "x"]]}
            created(eraser, "hierarchies", {"name": name, "definition": definition})
            assert [client.get(f"/v1/hierarchies/{name}").status_code for client in clients] == [200, 200]
            assert eraser.delete(f"/v1/hierarchies/{name}").status_code == 204
            assert [client.get(f"/v1/hierarchies/{name}").status_code for client in clients] == [404, 404]


def test_a_repetition_is_one_whichever_process_it_reaches(together: Together):
    with together.each() as clients:
        body = {"name": "once", "definition": {"kind": "rows", "rows": [["a", "x"], ["b", "x"]]}}
        header = {"Idempotency-Key": "once"}
        answers = [client.post("/v1/hierarchies", json=body, headers=header) for client in clients]
        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].content == answers[1].content


def test_who_signed_in_at_one_is_signed_in_at_all(together: Together):
    with together.each() as (first, second):
        form = first.get("/sign-in")
        token = form.text.partition('name="form_token" value="')[2].partition('"')[0]
        signed = first.post("/sign-in", data={"form_token": token, "api_key": together.key})
        assert signed.status_code == 303, signed.text
        second.cookies = first.cookies
        assert second.get("/").status_code == 200
        page = second.get("/").text
        leaving = page.partition('name="form_token" value="')[2].partition('"')[0]
        cookies = httpx.Cookies(second.cookies)
        assert second.post("/sign-out", data={"form_token": leaving}).status_code == 303
        first.cookies = cookies
        assert first.get("/").status_code == 303


def test_asked_to_end_they_answer_what_was_begun_and_end_together(
    database_urls: DatabaseUrls, master_key: MasterKey
):
    with served(database_urls, master_key, "--processes", "2") as service:
        service.until_ready()
        processes = descendants(service.process)
        body = b'{"name": "slow", "definition": {"kind": "rows", "rows": [["a", "x"], ["b", "x"]]}}'
        host, _, port = service.url.removeprefix("http://").partition(":")

        def is_refused() -> bool:
            try:
                socket.create_connection((host, int(port)), HANG_SECONDS).close()
            except OSError as error:
                return isinstance(error, ConnectionRefusedError)
            return False

        with socket.create_connection((host, int(port)), HANG_SECONDS) as connection:
            head = f"POST /v1/hierarchies HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {service.key}\r\n"
            head += f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n"
            head += "Expect: 100-continue\r\n\r\n"
            connection.sendall(head.encode())
            assert connection.recv(100).startswith(b"HTTP/1.1 100")  # it has begun to read the body
            connection.sendall(body[:10])
            service.process.terminate()
            until(is_refused)
            connection.sendall(body[10:])
            assert connection.recv(100).startswith(b"HTTP/1.1 201")
        assert service.process.wait(HANG_SECONDS) == 0
        until_gone(processes)


def test_they_end_with_the_process_that_started_them(database_urls: DatabaseUrls, master_key: MasterKey):
    with served(database_urls, master_key, "--processes", "2") as service:
        service.until_ready()
        processes = descendants(service.process)
        assert len(processes) == SEVERAL
        service.process.kill()
        until_gone(processes)


@pytest.fixture
def port() -> Iterator[int]:
    with held_port() as port:
        yield port


@pytest.mark.parametrize("sig", [signal.SIGKILL, signal.SIGTERM])
def test_with_a_database_of_its_own_the_whole_service_ends_in_order(short_folder: Path, port: int, sig: int):
    folder = short_folder / secrets.token_hex(4)
    folder.mkdir(mode=0o711)
    log = folder / "log"
    given = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    given |= {"PRIVACY_RISK_HOME": str(folder / "home"), "PRIVACY_RISK_PROCESSES": "2"}
    with log.open("wb") as file:
        process = psutil.Popen(
            [sys.executable, "-m", "app", "serve", "--port", str(port)], cwd=ROOT, env=given, stderr=file
        )
    try:

        def ours() -> list[psutil.Process]:
            return [one for one in descendants(process) if "-m" in command_line(one)]

        until(lambda: any(is_worker(one) for one in ours()))
        until(lambda: log.read_text().count("Application startup complete") == SEVERAL)
        until(lambda: is_ready(f"http://127.0.0.1:{port}"))
        started = ours()
        process.send_signal(sig)
        process.wait(HANG_SECONDS)
        until_gone(started)
        if sig == signal.SIGTERM:
            assert process.returncode == 0
            assert "interrupted" not in log.read_text(), "the database ended before those who answer from it"
    finally:
        with suppress(psutil.NoSuchProcess):
            process.kill()
        process.wait()
        operations(lambda: Settings(home=folder / "home")).doctor()  # takes over the database, and stops it


def ended(*arguments: str, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "app", "serve", *arguments],
        cwd=ROOT, env=os.environ | variables, capture_output=True, text=True, check=False,
        timeout=HANG_SECONDS,
    )  # fmt: skip
    return done.returncode, done.stderr


@pytest.mark.parametrize("number", ["-1", "17", "two", "1.5", ""])
def test_a_number_of_processes_that_is_none_is_refused(number: str):
    status, said = ended("--processes", number)
    assert status == 2
    assert "--processes" in said
    assert "from 0 to 16" in said
    status, said = ended(PRIVACY_RISK_PROCESSES=number)
    assert status == 2
    assert "PRIVACY_RISK_PROCESSES" in said


def test_processes_that_never_answer_are_given_up_with_what_was_wrong(
    database_urls: DatabaseUrls, master_key: MasterKey
):
    variables = environment(database_urls, master_key)
    other = base64.b64encode(b"x" * 32).decode()
    for change, said in (
        ({"DATABASE_URL": database_urls.admin}, "superuser"),
        ({"PRIVACY_RISK_MASTER_KEY": other}, "key"),
    ):
        status, text = ended("--processes", "2", "--port", "0", **(variables | change))
        assert status == 1
        assert said in text
        assert text.count("No API process comes to answer") == 1


def test_an_address_that_is_taken_is_told(database_urls: DatabaseUrls, master_key: MasterKey):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, text = ended("--processes", "2", "--port", port, **environment(database_urls, master_key))
    assert status == 1
    assert f"127.0.0.1:{port}" in text


FAILING = r"""
import os, time
from app.composition import api_processes

api_processes.RESTART_SECONDS = 0.01
parent, ended = os.getpid(), []

def answer(ready, speaks_for_all):
    if not speaks_for_all:
        os._exit(3)
    os.write(1, b"answers\n")
    ready()
    time.sleep(1000)

def forget(number):
    ended.append(number)
    if len(ended) == 4:
        raise SystemExit(40)

api_processes.ApiProcesses(2, answer, forget, lambda: os.write(1, b"announced\n")).keep()
"""


def test_while_one_answers_another_that_does_not_is_tried_again():
    done = subprocess.run(
        [sys.executable, "-c", FAILING], cwd=ROOT, capture_output=True, text=True, check=False,
        timeout=HANG_SECONDS,
    )  # fmt: skip
    assert (done.returncode, sorted(done.stdout.split())) == (40, ["announced", "answers"]), done.stderr
    assert done.stderr.count("ended with status 3") == 3
