"""Counts what the service answers while schemathesis asks it; loaded by SCHEMATHESIS_HOOKS.

Written as JSON to the file that PRIVACY_RISK_FUZZ_COUNTS names: answers by status, those of requests that
were sent with the key of PRIVACY_RISK_FUZZ_KEY and were answered for what they ask, and what is wrong: errors
of the service's own, answers that do not fit the OpenAPI document, and requests without an answer.
"""

from __future__ import annotations

import atexit
import json
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis

_KEY = f"Bearer {os.environ.get('PRIVACY_RISK_FUZZ_KEY', '')}"
_NOT_ANSWERED = {401, 429, 503}
"""The key was not accepted, or the service was asked too often or had no place: nothing was tried."""

_LOCK = threading.Lock()
_STATUSES: Counter[int] = Counter()
_WITH_KEY = 0
_WRONG: dict[tuple[str, str], tuple[int, str]] = {}
"""Operation and what is wrong → how often, and an example."""
_SLOWEST: list[tuple[float, str]] = []


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Take one answer down."""
    global _WITH_KEY
    with _LOCK:
        _STATUSES[response.status_code] += 1
        sent = response.request.headers.get("Authorization")
        _WITH_KEY += sent == _KEY and response.status_code not in _NOT_ANSWERED
        _SLOWEST.append((response.elapsed, f"{case.method} {case.path}"))
        if len(_SLOWEST) > 1000:
            _shorten()


@schemathesis.hook
def filter_failure(context: Any, failure: Any, case: Any, response: Any) -> bool:
    """Take down what a check found."""
    _take_down(case, f"{response.status_code} {failure.title}", failure.message)
    return True


@schemathesis.hook
def after_network_error(context: Any, case: Any, request: Any) -> None:
    """Take down a request that was not answered."""
    _take_down(case, "no answer", "")


def _take_down(case: Any, what: str, message: str) -> None:
    with _LOCK:
        place = (f"{case.method} {case.path}", what)
        number, example = _WRONG.get(place, (0, ""))
        if not number:
            print(*place, message, case.as_curl_command(), file=sys.stderr, flush=True)
        _WRONG[place] = (number + 1, example or f"{message}\n{case.as_curl_command()}")


def _shorten() -> None:
    _SLOWEST.sort(reverse=True)
    del _SLOWEST[10:]


def _write() -> None:
    _shorten()
    told = {
        "statuses": {str(status): number for status, number in sorted(_STATUSES.items())},
        "with_key": _WITH_KEY,
        "wrong": [
            {"operation": operation, "what": what, "number": number, "example": example}
            for (operation, what), (number, example) in _WRONG.items()
        ],
        "slowest": _SLOWEST,
    }
    Path(os.environ["PRIVACY_RISK_FUZZ_COUNTS"]).write_text(json.dumps(told, indent=1))


atexit.register(_write)
