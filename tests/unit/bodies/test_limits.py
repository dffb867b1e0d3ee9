"""How many bytes of bodies are held at once."""

from __future__ import annotations

import asyncio

import pytest

from app.api.bodies.limits import BodiesInFlight
from app.domain.errors import Unavailable

pytestmark = pytest.mark.anyio


async def test_a_body_waits_until_others_are_done():
    bodies = BodiesInFlight(100, patience=60)
    await bodies.take(80)
    waiting = asyncio.create_task(bodies.take(40))
    await asyncio.sleep(0)
    assert not waiting.done()
    bodies.give_back(80)
    await waiting
    await bodies.take(60)


async def test_a_body_that_finds_no_room_in_time_is_refused_and_holds_nothing():
    bodies = BodiesInFlight(100, patience=0.01)
    await bodies.take(80)
    with pytest.raises(Unavailable):
        await bodies.take(40)
    await bodies.take(20)
