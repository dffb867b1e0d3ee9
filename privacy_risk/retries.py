"""When a request is sent again, and how long to wait before.

Sent again are requests that the service could not answer at that moment (429, 502, 503, 504, and 409 while it
still answers the first request with the same Idempotency-Key) and those whose connection broke. Doing so
changes nothing twice: GET and DELETE by their nature, every POST because it carries an Idempotency-Key that
stays the same for all its attempts.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

import httpx

TRANSIENT = frozenset({429, 502, 503, 504})


@dataclass(frozen=True)
class Retries:
    """Exponential back-off with full jitter.

    Attributes
    ----------
    attempts
        How often a request is sent at most, the first time included; 1 never sends again, and then POSTs
        carry no key either.
    first_delay, longest_delay
        Seconds: the n-th wait is a random share of ``first_delay`` · 2ⁿ⁻¹, at most of ``longest_delay``. A
        Retry-After is heeded instead; one beyond ``longest_delay`` is left to the caller.
    jitter
        The random share, in [0, 1).
    """

    attempts: int = 4
    first_delay: float = 0.5
    longest_delay: float = 30.0
    jitter: Callable[[], float] = random.random

    def __post_init__(self) -> None:
        if self.attempts < 1 or not 0 <= self.first_delay <= self.longest_delay:
            raise ValueError("Retries need at least 1 attempt, and delays from 0 up to the longest.")

    def delay(self, attempt: int, failure: httpx.Response | httpx.TransportError) -> float | None:
        """Seconds to wait after the ``attempt``-th failure, counted from 1; None if it is final."""
        if attempt >= self.attempts:
            return None
        if isinstance(failure, httpx.Response):
            # No 409 says when to come back, but of an earlier request with the same key that is at work.
            is_answered_still = failure.status_code == 409 and "Retry-After" in failure.headers
            if failure.status_code not in TRANSIENT and not is_answered_still:
                return None
            asked = retry_after(failure, datetime.now(UTC))
            if asked is not None:
                return asked if asked <= self.longest_delay else None
        elif isinstance(failure, httpx.UnsupportedProtocol | httpx.LocalProtocolError):
            # The request itself cannot be sent; sending it again would not help.
            return None
        longest = min(self.longest_delay, self.first_delay * 2.0 ** (attempt - 1))
        return longest * self.jitter()


def retry_after(response: httpx.Response, now: datetime) -> float | None:
    """Seconds that the answer asks to wait: a number of them or a date; None if it says nothing sensible."""
    text = response.headers.get("Retry-After", "").strip()
    if text.isascii() and text.isdigit():
        return float(text)
    try:
        until = parsedate_to_datetime(text)
    except ValueError:
        return None
    if until.tzinfo is None:
        until = until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
