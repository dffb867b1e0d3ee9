"""Whether the database has met a full disk: what is said of it, and for how long."""

from __future__ import annotations

import logging
import mmap
import shutil
import struct
import time
from pathlib import Path
from typing import Final

from app.domain.errors import Unavailable

REMEMBERED_SECONDS: Final = 60.0
"""Without an end, a service that is asked for nothing while it is not ready would never find room again."""

LEAST_ROOM_BYTES: Final = 2 * 16 * 1024**2
"""Two segments of PostgreSQL's write-ahead log: a server that cannot make another one stops."""

_MOMENT: Final = struct.Struct("d")

logger = logging.getLogger(__name__)


class FullDisk:
    """The last write that failed because the disk of the database was full.

    Processes that are forked later share it: each can tell what another has met. The clock is the machine's,
    in seconds, the same for all of them. How full the disk of an embedded database is can be seen besides,
    even if the database has stopped.
    """

    def __init__(self) -> None:
        self._met_at = mmap.mmap(-1, _MOMENT.size)
        self.folder: Path | None = None
        """Of an embedded database."""

    def require_room(self) -> None:
        """Refuse to store data while the last room is what an embedded database needs to go on."""
        if not self._has_room():
            raise self.meet()

    def meet(self) -> Unavailable:
        """Note it, log it if it is news, and answer what the request is told."""
        if not self._is_remembered():
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
        """Whether a write failed so within the last minute, with none stored since, or room is short."""
        return self._is_remembered() or not self._has_room()

    def _is_remembered(self) -> bool:
        met_at: float = _MOMENT.unpack_from(self._met_at, 0)[0]
        return met_at > 0.0 and time.monotonic() - met_at < REMEMBERED_SECONDS

    def _has_room(self) -> bool:
        return self.folder is None or shutil.disk_usage(self.folder).free >= LEAST_ROOM_BYTES


full_disk: Final = FullDisk()
"""The one of this process and of those that it forks."""
