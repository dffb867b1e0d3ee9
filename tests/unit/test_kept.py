"""How a home says that its service runs, and what commands are told of one that they cannot ask."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.composition import kept
from app.composition.kept import ANNOUNCED, KEY, announced_at, running_service, serve_in_background
from app.domain.errors import Conflict, Unavailable
from app.settings import Settings

NOBODY_THERE = "http://127.0.0.1:9"
OWN = "This command starts one of its own."


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, database_url=None)


@pytest.fixture
def lock_held(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """The files that announcing keeps open until its process ends, closed with the test."""
    held: list[int] = []
    opened = os.open

    def remembered(path: Path, flags: int, mode: int = 0o777) -> int:
        found = opened(path, flags, mode)
        if f".{ANNOUNCED}." in str(path):
            held.append(found)
        return found

    monkeypatch.setattr(kept.os, "open", remembered)
    yield held
    for one in held:
        os.close(one)


def test_a_home_says_where_its_service_answers_to_its_owner_alone_and_only_while_it_runs(
    settings: Settings, lock_held: list[int]
):
    with announced_at(settings.home) as announce:
        assert [*settings.home.iterdir()] == []
        announce(NOBODY_THERE)
        (file,) = settings.home.iterdir()
        assert (file.name, stat.S_IMODE(file.stat().st_mode)) == (ANNOUNCED, 0o600)
        assert json.loads(file.read_text())["base_url"] == NOBODY_THERE
        with announced_at(settings.home) as another:
            another("http://127.0.0.1:10")
            assert json.loads(file.read_text())["base_url"] == NOBODY_THERE
        assert len(lock_held) == 1
    assert [*settings.home.iterdir()] == []


def test_a_service_that_does_not_answer_is_told_and_not_asked(
    settings: Settings, lock_held: list[int], capsys: pytest.CaptureFixture[str]
):
    (settings.home / KEY).write_text("pre.secret\n")
    with announced_at(settings.home) as announce:
        announce(NOBODY_THERE)
        assert running_service(settings) is None
    said = capsys.readouterr().err
    assert f"The service at {NOBODY_THERE} does not answer" in said
    assert "End it by serve --stop" in said
    assert OWN in said


def test_a_service_of_another_version_is_told_and_not_asked(
    settings: Settings,
    lock_held: list[int],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
):
    with announced_at(settings.home) as announce:
        announce(NOBODY_THERE)
        monkeypatch.setattr(kept, "__version__", "9.9.9")
        assert running_service(settings) is None
        assert "is of version 0.1.0, this command of 9.9.9. End it by serve --stop" in capsys.readouterr().err
        with pytest.raises(Unavailable, match=r"is of version 0\.1\.0"):
            serve_in_background(settings, ())


def test_a_file_that_others_may_have_written_says_nothing(
    settings: Settings, lock_held: list[int], capsys: pytest.CaptureFixture[str]
):
    """Whoever could write it would be sent the tables."""
    with announced_at(settings.home) as announce:
        announce(NOBODY_THERE)
        (settings.home / ANNOUNCED).chmod(0o666)
        assert running_service(settings) is None
        (settings.home / ANNOUNCED).chmod(0o600)
    assert capsys.readouterr().err == ""


def test_a_home_that_cannot_be_written_to_is_told_with_its_remedy(tmp_path: Path):
    (tmp_path / "file").touch()
    with pytest.raises(Unavailable, match="cannot be written to: Not a directory"):
        serve_in_background(Settings(home=tmp_path / "file" / "home", database_url=None), ())


def test_a_service_on_a_database_of_its_own_is_of_no_home(tmp_path: Path):
    with pytest.raises(Conflict, match="DATABASE_URL is set"):
        serve_in_background(Settings(home=tmp_path, database_url="postgresql:///other"), ())
