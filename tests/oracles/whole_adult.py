"""The Adult table with its hierarchies, as tests compare it with loops over its files."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from tests.oracles.adult_by_hand import read_rows

DATA = os.environ.get("PRIVACY_RISK_DATA")
NEEDS_ADULT = [
    pytest.mark.real_data,
    pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data"),
]
SENSITIVE = ("occupation", "salary-class")


@cache
def files():
    """Header, records and per attribute the rows of its hierarchy."""
    folder = Path(DATA or "", "arx-adult")
    header, *body = read_rows(folder / "adult.csv")
    return header, body, {name: read_rows(folder / f"adult_hierarchy_{name}.csv") for name in header}


@cache
def adult():
    header, body, rows = files()
    trees = [Hierarchy.from_rows(rows[name]) for name in header]
    columns = [tree.encode([row[j] for row in body])[0] for j, tree in enumerate(trees)]
    return Table(tuple(header), tuple(trees), np.stack(columns, axis=1), sensitive=frozenset(SENSITIVE))
