"""What several independent draws of the same values are worth together (Definitions: several draws)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import LIKENESS
from app.domain.mechanisms.perturbation import PublishedPerturbation
from app.domain.mechanisms.transition_matrix import TransitionMatrix

_OF_READERS: Final = (
    Hypothesis("prior_is_common", "assumed", "Readers are taken to know the prior of the first release."),
    Hypothesis("own_record_only", "assumed", "A reader who also counts in other records learns more."),
    Hypothesis("records_independent", "assumed", "What is known of one person tells nothing of another."),
)


def posterior(matrices: Sequence[TransitionMatrix], prior: Floats, shown: Sequence[int]) -> Floats:
    """(m,) what is believed of a record of which each matrix published one value: ∝ p_i · ∏ PM[v][i]."""
    belief = np.array(prior)
    for matrix, value in zip(matrices, shown, strict=True):
        row = matrix.elsewhere.copy()
        row[value] = matrix.kept[value]
        belief *= row
        belief /= belief.sum()
    return belief


def greatest_ratios(matrix: TransitionMatrix) -> Floats:
    """(m,) by what factor the odds of a value rise at most: the greatest quotient with it in a row of PM.

    ``matrix`` has no negative retention. Then that is X_i by the least other entry of its own row.
    """
    elsewhere = matrix.elsewhere
    if matrix.n_values == 1:
        return np.ones(1)
    least, second = np.argpartition(elsewhere, 1)[:2].tolist()
    other = np.full(matrix.n_values, elsewhere[least])
    other[least] = elsewhere[second]
    return np.asarray(matrix.kept / other)


def posteriors_together(matrices: Sequence[TransitionMatrix], prior: Floats) -> Floats:
    """(m,) no posterior of a value is greater, whatever all draws publish of the record."""
    odds = prior / np.maximum(1.0 - prior, np.finfo(np.float64).tiny)
    for matrix in matrices:
        odds = odds * greatest_ratios(matrix)
    return np.asarray(odds / (1.0 + odds))


def guarantee_together(draws: Sequence[PublishedPerturbation]) -> PrivacyGuarantee:
    """What is left of the promises of independent draws of one attribute of the same records.

    ValueError unless all are of the same values with the same prior: then nothing is known.
    """
    first = draws[0]
    if len({(own.attribute, own.values, own.prior) for own in draws}) > 1:
        raise ValueError("the draws are not of the same values with the same prior")
    prior = np.array(first.prior)
    gain = float((posteriors_together([own.matrix for own in draws], prior) / prior).max()) - 1
    return PrivacyGuarantee(
        model=LIKENESS,
        parameters={
            "beta": max(gain, 0.0),
            "bound": "basic",
            "attribute": first.attribute,
            "draws": len(draws),
        },
        sentence=(
            f"For who knows how frequent each {first.attribute!r} is, and of a person only that record of "
            f"all {len(draws)} releases, no value becomes more than {1 + gain:.6g} times as likely as it was."
        ),
        status="certified",
        hypotheses=(
            Hypothesis(
                "draws_independent",
                "yes",
                "Each release was drawn from the data with random bits of its own.",
            ),
            Hypothesis(
                "all_draws_counted", "assumed", "What else was released of these values is not known."
            ),
            *_OF_READERS,
        ),
    )
