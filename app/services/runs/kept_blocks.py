"""What is kept of a run's work before its end: which of it still counts, and what is new of its answers."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
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


STATE_NUMBER: Final = -1
"""The state is kept under it, in the place of the one before; answers under the numbers below."""


class Keeper:
    """Keeps what work finds out before its blocks are finished: new answers each time, and its last state.

    ``saved`` are the numbers that are taken.
    """

    def __init__(self, answers: Answers | None, mark: bytes, saved: Iterable[int]) -> None:
        self.mark = mark
        self._number = min((*saved, STATE_NUMBER)) - 1
        self._answers = answers
        self._size = 0
        self._state: bytes | None = None

    def recall(self, own: Mapping[int, bytes]) -> None:
        """Go on from what earlier attempts have kept, by number."""
        if self._answers is None:
            return
        for number in sorted(own):
            if number < STATE_NUMBER:
                self._answers.recall(own[number][HEADER.size :])
        if STATE_NUMBER in own:
            self._answers.recall_state(own[STATE_NUMBER][HEADER.size :])
        # What is kept already is not kept again: that would forgive the run's losses for nothing new.
        self._size, self._state = self._answers.size, self._answers.kept_state()

    def news(self) -> dict[int, bytes]:
        """What was found out since, to be kept by number, all of it at once."""
        found: dict[int, bytes] = {}
        if self._answers is None:
            return found
        header = HEADER.pack(self.mark, 0)
        # First the state: what it rests on is among the answers then.
        state = self._answers.kept_state()
        if state is not self._state:
            found[STATE_NUMBER] = header + (state or b"")
            self._state = state
        if self._answers.size > self._size:
            found[self._number] = header + self._answers.kept(self._size)
        return found

    def has_kept(self, news: Mapping[int, bytes]) -> None:
        """The news are in the store, and the next state is wanted."""
        if self._answers is None:
            return
        if self._number in news:
            self._size += len(news[self._number]) - HEADER.size
            self._number -= 1
        self._answers.want_state()
