"""What processes cost: their processor time, and their share of the machine's memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

from app.cli.operations import RunningService
from tests.benchmarks.service.waiting import until
from tests.processes import is_worker


@dataclass(frozen=True)
class Roles:
    """The processes of an embedded service by what they do, as they are looked up anew at every call.

    ``api`` and ``postgres`` are the first processes of their kind, which start the others; ``worker`` is
    None where none was found.
    """

    api: psutil.Process
    postgres: psutil.Process
    worker: psutil.Process | None

    def living(self) -> dict[str, list[psutil.Process]]:
        """The processes of every role: API, worker, the worker's children, PostgreSQL."""
        worker = [] if self.worker is None else [self.worker]
        return {
            "api": [one for one in family(self.api) if one not in family_of(worker)],
            "worker": worker,
            "worker_children": [one for one in family_of(worker) if one not in worker],
            "postgres": family(self.postgres),
        }

    def spent(self) -> dict[str, float]:
        """Seconds of processor time of every role since its processes began."""
        return {role: seconds_of(processes) for role, processes in self.living().items()}

    def memory_mib(self) -> dict[str, float]:
        """Proportional set size of every role: pages that processes share are divided among them."""
        return {role: sum(map(pss_mib, processes)) for role, processes in self.living().items()}

    def own_memory_mib(self) -> dict[str, float]:
        """Memory of every role that is neither of files nor PostgreSQL's shared memory.

        Those are bounded: files can be read again, and shared buffers fill once, to a size that is set when
        the server starts. Pages that processes share since they were forked are divided among them.
        """
        return {
            role: sum(pss_mib(process, "Pss_Anon") for process in processes)
            for role, processes in self.living().items()
        }

    def shared_buffers_mib(self) -> float:
        """How much of PostgreSQL's shared memory has been used so far; at most what was set at its start."""
        return sum(pss_mib(process, "Pss_Shmem") for process in family(self.postgres))


def settled(roles: Roles, seconds: float = 15.0) -> None:
    """Wait until the service has nothing to do any more, but no longer than this."""

    def is_idle() -> bool:
        before = sum(roles.spent().values())
        time.sleep(0.4)
        return sum(roles.spent().values()) - before <= 0.02

    until(is_idle, seconds, pause=0.0)


def roles_of(service: RunningService, home: Path) -> Roles:
    """The roles of a service whose files are in ``home``."""
    postmaster = int((home / "postgres" / "data" / "postmaster.pid").read_text().split()[0])
    api = psutil.Process(service.api_pid)
    beside = family(psutil.Process(api.ppid() if api.ppid() > 1 else api.pid))
    workers = [one for one in beside if is_worker(one)]
    return Roles(api, psutil.Process(postmaster), workers[0] if workers else None)


def family(process: psutil.Process) -> list[psutil.Process]:
    """A process and all that it started, directly or not; empty once it has ended."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return [process, *process.children(recursive=True)]
    return []


def family_of(processes: Iterable[psutil.Process]) -> list[psutil.Process]:
    """The families of several processes."""
    return [one for process in processes for one in family(process)]


def seconds_of(processes: Iterable[psutil.Process]) -> float:
    """User and system time of processes and of the children that they have waited for."""
    total = 0.0
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            total += sum(process.cpu_times()[:4])
    return total


def difference(before: Mapping[str, float], after: Mapping[str, float]) -> dict[str, float]:
    """What was added to each value."""
    return {name: after[name] - before[name] for name in after}


def pss_mib(process: psutil.Process, part: str = "Pss") -> float:
    """Proportional set size in MiB, or a part of it as the kernel calls it; 0 once the process has ended."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith(f"{part}:"):
                return int(line.split()[1]) / 1024
    return 0.0
