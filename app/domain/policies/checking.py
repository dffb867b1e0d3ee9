"""One requirement on its way through lint: what all kinds note in the same way."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from app.documents import closest
from app.domain.catalogue.result_values import ResultValue, found_in
from app.domain.policies.findings import Findings

if TYPE_CHECKING:
    from app.domain.policies.policy import Policy, Requirement, Scope

_VALUES_LISTED: Final = 40


@dataclass(frozen=True)
class Checked:
    """A requirement of a policy that is at ``pointer``, and what is found."""

    policy: Policy
    requirement: Requirement
    pointer: str
    found: Findings

    @property
    def at(self) -> str:
        """The place of what it asks."""
        return f"{self.pointer}/condition"

    @property
    def scope(self) -> Scope:
        """What part of the release it is about."""
        return self.requirement.scope

    def slot(self, name: str | None, pointer: str, needed_by: str | None = None) -> None:
        """Note a dictionary that no slot is, or that is needed and not named."""
        slots = [slot.name for slot in self.policy.dictionaries]
        if name is None:
            if needed_by is not None:
                self.found.error(
                    pointer, "no-dictionary", f"{needed_by} needs a dictionary.",
                    closest("", slots) if slots else "Declare a slot under dictionaries and name it here.",
                )  # fmt: skip
        elif name not in slots:
            remedy = closest(name, slots) if slots else "Declare it under dictionaries."
            self.found.error(pointer, "unknown-slot", f"There is no dictionary slot {name!r}.", remedy)

    def refuse_scope(self, why: str) -> None:
        if not self.scope.is_everything:
            self.found.error(f"{self.pointer}/scope", "unsupported-scope", why, "Leave the scope out.")

    def check_roles(self) -> None:
        """Compare the scope with the roles that the policy's own schema gives."""
        schema = self.policy.schema
        roles = {} if schema is None else schema.attributes
        for number, name in enumerate(self.scope.attributes or ()):
            if roles.get(name, "quasi_identifier") != "quasi_identifier":
                self.found.error(
                    f"{self.pointer}/scope/attributes/{number}", "wrong-role",
                    f"By the policy's schema {name!r} is no quasi-identifier.", "Name quasi-identifiers.",
                )  # fmt: skip
        groups = self.scope.groups
        if groups is not None and roles.get(groups, "sensitive") not in ("quasi_identifier", "sensitive"):
            self.found.error(
                f"{self.pointer}/scope/groups", "wrong-role",
                f"By the policy's schema {groups!r} is not disclosed.", "Name an attribute of the release.",
            )  # fmt: skip

    def value(self, path: str, values: tuple[ResultValue, ...], what: str) -> ResultValue | None:
        value = found_in(values, path)
        if value is not None:
            return dataclasses.replace(value, path=path)
        named = [f"{own.path} ({own.meaning.rstrip('.')})" for own in values[:_VALUES_LISTED]]
        near = closest(path, [own.path for own in values]).partition("There are:")[0]
        self.found.error(
            f"{self.at}/value", "unknown-value",
            f"{path!r} is no number or boolean of {what}.", f"{near}There are: {'; '.join(named)}.",
        )  # fmt: skip
        return None
