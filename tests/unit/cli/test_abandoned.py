"""What killed commands leave behind: told from what is in use by a lock, and removed by the next command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from app.cli.embedded import PREFIX, claim, remove_abandoned, temporary_folder
from app.domain.errors import Unavailable

HOLD = """
import sys, tempfile, time
from pathlib import Path
from types import SimpleNamespace
from app.cli.embedded import temporary_folder

tempfile.tempdir = sys.argv[1]
with temporary_folder(SimpleNamespace(end_server=lambda home: None)) as folder:
    (folder / "home").mkdir()
    (folder / "home" / "master.key").write_text("secret")
    print(folder, flush=True)
    time.sleep(60)
"""


@pytest.fixture
def command(tmp_path: Path):
    """A command that is at work in its folder."""
    argv = [sys.executable, "-c", HOLD, str(tmp_path)]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield process, Path(process.stdout.readline().strip())
        process.kill()


def test_what_a_killed_command_left_is_removed_by_the_next_and_not_before(command, tmp_path, monkeypatch):
    process, left = command
    ended: list[Path] = []
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    operations = SimpleNamespace(end_server=ended.append)
    with temporary_folder(operations) as folder:
        assert (left / "home" / "master.key").exists()
        assert folder.parent == tmp_path
    assert not folder.exists()
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert (left / "home" / "master.key").exists()
    with temporary_folder(operations):
        assert not left.exists()
    assert ended == [left / "home"]
    assert list(tmp_path.iterdir()) == []


def test_other_folders_are_left_alone(tmp_path, monkeypatch):
    target = tmp_path / "target"
    target.mkdir()
    os.close(claim(target))
    kept = [tmp_path / f"{PREFIX}{name}" for name in ("unmarked", "file", "link")]
    kept[0].mkdir()
    kept[1].write_text("x")
    kept[2].symlink_to(target)
    remove_abandoned(tmp_path, lambda folder: None)
    os.close(claim(kept[0]))
    with monkeypatch.context() as another_user:
        another_user.setattr(os, "geteuid", lambda: os.getuid() + 1)
        remove_abandoned(tmp_path, lambda folder: None)
    assert target.exists()
    assert all(own.exists() for own in kept)


def test_a_folder_that_cannot_be_removed_is_said_and_costs_nothing(tmp_path, capsys):
    left = tmp_path / f"{PREFIX}left"
    left.mkdir()
    os.close(claim(left))

    def refuse(folder: Path) -> None:
        raise Unavailable("An earlier PostgreSQL does not end.", "End it.")

    remove_abandoned(tmp_path, refuse)
    assert left.exists()
    assert "does not end" in capsys.readouterr().err
    remove_abandoned(tmp_path, lambda folder: None)
    assert not left.exists()
