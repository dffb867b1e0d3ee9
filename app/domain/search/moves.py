"""The immediate generalisations and specialisations of a node (Definitions: lattice of a record)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from app.domain.hierarchies.hierarchy import Hierarchy

Levels = tuple[int, ...]
Steps = tuple[tuple[int, ...], ...]
"""Positions one step away from each position of an attribute."""


@dataclass(frozen=True)
class Moves:
    """Which positions of each attribute are one step more general (``above``) or more specific (``below``).

    The positions of an attribute are numbered so that everything above a position has a greater number; 0 is
    the value itself and the last one ⊥.
    """

    above: tuple[Steps, ...]
    below: tuple[Steps, ...]

    @classmethod
    def on_chains(cls, heights: Levels) -> Moves:
        """The moves where every position but the last is below the next one only."""
        return cls(
            tuple(tuple((i + 1,) if i < h else () for i in range(h + 1)) for h in heights),
            tuple(tuple((i - 1,) if i else () for i in range(h + 1)) for h in heights),
        )

    @classmethod
    def among_ancestors(cls, hierarchies: tuple[Hierarchy, ...], ladders: tuple[Levels, ...]) -> Moves:
        """The moves among the ancestors of one record's values, which are numbered as in ``ladders``."""
        above = []
        for hierarchy, ladder in zip(hierarchies, ladders, strict=True):
            place = {node: position for position, node in enumerate(ladder)}
            above.append(tuple(tuple(sorted(place[p] for p in hierarchy.parents[node])) for node in ladder))
        below = [
            tuple(tuple(i for i, up in enumerate(steps) if position in up) for position in range(len(steps)))
            for steps in above
        ]
        return cls(tuple(above), tuple(below))

    def generalisations(self, levels: Levels) -> Iterator[Levels]:
        """The nodes that replace one value by one of its parents."""
        return _moved(levels, self.above)

    def specialisations(self, levels: Levels) -> Iterator[Levels]:
        """The nodes that replace one value by one that it is a parent of, towards the record itself."""
        return _moved(levels, self.below)


def _moved(levels: Levels, steps: tuple[Steps, ...]) -> Iterator[Levels]:
    for j, position in enumerate(levels):
        for other in steps[j][position]:
            yield (*levels[:j], other, *levels[j + 1 :])
