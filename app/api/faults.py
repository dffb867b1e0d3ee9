"""Turns whatever is raised on the way to an answer into a problem.

Validation errors of the framework become faults of the same form, which never hold the value itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api.bodies.limits import body_too_large
from app.api.problems import body_of_error, headers_of_error, of_status, problem_body, problem_response
from app.domain.errors import Fault, InvalidInput, PrivacyRiskError, joined

MOST_FAULTS: Final = 20
"""A body can break a rule a million times; the first faults are enough to mend it."""

_REMEDIES: Final[Mapping[str, str]] = {
    "missing": "Add the field.",
    "extra_forbidden": "Remove the field, or correct its spelling: unknown fields are refused, not ignored.",
    "json_invalid": "Send well-formed JSON: no NaN, no Infinity, no repeated keys.",
    "too_many_fields": "Send the fields that the operation documents.",
    "number_or_inf": 'Send a number, or the string "inf" for infinity.',
    "moment": "Write it like 2026-11-20T12:00:00Z; in an address the + of an offset is %2B.",
    "finite_number": "Send a finite number.",
    "union_tag_invalid": "Take one of the kinds listed.",
    "union_tag_not_found": "Name the kind in the field that the message names.",
}
_DEFAULT_REMEDY: Final = "Compare with the operation's schema and example at /docs."


def faults_of(errors: Sequence[Any], body: Any) -> InvalidInput:  # noqa: ANN401 - any JSON body
    """The product's own error for the errors of pydantic; at most MOST_FAULTS of them."""
    return InvalidInput([_fault(error, body) for error in errors[:MOST_FAULTS]])


def _fault(error: Mapping[str, Any], body: Any) -> Fault:  # noqa: ANN401
    kind = error["type"]
    message = error["msg"]
    if kind == "json_invalid":
        where, position = "", error["loc"][-1]
        message = f"The body is not valid JSON: {error['ctx']['error']}, at character {position}."
    elif kind == "union_tag_invalid":
        # The framework's words would repeat the tag that was sent.
        context = error["ctx"]
        where = _pointer(error["loc"], body, kind) + "/" + context["discriminator"].strip("'")
        message = f"Input should be one of {context['expected_tags']}."
    else:
        where = _pointer(error["loc"], body, kind)
    remedy = _REMEDIES.get(kind, _DEFAULT_REMEDY)
    if kind == "model_attributes_type":
        # The framework's words are about Python.
        message = "Input should be a JSON object."
        remedy = "Send an object." if where else "Send a JSON object with Content-Type: application/json."
    return Fault(where, kind.replace("_", "-"), message, remedy)


def _pointer(location: Sequence[str | int], body: Any, kind: str) -> str:  # noqa: ANN401
    """A JSON pointer into the body, or ``query/name`` and the like for parameters.

    Pydantic's location also names the member of a union that it tried; such steps are not part of
    the document and are left out, which the body itself tells apart.
    """
    place, *steps = location
    if place != "body":
        return "/".join(str(step) for step in location)
    pointer, node = "", body
    for number, step in enumerate(steps, start=1):
        is_there = (isinstance(node, Mapping) and step in node) or (
            isinstance(node, list) and isinstance(step, int) and step < len(node)
        )
        if is_there:
            node = node[step]
        elif kind != "missing" or number < len(steps):
            continue
        pointer = joined(pointer, step)
    return pointer


_SAID_OF_STATUS: Final = {
    400: "The body could not be parsed.",
    404: "There is nothing at this address.",
    405: "The address exists, but not for this method.",
}


def install_handlers(app: FastAPI) -> None:
    """Register the handlers; what none of them takes ends as 500 in the request frame."""
    app.add_exception_handler(PrivacyRiskError, _own_error)
    app.add_exception_handler(RequestValidationError, _validation_error)
    app.add_exception_handler(HTTPException, _http_error)


async def _own_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, PrivacyRiskError):
        raise error
    request.state.problem = error.code
    body = body_of_error(error, request.state.request_id)
    return problem_response(body, headers_of_error(error))


async def _validation_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, RequestValidationError):
        raise error
    return await _own_error(request, faults_of(error.errors(), error.body))


async def _http_error(request: Request, error: Exception) -> Response:
    if not isinstance(error, HTTPException):
        raise error
    problem = of_status(error.status_code)
    request.state.problem = problem.code
    if error.status_code == 413:
        return await _own_error(request, body_too_large(int(error.detail)))
    detail = _SAID_OF_STATUS.get(error.status_code) or error.detail
    body = problem_body(
        problem,
        detail,
        request_id=request.state.request_id,
        status=error.status_code,
        extensions={"remedy": problem.remedy} if error.status_code == 415 else None,
    )
    return problem_response(body, error.headers)
