"""Idempotency-Key: a repeated POST is answered as the first one was, and done once.

Only success is kept: a refused request changed nothing, so its key stays free for a corrected one. While a
request is answered its key is leased to it: after a crash the key works again once the lease has ended. What
a crash left done without its reply is found by its name: the repeat answers 200 with what exists.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from app.domain.errors import InvalidInput
from app.services.leases import KEY_LEASE, held
from app.services.ports import Store
from app.services.resources import Actor, IdempotentReply

HEADER: Final = "Idempotency-Key"

_KEY: Final = re.compile(r"[\x21-\x7e]{1,200}")
_KEPT_HEADERS: Final[tuple[str, ...]] = ("content-type", "location", "preference-applied")
_BODY_HASH: Final = "body-sha256"


def key_of(request: Request) -> str | None:
    """The request's idempotency key, None if it has none; InvalidInput if it cannot be one."""
    key = request.headers.get(HEADER)
    if key is not None and _KEY.fullmatch(key) is None:
        raise InvalidInput.of(
            f"header/{HEADER}",
            "invalid-key",
            "An idempotency key has 1 to 200 visible ASCII characters.",
            "Send a random UUID.",
        )
    return key


class Once:
    """Does the work of one request under its idempotency key, at most once."""

    def __init__(self, request: Request, actor: Actor, key: str) -> None:
        self._store: Store = request.app.state.store
        self._request = request
        self._actor = actor
        self._route = f"{request.method} {request.url.path}"
        self._key = key
        self._owner = uuid.uuid4().hex
        self._held_since = 0.0

    async def answer(self, body: bytes, handle: Callable[[], Awaitable[Response]]) -> Response:
        """The kept reply to a request with the same body, or what ``handle`` answers."""
        kept = await self._begin(hashlib.sha256(body).hexdigest())
        if kept is not None:
            return _replay(kept)
        return await self._do(handle, {})

    async def answer_stream(
        self, chunks: AsyncIterator[bytes], handle: Callable[[AsyncIterator[bytes]], Awaitable[Response]]
    ) -> Response:
        """The same for a body that is hashed as it streams, and compared at its end."""
        stream = HashedStream(chunks)
        kept = await self._begin("")
        if kept is None:
            headers: dict[str, str] = {}

            async def handle_and_hash() -> Response:
                response = await handle(stream)
                headers[_BODY_HASH] = stream.sha256
                return response

            return await self._do(handle_and_hash, headers)
        async for _ in stream:
            pass
        if stream.sha256 != kept.headers.get(_BODY_HASH):
            raise InvalidInput.of(
                f"header/{HEADER}",
                "idempotency-key-reused",
                "The idempotency key was used with another body.",
                "Use a new key for a new upload.",
            )
        return _replay(kept)

    async def _begin(self, body_hash: str) -> IdempotentReply | None:
        # The key's scopes are checked while the request is handled, which a replay skips: so a reply
        # is only replayed to the key that it was given to.
        parts = (self._actor.key_id, self._request.url.query, body_hash)
        fingerprint = hashlib.sha256("\n".join(parts).encode()).hexdigest()
        async with self._store.work(self._actor.tenant) as work:
            self._held_since = asyncio.get_running_loop().time()
            kept = await work.idempotency.begin(self._route, self._key, fingerprint, self._owner)
            await work.commit()
        return kept

    async def _do(self, handle: Callable[[], Awaitable[Response]], headers: dict[str, str]) -> Response:
        is_kept = False
        try:
            async with held(KEY_LEASE, self._held_since, self._renew):
                response = await handle()
                if response.status_code < 300:
                    kept = {
                        name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers
                    }
                    # A body with a secret names what may be kept of it.
                    body = getattr(self._request.state, "reply_to_keep", bytes(response.body))
                    is_kept = await self._complete(
                        IdempotentReply(response.status_code, body, kept | headers)
                    )
        finally:
            if not is_kept:
                async with self._store.work(self._actor.tenant) as work:
                    await work.idempotency.abandon(self._route, self._key, self._owner)
                    await work.commit()
        return response

    async def _renew(self) -> bool:
        async with self._store.work(self._actor.tenant) as work:
            is_held = await work.idempotency.renew(self._route, self._key, self._owner)
            await work.commit()
        return is_held

    async def _complete(self, reply: IdempotentReply) -> bool:
        async with self._store.work(self._actor.tenant) as work:
            is_kept = await work.idempotency.complete(self._route, self._key, self._owner, reply)
            await work.commit()
        return is_kept


class HashedStream:
    """Chunks passed on unchanged while their sha256 is taken."""

    def __init__(self, chunks: AsyncIterator[bytes]) -> None:
        self._chunks = chunks
        self._hash = hashlib.sha256()

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        chunk = await anext(self._chunks)
        self._hash.update(chunk)
        return chunk

    @property
    def sha256(self) -> str:
        """Hash of what has passed so far."""
        return self._hash.hexdigest()


def _replay(kept: IdempotentReply) -> Response:
    headers: dict[str, str] = {name: kept.headers[name] for name in _KEPT_HEADERS if name in kept.headers}
    headers["Idempotency-Replayed"] = "true"
    return Response(kept.body, status_code=kept.status, headers=headers)
