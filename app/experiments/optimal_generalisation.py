"""X7: how far optimal rules generalise each attribute (Fouad (2012), figure 3.8)."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.rules.rule import RecordRule
from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import context_at, solve


def run(effort: Effort) -> Report:
    """Frequency of 0, 1, 2, … steps per attribute in the optimal record-level rules of every floor."""
    counts = sum((_counts(seed, effort) for seed in range(1, effort.seeds)), start=_counts(0, effort))
    floors, attributes, levels = counts.shape
    mean_steps: Floats = (counts * np.arange(levels)).sum(axis=2) / counts.sum(axis=2)
    overall = mean_steps.sum(axis=1)
    at_full = counts[-1]
    names = context_at(0, effort).table.attributes
    rows = tuple(
        (floor, names[j], *counts[floor, j].tolist()) for floor in range(floors) for j in range(attributes)
    )
    steps = tuple(f"{step} steps" for step in range(levels))
    return Report(
        id="X7",
        title="Generalisation steps in optimal rules",
        setting=f"{effort.records} records against {effort.entities} entities, {effort.seeds} seeds together",
        tables=(ResultTable("Records by number of steps", ("utility floor", "attribute", *steps), rows),),
        pictures=(
            Picture(
                "x7-steps",
                "Mean generalisation steps by utility floor",
                "Utility floor",
                "Mean steps",
                curves(names, range(floors), mean_steps),
            ),
        ),
        claims=(
            exact(
                "At the utility of the unmodified records nothing is generalised",
                bool((at_full[:, 1:] == 0).all()),
                f"{int(at_full[:, 0].sum())} cells as they are",
            ),
            qualitative(
                "The mean number of steps falls as the floor rises",
                bool((np.diff(overall) <= 1e-9).all()),
                " ".join(f"{value:.2f}" for value in overall),
            ),
        ),
    )


def _counts(seed: int, effort: Effort) -> Longs:
    """Records by floor, attribute and steps."""
    context = context_at(seed, effort)
    heights = context.table.heights
    counts = np.zeros((sum(heights) + 1, len(heights), max(heights) + 1), dtype=np.int64)
    for floor in range(len(counts)):
        rule = solve(context, Problem(MinRisk(float(floor)), "record_level")).rule
        if not isinstance(rule, RecordRule):
            raise ValueError("every floor up to the full utility can be met")
        for j in range(len(heights)):
            counts[floor, j] = np.bincount(rule.steps[:, j], minlength=counts.shape[2])
    return counts
