"""What a search may use before it has to answer with the best that it has.

Counts and gaps make a search stop at the same place every time. The domain has no clock: a time limit and a
user's wish to stop arrive as a callback, and where they stop a search is not reproducible.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Annotated

from annotated_types import Ge, Gt, Le, Lt, doc

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput

Halted = Callable[[], bool]
"""True once a time limit has passed or the user asked to stop; stays true."""


def never() -> bool:
    """Nothing stops the search."""
    return False


class HaltedError(Exception):
    """The work inside a block ends here; the block answers with what it has."""


class EndedError(Exception):
    """A search has to end here: its budget is used up, or it was ``halted``.

    ``bound`` is what it knows that nothing open is below.
    """

    def __init__(self, bound: float = -math.inf, *, halted: bool = False) -> None:
        super().__init__()
        self.bound, self.halted = bound, halted


def stop_if(halted: Halted) -> None:
    """Raise HaltedError once the search is halted."""
    if halted():
        raise HaltedError


def added_up(tick: Callable[[int], None]) -> Callable[[int], None]:
    """Takes how much was done since its last call, and tells ``tick`` how much that is in all."""
    done = 0

    def advance(more: int) -> None:
        nonlocal done
        done += more
        tick(done)

    return advance


@dataclass(frozen=True)
class Budget:
    """Where a search stops of itself.

    Raises
    ------
    InvalidInput
        A number out of range.
    """

    max_nodes: Annotated[
        int | None,
        Ge(1),
        Le(2**53),
        doc(
            "Most nodes that the whole search visits; a search record by record visits up to two for each "
            "different record however few are allowed. The same number gives the same answer."
        ),
        Example(100_000),
    ] = None
    relative_gap: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        doc(
            "End as soon as the best rule is proved to be no further away than this share of the objective. "
            "The same share gives the same answer."
        ),
        Example(0.05),
    ] = None

    def __post_init__(self) -> None:
        if self.max_nodes is not None and self.max_nodes < 1:
            raise InvalidInput.of("/budget/max_nodes", "out-of-range", "max_nodes must be at least 1.")
        if self.relative_gap is not None and not 0 < self.relative_gap < 1:
            raise InvalidInput.of(
                "/budget/relative_gap", "out-of-range", "relative_gap must be between 0 and 1, both excluded."
            )

    def shared_by(self, searches: int) -> Budget:
        """The budget of each of so many searches: an equal part of the nodes, at least one."""
        if self.max_nodes is None:
            return self
        return replace(self, max_nodes=max(1, self.max_nodes // searches))

    def suffices(self, objective: float, bound: float) -> bool:
        """Whether an objective, to be minimised, is close enough to a bound from below."""
        if self.relative_gap is None or not math.isfinite(objective):
            return False
        return objective - bound <= self.relative_gap * abs(objective)


UNLIMITED = Budget()
