"""A served application and the system's Chromium; skipped, with the reason, where there is none."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import threading
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import uvicorn
import uvloop
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from app.composition.signing_in import signing_in
from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresPageSessions, PostgresRegistry
from app.persistence.store import PostgresStore
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.questions import DirectBudget
from app.settings import Settings
from app.web.sessions import Cookies
from app.web.site import install_pages
from tests.api.service import Api, build_api
from tests.conftest import FixedClock, PostgresServer
from tests.processes import HANG_SECONDS
from tests.ui.journey import Journey, make_journey

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
MILLISECONDS = 1000 * HANG_SECONDS
"""How long a page is waited for: a hang takes longer, a busy machine does not."""

expect.set_options(timeout=MILLISECONDS)


class Served(threading.Thread):
    """The application and its pages, served from an event loop of its own."""

    def __init__(
        self, database_url: str, max_bytes: int, budget: DirectBudget, oidc: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(daemon=True)
        self._oidc = oidc
        self._database_url = database_url
        self._max_bytes = max_bytes
        self._budget = budget
        self._server: uvicorn.Server | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._api: Api | None = None
        self.clock = FixedClock()
        self.ready = threading.Event()

    def run(self) -> None:
        try:
            uvloop.run(self._serve())
        finally:
            self.ready.set()

    async def _serve(self) -> None:
        master_key = MasterKey.generate()
        engine = create_engine(self._database_url)
        store, registry = (kind(engine, master_key, self.clock) for kind in (PostgresStore, PostgresRegistry))
        limits = UploadLimits(max_bytes=self._max_bytes)
        listening = socket.create_server(("127.0.0.1", 0))
        port = listening.getsockname()[1]
        own = None
        if self._oidc is not None:
            settings = Settings(public_url=f"http://127.0.0.1:{port}", **self._oidc)
            own = signing_in(settings, self._oidc["oidc_issuer"], registry, lambda: datetime.now(UTC))
        self._api = build_api(
            store, registry, self.clock, limits, budget=self._budget, identities=own and own.identities
        )
        cookies = Cookies(master_key.derive("pages"), self.clock)
        sessions = PostgresPageSessions(engine, self.clock)
        self.organisation = own and own.organisation
        install_pages(self._api.app, cookies, sessions, self.organisation)
        self._loop = asyncio.get_running_loop()
        self._server = uvicorn.Server(
            uvicorn.Config(self._api.app, log_config=None, access_log=False, timeout_graceful_shutdown=1)
        )
        serving = asyncio.create_task(self._server.serve([listening]))
        while not self._server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        self.ready.set()
        await serving
        await engine.dispose()

    @property
    def url(self) -> str:
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}"

    @property
    def api(self) -> Api:
        assert self._api is not None
        return self._api

    def do(self, work: Coroutine[Any, Any, Any]) -> Any:
        """Something on the side of the service, in its loop."""
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(HANG_SECONDS)

    def new_token(self) -> str:
        """The key of a new tenant."""
        return str(self.do(self.api.tenant_with_key())[1])

    def stop(self) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self.join(30)


@pytest.fixture(scope="session")
def served(postgres: PostgresServer) -> Iterator[Served]:
    """Takes little, so that tests can send too much."""
    yield from serving(postgres, max_bytes=1_000_000)


def serving(
    postgres: PostgresServer,
    max_bytes: int,
    budget: DirectBudget = DirectBudget(),  # noqa: B008 - immutable
    oidc: Mapping[str, Any] | None = None,
) -> Iterator[Served]:
    """The application on a database of its own; what is beyond the budget becomes a run that waits.

    ``oidc`` are the settings of an identity provider, if there is one.
    """
    name = postgres.clone()
    thread = Served(postgres.urls(name).runtime, max_bytes, budget, oidc)
    thread.start()
    assert thread.ready.wait(HANG_SECONDS)
    yield thread
    thread.stop()
    postgres.drop(name)


@pytest.fixture(scope="session")
def journey(served: Served) -> Journey:
    """A tenant with something on every page."""
    journey: Journey = served.do(make_journey(served.api))
    return journey


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Of one file: while it is open its event loop runs, and no asynchronous test of another file could."""
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


def new_context(browser: Browser, **options: Any) -> BrowserContext:
    """A context of a browser that waits as long for what is clicked as for what is shown."""
    context = browser.new_context(**options)
    context.set_default_timeout(MILLISECONDS)
    return context


@dataclass(frozen=True)
class Shots:
    """Where pictures and findings are kept; nothing is, unless --shots names a folder."""

    folder: Path | None

    def take(self, page: Page, name: str, *, full: bool = True) -> None:
        if self.folder is not None:
            page.screenshot(path=self.folder / f"{name}.png", full_page=full)

    def write(self, name: str, found: Any) -> None:
        if self.folder is not None:
            (self.folder / name).write_text(json.dumps(found, indent=1) + "\n")


@pytest.fixture(scope="session")
def shots(request: pytest.FixtureRequest) -> Shots:
    folder: Path | None = request.config.getoption("--shots")
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
    return Shots(folder)


class Watched:
    """A page, what it complained of, and where it asked for things."""

    def __init__(self, page: Page, served: Served) -> None:
        self.page = page
        self.complaints: list[str] = []
        self.foreign: list[str] = []
        origin = urlsplit(served.url).netloc
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on("request", lambda request: self._note(request.url, origin))

    def _note(self, url: str, origin: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob") and parts.netloc != origin:
            self.foreign.append(url)


def sign_in(page: Page, served: Served, token: str, goal: str = "/") -> None:
    """Sign in by the form, on the way to a page."""
    page.goto(served.url + goal)
    page.get_by_label("API key").fill(token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(served.url + goal)
