"""β-likeness (Cao and Karras (2012)) and δ-disclosure privacy (Brickell and Shmatikov (2008)) as criteria."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.classes.by_class import least_by_class
from app.domain.classes.gains import (
    Gains,
    LikenessBound,
    LogBase,
    delta_factor,
    disclosing,
    frequency_bounds,
    greatest_gains,
    greatest_ratios,
    lacks_values,
    unlike,
)
from app.domain.classes.grouping import Bools
from app.domain.classes.necessary import (
    SAFE,
    fills_between,
    fills_up,
    least_size,
    least_values,
    most_passing,
)
from app.domain.classes.ratios import as_written
from app.domain.criteria.closeness import least_classes
from app.domain.criteria.criterion import Criterion, Judged, Merging
from app.domain.criteria.diversity import Attribute
from app.domain.criteria.ranges import require_within
from app.domain.distinct import Longs

GREATEST_BETA = 1e6
GREATEST_DELTA = 100.0
LEAST = 1e-9


@dataclass(frozen=True)
class BetaLikeness(Criterion):
    """No value is much more likely in a class than in the whole table, relative to how likely it is there."""

    kind: ClassVar[str] = "beta_likeness"
    title: ClassVar[str] = "β-likeness: a bounded relative gain on every sensitive value"
    source: ClassVar[str] = "Cao and Karras (2012), definitions 2 and 3"
    merging: ClassVar[Merging] = "passes_stay"

    beta: Annotated[
        float, Ge(LEAST), Le(GREATEST_BETA), doc("Greatest relative gain: 1 means twice as likely.")
    ]
    bound: Annotated[
        LikenessBound,
        doc(
            "Whether frequent values have the tighter bound −ln p, so that none may fill a class "
            "(`enhanced`), or all the same (`basic`)."
        ),
    ] = "enhanced"
    attribute: Attribute = None

    def __post_init__(self) -> None:
        require_within("beta", self.beta, LEAST, GREATEST_BETA)

    def failing(self, judged: Judged) -> Bools:
        """Classes in which some value is above its bound; exactly at it passes."""
        return unlike(judged.counts(self.attribute), as_written(self.beta), self.bound)

    def attained(self, judged: Judged) -> float | None:
        """The least β that the classes satisfy; ∞ if enhanced β-likeness holds for none."""
        counts = judged.counts(self.attribute)
        if not counts.n_classes:
            return None
        gains = Gains.of(counts)
        if self.bound == "enhanced" and gains.breaks_cap.any():
            return float("inf")
        return float(greatest_gains(counts, gains).max())

    def unavoidable(self, judged: Judged) -> Longs:
        """What does not fit into any mixture of values below their bounds."""
        counts = judged.counts(self.attribute)
        return np.asarray(counts.sizes - most_passing(counts, self._bounds(counts.totals), 1.0))

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """The least class that can be filled within the bounds (L4), and how many values it has (L6)."""
        totals = whole.counts(self.attribute).totals
        bounds = self._bounds(totals)
        values = least_values(bounds, 1.0)
        size = least_size(fills_up(totals, bounds), totals)
        return least_classes(size, values, self.attribute)

    def impossible(self, whole: Judged) -> str | None:
        """Nothing is gained from the whole table."""
        return None

    def _bounds(self, totals: Longs) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
        return frequency_bounds(totals, int(totals.sum()), as_written(self.beta), self.bound)


@dataclass(frozen=True)
class DeltaDisclosure(Criterion):
    """No value is much more or less likely in a class than in the whole table, and none is absent."""

    kind: ClassVar[str] = "delta_disclosure"
    title: ClassVar[str] = "δ-disclosure privacy: every sensitive value about as likely as in the whole table"
    source: ClassVar[str] = "Brickell and Shmatikov (2008)"
    merging: ClassVar[Merging] = "passes_stay"

    delta: Annotated[
        float, Ge(LEAST), Le(GREATEST_DELTA), doc("|log(q / p)| stays strictly below it, for every value.")
    ]
    base: Annotated[LogBase, doc("Base of the logarithm: natural (`e`) or binary (`2`).")] = "e"
    attribute: Attribute = None

    def __post_init__(self) -> None:
        require_within("delta", self.delta, LEAST, GREATEST_DELTA)

    def failing(self, judged: Judged) -> Bools:
        """Classes in which the share of some value is too high or too low, or which lack a value."""
        return disclosing(judged.counts(self.attribute), as_written(self.delta), self.base)

    def attained(self, judged: Judged) -> float | None:
        """The greatest |log(q / p)|: ∞ if some class lacks a value."""
        counts = judged.counts(self.attribute)
        if not counts.n_classes:
            return None
        greatest = float(greatest_ratios(counts, Gains.of(counts)).max())
        return greatest / float(np.log(2)) if self.base == "2" else greatest

    def unavoidable(self, judged: Judged) -> Longs:
        """What does not fit into any mixture with all values between their bounds."""
        counts, factor = judged.counts(self.attribute), self._factor
        shares = np.minimum(counts.totals / counts.totals.sum() * factor, 1.0)
        # Of a value with n records no more than n · e^δ / p records can be its class's.
        limits = counts.counts * factor * (counts.totals.sum() / counts.totals[counts.values])
        most = np.floor(least_by_class(counts, limits, np.inf) * (1 + SAFE) + SAFE)
        most = np.minimum(most_passing(counts, shares, 1.0), most)
        at_most = np.where(lacks_values(counts), 0, most).astype(np.int64)
        return np.asarray(np.maximum(counts.sizes - at_most, self.failing(judged)))

    def implied(self, whole: Judged) -> tuple[Criterion, ...]:
        """All values, and the least class that can have them in about their shares."""
        totals = whole.counts(self.attribute).totals
        size = least_size(fills_between(totals, self._factor), totals)
        return least_classes(size, len(totals), self.attribute)

    def impossible(self, whole: Judged) -> str | None:
        """The whole table is like itself."""
        return None

    @property
    def _factor(self) -> float:
        return float(delta_factor(as_written(self.delta), self.base))
