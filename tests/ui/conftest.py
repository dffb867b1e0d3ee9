"""A served application and the system's Chromium; skipped, with the reason, where there is none."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, sync_playwright

from app.persistence.addresses import create_engine
from app.persistence.encryption import MasterKey
from app.persistence.registry import PostgresRegistry
from app.persistence.store import PostgresStore
from tests.api.service import build_api
from tests.conftest import DatabaseUrls, FixedClock

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@dataclass(frozen=True)
class Served:
    """An address that the application is served at, and a key."""

    url: str
    token: str


class _Thread(threading.Thread):
    """Serves the application from an event loop of its own."""

    def __init__(self, database_url: str, master_key: MasterKey) -> None:
        super().__init__(daemon=True)
        self._database_url = database_url
        self._master_key = master_key
        self.server: uvicorn.Server | None = None
        self.token = ""
        self.ready = threading.Event()

    def run(self) -> None:
        try:
            asyncio.run(self._serve())
        finally:
            self.ready.set()

    async def _serve(self) -> None:
        engine = create_engine(self._database_url)
        clock = FixedClock()
        api = build_api(
            PostgresStore(engine, self._master_key, clock),
            PostgresRegistry(engine, self._master_key, clock),
            clock,
        )
        _, self.token = await api.tenant_with_key()
        self.server = uvicorn.Server(uvicorn.Config(api.app, port=0, log_config=None, access_log=False))
        serving = asyncio.create_task(self.server.serve())
        while not self.server.started:  # noqa: ASYNC110 - uvicorn has no event for it
            await asyncio.sleep(0.01)
        self.ready.set()
        await serving
        await engine.dispose()

    @property
    def url(self) -> str:
        assert self.server is not None
        return f"http://127.0.0.1:{self.server.servers[0].sockets[0].getsockname()[1]}"


@pytest.fixture(scope="module")
def served(database_urls: DatabaseUrls, master_key: MasterKey) -> Iterator[Served]:
    thread = _Thread(database_urls.runtime, master_key)
    thread.start()
    assert thread.ready.wait(30)
    yield Served(thread.url, thread.token)
    assert thread.server is not None
    thread.server.should_exit = True
    thread.join(30)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-dev-shm-usage"]
        )
        yield browser
        browser.close()


@pytest.fixture
def screenshots(tmp_path: Path) -> Path:
    """Where a test leaves pictures of what it saw."""
    return tmp_path
