"""What changed between two policies, and whether what was released before may be refused now.

Requirements are known by their ids. *Stricter* is said only where every release that meets the new one is
sure to meet the old one, *looser* the other way round; everything else is *different*.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from app.domain.policies.condition import Condition
from app.domain.policies.policy import Policy, Requirement, pinned

Effect = Literal["stricter", "looser", "different", "none"]
Kind = Literal["added", "removed", "changed"]

_WORDING: Final = frozenset(
    {
        "format",
        "name",
        "version",
        "title",
        "reason",
        "description",
        "attacker",
        "suppression_limit",
        "outline",
    }
)
"""Fields of which no outcome depends: a suppression limit is about suggested changes, an outline about
reports.
"""


@dataclass(frozen=True)
class FieldChange:
    """One field with what it was and what it is, as plain values; None where it is not there."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True)
class PartChange:
    """A requirement, a dictionary slot or the head of the policy (``id`` empty) that is not what it was."""

    part: Literal["policy", "dictionary", "criterion"]
    id: str
    kind: Kind
    effect: Effect
    fields: tuple[FieldChange, ...] = ()


@dataclass(frozen=True)
class Difference:
    """All changes from one policy to another, and what they amount to."""

    old: tuple[str, int]
    new: tuple[str, int]
    effect: Effect
    changes: tuple[PartChange, ...]

    def text(self) -> str:
        """A line per change, for people."""
        lines = [f"{self.old[0]}@{self.old[1]} -> {self.new[0]}@{self.new[1]}: {_SAID[self.effect]}"]
        for change in self.changes:
            name = f"{change.part} {change.id}".rstrip()
            lines.append(f"  {change.effect:<9}  {name} {change.kind}")
            for own in change.fields:
                lines.append(f"             {own.field}: {_shown(own.before)} -> {_shown(own.after)}")
        return "\n".join(lines)


_SAID: Final[Mapping[Effect, str]] = {
    "stricter": "stricter; what passed before may fail",
    "looser": "looser; what failed before may pass",
    "different": "different; neither is sure to be the stricter one",
    "none": "the same is judged",
}


def difference(old: Policy, new: Policy) -> Difference:
    """What changed from the old policy to the new one."""
    old, new = pinned(old, as_before=True), pinned(new, as_before=True)
    changes = [*_head(old, new), *_slots(old, new), *_requirements(old, new)]
    effect = together(change.effect for change in changes)
    return Difference((old.name, old.version), (new.name, new.version), effect, tuple(changes))


def together(effects: Iterable[Effect]) -> Effect:
    """What several changes amount to."""
    found = set(effects) - {"none"}
    if not found:
        return "none"
    return found.pop() if len(found) == 1 else "different"


def _head(old: Policy, new: Policy) -> list[PartChange]:
    fields = _changed(_head_fields(old), _head_fields(new))
    if not fields:
        return []
    judged = [own for own in fields if own.field.partition(".")[0] not in _WORDING]
    return [PartChange("policy", "", "changed", "different" if judged else "none", fields)]


def _head_fields(policy: Policy) -> dict[str, Any]:
    return {
        "format": policy.format.name,
        "name": policy.name,
        "version": policy.version,
        "title": policy.title,
        "description": policy.description,
        "attacker": policy.assumes.attacker,
        **{f"options.{name}": own for name, own in policy.assumes.options.items()},
        **_schema_fields(policy),
        **{f"not_covered.{name}": own.reason for own in policy.not_covered for name in own.columns},
        "singled_out_share": policy.singled_out_share,
        "coverage_version": policy.coverage_version,
        "suppression_limit": policy.suppression_limit,
        **{f"outline.{own.title}": dataclasses.asdict(own) for own in policy.outline},
    }


def _schema_fields(policy: Policy) -> dict[str, Any]:
    """Roles by column and by pattern; an empty schema, which nothing passes, is told from none."""
    schema = policy.schema
    if schema is None:
        return {}
    return {
        "schema": "draft" if schema.is_draft else "exclusive",
        **{f"schema.{name}": role for name, role in schema.attributes.items()},
        **{f"schema.patterns.{name}": role for name, role in schema.patterns.items()},
        "schema.to_confirm": schema.to_confirm,
        "schema.rows_are": schema.rows_are,
        "schema.file": dataclasses.asdict(schema.file),
        "schema.release": dataclasses.asdict(schema.release),
        **{f"schema.columns.{name}": dataclasses.asdict(own) for name, own in schema.columns.items()},
    }


def _slots(old: Policy, new: Policy) -> list[PartChange]:
    before, after = ({own.name: own for own in policy.dictionaries} for policy in (old, new))
    found: list[PartChange] = []
    for name in [*before, *(name for name in after if name not in before)]:
        if name not in after:
            found.append(PartChange("dictionary", name, "removed", "different"))
        elif name not in before:
            found.append(PartChange("dictionary", name, "added", "different"))
        elif fields := _changed(dataclasses.asdict(before[name]), dataclasses.asdict(after[name])):
            wording = all(own.field in _WORDING for own in fields)
            effect: Effect = "none" if wording else "different"
            found.append(PartChange("dictionary", name, "changed", effect, fields))
    return found


def _requirements(old: Policy, new: Policy) -> list[PartChange]:
    before, after = ({own.id: own for own in policy.requirements} for policy in (old, new))
    found: list[PartChange] = []
    for id_ in [*before, *(id_ for id_ in after if id_ not in before)]:
        if id_ not in after:
            found.append(PartChange("criterion", id_, "removed", "looser"))
        elif id_ not in before:
            found.append(PartChange("criterion", id_, "added", "stricter"))
        elif fields := _changed(_requirement_fields(before[id_]), _requirement_fields(after[id_])):
            effect = _effect(before[id_], after[id_])
            found.append(PartChange("criterion", id_, "changed", effect, fields))
    return found


def _requirement_fields(requirement: Requirement) -> dict[str, Any]:
    return {
        "title": requirement.title,
        "reason": requirement.reason,
        "severity": requirement.severity,
        "scope.attributes": requirement.scope.attributes,
        "scope.groups": requirement.scope.groups,
        "demand": type(requirement.condition).__name__.removesuffix("Condition"),
        **requirement.condition.fields,
    }


def _effect(old: Requirement, new: Requirement) -> Effect:
    severity: Effect = "none"
    if old.severity != new.severity:
        severity = "stricter" if new.severity == "block" else "looser"
    one: Condition = old.condition
    other: Condition = new.condition
    if old.scope != new.scope or type(one) is not type(other):
        return "different"
    at_least_as_strict = one == other or other.as_strict_as(one)
    at_most_as_strict = one == other or one.as_strict_as(other)
    judged: Effect = "none" if at_least_as_strict else "different"
    if at_least_as_strict != at_most_as_strict:
        judged = "stricter" if at_least_as_strict else "looser"
    return together((severity, judged))


def _changed(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[FieldChange, ...]:
    names = [*before, *(name for name in after if name not in before)]
    found = (FieldChange(name, before.get(name), after.get(name)) for name in names)
    return tuple(own for own in found if own.before != own.after)


def _shown(value: object) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
