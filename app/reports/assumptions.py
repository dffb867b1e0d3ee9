"""The options of a score in words: what is assumed of the attacker, and how risk is counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MODELS: Final = {
    "I": "The risk of a record is the expected harm: the probability that the attacker picks the right "
    "person, times the harm of what is then known, plus that of a wrong pick where it is declared (model I).",
    "II": "The risk of a record is the probability that the attacker picks the right person (model II).",
    "III": "The risk of a record is its harm, times how far the release narrows down who it may be (model "
    "III).",
    "III_raw": "The risk of a record is counted as in model III_raw, which may fall where more is disclosed.",
}
_ABSENT: Final = {
    "zero": "A record that nobody in the dictionary fits counts as never identified, so with the risk of a "
    "failed attempt alone, which is no safety: the dictionary may not hold the person.",
    "add_self": "Every record's own person counts as one whom the attacker may take it for.",
    "error": "A record that nobody in the dictionary fits is an error: there is none.",
}
NOT_SAID: Final = "Each row counts as one person: assumed, nobody said so."
_USUAL: Final = {"risk_model": "I", "absent_policy": "zero"}
"""What options that are left out mean."""

_VIEWS: Final = {
    "known": "The attacker has exactly this dictionary.",
    "estimated": "The attacker is taken to have what this dictionary estimates.",
    "bayes": "The attacker has one of several dictionaries, with the stated probabilities.",
    "worst_case": "The attacker has the one of several dictionaries that is worst for the release.",
    "worst_case_per_record": "Each record is judged under the dictionary that is worst for it.",
}


def rows_sentence(result: Mapping[str, Any]) -> str | None:
    """What a row is by a verdict; of one from before verdicts said so, nobody did. None of views."""
    rows, of_views = result.get("rows_are"), "views" in (result.get("subject") or {})
    return str(rows["sentence"]) if rows else None if of_views else NOT_SAID


def assumptions_of(report: Mapping[str, Any]) -> list[str]:
    """A sentence for each option of the report."""
    options = {**_USUAL, **(report["parameters"].get("options") or {})}
    model, absent, view = (options.get(key) for key in ("risk_model", "absent_policy", "attacker_view"))
    said = []
    if isinstance(model, str):
        said.append(_MODELS.get(model, f"Risk is counted by the risk model {model}."))
    elif model is not None:
        said.append("Risk is counted by a formula of its own, which stands among the parameters.")
    if absent is not None:
        said.append(_ABSENT.get(absent, f"Of records that nobody in the dictionary fits: {absent}."))
    if view is not None:
        said.append(_VIEWS.get(view, f"The attacker's view is {view}."))
    return said
