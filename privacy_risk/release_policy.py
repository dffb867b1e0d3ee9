"""A gate policy that asks of the next release what was asked of this one."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

from privacy_risk.arguments import InvalidArgument
from privacy_risk.columns import Roles
from privacy_risk.loading import content_name
from privacy_risk.values import Json

_ATTACKER: Final = (
    "Anybody who knows the quasi-identifiers of a person in the table, and that the person is in it."
)
_REASONS: Final[Mapping[str, str]] = {
    "k": "So many {unit} share every combination of quasi-identifiers; asked for of the release.",
    "l": "So many sensitive values are in every class; asked for of the release.",
    "t": "No class may tell more of the sensitive values than this; asked for of the release.",
}

_TITLES: Final[Mapping[str, str]] = {"k": "k-anonymity", "l": "distinct ℓ-diversity", "t": "t-closeness"}
_SIGNS: Final[Mapping[str, str]] = {"k": "k", "l": "ℓ", "t": "t"}


def persons_per_value(dataset: Json, k: int) -> dict[str, int]:
    """Sensitive amounts that have more levels than as it is and nothing: each value is to be of k persons."""
    return {
        own["name"]: k
        for own in dataset["attributes"]
        if (own["role"], own["type"]) == ("sensitive", "number") and own["height"] > 1
    }


def policy_of(privacy: Sequence[Json], roles: Roles, max_suppressed: float) -> dict[str, Any]:
    """The policy in the format privacy-risk/policy/2; its name is made of what it asks.

    ``privacy`` are criteria of k-anonymity, then of distinct ℓ-diversity and t-closeness; ``max_suppressed``
    is a share of the records. Why sensitive columns may leave is left to be written.
    """
    unit = "persons" if roles.of("person") else "records"
    requirements = [_criterion(number, dict(own), unit) for number, own in enumerate(privacy, start=1)]
    kept = roles.of("quasi_identifier", "sensitive", "person")
    asked: dict[str, Any] = {
        "title": f"Release with at least {privacy[0]['k']} {unit} in every class",
        "assumes": {"attacker": _ATTACKER},
        "schema": {"attributes": {own.name: own.role if own.name in kept else "dropped" for own in roles}},
        "suppression_limit": float(max_suppressed),
        "requirements": requirements,
    }
    if roles.rows_are is not None:
        asked["schema"]["rows_are"] = roles.rows_are
    # Also those that a criterion is about: it bounds what a class tells of them, not who is told by them.
    if roles.of("sensitive"):
        asked["not_covered"] = [{"columns": list(roles.of("sensitive")), "reason": ""}]
    return with_reasons({"format": "privacy-risk/policy/2", "name": "", "version": 1, **asked}, {})


def with_reasons(policy: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """The generated policy with these reasons why columns may leave, and the name of what it then asks.

    InvalidArgument for a column that the policy does not let leave as it is.
    """
    written = {name: own["reason"] for own in policy.get("not_covered", ()) for name in own["columns"]}
    for name in reasons.keys() - written.keys():
        remedy = f"Reasons are asked for: {', '.join(written) or 'no column'}."
        raise InvalidArgument("reasons", f"The policy lets no column {name!r} leave as it is.", remedy)
    written.update(reasons)
    asked = {key: own for key, own in policy.items() if key not in ("format", "name", "version")}
    if written:
        asked["not_covered"] = [
            {"columns": [name for name in written if written[name] == reason], "reason": reason}
            for reason in dict.fromkeys(written.values())
        ]
    return {**policy, "name": content_name("release", asked), **asked}


def policy_text(policy: Json, is_json: bool = False) -> str:
    """The policy as a file's text: YAML, or JSON."""
    if is_json:
        return json.dumps(policy, indent=2, ensure_ascii=False) + "\n"
    import yaml

    return yaml.safe_dump(policy, sort_keys=False, allow_unicode=True, width=110)


def _criterion(number: int, model: dict[str, Any], unit: str) -> dict[str, Any]:
    kind = model["kind"]
    of = f" of {model['attribute']}" if "attribute" in model else ""
    letter = next(letter for letter in ("k", "l", "t") if letter in model)
    return {
        "id": f"{kind.replace('_', '-')}-{number}",
        "title": f"{_TITLES[letter]}{of}, {_SIGNS[letter]} = {model[letter]:g}",
        "reason": _REASONS[letter].format(unit=unit),
        "requirement": {"kind": "privacy_model", "model": model},
    }
