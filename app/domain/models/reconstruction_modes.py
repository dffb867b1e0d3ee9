"""What each way to perturb a group would leave to be estimated of it: one group, side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from annotated_types import doc

from app.domain.arrays import Longs
from app.domain.catalogue.meanings import FROM_ZERO, SHARE
from app.domain.classes.reconstruction import Bound
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.mechanisms.balanced_samples import balanced_sizes, fixed_size
from app.domain.mechanisms.coin_samples import coin_limits
from app.domain.mechanisms.sampled_tails import SampledShare, of_coin_sample, of_exact_sample, seconds

Mode = Literal["plain", "balanced_fixed", "balanced", "paper"]


@dataclass(frozen=True)
class ModeFound:
    """How exactly the share of a value in a group could be estimated, if it was perturbed so."""

    mode: Annotated[
        Mode,
        doc("`plain`: by `uniform_perturbation`; the others are those of `sample_perturb_scale`."),
    ]
    sample_size: Annotated[
        float,
        FROM_ZERO,
        doc(
            "Records of the group that values are drawn for, all of them where it is not sampled; of `paper` "
            "the mean. 0: no sample is small enough, and the group is suppressed."
        ),
    ]
    above_bound: Annotated[
        float,
        SHARE,
        doc(
            "The probability that what values are drawn for is above the bound: 1 or 0 but for `paper`, "
            "whose samples are chance."
        ),
    ]
    too_low: Annotated[
        float, SHARE, doc("The probability that the estimate is too low by more than ε of the share.")
    ]
    too_high: Annotated[float, SHARE, doc("The probability that it is too high by more than ε of the share.")]
    nothing: Annotated[
        float, SHARE, doc("The probability that nothing of the group is published, and nothing estimated.")
    ]
    confidence: Annotated[
        float,
        SHARE,
        doc("The probability that the estimate is within ε of the share: the rest of all three."),
    ]
    count_error: Annotated[
        float,
        FROM_ZERO,
        doc(
            "Root of the mean square of (estimate − count) / count, of the group's records with the value: "
            "of what is suppressed 1."
        ),
    ]


def by_mode(
    counts: SensitiveCounts,
    entry: int,
    question: ReconstructionQuestion,
    sizing: ReconstructionQuestion,
    bound: Bound,
) -> tuple[ModeFound, ...]:
    """Of the value of one entry, in its group, in every mode.

    ``sizing`` is what samples are to keep, by the bound; ``question`` which estimates are bad.
    """
    found = _shares(counts, entry, question, sizing, bound)
    return tuple(
        ModeFound(
            mode=mode,
            sample_size=own.sample,
            above_bound=own.above_bound,
            too_low=min(1.0, own.low),
            too_high=min(1.0, own.high),
            nothing=min(1.0, own.nothing),
            confidence=min(1.0, max(0.0, 1.0 - own.low - own.high - own.nothing)),
            count_error=own.error,
        )
        for mode, own in found
    )


def _shares(
    counts: SensitiveCounts,
    entry: int,
    question: ReconstructionQuestion,
    sizing: ReconstructionQuestion,
    bound: Bound,
) -> Iterator[tuple[Mode, SampledShare]]:
    group = int(counts.of_entry[entry])
    first, last = counts.starts[group : group + 2].tolist()
    amounts = counts.counts[first:last]
    size, amount = int(amounts.sum()), int(counts.counts[entry])
    top, whole = amounts.max(keepdims=True), np.array([size])
    limit = float(coin_limits(top, whole, sizing, bound)[0])
    plain = of_exact_sample(amount, size, size, question)
    above = SampledShare(plain.sample, 1.0, plain.low, plain.high, plain.nothing, plain.error)
    yield "plain", plain if limit == np.inf else above
    fixed = min(size, fixed_size(sizing, bound))
    yield "balanced_fixed", of_exact_sample(amount, size, fixed, question)
    balanced = int(balanced_sizes(top, whole, sizing, bound)[0])
    yield "balanced", of_exact_sample(amount, size, balanced, question)
    if limit == np.inf:
        yield "paper", plain
    else:
        yield "paper", of_coin_sample(amounts, entry - first, limit, question, bound, sizing)


def seconds_of_modes(
    counts: SensitiveCounts, tops: Longs, question: ReconstructionQuestion, bound: Bound
) -> float:
    """About how long one group takes, of those that take longest: by the largest sample and most values."""
    judged = tops > 0
    if not judged.any():
        return 0.0
    limits = np.minimum(
        coin_limits(tops[judged], counts.sizes[judged], question, bound), counts.sizes[judged]
    )
    return seconds(int(counts.distinct.max()), int(counts.sizes.max()), float(limits.max()))
