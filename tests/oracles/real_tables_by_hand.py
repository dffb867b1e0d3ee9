"""The credit cards and UCI Adult with its missing values, judged by counting lines; and as tables.

Every attribute is a list of paths from value to ``*`` and a column of values, None where one is missing.
What a rule shows, whom it suppresses and what that loses follows from these alone.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from tests.oracles.adult_by_hand import counted, read_rows

FOLDER = Path(os.environ.get("PRIVACY_RISK_DATA", ""))


class ByHand:
    """All rules of some attributes; ``n`` records, ``people`` of the population that begins with them."""

    def __init__(self, paths, columns, n=None):
        self.names, self.paths = tuple(paths), paths
        self.everybody = columns
        self.people = len(next(iter(columns.values())))
        self.n = n or self.people
        self._shown = [[self._level(name, level) for level in range(len(paths[name][0]))] for name in paths]

    def _level(self, name, level):
        """A number for what everybody shows, and how many leaves are under it."""
        line = {path[0]: path[level] for path in self.paths[name]}
        labels = [path[level] for path in self.paths[name]]
        number = {label: place for place, label in enumerate(dict.fromkeys(["*", *labels]))}
        shown = [line.get(value, "*") for value in self.everybody[name]]
        below = {label: labels.count(label) for label in set(labels)} | {"*": len(labels)}
        return np.array([number[own] for own in shown]), np.array([below[own] for own in shown])

    @property
    def heights(self):
        return [len(levels) - 1 for levels in self._shown]

    def rules(self) -> Iterator[tuple[int, ...]]:
        return itertools.product(*(range(height + 1) for height in self.heights))

    def table(self) -> Table:
        trees = self._trees()
        columns = [self.everybody[name][: self.n] for name in self.names]
        codes = [tree.encode(column)[0] for tree, column in zip(trees, columns, strict=True)]
        return Table(self.names, tuple(trees), np.stack(codes, axis=1))

    def dictionary(self) -> Dictionary:
        links = zip(self.names, self._trees(), strict=True)
        return Dictionary(
            self.people, tuple(link_identity(name, tree, self.everybody[name]) for name, tree in links)
        )

    def _trees(self):
        return [Hierarchy.from_rows(self.paths[name]) for name in self.names]

    def classes(self, levels):
        """The class of every record, and the records and the people of every class of a record."""
        keys = np.zeros(self.people, dtype=np.int64)
        for own, level in zip(self._shown, levels, strict=True):
            keys = keys * 1_000 + own[level][0]
        of, everybody = counted(keys)
        of = of[: self.n]
        records = np.bincount(of, minlength=len(everybody))
        return of, records, everybody

    def shows_nothing(self, levels):
        """Which records show no attribute."""
        each = [
            own[level][1][: self.n] == own[-1][1][0] for own, level in zip(self._shown, levels, strict=True)
        ]
        return np.all(each, axis=0)

    def leaves(self, levels):
        """(attributes, n) leaves under what is shown, and how many each attribute has."""
        shown = [own[level][1][: self.n] for own, level in zip(self._shown, levels, strict=True)]
        return np.array(shown), np.array([own[-1][1][0] for own in self._shown])

    def squares(self, name, level):
        """(n,) squared distance of each number from the mean of those that show the same; 0 at level 0."""
        numbers = np.array(self.everybody[name][: self.n], dtype=float)
        if level == 0:
            return np.zeros(self.n)
        _, of = np.unique(self._shown[self.names.index(name)][level][0][: self.n], return_inverse=True)
        return (numbers - (np.bincount(of, numbers) / np.bincount(of))[of]) ** 2

    def arithmetic(self, levels, weights) -> tuple[float, np.ndarray]:
        """The weighted mean loss if nobody is suppressed, and what suppressing each record adds."""
        shown, most = self.leaves(levels)
        scale = np.array(weights) / np.sum(weights) / (self.n * (most - 1))
        return float(scale @ (shown - 1).sum(axis=1)), scale @ (most[:, None] - shown)


def best_and_worst(hand: ByHand, weights, limit: int, order: Callable, enough: Callable):
    """Least loss over all rules if whole classes go in ``order`` until ``enough``, by how ties are broken.

    ``order(records, people)`` is a key by class; classes of one key may go in any order. ``enough(records,
    people)`` is asked of the classes that remain. Left out are rules at which some records show nothing.
    """
    best = worst = np.inf
    for levels in hand.rules():
        of, records, people = hand.classes(levels)
        if hand.shows_nothing(levels).any():
            continue
        base, added = hand.arithmetic(levels, weights)
        cost = np.bincount(of, added, len(records))
        there = np.flatnonzero(records)
        records, people, cost = records[there], people[there], cost[there]
        key = order(records, people)
        found = [
            suppressed_until(enough, np.lexsort((sign * cost, *reversed(key))), records, people, cost)
            for sign in (1, -1)
        ]
        if found[0][0] <= limit:
            best = min(best, base + found[0][1])
        if found[1][0] <= limit:
            worst = min(worst, base + found[1][1])
    return best, worst


def suppressed_until(enough, line, records, people, cost) -> tuple[int, float]:
    """Records and cost of the first classes of a line, as few as leave enough."""
    gone = fewest(lambda m: enough(records[line[m:]], people[line[m:]]), len(line))
    return int(records[line[:gone]].sum()), float(cost[line[:gone]].sum())


def fewest(holds: Callable[[int], bool], most: int) -> int:
    """The least m up to ``most`` that holds, where all greater ones do."""
    low, high = -1, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


@cache
def credit_cards(*names: str, n: int | None = None) -> ByHand:
    header, *rows = read_rows(FOLDER / "creditcard-int" / "creditcard_int.csv")
    places = {name: header.index(name) for name in names}
    paths = {
        name: read_rows(FOLDER / "creditcard-int" / f"creditcard_int_hierarchy_{name}.csv") for name in names
    }
    return ByHand(paths, {name: [row[place] for row in rows] for name, place in places.items()}, n)


@cache
def adult_with_missing_values() -> ByHand:
    """All 48,842 records: ages by tens, work class, occupation and country as they are or not at all."""
    rows = []
    for name in ("adult.data", "adult.test"):
        text = (FOLDER / "uci-adult-48842" / name).read_text().splitlines()[1:]
        rows += [[cell.strip() for cell in line.split(",")] for line in text if line.strip()]
    places = {"age": 0, "workclass": 1, "occupation": 6, "sex": 9, "native-country": 13}
    columns = {
        name: [None if row[place] == "?" else row[place] for row in rows] for name, place in places.items()
    }
    values = {name: sorted({own for own in column if own is not None}) for name, column in columns.items()}
    paths = {name: [[own, "*"] for own in values[name]] for name in places}
    paths["age"] = [[str(age), f"{age // 10}0s", "*"] for age in range(100)]
    return ByHand(paths, columns)
