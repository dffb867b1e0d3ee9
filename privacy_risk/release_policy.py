"""A gate policy that asks of the next release what was asked of this one."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from privacy_risk.arguments import InvalidArgument
from privacy_risk.columns import Roles
from privacy_risk.loading import content_name
from privacy_risk.usual import NUMBERS, number_of
from privacy_risk.values import Json

_ATTACKER: Final = (
    "Anybody who knows the quasi-identifiers of a person in the table, and that the person is in it."
)
_REASONS: Final[Mapping[str, str]] = {
    "k": "So many {unit} share every combination of quasi-identifiers; asked for of the release.",
    "l": "So many sensitive values are in every class; asked for of the release.",
    "t": "No class may tell more of the sensitive values than this; asked for of the release.",
    "beta": "No class may make a sensitive value more likely than this; asked for of the release.",
}

_FILE: Final = "file"
"""Kind of a policy's hierarchy that is a file of rows beside it."""
_MOST_ROWS: Final = 200
"""Rows of a hierarchy that a policy's file holds itself."""
_TITLES: Final[Mapping[str, str]] = {
    "k": "k-anonymity",
    "l": "distinct ℓ-diversity",
    "t": "t-closeness",
    "beta": "β-likeness",
}


def persons_per_value(dataset: Json, k: int) -> dict[str, int]:
    """Sensitive amounts that have more levels than as it is and nothing: each value is to be of k persons."""
    return {
        own["name"]: k
        for own in dataset["attributes"]
        if (own["role"], own["type"]) == ("sensitive", "number") and own["height"] > 1
    }


def policy_of(objective: Json, roles: Roles, reading: Json) -> dict[str, Any]:
    """The policy in the format privacy-risk/policy/2; its name is made of what it asks.

    The ``objective`` asks for k-anonymity, then for distinct ℓ-diversity, t-closeness and β-likeness;
    ``reading`` is how the dataset is read, as the service tells it. Why sensitive columns may
    leave as they are is left to be written; amounts leave in bands of several persons, and single nobody out.
    """
    privacy = objective["privacy"]
    unit = "persons" if roles.of("person") else "records"
    requirements = [_criterion(number, dict(own), unit) for number, own in enumerate(privacy, start=1)]
    kept = roles.of("quasi_identifier", "sensitive", "person")
    asked: dict[str, Any] = {
        "title": f"Release with at least {privacy[0]['k']} {unit} in every class",
        "assumes": {"attacker": _ATTACKER},
        "schema": {"attributes": {own.name: own.role if own.name in kept else "dropped" for own in roles}},
        "suppression_limit": float(objective["suppression_limit"]),
        "requirements": requirements,
    }
    if roles.rows_are is not None:
        asked["schema"]["rows_are"] = roles.rows_are
    columns = {name: own for name, own in reading["columns"].items() if name in kept}
    asked["schema"] |= {key: own for key, own in {**reading, "columns": columns}.items() if own}
    # Also those that a criterion is about: it bounds what a class tells of them, not who is told by them.
    banded = objective.get("persons_per_value") or {}
    if as_they_are := [name for name in roles.of("sensitive") if name not in banded]:
        asked["not_covered"] = [{"columns": as_they_are, "reason": ""}]
    return with_reasons({"format": "privacy-risk/policy/2", "name": "", "version": 1, **asked}, {})


def with_reasons(policy: Mapping[str, Any], reasons: Mapping[str, str]) -> dict[str, Any]:
    """The generated policy with these reasons why columns may leave, and the name of what it then asks.

    InvalidArgument for a column that the policy does not let leave as it is.
    """
    written = {name: own["reason"] for own in policy.get("not_covered", ()) for name in own["columns"]}
    sensitive = [name for name, role in policy["schema"]["attributes"].items() if role == "sensitive"]
    for name in sorted(reasons.keys() - {*sensitive}):
        remedy = f"Reasons may be given for: {', '.join(sensitive) or 'no column'}."
        raise InvalidArgument("reasons", f"The policy lets no column {name!r} leave as it is.", remedy)
    written.update(reasons)
    asked = {key: own for key, own in policy.items() if key not in ("format", "name", "version")}
    if written:
        asked["not_covered"] = [
            {"columns": [name for name in written if written[name] == reason], "reason": reason}
            for reason in dict.fromkeys(written.values())
        ]
    return {**policy, "name": content_name("release", asked), **asked}


