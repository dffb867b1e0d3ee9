"""What a service does when its database is away, breaks off its connections, or stands still."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import psycopg

from app.persistence.addresses import libpq_url
from app.persistence.embedded import EmbeddedPostgres
from privacy_risk import Client
from tests.benchmarks.service.commands import BrokenError
from tests.benchmarks.service.waiting import until
from tests.campaign.bench import HANG_SECONDS, Bench, bench
from tests.campaign.database_proxy import database_proxy
from tests.campaign.extent import Extent
from tests.campaign.figures import Figure
from tests.campaign.kinds_of_runs import RunKind, prepared

_TERMINATE = """SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"""


_SAID = {200, 503, 0}
"""What the API may answer meanwhile, 0 for nothing within five seconds."""


@dataclass
class Undergone:
    """One run under way while something happens to its database."""

    wrong: list[str] = field(default_factory=list)
    statuses: set[int] = field(default_factory=set)
    ready_after: float = 0.0
    later_after: float = 0.0
    attempt: int = 0

    def text(self, what: str) -> str:
        """In words."""
        told = ", ".join(str(own or "no answer") for own in sorted(self.statuses)) or "not asked"
        wrong = f"; wrong: {'; '.join(self.wrong)}" if self.wrong else "; its result as undisturbed"
        return (
            f"{what}: answers meanwhile {told}; ready {self.ready_after:.1f} s after; the run took "
            f"{self.attempt} attempt{'s' if self.attempt > 1 else ''}; a new run ended "
            f"{self.later_after:.1f} s "
            f"after{wrong}"
        )


@contextmanager
def _prepared(through: Callable[[str], str] | None = None) -> Iterator[tuple[Bench, Client, RunKind, bytes]]:
    """A bench, with a search and what it shows undisturbed."""
    with bench(workers=1, through=through) as made, made.patient_client() as client:
        search = prepared(client, made.question)["optimisation"]
        run = search.start(client, "undisturbed-1")
        made.until_ended(run.id)
        shown = search.shown(client, run.id, "undisturbed-1")
        client.optimisations.delete("undisturbed-1")
        client.rules.delete("undisturbed-1")
        yield made, client, search, shown


def _undergo(
    own: Bench, client: Client, search: RunKind, shown: bytes, number: int, happen: Callable[[set[int]], None]
) -> Undergone:
    found = Undergone()
    name, later = f"disturbed-{number}", f"later-{number}"
    run = search.start(client, name)
    if own.until_run(run.id, lambda run: run.progress is not None and run.progress.done > 0).is_final:
        found.wrong.append("the run had ended before anything happened")
    happen(found.statuses)
    if not found.statuses <= _SAID:
        found.wrong.append("the API answered what it should not")
    ended_at = time.monotonic()
    found.ready_after = own.until_ready()
    another = client.assessments.start_run(
        {**own.question, "name": later, "rule": {"kind": "identity"}, "absent_policy": "zero"}
    )
    if own.until_ended(another.id).state != "succeeded":
        found.wrong.append("a later run failed")
    found.later_after = time.monotonic() - ended_at
    ended = own.until_ended(run.id)
    found.attempt = ended.attempt
    if ended.state != "succeeded":
        found.wrong.append(f"the run ended as {ended.state} {ended.error}")
    elif search.shown(client, run.id, name) != shown:
        found.wrong.append("the run has another result")
    for collection, own_name in (
        (client.optimisations, name), (client.rules, name), (client.assessments, later),
    ):  # fmt: skip
        with contextlib.suppress(Exception):
            collection.delete(own_name)
    return found


def _ask(own: Bench, statuses: set[int]) -> None:
    """What the API answers just now; 0 for nothing within five seconds."""
    key = {"Authorization": f"Bearer {own.key}"}
    try:
        statuses.add(httpx.get(f"{own.url}/v1/rules", headers=key, timeout=5.0, trust_env=False).status_code)
    except httpx.HTTPError:
        statuses.add(0)


def backends(extent: Extent) -> Iterator[Figure]:
    """Every connection to the database ended at once, again and again."""
    with _prepared() as (own, client, search, shown):

        def happen(statuses: set[int]) -> None:
            with psycopg.connect(libpq_url(own.postgres.admin_url), autocommit=True) as connection:
                for _ in range(3):
                    connection.execute(_TERMINATE)
                    _ask(own, statuses)
                    time.sleep(0.3)

        found = _undergo(own, client, search, shown, 1, happen)
        yield Figure("backends", found.text("all backends terminated three times"), not found.wrong)


def frozen(extent: Extent) -> Iterator[Figure]:
    """All connections to the database stand still, then go on."""
    with (
        tempfile.TemporaryDirectory(prefix="pr-", dir="/tmp") as folder,
        database_proxy(Path(folder)) as proxy,
        _prepared(proxy.through) as (own, client, search, shown),
    ):

        def happen(statuses: set[int]) -> None:
            proxy.freeze()
            end = time.monotonic() + extent.frozen
            while time.monotonic() < end:
                _ask(own, statuses)
                time.sleep(0.5)
            proxy.thaw()

        found = _undergo(own, client, search, shown, 1, happen)
        text = found.text(f"connections frozen for {extent.frozen:g} s")
        yield Figure("frozen", text, not found.wrong)


def away(extent: Extent) -> Iterator[Figure]:
    """PostgreSQL stopped, and started again."""
    with _prepared() as (own, client, search, shown):
        said, wrong = [], False
        for number, seconds in enumerate(extent.away, 1):

            def happen(statuses: set[int], seconds: float = seconds) -> None:
                _end_server(own.postgres)
                end = time.monotonic() + seconds
                while time.monotonic() < end:
                    _ask(own, statuses)
                    time.sleep(0.2)
                own.postgres.ensure_running()

            found = _undergo(own, client, search, shown, number, happen)
            if 503 not in found.statuses:
                found.wrong.append("the API did not say that the database is away")
            said.append(found.text(f"PostgreSQL down for {seconds:g} s"))
            wrong = wrong or bool(found.wrong)
        yield Figure("database-away", "; ".join(said), not wrong)


def _end_server(postgres: EmbeddedPostgres) -> None:
    pid_file = postgres.home / "postgres" / "data" / "postmaster.pid"
    os.kill(int(pid_file.read_text().split()[0]), signal.SIGINT)
    if not until(lambda: not pid_file.exists(), HANG_SECONDS):
        raise BrokenError("PostgreSQL does not stop")
