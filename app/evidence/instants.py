"""Points in time as evidence writes them: UTC with microseconds, one text per instant."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Final

_FORM: Final = "%Y-%m-%dT%H:%M:%S.%fZ"


def instant_text(at: datetime) -> str:
    """``2026-11-20T09:00:00.000000Z``; ValueError for a time without its zone."""
    if at.tzinfo is None:
        raise ValueError("a point in time needs its time zone")
    return at.astimezone(UTC).strftime(_FORM)


def instant_of(text: object) -> datetime:
    """The point in time of such a text; ValueError for any other form."""
    if not isinstance(text, str):
        raise ValueError("a point in time is a text")
    at = datetime.strptime(text, _FORM).replace(tzinfo=UTC)
    if instant_text(at) != text:
        raise ValueError("a point in time has one form")
    return at
