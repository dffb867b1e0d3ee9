"""A million records released by a mechanism over HTTP, beside the same table's release under a rule."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

import numpy as np

from app.cli.embedded import SERVICE, temporary_folder
from app.samples import members
from privacy_risk import Client, Retries
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.memory_watch import MemoryWatch
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.service.costs import Roles, difference, roles_of, settled

PART = "releases"
RECORDS: Final = 1_000_000
SIZES: Final = (50, 2, 79, 5000, 16, 6, 10, 3650, 20, 30)
"""Values of each column, of which the last is drawn: hardly two records are alike."""
LEVELS: Final = {"c3": 1, "c7": 1}
"""What the rule suppresses: the two columns with the most values."""
REPEATS: Final = 5
LONGEST_RUN: Final = 600
DRAWN: Final = f"c{len(SIZES) - 1}"


@dataclass(frozen=True)
class _Taken:
    """Seconds and processor seconds until a release was made, and until its table was read."""

    made: float
    made_cpu: float
    read: float
    read_cpu: float
    sha256: str

    @property
    def whole(self) -> float:
        return self.made + self.read


def measure(asked: Asked) -> Iterator[Measurement]:
    """Each kind of release made and read in turn; the least of the repeats is told."""
    with _service(asked) as (client, roles):
        _load(client)
        settled(roles)
        # The run loads the table into the process that draws afterwards.
        body = {"dataset": "wide", "rule": "some", "measure": {"kind": "equivalence_classes"}}
        client.runs.wait(client.measurements.start_run(body).id)
        ruled, drawn, grown, same = [], [], [], True
        for number in range(REPEATS):
            ruled.append(_taken(client, roles, partial(_by_rule, client, number), f"ruled-{number}"))
            runs = roles.living()["worker_children"]
            with MemoryWatch(max(runs, key=lambda one: one.memory_info().rss).pid) as watch:
                drawn.append(_taken(client, roles, partial(_by_draw, client, number), f"drawn-{number}"))
            grown.append(watch.growth_mib)
            told = client.releases.get(f"drawn-{number}").document["mechanism"]["csv_sha256"]
            same &= told == drawn[-1].sha256
        yield _made(ruled, drawn, max(grown), same)
        yield _read(ruled, drawn, same)


@contextmanager
def _service(asked: Asked) -> Iterator[tuple[Client, Roles]]:
    with temporary_folder(asked.operations) as folder:
        service = asked.operations.start_service(folder / SERVICE)
        try:
            once = Retries(attempts=1)
            with Client(service.base_url, service.api_key, retries=once, timeout=LONGEST_RUN) as client:
                yield client, roles_of(service, folder / SERVICE)
        finally:
            service.stop()


def _load(client: Client) -> None:
    """The table, its dataset and the rule."""
    rng = np.random.default_rng(1)
    labels = [np.array([f"value {v}" for v in range(size)], dtype=object) for size in SIZES]
    columns = {f"c{j}": own[rng.integers(0, len(own), RECORDS)] for j, own in enumerate(labels)}
    client.uploads.create_from("wide", members.csv_chunks(columns))
    attributes: list[dict[str, Any]] = [
        {"name": name, "type": "categorical", "role": "sensitive" if name == DRAWN else "quasi_identifier"}
        for name in columns
    ]
    drawn = list(columns).index(DRAWN)
    values = {"kind": "flat", "values": labels[drawn].tolist()}
    client.hierarchies.create({"name": "drawn-values", "definition": values})
    attributes[drawn]["hierarchy"] = "drawn-values"
    client.datasets.create({"name": "wide", "upload": "wide", "attributes": attributes})
    client.rules.create(
        {"name": "some", "dataset": "wide", "rule": {"kind": "table_level", "levels": LEVELS}}
    )


def _by_rule(client: Client, number: int) -> None:
    client.releases.create({"name": f"ruled-{number}", "dataset": "wide", "rule": "some"})


def _by_draw(client: Client, number: int) -> None:
    mechanism = {"kind": "perturbation", "beta": 2 + number, "attribute": DRAWN}
    body = {"name": f"drawn-{number}", "dataset": "wide", "mechanism": mechanism}
    further = {"independent_of_earlier": True} if number else {}
    client.runs.wait(client.releases.start_run({**body, **further}).id)


def _taken(client: Client, roles: Roles, make: Callable[[], None], name: str) -> _Taken:
    before, start = roles.spent(), time.perf_counter()
    make()
    between, made = roles.spent(), time.perf_counter()
    digest = hashlib.sha256()
    for piece in client.releases.data(name):
        digest.update(piece)
    after, read = roles.spent(), time.perf_counter()
    cpu = [sum(difference(*pair).values()) for pair in ((before, between), (between, after))]
    return _Taken(made - start, cpu[0], read - made, cpu[1], digest.hexdigest())


def _made(ruled: list[_Taken], drawn: list[_Taken], grown: float, same: bool) -> Measurement:
    ours, rule = min(own.whole for own in drawn), min(own.whole for own in ruled)
    return Measurement(
        part=PART,
        work=f"release of {RECORDS:,} rows × {len(SIZES)} columns by perturbation, by a run, and read as CSV",
        bar="≤ 2 × the same table's release under a rule, its process + ≤ 64 MiB beyond the table",
        unit="s",
        ours=ours,
        bar_met=ours <= 2 * rule and grown <= 64,
        baseline="under a rule",
        baseline_value=rule,
        ratio=rule / ours,
        peak_mib=grown,
        counters={
            "made_s": round(min(own.made for own in drawn), 2),
            "cpu_s": round(min(own.made_cpu + own.read_cpu for own in drawn), 2),
            "rule_cpu_s": round(min(own.made_cpu + own.read_cpu for own in ruled), 2),
            "grown_mib": round(grown, 1),
        },
        same_result=same,
        detail=f"least of {REPEATS}, in turn; the memory is what the run's process, which held the table, "
        "grew by; processor time of all processes of the service",
    )


def _read(ruled: list[_Taken], drawn: list[_Taken], same: bool) -> Measurement:
    ours, rule = min(own.read for own in drawn), min(own.read for own in ruled)
    return Measurement(
        part=PART,
        work=f"reading it back as CSV, {RECORDS:,} rows × {len(SIZES)} columns",
        bar="≤ the release under a rule",
        unit="s",
        ours=ours,
        bar_met=ours <= rule,
        baseline="under a rule",
        baseline_value=rule,
        ratio=rule / ours,
        counters={
            "cpu_s": round(min(own.read_cpu for own in drawn), 2),
            "rule_cpu_s": round(min(own.read_cpu for own in ruled), 2),
        },
        same_result=same,
        detail=f"least of {REPEATS}, in turn",
    )
