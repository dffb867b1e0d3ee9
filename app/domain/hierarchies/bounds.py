"""Hierarchies of numbers that free bounds cut, with top and bottom coding and labels of one's own."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from decimal import Decimal, localcontext
from itertools import pairwise

from app.domain.errors import InvalidInput
from app.domain.hierarchies.builders import EXACT, ascending, number_of, plain
from app.domain.hierarchies.definitions import nodes_of_parts
from app.domain.hierarchies.hierarchy import Hierarchy


def bounded(
    values: Sequence[str],
    bounds: Sequence[Sequence[str]],
    labels: Sequence[Sequence[str]] | None = None,
) -> Hierarchy:
    """Numbers below the parts that each level's bounds make: a bound belongs to the part that it begins.

    n bounds make n + 1 parts, of which those without a value have no node. InvalidInput if a value is no
    number, bounds do not ascend or are none of the level below, or labels are not one more than bounds.
    """
    with localcontext(EXACT):
        cuts = _cuts(bounds)
        names = [_names(level) for level in cuts] if labels is None else _checked_labels(labels, cuts)
        leaves, numbers = ascending(values)
        levels = [_parts(numbers, *own) for own in zip(cuts, names, strict=True)]
        return Hierarchy(*nodes_of_parts(leaves, levels))


def _parts(
    numbers: Sequence[Decimal], cuts: Sequence[Decimal], names: Sequence[str]
) -> list[tuple[str, int, int]]:
    """The parts of a level that hold some of the ascending numbers."""
    ends = [0, *(bisect_left(numbers, bound) for bound in cuts), len(numbers)]
    return [
        (name, start, end) for name, (start, end) in zip(names, pairwise(ends), strict=True) if start < end
    ]


def _cuts(bounds: Sequence[Sequence[str]]) -> list[list[Decimal]]:
    cuts: list[list[Decimal]] = []
    for i, level in enumerate(bounds):
        here = [number_of(f"/bounds/{i}/{j}", text) for j, text in enumerate(level)]
        for j, (low, high) in enumerate(pairwise(here), start=1):
            if high <= low:
                raise InvalidInput.of(
                    f"/bounds/{i}/{j}",
                    "not-ascending",
                    f"The bound {plain(high)} is not above {plain(low)}.",
                    "Write the bounds of a level in ascending order, each once.",
                )
        for j, bound in enumerate(here):
            if cuts and bound not in cuts[-1]:
                raise InvalidInput.of(
                    f"/bounds/{i}/{j}",
                    "not-nested",
                    f"The bound {plain(bound)} is none of the level below.",
                    "Leave bounds of the level below out, and add none, so that the parts nest.",
                )
        if cuts and len(here) == len(cuts[-1]):
            raise InvalidInput.of(
                f"/bounds/{i}",
                "same-level",
                "The level has the bounds of the level below.",
                "Leave at least one of them out, or leave the level out.",
            )
        cuts.append(here)
    return cuts


def _names(level: Sequence[Decimal]) -> list[str]:
    """What the parts are called where nobody said it."""
    between = [f"[{plain(low)}, {plain(high)}[" for low, high in pairwise(level)]
    return [f"below {plain(level[0])}", *between, f"{plain(level[-1])} or more"]


def _checked_labels(
    labels: Sequence[Sequence[str]], cuts: Sequence[Sequence[Decimal]]
) -> Sequence[Sequence[str]]:
    if len(labels) != len(cuts):
        raise InvalidInput.of(
            "/labels",
            "labels-of-levels",
            f"There are labels for {len(labels)} levels and bounds for {len(cuts)}.",
            "Give a list of labels for each level of bounds, or none at all.",
        )
    for i, (own, level) in enumerate(zip(labels, cuts, strict=True)):
        if len(own) != len(level) + 1:
            raise InvalidInput.of(
                f"/labels/{i}",
                "labels-of-parts",
                f"There are {len(own)} labels for the {len(level) + 1} parts that {len(level)} bounds make.",
                "Name the part below the first bound, each part between two, and the part from the last on.",
            )
        if len(set(own)) < len(own) or "" in own:
            raise InvalidInput.of(
                f"/labels/{i}",
                "duplicate-label",
                "A label is empty or stands for two parts.",
                "Give every part of a level a label of its own.",
            )
    return labels
