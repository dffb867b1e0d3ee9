"""Whether the database has met a full disk: what is said of it, and for how long."""

from __future__ import annotations

import logging
import mmap
import struct
import time
from typing import Final

from app.domain.errors import Unavailable

REMEMBERED_SECONDS: Final = 60.0
"""Without an end, a service that is asked for nothing while it is not ready would never find room again."""

_MOMENT: Final = struct.Struct("d")

logger = logging.getLogger(__name__)


class FullDisk:
    """The last write that failed because the disk of the database was full.

    Processes that are forked later share it: each can tell what another has met. The clock is the machine's,
    in seconds, the same for all of them.
    """

    def __init__(self) -> None:
        self._met_at = mmap.mmap(-1, _MOMENT.size)

    def meet(self) -> Unavailable:
        """Note it, log it if it is news, and answer what the request is told."""
        if not self.is_met():
            logger.error(
                "the disk of the database is full: what would be stored is refused until there is room"
            )
        _MOMENT.pack_into(self._met_at, 0, time.monotonic())
        return Unavailable(
            "The disk of the database is full: nothing of this request was stored.",
            "Whoever runs the service makes room on that disk; then send the request again.",
        )

    def forget(self) -> None:
        """Note that data were stored."""
        _MOMENT.pack_into(self._met_at, 0, 0.0)

    def is_met(self) -> bool:
        """Whether a write failed so within the last minute, and no data were stored since."""
        met_at: float = _MOMENT.unpack_from(self._met_at, 0)[0]
        return met_at > 0.0 and time.monotonic() - met_at < REMEMBERED_SECONDS


full_disk: Final = FullDisk()
"""The one of this process and of those that it forks."""
