"""How many requests one caller may send in a minute: counted for all processes of the service together.

A caller's minute begins with its first request and the next one with the first request after it. So no more
than the limit is answered in such a window, and no more than twice the limit in any 60 seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from app.domain.errors import RateLimited
from app.services.resources import Actor

WINDOW_SECONDS: Final = 60


@dataclass(frozen=True)
class Rate:
    """How a caller stands in its present window: ``used`` requests, this one included, of ``limit``."""

    limit: int
    used: int
    seconds_left: int

    @property
    def remaining(self) -> int:
        """How many more there may be before the window ends."""
        return max(0, self.limit - self.used)


class RequestRates(Protocol):
    """Counts the requests of every caller: of one API key, or of one person of the identity provider."""

    async def count(self, actor: Actor) -> Rate:
        """Count one more request of the actor, and tell how it stands."""


def refuse_beyond(rate: Rate) -> None:
    """Raise RateLimited for a request above the limit."""
    if rate.used > rate.limit:
        raise RateLimited(
            f"More than the {rate.limit} requests that a key may send in {WINDOW_SECONDS} s.",
            rate.seconds_left,
            f"Wait {rate.seconds_left} s, as the Retry-After header says, and send fewer at once.",
        )
