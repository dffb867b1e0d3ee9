"""Counts what the service answers while schemathesis asks it; loaded by SCHEMATHESIS_HOOKS.

Written as JSON to the file that PRIVACY_RISK_FUZZ_COUNTS names: answers by status, those of requests whose
key was accepted, and the requests that were answered by the service's own error.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import schemathesis

_LOCK = threading.Lock()
_STATUSES: Counter[int] = Counter()
_FAILED: list[str] = []
_SLOWEST: list[tuple[float, str]] = []


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Take one answer down."""
    with _LOCK:
        _STATUSES[response.status_code] += 1
        _SLOWEST.append((response.elapsed, f"{case.method} {case.path}"))
        if len(_SLOWEST) > 1000:
            _shorten()
        if response.status_code >= 500 and response.status_code != 503:
            _FAILED.append(case.as_curl_command())


def _shorten() -> None:
    _SLOWEST.sort(reverse=True)
    del _SLOWEST[10:]


def _write() -> None:
    _shorten()
    told = {
        "statuses": {str(status): number for status, number in sorted(_STATUSES.items())},
        "with_key": sum(number for status, number in _STATUSES.items() if status != 401),
        "failed": _FAILED[:50],
        "slowest": _SLOWEST,
    }
    Path(os.environ["PRIVACY_RISK_FUZZ_COUNTS"]).write_text(json.dumps(told, indent=1))


atexit.register(_write)
