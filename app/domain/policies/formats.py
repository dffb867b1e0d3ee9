"""The formats of policy documents: what each calls a policy's requirements.

Format 1 is read for ever, and a policy is written in the format that it came in: its hash, and that of all
evidence which names it, rests on its text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True)
class Format:
    """A format of documents: its name, and the fields of the requirements and of what each of them asks."""

    name: str
    requirements: str
    condition: str

    def place(self, pointer: str) -> str:
        """Where documents have what a policy has at a JSON pointer such as ``/requirements/0/condition``."""
        parts = pointer.split("/")
        if parts[1:2] == ["requirements"]:
            parts[1] = self.requirements
            if parts[3:4] == ["condition"]:
                parts[3] = self.condition
        return "/".join(parts)

    def name_of(self, field: str) -> str | None:
        """What this format calls a field that another one calls otherwise; None if none does."""
        for other in FORMATS:
            for theirs, own in ((other.requirements, self.requirements), (other.condition, self.condition)):
                if field == theirs != own:
                    return own
        return None

    def conditions(self, document: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
        """What the requirements of a document ask, one by one."""
        return [own.get(self.condition) or {} for own in document.get(self.requirements) or ()]


FORMAT_1: Final = Format("privacy-risk/policy/1", "criteria", "demand")
FORMAT_2: Final = Format("privacy-risk/policy/2", "requirements", "requirement")
FORMATS: Final = (FORMAT_1, FORMAT_2)


def format_of(document: Mapping[str, Any]) -> Format:
    """The format of a document; of one that names none that is known, the one whose list it has."""
    named = next((own for own in FORMATS if own.name == document.get("format")), None)
    if named is not None:
        return named
    return (
        FORMAT_1 if FORMAT_1.requirements in document and FORMAT_2.requirements not in document else FORMAT_2
    )
