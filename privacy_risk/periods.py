"""When what is listed was created, as the service takes it."""

from __future__ import annotations

from datetime import datetime


def period(created_after: datetime | None, created_before: datetime | None) -> dict[str, str | None]:
    """The parameters of a list: from the first moment on, up to but without the second."""
    return {"created_after": _said(created_after), "created_before": _said(created_before)}


def _said(moment: datetime | None) -> str | None:
    if moment is not None and moment.tzinfo is None:
        raise ValueError("A moment needs its time zone, such as datetime.now(UTC) has.")
    return None if moment is None else moment.isoformat()
