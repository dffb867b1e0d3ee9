"""A full disk of the database is called one: by what a request is told, in the log, and by readiness."""

from __future__ import annotations

import logging
import os
import shutil
from collections import namedtuple

import psycopg
import pytest
from procrastinate.exceptions import ConnectorException
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError

from app.domain.errors import Unavailable
from app.persistence import doctor, full_disk, transactions
from app.persistence.addresses import create_engine
from app.persistence.transactions import database_errors

pytestmark = pytest.mark.anyio

SECRET = 'could not extend file of "Zebediah"'
FULL = psycopg.errors.DiskFull(SECRET)


@pytest.fixture(autouse=True)
def known(monkeypatch):
    """What is known of the disk, of this test alone."""
    fresh = full_disk.FullDisk()
    for module in (transactions, doctor):
        monkeypatch.setattr(module, "full_disk", fresh)
    return fresh


def of_the_queue(cause):
    error = ConnectorException()
    error.__cause__ = cause
    return error


async def met(error):
    try:
        async with database_errors():
            raise error
    except Exception as told:
        return told


@pytest.mark.parametrize(
    "error", [OperationalError("INSERT", {}, FULL), DBAPIError("COMMIT", {}, FULL), of_the_queue(FULL)]
)
async def test_a_full_disk_is_named_with_its_remedy_and_without_what_the_database_says(error, known, caplog):
    for _ in range(3):
        told = await met(error)
        assert isinstance(told, Unavailable)
        assert "disk of the database is full" in told.message
        assert "nothing of this request was stored" in told.message
        assert "makes room" in told.remedy
        assert "Zebediah" not in told.message + told.remedy
    assert [record.levelno for record in caplog.records] == [logging.ERROR]
    assert "Zebediah" not in caplog.text
    assert known.is_met()


@pytest.mark.parametrize(
    "error",
    [
        OperationalError("SELECT", {}, psycopg.OperationalError("gone")),
        InterfaceError("SELECT", {}, psycopg.InterfaceError("gone")),
        DBAPIError("SELECT", {}, psycopg.Error("gone"), connection_invalidated=True),
        of_the_queue(psycopg.OperationalError("gone")),
    ],
)
async def test_a_database_that_is_lost_has_no_full_disk(error, known):
    told = await met(error)
    assert isinstance(told, Unavailable)
    assert told.message == "The database does not answer at present."
    assert not known.is_met()


@pytest.mark.parametrize(
    "error", [DBAPIError("SELECT", {}, psycopg.Error("wrong")), of_the_queue(psycopg.DataError("wrong"))]
)
async def test_a_defect_stays_one(error):
    assert await met(error) is error


def test_it_is_known_until_data_are_stored_or_a_minute_has_passed(known, monkeypatch):
    assert not known.is_met()
    known.meet()
    known.forget()
    assert not known.is_met()
    known.meet()
    now = full_disk.time.monotonic()
    monkeypatch.setattr(full_disk.time, "monotonic", lambda: now + 59)
    assert known.is_met()
    monkeypatch.setattr(full_disk.time, "monotonic", lambda: now + 61)
    assert not known.is_met()


def test_what_a_forked_process_has_met_the_others_know(known):
    child = os.fork()
    if child == 0:
        known.meet()
        os._exit(0)
    os.waitpid(child, 0)
    assert known.is_met()


async def test_the_disk_of_an_embedded_database_is_seen_even_if_that_has_stopped(
    known, tmp_path, monkeypatch, caplog
):
    engine = create_engine("postgresql://nobody@/nothing?host=/tmp/no-such-folder")
    known.folder = tmp_path
    usage = namedtuple("usage", "free")
    least = full_disk.LEAST_ROOM_BYTES
    try:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(least))
        known.require_room()
        assert (await doctor.readiness(engine))["disk"] is True
        monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(least - 1))
        assert (await doctor.readiness(engine))["disk"] is False
        for _ in range(2):
            with pytest.raises(Unavailable, match="disk of the database is full"):
                known.require_room()
        assert len(caplog.records) == 1
    finally:
        await engine.dispose()


async def test_readiness_tells_what_a_write_has_met(known):
    engine = create_engine("postgresql://nobody@/nothing?host=/tmp/no-such-folder")
    known.meet()
    try:
        assert (await doctor.readiness(engine))["disk"] is False
    finally:
        await engine.dispose()
