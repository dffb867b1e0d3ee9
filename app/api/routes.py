"""How every JSON route reads and answers: strict JSON in, idempotent POSTs, ETags on GETs."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Iterator
from email.message import Message as MimeHeader
from functools import cached_property
from typing import Any, Final

from fastapi import Depends
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from pydantic import BaseModel
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Message

from app.api.addresses import PREFIX as PREFIX
from app.api.authentication import actor_who_may, actor_with_scopes, authenticate
from app.api.bodies.limits import declared_length, limit_of
from app.api.bodies.reading import SMALL_BYTES, StrictRequest
from app.api.bodies.references import of_reference
from app.api.bodies.validation import SlicedValidator
from app.api.idempotency import Once, key_of
from app.api.places import take_place
from app.domain.errors import Fault, NotFound, refuse
from app.services.json_text import whole_json

_WITHOUT_BODY: Final = frozenset({"GET", "HEAD", "DELETE", "OPTIONS"})


def _query_names(dependant: Dependant) -> Iterator[str]:
    """The query parameters that an operation and what it depends on read; those of a model by its fields."""
    for own in dependant.query_params:
        kind = own.field_info.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            yield from (field.alias or name for name, field in kind.model_fields.items())
        else:
            yield own.alias
    for inner in dependant.dependencies:
        yield from _query_names(inner)


def operation_id(route: APIRoute) -> str:
    """The name of the route's function: how the document calls the operation."""
    return route.name


class Operation(APIRoute):
    """A route of the interface: it takes a place if it is costly, and is called as its function is."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:  # noqa: ANN401
        # Behind the body, so that a slow sender holds no place; until the function ends, not the download.
        place = Depends(take_place, scope="function")
        options["dependencies"] = [place, *(options.get("dependencies") or ())]
        options["generate_unique_id_function"] = operation_id
        super().__init__(path, endpoint, **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler: it ignores parameters that it does not know."""
        handle = super().get_route_handler()
        known = dict.fromkeys(_query_names(self.dependant))

        async def answer(request: Request) -> Response:
            remedy = f"Known are: {', '.join(known)}." if known else "The operation takes none."
            unknown = [name for name in dict.fromkeys(request.query_params) if name not in known]
            said = "There is no such query parameter."
            refuse([Fault(f"query/{name}", "unknown-parameter", said, remedy) for name in unknown])
            return await handle(request)

        return answer


class Route(Operation):
    """An operation that knows who asks before it reads the body, and reads it whole, within its limit."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Wrap the framework's handler."""
        handle = super().get_route_handler()
        guards = [part for part in self.dependant.dependencies if part.call is actor_with_scopes]
        scopes = [scope for guard in guards for scope in guard.own_oauth_scopes or ()]

        async def answer(received: Request) -> Response:
            request = StrictRequest(received.scope, received.receive)
            if guards:
                await actor_who_may(request, scopes)
            if request.method in _WITHOUT_BODY:
                if request.method == "DELETE":
                    await _require_match(request)
                response = await handle(request)
                return _conditional(request, response) if request.method == "GET" else response
            try:
                return await self._answer_with_body(request, handle)
            finally:
                request.release(request.app.state.bodies_in_flight)

        return answer

    def prepare(self) -> None:
        """Make now what the first large body would have to wait for."""
        if self.body_field is not None:
            _ = self._validator

    async def _answer_with_body(
        self, request: StrictRequest, handle: Callable[[Request], Coroutine[Any, Any, Response]]
    ) -> Response:
        if self.body_field is not None:
            _check_is_json(request)
        key = key_of(request) if request.method == "POST" else None
        state = request.app.state
        limit = min(limit_of(self.endpoint), state.max_body_bytes)
        body = await request.read(limit, state.bodies_in_flight)

        async def check_and_handle() -> Response:
            if self.body_field is not None and len(body) > SMALL_BYTES:
                await request.check(self._validator)
            try:
                return await handle(request)
            except NotFound as error:
                if self.body_field is None:
                    raise
                sent = await asyncio.to_thread(whole_json, body.decode("utf-8"))
                raise of_reference(error, sent, request.path_params.values()) from None

        if key is None:
            return await check_and_handle()
        once = Once(request, await authenticate(request), key)
        return await once.answer(body, check_and_handle)

    @cached_property
    def _validator(self) -> SlicedValidator:
        assert self.body_field is not None  # noqa: S101 - for types: asked for by bodies alone
        return SlicedValidator(self.body_field.field_info.annotation)


def _check_is_json(request: Request) -> None:
    given = request.headers.get("content-type")
    if given == "application/json":  # as nearly all send it
        return
    header = MimeHeader()
    header["content-type"] = given or ""
    if header.get_content_type() != "application/json":
        has_body = "transfer-encoding" in request.headers or (declared_length(request.headers) or 0) > 0
        found = "The body must be JSON" if has_body or given else "The request has no body"
        raise HTTPException(415, detail=f"{found}; send JSON with Content-Type: application/json.")


async def _require_match(request: Request) -> None:
    """412 if there is something of which `If-Match` does not name the ETag, as GET answers it."""
    given = request.headers.get("if-match")
    if given is None:
        return
    told: Message = {}

    async def keep_head(message: Message) -> None:
        told.update(message if message["type"] == "http.response.start" else {})

    asked = {**request.scope, "method": "GET", "query_string": b""}
    await request.app.router(asked, request.receive, keep_head)
    tag = Headers(raw=told["headers"]).get("etag")
    named = [part.strip() for part in given.split(",")]
    if told["status"] != 404 and "*" not in named and tag not in named:
        raise HTTPException(412, detail="If-Match names another state than that of the resource.")


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
