"""Names that somebody gives to what they make."""

from __future__ import annotations

import re
from typing import Final

from app.web.forms import Fault, Form

_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")

SAID: Final = "Letters, digits, dots, hyphens and underscores; up to 100."


def name_faults(form: Form, field: str = "name") -> list[Fault]:
    """What is wrong with the name in a field, in words rather than as a pattern."""
    name = form.text(field)
    if _NAME.fullmatch(name):
        return []
    said = "This is no name that a resource can have." if name else "There is no name."
    return [Fault(field, said, SAID)]
