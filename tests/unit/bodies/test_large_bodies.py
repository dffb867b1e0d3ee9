"""While a large body is being worked on, others get their turn within a millisecond."""

import asyncio
import gc
import sys
from typing import Any

from starlette.types import Message

from app.api.bodies.limits import BodiesInFlight
from app.api.bodies.reading import StrictRequest
from app.api.bodies.validation import SlicedValidator

Settings = tuple[float, tuple[int, int, int]]


class _Watching(SlicedValidator):
    """Accepts everything, and remembers how the interpreter was set meanwhile."""

    seen: Settings

    def validate(self, body: Any) -> Any:
        self.seen = _settings()
        return body


def _settings() -> Settings:
    return sys.getswitchinterval(), gc.get_threshold()


async def _message() -> Message:
    return {"type": "http.request", "body": b'{"a": 1}', "more_body": False}


def test_the_interpreter_is_set_for_large_bodies_and_back_after_the_last_of_two() -> None:
    async def two_bodies() -> tuple[Settings, Settings, Settings]:
        in_flight, watching = BodiesInFlight(), _Watching(Any)
        requests = [StrictRequest({"type": "http", "headers": []}, _message) for _ in range(2)]
        for request in requests:
            await request.read(1_000, in_flight)
            await request.check(watching)
        requests[0].release(in_flight)
        still = _settings()
        requests[1].release(in_flight)
        return watching.seen, still, _settings()

    before = _settings()
    meanwhile, still, after = asyncio.run(two_bodies())
    assert meanwhile[0] <= 0.001
    assert meanwhile[1][2] > 1_000_000
    assert still == meanwhile
    assert after == before
