"""Clients of the application, each of a tenant of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import anyio
import httpx
import pytest

from app.cli import gate, gate_service
from app.cli.operations import Operations, RunningService
from app.cli.program import run
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from privacy_risk import AsyncClient, Client, anonymisation, gating, private_counts, profiles
from tests.api.blocking import Blocking
from tests.api.fixture_f import make_fixture_f
from tests.api.journey import Answers, walk
from tests.api.prepared import Go, Prepared, prepared
from tests.api.service import Api, build_api
from tests.api.tables import rows_of_tables
from tests.conftest import DatabaseUrls, PostgresServer

Command = Callable[..., Awaitable[int]]
PREPARED = (
    "journey_and_access",
    "journeys_end",
    "assessable",
    "with_datasets",
    "fixture_f_made",
    "made_in_file",
)
"""The fixtures that a test's database may be a copy of; those that go on from another one stand before it."""


@pytest.fixture(scope="session")
def master_key() -> MasterKey:
    return MasterKey.generate()


@pytest.fixture(scope="session")
def answered() -> Answers:
    """The answers to the examples that were gone through for the fixtures below."""
    return []


@pytest.fixture(scope="session")
def with_datasets(postgres: PostgresServer, master_key: MasterKey, answered: Answers) -> Iterator[Prepared]:
    """The examples, gone through up to the sensitivity profiles."""
    yield from prepared(postgres, master_key, _examples(answered, None, "sensitivity profiles"))


@pytest.fixture(scope="session")
def assessable(
    postgres: PostgresServer, master_key: MasterKey, answered: Answers, with_datasets: Prepared
) -> Iterator[Prepared]:
    """The examples, gone through up to all that a score rests on."""
    go = _examples(answered, "sensitivity profiles", "assessments")
    yield from prepared(postgres, master_key, go, with_datasets)


@pytest.fixture(scope="session")
def journeys_end(
    postgres: PostgresServer, master_key: MasterKey, answered: Answers, assessable: Prepared
) -> Iterator[Prepared]:
    """The examples, gone through up to the releases."""
    yield from prepared(postgres, master_key, _examples(answered, "assessments", "access"), assessable)


def _examples(answered: Answers, since: str | None, before: str) -> Go:
    async def go(api: Api, client: httpx.AsyncClient) -> None:
        async for step, response in walk(api, client, before, since):
            assert response.status_code < 400 or step.operation_id == "cancel_run", response.text
            answered.append((step, response))

    return go


@pytest.fixture(scope="session")
def fixture_f_made(postgres: PostgresServer, master_key: MasterKey) -> Iterator[Prepared]:
    """Fixture F of the specification."""
    yield from prepared(postgres, master_key, lambda api, client: make_fixture_f(client))


@pytest.fixture(scope="session")
def copies(postgres: PostgresServer) -> Iterator[dict[str, str]]:
    """What was prepared → the copy of it that one test after the other works with."""
    made: dict[str, str] = {}
    yield made
    for name in made.values():
        postgres.leave(name)


@pytest.fixture(scope="module")
def made_in_file(
    request: pytest.FixtureRequest, postgres: PostgresServer, master_key: MasterKey, copies: dict[str, str]
) -> Iterator[Prepared]:
    """What the file's ``begin_with``, of a client, makes once for all tests that begin with it."""
    make = request.module.begin_with
    with contextmanager(prepared)(postgres, master_key, lambda api, client: make(client)) as made:
        copies[made.database] = made.database  # nothing else begins with it
        yield made
        postgres.drop(copies.pop(made.database))


@pytest.fixture
async def begun(api: Api, made_in_file: Prepared) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the tenant that has what ``begin_with`` of the test's file makes."""
    async with api.client(made_in_file.token) as client:
        yield client


@pytest.fixture
def database_urls(
    request: pytest.FixtureRequest, postgres: PostgresServer, copies: dict[str, str]
) -> Iterator[DatabaseUrls]:
    """The addresses of the file's database, or of a copy of what was prepared for such tests."""
    begins_with = next((name for name in PREPARED if name in request.fixturenames), None)
    if begins_with is None:
        yield postgres.urls(request.getfixturevalue("file_database"))
        return
    prepared_database = request.getfixturevalue(begins_with).database
    if prepared_database not in copies:
        copies[prepared_database] = postgres.clone(prepared_database)
    before = postgres.written()
    yield postgres.urls(copies[prepared_database])
    if postgres.data is None or postgres.written() != before:
        postgres.restore(copies[prepared_database])


@pytest.fixture
def api(store: PostgresStore, registry: PostgresRegistry, clock: Any) -> Api:
    return build_api(store, registry, clock)


