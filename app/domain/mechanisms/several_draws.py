"""What several independent draws of the same values are worth together (Definitions: several draws)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Final

import numpy as np

from app.domain.arrays import Floats
from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.ratios import as_written
from app.domain.mechanisms.common_hypotheses import not_shown_otherwise
from app.domain.mechanisms.drawn_release import PublishedMatrix
from app.domain.mechanisms.guarantee import PrivacyGuarantee, Status
from app.domain.mechanisms.guarantee_models import BOUNDED_PRIVACY, DIFFERENTIAL_PRIVACY, LIKENESS
from app.domain.mechanisms.noise_law import not_less
from app.domain.mechanisms.perturbation import PublishedPerturbation
from app.domain.mechanisms.privacy_loss import PrivacyLoss, composed
from app.domain.mechanisms.private_release import OF_DECLARATIONS, factor_told, least_records_is_public
from app.domain.mechanisms.public_domains import DRAWN_BEFORE
from app.domain.mechanisms.spending import loss_stated, nothing_left
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.mechanisms.uniform_guarantees import AMPLIFICATION

ALL_DRAWS_COUNTED: Final = "all_draws_counted"

_OWN_RECORD_ONLY: Final = Hypothesis(
    "own_record_only", "assumed", "A reader who also counts in other records learns more."
)
_OF_READERS: Final = (
    Hypothesis("prior_is_common", "assumed", "Readers are taken to know the prior of the first release."),
    _OWN_RECORD_ONLY,
    Hypothesis("records_independent", "assumed", "What is known of one person tells nothing of another."),
)
_OF_DRAWS: Final = (
    Hypothesis(
        "draws_independent", "yes", "Each release was drawn from the data with random bits of its own."
    ),
    Hypothesis(ALL_DRAWS_COUNTED, "assumed", "What else was released of these values is not known."),
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


def guarantee_together(
    attribute: str,
    draws: Sequence[object],
    one_record_per_person: Hypothesis,
    domain: Hypothesis = DRAWN_BEFORE,
) -> PrivacyGuarantee:
    """What is left of the promises of independent draws of one attribute of the same records.

    Parameters
    ----------
    draws
        What each published, of its mechanism's own type; None where that is not known any more.
    one_record_per_person, domain
        What is known of these hypotheses, the second on where the values come from.

    Returns
    -------
    PrivacyGuarantee
        β-likeness where all are perturbations of the same values with the same prior; else bounded
        amplification, whatever drew them, as long as each published its matrix; else ``none``.
    """
    matrices = [own.matrix for own in draws if isinstance(own, PublishedMatrix)]
    unknown = [number for number, own in enumerate(draws, start=1) if own is None]
    if unknown:
        listed = ", ".join(map(str, unknown))
        return _nothing(attribute, len(draws), f"no release that could be read is stored of draw {listed}")
    if len(matrices) < len(draws):
        return _nothing(attribute, len(draws), "not every one of them published the matrix it was drawn by")
    others = (one_record_per_person, domain, not_shown_otherwise(attribute))
    perturbed = [own for own in draws if isinstance(own, PublishedPerturbation)]
    if len(perturbed) == len(draws) and len({(own.values, own.prior) for own in perturbed}) == 1:
        return _likeness(attribute, perturbed[0].prior, matrices, others)
    epsilon = math.fsum(math.log(own.amplification) for own in matrices)
    gamma = math.prod(own.amplification for own in matrices)
    if math.isinf(gamma):
        return _nothing(attribute, len(draws), "they change odds by factors that no number bounds")
    return PrivacyGuarantee(
        model=AMPLIFICATION,
        parameters={"gamma": gamma, "local_epsilon": epsilon, "attribute": attribute, "draws": len(draws)},
        sentence=(
            f"For who reads of a person only that record of all {len(draws)} releases, no odds between two "
            f"values of {attribute!r} that every one of them can show change by more than the factor "
            f"{gamma:.6g}, whatever was believed before."
        ),
        status="certified",
        hypotheses=(*_OF_DRAWS, _OWN_RECORD_ONLY, *others),
    )


def private_guarantee_together(
    draws: Sequence[Mapping[str, float | str] | None],
    carried: Sequence[Hypothesis],
    status: Status = "certified",
) -> PrivacyGuarantee:
    """What is left of independent draws of whole records: their ε and their δ add up, exactly.

    Parameters
    ----------
    draws
        The parameters of each draw's guarantee of differential privacy; None where it promised none, or is
        not known any more.
    carried
        What is known of the hypotheses on persons, rules and dictionaries that any of them rests on.
    status
        Of the draw that is worth least.

    Returns
    -------
    PrivacyGuarantee
        ``none`` where a single draw with these numbers would be refused: the sum of δ is 1, or 1 in the
        greatest number of records that is declared for any of them, or more.
    """
    promised = [own for own in draws if own is not None]
    if len(promised) < len(draws):
        listed = ", ".join(str(number) for number, own in enumerate(draws, start=1) if own is None)
        return PrivacyGuarantee(
            model=DIFFERENTIAL_PRIVACY,
            parameters={"draws": len(draws)},
            sentence=(
                f"Nothing is promised of what {len(draws)} draws of the data tell together: draw {listed} is "
                "not differentially private, or no release of it is stored."
            ),
            status="none",
            hypotheses=(
                Hypothesis(
                    "all_draws_private", "no", f"No ε and δ are known of draw {listed}, so that none add up."
                ),
            ),
        )
    epsilon, delta = (
        Fraction(sum(as_written(float(own[name])) for own in promised)) for name in ("epsilon", "delta")
    )
    least = max((int(own["least_records"]) for own in promised if "least_records" in own), default=None)
    declared = () if least is None else (least_records_is_public(least),)
    nothing = nothing_left(delta, len(draws), least)
    return PrivacyGuarantee(
        model=DIFFERENTIAL_PRIVACY,
        parameters={
            "epsilon": not_less(epsilon),
            "delta": min(1.0, not_less(delta)),
            "definition": "approximate_differential_privacy",
            "neighbours": "add_or_remove_one_record",
            "draws": len(draws),
        },
        sentence=nothing
        or (
            f"Of all {len(draws)} releases together the ε and the δ add up: whether or not any one person's "
            "record is in the data, the chance of any published tables changes by at most a factor "
            f"{factor_told(epsilon)}, apart from a slack of δ = {float(delta):.6g}."
        ),
        status="none" if nothing else status,
        hypotheses=(*_OF_DRAWS, *carried, *declared, *OF_DECLARATIONS),
    )


def bounded_guarantee_together(
    attribute: str,
    replacing: Sequence[Mapping[str, float | str]],
    of_records: Sequence[Mapping[str, float | str]],
    carried: Sequence[Hypothesis],
    status: Status,
) -> PrivacyGuarantee:
    """The same of another value of one record, by the parameters of guarantees of that and of whole records.

    The latter count with 2ε and (1 + e^ε)·δ: one record leaves, and another comes.
    """
    losses = [loss_stated(own) for own in replacing]
    for own in map(loss_stated, of_records):
        factor = Fraction(math.nextafter(math.exp(own.epsilon) * (1 + 1e-12), math.inf))
        losses.append(PrivacyLoss(2 * own.epsilon, (1 + factor) * own.delta))
    loss, n_draws = composed(losses), len(losses)
    nothing = nothing_left(loss.delta, n_draws, None)
    return PrivacyGuarantee(
        model=BOUNDED_PRIVACY,
        parameters={
            "epsilon": not_less(loss.epsilon),
            "delta": min(1.0, not_less(loss.delta)),
            "attribute": attribute,
            "neighbours": "replace_drawn_value",
            "draws": n_draws,
        },
        sentence=nothing
        or (
            f"Whichever {attribute!r} one person has, the chance of what all {n_draws} releases show changes "
            f"by at most a factor {factor_told(loss.epsilon)}, apart from δ = {float(loss.delta):.6g}."
        ),
        status="none" if nothing else status,
        hypotheses=(*_OF_DRAWS, *carried, *OF_DECLARATIONS),
    )


def _likeness(
    attribute: str,
    shares: Sequence[float],
    matrices: Sequence[TransitionMatrix],
    others: tuple[Hypothesis, ...],
) -> PrivacyGuarantee:
    prior = np.array(shares)
    gain = float((posteriors_together(matrices, prior) / prior).max()) - 1
    return PrivacyGuarantee(
        model=LIKENESS,
        parameters={
            "beta": max(gain, 0.0),
            "bound": "basic",
            "attribute": attribute,
            "draws": len(matrices),
        },
        sentence=(
            f"For who knows how frequent each {attribute!r} is, and of a person only that record of "
            f"all {len(matrices)} releases, no value becomes more than {1 + gain:.6g} times as likely as it "
            "was."
        ),
        status="certified",
        hypotheses=(*_OF_DRAWS, *_OF_READERS, *others),
    )


def _nothing(attribute: str, n_draws: int, reason: str) -> PrivacyGuarantee:
    return PrivacyGuarantee(
        model=AMPLIFICATION,
        parameters={"attribute": attribute, "draws": n_draws},
        sentence=(
            f"Nothing is known of what {n_draws} draws of {attribute!r} tell together, because {reason}."
        ),
        status="none",
        hypotheses=(
            Hypothesis(
                "matrices_known",
                "no",
                f"What the draws tell together follows from the matrix of each, and {reason}.",
            ),
        ),
    )
