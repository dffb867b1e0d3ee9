"""What can go wrong without a fault of this program, and what a person is told of it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final

import httpx

from app.domain.errors import InvalidInput, PrivacyRiskError
from privacy_risk import ClientError

EXPECTED: Final = (PrivacyRiskError, ClientError, httpx.TransportError, OSError)


def error_text(error: Exception) -> str:
    """What was wrong and what to do, without a traceback."""
    if isinstance(error, InvalidInput):
        return "\n".join(
            f"{fault.pointer}: {fault.message} {fault.remedy}".rstrip() for fault in error.faults
        )
    if isinstance(error, PrivacyRiskError):
        return f"{error.message} {error.remedy}".rstrip()
    return str(error) or type(error).__name__


def told(work: Callable[[], int | None]) -> int:
    """Do the work; its exit status (None: 0), with what went wrong told on standard error."""
    try:
        return work() or 0
    except EXPECTED as error:
        print(f"privacy-risk: {error_text(error)}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
