"""What the service answers, as frozen values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from privacy_risk.answers import number_in, text_in

Json = Mapping[str, Any]
"""A JSON object."""

FINAL_STATES = frozenset({"succeeded", "failed", "cancelled", "expired"})


@dataclass(frozen=True)
class Resource:
    """A named resource; ``document`` is the whole answer."""

    id: str
    name: str
    sha256: str
    document: Mapping[str, Any]

    @property
    def run(self) -> Run | None:
        """The run that a question which was just asked has become, being too large to be answered at once."""
        document = self.document.get("run")
        return None if document is None else Run.from_document(document)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Resource:
        """Read the service's JSON."""
        return cls(text_in(document, "id"), text_in(document, "name"), text_in(document, "sha256"), document)


@dataclass(frozen=True)
class ResourcePage:
    """Part of a list; ``next_cursor`` asks for the next part, None after the last one."""

    items: tuple[Resource, ...]
    next_cursor: str | None


@dataclass(frozen=True)
class Progress:
    """``done`` of ``total`` units of a stage; units per second and seconds left, if known."""

    stage: str
    done: int
    total: int
    rate: float | None = None
    remaining_seconds: float | None = None

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Progress:
        """Read the service's JSON."""
        return cls(
            text_in(document, "stage"),
            number_in(document, "done"),
            number_in(document, "total"),
            document.get("rate"),
            document.get("remaining_seconds"),
        )


@dataclass(frozen=True)
class Run:
    """One execution; ``error`` is the problem that ended a failed run.

    ``result`` is what a run found that was waited for where it was started, and had succeeded by then.
    """

    id: str
    state: str
    attempt: int
    progress: Progress | None
    error: Mapping[str, Any] | None
    document: Mapping[str, Any]
    result: Mapping[str, Any] | None = None

    @property
    def is_final(self) -> bool:
        """Whether the state never changes again."""
        return self.state in FINAL_STATES

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> Run:
        """Read the service's JSON."""
        progress = document.get("progress")
        return cls(
            id=text_in(document, "id"),
            state=text_in(document, "state"),
            attempt=number_in(document, "attempt"),
            progress=None if progress is None else Progress.from_document(progress),
            error=document.get("error"),
            document=document,
            result=document.get("result"),
        )


@dataclass(frozen=True)
class RunPage:
    """Part of the list of runs; ``next_cursor`` asks for the next part, None after the last one."""

    items: tuple[Run, ...]
    next_cursor: str | None


@dataclass(frozen=True)
class RunEvent:
    """One entry of a run's event stream."""

    number: str
    type: str
    data: Mapping[str, Any]
