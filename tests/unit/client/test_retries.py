"""A scripted transport: what is sent again, when, and under which key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from privacy_risk import AsyncClient, Client, ProblemError, Retries
from privacy_risk.pools import AwaitedPool, BlockingPool
from privacy_risk.retries import retry_after

CREATED = {"id": "id-race", "name": "race", "sha256": "00"}
IN_FLIGHT = {
    "type": "/problems/conflict",
    "title": "Conflict",
    "status": 409,
    "detail": "The first request with this Idempotency-Key is still being answered.",
}


class Script:
    """Answers in the order given; an exception is a connection that breaks. Keeps what was sent."""

    def __init__(self, *answers: httpx.Response | Exception) -> None:
        self._answers: Iterator[httpx.Response | Exception] = iter(answers)
        self.keys: list[str | None] = []
        self.bodies: list[bytes] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.keys.append(request.headers.get("idempotency-key"))
        self.bodies.append(request.content)
        answer = next(self._answers)
        if isinstance(answer, Exception):
            raise answer
        return answer


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that the blocking client makes, none of which takes time."""
    pauses: list[float] = []

    async def sleep(pool: BlockingPool, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(BlockingPool, "sleep", sleep)
    return pauses


def client_of(script: Script, retries: Retries) -> Client:
    return Client("http://service", "a.b", transport=httpx.MockTransport(script), retries=retries)


def busy(status: int = 503, **headers: str) -> httpx.Response:
    return httpx.Response(status, headers=headers)


def in_flight(seconds: str) -> httpx.Response:
    return httpx.Response(409, json=IN_FLIGHT, headers={"Retry-After": seconds})


def created() -> httpx.Response:
    return httpx.Response(201, json=CREATED)


def half() -> float:
    return 0.5


QUICK = Retries(attempts=4, first_delay=1.0, longest_delay=3.0, jitter=half)


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_the_service_cannot_answer_at_the_moment_is_asked_again_under_the_same_key(slept, status):
    script = Script(busy(status), created())
    with client_of(script, QUICK) as client:
        assert client.rules.create({"name": "race"}).id == "id-race"
    assert len(set(script.keys)) == 1
    assert re.fullmatch(r"[0-9a-f-]{36}", script.keys[0] or "")
    assert script.bodies[0] == script.bodies[1] != b""


@pytest.mark.parametrize("error", [httpx.ConnectError("x"), httpx.ReadError("x"), httpx.ReadTimeout("x")])
def test_a_broken_connection_is_made_again(slept, error):
    script = Script(error, error, created())
    with client_of(script, QUICK) as client:
        client.rules.create({"name": "race"})
    assert len(script.keys) == 3
    assert len(set(script.keys)) == 1


def test_two_calls_have_two_keys(slept):
    script = Script(created(), created())
    with client_of(script, QUICK) as client:
        client.rules.create({"name": "race"})
        client.rules.create({"name": "race"})
    assert len(set(script.keys)) == 2


def test_the_pauses_double_up_to_the_longest_and_are_a_random_share(slept):
    script = Script(*[busy()] * 5, created())
    with client_of(script, Retries(6, 1.0, 3.0, half)) as client:
        client.rules.create({"name": "race"})
    assert slept == [0.5, 1.0, 1.5, 1.5, 1.5]


def test_retry_after_is_heeded_instead(slept):
    script = Script(busy(429, **{"Retry-After": "2"}), busy(503, **{"Retry-After": "0"}), created())
    with client_of(script, QUICK) as client:
        client.rules.create({"name": "race"})
    assert slept == [2.0, 0.0]


def test_a_retry_after_beyond_the_longest_pause_is_left_to_the_caller(slept):
    script = Script(busy(429, **{"Retry-After": "4"}))
    with client_of(script, QUICK) as client, pytest.raises(ProblemError) as caught:
        client.rules.create({"name": "race"})
    assert (caught.value.status, slept) == (429, [])


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("7", 7.0),
        ("Fri, 20 Nov 2026 12:00:30 GMT", 30.0),
        ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("soon", None),
        ("-3", None),
        ("٣", None),
    ],
)
def test_retry_after_is_a_number_of_seconds_or_a_date(text, seconds):
    response = httpx.Response(503, headers=[(b"Retry-After", text.encode())])
    assert retry_after(response, datetime(2026, 11, 20, 12, tzinfo=UTC)) == seconds


def test_without_a_retry_after_nothing_is_asked():
    assert retry_after(httpx.Response(503), datetime.now(UTC)) is None


