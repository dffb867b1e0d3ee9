"""X8: the share of frontier nodes, top-down search and ARUBA (Fouad (2012), figure 4.11a, b)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from app.domain.search.lattices.search import LatticeSolver
from app.domain.search.solvers import Aruba, TopDown
from app.experiments.record_lattices import frontier_size, lattice_of
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.solving import Searched, agree, never_falls, search
from app.experiments.synthetic import generate

BRANCHING = ((6,), (2, 3), (3, 2, 2), (2, 2, 2, 2), (2, 2, 2, 2, 2), (2, 2), (4,))
HEIGHTS = tuple(len(factors) for factors in BRANCHING)
FLOORS = (2, 5, 8, 9, 11, 14, 17)
SMALL, LARGE = FLOORS[:2], FLOORS[-3:]
PUBLISHED = (3,) * 70
SOLVERS: dict[str, LatticeSolver] = {"top-down": TopDown(), "ARUBA": Aruba()}


@dataclass(frozen=True)
class AtFloor:
    """One lattice at one floor: top-down search and ARUBA."""

    floor: int
    searched: tuple[Searched, ...]

    def mean_of(self, solver: str) -> tuple[float, ...]:
        """Nodes visited, risks and utilities evaluated until the value was known, seconds."""
        one = self.searched[list(SOLVERS).index(solver)]
        found = one.found
        return (found.value_nodes, found.value_risks, found.value_utilities, one.seconds)


def run(effort: Effort) -> Report:
    """One record per seed, seven attributes of heights 1 to 5."""
    found = [row for seed in range(effort.seeds) for row in _searched(seed, effort)]
    shares = [frontier_size(HEIGHTS, floor) / _nodes(HEIGHTS) for floor in range(1, sum(HEIGHTS) + 1)]
    percent = curves(("share",), range(1, len(shares) + 1), 100 * np.array(shares)[:, None])
    seconds = np.array([[_seconds(solver, found, (floor,)) for solver in SOLVERS] for floor in FLOORS])
    times = curves(tuple(SOLVERS), FLOORS, seconds)
    return Report(
        id="X8",
        title="Share of frontier nodes, and the work of top-down search and ARUBA",
        setting=f"one record per seed, {effort.seeds} seeds, {effort.entities} entities, heights "
        f"{', '.join(map(str, HEIGHTS))}: {_nodes(HEIGHTS)} nodes; utility = sum of depths; work until the "
        "least risk is known; every risk is a scan of the dictionary",
        tables=(
            ResultTable(
                "Frontier nodes by utility floor",
                ("utility floor", "frontier nodes", "share"),
                tuple((z, frontier_size(HEIGHTS, z), share) for z, share in enumerate(shares, start=1)),
            ),
            _work_table(found),
        ),
        pictures=(
            Picture("x8-frontier", "Frontier nodes", "Utility floor", "% of all nodes", percent),
            Picture("x8-time", "Time by utility floor", "Utility floor", "Seconds", times),
        ),
        claims=_claims(found, shares),
    )


def _searched(seed: int, effort: Effort) -> list[AtFloor]:
    lattice = lattice_of(generate(seed, effort.entities, BRANCHING), 0)
    return [
        AtFloor(floor, tuple(search(lattice, float(floor), solver) for solver in SOLVERS.values()))
        for floor in FLOORS
    ]


def _nodes(heights: Sequence[int]) -> int:
    return prod(height + 1 for height in heights)


def _claims(found: list[AtFloor], shares: list[float]) -> tuple[Claim, ...]:
    middle = sum(HEIGHTS) // 2
    widest = frontier_size(PUBLISHED, sum(PUBLISHED) // 2)
    slower = [
        floor
        for floor in FLOORS
        if _seconds("ARUBA", found, (floor,)) >= _seconds("top-down", found, (floor,))
    ]
    return (
        exact(
            "ARUBA evaluates the risk of as many nodes as the coefficient formula gives frontier nodes",
            all(row.mean_of("ARUBA")[1] == frontier_size(HEIGHTS, row.floor) for row in found),
            f"{len(found)} searches",
        ),
        exact(
            "The share of frontier nodes is bell-shaped: it rises up to half the utility, then falls",
            never_falls(np.array(shares[:middle])) and never_falls(-np.array(shares[middle:])),
            f"greatest share {max(shares):.1%}",
        ),
        exact(
            "Top-down search and ARUBA find the same least risk",
            all(agree(tuple(one.risk for one in row.searched)) for row in found),
            f"{len(found)} problems",
        ),
        exact(
            "The published scale, 70 attributes of height 3, cannot be enumerated",
            widest > 10**39,
            f"{float(_nodes(PUBLISHED)):.2g} nodes, {float(widest):.2g} of them on the middle frontier",
        ),
        qualitative(
            "ARUBA is faster, especially at large floors, and similar at small ones (not everywhere)",
            not slower,
            f"top-down / ARUBA {_times(found, SMALL)} at floors {SMALL}, {_times(found, LARGE)} at {LARGE}; "
            + (f"ARUBA slower at {', '.join(map(str, slower))}" if slower else "faster at every floor"),
        ),
    )


def _seconds(solver: str, found: list[AtFloor], floors: Sequence[int]) -> float:
    return float(np.mean([row.mean_of(solver)[3] for row in found if row.floor in floors]))


def _times(found: list[AtFloor], floors: Sequence[int]) -> str:
    return f"{_seconds('top-down', found, floors) / max(_seconds('ARUBA', found, floors), 1e-9):.2g}"


def _work_table(found: list[AtFloor]) -> ResultTable:
    kinds = ("nodes", "risks", "utilities", "seconds")
    columns = ("utility floor", *(f"{solver}: {kind}" for solver in SOLVERS for kind in kinds))
    rows = []
    for floor in FLOORS:
        at = [row for row in found if row.floor == floor]
        means = [np.mean([row.mean_of(solver) for row in at], axis=0).tolist() for solver in SOLVERS]
        rows.append((floor, *means[0], *means[1]))
    return ResultTable("Work until the least risk is known, means of the seeds", columns, tuple(rows))
