"""What can go wrong without a fault of this program, and what a person is told of it."""

from __future__ import annotations

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
