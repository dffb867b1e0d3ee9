"""Work on a body is done where the body was read."""

from __future__ import annotations

import threading

import pytest

from app.api.bodies.reading import StrictRequest, off_loop_if_large

pytestmark = pytest.mark.anyio


class Large(StrictRequest):
    is_large = True


@pytest.mark.parametrize(("kind", "here"), [(StrictRequest, True), (Large, False)])
async def test_only_work_on_large_bodies_goes_to_a_thread(kind: type[StrictRequest], here: bool) -> None:
    request = kind({"type": "http", "method": "POST", "headers": []})
    worked = await off_loop_if_large(request, threading.get_ident)
    assert (worked == threading.get_ident()) is here
