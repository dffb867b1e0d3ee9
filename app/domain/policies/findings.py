"""What was found out about a policy: errors, which make it unusable, and warnings, which do not."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from app.domain.errors import Fault, InvalidInput
from app.domain.policies.formats import FORMAT_2, Format


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


def _place(fault: Fault) -> tuple[tuple[int, int | str], ...]:
    parts = fault.pointer.split("/")
    return tuple((0, int(part)) if part.isdecimal() else (1, part) for part in parts)
