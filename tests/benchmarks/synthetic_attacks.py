"""How fast a table is attacked by a synthetic one, beside the same attacks record by record in pandas."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables
from app.domain.analyses.synthetic_attacks import synthetic_attacks
from tests.benchmarks.row import Report, Row, timed

RECORDS: Final = 20_000
ATTACKS: Final = 500
TIMES_FASTER: Final = 10
FILE: Final = Path("uci-adult-48842") / "adult.data"
NUMERIC: Final = (0, 2, 4, 10, 11, 12)
SETS: Final = ((0, 1, 2), (3, 6, 12))
SECRET: Final = 6
"""Occupation."""


def rows(data: Path | None, report: Report) -> None:
    """All three attacks, by a synthetic table of Adult with shuffled columns."""
    if data is not None:
        report(_attacked(data))


def _attacked(data: Path) -> Row:
    table = pd.read_csv(data / FILE, header=None, skiprows=1, skipinitialspace=True, dtype=str)
    table = table.dropna().head(RECORDS)
    table[list(NUMERIC)] = table[list(NUMERIC)].astype(float)
    rng = np.random.default_rng(1)
    synthetic = table.apply(lambda column: rng.permutation(column.to_numpy()))
    compared = _encoded(table, synthetic)
    names = [own.name for own in compared.columns]
    first, second = (tuple(names[j] for j in own) for own in SETS)
    ours = timed(
        lambda: synthetic_attacks(
            compared,
            attacks=ATTACKS,
            linkable=(first, second),
            secrets=(names[SECRET],),
            confidence=0.95,
            rng=np.random.default_rng(2),
        ),
        repeats=5,
    )
    baseline = timed(lambda: _in_pandas(table, synthetic), repeats=1, warm_up=0)
    singled_out, linkability = ours.answer.singling_out.multivariate, ours.answer.linkability
    assert singled_out is not None
    assert linkability is not None
    inferred, alone, linked = ours.answer.inference[0].attack.main, singled_out.main, linkability.main
    return Row(
        f"three attacks, {ATTACKS} each, by {RECORDS:,} synthetic records of Adult",
        bar=f"{TIMES_FASTER} times as fast",
        ours_seconds=ours.least,
        baseline="pandas: masks of predicates and distances of each record over whole columns",
        baseline_seconds=baseline.least,
        peak_bytes=ours.peak_bytes,
        counters={"inferred": inferred.rate, "linked": linked.rate, "singled_out": alone.rate},
        same_result=all(
            own.low - 0.05 <= rate <= own.high + 0.05
            for own, rate in zip((alone, linked, inferred), baseline.answer, strict=True)
        ),
        detail="least of 5 runs; the attacked differ, rates agree within intervals and 0.05",
        bar_seconds=baseline.least / TIMES_FASTER,
    )


def _encoded(table: pd.DataFrame, synthetic: pd.DataFrame) -> ComparedTables:
    columns, codes = [], []
    for j in range(table.shape[1]):
        code, values = pd.factorize(pd.concat([table[j], synthetic[j]], ignore_index=True))
        numbers = np.concatenate([[np.nan], values.to_numpy(float)]) if j in NUMERIC else None
        columns.append(ComparedColumn(f"c{j}", ["", *map(str, values)], numbers))
        codes.append(code + 1)
    both = np.stack(codes, axis=1).astype(np.int32)
    return ComparedTables(tuple(columns), both[: len(table)], both[len(table) :])


def _in_pandas(table: pd.DataFrame, synthetic: pd.DataFrame) -> tuple[float, float, float]:
    """The rates of singling out, linkability and inference."""
    rng, medians = np.random.default_rng(3), synthetic[list(NUMERIC)].median()

    def selected(frame: pd.DataFrame, record: pd.Series, columns: list[int]) -> int:
        mask = np.ones(len(frame), dtype=bool)
        for j in columns:
            if j not in NUMERIC:
                mask &= frame[j] == record[j]
            elif record[j] > medians[j]:
                mask &= frame[j] >= record[j]
            else:
                mask &= frame[j] <= record[j]
        return int(mask.sum())

    def nearest(record: pd.Series, columns: list[int]) -> int:
        distance = np.zeros(len(synthetic))
        for j in columns:
            if j in NUMERIC:
                distance += ((synthetic[j] - record[j]).abs() / np.ptp(table[j])).clip(upper=1)
            else:
                distance += synthetic[j] != record[j]
        return int(rng.choice(np.flatnonzero(distance == distance.min())))

    tried = alone = 0
    while tried < ATTACKS:
        columns = rng.choice(len(table.columns), 3, replace=False).tolist()
        record = synthetic.iloc[rng.integers(len(synthetic))]
        if selected(synthetic, record, columns) == 1:
            tried += 1
            alone += selected(table, record, columns) == 1
    attacked = [table.iloc[i] for i in rng.choice(len(table), ATTACKS, replace=False)]
    linked = sum(nearest(own, list(SETS[0])) == nearest(own, list(SETS[1])) for own in attacked)
    others = [j for j in range(table.shape[1]) if j != SECRET]
    right = sum(synthetic[SECRET].iloc[nearest(own, others)] == own[SECRET] for own in attacked)
    return alone / ATTACKS, linked / ATTACKS, right / ATTACKS
