"""A file that describes tables, read part by part; faults are told by the file, the table and the key."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from app.domain.errors import InvalidInput, joined

Json = dict[str, Any]


class Section:
    """A table of the file, which knows where it stands: ``pointer`` begins with the file's name."""

    def __init__(self, content: object, pointer: str, name: str = "The file") -> None:
        if not isinstance(content, dict):
            raise InvalidInput.of(
                pointer, "wrong-type", f"{name} must be a table of members.", f"Write {_heading(name)}."
            )
        self.content: Json = content
        self.pointer = pointer
        self._name = name

    def place(self, key: str) -> str:
        """The pointer to a key."""
        return joined(self.pointer, key)

    def section(self, key: str, required: bool = True) -> Section:
        """The table below a key, empty if it may be missing and is; InvalidInput if it may not."""
        content = self.content.get(key, {})
        if required and key not in self.content:
            raise self._missing(key)
        return Section(content, self.place(key), key)

    def text(self, key: str) -> str:
        """The text at a key; InvalidInput if there is none."""
        if key not in self.content:
            raise self._missing(key)
        if not isinstance(self.content[key], str):
            raise self.wrong(key, f"{key} must be a text.", f'Write {key} = "…".')
        return str(self.content[key])

    def optional(self, key: str) -> str | None:
        """The text at a key, None if it is left out."""
        return self.text(key) if key in self.content else None

    def choice(self, key: str, allowed: Sequence[str], usual: str) -> str:
        """One of the allowed texts; the usual one if it is left out."""
        given = self.content.get(key, usual)
        if given not in allowed:
            raise self.wrong(key, f"{given!r} is no {key}.", f"Write one of {', '.join(allowed)}.")
        return str(given)

    def wrong(self, key: str, fault: str, remedy: str) -> InvalidInput:
        """The refusal of what stands at a key."""
        return InvalidInput.of(self.place(key), "wrong-value", fault, remedy)

    def _missing(self, key: str) -> InvalidInput:
        return InvalidInput.of(self.place(key), "missing", f"{self._name} lacks {key}.", "Add it.")

    def only(self, *keys: str) -> Json:
        """The members, none of which may be another than these."""
        unknown = sorted(self.content.keys() - set(keys))
        if unknown:
            raise InvalidInput.of(
                self.place(unknown[0]),
                "unknown-member",
                f"{self._name} has no member {unknown[0]!r}.",
                f"Allowed are {', '.join(keys)}.",
            )
        return self.content


def read_tables_file(path: Path) -> Section:
    """What the file holds; InvalidInput if it cannot be read."""
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except FileNotFoundError:
        raise InvalidInput.of(
            str(path), "unreadable", f"There is no file {path}.", "The command describe writes one."
        ) from None
    except OSError as error:
        raise InvalidInput.of(str(path), "unreadable", f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidInput.of(str(path), "malformed", f"{path} cannot be parsed: {error}.") from error
    return Section(content, str(path))


def _heading(name: str) -> str:
    return "named members" if name == "The file" else f"[…{name}] with its members below it"
