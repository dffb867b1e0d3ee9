"""Public tables with their hierarchies, and least loss on them."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.search.budget import Budget
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.tables.table import Table

DATA = os.environ.get("PRIVACY_RISK_DATA")


real_data = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]


def solve(table: Table, problem: AnonymityProblem, budget: Budget | None = None) -> AnonymityOutcome:
    plan = AnonymityPlan(table, problem, budget or Budget())
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def rows_of(path: Path) -> list[list[str]]:
    with path.open(newline="") as lines:
        return [row for row in csv.reader(lines, delimiter=";") if row]


def read(folder: str, file: str, hierarchy: str, names: list[str] | None = None) -> Table:
    path = Path(DATA or "", folder)
    header, *rows = rows_of(path / file)
    names = names or header
    trees = [Hierarchy.from_rows(rows_of(path / f"{hierarchy}{name}.csv")) for name in names]
    columns = [
        tree.encode([row[header.index(name)] for row in rows])[0]
        for name, tree in zip(names, trees, strict=True)
    ]
    return Table(tuple(names), tuple(trees), np.stack(columns, axis=1))


FLAT = Hierarchy.from_parents({"a": [None], "b": [None]})
