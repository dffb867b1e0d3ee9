"""The nearest change of each view that discloses: advice for whoever writes it, and no part of a verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from typing import Final

from app.domain.search.budget import Halted
from app.services.resources import JsonObject
from app.services.views.key_readings import KeyReading
from app.services.views.view_checks import Pairs, ReadCheck

MOST_ADVISED: Final = 100
"""Pairs of one requirement for which a change is looked for: the first ones."""
SECONDS_OF_CHANGES: Final = 3.0
"""For all pairs of an evaluation. Of what is not looked for in time it is said that it was not."""


def nearest_changes(
    check: ReadCheck, pairs: Sequence[JsonObject], halted: Halted, seconds: float
) -> Mapping[int, JsonObject]:
    """Number of each pair that discloses → the change that takes least away and is proved to pass.

    The pairs are decided again for it: what is found of them before does not hold their patterns.
    """
    end = monotonic() + seconds

    def is_over() -> bool:
        return halted() or monotonic() >= end

    again = Pairs(replace(check, advice=("changes",)), monotonic, is_over)
    disclosing = [number for number, own in enumerate(pairs) if own["verdict"] == "DISCLOSES"]
    return {
        number: _cut()
        if place >= MOST_ADVISED or is_over()
        else _nearest(again.pair(number)["advice"], check.keys)
        for place, number in enumerate(disclosing)
    }


def _nearest(advice: JsonObject | None, keys: KeyReading) -> JsonObject:
    if advice is None:
        return _cut()
    changes = advice["changes"]
    if not changes["found"]:
        return _document("not_found", changes["summary"])
    change = changes["found"][0]
    steps = " ".join(own["explanation"] for own in change["steps"])
    private = "private" if keys == "considered" else "private if keys are unknown to readers,"
    proved = f"Then the view is proved to be {private} beside this secret; other secrets were not looked at."
    return {**_document("found", f"{steps} {proved}"), **change}


def _cut() -> JsonObject:
    return _document(
        "not_looked_for",
        f"A change was not looked for: that is done for the first {MOST_ADVISED} pairs of a requirement that "
        "disclose something, as far as there is time. A check of views looks for those of single views.",
    )


def _document(status: str, explanation: str) -> JsonObject:
    return {"status": status, "steps": [], "query": None, "explanation": explanation}
