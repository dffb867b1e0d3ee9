"""The policy of the journey: what a release of the example's members must keep."""

from __future__ import annotations

from typing import Any, Final

from app.api.examples.form import Examples
from app.api.examples.view_checks import SECRET
from app.services.gates.policies import template


def _score(value: str, comparison: str, threshold: int) -> dict[str, Any]:
    compared = {"value": value, "comparison": comparison, "threshold": threshold}
    return {"kind": "score", **compared, "dictionary": "register"}


RELEASE: Final[dict[str, Any]] = {
    "format": "privacy-risk/policy/2",
    "name": "members-release",
    "version": 1,
    "title": "Release of the members",
    "assumes": {"attacker": "Anybody who has the census and looks for a neighbour among the members."},
    "dictionaries": [{"name": "register", "description": "Who lives where: the census."}],
    "schema": {
        "attributes": {
            "member_id": "identifier",
            "city": "quasi_identifier",
            "race": "quasi_identifier",
            "birth_date": "quasi_identifier",
            "income": "sensitive",
        },
        "patterns": {"*name*": "dropped"},
    },
    "not_covered": [
        {"columns": ["income"], "reason": "Nobody outside knows an income exactly enough to look for it."}
    ],
    "suppression_limit": 0.25,
    "requirements": [
        {
            "id": "several-people",
            "title": "Nobody of the census is picked out",
            "reason": "Two people are the least among whom an attacker can only guess.",
            "requirement": _score("min_consistent", "at_least", 2),
        },
        {
            "id": "harm",
            "title": "The expected harm is small",
            "reason": "The figure that the publisher has agreed on; no outside authority names one.",
            "requirement": _score("risk_average", "at_most", 1),
        },
        {
            "id": "use",
            "title": "The planners can work with it",
            "reason": "Below six levels kept per record the planners could not tell districts apart.",
            "requirement": _score("utility_average", "at_least", 6),
        },
        {
            "id": "small-classes",
            "title": "Nobody is alone in a class",
            "reason": "k = 2 is the least that hides anybody; files for the public take 11.",
            "severity": "warn",
            "requirement": {"kind": "privacy_model", "model": {"kind": "k_anonymity", "k": 2}},
        },
    ],
}

STRICTER: Final[dict[str, Any]] = {
    **RELEASE,
    "version": 2,
    "requirements": [
        RELEASE["requirements"][0],
        {
            **RELEASE["requirements"][1],
            "reason": "Half of what version 1 allowed, after a year of complaints.",
            "requirement": {**RELEASE["requirements"][1]["requirement"], "threshold": 0.5},
        },
        *RELEASE["requirements"][2:],
    ],
}


def _measure(measure: dict[str, Any], value: str, comparison: str, threshold: int) -> dict[str, Any]:
    compared = {"value": value, "comparison": comparison, "threshold": threshold}
    return {"kind": "measure", "measure": measure, **compared}


VIEWS: Final[dict[str, Any]] = {
    "format": "privacy-risk/policy/2",
    "name": "hospital-views",
    "version": 1,
    "title": "Views of the hospital",
    "assumes": {"attacker": "Any reader of the views, to whom patients are independent of each other."},
    "requirements": [
        {
            "id": "secrets",
            "title": "No view discloses who has cancer",
            "reason": "The hospital promised it to its patients.",
            "requirement": {
                "kind": "perfect_privacy",
                "secrets": [{**SECRET, "reason": "Nobody outside the ward may learn who has cancer."}],
            },
        }
    ],
}

POLICIES: Final[Examples] = {
    "members-release": {"summary": "what the examples' gate asks for", "value": RELEASE},
    "hospital-views": {"summary": "what views must not disclose", "value": VIEWS},
}
LINTED: Final[Examples] = {
    "members-release": {"summary": "nothing is wrong", "value": STRICTER},
    "as-searched": {
        "summary": "missing values and suppressed records treated as a search did",
        "value": {
            **RELEASE,
            "requirements": [
                *RELEASE["requirements"][:3],
                {
                    **RELEASE["requirements"][3],
                    "requirement": {
                        **RELEASE["requirements"][3]["requirement"],
                        "missing": "excluded",
                        "suppressed": "own_block",
                    },
                },
            ],
        },
    },
    "mistaken": {
        "summary": "a mistyped measure and a probability of 5",
        "value": {
            **RELEASE,
            "requirements": [
                {
                    **RELEASE["requirements"][0],
                    "requirement": _measure({"kind": "kmap", "k": 2}, "is_k_map", "equals", True),
                },
                {
                    **RELEASE["requirements"][1],
                    "requirement": _measure({"kind": "equivalence_classes"}, "unique_share", "at_most", 5),
                },
            ],
        },
    },
}
YAML_POLICIES: Final[Examples] = {
    "internal-analytics": {"summary": "a template as it stands", "value": template("internal-analytics").text}
}
YAML_BODY: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The file: YAML without anchors, aliases and tags.",
        "content": {
            "application/yaml": {"schema": {"type": "string"}, "examples": YAML_POLICIES},
            "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
        },
    }
}
