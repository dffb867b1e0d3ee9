"""The port by which questions are stored with their answers, and found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from app.services.resources import JsonObject, Kind, NewResource, Stored


@dataclass(frozen=True)
class Recalled:
    """What is stored of a question: its result, and the resource of its name, without the document."""

    result: JsonObject | None
    stored: Stored | None


class Questions(Protocol):
    """The tenant's questions and their results, each method in as few statements as there can be."""

    async def recall(
        self, kind: Kind, name: str, sha256: str, believed: Mapping[tuple[Kind, str], str | None]
    ) -> Recalled | None:
        """What is stored for a question of this name and hash, by one statement.

        ``believed`` says which ids kinds and references lead to, None where to nothing: if one of them leads
        elsewhere by now the answer is None.
        """

    async def view(self, kind: Kind, ref: str) -> tuple[Stored, JsonObject | None]:
        """A question with its result, if there is one yet: its own run's, else that of an equal one.

        A run that was stopped keeps its own result. NotFound if there is no such question.
        """

    async def answer(
        self, new: NewResource, result: JsonObject, key_id: str, details: JsonObject
    ) -> tuple[Stored, bool]:
        """Store a question with its result; where it is new, with an audit event of its hash and the details.

        As resources are added: the existing one and False if name and hash agree. A result that is there
        already stays.
        """
