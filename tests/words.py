"""Words that once stood for what the field calls otherwise, and where a text or a name uses one of them.

Names of fields, options and codes are not prose: clients and stored documents hold them. In texts they are
passed over where they stand between backquotes, in code, or as a text without blanks; in code those pass that
:data:`CONTRACT` lists.
"""

from __future__ import annotations

import re
from functools import cache

GONE = {
    r"withh(?:old|olds|olding|eld)": "suppress",
    r"coars(?:e|er|est|en|ens|ened|ening|ely)": "generalise, more general",
    r"demand(?:s|ed|ing)?": "require; requirement, criterion or condition",
    r"(?:disclosed|shown|those) alike|disclosed like": "equivalence class",
    r"(?:and|their|its|with) kin|\w+'s kin": "the models that are meant",
    r"(?:best|all) compromises?|one compromise": "Pareto-optimal rules",
    r"harm profiles?|profiles? of harm|harm of success": "sensitivity",
    r"(?:chance|probability) of being named": "re-identification probability",
    r"people whom a \w*\s?record may be|whom? (?:a|the) record may be (?:about|of)": "consistent entities",
    r"(?:hold|holds|held|holding)\b[^.;:]{0,60}?\bagainst": "compare with, evaluate by",
    r"missing [\w -]{0,24}(?:is|are) (?:like|read as)": "a missing value matches",
    r"readings? of (?:a )?missing|under (?:this|that|every|each) reading": "matching of missing values",
    r"interface for programs": "API",
    r"leaves? the house|left the house": "is published, release",
    r"rules? for the table": "table-level rule",
    r"concluded? from": "posterior belief; follows from",
    r"lacks? (?:a|an|any|every|no|one of the|the) quasi-identifiers?": "has it missing",
}
"""Words that are gone → what to say."""

ALLOWED = {
    "what each asks its demand": "what format 1 of policies calls it",
    "made on demand": "an idiom of programming",
    "levels on demand": "an idiom of programming",
}
"""Phrases in which such a word stands with a reason."""

GONE_FROM_NAMES = {
    "(?:least|fewest|shown|records|classes) alike": "equivalence class; least class size",
}
"""What is plain English in a sentence but in a name stood for a term of the field → what to say."""

FIELD = "a field of results, which clients and stored documents read"
CONTRACT = {
    "cells_withheld": FIELD,
    "infinite_if_withheld": FIELD,
    "kl_withheld": FIELD,
    "risk_if_all_withheld": FIELD,
    "risk_if_withheld": FIELD,
    "withheld_for_missing": FIELD,
    "demand": "the field of format 1 of policies, and of verdicts, for the condition of a requirement",
}
"""Names in code that hold such a word with a reason: requests, answers or stored documents have them."""

PATTERN = re.compile(rf"\b(?:{'|'.join(GONE)})\b", re.IGNORECASE)
IN_NAMES = re.compile(rf"\b(?:{'|'.join([*GONE, *GONE_FROM_NAMES])})\b", re.IGNORECASE)
PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
CODE = re.compile(r"```\w*|``[^`]+``|`[^`]+`|\{[^{}]*\}")


def found(text: str) -> list[str]:
    """The phrases of a text that hold a word that is gone, with what is around them."""
    plain = CODE.sub("…", " ".join(text.split()))
    for phrase in ALLOWED:
        plain = plain.replace(phrase, "…")
    return [plain[max(0, one.start() - 40) : one.end() + 40] for one in PATTERN.finditer(plain)]


@cache
def is_gone(name: str) -> bool:
    """Whether a name in code, in whatever case, holds a word that is gone and is none of the contract."""
    return name not in CONTRACT and IN_NAMES.search(" ".join(PARTS.findall(name))) is not None
