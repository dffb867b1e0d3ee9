"""BUREL and median cuts on half a million records of a surrogate census, beside row-wise versions of them.

Processor time, the least of five: the plan, the partition, its checks, its bound, and the rule's document.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
import pandas as pd

from app.domain.losses.loss import LossChoice
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.partitions.burel import bits_for, bucketise, class_sizes, grid
from app.domain.search.partitions.mondrian import Axis
from app.domain.search.partitions.plan import BurelPlan, MondrianPlan
from app.domain.search.solvers import Burel, Mondrian, Solver
from app.domain.tables.table import Table
from app.services.rules.rule_documents import rule_document
from tests.benchmarks.row import Report, Row, timed
from tests.oracles.burel_by_hand import position_of, within
from tests.surrogate_census import SIZES, surrogate

RECORDS: Final = 500_000
BARS: Final = {1: 3.5, 2: 2.5, 4: 1.2}
"""β → seconds of BUREL with three quasi-identifiers."""
MONDRIAN_SECONDS: Final = 1.5
TIMES: Final = 10
COMPARED: Final = 2
"""The β at which the row-wise versions are run."""


def rows(data: Path | None, report: Report) -> None:
    """All measurements."""
    three, five = surrogate(RECORDS), surrogate(RECORDS, tuple(SIZES))
    for beta, seconds in BARS.items():
        report(_whole("BUREL", three, beta, Burel(), seconds))
    report(_alone("BUREL", three, Burel(start="first"), "row-wise Python", row_wise))
    for beta in BARS:
        report(_whole("Mondrian", five, beta, Mondrian(), MONDRIAN_SECONDS))
    report(_alone("Mondrian", five, Mondrian(), "pandas, a group-by at each cut", by_recursion))


def _plan(table: Table, beta: float, solver: Solver) -> BurelPlan | MondrianPlan:
    problem = AnonymityProblem((BetaLikeness(beta),), loss=LossChoice("ail"), scope="record_level")
    plan = least_loss_plan(table, problem, solver=solver)
    assert isinstance(plan, BurelPlan | MondrianPlan)
    return plan


def _searched(table: Table, beta: float, solver: Solver) -> AnonymityOutcome:
    plan = _plan(table, beta, solver)
    outcome = plan.combine({0: plan.run_block(0, lambda _: None)})
    assert outcome.rule is not None
    rule_document(outcome.rule, table.attributes)
    return outcome


def _named(name: str, table: Table, beta: int) -> str:
    return f"{name}, {RECORDS:,} records × {len(table.quasi_identifiers)}, β = {beta}"


def _whole(name: str, table: Table, beta: int, solver: Solver, seconds: float) -> Row:
    ours = timed(partial(_searched, table, float(beta), solver), repeats=5)
    outcome = ours.answer
    return Row(
        _named(name, table, beta),
        f"{seconds} s",
        ours.least_cpu_seconds,
        peak_bytes=ours.peak_bytes,
        counters={"classes": outcome.classes or 0, "loss": round(outcome.loss or 0.0, 4)},
        bar_seconds=seconds,
    )


def _alone(
    name: str, table: Table, solver: Solver, how: str, by_hand: Callable[[Table, int], list[int]]
) -> Row:
    """The classes alone, without checks, bound and document, which the baseline does not have."""
    plan = _plan(table, float(COMPARED), solver)
    ours = timed(lambda: list(plan.partitions(lambda _: None)), repeats=5)
    baseline = timed(partial(by_hand, table, COMPARED), repeats=1, warm_up=0)
    ((of, *_),) = ours.answer
    pairs = np.unique(np.stack([of, baseline.answer]), axis=1).shape[1]
    return Row(
        f"{_named(name, table, COMPARED)}: the classes alone",
        f"{TIMES} × faster than the baseline",
        ours.least_cpu_seconds,
        baseline=how,
        baseline_seconds=baseline.cpu_seconds,
        same_result=bool(pairs == of.max() + 1 == max(baseline.answer) + 1),
    )


def row_wise(table: Table, beta: int) -> list[int]:
    """The classes of BUREL, every row handled on its own; buckets and sizes are no work of rows."""
    columns = [table.codes[:, j] for j in table.quasi_identifiers]
    axes = [
        Axis.of(table.hierarchies[j], own) for j, own in zip(table.quasi_identifiers, columns, strict=True)
    ]
    bits = bits_for(max(len(axis.places) for axis in axes))
    cells = np.stack([grid(axis.relative, bits)[axis.ranks] for axis in axes]).T.tolist()
    _, numbers, counts = np.unique(table.codes[:, -1], return_inverse=True, return_counts=True)
    buckets = bucketise(counts, Fraction(beta))
    leaves = class_sizes(buckets, Fraction(beta)).tolist()
    queues: list[list[tuple[int, int]]] = [[] for _ in buckets.sizes]
    for row, (cell, number) in enumerate(zip(cells, numbers.reshape(-1).tolist(), strict=True)):
        queues[buckets.of_value[number]].append((position_of(cell, bits), row))
    for queue in queues:
        queue.sort()
    after = [list(range(len(own) + 1)) for own in queues]
    before = [list(range(len(own) + 1)) for own in queues]
    found = [0] * len(table.codes)
    for number, leaf in enumerate(leaves):
        heads = [_find(after[b], 0) for b in range(len(queues))]
        seed = min(queues[b][heads[b]][0] for b, amount in enumerate(leaf) if amount)
        for b, amount in enumerate(leaf):
            queue, up, down = queues[b], after[b], before[b]
            at = _first_at_least(queue, seed)
            for _ in range(amount):
                right, left = _find(up, at), _find(down, at)
                is_right = left == 0 or (
                    right < len(queue) and queue[right][0] - seed < seed - queue[left - 1][0]
                )
                taken = right if is_right else left - 1
                found[queue[taken][1]] = number
                up[taken], down[taken + 1] = taken + 1, taken
    return found


def _find(parents: list[int], at: int) -> int:
    while parents[at] != at:
        parents[at] = parents[parents[at]]
        at = parents[at]
    return at


def _first_at_least(queue: list[tuple[int, int]], seed: int) -> int:
    low, high = 0, len(queue)
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if queue[middle][0] < seed else (low, middle)
    return low


def by_recursion(table: Table, beta: int) -> list[int]:
    """The classes of median cuts, by a data frame per class and a group-by per cut."""
    names = [table.attributes[j] for j in table.quasi_identifiers]
    axes = [Axis.of(table.hierarchies[j], table.codes[:, j]) for j in table.quasi_identifiers]
    frame = pd.DataFrame({n: axis.places[axis.ranks] for n, axis in zip(names, axes, strict=True)})
    frame["value"] = table.codes[:, -1]
    totals = frame["value"].value_counts().to_dict()
    limits = pd.Series({v: (p := n / len(frame)) * (1 + min(beta, -math.log(p))) for v, n in totals.items()})
    fits = within(Fraction(beta), len(frame))

    def ok(side: pd.Series[bool], own: pd.DataFrame) -> bool:
        counts = own.groupby([side, "value"]).size().unstack(fill_value=0)
        if len(counts) < 2:
            return False
        for _, half in counts.iterrows():
            n = int(half.sum())
            near = half[half > limits[half.index] * n * (1 - 1e-9)]
            if not all(fits(int(x), n, totals[value]) for value, x in near.items()):
                return False
        return True

    classes: list[pd.DataFrame] = []
    stack = [frame]
    while stack:
        own = stack.pop()
        widths = [
            (own[name].max() - own[name].min()) / axis.span for name, axis in zip(names, axes, strict=True)
        ]
        for k in sorted(range(len(names)), key=lambda k: (-widths[k], k)):
            column = own[names[k]]
            median = np.partition(column.to_numpy(), (len(own) - 1) // 2)[(len(own) - 1) // 2]
            is_right = column > median
            if not is_right.any():
                is_right = column >= median
            if widths[k] and ok(is_right.rename("side"), own):
                stack += [own[is_right], own[~is_right]]
                break
        else:
            classes.append(own)
    found = np.empty(len(frame), dtype=np.int64)
    for number, own in enumerate(classes):
        found[own.index] = number
    return found.tolist()
