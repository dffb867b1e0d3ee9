"""A service that is kept for a home: found by commands, killed, told of, started again and ended."""

from __future__ import annotations

import json
import os
import secrets
import signal
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from tests.faults.conftest import ROOT
from tests.processes import HANG_SECONDS, descendants, is_alive, until_gone

Command = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def home(short_folder: Path) -> Path:
    folder = short_folder / secrets.token_hex(4)
    folder.mkdir(mode=0o711)
    return folder / "home"


@pytest.fixture
def environment(home: Path, tmp_path: Path) -> dict[str, str]:
    given = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    return given | {"PRIVACY_RISK_HOME": str(home), "PRIVACY_RISK_PORT": "0"}


@pytest.fixture
def command(environment: dict[str, str]) -> Iterator[Command]:
    def run(*argv: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "app", *argv],
            cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=HANG_SECONDS,
        )  # fmt: skip

    yield run
    run("serve", "--stop")


@pytest.fixture
def table(tmp_path: Path) -> str:
    path = tmp_path / "people.csv"
    path.write_text("age,zip,illness\n" + "".join(f"{20 + i % 30},1011{i % 5},{i % 3}\n" for i in range(60)))
    return str(path)


def announced(home: Path) -> dict[str, object]:
    found: dict[str, object] = json.loads((home / "service.json").read_text())
    return found


def is_of_database(process: psutil.Process) -> bool:
    """Whether it is one of PostgreSQL's, which outlive a service that is killed, or has ended by itself."""
    try:
        return "postgres" in process.name()
    except psutil.NoSuchProcess:
        return True


def test_commands_ask_the_kept_service_until_it_is_killed_and_then_say_so(
    command: Command, environment: dict[str, str], home: Path, table: str
):
    # Two at once, in an empty home: one service.
    both = [
        subprocess.Popen(
            [sys.executable, "-m", "app", "serve", "--background"],
            cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True,
        )
        for _ in range(2)
    ]  # fmt: skip
    said = [own.communicate(timeout=HANG_SECONDS)[0] for own in both]
    assert [own.returncode for own in both] == [0, 0]
    address = f"pages: {announced(home)['base_url']}/"
    assert [own.splitlines()[0] for own in said] == [address, address]
    assert sorted(own.splitlines()[1].split()[1] for own in said) == ["already,", "in"]
    service = psutil.Process(int(str(announced(home)["pid"])))
    below = descendants(service)

    asked = ("profile", table, "--quasi-identifiers", "age", "zip", "--sensitive", "illness")
    profiled = command(*asked)
    assert (profiled.returncode, profiled.stderr) == (0, "")
    assert '"route": "/v1/measurements"' in (home / "service.log").read_text()
    for name in ("service.json", "commands.key", "service.log"):
        assert stat.S_IMODE((home / name).stat().st_mode) == 0o600, name
    key = (home / "commands.key").read_text()
    assert command(*asked).stderr == ""
    assert (home / "commands.key").read_text() == key
    # A key that the service does not take is replaced.
    (home / "commands.key").write_text("none.such\n")
    assert command(*asked).stderr == ""
    assert (home / "commands.key").read_text() not in ("none.such\n", key)

    service.send_signal(signal.SIGKILL)
    until_gone([service, *(one for one in below if not is_of_database(one))])
    alone = command(*asked)
    assert alone.returncode == 0
    assert f"The service of {home} has died without being stopped." in alone.stderr
    assert "serve --background" in alone.stderr
    assert "starts one of its own" in alone.stderr

    assert command("serve", "--background").returncode == 0
    service = psutil.Process(int(str(announced(home)["pid"])))
    below = descendants(service)
    assert below
    ended = command("serve", "--stop")
    assert (ended.returncode, "has ended" in ended.stdout) == (0, True)
    assert not is_alive(service)
    until_gone(below)
    assert not (home / "service.json").exists()
    again = command("serve", "--stop")
    assert (again.returncode, again.stderr) == (
        1,
        f"privacy-risk: No service of {home} runs. serve --background starts one.\n",
    )


def test_a_service_that_was_killed_is_forgotten_with_its_database(command: Command, home: Path):
    assert command("serve", "--background").returncode == 0
    service = psutil.Process(int(str(announced(home)["pid"])))
    below = descendants(service)
    service.send_signal(signal.SIGKILL)
    until_gone([service])
    forgotten = command("serve", "--stop")
    assert (forgotten.returncode, "had died already" in forgotten.stdout) == (0, True)
    until_gone(below)
    assert not (home / "service.json").exists()


def test_what_keeps_a_service_from_starting_is_told(command: Command, environment: dict[str, str]):
    refused = command("serve", "--background", "--host", "192.0.2.1")
    assert refused.returncode == 1
    assert "The service has not started. " in refused.stderr
    assert "service.log" in refused.stderr
