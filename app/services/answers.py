"""How questions are stored with their answers and found again, and shared by all who ask the same at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Protocol

from app.services.resources import JsonObject, Kind, NewResource, Stored, TenantId


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


@dataclass
class SharedAnswer:
    """The answer to one question, computed by the first of those who ask it at the same time."""

    guests: int = 0
    _result: JsonObject | None = None
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def once(self, compute: Callable[[], Awaitable[JsonObject]]) -> JsonObject:
        """What the first one has computed; who finds nothing, because that failed, computes it."""
        async with self._turn:
            if self._result is None:
                self._result = await compute()
            return self._result


class SharedAnswers:
    """The questions that are being asked, by tenant and hash.

    Each is held from before its answer is looked for until it is stored: who comes later finds it there.
    """

    def __init__(self) -> None:
        self._held: dict[tuple[TenantId, str], SharedAnswer] = {}

    @contextmanager
    def of(self, tenant: TenantId, sha256: str) -> Iterator[SharedAnswer]:
        """What is shared by all who ask the question inside."""
        shared = self._held.setdefault((tenant, sha256), SharedAnswer())
        shared.guests += 1
        try:
            yield shared
        finally:
            shared.guests -= 1
            if not shared.guests:
                del self._held[tenant, sha256]
