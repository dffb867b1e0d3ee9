"""The keys of an identity provider in memory: asked for again at times, and never often."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from jwt import PyJWK

from app.domain.errors import Unavailable
from app.identity.provider import Keys, Provider, ProviderFault, no_answer

FRESH_SECONDS: Final = 600.0
"""After so long the keys are asked for again, so that one that was withdrawn is refused."""

PAUSE_SECONDS: Final = 30.0
"""The keys are asked for at most once in so long, however many tokens name keys that nobody knows."""

logger = logging.getLogger(__name__)


class KnownKeys:
    """The provider's keys.

    While the provider does not answer, those that are known go on being used, for as long as that lasts.
    """

    def __init__(
        self, provider: Provider, algorithms: Sequence[str], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._provider = provider
        self._algorithms = algorithms
        self._clock = clock
        self._keys: Keys = {}
        self._answered_at = -FRESH_SECONDS
        self._fault: str | None = None
        self._asking: asyncio.Task[None] | None = None

    async def find(self, key_id: str, algorithm: str) -> PyJWK | None:
        """The key, None if the provider publishes no such one.

        Unavailable if that cannot be told, because the provider does not answer.
        """
        found = self._keys.get((key_id, algorithm))
        age = self._clock() - self._answered_at
        is_due = age >= (PAUSE_SECONDS if found is None else FRESH_SECONDS)
        if is_due and self._asking is None:
            self._asking = asyncio.create_task(self._refresh())
        # After a quiet week a key may be long withdrawn. Only a provider that was away just now is not waited
        # for with a key that is known.
        is_away = self._fault is not None and age < 2 * FRESH_SECONDS
        if self._asking is not None and (found is None or (is_due and not is_away)):
            # A request that is cancelled does not take the answer from the others.
            await asyncio.shield(self._asking)
            found = self._keys.get((key_id, algorithm))
        if found is None and self._fault is not None:
            raise self._unknown(self._fault)
        return found

    async def _refresh(self) -> None:
        try:
            self._keys = await self._provider.keys(self._algorithms)
        except ProviderFault as fault:
            if self._fault is None:
                logger.warning(
                    "the identity provider does not answer as it should (%s); the %d keys that are known go "
                    "on being used, and so do API keys",
                    fault,
                    len(self._keys),
                )
            self._fault = str(fault)
        else:
            if self._fault is not None:
                logger.warning("the identity provider answers again")
            self._fault = None
        finally:
            self._answered_at = self._clock()
            self._asking = None

    @staticmethod
    def _unknown(fault: str) -> Unavailable:
        return no_answer(f"{fault} The key that the token is signed with is not known.")
