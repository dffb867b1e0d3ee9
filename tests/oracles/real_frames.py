"""Adult with and without its missing values and the credit cards: as frames of pandas, and as tables."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table

DATA = os.environ.get("PRIVACY_RISK_DATA")
NEEDS_DATA = [
    pytest.mark.real_data,
    pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data"),
]
WITHOUT_MISSING = "Adult, 30,162 records"
WITH_MISSING = "Adult, 48,842 records"
CARDS = "credit cards, 30,000 records"
RECORDS = {WITHOUT_MISSING: 30_162, WITH_MISSING: 48_842, CARDS: 30_000}
MISSING = "?"


@cache
def frame(name: str) -> pd.DataFrame:
    """All cells as text, a missing one as ``?``."""
    folder = Path(DATA or "")
    if name == WITH_MISSING:
        parts = [
            pd.read_csv(folder / "uci-adult-48842" / own, dtype=str, skipinitialspace=True)
            for own in ("adult.data", "adult.test")
        ]
        found = pd.concat(parts, ignore_index=True).dropna(how="all")
        found = found.rename(columns={"classification": "salary-class"})
        found["salary-class"] = found["salary-class"].str.rstrip(".")
    else:
        file = "arx-adult/adult.csv" if name == WITHOUT_MISSING else "creditcard-int/creditcard_int.csv"
        found = pd.read_csv(folder / file, dtype=str, sep=";")
    assert len(found) == RECORDS[name]
    return found


def table(rows: pd.DataFrame, known: tuple[str, ...], sensitive: str, *, keeps_missing: bool) -> Table:
    """The table of some columns, values below ⊥; ``?`` of the sensitive one is a value where it is kept."""
    names = (*known, sensitive)
    trees, columns = [], []
    for name in names:
        column = rows[name].tolist()
        if name != sensitive or not keeps_missing:
            column = [None if own == MISSING else own for own in column]
        tree = Hierarchy.from_parents({own: [None] for own in sorted({*column} - {None})})
        trees.append(tree)
        columns.append(tree.encode(column)[0])
    return Table(names, tuple(trees), np.stack(columns, axis=1), sensitive=frozenset({sensitive}))


def shown(of: Table, columns) -> pd.DataFrame:
    """What rows of nodes show, as text; ⊥ as ``?``."""
    texts = {
        name: np.array([MISSING, *tree.labels[1:]], dtype=object)[column]
        for name, tree, column in zip(of.attributes, of.hierarchies, columns, strict=True)
    }
    return pd.DataFrame(texts)
