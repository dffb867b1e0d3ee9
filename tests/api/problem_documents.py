"""What every problem document must be."""

from __future__ import annotations

from typing import Any

import httpx

from app.api.problems import BY_CODE


def problem_of(response: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """The problem of a response, after checking that it is a well-formed one of this status and type."""
    assert response.headers["content-type"] == "application/problem+json", response.text
    body: dict[str, Any] = response.json()
    assert body["type"] == f"/problems/{code}", body
    assert response.status_code == body["status"] == status, body
    assert body["title"] == BY_CODE[code].title
    assert body["detail"]
    assert body["request_id"] == response.headers["x-request-id"]
    for error in body.get("errors", ()):
        assert set(error) == {"pointer", "code", "message", "remedy"}
        assert error["code"]
        assert error["message"]
    if code == "invalid-input":
        assert body["errors"]
    return body


def pointers_with_remedies(body: dict[str, Any]) -> list[str]:
    """The same, after checking that every fault says what to do."""
    assert all(error["remedy"] for error in body["errors"]), body
    return pointers(body)


def pointers(body: dict[str, Any]) -> list[str]:
    """Where the faults of a problem are."""
    return [error["pointer"] for error in body["errors"]]
