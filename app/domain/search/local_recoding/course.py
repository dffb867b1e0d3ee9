"""The course of a search that is one sequence of changes, so that it can go on where it was interrupted.

What the search decides by is found step by step (:meth:`Course.of`) and noted, as numbers that have a short
form. What it changes is *held*: arrays that belong together. Both are its state after each step. A search
that begins anew with such a state is told what was found instead of finding it, and makes the same decisions;
after the last note whatever it holds becomes what it was. Until then nothing that is held may be looked at
outside of a step.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final, Protocol, TypeVar

import numpy.typing as npt

from app.domain.search.answers import Answers, Arrays, packed_state, unpacked_state
from app.domain.search.budget import UNLIMITED, Budget, Halted, never

_STATE: Final = (-1,)

T = TypeVar("T")


class Held(Protocol):
    """What a search changes."""

    def kept(self) -> Arrays:
        """All that it is, as arrays."""
        ...

    def restore(self, kept: Arrays) -> None:
        """Be what was kept."""
        ...


class HeldArrays(dict[str, npt.NDArray[Any]]):
    """Arrays by name that a search puts in the place of others."""

    def kept(self) -> Arrays:
        """The arrays."""
        return dict(self)

    def restore(self, kept: Arrays) -> None:
        """Take the arrays in the place of all others."""
        self.clear()
        self.update(kept)


class Course:
    """Counts the steps of a search, says when it has to end, and notes what it finds.

    Attributes
    ----------
    visited
        Steps made, ``used`` ones before included.
    halted
        The search was asked to end.
    """

    def __init__(
        self,
        budget: Budget = UNLIMITED,
        used: int = 0,
        tick: Callable[[int], None] = lambda _: None,
        halted: Halted = never,
        answers: Answers | None = None,
    ) -> None:
        self.visited = used
        self.halted = False
        self._most = math.inf if budget.max_nodes is None else budget.max_nodes
        self._tick = tick
        self._is_halted = halted
        self._answers = Answers() if answers is None else answers
        self._held: list[Held] = []
        kept = self._answers.state(_STATE)
        self._notes: list[tuple[Any, int]] = []
        self._arrays: Arrays = {}
        if kept is not None:
            self._notes, self._arrays = unpacked_state(kept)
        self._told = 0

    def goes_on(self) -> bool:
        """Count a step, if there may be another one."""
        # What is only told was found by a search that was not halted.
        finds = self._told == len(self._notes)
        self.halted = self.halted or (finds and self._is_halted())
        if self.halted or self.visited >= self._most:
            return False
        self.visited += 1
        if finds:
            self._tick(self.visited)
        return True

    def of(self, find: Callable[[], T]) -> T:
        """What is found, of a kind that JSON has; what an interrupted search has found is told."""
        if self._told < len(self._notes):
            found, self.visited = self._notes[self._told]
            self._told += 1
            if self._told == len(self._notes):
                for number, own in enumerate(self._held):
                    begins = f"{number} "
                    kept = {name: array for name, array in self._arrays.items() if name.startswith(begins)}
                    own.restore({name.removeprefix(begins): array for name, array in kept.items()})
                self._arrays = {}
            return found  # type: ignore[no-any-return]
        found = find()
        self._notes.append((found, self.visited))
        self._told += 1
        if not self.halted:
            self._answers.offer(_STATE, self._packed)
        return found

    def hold(self, *held: Held) -> None:
        """From now on the search changes these, and nothing else any more."""
        self._held = list(held)

    @contextmanager
    def holding(self, held: Held) -> Iterator[None]:
        """For a while it changes this, too."""
        self._held.append(held)
        yield
        self._held.pop()

    def _packed(self) -> bytes:
        arrays = {
            f"{number} {name}": array
            for number, own in enumerate(self._held)
            for name, array in own.kept().items()
        }
        return packed_state(self._notes, arrays)
