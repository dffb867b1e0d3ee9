"""Attributes whose values are numbers: what the labels of leaves say, and what may be under a node."""

from __future__ import annotations

import math
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from typing import Final

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy

MANY_AMOUNTS: Final = 20
"""So many different numbers may be codes; more are taken for amounts."""
GREATEST_SUM: Final = 2**62
"""Sums of whole numbers over all records stay below it."""


def number_labels(
    attribute: str, hierarchy: Hierarchy, pointer: str = "/objective/loss/numeric"
) -> list[Fraction]:
    """The number that each leaf's label writes, exactly; InvalidInput at the pointer if one is none."""
    try:
        return [Fraction(hierarchy.labels[node].strip()) for node in hierarchy.leaves.tolist()]
    except (ValueError, ZeroDivisionError):
        raise InvalidInput.of(
            pointer,
            "not-numeric",
            f"A value in the hierarchy of {attribute!r} is no number.",
            "Name only attributes all of whose values are numbers.",
        ) from None


def ungrouped_amounts(attribute: str, hierarchy: Hierarchy) -> str | None:
    """A warning of leaves that are all numbers, and many: each amount would be a value of its own."""
    if hierarchy.n_leaves <= MANY_AMOUNTS:
        return None
    try:
        number_labels(attribute, hierarchy)
    except InvalidInput:
        return None
    return (
        f"The {hierarchy.n_leaves:,} values of {attribute!r} are numbers, of which each is a value of its "
        "own here, and one far off may be drawn as well as one near by. If they are amounts and no codes, "
        "put them into classes."
    )


def alike_in_number(hierarchy: Hierarchy, nodes: Ints) -> Ints:
    """(n,) the nodes, and for leaves that write the same number, such as 1 and 1.0, one of them."""
    found: Ints = np.arange(hierarchy.n_nodes, dtype=np.int32)
    first: dict[Decimal, int] = {}
    for node in np.unique(nodes).tolist():
        with suppress(InvalidOperation):
            number = Decimal(hierarchy.labels[node].strip())
            if hierarchy.is_leaf[node] and number.is_finite():
                found[node] = first.setdefault(number, node)
    return np.asarray(found.take(nodes))


def whole_numbers(
    attribute: str, hierarchy: Hierarchy, n_records: int, pointer: str = "/objective/loss/numeric"
) -> tuple[Longs, int]:
    """Each leaf's number times the least number that makes all of them whole, and that number.

    Raises InvalidInput at the pointer if a leaf is no number, NotSupported if the numbers of so many records
    have too many digits to be added exactly.
    """
    numbers = number_labels(attribute, hierarchy, pointer)
    common = math.lcm(*(number.denominator for number in numbers))
    whole = [int(number * common) for number in numbers]
    if max(map(abs, whole)) * 2 * n_records >= GREATEST_SUM:
        raise NotSupported(
            f"The values of {attribute!r} have too many digits to be added exactly.", "Round them first."
        )
    return np.array(whole, dtype=np.int64), common


def ends(hierarchy: Hierarchy, numbers: Longs, leaves: Longs) -> tuple[Longs, Longs]:
    """Least and greatest of the numbers of the given leaves under each node; least above greatest if none."""
    limit = np.iinfo(np.int64).max // 4
    low, high = np.full(hierarchy.n_nodes, limit), np.full(hierarchy.n_nodes, -limit)
    chosen = np.zeros(hierarchy.n_leaves, dtype=bool)
    chosen[leaves] = True
    indices, nodes = hierarchy.leaf_ancestors
    kept = chosen[indices]
    np.minimum.at(low, nodes[kept], numbers[indices[kept]])
    np.maximum.at(high, nodes[kept], numbers[indices[kept]])
    return low, high
