"""What the tools are asked, and what each must answer.

Where a peer is right its answer is ours. Where it is wrong (field models 5) the question says why, and what
its mistake makes of the right numbers: its answer must be that, so that the difference is understood.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from app.domain.analyses.catalogue import MEASURES
from app.domain.classes.grouping import Grouping
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from tests.peers.releases import Compared

BY_NAME = {measure.name: measure for measure in MEASURES}
CLOSE = 1e-9

Answer = tuple[float, ...]


def context_of(release: Compared) -> MeasureContext:
    """A fresh context: nothing of an earlier question is kept."""
    utility = build_utility(release.table, "depth_sum")
    return MeasureContext(release.table, release.rule, None, None, None, utility, MODEL_I, "zero")


def measured(release: Compared, measure: str, parameters: dict[str, Any]) -> Any:
    """The result of a measure of the product."""
    entry = BY_NAME[measure]
    return entry.compute(context_of(release), entry.parameters(**parameters), lambda done: None)


@dataclass(frozen=True)
class Question:
    """One number of one release.

    Parameters
    ----------
    measure, parameters, ours
        The measure of the product, what it is asked with, and the number in its result.
    function
        The peer's function.
    mistake
        Why the peer's answer differs; empty where it must not.
    mistaken
        What the mistake makes of it, from the release and our result: all answers that rounding allows.
    may_agree
        The mistake need not show on this release.
    apart
        The peer's reading of several sensitive attributes; of one it makes no difference.
    """

    release: Compared
    measure: str
    function: str
    ours: Callable[[Any], Answer]
    parameters: dict[str, Any] = field(default_factory=dict)
    mistake: str = ""
    mistaken: Callable[[Compared, Any], list[Answer | str]] | None = None
    may_agree: bool = False
    apart: bool = True

    def expected(self, result: Any) -> list[Answer | str]:
        """The answers that the peer may give."""
        if self.mistaken is None:
            return [self.ours(result)]
        return self.mistaken(self.release, result)

    def asked(self) -> dict[str, Any]:
        """The call of the peer."""
        return {
            "tool": "pycanon",
            "function": self.function,
            "csv": str(self.release.csv),
            "quasi": self.release.quasi,
            "sensitive": self.release.sensitive,
            "numeric": list(self.release.numeric),
            "apart": self.apart,
        }


def same(one: Answer | str, other: Answer | str) -> bool:
    """Whether two answers are the same to 1e-9; infinite and undefined numbers only as such."""
    if isinstance(one, str) or isinstance(other, str):
        return one == other
    return len(one) == len(other) and all(map(_same, one, other))


def _same(x: float, y: float) -> bool:
    if math.isnan(x) or math.isnan(y):
        return math.isnan(x) and math.isnan(y)
    return x == y or abs(x - y) <= CLOSE


def k_of(result: Any) -> Answer:
    return (float(result.k),)


def alpha_of(result: Any) -> Answer:
    return float(result.alpha), float(result.k)


def distinct_of(result: Any) -> Answer:
    return (float(result.distinct_l),)


def entropy_of(result: Any) -> Answer:
    return (float(result.entropy_l),)


def least_c_of(result: Any) -> Answer:
    """The infimum of c for the distinct ℓ of the release, and this ℓ; ℓ = 1 holds for every c."""
    ell = int(result.distinct_l)
    bounds = {bound.l: bound.c_min for bound in result.attributes[0].bounds}
    return (math.nan if ell == 1 else float(bounds[ell])), float(ell)


def closeness_of(distance: str) -> Callable[[Any], Answer]:
    def found(result: Any) -> Answer:
        return (next(float(own.t) for own in result.distances if own.distance == distance),)

    return found


def delta_of(result: Any) -> Answer:
    return (float(result.delta.natural),)


def basic_of(result: Any) -> Answer:
    return (float(result.beta_basic),)


def enhanced_of(result: Any) -> Answer:
    return (float(result.beta_enhanced),)


def _counts(release: Compared) -> SensitiveCounts:
    return context_of(release).release.counts(Grouping())


def truncated(release: Compared, result: Any) -> list[Answer | str]:
    """Effective ℓ cut off; of a whole number, rounding errors of the logarithm may take one."""
    ell = result.entropy_l
    if abs(ell - round(ell)) < CLOSE:
        return [(round(ell) - 1.0,), (float(round(ell)),)]
    return [(float(math.floor(ell)),)]


def rarest_first(release: Compared, result: Any) -> list[Answer | str]:
    """Counts in ascending order, and a c that is rounded up."""
    counts, ell = _counts(release), int(result.distinct_l)
    if ell == 1:
        return [(math.nan, 1.0)]
    found = []
    for start, stop in zip(counts.starts[:-1].tolist(), counts.starts[1:].tolist(), strict=True):
        r = sorted(counts.counts[start:stop].tolist())
        found.append(math.floor(r[0] / sum(r[ell - 1 :]) + 1))
    return [(float(max(found)), float(ell))]


def of_present_values(release: Compared, result: Any) -> list[Answer | str]:
    """Values that a class lacks left out: their ratio is 0 and its logarithm −∞."""
    return [(float(result.delta_of_present.natural),)]


def one_bound_for_all(release: Compared, result: Any) -> list[Answer | str]:
    """The greatest gain of the table held against −ln p of values that need not have it."""
    totals = _counts(release).totals
    logs = -np.log(totals / totals.sum())
    return [(float(np.minimum(result.beta_basic, logs).max()),)]


def crash(*names: str) -> Callable[[Compared, Any], list[Answer | str]]:
    return lambda release, result: list(names)
