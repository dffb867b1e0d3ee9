"""What releases spend of what may be told of one table, by what they promise, and what that means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from app.domain.classes.ratios import as_written
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import DIFFERENTIAL_PRIVACY
from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.domain.mechanisms.private_release import factor_told


def loss_of(guarantees: Iterable[PrivacyGuarantee]) -> PrivacyLoss | None:
    """What a release with these guarantees spends; None if it has no certified one of this kind."""
    private = [own for own in guarantees if own.model == DIFFERENTIAL_PRIVACY and own.status == "certified"]
    return loss_stated(private[0].parameters) if private else None


def loss_stated(parameters: Mapping[str, float | str]) -> PrivacyLoss:
    """The ε and δ that a guarantee of differential privacy states, as the decimals they are written as."""
    return PrivacyLoss(as_written(float(parameters["epsilon"])), as_written(float(parameters["delta"])))


def nothing_left(delta: Fraction, n_releases: int, least_records: int | None) -> str:
    """Why so many releases with this sum of δ promise nothing together; empty if they promise something.

    They promise nothing where one release with these numbers would be refused: δ is 1, or 1 in
    ``least_records``, the greatest number of records that is declared for any of them, or more.
    """
    if delta * (least_records or 1) < 1:
        return ""
    reached = (
        "1"
        if least_records is None or delta >= 1
        else f"1 in the {least_records:,} records that are declared"
    )
    of = (
        "the release tells: its δ is"
        if n_releases == 1
        else (f"{n_releases:,} releases tell together: their δ add up to")
    )
    return (
        f"Nothing is promised of what {of} {min(1.0, float(delta)):.6g}, which is {reached}, or more, so "
        "that one record, picked at random, could be published as it is."
    )


def sentence_on(loss: PrivacyLoss, n_releases: int, least_records: int | None = None) -> str:
    """What so many releases, which spend this together, promise of any one person's record.

    ``least_records`` is as in :func:`nothing_left`.
    """
    if n_releases == 0:
        return "Nothing differentially private was released of this table."
    nothing = nothing_left(loss.delta, n_releases, least_records)
    if nothing:
        return nothing
    shown = "this release shows" if n_releases == 1 else f"these {n_releases:,} releases together show"
    slack = "" if loss.delta == 0 else f", apart from a slack of δ = {decimal_text(loss.delta)}"
    return (
        f"Whether or not any one person's record is in the table, the chance of all that {shown} changes "
        f"by at most a factor {factor_told(loss.epsilon)}{slack}."
    )
