"""The releases that the tools are compared on: as tables of the product, and as files for the others."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from app.domain.arrays import Ints
from app.domain.classes.grouping import Grouping
from app.domain.classes.released import Release
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.rules.rule import CellRule, Rule, TableRule, apply
from app.domain.tables.table import Table

ADULT = "adult.csv"


@dataclass(frozen=True, eq=False)
class Compared:
    """A release, and the file that holds it as a reader gets it.

    ``numeric`` are the columns that other tools read as numbers; suppressed records show ``*``.
    """

    name: str
    table: Table
    rule: Rule
    csv: Path
    numeric: tuple[str, ...] = ()

    @property
    def quasi(self) -> list[str]:
        return [self.table.attributes[j] for j in self.table.quasi_identifiers]

    @property
    def sensitive(self) -> list[str]:
        return [name for name in self.table.attributes if name in self.table.sensitive]


def flat(values: Sequence[str], *, numeric: bool = False) -> Hierarchy:
    """The values under ⊥, numbers in their order."""
    ordered = sorted(set(values) - {""}, key=float if numeric else str)
    return Hierarchy(("*", *ordered), ((), *((TOP,),) * len(ordered)))


def compared(
    folder: Path,
    name: str,
    table: Table,
    rule: Rule | None = None,
    suppressed: Sequence[int] = (),
    numeric: tuple[str, ...] = (),
) -> Compared:
    """Write a release; an original cell that is missing is written empty, a suppressed record as ``*``."""
    used = rule or TableRule((0,) * table.n_attributes)
    codes = apply(used, table)
    gone = np.zeros(table.n_records, dtype=bool)
    gone[list(suppressed)] = True
    path = folder / (name.replace(" ", "-").replace(",", "") + ".csv")
    columns = []
    for j, (attribute, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        shown = [hierarchy.labels[node] for node in codes[:, j].tolist()]
        missing = (table.codes[:, j] == TOP).tolist()
        starred = (gone if attribute not in table.sensitive else np.zeros_like(gone)).tolist()
        columns.append(
            [
                "" if lacks else "*" if star else s
                for s, lacks, star in zip(shown, missing, starred, strict=True)
            ]
        )
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([table.attributes, *zip(*columns, strict=True)])
    return Compared(name, table, with_suppressed(table, codes, gone) if gone.any() else used, path, numeric)


def with_suppressed(table: Table, codes: Ints, gone: np.ndarray) -> CellRule:
    """A rule that shows the codes, and of some records (n,) no quasi-identifier."""
    shown = codes.copy()
    for j in table.quasi_identifiers:
        shown[gone, j] = TOP
    return CellRule(shown)


def of_rows(
    names: Sequence[str], rows: Sequence[Sequence[str]], sensitive: str, numeric: bool = False
) -> Table:
    """A table with flat hierarchies; the empty text is missing."""
    columns = list(zip(*rows, strict=True))
    trees = [
        flat(own, numeric=numeric and name == sensitive) for name, own in zip(names, columns, strict=True)
    ]
    codes = [
        tree.encode([None if v == "" else v for v in own])[0]
        for tree, own in zip(trees, columns, strict=True)
    ]
    return Table(tuple(names), tuple(trees), np.stack(codes, axis=1), sensitive=frozenset({sensitive}))


def adult(data: Path, sensitive: str) -> Table:
    """The Adult table with its hierarchies."""
    folder = data / "arx-adult"
    names, *rows = _lines(folder / ADULT)
    trees = [Hierarchy.from_rows(_lines(folder / f"adult_hierarchy_{name}.csv")) for name in names]
    codes = [tree.encode([row[j] for row in rows])[0] for j, tree in enumerate(trees)]
    return Table(tuple(names), tuple(trees), np.stack(codes, axis=1), sensitive=frozenset({sensitive}))


def _lines(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.reader(file, delimiter=";"))


def hours_of_work(data: Path) -> Table:
    """Hours of work in the larger Adult table, without records that lack a work class."""
    names = ("workclass", "race", "sex", "hours-per-week")
    rows: list[list[str]] = []
    for file in ("adult.data", "adult.test"):
        with (data / "uci-adult-48842" / file).open(encoding="utf-8") as lines:
            header, *body = csv.reader(lines, skipinitialspace=True)
            rows += [[row[header.index(name)] for name in names] for row in body if row]
    return of_rows(names, [row for row in rows if "?" not in row], "hours-per-week", numeric=True)


def census_sample(data: Path, known: tuple[str, ...]) -> Table:
    """People of whom what is known may be missing, but not the education."""
    names = (*known, "educ")
    with (data / "pums-sample" / "PUMS_null.csv").open(encoding="utf-8") as lines:
        rows = [tuple(row[name] for name in names) for row in csv.DictReader(lines)]
    return of_rows(names, [row for row in rows if row[-1]], "educ")


def below(table: Table, rule: TableRule, k: int, values: int = 1) -> list[int]:
    """Rows, from 0, of classes of fewer than k records or fewer than so many sensitive values."""
    release = Release(table, rule)
    classes, counts = release.classes(Grouping()), release.counts(Grouping())
    failing = (classes.records < k) | (counts.distinct < values)
    return np.flatnonzero(failing[classes.of_record]).tolist()


def without(table: Table, rows: Sequence[int]) -> Table:
    """The table without some of its rows."""
    kept = np.ones(table.n_records, dtype=bool)
    kept[list(rows)] = False
    return Table(table.attributes, table.hierarchies, table.codes[kept], sensitive=table.sensitive)
