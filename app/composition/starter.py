"""Processes that a service starts, and that must not outlive it."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from multiprocessing import active_children
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Final

PR_SET_PDEATHSIG: Final = 1
STARTED_BY: Final = "PRIVACY_RISK_STARTED_BY"
"""Tells a process that a service starts whose it is."""

STOP_SECONDS: Final = 10.0


def end_with_starter() -> None:
    """Have the kernel end this process when the service that started it dies; nothing if an operator did.

    A worker that outlived a killed service would go on beside that of the next one, with older code.
    """
    starter = os.environ.pop(STARTED_BY, None)
    if starter is not None:
        end_with(int(starter))


def end_with(starter: int) -> None:
    """Have the kernel ask this process to end when the process that started it dies."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != starter:  # it died before the kernel was told
        sys.exit(1)


def start(
    module: Sequence[str], environment: Mapping[str, str], log: Path | None, *, is_told: bool = False
) -> subprocess.Popen[bytes]:
    """A module with its arguments as a process; its log goes to a file, or where ours goes.

    One that is told something reads it from its standard input.
    """
    arguments = [sys.executable, "-m", *module]
    environment = {**environment, STARTED_BY: str(os.getpid())}
    stdin = subprocess.PIPE if is_told else subprocess.DEVNULL
    if log is None:
        return subprocess.Popen(arguments, env=environment, stdin=stdin)  # noqa: S603
    with log.open("ab") as output:
        return subprocess.Popen(  # noqa: S603
            arguments, env=environment, stdin=stdin, stdout=output, stderr=output, start_new_session=True
        )


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask the process to end; insist if it does not."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def end_forks(seconds: float) -> None:
    """End whatever this process has forked, also what it was forking when it was asked to end."""
    for process in active_children():
        end_fork(process, seconds)


def end_fork(process: BaseProcess, seconds: float) -> None:
    """The same for a process that was forked."""
    process.terminate()
    process.join(min(seconds, 1.0))
    # Once more: Python forgets a signal that a process gets while it is being forked.
    process.terminate()
    process.join(max(seconds - 1.0, 0.0))
    if process.is_alive():
        process.kill()
        process.join()


def worker_environment(runtime_url: str, home: Path) -> dict[str, str]:
    """What a worker needs to know, beside what this process was told."""
    return {**os.environ, "DATABASE_URL": runtime_url, "PRIVACY_RISK_MASTER_KEY_FILE": str(master_key(home))}


def master_key(home: Path) -> Path:
    """The file of the key in the folder of an embedded service."""
    return home / "master.key"


def announcement(runtime_url: str, home: Path) -> bytes:
    """What an API that waits for its database is told of it."""
    return json.dumps({"url": runtime_url, "master_key_file": str(master_key(home))}).encode() + b"\n"


def announce(process: subprocess.Popen[bytes], database: bytes) -> None:
    """Tell a process that waits for its database; one that has died is not told."""
    assert process.stdin is not None  # noqa: S101 - narrows the type
    with contextlib.suppress(BrokenPipeError), process.stdin:
        process.stdin.write(database)
