"""What releases spend of what may be told of one table, by what they promise, and what that means."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

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


def sentence_on(loss: PrivacyLoss, n_releases: int) -> str:
    """What so many releases, which spend this together, promise of any one person's record."""
    if n_releases == 0:
        return "Nothing differentially private was released of this table."
    of = "this release" if n_releases == 1 else f"these {n_releases:,} releases together"
    slack = "" if loss.delta == 0 else f", apart from a slack of δ = {decimal_text(loss.delta)}"
    return (
        f"Whether or not any one person's record is in the table, the chance of all that {of} show changes "
        f"by at most a factor {factor_told(loss.epsilon)}{slack}."
    )
