"""X13: the aggregate objective against the least risk at the same utility (Fouad (2012), figure 5.1)."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats
from app.domain.risk.assessment import Assessment
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.aggregate.objective import BoxObjective, maximise_aggregate
from app.domain.search.aggregate.submodular import ClosureMaximiser
from app.domain.search.objectives import AggregateObjective, MinRisk
from app.domain.search.problem import Problem
from app.domain.search.record_risk import outer_sum, threshold_histogram
from app.domain.search.solvers import Aruba, BranchAndBound
from app.domain.tables.numbers import highest_accepted
from app.experiments.record_lattices import random_lattice
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import context_at, search, solve

TRADE_OFFS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
COMPARABLE = 2.0
HEIGHT = 3
ATTRIBUTES = (3, 4, 5, 6, 7)
TRADE_OFF_OF_TIMES = 1e-3
TIMED = ("aggregate", "ARUBA", "branch and bound", "ARUBA, half", "branch and bound, half")
RULES = ("aggregate", "least at its mean utility", "least with it as floor")
RISKS = ("average", "highest", "lowest")


@dataclass(frozen=True)
class AtTradeOff:
    """What the aggregate objective chooses for a table, and the least risk at the utility it chooses.

    ``together`` keeps the mean utility, ``alone`` that mean as a floor for every record.
    """

    trade_off: float
    aggregate: Assessment
    together: Assessment
    alone: Assessment

    @property
    def row(self) -> tuple[float, ...]:
        """Utility; average, highest and lowest loss of the three."""
        found = [self.aggregate.utility_average]
        for one in (self.aggregate, self.together, self.alone):
            found += [one.risk_average, one.risk_max, float(one.records.loss.min())]
        return tuple(found)


@dataclass(frozen=True)
class Timed:
    """Seconds of the aggregate and of threshold searches on one lattice; whether f is the greatest."""

    attributes: int
    seconds: tuple[float, ...]
    is_greatest: bool


def run(effort: Effort) -> Report:
    """Risks on the synthetic data by λ, times on random lattices by number of attributes."""
    risks = [_at(seed, trade_off, effort) for trade_off in TRADE_OFFS for seed in range(effort.seeds)]
    times = [_timed(seed, k, effort) for k in ATTRIBUTES for seed in range(effort.seeds)]
    means = np.array([np.mean([one.row for one in risks if one.trade_off == t], axis=0) for t in TRADE_OFFS])
    seconds = np.array([np.mean([o.seconds for o in times if o.attributes == k], axis=0) for k in ATTRIBUTES])
    by_utility = curves(RULES, means[:, 0], means[:, [1, 4, 7]], "points")
    by_attributes = curves(TIMED, ATTRIBUTES, seconds)
    return Report(
        id="X13",
        title="The aggregate objective against the least risk at its utility",
        setting=f"risks: {effort.records} records against {effort.entities} entities, κ = 1; times: one "
        f"record, attributes of height {HEIGHT}, λ = {TRADE_OFF_OF_TIMES:g}, minimum cuts; threshold searches"
        f" at the aggregate's utility and at half of the most; means of {effort.seeds} seeds",
        tables=(
            ResultTable.of(
                "Losses of records",
                ("λ", "mean utility", *(f"{rule}: {risk}" for rule in RULES for risk in RISKS)),
                TRADE_OFFS,
                means,
            ),
            ResultTable.of("Seconds by number of attributes", ("attributes", *TIMED), ATTRIBUTES, seconds),
        ),
        pictures=(
            Picture("x13-risk", "Risk at the aggregate's utility", "Mean utility", "Mean risk", by_utility),
            Picture("x13-time", "Time by number of attributes", "Attributes", "Seconds", by_attributes),
        ),
        claims=_claims(risks, times, means, seconds),
    )


def _at(seed: int, trade_off: float, effort: Effort) -> AtTradeOff:
    context = context_at(seed, effort)

    def found(problem: Problem) -> Assessment:
        assessment = solve(context, problem).assessment
        if assessment is None:
            raise ValueError("the utility that was chosen can be kept")
        return assessment

    chosen = found(Problem(AggregateObjective(trade_off=trade_off), "record_level"))
    floor = chosen.utility_average
    together = found(Problem(MinRisk(floor), "record_level", constraint="average"))
    return AtTradeOff(trade_off, chosen, together, found(Problem(MinRisk(floor), "record_level")))


def _timed(seed: int, attributes: int, effort: Effort) -> Timed:
    lattice = random_lattice(
        (HEIGHT,) * attributes, effort.entities, np.random.default_rng([seed, attributes])
    )
    record = ChainRecord.of(
        [np.array(chain) for chain in lattice.utilities],
        [np.array(chain) for chain in lattice.weights],
        lattice.thresholds,
    )
    start = time.process_time()
    objective = AggregateObjective(trade_off=TRADE_OFF_OF_TIMES)
    found = maximise_aggregate(record, objective, ClosureMaximiser)
    seconds = [time.process_time() - start]
    if found.levels is None:
        raise ValueError("random weights are finite")
    for floor in (record.utility(found.levels), float(HEIGHT * attributes // 2)):
        seconds += [search(lattice, floor, solver).seconds for solver in (Aruba(), BranchAndBound())]
    counts = threshold_histogram(lattice.thresholds, lattice.heights)
    harm = outer_sum([np.array(chain) for chain in lattice.weights])
    utility = outer_sum([np.array(chain) for chain in lattice.utilities])
    admitted = harm > 0
    greatest = float((TRADE_OFF_OF_TIMES * counts[admitted] / harm[admitted] + utility[admitted]).max())
    value = BoxObjective(record, TRADE_OFF_OF_TIMES, 1).value(found.levels)
    return Timed(attributes, tuple(seconds), abs(value - greatest) <= 1e-9 * greatest)


def _claims(risks: list[AtTradeOff], times: list[Timed], means: Floats, seconds: Floats) -> tuple[Claim, ...]:
    at_stake = means[:, 4] > 0
    ratios = means[at_stake, 1] / means[at_stake, 4]
    growth = (seconds[-1] / np.maximum(seconds[0], 1e-9)) ** (1 / (ATTRIBUTES[-1] - ATTRIBUTES[0]))
    return (
        exact(
            "The least mean risk at the aggregate's mean utility is never above the aggregate's",
            all(o.together.risk_average <= highest_accepted(o.aggregate.risk_average) for o in risks),
            f"{len(risks)} tables",
        ),
        exact(
            "The minimum cut finds the greatest aggregate objective of all nodes",
            all(one.is_greatest for one in times),
            f"{len(times)} lattices, the largest of {(HEIGHT + 1) ** ATTRIBUTES[-1]} nodes",
        ),
        qualitative(
            f"The risks are comparable, within a factor of {COMPARABLE:g} (Definitions: comparable risks)",
            bool((ratios <= COMPARABLE).all()),
            "aggregate / least risk at its mean utility, by λ: " + " ".join(f"{r:.3g}" for r in ratios),
        ),
        qualitative(
            "With the attributes its time grows more slowly than ARUBA's at half of the most utility",
            bool(growth[0] < growth[3]),
            "factor per attribute: "
            + ", ".join(f"{name} {factor:.2g}" for name, factor in zip(TIMED, growth, strict=True)),
        ),
        qualitative(
            "It is much faster than the threshold searches at the utility that it leads to",
            bool((seconds[-1, 0] < seconds[-1, 1:3] / 2).all()),
            f"{ATTRIBUTES[-1]} attributes: "
            + ", ".join(f"{name} {s:.3g} s" for name, s in zip(TIMED, seconds[-1], strict=True)),
        ),
    )
