"""What a long search has found out so far, so that it can go on where it was interrupted.

A search that is one sequence of decisions cannot be cut in blocks. But it decides by nothing other than the
answers to the questions that it asks, nearly all of its time goes into them, and they depend on nothing but
the question. Given the answers of an interrupted search, another one makes the same decisions until it has
caught up, in hardly any time, and its result is the same.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

MOST_BYTES: Final = 2**26
"""What is found out beyond that is not kept, and would be computed again.

In memory, where answers are looked up by question, so much takes about four times as much.
"""

_SIZES: Final = struct.Struct("<HI")


class Answers:
    """Answers by question, in the order in which they were found; ``size`` in bytes only grows."""

    def __init__(self) -> None:
        self._known: dict[bytes, bytes] = {}
        self._kept = bytearray()

    @property
    def size(self) -> int:
        """Bytes that are kept."""
        return len(self._kept)

    def of(self, question: Sequence[int], find: Callable[[], bytes]) -> bytes:
        """The answer that is known, or else found."""
        key = struct.pack(f"<{len(question)}i", *question)
        answer = self._known.get(key)
        if answer is None:
            answer = find()
            record = _SIZES.pack(len(key), len(answer)) + key + answer
            if len(self._kept) + len(record) <= MOST_BYTES:
                self._known[key] = answer
                self._kept += record  # at once, for another thread may be reading
        return answer

    def kept(self) -> bytes:
        """All of them, for :meth:`recall`; may be called while another thread searches."""
        return bytes(self._kept)

    def recall(self, kept: bytes) -> None:
        """Take over the answers of an interrupted search for the same."""
        at = 0
        while at < len(kept):
            asked, answered = _SIZES.unpack_from(kept, at)
            middle = at + _SIZES.size + asked
            self._known[kept[at + _SIZES.size : middle]] = kept[middle : middle + answered]
            at = middle + answered
        self._kept[:] = kept


@runtime_checkable
class Remembering(Protocol):
    """A search, or the work of one, that goes on from what is known; None: its blocks are short."""

    answers: Answers | None


def answers_of(search: object) -> Answers | None:
    """What a search remembers, if it does."""
    return search.answers if isinstance(search, Remembering) else None
