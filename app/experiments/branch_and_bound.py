"""X6: branch and bound against enumeration (Fouad (2012), figure 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from app.domain.search.budget import Budget
from app.domain.search.objectives import MinRisk
from app.domain.search.outcome import Outcome
from app.domain.search.problem import Problem
from app.domain.search.solvers import BranchAndBound, Enumeration
from app.experiments.case_study import context_of_members
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import context_at, score, solve

BUDGET_SHARE = 0.1
SAMPLED = 1_000  # members of the case study: branch and bound takes milliseconds for each
SOLVERS = ("enumeration", "branch and bound", "truncated")


@dataclass(frozen=True, eq=False)
class Compared:
    """Outcomes of enumeration, branch and bound, and branch and bound cut short, at one utility floor."""

    floor: float
    outcomes: tuple[Outcome, Outcome, Outcome]
    standard_error: float
    """Of the least mean risk, where records are drawn of the case study."""

    @property
    def risks(self) -> tuple[float, ...]:
        """Risk of each outcome's rule."""
        return tuple(_risk(outcome) for outcome in self.outcomes)

    @property
    def evaluations(self) -> tuple[int, ...]:
        """Risk evaluations of each."""
        return tuple(outcome.counters.risk_evaluations for outcome in self.outcomes)


def run(effort: Effort) -> Report:
    """Exact, truncated and exhaustive search of record-level rules at every utility floor."""
    rows = [row for seed in range(effort.seeds) for row in _compare(seed, effort)]
    worked, full = sum(row.evaluations[1] for row in rows), sum(row.evaluations[0] for row in rows)
    columns = ("utility floor", *(f"{n}: risk" for n in SOLVERS), *(f"{n}: evaluations" for n in SOLVERS))
    by_floor = _by_floor(rows)
    body = tuple((floor, *risks, *evaluations) for floor, risks, evaluations in by_floor)
    floors, _, of_floors = zip(*by_floor, strict=True)
    series = curves(SOLVERS, floors, np.array(of_floors))
    title, sampling = "Risk evaluations by utility floor", ""
    if effort.case_study:
        off = max(row.standard_error / row.risks[0] for row in rows if row.risks[0] > 0)
        sampling = (
            f"; of these records {SAMPLED:,} are drawn at random, with replacement: as an estimate for all "
            f"of them the least mean risk has a standard error of at most {off:.1%}"
        )
    return Report(
        id="X6",
        title="Branch and bound against enumeration",
        setting=f"record-level rules on {effort.records} records against {effort.entities} entities, "
        f"{effort.seeds} seeds; truncated to {BUDGET_SHARE:.0%} of the lattice{sampling}",
        tables=(ResultTable("Risk and risk evaluations", columns, body),),
        pictures=(Picture("x6-evaluations", title, "Utility floor", "Risk evaluations", series),),
        claims=(
            exact(
                "Run to its end it finds the exhaustive optimum",
                all(abs(row.risks[0] - row.risks[1]) <= 1e-9 for row in rows),
                f"{len(rows)} problems",
            ),
            exact(
                "Truncated it is never better than the optimum, and its bound never above it",
                all(_is_bounded(row) for row in rows),
                f"greatest excess {max(row.risks[2] - row.risks[0] for row in rows):.3g}",
            ),
            qualitative(
                "It evaluates fewer risks",
                worked < full,
                f"{worked} of {full} ({worked / full:.1%})",
            ),
        ),
    )


def _compare(seed: int, effort: Effort) -> list[Compared]:
    context = context_at(seed, effort)
    if effort.case_study:
        drawn = np.random.default_rng(seed).integers(effort.records, size=SAMPLED)
        sampled = replace(context.table, codes=context.table.codes[drawn])
        context = context_of_members(sampled, context.dictionary)
    rows = []
    for floor in range(1, sum(context.table.heights) + 1):
        problem = Problem(MinRisk(float(floor)), "record_level")
        everything = solve(context, problem, Enumeration())
        budget = max(1, round(BUDGET_SHARE * everything.counters.visited_nodes))
        exact = solve(context, problem, BranchAndBound())
        cut = solve(context, problem, BranchAndBound(), Budget(budget))
        assert everything.rule is not None  # noqa: S101 - every floor up to the full utility can be met
        loss = score(context.table, everything.rule, context.dictionary, context.sensitivity).records.loss
        error = float(loss.std(ddof=1) / np.sqrt(len(loss)))
        rows.append(Compared(float(floor), (everything, exact, cut), error))
    return rows


def _is_bounded(row: Compared) -> bool:
    best, _, cut = row.risks
    bounds = row.outcomes[2].bounds
    return cut >= best - 1e-9 and bounds is not None and bounds.lower <= best + 1e-9


def _risk(outcome: Outcome) -> float:
    if outcome.risk is None:
        raise ValueError("every floor up to the full utility can be met")
    return outcome.risk


def _by_floor(rows: Sequence[Compared]) -> list[tuple[float, list[float], list[float]]]:
    """Floor, mean risks and mean risk evaluations of the solvers."""
    found = []
    for floor in sorted({row.floor for row in rows}):
        chosen = [row for row in rows if row.floor == floor]
        risks = np.mean([row.risks for row in chosen], axis=0).tolist()
        found.append((floor, risks, np.mean([row.evaluations for row in chosen], axis=0).tolist()))
    return found
