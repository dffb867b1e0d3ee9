"""What the library path takes without a service: from a CSV file to codes, and the three attackers' risks.

Adult, and Adult replicated to 995,346 records of which 5 % of the cells are drawn anew. All nine attributes
are quasi-identifiers.
"""

from __future__ import annotations

import csv
import math
import tempfile
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from typing import Final

import numpy as np
import pandas as pd

from app.domain.models.entry import MeasureContext
from app.domain.models.reidentification_risk import ATTACKER_MODELS, AttackerModels, AttackerModelsParameters
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import encode, table_of
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, Role
from tests.benchmarks.anonymity import read_table, replicated
from tests.benchmarks.row import Report, Row, timed

THRESHOLD: Final = 0.2


def rows(data: Path, report: Report) -> None:
    """All measurements on the folder of real data."""
    adult = read_table(data / "arx-adult", "adult.csv", "adult_hierarchy_")
    million = replicated(adult)
    report(_attackers("Adult", adult, 2e-3, 1.2e-3))
    report(_attackers("Adult × 33", million, 50e-3, 30e-3))
    report(_file_to_codes(million))


def _attackers(name: str, table: Table, bar: float, aim: float) -> Row:
    """Prosecutor and marketer; the journalist, who needs a population, sees the table itself."""
    parameters = AttackerModelsParameters(threshold=THRESHOLD)

    def context() -> MeasureContext:
        utility = build_utility(table, "depth_sum")
        return MeasureContext(table, None, None, None, None, utility, MODEL_I, "zero")

    estimated = ATTACKER_MODELS.cost(context(), parameters).seconds
    ours = timed(lambda: ATTACKER_MODELS.compute(context(), parameters, lambda _: None), repeats=9)
    encoded = pd.DataFrame(table.codes, columns=list(table.attributes))
    theirs = timed(lambda: _by_pandas(encoded), repeats=3)
    return Row(
        work=f"three attacker risks, {name} ({table.n_records:,} records)",
        bar=f"{1000 * bar:g} ms",
        aim=f"{1000 * aim:g} ms",
        ours_seconds=ours.least,
        baseline="pandas",
        baseline_seconds=theirs.least,
        peak_bytes=ours.peak_bytes,
        counters={**ours.spent, "estimated_seconds": estimated},
        same_result=_agrees(ours.answer, theirs.answer),
        detail="least of 9; pandas groups encoded columns: the highest, the mean, the share at risk",
        bar_seconds=bar,
        aim_seconds=aim,
    )


def _by_pandas(encoded: pd.DataFrame) -> tuple[float, float, float]:
    """Highest risk, mean risk, and the share of records whose risk is above the threshold."""
    sizes = encoded.groupby(list(encoded.columns), sort=False).size()
    records = int(sizes.sum())
    return 1 / int(sizes.min()), len(sizes) / records, int(sizes[1 / sizes > THRESHOLD].sum()) / records


def _agrees(found: AttackerModels, expected: tuple[float, float, float]) -> bool:
    prosecutor, marketer = found.prosecutor, found.marketer
    ours = (prosecutor.highest, prosecutor.average_per_record, prosecutor.share_at_risk)
    pairs = zip((*ours, marketer.share_re_identified), (*expected, expected[1]), strict=True)
    return all(a is not None and math.isclose(a, b, rel_tol=1e-12) for a, b in pairs)


def _file_to_codes(table: Table) -> Row:
    """A CSV file becomes a column of codes per attribute; the hierarchies are at hand."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "million.csv"
        _write(path, table)
        ours = timed(_reader(path, table), repeats=2, warm_up=1)
        theirs = timed(lambda: _categories(path), repeats=2, warm_up=1)
    categories = theirs.answer
    same = bool((ours.answer == table.codes).all()) and len(categories) == table.n_records
    return Row(
        work=f"CSV file to codes, {table.n_records:,} records × {table.n_attributes}",
        bar="1.2 s",
        aim="0.7 s",
        ours_seconds=ours.least,
        baseline="pandas",
        baseline_seconds=theirs.least,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent,
        same_result=same,
        detail="least of 2; pandas reads columns of text and makes them categories, without hierarchies",
        bar_seconds=1.2,
        aim_seconds=0.7,
    )


def _reader(path: Path, table: Table) -> Callable[[], np.ndarray]:
    """The way from a file to codes that this checkout has."""
    names, trees = table.attributes, dict(zip(table.attributes, table.hierarchies, strict=True))
    try:
        read_csv = resolve_name("app.services.datasets.csv_columns:read_csv")
    except ImportError:  # a checkout from before files were read without a service

        def by_lines() -> np.ndarray:
            with path.open(encoding="utf-8", newline="") as lines:
                _, *body = csv.reader(lines)
            columns = [trees[name].encode([row[j] for row in body])[0] for j, name in enumerate(names)]
            return np.stack(columns, axis=1)

        return by_lines

    declared = [
        AttributeDeclaration(name, AttributeType.CATEGORICAL, Role.QUASI_IDENTIFIER) for name in names
    ]

    def by_columns() -> np.ndarray:
        columns = read_csv(path)
        return table_of(encode(declared, columns, trees), declared, columns).codes

    return by_columns


def _write(path: Path, table: Table) -> None:
    columns = {
        name: np.array(tree.labels, dtype=object)[table.codes[:, j]]
        for j, (name, tree) in enumerate(zip(table.attributes, table.hierarchies, strict=True))
    }
    pd.DataFrame(columns).to_csv(path, index=False)


def _categories(path: Path) -> pd.DataFrame:
    return pd.read_csv(path, dtype=str, keep_default_na=False).astype("category")
