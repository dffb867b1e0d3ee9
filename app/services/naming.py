"""Names of resources: chosen by the caller, accepted wherever an id is."""

from __future__ import annotations

import re
from typing import Final

from app.domain.errors import InvalidInput

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def check_name(name: str, pointer: str = "/name") -> str:
    """The name if it can be one: 1 to 100 letters, digits, dots, hyphens, underscores."""
    if _NAME.fullmatch(name) is None:
        raise InvalidInput.of(
            pointer,
            "invalid-name",
            "A name has 1 to 100 characters: ASCII letters, digits, '.', '_' and '-', "
            "the first a letter or digit.",
            "Choose another name.",
        )
    return name
