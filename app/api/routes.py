"""How every JSON route reads and answers: strict JSON in, idempotent POSTs, ETags on GETs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Coroutine
from email.message import Message
from typing import Any

from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from app.api.authentication import authenticate
from app.api.idempotency import Once, key_of


class StrictRequest(Request):
    """A request whose JSON has no repeated keys and no NaN, which Python's parser would let pass."""

    async def json(self) -> Any:  # noqa: ANN401 - any JSON value
        """Parse the body; JSONDecodeError says what is wrong with it."""
        if not hasattr(self, "_json"):
            text = (await self.body()).decode("utf-8")
            self._json = json.loads(text, object_pairs_hook=_without_repeats, parse_constant=_refuse_constant)
        return self._json


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise json.JSONDecodeError("an object repeats a key", "", 0)
    return found


def _refuse_constant(name: str) -> None:
    raise json.JSONDecodeError(f"{name} is not a JSON value", "", 0)


class Route(APIRoute):
    """A route whose body, if it has one, is read whole."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler."""
        handle = super().get_route_handler()

        async def answer(received: Request) -> Response:
            request = StrictRequest(received.scope, received.receive)
            if request.method == "GET":
                return _conditional(request, await handle(request))
            if self.body_field is not None:
                _check_is_json(request)
            key = key_of(request) if request.method == "POST" else None
            if key is None:
                return await handle(request)
            once = Once(request, await authenticate(request), key)
            return await once.answer(await request.body(), lambda: handle(request))

        return answer


def _check_is_json(request: Request) -> None:
    header = Message()
    header["content-type"] = request.headers.get("content-type", "")
    if header.get_content_type() != "application/json":
        raise HTTPException(415, detail="The body must be JSON, with Content-Type: application/json.")


def _conditional(request: Request, response: Response) -> Response:
    """Label the answer with a strong ETag, and leave it out if the client has it already."""
    if response.status_code != 200 or isinstance(response, StreamingResponse):
        return response
    tag = f'"{hashlib.sha256(response.body).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    known = {part.strip().removeprefix("W/") for part in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    response.headers.update(headers)
    return response
