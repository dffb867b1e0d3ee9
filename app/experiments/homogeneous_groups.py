"""L1 and L2: homogeneous groups of k-anonymous tables (Machanavajjhala (2008), tables 3.9 and 3.11)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Levels
from app.domain.attacks.homogeneity_attack import homogeneous
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.table import Table
from app.experiments.adult import SALARY, adult
from app.experiments.minimal_tables import MinimalTables
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative

N_ATTRIBUTES: Final = 5
KS: Final = (2, 5, 10, 15, 20, 30, 50)
LARGE: Final = 0.1
"""Share of the records that is taken for a large one."""
COLUMNS: Final = ("k", "minimal tables", "affected", "groups per table", "records in them per table")
Baseline = Mapping[int, tuple[int, int, float, float]]
COMPLETE: Final[Baseline] = {
    2: (10, 9, 5.1, 158.4), 5: (10, 9, 2.5, 91.1), 10: (8, 6, 1.25, 73.5), 15: (7, 4, 0.857, 62.71),
    20: (7, 4, 0.857, 62.71), 30: (8, 2, 0.25, 28.88), 50: (8, 1, 0.125, 9.62),
}  # fmt: skip
NEAR: Final[Baseline] = {
    2: (10, 10, 12.2, 8658.4), 5: (10, 10, 8.0, 7587.3), 10: (8, 8, 6.375, 8919.88),
    15: (7, 7, 5.429, 9540.29), 20: (7, 7, 5.429, 9540.29), 30: (8, 7, 2.375, 7124.5),
    50: (8, 6, 1.875, 4494.88),
}  # fmt: skip
"""What the published table with our hierarchies has, by k: the columns after it, rounded."""


@dataclass(frozen=True, eq=False)
class Found:
    """Of a k the minimal rules, whether they are minimal, and (rules,) what is homogeneous to 100 or 95 %."""

    k: int
    rules: tuple[Levels, ...]
    are_minimal: bool
    groups: Mapping[float, Floats]
    records: Mapping[float, Floats]

    def row(self, theta: float) -> tuple[int, int, int, float, float]:
        """A row of the published table, its means over all minimal rules."""
        groups, records = self.groups[theta], self.records[theta]
        affected = int(np.count_nonzero(groups))
        return self.k, len(self.rules), affected, float(groups.mean()), float(records.mean())


def homogeneity(table: Table, k: int) -> Found:
    """The homogeneous groups of all minimal k-anonymous tables."""
    found = MinimalTables.of(table, KAnonymity(k))
    groups: dict[float, Floats] = {}
    records: dict[float, Floats] = {}
    judged = [found.judge.remaining(rule) for rule in found.rules]
    for theta in (1.0, 0.95):
        masks = [homogeneous(own.counts(None), theta) for own in judged]
        groups[theta] = np.array([float(mask.sum()) for mask in masks])
        sizes = [own.records[mask].sum() for own, mask in zip(judged, masks, strict=True)]
        records[theta] = np.array(sizes, dtype=np.float64)
    are = all(int(own.records.min()) >= k for own in judged)
    below = {(*v[:j], v[j] - 1, *v[j + 1 :]) for v in found.rules for j in range(len(v)) if v[j]}
    return Found(k, found.rules, are and not any(_is_anonymous(found.judge, v) for v in below), groups, records)


def _is_anonymous(judge: Judge, levels: Levels) -> bool:
    return judge.judge(levels).allowed


def complete(effort: Effort) -> Report:
    """L1: groups with a single value."""
    return _report("L1", "All records of a group have one salary class", "table 3.9", 1.0, COMPLETE, effort)


def near(effort: Effort) -> Report:
    """L2: groups in which one value has 95 % or more."""
    title = "Nearly all records of a group have one salary class"
    return _report("L2", title, "table 3.11", 0.95, NEAR, effort)


def _report(name: str, title: str, item: str, theta: float, baseline: Baseline, effort: Effort) -> Report:
    data = adult(effort, max(KS))
    table = data.table(N_ATTRIBUTES, SALARY)
    found = [homogeneity(table, k) for k in KS]
    rows = tuple(own.row(theta) for own in found)
    shares = [row[-1] / data.n_records for row in rows]
    shown = " ".join(f"{share:.2%}" for share in shares)
    claims = [
        exact(
            "The tables are k-anonymous, and none is one level below any",
            all(own.are_minimal for own in found),
            f"{sum(len(own.rules) for own in found)} rules for {len(KS)} values of k",
        ),
        exact(
            "Groups with a single value are among those with nearly one",
            all((own.groups[1.0] <= own.groups[0.95]).all() for own in found)
            and all((own.records[1.0] <= own.records[0.95]).all() for own in found),
            f"by groups and by records of each table, for k of {KS[0]} to {KS[-1]}",
        ),
        qualitative(
            "Most minimal k-anonymous tables have such groups, for every k",
            all(2 * row[2] > row[1] for row in rows),
            ", ".join(f"{row[2]} of {row[1]}" for row in rows),
        ),
        qualitative(
            f"They have a large share of the records, {LARGE:.0%} or more in the mean, for every k",
            min(shares) >= LARGE,
            f"{shown} of the records",
        ),
    ]
    if data.is_published:
        same = [(row[1], row[2], round(row[3], 3), round(row[4], 2)) == baseline[row[0]] for row in rows]
        text = "The published table with our hierarchies has the numbers of the baseline"
        claims.append(exact(text, all(same), f"{sum(same)} of {len(same)} rows"))
    arrays = np.array([row[1:] for row in rows], dtype=np.float64)
    return Report(
        name,
        title,
        f"Machanavajjhala (2008), {item}",
        f"{data.name}; {', '.join(table.attributes[:-1])}; means over all minimal tables",
        (ResultTable(f"Groups in which one value has {theta:.0%} or more", COLUMNS, rows),),
        (
            Picture(
                f"{name.lower()}-tables",
                "Minimal k-anonymous tables",
                "k",
                "tables",
                curves(("minimal", "with homogeneous groups"), KS, arrays[:, :2]),
            ),
            Picture(
                f"{name.lower()}-records",
                "Records in homogeneous groups",
                "k",
                "mean number of records",
                curves(("records",), KS, arrays[:, 3:]),
            ),
        ),
        tuple(claims),
    )
