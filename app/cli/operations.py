"""What the operator's commands need from the composition root, as one value that main fills."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True)
class RunningService:
    """An embedded service: Postgres, API and worker as processes of their own.

    ``wait`` returns when one of the processes ends by itself; ``stop`` ends all of them and may be
    called more than once. The memory of the process ``api_pid`` is what benchmarks of uploads watch.
    ``start_worker`` starts the worker of a service that was started without one, unless it runs already.
    """

    base_url: str
    api_key: str
    api_pid: int
    wait: Callable[[], None]
    stop: Callable[[], None]
    start_worker: Callable[[], None] = lambda: None


class StartService(Protocol):
    """Starts an embedded service."""

    def __call__(
        self, home: Path, /, *, with_worker: bool = True, tell: Callable[[str], None] = lambda _: None
    ) -> RunningService:
        """Start it, with its worker at once or only when that is started; how far it is, is told."""


@dataclass(frozen=True)
class Bootstrapped:
    """The first tenant and its administrator's key, whose secret is shown this once."""

    tenant_id: str
    tenant_name: str
    api_key: str


@dataclass(frozen=True)
class Check:
    """One finding of the doctor: ``remedy`` is empty if all is well."""

    name: str
    passed: bool
    message: str
    remedy: str = ""


@dataclass(frozen=True)
class TenantLine:
    """One setting of a tenant: its value (None: unlimited), whether it is its own, what of it is used."""

    name: str
    value: int | None
    is_own: bool
    used: int | None
    meaning: str


@dataclass(frozen=True)
class Operations:
    """The operator's verbs.

    Every callable may raise an error of the product's own tree, which ends the command with status 1
    and its message on standard error.
    """

    start_service: StartService
    """Start an embedded service whose files all lie in the folder given, with a tenant and a key of every
    scope of a tenant; returns once it is ready. Logs go to files in that folder.
    """
    running_service: Callable[[], RunningService | None]
    """The service of the home that runs and may be asked, whose ``stop`` leaves it running; None without one.
    Why none can be asked is told on standard error.
    """
    end_server: Callable[[Path], None]
    """End the database that outlived the service whose files are in the folder given; nothing if none did."""
    serve: Callable[[str | None, int | None, int | None], None]
    """Serve the API on this host and port, by so many processes, until interrupted (None: as configured);
    without a database address also an embedded Postgres and one worker.
    """
    serve_in_background: Callable[[Sequence[str]], tuple[str, bool]]
    """Have ``serve`` with these options run on its own; its address, and whether the home's ran already."""
    stop_service: Callable[[], str]
    """End the home's service that runs; what there was to end."""
    worker: Callable[[], None]
    """Work off the queue until interrupted."""
    migrate: Callable[[str, float], None]
    """Bring the database to this revision ("head", "base", …), whose server is waited for so many seconds."""
    bootstrap: Callable[[str, bool], Bootstrapped]
    """Make a tenant of this name and a key of every scope of a tenant, the administrator's included; works
    beside a running service.
    """
    tenant: Callable[[str, Mapping[str, str]], Sequence[TenantLine]]
    """Change settings of the tenant of this name; all of them afterwards, with what it uses."""
    doctor: Callable[[], Sequence[Check]]
    """Check role, row-level security, keys, disk and migrations."""
    rotate_keys: Callable[[], int]
    """Rewrap all data keys with the current master key; the number rewrapped."""
    backup: Callable[[Path], None]
    """Write the whole database to a new file, without the master key that opens it."""
    restore: Callable[[Path], None]
    """Fill a database without tenants from such a file."""
    purge: Callable[[], Sequence[str]]
    """Leave nothing of deleted rows in the database's files; the statements left to a superuser."""
    openapi: Callable[[], dict[str, Any]]
    """The OpenAPI document."""
