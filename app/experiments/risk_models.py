"""X10: ARUBA, branch and bound and k-anonymity under the three risk models (Fouad (2012), figure 4.12)."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from app.domain.arrays import Floats
from app.domain.errors import NotSupported
from app.domain.risk.assessment import assess
from app.domain.risk.models import ModelName, RiskModel
from app.domain.rules.anonymous import random_anonymous_rule
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MinRisk
from app.domain.search.plans import plan
from app.domain.search.problem import Problem
from app.domain.search.solvers import Aruba, BranchAndBound, Enumeration, Solver
from app.domain.tables.numbers import highest_accepted
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import agree, context_at, solve

K = (1, 2, 5, 10, 25, 50, 100)
RULES = 10

MODELS: tuple[ModelName, ...] = ("I", "II", "III")
TRUNCATED_TO = 0.02
COLUMNS = ("k-anonymous", "enumeration", "ARUBA", "branch and bound", "branch and bound cut short")


@dataclass(frozen=True, eq=False)
class UnderModel:
    """One risk model: mean risks (k, column) of each seed, and the optima (floors, columns but the first)."""

    model: ModelName
    risks: tuple[Floats, ...]
    never_worse: bool
    optima: tuple[tuple[float, ...], ...]

    @property
    def mean(self) -> Floats:
        """The risks (k, column), means over the seeds."""
        mean: Floats = np.mean(self.risks, axis=0)
        return mean

    @property
    def gaps(self) -> Floats:
        """How far k-anonymous rules are above the least risk, by k."""
        return self.mean[:, 0] - self.mean[:, 1]


def run(effort: Effort) -> Report:
    """Ten random k-anonymous rules per k and seed, each beside the best rules of its utility."""
    ks = tuple(k for k in K if k <= effort.records)
    found = [_under(model, effort, ks) for model in MODELS]
    return Report(
        id="X10",
        title="ARUBA, branch and bound and k-anonymity under three risk models",
        setting=f"{RULES} random k-anonymous rules per k and seed, {effort.seeds} seeds, {effort.records} "
        f"records against {effort.entities} entities; the others keep every record's utility; cut short: to "
        f"{TRUNCATED_TO:.0%} of the lattice",
        tables=tuple(
            ResultTable.of(f"Mean risk, model {one.model}", ("k", *COLUMNS), ks, one.mean) for one in found
        ),
        pictures=tuple(
            Picture(
                f"x10-model-{one.model.lower()}",
                f"Risk at equal utility by k, model {one.model}",
                "k",
                "Mean risk",
                curves(COLUMNS, ks, one.mean),
            )
            for one in found
        ),
        claims=(*(_claim_of_least(one) for one in found), *_claims(found, effort)),
    )


def _under(model: ModelName, effort: Effort, ks: tuple[int, ...]) -> UnderModel:
    risks: list[Floats] = []
    optima: list[tuple[float, ...]] = []
    never_worse = True
    for seed in range(effort.seeds):
        context = _context(seed, effort, model)
        by_floor: dict[float, tuple[float, ...]] = {}
        of_seed = []
        for k in ks:
            drawn = [_compare(context, [seed, k, number], k, by_floor) for number in range(RULES)]
            never_worse &= all(row[1] <= highest_accepted(row[0]) for row in drawn)
            of_seed.append(np.mean(drawn, axis=0))
        risks.append(np.array(of_seed))
        optima += by_floor.values()
    return UnderModel(model, tuple(risks), never_worse, tuple(optima))


def _context(seed: int, effort: Effort, model: ModelName) -> SearchContext:
    return replace(context_at(seed, effort), model=RiskModel(model))


def _compare(
    context: SearchContext, seed: list[int], k: int, by_floor: dict[float, tuple[float, ...]]
) -> tuple[float, ...]:
    """Risks of one k-anonymous rule and of the best rules of its utility, those found once per utility."""
    rule = random_anonymous_rule(context.table, k, np.random.default_rng(seed))
    scored = assess(
        context.table, rule, context.dictionary, context.sensitivity, context.utility, model=context.model
    )
    # The trees are balanced: under a full-domain rule all records have one utility.
    floor = scored.utility_min
    if floor not in by_floor:
        problem = Problem(MinRisk(floor), "record_level")
        nodes = context.table.n_records * int(np.prod([height + 1 for height in context.table.heights]))
        cut = Budget(max_nodes=max(1, round(TRUNCATED_TO * nodes)))
        searches: tuple[tuple[Solver, Budget], ...] = (
            (Enumeration(), UNLIMITED),
            (Aruba(), UNLIMITED),
            (BranchAndBound(), UNLIMITED),
            (BranchAndBound(), cut),
        )
        found = []
        for solver, budget in searches:
            risk = solve(context, problem, solver, budget).risk
            if risk is None:
                raise ValueError(f"the unmodified records have utility {floor}")
            found.append(risk)
        by_floor[floor] = tuple(found)
    return (scored.risk_average, *by_floor[floor])


def _claim_of_least(found: UnderModel) -> Claim:
    ratios = [f"{row[0] / row[1]:.3g}" for row in found.mean if row[1] > 0]
    return exact(
        f"Model {found.model}: at equal utility the least risk is never above that of the k-anonymous rule",
        found.never_worse,
        f"risk / least risk by k: {' '.join(ratios)}",
    )


def _claims(found: list[UnderModel], effort: Effort) -> tuple[Claim, ...]:
    optima = [row for one in found for row in one.optima]
    excess = max(row[3] / row[0] - 1 for row in optima if row[0] > 0)
    refused = [_refuses_raw(effort, solver) for solver in (Aruba(), BranchAndBound())]
    return (
        exact(
            "ARUBA, branch and bound run to its end, and enumeration find the same least risk",
            all(agree(row[:3]) for row in optima),
            f"{len(optima)} problems",
        ),
        exact(
            "Branch and bound cut short is never better: so it can have the higher risk published",
            all(highest_accepted(row[3]) >= row[0] for row in optima),
            f"greatest excess {excess:.1%}",
        ),
        exact(
            "The third model as printed, III_raw, is refused: it calls the riskiest release the best",
            all(refused),
            "by ARUBA and by branch and bound",
        ),
        qualitative(
            "The gap to k-anonymity grows with k (not in general; Definitions: gap to k-anonymity)",
            all((np.diff(one.gaps) >= 0).all() for one in found),
            "; ".join(f"{one.model}: " + " ".join(f"{gap:.3g}" for gap in one.gaps) for one in found),
        ),
    )


def _refuses_raw(effort: Effort, solver: Solver) -> bool:
    try:
        plan(_context(0, effort, "III_raw"), Problem(MinRisk(1.0), "record_level"), solver)
    except NotSupported:
        return True
    return False
