"""Homogeneous groups of all minimal k-anonymous tables of Adult, beside a group-by in pandas for every rule.

Processor time. pandas groups once per rule for all k, and knows the levels of every attribute beforehand.
"""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from app.domain.attacks.homogeneity_attack import homogeneous
from app.domain.models.k_anonymity import KAnonymity
from app.domain.tables.table import Table
from app.experiments.adult import SALARY, adult
from app.experiments.diversity_figures import KS, complete, minimal, near
from app.experiments.report import Effort
from tests.benchmarks.row import Report, Row, timed

SECONDS: Final = 20
TIMES: Final = 10
THETAS: Final = (1.0, 0.95)

Found = list[tuple[int, int, int, int]]
"""Per k and share of one value: minimal tables, how many have such groups, groups, and records in them."""


def rows(data: Path, report: Report) -> None:
    """Both experiments with reading and claims, and the groups alone."""
    effort = Effort(adult=data / "uci-adult-48842")
    whole = timed(lambda: [complete(effort), near(effort)])
    report(
        Row(
            "experiments L1 and L2 on Adult, its files read",
            f"{SECONDS} s",
            whole.cpu_seconds,
            peak_bytes=whole.peak_bytes,
            same_result=all(own.holds for own in whole.answer),
            bar_seconds=SECONDS,
        )
    )
    table = adult(effort, max(KS)).table(5, SALARY)
    ours = timed(lambda: _by_search(table), repeats=5)
    levels = [
        [tree.ancestors_at(level)[column] for level in range(tree.height + 1)]
        for tree, column in zip(table.hierarchies, table.codes.T, strict=True)
    ]
    baseline = timed(lambda: by_group_by(levels), repeats=1, warm_up=0)
    report(
        Row(
            f"homogeneous groups of all minimal k-anonymous tables of Adult, {len(KS)} values of k",
            f"{TIMES} × faster than the baseline",
            ours.cpu_seconds,
            baseline="pandas, a group-by per rule",
            baseline_seconds=baseline.cpu_seconds,
            peak_bytes=ours.peak_bytes,
            same_result=ours.answer == baseline.answer,
        )
    )


def _by_search(table: Table) -> Found:
    found = []
    for k in KS:
        judge, rules, _ = minimal(table, KAnonymity(k))
        judged = [judge.remaining(rule) for rule in rules]
        for theta in THETAS:
            groups = [own.records[homogeneous(own.counts(None), theta)] for own in judged]
            found.append(_row(groups))
    return found


def by_group_by(levels: list[list[np.ndarray]]) -> Found:
    """The same by counting every rule; ``levels`` are columns by attribute and level, the last one binary."""
    *known, (values, *_) = levels
    sizes, most = {}, {}
    for rule in itertools.product(*(range(len(own)) for own in known)):
        frame = pd.DataFrame({j: own[level] for j, (own, level) in enumerate(zip(known, rule, strict=True))})
        frame["value"] = values == values[0]
        counts = frame.groupby(list(range(len(known))), sort=False)["value"].agg(["size", "sum"])
        size, same = counts["size"].to_numpy(), counts["sum"].to_numpy()
        sizes[rule], most[rule] = size, np.maximum(same, size - same)
    found = []
    for k in KS:
        good = {rule for rule, own in sizes.items() if own.min() >= k}
        minimal_rules = [
            rule
            for rule in good
            if not good & {(*rule[:j], rule[j] - 1, *rule[j + 1 :]) for j in range(len(rule)) if rule[j]}
        ]
        for theta in THETAS:
            percent = round(100 * theta)
            groups = [sizes[rule][100 * most[rule] >= percent * sizes[rule]] for rule in minimal_rules]
            found.append(_row(groups))
    return found


def _row(groups: list[np.ndarray]) -> tuple[int, int, int, int]:
    return (
        len(groups),
        sum(len(own) > 0 for own in groups),
        sum(map(len, groups)),
        sum(int(own.sum()) for own in groups),
    )
