"""X12: risk of genetic search against ARUBA and k-anonymity (Fouad (2012), figure 4.14)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats
from app.domain.risk.assessment import assess
from app.domain.rules.anonymous import random_anonymous_rule
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.problem import Problem
from app.domain.search.solvers import Aruba, Genetic, Solver
from app.domain.tables.numbers import highest_accepted, tie_margin
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import context_at, solve

K = (1, 2, 5, 10, 25)
RULES = 5
RECORDS = 60
POPULATION, GENERATIONS = 20, 20
PUBLISHED_EXCESS = 0.07
COLUMNS = ("k-anonymous", "genetic", "ARUBA")


@dataclass(frozen=True, eq=False)
class AtFloor:
    """Losses per record of the rules of genetic search and of ARUBA at one utility floor."""

    genetic: Floats
    aruba: Floats

    @property
    def risks(self) -> tuple[float, float]:
        """Mean losses: of genetic search, of ARUBA."""
        return float(self.genetic.mean()), float(self.aruba.mean())


def run(effort: Effort) -> Report:
    """All utility floors; and random k-anonymous rules, each beside what the searches find at its utility."""
    effort = replace(effort, records=min(effort.records, RECORDS))
    ks = tuple(k for k in K if k <= effort.records)
    by_floor: dict[int, list[AtFloor]] = {}
    risks = []
    for seed in range(effort.seeds):
        context = context_at(seed, effort)
        of_seed = [_at(context, float(floor), seed) for floor in range(1, sum(context.table.heights) + 1)]
        for floor, found in enumerate(of_seed, start=1):
            by_floor.setdefault(floor, []).append(found)
        risks.append([_compare(context, seed, k, of_seed) for k in ks])
    means = np.mean(risks, axis=(0, 2))
    rows = tuple(
        (floor, *np.mean([one.risks for one in found], axis=0).tolist(), _excess(found))
        for floor, found in by_floor.items()
    )
    columns = ("utility floor", *COLUMNS[1:], "greatest excess")
    of_floors = np.array([np.mean([one.risks for one in found], axis=0) for found in by_floor.values()])
    return Report(
        id="X12",
        title="Risk of genetic search against ARUBA and k-anonymity",
        setting=f"{RULES} random k-anonymous rules per k and seed, {effort.seeds} seeds, {effort.records} "
        f"records against {effort.entities} entities; population {POPULATION}, {GENERATIONS} generations; "
        "both searches keep the utility of every record",
        tables=(
            ResultTable("Mean risk by utility floor", columns, rows),
            ResultTable.of("Mean risk at equal utility", ("k", *COLUMNS), ks, means),
        ),
        pictures=(
            Picture(
                "x12-floor",
                "Risk by utility floor",
                "Utility floor",
                "Mean risk",
                curves(COLUMNS[1:], tuple(by_floor), of_floors),
            ),
            Picture("x12-k", "Risk at equal utility by k", "k", "Mean risk", curves(COLUMNS, ks, means)),
        ),
        claims=_claims([one for of_floor in by_floor.values() for one in of_floor], np.array(risks)),
    )


def _at(context: SearchContext, floor: float, seed: int) -> AtFloor:
    genetic = Genetic(seed, population=POPULATION, generations=GENERATIONS)
    return AtFloor(_losses(context, floor, genetic), _losses(context, floor, Aruba()))


def _compare(
    context: SearchContext, seed: int, k: int, by_floor: Sequence[AtFloor]
) -> list[tuple[float, ...]]:
    """Per rule its risk, and those of the searches at its utility."""
    found: list[tuple[float, ...]] = []
    for number in range(RULES):
        rule = random_anonymous_rule(context.table, k, np.random.default_rng([seed, k, number]))
        scored = assess(context.table, rule, context.dictionary, context.sensitivity, context.utility)
        # The trees are balanced: under a full-domain rule all records have one utility, a whole number.
        floor = round(scored.utility_min)
        found.append((scored.risk_average, *(by_floor[floor - 1].risks if floor else (0.0, 0.0))))
    return found


def _losses(context: SearchContext, floor: float, solver: Solver) -> npt.NDArray[np.float64]:
    found = solve(context, Problem(MinRisk(floor), "record_level"), solver).assessment
    if found is None:
        raise ValueError(f"the unmodified records have utility {floor}")
    return found.records.loss


def _claims(found: list[AtFloor], risks: Floats) -> tuple[Claim, ...]:
    margins = [tie_margin(float(one.aruba.max())) for one in found]
    excess = _excess(found)
    compared = risks.reshape(-1, len(COLUMNS))
    better = [row[1] <= highest_accepted(row[0]) for row in compared.tolist()]
    return (
        exact(
            "Genetic search is never below the optimum, for no single record",
            all(
                bool((one.genetic >= one.aruba - margin).all())
                for one, margin in zip(found, margins, strict=True)
            ),
            f"{sum(len(one.aruba) for one in found)} records",
        ),
        exact(
            "ARUBA, which is exact, is never above the k-anonymous rule of the same utility",
            all(row[2] <= highest_accepted(row[0]) for row in compared.tolist()),
            f"{len(compared)} rules",
        ),
        qualitative(
            f"Genetic search is at most {PUBLISHED_EXCESS:.0%} above ARUBA, in means over a table",
            excess <= PUBLISHED_EXCESS,
            f"greatest excess {excess:.2%} of {len(found)} tables",
        ),
        qualitative(
            "Genetic search is below k-anonymity",
            all(better),
            f"not above it for {sum(better)} of {len(better)} rules",
        ),
    )


def _excess(found: Sequence[AtFloor]) -> float:
    """Greatest excess of a table's mean risk over ARUBA's, as a share of that."""
    return max(one.risks[0] / one.risks[1] - 1 for one in found)
