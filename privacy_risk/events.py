"""Server-sent events: fields line by line, an empty line ends an event, a colon starts a comment."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from privacy_risk.answers import object_of
from privacy_risk.values import RunEvent


class EventParser:
    """Takes the lines of a stream one by one and says when an event is complete."""

    def __init__(self) -> None:
        self._number, self._kind = "", "message"
        self._data: list[str] = []

    def take(self, line: str) -> RunEvent | None:
        """The event that this line completes, if it does."""
        if not line:
            event = None
            if self._data:
                event = RunEvent(self._number, self._kind, _object("\n".join(self._data)))
            self._kind, self._data = "message", []
            return event
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "id":
            self._number = value
        elif field == "event":
            self._kind = value
        elif field == "data":
            self._data.append(value)
        return None


def _object(text: str) -> Mapping[str, Any]:
    """The JSON object that an event's data are; AnswerError for anything else."""
    try:
        return object_of(json.loads(text))
    except ValueError:
        return object_of(None)
