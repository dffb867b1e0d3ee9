"""What long work has found out so far, so that it can go on where it was interrupted.

A search that is one sequence of decisions cannot be cut in blocks. But it decides by nothing other than the
answers to the questions that it asks, nearly all of its time goes into them, and they depend on nothing but
the question. Given the answers of an interrupted search, another one makes the same decisions until it has
caught up, and its result is the same.

Where decisions themselves take long, a search also says at which points it could go on from its state, and
takes that of the last such point if somebody wants to keep it. One state is enough: it takes the place of any
before, and what is finished is kept as an answer.
"""

from __future__ import annotations

import gzip
import io
import json
import struct
import zlib
from array import array
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from app.domain.search.budget import Halted

MOST_BYTES: Final = 2**26
"""What is found out beyond that is not kept, and would be computed again."""

MEMORY_PER_BYTE: Final = 2.0
"""Bytes of memory per byte that is kept, at most, with what tells where each is; 1.1 to 1.4 measured."""

STATE_COPIES: Final = 4.0
"""A state is compressed; it is there once as it is and once as it is sealed, of two states at most."""

_SIZES: Final = struct.Struct("<HI")
_NUMBER: Final = struct.Struct("<d")
_LENGTH: Final = struct.Struct("<H")
_FEWEST_PLACES: Final = 2**10
_GZIP: Final = 16 + zlib.MAX_WBITS
"""Bits that have zlib write the header of gzip."""


class Answers:
    """Answers by question, in the order in which they were found; ``size`` in bytes only grows.

    They lie one behind the other as they are kept; a table of open addressing says where each begins.
    """

    def __init__(self) -> None:
        self._all = _Records()
        self._part: tuple[int, ...] = ()
        self._keeps_state = True

    @property
    def size(self) -> int:
        """Bytes that are kept, of all parts together."""
        return self._all.size

    def become_part(self, whole: Answers, number: int, *, keeps_state: bool = True) -> None:
        """Be kept with others from now on: these are the answers to a part's questions, by its number.

        To be called before anything is asked. Unless it ``keeps_state`` the part makes all its decisions
        again, as work does whose steps count elsewhere: neither its state nor what is found as a whole, which
        would spare it steps, is kept.
        """
        self._all, self._part = whole._all, (*whole._part, number)
        self._keeps_state = keeps_state

    def of(self, question: Sequence[int], find: Callable[[], bytes]) -> bytes:
        """The answer that is known, or else found and kept."""
        asked = self._asked(question)
        answer = self._all.find(asked)
        if answer is None:
            answer = find()
            self._all.add(asked, answer)
        return answer

    def whole(self, question: Sequence[int], find: Callable[[], bytes], halted: Halted) -> bytes:
        """The same of what is found in part if it is ``halted``: then it is not kept."""
        if not self._keeps_state:
            return find()
        answer = self.known(question)
        if answer is None:
            answer = find()
            if not halted():
                self.keep(question, answer)
        return answer

    def number_of(self, question: Sequence[int], find: Callable[[], float]) -> float:
        """The same where the answer is a number."""
        return float(_NUMBER.unpack(self.of(question, lambda: _NUMBER.pack(find())))[0])

    def known(self, question: Sequence[int]) -> bytes | None:
        """The answer if it is known."""
        return self._all.find(self._asked(question))

    def keep(self, question: Sequence[int], answer: bytes) -> None:
        """Take in the answer to a question of which none is known, if there is room."""
        self._all.add(self._asked(question), answer)

    def kept(self, after: int = 0) -> bytes:
        """Those found since ``size`` was ``after``, for :meth:`recall`, also of a thread at work."""
        return self._all.since(after)

    def recall(self, kept: bytes) -> None:
        """Take over answers of interrupted work on the same."""
        self._all.extend(kept)

    def offer(self, question: Sequence[int], state: Callable[[], bytes]) -> None:
        """The work could go on from here: its state is taken if one is wanted, unless it is too large."""
        kept = self._all
        if self._keeps_state and kept.wants_state:
            kept.wants_state = False
            found = state()
            if len(found) <= MOST_BYTES:
                kept.state = _Kept.of(self._asked(question), found)

    def state(self, question: Sequence[int]) -> bytes | None:
        """The state to go on from, if the last one kept is of this question."""
        kept = self._all.state
        return kept.state if kept is not None and kept.asked == self._asked(question) else None

    def want_state(self) -> None:
        """Have the work take its state as soon as it can; a thread beside it may ask."""
        self._all.wants_state = True

    def kept_state(self) -> bytes | None:
        """The last state that was taken, for :meth:`recall_state`, also of a thread at work."""
        kept = self._all.state
        return None if kept is None else kept.packed

    def recall_state(self, kept: bytes) -> None:
        """Take over the state of interrupted work on the same."""
        self._all.state = _Kept(kept)

    def _asked(self, question: Sequence[int]) -> bytes:
        words = (*self._part, *question)
        return struct.pack(f"<{len(words)}i", *words)