def hierarchies_of(policy: Mapping[str, Any], folder: Path) -> dict[str, dict[str, Any] | Path]:
    """Column → its hierarchy: a definition, or a file of rows beside the policy's, in this folder.

    InvalidArgument for a file that is not there, or is another one.
    """
    found: dict[str, dict[str, Any] | Path] = {}
    for name, own in readings_of(policy).items():
        definition = own.get("hierarchy")
        if isinstance(definition, Mapping) and definition.get("kind") == _FILE:
            found[name] = _file_of(name, definition, folder)
        elif isinstance(definition, Mapping):
            found[name] = dict(definition)
    return found


def readings_of(policy: Mapping[str, Any]) -> dict[str, Json]:
    """Column → how it is read, of a policy whose schema says it."""
    schema = policy.get("schema")
    columns = schema.get("columns") if isinstance(schema, Mapping) else None
    said = columns if isinstance(columns, Mapping) else {}
    return {name: own for name, own in said.items() if isinstance(own, Mapping)}


def file_of(policy: Mapping[str, Any], member: str = "file") -> dict[str, Any]:
    """How the table's file is read, of a policy whose schema says it; or that of a ``release``."""
    schema = policy.get("schema")
    said = schema.get(member) if isinstance(schema, Mapping) else None
    return dict(said) if isinstance(said, Mapping) else {}


def _file_of(column: str, named: Json, folder: Path) -> Path:
    name, remedy = str(named.get("file")), "Put the file that was saved with the policy beside it."
    path = folder / name
    if Path(name).name != name or not path.is_file():
        raise InvalidArgument(
            "policy", f"The hierarchy of {column!r} is the file {name}: it is not there.", remedy
        )
    if hashlib.sha256(path.read_bytes()).hexdigest() != named.get("sha256"):
        fault = f"The hierarchy of {column!r} is the file {name}: it is not the one that the policy names."
        raise InvalidArgument("policy", fault, remedy)
    return path


def save(policy: Mapping[str, Any], reasons: Mapping[str, str], file: Path) -> None:
    """Write the policy with these reasons: JSON if the file is called so, else YAML.

    Long rows of hierarchies are written to files beside it, which it names with their hashes.
    """
    columns = {name: dict(own) for name, own in readings_of(policy).items()}
    for place, own in enumerate(columns.values(), start=1):
        rows = own.get("hierarchy", {}).get("rows", ())
        if len(rows) > _MOST_ROWS:
            text = io.StringIO(newline="")
            csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
            content, name = text.getvalue().encode(), f"{file.stem}.hierarchy-{place}.csv"
            (file.parent / name).write_bytes(content)
            own["hierarchy"] = {"kind": _FILE, "file": name, "sha256": hashlib.sha256(content).hexdigest()}
    schema = {**policy["schema"], **({"columns": columns} if columns else {})}
    written = with_reasons({**policy, "schema": schema}, reasons)
    file.write_text(policy_text(written, file.suffix == ".json"), encoding="utf-8")


def policy_text(policy: Json, is_json: bool = False) -> str:
    """The policy as a file's text: YAML, or JSON."""
    if is_json:
        return json.dumps(policy, indent=2, ensure_ascii=False) + "\n"
    import yaml

    return yaml.safe_dump(policy, sort_keys=False, allow_unicode=True, width=110)


def _criterion(number: int, model: dict[str, Any], unit: str) -> dict[str, Any]:
    kind = model["kind"]
    of = f" of {model['attribute']}" if "attribute" in model else ""
    letter = number_of(model)
    return {
        "id": f"{kind.replace('_', '-')}-{number}",
        "title": f"{_TITLES[letter]}{of}, {NUMBERS[letter]} = {model[letter]:.15g}",
        "reason": _REASONS[letter].format(unit=unit),
        "requirement": {"kind": "privacy_model", "model": model},
    }
