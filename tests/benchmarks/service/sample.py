"""The sample in a running service, and questions about it that nobody has asked before."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from app.cli.embedded import SERVICE, temporary_folder
from app.cli.journey import load_journey
from app.cli.operations import Operations, RunningService
from app.cli.progress import Silent
from app.cli.walk import Walk
from app.samples import JOURNEY
from app.samples.files import write_sample
from privacy_risk import Client, Retries
from tests.benchmarks.service.costs import Roles, roles_of

RECORDS = 10_000
HEIGHTS = {"city": 4, "race": 2, "birth_date": 3, "income": 4}
SEED = 1
QUESTIONS_A_PROFILE = 600
"""Rules of the sample times two ways to count a record that no entity is consistent with."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Loaded:
    """A running service that holds the sample.

    ``question`` is what all assessments and optimisations have in common; ``folder`` holds the files, and
    ``logs`` is the folder of what the service's processes log.
    """

    service: RunningService
    client: Client
    roles: Roles
    question: Json
    folder: Path

    @property
    def logs(self) -> Path:
        return self.folder / SERVICE / "logs"


@contextmanager
def loaded_service(operations: Operations) -> Iterator[Loaded]:
    """Start a service, load the sample, and stop the service at the end."""
    with temporary_folder(operations) as folder:
        service = operations.start_service(folder / SERVICE)
        try:
            # Without retries no reply is kept for them, so that what is measured is the request alone.
            with Client(service.base_url, service.api_key, retries=Retries(attempts=1)) as client:
                question = load_sample(client, folder)
                yield Loaded(service, client, roles_of(service, folder / SERVICE), question, folder)
        finally:
            service.stop()


def load_sample(client: Client, folder: Path) -> Json:
    """Write the sample to files in the folder and load it; what all questions about it have in common."""
    write_sample(folder / "sample", RECORDS, RECORDS)
    walk = Walk(client, load_journey(folder / "sample" / JOURNEY), folder / "release.csv", Silent())
    walk.load()
    return walk.question()


def assessments(client: Client, question: Json, profiles: int) -> list[Json]:
    """Distinct questions for a score in a seeded order, for each of so many sensitivity profiles."""
    harms = [_profile(client, number) for number in range(profiles)]
    levels = [dict(zip(HEIGHTS, rule, strict=True)) for rule in product(*map(_levels, HEIGHTS.values()))]
    made = [
        question | {"sensitivity": harm, "absent_policy": policy, "rule": table_level(rule)}
        for harm, policy, rule in product(harms, ("zero", "add_self"), levels)
    ]
    return [made[i] for i in np.random.default_rng(SEED).permutation(len(made)).tolist()]


def table_level(levels: dict[str, int]) -> Json:
    """A rule as the service takes it."""
    return {"kind": "table_level", "levels": levels}


def _levels(height: int) -> range:
    return range(height + 1)


def _profile(client: Client, number: int) -> str:
    """The name of a new sensitivity profile, unlike the others."""
    name = f"harm-{number}"
    weights = {
        attribute: {"leaves": 0.5 + number / 100 + place / 10, "inner": "harmonic"}
        for place, attribute in enumerate(HEIGHTS)
    }
    body = {"name": name, "dataset": "members", "family": "multiplicative", "attributes": weights}
    client.sensitivity_profiles.create(body)
    return name