@pytest.mark.parametrize("status", [400, 401, 403, 404, 405, 409, 413, 422, 500])
def test_a_refusal_is_final(slept, status):
    script = Script(httpx.Response(status, json={"title": "No", "status": status}))
    with client_of(script, QUICK) as client, pytest.raises(ProblemError) as caught:
        client.rules.create({"name": "race"})
    assert (caught.value.status, slept) == (status, [])


def test_the_last_failure_is_the_one_that_is_told(slept):
    script = Script(busy(502), httpx.ReadError("gone"), busy(502), busy(503))
    with client_of(script, QUICK) as client, pytest.raises(ProblemError) as caught:
        client.rules.get("race")
    assert caught.value.status == 503
    script = Script(*[httpx.ConnectError("refused")] * 4)
    with client_of(script, QUICK) as client, pytest.raises(httpx.ConnectError):
        client.rules.get("race")


def test_an_address_that_cannot_be_called_is_not_called_again(slept):
    with Client("gopher://service", "a.b", retries=QUICK) as client, pytest.raises(httpx.UnsupportedProtocol):
        client.rules.get("race")
    assert slept == []


def test_a_request_that_the_service_is_still_busy_with_is_waited_for_as_long_as_it_says(slept):
    """Also at the first attempt: the key may be that of a program that died in the middle."""
    script = Script(in_flight("7"), httpx.ReadTimeout("x"), in_flight("1"), created())
    with client_of(script, Retries(4, 1.0, 8.0, half)) as client:
        assert client.rules.create({"name": "race"}).name == "race"
    assert len(set(script.keys)) == 1
    assert slept == [7.0, 1.0, 1.0]


def test_a_deletion_whose_answer_was_lost_is_done(slept):
    script = Script(httpx.ReadError("x"), httpx.Response(404, json={"status": 404}))
    with client_of(script, QUICK) as client:
        client.rules.delete("race")
    script = Script(httpx.Response(404, json={"status": 404}))
    with client_of(script, QUICK) as client, pytest.raises(ProblemError):
        client.rules.delete("race")


@pytest.mark.parametrize("kind", ["bytes", "file"])
def test_bytes_and_files_are_uploaded_again_from_their_beginning(slept, tmp_path: Path, kind):
    path = tmp_path / "t.csv"
    path.write_bytes(b"a,b\n1,2\n")
    script = Script(busy(), httpx.ReadError("x"), created())
    with client_of(script, QUICK) as client:
        client.uploads.create_from("t", path if kind == "file" else path.read_bytes())
    assert script.bodies == [b"a,b\n1,2\n"] * 3
    assert len(set(script.keys)) == 1


def test_a_stream_that_is_used_up_is_not_uploaded_again(slept):
    script = Script(busy())
    with client_of(script, QUICK) as client, pytest.raises(ProblemError):
        client.uploads.create_from("t", iter([b"a\n"]))
    assert (len(script.keys), slept) == (1, [])


def test_a_client_that_never_asks_again_needs_no_key(slept):
    script = Script(busy(), created())
    with client_of(script, Retries(attempts=1)) as client:
        with pytest.raises(ProblemError):
            client.rules.create({"name": "race"})
        client.rules.create({"name": "race"})
    assert (script.keys, slept) == ([None, None], [])


@pytest.mark.parametrize(
    "said",
    [{"attempts": 0}, {"first_delay": -1.0}, {"first_delay": 5.0, "longest_delay": 1.0}],
)
def test_retries_that_make_no_sense_are_refused(said):
    with pytest.raises(ValueError, match="at least 1 attempt"):
        Retries(**said)


@pytest.mark.anyio
async def test_the_other_client_does_the_same(monkeypatch: pytest.MonkeyPatch):
    pauses: list[float] = []

    async def sleep(pool: AwaitedPool, seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(AwaitedPool, "sleep", sleep)
    script: Script = Script(busy(), httpx.ReadError("x"), created(), created())
    names: Sequence[str] = ()
    async with AsyncClient(
        "http://service", "a.b", transport=httpx.MockTransport(script), retries=QUICK
    ) as client:
        names = [(await client.rules.create({"name": "race"})).name]
        await client.uploads.create_from("t", iter([b"a\n", b"1\n"]))
    assert names == ["race"]
    assert pauses == [0.5, 1.0]
    assert len(set(script.keys[:3])) == 1
    assert script.bodies[3] == b"a\n1\n"