@dataclass(frozen=True, eq=False)
class _Kept:
    """A state, and whose it is, as bytes."""

    packed: bytes

    @classmethod
    def of(cls, asked: bytes, state: bytes) -> _Kept:
        return cls(_LENGTH.pack(len(asked)) + asked + state)

    @property
    def asked(self) -> bytes:
        return self.packed[_LENGTH.size : self._begins]

    @property
    def state(self) -> bytes:
        return self.packed[self._begins :]

    @property
    def _begins(self) -> int:
        return int(_LENGTH.size + _LENGTH.unpack_from(self.packed)[0])


class _Records:
    """Questions with their answers, as bytes, and the last state."""

    def __init__(self) -> None:
        self.wants_state = False
        self.state: _Kept | None = None
        self._kept = bytearray()
        self._places = array("I", bytes(4 * _FEWEST_PLACES))
        self._n = 0

    @property
    def size(self) -> int:
        return len(self._kept)

    def find(self, asked: bytes) -> bytes | None:
        begins = self._places[self._place(asked)]
        if not begins:
            return None
        size, answered = _SIZES.unpack_from(self._kept, begins - 1)
        middle = begins - 1 + _SIZES.size + size
        return bytes(self._kept[middle : middle + answered])

    def add(self, asked: bytes, answer: bytes) -> None:
        record = _SIZES.pack(len(asked), len(answer)) + asked + answer
        if len(self._kept) + len(record) <= MOST_BYTES:
            begins = len(self._kept)
            self._kept += record  # at once, for another thread may be reading
            self._enter(asked, begins)

    def since(self, size: int) -> bytes:
        return bytes(self._kept[size:])

    def extend(self, kept: bytes) -> None:
        at, begins = 0, len(self._kept)
        self._kept += kept
        while at < len(kept):
            asked, answered = _SIZES.unpack_from(kept, at)
            first = at + _SIZES.size
            self._enter(kept[first : first + asked], begins + at)
            at = first + asked + answered

    def _enter(self, asked: bytes, begins: int) -> None:
        """Note where the record of a question begins."""
        if 2 * (self._n + 1) > len(self._places):
            before, self._places = self._places, array("I", bytes(8 * len(self._places)))
            for other in before:
                if other:
                    self._places[self._place(self._question(other - 1))] = other
        self._places[self._place(asked)] = begins + 1
        self._n += 1

    def _place(self, asked: bytes) -> int:
        """The place of a question, or the free one that it would have."""
        last = len(self._places) - 1
        place = hash(asked) & last
        while (begins := self._places[place]) and self._question(begins - 1) != asked:
            place = (place + 1) & last
        return place

    def _question(self, begins: int) -> bytes:
        first = begins + _SIZES.size
        return bytes(self._kept[first : first + _SIZES.unpack_from(self._kept, begins)[0]])


def memory_of(answers: float, words: int, answer_bytes: int) -> int:
    """Most bytes of memory that so many answers take to questions of so many numbers."""
    kept = min(float(MOST_BYTES), answers * (_SIZES.size + 4 * words + answer_bytes))
    return int(MEMORY_PER_BYTE * kept)


def memory_of_state(n_bytes: float) -> int:
    """Most bytes of memory that taking and keeping a state takes whose arrays have so many bytes."""
    return int(n_bytes + STATE_COPIES * min(n_bytes, float(MOST_BYTES)))


Arrays = Mapping[str, npt.NDArray[Any]]


class _Packing:
    """A file that is compressed as it is written; once it is too large to be kept the rest is left out."""

    def __init__(self) -> None:
        self._packer = zlib.compressobj(1, zlib.DEFLATED, _GZIP)
        self._parts: list[bytes] = []
        self._size = 0

    def write(self, part: bytes) -> None:
        """Take in the next part."""
        if self._size <= MOST_BYTES:
            self._add(self._packer.compress(part))

    def packed(self) -> bytes:
        """The file; more than ``MOST_BYTES`` if not all of it is there."""
        if self._size <= MOST_BYTES:
            self._add(self._packer.flush())
        return b"".join(self._parts)

    def _add(self, found: bytes) -> None:
        self._parts.append(found)
        self._size += len(found)


def packed_state(numbers: object, arrays: Arrays) -> bytes:
    """Numbers as JSON has them, infinities included, and arrays: as bytes, every number exactly as it is.

    More than ``MOST_BYTES``, and not all of it, if it is too large to be kept.
    """
    file = _Packing()
    first = json.dumps([numbers, list(arrays)]).encode()
    for own in (np.frombuffer(first, np.uint8), *arrays.values()):
        np.save(file, own, allow_pickle=False)
    return file.packed()


def unpacked_state(packed: bytes) -> tuple[Any, dict[str, npt.NDArray[Any]]]:
    """What was packed, tuples as lists."""
    with gzip.GzipFile(fileobj=io.BytesIO(packed)) as file:
        numbers, names = json.loads(np.load(file, allow_pickle=False).tobytes())
        return numbers, {name: np.load(file, allow_pickle=False) for name in names}


@runtime_checkable
class Remembering(Protocol):
    """A search, or the work of one, that goes on from what is known; None: its blocks are short."""

    answers: Answers | None


def answers_of(search: object) -> Answers | None:
    """What a search remembers, if it does."""
    return search.answers if isinstance(search, Remembering) else None
