"""What a parsing child leaves behind that ends before it has read everything."""

from __future__ import annotations

import asyncio
import gc

import pytest

from app.domain.errors import InvalidInput
from app.services.datasets.ingest.binary_reader import read_arrow
from app.services.datasets.ingest.dialect import Dialect, UploadLimits
from app.services.datasets.ingest.processor_budget import ProcessorBudget


async def _hostile_body():
    for _ in range(64):
        yield b"\xff" * 2**16


async def _told_later() -> list[str]:
    """What the event loop says of its own accord after a damaged stream was refused."""
    said: list[str] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context["message"]))
    limits = UploadLimits()
    with pytest.raises(InvalidInput):
        async for _ in read_arrow(_hostile_body(), Dialect(), limits, ProcessorBudget(limits)):
            pass
    for _ in range(3):
        gc.collect()
        await asyncio.sleep(0.01)
    return said


@pytest.mark.deep
def test_a_broken_pipe_to_the_parsing_child_is_nobodys_error_later():
    assert asyncio.run(_told_later()) == []
