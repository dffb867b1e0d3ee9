"""A pair with the keys left out, as a document: private if keys are unknown to readers, and what keys add."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final, Literal

from app.domain.views.decision import Verdict
from app.domain.views.keys import what_keys_add
from app.domain.views.wording import KEYS_ADD, KEYS_LEFT_OUT, explained_exclusion
from app.services.resources import JsonObject
from app.services.views.pair_verdicts import Decided
from app.services.views.reading import ReadSchema

KeyReading = Literal["considered", "ignored"]
MEMBER: Final = "private_if_keys_are_unknown_to_readers"
"""Of a pair, and of a check: whether it is so; None: that is not decided."""


def verdict_by(reading: KeyReading, decided: Decided) -> Verdict:
    """The verdict by the name that it has where keys are considered, or left out."""
    is_unknowing = reading == "ignored" and decided.verdict == "PRIVATE"
    return "PRIVATE_IF_KEYS_ARE_UNKNOWN_TO_READERS" if is_unknowing else decided.verdict


def explained_by(
    reading: KeyReading, decided: Decided, schema: ReadSchema, is_late: Callable[[], bool]
) -> str:
    """The verdict in words that name the reading; ``schema`` is what the reader knows by it."""
    return f"{KEYS_LEFT_OUT} " * (reading == "ignored") + decided.explanation(schema, is_late)


def keys_left_out(
    considered: Decided, left_out: Decided, schema: ReadSchema, is_late: Callable[[], bool]
) -> JsonObject:
    """The document of a pair with the keys left out; ``schema`` is the one with the keys."""
    add, explanation = None, None
    if left_out.verdict == "PRIVATE":
        found, branches = considered.found, (considered.secret.branches, considered.view.branches)
        # What an envelope depends on is more than what the query does: its rows exclude nothing for certain.
        if considered.is_open:
            found = replace(found, verdict="UNKNOWN")
        add, proof = what_keys_add(found, *branches, schema.relational, is_late)
        explanation = KEYS_ADD[add]
        if add == "certain_exclusion":
            tied = replace(considered, found=proof).witness_in_words(schema)
            explanation = explained_exclusion(tied, schema.relational)
    return {
        "verdict": verdict_by("ignored", left_out),
        "method": left_out.method,
        "reason_code": left_out.reason,
        "explanation": explained_by("ignored", left_out, without_keys(schema), is_late),
        "keys_add": add,
        "keys_add_explanation": explanation,
    }


def without_keys(schema: ReadSchema) -> ReadSchema:
    """The schema as readers know it who do not know its keys."""
    return replace(schema, relational=schema.relational.without_keys())
