"""Turns whatever is raised on the way to an answer into a problem."""

from __future__ import annotations

from typing import Final

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api.bodies.limits import body_too_large
from app.api.faults import faults_of
from app.api.problems import body_of_error, headers_of_error, of_status, problem_body, problem_response
from app.domain.errors import PrivacyRiskError

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
    return problem_response(body_of_error(error, request.state.request_id), headers_of_error(error))


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
    body = problem_body(problem, detail, request_id=request.state.request_id, status=error.status_code)
    return problem_response(body, error.headers)
