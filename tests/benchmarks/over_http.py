"""What the service takes over HTTP, beside the same work in pandas in the same run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from datetime import date, timedelta
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd

from app.cli.embedded import SERVICE, temporary_folder
from app.cli.journey import load_journey
from app.cli.operations import RunningService
from app.cli.progress import Silent
from app.cli.walk import Walk
from app.samples import JOURNEY, members
from app.samples.files import write_sample
from privacy_risk import Client, Retries
from tests.benchmarks.bombs import measure_bombs
from tests.benchmarks.front_door import measure_door
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.memory_watch import MemoryWatch
from tests.benchmarks.service.asked import Asked
from tests.benchmarks.wide_table import wide_table

_RECORDS = 10_000
_REQUESTS = 60
_UPLOAD_ROWS = 1_000_000
_ATTRIBUTES = ("city", "race", "birth_date", "income")
_PIECE = 1 << 20


def measure(asked: Asked) -> list[Measurement]:
    """Start a service, measure assessments, an upload and hostile requests, stop it."""
    with temporary_folder(asked.operations) as folder:
        service = asked.operations.start_service(folder / SERVICE)
        try:
            # Without retries no reply is kept for them, so that what is measured is the request alone.
            once = Retries(attempts=1)
            with Client(service.base_url, service.api_key, retries=once) as client:
                measured = [_measure_assessments(client, folder), *_measure_upload(client, service, folder)]
            return [*measured, *measure_door(service), *measure_bombs(service)]
        finally:
            service.stop()


def _measure_assessments(client: Client, folder: Path) -> Measurement:
    """Distinct rules, so that no result is cached; table and dictionary are in memory after the first."""
    write_sample(folder / "sample", _RECORDS, _RECORDS)
    walk = Walk(client, load_journey(folder / "sample" / JOURNEY), folder / "release.csv", Silent())
    walk.load()
    rules = list(product(range(5), range(3), range(4), range(5)))
    order = np.random.default_rng(1).permutation(len(rules))[: _REQUESTS + 1]
    baseline = PandasOracle(folder / "sample")
    ours, theirs, same = [], [], True
    for position in order:
        levels = dict(zip(_ATTRIBUTES, rules[position], strict=True))
        body = walk.question() | {"rule": {"kind": "table_level", "levels": levels}}
        start = time.perf_counter()
        result = client.assessments.create(body).document["result"]
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        risk, fewest = baseline.score(levels)
        theirs.append(time.perf_counter() - start)
        same &= abs(result["risk_average"] - risk) <= 1e-9 and result["min_consistent"] == fewest
    p50, pandas_p50 = statistics.median(ours[1:]), statistics.median(theirs[1:])
    return Measurement(
        part="http",
        work=f"assessment over HTTP, {_RECORDS:,} records, {_RECORDS:,} entities",
        bar="≤ 0.05 s",
        unit="s",
        ours=p50,
        bar_met=p50 <= 0.05,
        baseline="pandas",
        baseline_value=pandas_p50,
        ratio=pandas_p50 / p50,
        same_result=bool(same),
        detail=f"medians of {_REQUESTS} rules, tables in memory, no result from the cache",
    )


class PandasOracle:
    """The score of a rule for the sample by mapping, grouping and merging."""

    def __init__(self, folder: Path) -> None:
        self.table = pd.read_csv(folder / "members.csv", dtype=str)
        census = pd.read_csv(folder / "census.csv", dtype=str)
        census["city"] = census["zip"].map(members.zip_to_city())
        self.census = census[["city", "race", "age"]].assign(age=census["age"].astype(int))
        self.ancestors = {
            "city": _ancestors(members.city_rows()),
            "race": _ancestors([[race, group] for group, races in members.RACES.items() for race in races]),
            "birth_date": _ancestors(_date_rows()),
            "income": _ancestors(members.income_rows()),
        }
        ages = {day: _age(date.fromisoformat(day)) for day, *_ in _date_rows()}
        self.age = pd.Series(ages, name="age")

    def score(self, levels: Mapping[str, int]) -> tuple[float, int]:
        """Mean loss, and the least number of consistent entities."""
        released = pd.DataFrame(
            {name: self.table[name].map(self.ancestors[name][level]) for name, level in levels.items()}
        )
        census = pd.DataFrame(
            {
                "city": self.census["city"].map(self.ancestors["city"][levels["city"]]),
                "race": self.census["race"].map(self.ancestors["race"][levels["race"]]),
                "age": self.census["age"],
            }
        )
        entities = census.groupby(["city", "race", "age"]).size().rename("entities").reset_index()
        # Which ages a released date may belong to: a year of birth spans two.
        dates = self.ancestors["birth_date"][levels["birth_date"]].rename("birth_date")
        spans = pd.concat([dates, self.age], axis=1).drop_duplicates()
        keys = ["city", "race", "birth_date"]
        wanted = released[keys].drop_duplicates().merge(spans, on="birth_date")
        counts = wanted.merge(entities, on=["city", "race", "age"]).groupby(keys)["entities"].sum()
        scored = released.merge(counts.reset_index(), on=keys, how="left")
        weight = sum(scored[name].map(self._weights(name, level)) for name, level in levels.items())
        loss = np.exp(weight) / scored["entities"]
        return float(loss.mean()), int(scored["entities"].min())

    def _weights(self, name: str, level: int) -> pd.Series:
        """Equal leaf weights w make a node of n leaves weigh w / n, and the top nothing."""
        leaves = self.ancestors[name][level].value_counts()
        weights: pd.Series = members.WEIGHTS[name] / leaves
        return weights.where(weights.index != "*", 0.0)


def _ancestors(rows: list[list[str]]) -> list[pd.Series]:
    """Per level, leaf → its ancestor there; the last is the top."""
    leaves = [row[0] for row in rows]
    columns = [pd.Series([row[level] for row in rows], index=leaves) for level in range(len(rows[0]))]
    return [*columns, pd.Series("*", index=leaves)]


def _date_rows() -> list[list[str]]:
    first, last = members.BIRTH_DATES
    days = [(first + timedelta(days=i)).isoformat() for i in range((last - first).days + 1)]
    return [[day, day[:7], day[:4]] for day in days]


def _age(born: date) -> int:
    day = members.REFERENCE_DATE
    return day.year - born.year - ((day.month, day.day) < (born.month, born.day))


def _measure_upload(client: Client, service: RunningService, folder: Path) -> list[Measurement]:
    path = folder / "wide.csv"
    with path.open("wb") as file:
        file.writelines(members.csv_chunks(wide_table(_UPLOAD_ROWS)))
    with MemoryWatch(service.api_pid) as watch, path.open("rb") as file:
        start = time.perf_counter()
        upload = client.uploads.create_from("wide", iter(lambda: file.read(_PIECE), b""))
        stored = client.uploads.get(upload.id).document
        seconds = time.perf_counter() - start
    start = time.perf_counter()
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    table.to_parquet(folder / "wide.parquet", compression="zstd")
    pandas_seconds = time.perf_counter() - start
    work = f"upload of {_UPLOAD_ROWS:,} rows × {len(table.columns)} columns"
    share = stored["stored_bytes"] / path.stat().st_size
    same = stored["rows"] == len(table) and stored["columns"] == list(table.columns)
    return [
        Measurement(
            part="http",
            work=f"{work}, until readable",
            bar="≤ 10 s, API process + ≤ 64 MiB",
            unit="s",
            ours=seconds,
            bar_met=seconds <= 10 and watch.growth_mib <= 64,
            baseline="pandas",
            baseline_value=pandas_seconds,
            ratio=pandas_seconds / seconds,
            peak_mib=watch.growth_mib,
            same_result=same,
            detail="the memory is what the API process grew by, sampled every 20 ms; pandas writes Parquet",
        ),
        Measurement(
            part="http",
            work=f"{work}, stored bytes as a share of the CSV's",
            bar="≤ 0.35",
            unit="share",
            ours=share,
            bar_met=share <= 0.35,
            baseline="pandas' Parquet",
            baseline_value=(folder / "wide.parquet").stat().st_size / path.stat().st_size,
            ratio=(folder / "wide.parquet").stat().st_size / stored["stored_bytes"],
        ),
    ]
