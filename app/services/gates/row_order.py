"""What a verdict says of the order of the released rows."""

from __future__ import annotations

from typing import Final

from app.services.gates.context import EvaluationContext
from app.services.gates.subject import Subject
from app.services.releases.aligned_release import AlignedRelease
from app.services.resources import JsonObject

SHUFFLED: Final = (
    "The rows leave in an order that says nothing of the records' order. A release by this rule in the "
    "records' order is not what was judged."
)
CHOSEN: Final = (
    "The rows stand in the order of the dataset's records, which was chosen: nobody who knows that order is "
    "taken for an attacker."
)
_REMEDY: Final = (
    "Who knows that order knows whose row is whose. Have the release made here, which shuffles the rows of "
    'each class, or shuffle them; if the order is meant, say so by "order": "records".'
)
_RARE: Final = 6
"""Chances below ten to the minus this are not told in figures."""


def order_document(subject: Subject, context: EvaluationContext) -> JsonObject:
    """``order``: ``shuffled`` for a rule, else what is known of the file; whether the records' was chosen."""
    aligned = context.aligned
    order = "shuffled" if aligned is None else aligned.order
    return {"order": order, "order_chosen": subject.order == "records"}


def order_assumptions(subject: Subject, context: EvaluationContext) -> list[str]:
    """What the verdict takes for granted of the order."""
    if context.aligned is None:
        return [SHUFFLED]
    return [CHOSEN] if context.aligned.order == "records" and subject.order == "records" else []


def order_warnings(subject: Subject, context: EvaluationContext) -> list[str]:
    """A warning where a file keeps the records' order, and nobody said that this is meant."""
    aligned = context.aligned
    if aligned is None or subject.order == "records":
        return []
    found = _found(aligned)
    return [] if found is None else [f"{found} {_REMEDY}"]


def _found(aligned: AlignedRelease) -> str | None:
    if aligned.fits_in_place:
        return (
            "The release file seems to keep the order of the dataset's records: every row fits the record in "
            "its place, and not every row the record in the next one."
        )
    if aligned.kept is None:
        return None
    digits = -aligned.kept.log10_chance
    rarely = "less than once in a million times" if digits > _RARE else f"once in {round(10**digits):,} times"
    where = "Within its equivalence classes the" if aligned.kept.within_classes else "The"
    return f"{where} release file keeps the order of the dataset's records, as a random order does {rarely}."
