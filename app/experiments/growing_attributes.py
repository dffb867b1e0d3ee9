"""X9: visited nodes and time of exact searches as attributes are added (Fouad (2012), figure 4.11c, d)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.search.lattices.search import LatticeSolver
from app.domain.search.solvers import Aruba, BranchAndBound, TopDown
from app.experiments.record_lattices import CountedLattice, frontier_size, generated_lattice, random_lattice
from app.experiments.report import (
    Cell,
    Claim,
    Effort,
    Picture,
    Report,
    ResultTable,
    curves,
    exact,
    qualitative,
)
from app.experiments.solving import Searched, agree, search

HEIGHT = 3
ATTRIBUTES = (2, 3, 4, 5, 6)
FIVE = 5
FLOORS_OF_FIVE = (3, 8, 12)
COUNTER_EXAMPLE = (2012, (4, 3, 2, 2), 60, 9.5)
SOLVERS: dict[str, LatticeSolver] = {
    "top-down": TopDown(),
    "ARUBA, full cube": Aruba(moves="full_cube"),
    "ARUBA": Aruba(),
    "branch and bound": BranchAndBound(),
}
KINDS = ("nodes", "risks", "utilities", "seconds")


@dataclass(frozen=True)
class Compared:
    """All searches of one random lattice of some attributes at one floor."""

    attributes: int
    floor: int
    searched: tuple[Searched, ...]

    @property
    def work(self) -> list[tuple[float, ...]]:
        """Per search: nodes, risks and utilities until the value was known, seconds."""
        return [
            (one.found.value_nodes, one.found.value_risks, one.found.value_utilities, one.seconds)
            for one in self.searched
        ]


def run(effort: Effort) -> Report:
    """Random lattices of attributes of height 3, one per seed and number of attributes."""
    growing = [_compare(seed, k, HEIGHT * k // 2, effort) for k in ATTRIBUTES for seed in range(effort.seeds)]
    of_five = [
        _compare(seed, FIVE, floor, effort) for floor in FLOORS_OF_FIVE for seed in range(effort.seeds)
    ]
    means = np.array(
        [np.mean([row.work for row in growing if row.attributes == k], axis=0) for k in ATTRIBUTES]
    )
    nodes, seconds = (curves(tuple(SOLVERS), ATTRIBUTES, means[:, :, kind]) for kind in (0, 3))
    return Report(
        id="X9",
        title="Work of the exact searches as attributes are added",
        setting=f"random instances of attributes of height {HEIGHT}, {effort.entities} entities, means of "
        f"{effort.seeds} seeds; utility = sum of depths, floor half of the most; work until the least risk "
        "is known; every risk is a scan of the dictionary",
        tables=(
            _table("By number of attributes", "attributes", [(row.attributes, row) for row in growing]),
            _table(
                f"{FIVE} attributes by utility floor", "utility floor", [(row.floor, row) for row in of_five]
            ),
        ),
        pictures=(
            Picture("x9-nodes", "Visited nodes by number of attributes", "Attributes", "Nodes", nodes),
            Picture("x9-time", "Time by number of attributes", "Attributes", "Seconds", seconds),
        ),
        claims=_claims(growing, of_five),
    )


def _compare(seed: int, attributes: int, floor: int, effort: Effort) -> Compared:
    rng = np.random.default_rng([seed, attributes])
    lattice = random_lattice((HEIGHT,) * attributes, effort.entities, rng)
    return Compared(attributes, floor, _searched(lattice, float(floor)))


def _searched(lattice: CountedLattice, floor: float) -> tuple[Searched, ...]:
    return tuple(search(lattice, floor, solver) for solver in SOLVERS.values())


def _claims(growing: list[Compared], of_five: list[Compared]) -> tuple[Claim, ...]:
    rows = [*growing, *of_five]
    of_aruba = [i for i, name in enumerate(SOLVERS) if name.startswith("ARUBA")]
    seed, heights, entities, floor = COUNTER_EXAMPLE
    against = _searched(generated_lattice(seed, heights, entities), floor)
    sizes = [frontier_size((HEIGHT,) * FIVE, floor) for floor in FLOORS_OF_FIVE]
    return (
        exact(
            "All exact searches find the same least risk",
            all(agree(tuple(one.risk for one in row.searched)) for row in rows),
            f"{len(rows)} problems, {len(SOLVERS)} searches each",
        ),
        exact(
            "ARUBA evaluates the risk of the frontier nodes alone, whichever moves it makes",
            all(
                row.work[i][1] == frontier_size((HEIGHT,) * row.attributes, row.floor)
                for row in rows
                for i in of_aruba
            ),
            f"{FIVE} attributes: {_listed(sizes)} at floors {_listed(FLOORS_OF_FIVE)}",
        ),
        exact(
            "It is no law that ARUBA visits fewer nodes (Definitions: nodes that ARUBA visits)",
            against[0].found.value_nodes < against[2].found.value_risks,
            f"G{COUNTER_EXAMPLE[:3]} at {floor}: top-down visits {against[0].found.value_nodes} nodes, the "
            f"frontier alone has {against[2].found.value_risks}",
        ),
        _compared("visits fewer nodes", 0, rows),
        _compared("evaluates fewer risks", 1, rows),
        _compared("is faster", 3, rows),
    )


def _compared(what: str, kind: int, rows: list[Compared]) -> Claim:
    """Of ARUBA with reduced moves against top-down search and branch and bound, in means over the seeds."""
    cases = sorted({(row.attributes, row.floor) for row in rows})
    means = {
        case: np.mean([row.work for row in rows if (row.attributes, row.floor) == case], axis=0)[:, kind]
        for case in cases
    }
    won = [case for case in cases if means[case][2] < means[case][0]]
    beside = [case for case in cases if means[case][2] < means[case][3]]
    return qualitative(
        f"ARUBA {what} than top-down search in every case (no law)",
        len(won) == len(cases),
        f"in {len(won)} of {len(cases)}; than branch and bound in {len(beside)}",
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers))


def _table(title: str, of: str, rows: list[tuple[int, Compared]]) -> ResultTable:
    columns = (of, *(f"{solver}: {kind}" for solver in SOLVERS for kind in KINDS))
    body: list[tuple[Cell, ...]] = []
    for value in sorted({value for value, _ in rows}):
        means = np.mean([row.work for own, row in rows if own == value], axis=0)
        body.append((value, *means.reshape(-1).tolist()))
    return ResultTable(title, columns, tuple(body))
