"""What the service does and is told at its start, composed as it is served."""

from __future__ import annotations

import asyncio
from http.cookies import SimpleCookie

import httpx
import psycopg
import pytest
from prometheus_client import CollectorRegistry

from app.composition.database import Database
from app.composition.serving import application
from app.domain.errors import Unavailable
from app.persistence.encryption import KeyCache
from app.services.datasets.datasets import DatasetService
from app.services.datasets.tables import TableLoader
from app.services.deletions import Erased
from app.settings import Settings
from tests.api.fixture_f import post, upload
from tests.processes import HANG_SECONDS

pytestmark = pytest.mark.anyio


@pytest.fixture
def started(database_urls, master_key):
    """The whole application under settings of the environment."""
    database = Database(database_urls.runtime, master_key, 0)
    return lambda: application(Settings(), database, CollectorRegistry())


async def test_the_start_encrypts_addresses_of_webhooks_that_were_stored_in_clear(
    client, started, database_urls
):
    hook = {"name": "watcher", "url": "https://hooks.example.org/s3cret", "events": ["run.failed"]}
    assert (await client.post("/v1/webhooks", json=hook)).status_code == 201
    with psycopg.connect(database_urls.admin) as connection:
        connection.execute("UPDATE webhooks SET url = %s, address = NULL", [hook["url"]])
    async with started():
        pass
    with psycopg.connect(database_urls.admin) as connection:
        ((url, address),) = connection.execute("SELECT url, address FROM webhooks").fetchall()
    assert url is None
    assert b"s3cret" not in address
    assert (await client.get("/v1/webhooks/watcher")).json()["url"] == hook["url"]


@pytest.mark.parametrize(("public", "secure"), [(None, False), ("https://risk.example.org", True)])
async def test_a_public_address_of_https_makes_the_cookies_secure(started, monkeypatch, public, secure):
    if public is not None:
        monkeypatch.setenv("PRIVACY_RISK_PUBLIC_URL", public)
    async with (
        started() as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as browser,
    ):
        ((name, cookie),) = SimpleCookie((await browser.get("/sign-in")).headers["set-cookie"]).items()
    assert (bool(cookie["secure"]), name.startswith("__Host-")) == (secure, secure)


async def test_a_folder_for_uploads_that_takes_no_file_is_refused(started, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", None)  # found out once in each process
    monkeypatch.setenv("TMPDIR", str(tmp_path / "missing"))
    with pytest.raises(Unavailable, match="missing, where TMPDIR has uploads") as refused:
        async with started():
            pass
    assert "writable" in refused.value.remedy
    (tmp_path / "missing").mkdir()
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("TMPDIR", f"{tmp_path}/other/../missing/")  # the same folder, spelt otherwise
    async with started():
        pass


async def test_a_process_forgets_what_was_erased_in_another(started, client, monkeypatch):
    forgotten = asyncio.Queue()
    monkeypatch.setattr(TableLoader, "forget", lambda self, erased: forgotten.put_nowait(erased))
    monkeypatch.setattr(KeyCache, "drop", lambda self, *erased: forgotten.put_nowait(erased))
    definition = {"kind": "rows", "rows": [["a", "x"], ["b", "x"]]}
    made = (await client.post("/v1/hierarchies", json={"name": "h", "definition": definition})).json()
    async with (
        started() as app,
        asyncio.timeout(HANG_SECONDS),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as other,
    ):
        # What keeps tables is made with the first request.
        assert (await other.get("/v1/hierarchies/h", headers=client.headers)).status_code == 200
        assert (await client.delete("/v1/hierarchies/h")).status_code == 204
        tenant, key = await forgotten.get()
        erased = await forgotten.get()
    assert key == made["id"]
    assert erased == Erased(tenant, made["id"], made["sha256"])


async def test_a_process_that_has_just_started_tells_a_profile_without_the_table(
    started, client, database_urls, monkeypatch
):
    """It is stored, unreadable without the key, and gone with the last dataset of that content."""

    def results() -> list[bytes]:
        with psycopg.connect(database_urls.admin) as connection:
            return [sealed for (sealed,) in connection.execute("SELECT document FROM results").fetchall()]

    await upload(client, "people", ("id", "town"), [("p1", "Zebediahville"), ("p2", "Oldtown")])
    attributes = [{"name": name, "type": "text", "role": "quasi_identifier"} for name in ("id", "town")]
    for name in ("first", "second"):
        await post(client, "datasets", {"name": name, "upload": "people", "attributes": attributes})
    known = (await client.get("/v1/datasets/first/profile")).json()
    assert known["attributes"][1]["frequent"][0]["value"] == "Oldtown"
    (sealed,) = results()
    assert b"Zebediahville" not in sealed
    monkeypatch.setattr(DatasetService, "_source", None)  # no cell may be read
    async with (
        started() as app,
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://service") as other,
    ):
        told = await other.get("/v1/datasets/first/profile", headers=client.headers)
    assert told.json() == known
    assert (await client.delete("/v1/datasets/first")).status_code == 204
    assert results() == [sealed]
    assert (await client.delete("/v1/datasets/second")).status_code == 204
    assert results() == []
