"""The settings of Wang et al. (2012), section 6: one of p, ε, δ and |D| is varied at a time.

Which settings the others have is marked typographically there and lost; the middle ones are taken.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.experiments.cells import Question

MIDDLE: Final = 2


@dataclass(frozen=True)
class Setting:
    """p, ε and δ, and which of the nested tables."""

    p: float = 0.5
    epsilon: float = 0.5
    delta: float = 0.3
    table: int = MIDDLE

    def asked(self, experiment: str) -> Question:
        """What is asked of a cell of the experiment, beside the records themselves."""
        return {"experiment": experiment, "p": self.p, "epsilon": self.epsilon, "delta": self.delta}

    def question(self, m: int) -> ReconstructionQuestion:
        """What is asked about groups of m values."""
        return ReconstructionQuestion(UniformReplacement(self.p, m), self.epsilon, self.delta)


DEFAULT: Final = Setting()
SETTINGS: Final[Mapping[str, tuple[Setting, ...]]] = {
    "p": tuple(replace(DEFAULT, p=p) for p in (0.1, 0.3, 0.5, 0.7, 0.9)),
    "epsilon": tuple(replace(DEFAULT, epsilon=epsilon) for epsilon in (0.1, 0.3, 0.5, 0.7, 0.9)),
    "delta": tuple(replace(DEFAULT, delta=delta) for delta in (0.14, 0.22, 0.3, 0.38, 0.46)),
    "table": tuple(replace(DEFAULT, table=table) for table in range(5)),
}
"""By what is varied."""
NAMES: Final = {"p": "p", "epsilon": "ε", "delta": "δ", "table": "records"}


def axis(varied: str, sizes: tuple[int, ...]) -> list[float]:
    """Where the settings lie along what is varied; ``sizes`` are the records of the tables."""
    found = [getattr(setting, varied) for setting in SETTINGS[varied]]
    return [sizes[own] for own in found] if varied == "table" else found
