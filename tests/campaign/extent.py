"""How much of everything a campaign does."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Extent:
    """Numbers of disturbances, seconds and cases.

    ``kills`` of each process, ``pause`` and ``frozen`` seconds that a worker and its connections stand
    still, ``away`` seconds that PostgreSQL is down, ``load`` seconds of each load, ``mixed`` seconds of the
    long one, ``queued`` runs that four workers share, ``cases`` that the API answers, ``inputs`` of each
    parser, ``effort`` of the comparison with oracles.
    """

    kills: int
    pause: float
    frozen: float
    away: tuple[float, ...]
    load: float
    mixed: float
    queued: int
    cases: int
    inputs: int
    effort: float
    seed: int = 1


WHOLE: Final = Extent(
    kills=20, pause=60.0, frozen=30.0, away=(3.0, 60.0), load=300.0, mixed=3600.0, queued=1000, cases=50_000,
    inputs=2_000, effort=0.15,
)  # fmt: skip
"""What the promises ask for: more than two hours on two cores."""

SUBSET: Final = Extent(
    kills=1, pause=5.0, frozen=3.0, away=(3.0,), load=5.0, mixed=20.0, queued=20, cases=300, inputs=30,
    effort=0.0,
)  # fmt: skip
"""A seeded part of at most five minutes, to see that it works; its figures are not kept."""
