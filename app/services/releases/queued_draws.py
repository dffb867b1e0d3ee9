"""What the stored question of a run holds of what its draw will spend."""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from app.domain.mechanisms.privacy_loss import PrivacyLoss, decimal_text
from app.services.resources import JsonObject

SPENDS: Final = "spends"
SUBJECT: Final = "subject_sha256"


def loss_to_keep(subject_sha256: str, loss: PrivacyLoss | None) -> JsonObject:
    """The part of the summary that says it; nothing of a draw that is not differentially private."""
    if loss is None:
        return {}
    exact = {"epsilon": decimal_text(loss.epsilon), "delta": decimal_text(loss.delta)}
    return {SPENDS: {SUBJECT: subject_sha256, **exact}}


def loss_kept(summary: JsonObject) -> PrivacyLoss:
    """What it says."""
    kept = summary[SPENDS]
    return PrivacyLoss(Fraction(kept["epsilon"]), Fraction(kept["delta"]))
