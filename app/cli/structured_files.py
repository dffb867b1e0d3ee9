"""Files that people write documents in: YAML, or JSON, which mean the same."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from app.domain.errors import InvalidInput
from app.services.datasets.structured_text import read_json, read_yaml
from app.services.fingerprints import plain

Json = dict[str, Any]


def read_structured(path: Path) -> Json:
    """The object that the file holds, with infinity as ``"inf"``; InvalidInput names the file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidInput.of(str(path), "unreadable", f"{path} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise InvalidInput.of(str(path), "malformed", f"{path} is no text in UTF-8.") from error
    try:
        document = plain((read_json if path.suffix == ".json" else read_yaml)(text).value)
    except InvalidInput as error:
        raise InvalidInput(
            [replace(fault, pointer=f"{path}{fault.pointer}") for fault in error.faults]
        ) from None
    if not isinstance(document, dict):
        raise InvalidInput.of(str(path), "wrong-type", f"{path} must hold an object with named members.")
    return document
