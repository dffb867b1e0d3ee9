"""How fast the rows of a file are matched with the records of a table: a million of each.

Under one level per attribute every record has one possible row, so that pandas can count what is left over;
where cells are suppressed one by one, records have many, of which a flow chooses. The bar is for at most
100,000 pairs of a distinct row and a distinct record; with more the time is shown.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from app.domain.arrays import Ints
from app.domain.classes.row_matching import match_rows
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.release_alignment import ReleasedColumn
from app.domain.tables.table import Table
from tests.benchmarks.row import Report, Row, timed

RECORDS = 1_000_000
SECONDS = 3.0


def rows(data: Path | None, report: Report) -> None:
    """All measurements; none needs real data."""
    rng = np.random.default_rng(1)
    for ages, places in ((80, 60), (100, 400)):
        table = _table(rng, ages, places)
        shuffled = rng.permutation(RECORDS)
        by_level = _raised(table)[shuffled]
        report(_row(table, by_level, "one level per attribute", counted=True))
        by_cell = by_level.copy()
        by_cell[rng.random(by_cell.shape) < 0.05] = TOP
        report(_row(table, by_cell, "a twentieth of the cells suppressed"))


def _table(rng: np.random.Generator, ages: int, places: int) -> Table:
    trees = [_tree(ages, 10), _tree(places, 20), _tree(2, 2), _tree(10, 10)]
    codes = [own.leaves[rng.integers(0, own.n_leaves, RECORDS)] for own in trees]
    names = ("age", "place", "sex", "illness")
    return Table(names, tuple(trees), np.stack(codes, axis=1), sensitive=frozenset({"illness"}))


def _tree(values: int, together: int) -> Hierarchy:
    return Hierarchy.from_rows([[f"v{i}", f"g{i // together}", "*"] for i in range(values)])


def _raised(table: Table) -> Ints:
    """Ages and places one level up."""
    raised = table.codes.copy()
    for j in (0, 1):
        raised[:, j] = table.hierarchies[j].ancestors_at(1)[raised[:, j]]
    return raised


def _row(table: Table, shown: Ints, what: str, *, counted: bool = False) -> Row:
    columns = {}
    for j, name in enumerate(table.attributes):
        nodes, positions = np.unique(shown[:, j], return_inverse=True)
        texts = tuple((table.hierarchies[j].labels[node],) for node in nodes.tolist())
        columns[name] = ReleasedColumn(texts, positions.astype(np.int32))
    ours = timed(lambda: match_rows(table, columns))
    over = len(ours.answer.unmatched)
    baseline = None
    if counted:
        both = [pd.DataFrame(own) for own in (shown, _raised(table))]
        baseline = timed(lambda: both[0].value_counts().sub(both[1].value_counts(), fill_value=0))
    is_bound = counted and table.reduced.size <= 100_000
    return Row(
        work=f"{RECORDS:,} rows matched with as many records, {table.reduced.size:,} different: {what}",
        bar=f"≤ {SECONDS:g} s" if is_bound else "shown",
        ours_seconds=ours.seconds,
        baseline=None if baseline is None else "pandas value_counts of both, subtracted",
        baseline_seconds=None if baseline is None else baseline.seconds,
        peak_bytes=ours.peak_bytes,
        counters={"unmatched_rows": over},
        same_result=None if baseline is None else over == int(baseline.answer.clip(lower=0).sum()),
        bar_seconds=SECONDS if is_bound else None,
    )
