"""X11: time of genetic search, with and without probing, against ARUBA (Fouad (2012), figure 4.13)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Floats
from app.domain.search.lattices.search import LatticeSolver
from app.domain.search.solvers import Aruba, Genetic
from app.domain.tables.numbers import tie_margin
from app.experiments.record_lattices import random_lattice
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import Searched, search

HEIGHT = 3
ATTRIBUTES = (3, 4, 5, 6, 7, 8)
COLUMNS = ("ARUBA", "genetic with probing", "genetic without")


@dataclass(frozen=True)
class Compared:
    """ARUBA, genetic search with and without probing on one lattice."""

    attributes: int
    floor: float
    searched: tuple[Searched, Searched, Searched]

    @property
    def seconds(self) -> tuple[float, ...]:
        """Processor seconds of the three, in their order."""
        return tuple(one.seconds for one in self.searched)

    @property
    def risks(self) -> tuple[int, ...]:
        """Risk evaluations."""
        return tuple(one.found.risk_evaluations for one in self.searched)

    @property
    def excess(self) -> tuple[float, ...]:
        """Risk over the least risk, as a share of that."""
        return tuple(one.risk / self.searched[0].risk - 1 for one in self.searched)


def run(effort: Effort) -> Report:
    """Random lattices of attributes of height 3, floor half of the most utility."""
    rows = [_compare(seed, k, effort) for k in ATTRIBUTES for seed in range(effort.seeds)]
    seconds, risks, excess = (
        np.array(
            [np.mean([getattr(row, name) for row in rows if row.attributes == k], axis=0) for k in ATTRIBUTES]
        )
        for name in ("seconds", "risks", "excess")
    )
    columns = (
        "attributes",
        *(f"{name}: seconds" for name in COLUMNS),
        *(f"{name}: risks" for name in COLUMNS),
        *(f"{name}: excess" for name in COLUMNS[1:]),
    )
    body = np.concatenate([seconds, risks, excess[:, 1:]], axis=1)
    return Report(
        id="X11",
        title="Time of genetic search against ARUBA as attributes are added",
        setting=f"random instances of attributes of height {HEIGHT}, {effort.entities} entities, means of "
        f"{effort.seeds} seeds; utility = sum of depths, floor half of the most; every risk is a scan of the "
        "dictionary",
        tables=(
            ResultTable.of("Time, risk evaluations, excess over the least risk", columns, ATTRIBUTES, body),
        ),
        pictures=(
            Picture(
                "x11-time",
                "Time by number of attributes",
                "Attributes",
                "Seconds",
                curves(COLUMNS, ATTRIBUTES, seconds),
            ),
        ),
        claims=_claims(rows, seconds, risks, excess),
    )


def _compare(seed: int, attributes: int, effort: Effort) -> Compared:
    lattice = random_lattice(
        (HEIGHT,) * attributes, effort.entities, np.random.default_rng([seed, attributes])
    )
    floor = float(HEIGHT * attributes // 2)
    solvers: tuple[LatticeSolver, ...] = (Aruba(), Genetic(seed), Genetic(seed, probing=False))
    aruba, probing, without = (search(lattice, floor, solver) for solver in solvers)
    return Compared(attributes, floor, (aruba, probing, without))


def _claims(rows: list[Compared], seconds: Floats, risks: Floats, excess: Floats) -> tuple[Claim, ...]:
    genetic = [(row, one) for row in rows for one in row.searched[1:]]
    ratios = seconds[:, 0] / np.maximum(seconds[:, 1], 1e-9)
    told = ", ".join(f"{k}: {ratio:.2g}" for k, ratio in zip(ATTRIBUTES, ratios, strict=True))
    return (
        exact(
            "Genetic search always returns a rule that keeps the utility, never below the least risk",
            all(
                one.found.utility >= row.floor and one.risk >= least - tie_margin(least)
                for row, one in genetic
                for least in (row.searched[0].risk,)
            ),
            f"{len(genetic)} searches, none of them said to be optimal",
        ),
        qualitative(
            "ARUBA's time over the genetic search's grows with the number of attributes",
            bool((np.diff(ratios) > 0).all()),
            f"by attributes {told}",
        ),
        qualitative(
            "Genetic search is the faster at the largest number of attributes",
            bool(ratios[-1] > 1),
            f"{seconds[-1, 1]:.3g} s against {seconds[-1, 0]:.3g} s",
        ),
        qualitative(
            "Probing helps a little: no more risk, and fewer risk evaluations",
            bool((excess[:, 1].mean() <= excess[:, 2].mean()) and (risks[-1, 1] < risks[-1, 2])),
            f"mean excess over the least risk {excess[:, 1].mean():.2%} with, {excess[:, 2].mean():.2%} "
            f"without; {risks[-1, 1]:.0f} and {risks[-1, 2]:.0f} evaluations at {ATTRIBUTES[-1]} attributes",
        ),
    )
