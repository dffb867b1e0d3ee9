"""What is kept of a run's work before its end: which of it still counts, and what is new of its answers."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable
from typing import Final

from app.domain.search.answers import Answers
from app.services.fingerprints import version_of_code

CODE_VERSION: Final = version_of_code(("domain", "services"))
"""Of what a block may depend on: the code as it was loaded, whatever an upgrade does to its files later."""

HEADER: Final = struct.Struct(">32sQ")
"""Before whatever is kept: the mark of what it was computed by and for, and the units of a finished block."""


def mark_of(input_sha256: str, n_blocks: int, units: int) -> bytes:
    """What all begins with that the same code has kept of the same question, cut in the same way."""
    return hashlib.sha256(f"{CODE_VERSION} {input_sha256} {n_blocks} {units}".encode()).digest()


class Keeper:
    """Keeps what work finds out before its blocks are finished, each time what is new.

    ``number`` is the next one to keep it under: below 0, and below all that were taken.
    """

    def __init__(self, answers: Answers | None, mark: bytes, number: int) -> None:
        self.mark = mark
        self.number = number
        self._answers = answers
        self._size = 0

    def recall(self, payloads: Iterable[bytes]) -> None:
        """Go on from what earlier attempts have kept."""
        if self._answers is None:
            return
        for payload in payloads:
            self._answers.recall(payload[HEADER.size :])
        # What is kept already is not kept again: that would forgive the run's losses for nothing new.
        self._size = self._answers.size

    def news(self) -> bytes | None:
        """What was found out since, to be kept; None if that is nothing."""
        if self._answers is None or self._answers.size == self._size:
            return None
        return HEADER.pack(self.mark, 0) + self._answers.kept(self._size)

    def has_kept(self, payload: bytes) -> None:
        """The news are in the store."""
        self._size += len(payload) - HEADER.size
        self.number -= 1
