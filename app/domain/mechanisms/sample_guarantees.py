"""What releases in copies of samples promise and what not, in sentences that say nothing of the data.

They are stored with the release, and a reader of it has them. How many groups are sampled or suppressed
follows from the groups' shares, and none of it is said here (Wang et al. (2012), algorithm 1, would let a
reader solve for these).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.reconstruction import Bound
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.uniform_column import UniformColumn
from app.domain.mechanisms.uniform_guarantees import guarantee_of_groups, warnings_of

SampleMode = Literal["balanced_fixed", "balanced", "paper"]

KNOWN_LEAK: Final = (
    "Known leak: how often values are repeated tells how large a group's sample was, and its size follows "
    "from the group's shares. A reader may compute these from it better than from values that are perturbed "
    "without any sampling, as the measure scale_attack does."
)


def warnings_of_samples(
    column: UniformColumn, mode: SampleMode, fixed: int, least: tuple[float, str]
) -> Iterator[str]:
    """Sentences on what is not protected; ``fixed`` records of a group are within the bound in any case.

    ``least`` is the real number of these, and the p up to which it is one or more.
    """
    may_suppress = mode == "paper" or fixed == 0
    rows = "about as many rows as it has records" if mode == "paper" else "as many rows as it has records"
    which = "Every group that is not suppressed" if may_suppress else "Every group"
    yield from warnings_of(
        column,
        f"{which} is released with the other attributes of its records, and with {rows}: who finds a "
        f"person's group by them knows that the person is in it, and reads them. Only {column.attribute!r} "
        "is protected.",
    )
    yield (
        "Values are published in copies: records are no independent draws, and a count over them has a "
        "larger error than as many records of a plain perturbation."
    )
    if mode == "paper":
        yield KNOWN_LEAK
        yield (
            "How many rows are published is chance, of each group and together. A group of which by chance "
            "no record is sampled is suppressed."
        )
    elif may_suppress:
        yield (
            "A group is suppressed if no sample of it is small enough: of records with one value it may have "
            f"{least[0]:.4g}, below one record. With p of at most {least[1]} no group is suppressed."
        )
    if mode == "balanced":
        yield (
            "How often values are repeated tells how large a group's sample was, and that follows from its "
            "shares: a reader may compute them better than from the values, as the measure scale_attack "
            "does. Choose balanced_fixed."
        )


def guarantee_of_samples(column: UniformColumn, mode: SampleMode, bound: Bound) -> PrivacyGuarantee:
    """By which bound estimates of shares in groups are bad, and what that rests on."""
    own = column.parameters
    promise = (
        f"an upper bound of the probability that the estimate of the share of a {column.attribute!r} in a "
        f"group is off by more than {own.epsilon:.6g} of it is at least {own.delta:.6g}"
    )
    return guarantee_of_groups(
        column,
        bound,
        f"By {bound}, as the source claims of its samples, {promise}. Sizes of samples are chance, and of "
        "one that is above its bound this is false. Where it is true, it says nothing of the probability "
        "itself."
        if mode == "paper"
        else f"By {bound}, whatever sample is drawn of a group, {promise}. This says nothing of the "
        "probability itself.",
        (_samples_within_bound(mode), _sizes_tell_nothing(mode)),
        "Wang et al. (2012), theorem 5.16, claims it of samples of random size, which may be above the "
        "bound, and whose sizes tell the shares (Definitions: balanced samples).",
    )


def _samples_within_bound(mode: SampleMode) -> Hypothesis:
    name = "samples_within_bound"
    if mode == "paper":
        return Hypothesis(
            name, "no", "Sizes and shares of samples are chance: each sample may be above its bound."
        )
    return Hypothesis(
        name, "yes", "The largest share that any rounding of a sample can have was computed of every group."
    )


def _sizes_tell_nothing(mode: SampleMode) -> Hypothesis:
    name = "sizes_tell_nothing"
    if mode == "balanced_fixed":
        return Hypothesis(name, "yes", "Of every larger group as many records are drawn, whatever they show.")
    return Hypothesis(name, "no", KNOWN_LEAK)