@pytest.fixture(scope="module")
def standing() -> dict[str, str]:
    """What tests of a file that write nothing take over from each other: a key, and names of what is made."""
    return {}


@pytest.fixture
def left_standing(request: pytest.FixtureRequest, standing: dict[str, str]) -> dict[str, str]:
    """The same where a test asserts that it writes nothing, in a database that stays with its file."""
    names = request.fixturenames
    return standing if "unchanged" in names and not any(name in names for name in PREPARED) else {}


@pytest.fixture
async def client(
    anyio_backend: str, api: Api, left_standing: dict[str, str]
) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a tenant, with a key of every scope: a new one, unless nothing is written."""
    if "key" not in left_standing:
        _, left_standing["key"] = await api.tenant_with_key()
    async with api.client(left_standing["key"]) as client:
        yield client


@pytest.fixture
def once(left_standing: dict[str, str]) -> Callable[[str], bool]:
    """Whether something of a name is still to be made with the client."""

    def first(name: str) -> bool:
        is_first = name not in left_standing
        left_standing[name] = "made"
        return is_first

    return first


@pytest.fixture
async def other_client(anyio_backend: str, api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A client of another new tenant."""
    _, token = await api.tenant_with_key()
    async with api.client(token) as client:
        yield client


@pytest.fixture
async def anonymous(anyio_backend: str, api: Api) -> AsyncIterator[httpx.AsyncClient]:
    """A client without a key."""
    async with api.client(None) as client:
        yield client


@pytest.fixture
async def unchanged(
    anyio_backend: str, postgres: PostgresServer, database_urls: DatabaseUrls
) -> AsyncIterator[None]:
    """Asserts that the test wrote nothing; named behind the fixtures that make what it begins with."""
    connection = postgres.connection(database_urls.admin)
    before = rows_of_tables(connection)
    yield
    assert rows_of_tables(connection) == before


@pytest.fixture
async def journey(api: Api, journeys_end: Prepared) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose tenant has gone through the examples up to the releases."""
    async with api.client(journeys_end.token) as client:
        yield client


@pytest.fixture
async def fixture(api: Api, fixture_f_made: Prepared) -> AsyncIterator[httpx.AsyncClient]:
    """A client whose tenant has fixture F, see :func:`make_fixture_f`."""
    async with api.client(fixture_f_made.token) as client:
        yield client


@pytest.fixture
async def python_journey(api: Api, journeys_end: Prepared) -> AsyncIterator[AsyncClient]:
    """The same tenant through the client of programs in Python."""
    async with api.python_client(journeys_end.token) as client:
        yield client


@pytest.fixture
def command(api: Api, client: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch) -> Command:
    """The command's exit status; the service that it starts, and any server, is the application."""
    token = client.headers["Authorization"].removeprefix("Bearer ")
    running = RunningService("http://service", token, 1, lambda: None, lambda: None)
    verbs = dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None)
    operations = Operations(**verbs | {"start_service": lambda home, **_: running})
    monkeypatch.setenv("PRIVACY_RISK_API_KEY", token)

    def client_of(*_: object) -> Client:
        return Client("http://service", token, transport=Blocking(api))

    monkeypatch.setattr(gate_service, "client_of", client_of)
    monkeypatch.setattr(gate_service, "Client", client_of)

    async def called(*argv: str) -> int:
        return await anyio.to_thread.run_sync(lambda: run(list(argv), operations))

    return called


@pytest.fixture
async def console(api: Api, monkeypatch: pytest.MonkeyPatch) -> Command:
    """Runs a command on files, of which the application, as another tenant each time, is the service."""
    client = Client("http://service", (await api.tenant_with_key())[1], transport=Blocking(api))

    @contextmanager
    def service_client(*_: object) -> Iterator[Client]:
        yield client

    for module in (gate, gate_service):
        monkeypatch.setattr(module, "service_client", service_client)

    operations = Operations(**dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None))

    async def called(*argv: object) -> int:
        return await anyio.to_thread.run_sync(lambda: run([*map(str, argv)], operations))

    return called


@pytest.fixture(scope="module")
def tokens() -> list[str]:
    """The key of the tenant of all tests of this file: what one has put there the next one finds."""
    return []


@pytest.fixture
async def call(api: Api, tokens: list[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Awaitable[Any]]:
    """Calls a function in a thread; the service that it finds is the application."""
    if not tokens:
        tokens.append((await api.tenant_with_key())[1])
    client = Client("http://service", tokens[0], transport=Blocking(api))
    for module in (profiles, anonymisation, gating, private_counts):
        monkeypatch.setattr(module, "client_of", lambda server, key: client)

    async def called(function: Callable[..., Any], *arguments: object, **named: object) -> Any:
        return await anyio.to_thread.run_sync(lambda: function(*arguments, **named))

    return called
