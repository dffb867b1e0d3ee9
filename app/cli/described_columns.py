"""The columns of a table as a file describes them: what each is to a release, and how its cells are read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from app.cli.tables_file import Json, Section
from app.domain.errors import InvalidInput
from app.domain.hierarchies.cell_formats import DATE_FORMATS, NUMBER_FORMATS

ROLES: Final = ("quasi_identifier", "sensitive", "person", "weight", "other")
"""What is described as other is not loaded. An identifier is named for the table, beside its file."""
TYPES: Final = ("categorical", "text", "number", "date")
_MEMBERS: Final = (
    "role", "type", "format", "on_unreadable", "hierarchy", "on_unknown", "on_missing", "weight",
    "proposed_level",
)  # fmt: skip


@dataclass(frozen=True)
class Attribute:
    """A disclosed attribute; ``hierarchy`` is a file, a definition, or None for the flat one.

    ``has_weight`` says that the weight was given, and is not the usual one. ``place`` is where a file
    describes it, if one does.
    """

    name: str
    declaration: Json
    hierarchy: Path | Json | None
    weight: float | str
    proposed_level: int
    has_weight: bool = False
    place: str | None = field(default=None, compare=False)

    @property
    def hierarchy_name(self) -> str:
        """The name that the hierarchy is created under."""
        return self.name.replace("_", "-")


def attributes_of(sections: Section, folder: Path) -> tuple[Attribute, ...]:
    """The attributes that are loaded; InvalidInput for what is described wrongly, or if there is none."""
    described = [_attribute(name, sections.section(name), folder) for name in sections.content]
    taken = tuple(own for own in described if own.declaration["role"] != "other")
    if not taken:
        raise InvalidInput.of(
            sections.pointer,
            "empty",
            "No column has a role in a release.",
            'Describe one with role = "quasi_identifier" or "sensitive".',
        )
    return taken


def _attribute(name: str, section: Section, folder: Path) -> Attribute:
    content = section.only(*_MEMBERS)
    if content.get("role") == "identifier":
        raise section.wrong(
            "role",
            "The column that names the entity is named beside the table's file.",
            f'Leave {name} out here, and write identifier = "{name}" above the columns.',
        )
    return Attribute(
        name=name,
        declaration=_declaration(name, section),
        hierarchy=_hierarchy(section, folder),
        weight=_weight(section),
        proposed_level=_level(section),
        has_weight="weight" in content,
        place=section.pointer,
    )


def _declaration(name: str, section: Section) -> Json:
    """The attribute as a dataset declares it, without its hierarchy."""
    type_ = section.choice("type", TYPES, "categorical")
    declaration: Json = {
        "name": name,
        "type": type_,
        "role": section.choice("role", ROLES, "quasi_identifier"),
    }
    if "on_unknown" in section.content:
        declaration["on_unknown"] = section.choice("on_unknown", ("refuse", "attach", "missing"), "refuse")
    if "on_missing" in section.content:
        declaration["on_missing"] = section.choice("on_missing", ("refuse", "own_person"), "refuse")
    formats = {"number": NUMBER_FORMATS, "date": DATE_FORMATS}.get(type_)
    for key in ("format", "on_unreadable"):
        if key in section.content and formats is None:
            raise section.wrong(key, f"{key} is for numbers and dates.", "Leave it out, or change type.")
    if formats is not None and "format" in section.content:
        declaration["format"] = section.choice("format", [own.value for own in formats], "")
    if "on_unreadable" in section.content:
        declaration["on_unreadable"] = section.choice("on_unreadable", ("refuse", "missing"), "refuse")
    return declaration


def _hierarchy(section: Section, folder: Path) -> Path | Json | None:
    given: Any = section.content.get("hierarchy")
    if given is None:
        return None
    if isinstance(given, str):
        path = folder / given
        if not path.is_file():
            raise section.wrong("hierarchy", f"There is no file {path}.", "Paths are relative to this file.")
        return path
    if not isinstance(given, Mapping) or not isinstance(given.get("kind"), str):
        raise section.wrong(
            "hierarchy",
            "A hierarchy is a file or a definition.",
            'Write hierarchy = "FILE" or hierarchy = { kind = "…", … }.',
        )
    return dict(given)


def _weight(section: Section) -> float | str:
    given: Any = section.content.get("weight", 1.0)
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given != "inf" and not (is_number and math.isfinite(given) and given >= 0):
        raise section.wrong("weight", "It is no weight.", 'Write a number from 0 on, or "inf".')
    return float(given) if is_number else str(given)


def _level(section: Section) -> int:
    given: Any = section.content.get("proposed_level", 0)
    if not isinstance(given, int) or isinstance(given, bool) or given < 0:
        raise section.wrong("proposed_level", "It is no level.", "Write 0, 1, 2, ….")
    return given
