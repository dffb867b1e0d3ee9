"""What can go wrong, as the client sees it.

::

    ClientError
    ├─ ProblemError      the service refused, and says why
    ├─ AnswerError       something else than the service has answered
    └─ RunFailed         a run ended without a result

That the service cannot be reached is httpx.TransportError.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import httpx

from privacy_risk.answers import AnswerError, ClientError, object_of
from privacy_risk.values import Json, Run


class ProblemError(ClientError):
    """An answer of status 400 or above; ``document`` is its problem document (RFC 9457)."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self.document = document
        lines = [f"{self.status} {self.document.get('title', '')}: {self.document.get('detail', '')}"]
        lines += [
            f"  {error.get('pointer', '')}: {error.get('message', '')} {error.get('remedy', '')}".rstrip()
            for error in self.document.get("errors") or ()
            if isinstance(error, Mapping)
        ]
        super().__init__("\n".join(lines))

    @property
    def status(self) -> int:
        """The HTTP status."""
        status: int = self.document["status"]
        return status

    @property
    def code(self) -> str:
        """The kind of problem: the last part of its type, such as ``invalid-input``."""
        return str(self.document.get("type", "about:blank")).rsplit("/", 1)[-1]

    @classmethod
    def from_response(cls, response: httpx.Response) -> ProblemError:
        """Read the problem, or make one of an answer that does not come from the service itself."""
        document: dict[str, Any] = {
            "title": response.reason_phrase,
            "detail": "",
            "status": response.status_code,
        }
        try:
            body = json.loads(response.content)
        except ValueError:
            body = None
        if isinstance(body, dict):
            document |= body
        # What stands in between writes problems of its own, with members of other types.
        document["status"] = response.status_code
        if not isinstance(document.get("errors", []), list):
            del document["errors"]
        return cls(document)


class RunFailed(ClientError):
    """The run failed, was cancelled or has expired; ``run.error`` says why if it is known."""

    def __init__(self, run: Run) -> None:
        self.run = run
        error = run.error or {}
        why = " ".join(str(error[key]) for key in ("code", "message", "remedy") if error.get(key))
        super().__init__(f"The run {run.id} has {run.state}. {why}".rstrip())


def checked(response: httpx.Response) -> httpx.Response:
    """The response, which has been read, if it is one of success; ProblemError otherwise."""
    if response.is_error:
        raise ProblemError.from_response(response)
    return response


def json_object(response: httpx.Response) -> Json:
    """The JSON object of an answer; AnswerError if it is another thing."""
    try:
        return object_of(checked(response).json())
    except ValueError:
        return object_of(None)


def checked_content(response: httpx.Response) -> httpx.Response:
    """The response of a table, of evidence or of events; AnswerError for a web page in its place."""
    if checked(response).headers.get("content-type", "").startswith("text/html"):
        raise AnswerError("The answer is a web page.")
    return response
