"""Searches of single lattices, counted and timed."""

from __future__ import annotations

import time
from dataclasses import dataclass

from app.domain.numbers import tie_margin
from app.domain.search.boxes import Found, Lattice
from app.domain.search.lattice_search import LatticeSolver, search_lattice
from app.domain.search.problem import Problem


@dataclass(frozen=True)
class Searched:
    """What one search found, and the processor seconds it took."""

    found: Found
    seconds: float

    @property
    def risk(self) -> float:
        """Mean risk of the rule found."""
        return self.found.risk


def search(lattice: Lattice, floor: float, solver: LatticeSolver) -> Searched:
    """The least risk at a utility of at least ``floor``."""
    start = time.process_time()
    found = search_lattice(lattice, Problem("min_risk", floor, "record_level"), solver)
    return Searched(found, time.process_time() - start)


def agree(risks: tuple[float, ...]) -> bool:
    """Whether exact searches found the same least risk, but for rounding."""
    return max(risks) - min(risks) <= tie_margin(min(risks))
