"""Every rule for a few attributes of the Adult table, scored by hand."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path

import numpy as np

from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from tests.oracles.adult_by_hand import AdultByHand, read_rows

DATA = os.environ.get("PRIVACY_RISK_DATA")


FOUR = ["age", "education", "marital-status", "native-country"]


FIVE = [*FOUR, "race"]


@cache
def by_hand(*attributes):
    return AdultByHand(Path(DATA), list(attributes) or None)


@cache
def context_of(*attributes):
    folder = Path(DATA) / "arx-adult"
    header, *body = read_rows(folder / "adult.csv")
    names = attributes or tuple(header)
    trees = [Hierarchy.from_rows(read_rows(folder / f"adult_hierarchy_{name}.csv")) for name in names]
    columns = [
        tree.encode([row[header.index(name)] for row in body])[0]
        for name, tree in zip(names, trees, strict=True)
    ]
    ids = np.array([str(i) for i in range(len(body))], dtype=object)
    table = Table(tuple(names), tuple(trees), np.stack(columns, axis=1), ids)
    sensitivity = build_sensitivity(table, "linear", {name: LeafWeights(1.0) for name in names})
    return SearchContext(table, dictionary_of(table), sensitivity, build_utility(table))
