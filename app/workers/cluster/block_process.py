"""The process on a worker's machine that computes blocks of one run: ``python -m … DESCRIPTOR``.

It is to a block what the process of a run is to the run: it bounds the memory, and ending it ends the
computing at once, whatever that is doing. It is sent an ``Order``, then one number of a block after the
other, and answers each. It ends when the other end of its channel closes.
"""

from __future__ import annotations

import functools
import hashlib
import os
import pickle
import queue
import signal
import sys
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Final, cast

import pyarrow as pa

from app.domain.errors import NotSupported
from app.domain.search.budget import never
from app.services.runs.run_execution import FinishedBlock, Work
from app.workers.child import MemoryCap, be_first_to_go, failure_of
from app.workers.cluster.versions import differences, versions

CODEC: Final = "zstd"


@dataclass(frozen=True, eq=False)
class Order:
    """Work as it travels, pickled and compressed from ``size`` bytes, and what it is to be computed with."""

    content: bytes
    sha256: str
    size: int
    memory_bytes: int
    versions: Mapping[str, str]


def order_of(work: Work, memory_bytes: int) -> Order:
    """The order to compute blocks of a work with the code and libraries that are here."""
    pickled = pickle.dumps(work, pickle.HIGHEST_PROTOCOL)
    content = pa.compress(pickled, CODEC, asbytes=True)
    return Order(content, hashlib.sha256(content).hexdigest(), len(pickled), memory_bytes, versions())


def main(descriptor: int) -> None:
    """Answer one number after the other; the target of the process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's interrupt is the worker's to interpret
    be_first_to_go()
    channel = Connection(descriptor)
    order: Order = channel.recv()
    MemoryCap(order.memory_bytes).cap()
    unpacked = functools.cache(_unpacked)
    numbers: queue.SimpleQueue[int] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(channel, numbers), daemon=True, name="worker-watch").start()
    while True:
        number = numbers.get()
        computed: list[FinishedBlock] = []
        failure = failure_of(lambda: computed.append(_block(unpacked(order), number)), order.memory_bytes)  # noqa: B023
        channel.send(failure or computed.pop())


def _listen(channel: Connection, numbers: queue.SimpleQueue[int]) -> None:
    """Take numbers, also while a block is computed: that ends with the worker."""
    try:
        while True:
            numbers.put(channel.recv())
    except (EOFError, OSError):
        os._exit(0)


def _unpacked(order: Order) -> Work:
    # The worker may have been accepted before its files were replaced.
    if found := differences(order.versions, versions()):
        raise NotSupported(
            f"The code of the cluster's worker was changed while it ran: {', '.join(found)}.",
            "Start the worker again, then create the work again.",
        )
    if hashlib.sha256(order.content).hexdigest() != order.sha256:
        raise NotSupported(
            "What was sent to the cluster's worker is not what arrived.",
            "Have that machine's memory and network checked, then create the work again.",
        )
    content = pa.decompress(order.content, order.size, CODEC)
    return cast(Work, pickle.loads(content))  # noqa: S301 - only those with the cluster's certificates send it


def _block(work: Work, number: int) -> FinishedBlock:
    units = deque([0], maxlen=1)
    payload = work.run_block(number, units.append, never)
    return FinishedBlock(number, units[0], payload)


if __name__ == "__main__":
    main(int(sys.argv[1]))
