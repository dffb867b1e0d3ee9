"""The Adult table scored by hand: reads the files itself and shares no code with the product."""

from __future__ import annotations

import csv
import itertools
from pathlib import Path

import numpy as np
import pandas as pd


def read_rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as lines:
        return list(csv.reader(lines, delimiter=";"))


def counted(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A number for each row, equal where the keys are, and how many rows have it; nothing is sorted."""
    numbers, _ = pd.factorize(keys)
    return numbers, np.bincount(numbers)


class AdultByHand:
    """Every leaf weighs 1, so a value above n leaves weighs 1/n and ⊥ 0; utility is the depth sum."""

    def __init__(self, data: Path, attributes: list[str] | None = None) -> None:
        folder = data / "arx-adult"
        header, *body = read_rows(folder / "adult.csv")
        self.attributes = attributes or header
        self.n = len(body)
        self.columns: list[list[np.ndarray]] = []
        self.weights: list[list[np.ndarray]] = []
        for attribute in self.attributes:
            chains = {row[0]: row for row in read_rows(folder / f"adult_hierarchy_{attribute}.csv")}
            values = [row[header.index(attribute)] for row in body]
            columns, weights = [], []
            for level in range(len(next(iter(chains.values())))):
                below: dict[str, int] = {}
                for chain in chains.values():
                    below[chain[level]] = below.get(chain[level], 0) + 1
                labels = sorted(below)
                place = {label: i for i, label in enumerate(labels)}
                codes = np.array([place[chains[value][level]] for value in values])
                top = len(labels) == 1
                columns.append(codes)
                weights.append(np.array([0.0 if top else 1 / below[label] for label in labels])[codes])
            self.columns.append(columns)
            self.weights.append(weights)

    @property
    def heights(self) -> list[int]:
        return [len(levels) - 1 for levels in self.columns]

    def rules(self) -> list[tuple[int, ...]]:
        return list(itertools.product(*(range(h + 1) for h in self.heights)))

    def utility(self, levels: tuple[int, ...]) -> int:
        return sum(self.heights) - sum(levels)

    def risk(self, levels: tuple[int, ...]) -> float:
        """Mean of Φ / (records with the same disclosed form)."""
        keys = np.zeros(self.n, dtype=np.int64)
        phi = np.zeros(self.n)
        for columns, weights, level in zip(self.columns, self.weights, levels, strict=True):
            keys = keys * (columns[level].max() + 1) + columns[level]
            phi += weights[level]
        inverse, counts = counted(keys)
        return float((phi / counts[inverse]).mean())

    def best(self, rated: dict[tuple[int, ...], float], floor: float) -> tuple[int, ...]:
        """Least risk within the floor; ties by utility, then by the levels."""
        least = min(risk for levels, risk in rated.items() if self.utility(levels) >= floor)
        tied = [v for v, risk in rated.items() if self.utility(v) >= floor and risk <= least + 1e-12]
        return min(tied, key=lambda levels: (-self.utility(levels), levels))

    def best_of_record(self, row: int, floor: float) -> tuple[tuple[int, ...], float]:
        """The optimal levels of one record against the whole table, and their loss."""
        same = [[codes == codes[row] for codes in columns] for columns in self.columns]
        rated = {}
        for levels in self.rules():
            if self.utility(levels) < floor:
                continue
            mask = same[0][levels[0]]
            for masks, level in zip(same[1:], levels[1:], strict=True):
                mask = mask & masks[level]
            phi = sum(weights[level][row] for weights, level in zip(self.weights, levels, strict=True))
            rated[levels] = phi / np.count_nonzero(mask)
        levels = self.best(rated, floor)
        return levels, rated[levels]
