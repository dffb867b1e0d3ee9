"""What was found out about a policy: errors, which make it unusable, and warnings, which do not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from app.documents import closest
from app.domain.catalogue.result_values import ResultValue, found_in
from app.domain.errors import Fault, InvalidInput
from app.domain.policies.formats import FORMAT_2, Format

if TYPE_CHECKING:
    from app.domain.policies.policy import Policy, Requirement, Scope

_VALUES_LISTED: Final = 40


@dataclass(frozen=True)
class Lint:
    """All that can be said of a policy without data, in the order of its text."""

    errors: tuple[Fault, ...]
    warnings: tuple[Fault, ...]


class Findings:
    """Collects what is found."""

    def __init__(self) -> None:
        self._errors: list[Fault] = []
        self._warnings: list[Fault] = []

    def error(self, pointer: str, code: str, message: str, remedy: str = "") -> None:
        """Note what makes the policy unusable."""
        self._errors.append(Fault(pointer, code, message, remedy))

    def warn(self, pointer: str, code: str, message: str, remedy: str = "") -> None:
        """Note what is allowed but hardly meant."""
        self._warnings.append(Fault(pointer, code, message, remedy))

    def has_error_in(self, pointer: str) -> bool:
        """Whether an error was noted at a place or inside it."""
        return any(own.pointer == pointer or own.pointer.startswith(f"{pointer}/") for own in self._errors)

    def has_warning(self, pointer: str, code: str) -> bool:
        """Whether a warning of this kind was noted at this very place."""
        return any((own.pointer, own.code) == (pointer, code) for own in self._warnings)

    @contextlib.contextmanager
    def refusals(self) -> Iterator[None]:
        """Note the faults that reading a part raises, and go on."""
        try:
            yield
        except InvalidInput as error:
            self._errors += error.faults

    def lint(self, form: Format = FORMAT_2) -> Lint:
        """All of it, by place in a document of a format."""
        errors, warnings = (
            sorted((replace(own, pointer=form.place(own.pointer)) for own in noted), key=_place)
            for noted in (self._errors, self._warnings)
        )
        return Lint(tuple(errors), tuple(warnings))


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
        """The value at a path; None, and noted, if there is none."""
        value = found_in(values, path)
        if value is not None:
            return replace(value, path=path)
        named = [f"{own.path} ({own.meaning.rstrip('.')})" for own in values[:_VALUES_LISTED]]
        near = closest(path, [own.path for own in values]).partition("There are:")[0]
        self.found.error(
            f"{self.at}/value", "unknown-value",
            f"{path!r} is no number or boolean of {what}.", f"{near}There are: {'; '.join(named)}.",
        )  # fmt: skip
        return None


def _place(fault: Fault) -> tuple[tuple[int, int | str], ...]:
    parts = fault.pointer.split("/")
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)
