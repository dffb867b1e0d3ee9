"""The cells that people are drawn from: all declared values, those of a public list, or parts of them.

A list names values of the attribute, and may say of each how much prior it has, with which probability it is
kept where nobody is (Machanavajjhala (2008), algorithm 5), and how dense it is in its part (theorem 4.4). Who
has a value that is not in it is in the cell "outside", which is shown as suppressed: otherwise totals would
tell how many these are. Numbers count in millionths, rounded up.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.mechanisms.exact_noise import uniform_below
from app.domain.mechanisms.mechanism import Bits
from app.domain.mechanisms.polya_urn import CellsOfUnits
from app.domain.tables.table import Table

UNIT: Final = 10**6
NUMBERS: Final = ("prior", "inclusion", "density")
_GREATEST: Final = 10**6
Shape = tuple[tuple[int, int], ...]
Chances = tuple[tuple[float, int], ...]


@dataclass(frozen=True, eq=False)
class PublicCells:
    """K cells in the order of their nodes, "outside" first, where there is such a cell.

    Parameters
    ----------
    nodes
        (K,) the value or the part that each cell is; ``TOP`` is outside.
    of_node
        (nodes,) the cell of each node that a record can show, else −1.
    multiples
        (K,) how many times the least prior each has.
    inclusion
        (K,) probabilities to be kept where nobody is, in millionths.
    values, parts, densities
        (V,) the values that are shown of drawn people, the cell of each, ascending, and its density there.
    is_listed, has_outside
        Whether a list says so, and whether it leaves values out.
    """

    nodes: Ints
    of_node: Ints
    multiples: Longs
    inclusion: Longs
    values: Ints
    parts: Longs
    densities: Longs
    is_listed: bool
    has_outside: bool

    @classmethod
    def of(cls, hierarchy: Hierarchy, level: int, above: int, listed: Table | None, name: str) -> PublicCells:
        """The cells of the attribute ``name``, shown at a level and drawn ``above`` it.

        InvalidInput for a list that is none of such values, or whose numbers are no positive ones.
        """
        becomes = hierarchy.ancestors_at(level)
        every = np.unique(becomes[hierarchy.leaves]).astype(np.int32)
        values, numbers = every, dict.fromkeys(NUMBERS, np.full(len(every), UNIT, dtype=np.int64))
        if listed is not None:
            values, numbers = _read(listed, name, hierarchy, becomes, every)
        if outside := len(values) < len(every):
            values = np.insert(values, 0, TOP)
            numbers = {own: np.insert(many, 0, UNIT) for own, many in numbers.items()}
            numbers["prior"][0] = 1
        nodes, parts = np.unique(hierarchy.ancestors_at(level + above)[values], return_inverse=True)
        multiples, inclusion = np.zeros(len(nodes), dtype=np.int64), np.full(len(nodes), UNIT, dtype=np.int64)
        np.add.at(multiples, parts, numbers["prior"])
        np.minimum.at(inclusion, parts, numbers["inclusion"])
        inclusion = _in_few_sizes(inclusion, 10, 3)
        # Without a column of priors they are even over the cells, not over the values in these.
        is_even = listed is None or "prior" not in listed.attributes
        least = multiples[int(outside) :].min()
        multiples = np.ones_like(multiples) if is_even else _in_few_sizes(-(-multiples // least), 2, 3)
        of_node: Ints = np.full(hierarchy.n_nodes, 0 if outside else -1, dtype=np.int32)
        of_node[values] = parts
        order = np.argsort(parts, kind="stable")
        densities = numbers["density"][order] if above else np.full(len(order), UNIT)
        if not np.bincount(parts[order], densities).all():
            raise _fault("empty-part", "A part has no density.", "Give one of its values a density above 0.")
        shown, is_listed = (values[order], parts[order], densities), listed is not None
        return cls(nodes.astype(np.int32), of_node, multiples, inclusion, *shown, is_listed, outside)

    @property
    def units(self) -> int:
        """The prior of all cells as a multiple of the least."""
        return int(self.multiples.sum())

    @cached_property
    def shape(self) -> Shape:
        """How many cells have which multiple of the least prior, ascending."""
        return tuple(sorted(Counter(self.multiples.tolist()).items()))

    @cached_property
    def chances(self) -> Chances:
        """How many cells are kept with which probability, ascending; none where all cells are kept."""
        found = tuple(sorted(Counter(self.inclusion.tolist()).items()))
        return tuple((own / UNIT, many) for own, many in found) if found[0][0] < UNIT else ()

    def prior_units(self, of_people: Ints, starts: Longs, bits: Bits) -> tuple[Longs | int, CellsOfUnits]:
        """How many units of prior each partition has, (p,) or all, and the cells of units, as urns take them.

        Where cells are kept by chance, those in which somebody is are kept as well; ``starts`` are where the
        partitions begin in the people's cells.
        """
        ends = np.cumsum(self.multiples)
        if not self.chances:
            return self.units, lambda urns, units: np.searchsorted(ends, units, side="right")
        (by_chance,) = np.nonzero(self.inclusion < UNIT)
        chances = self.inclusion[by_chance].astype(np.uint64)
        found: list[Longs] = []
        for people in np.split(of_people, starts[1:]):
            is_kept: Bools = np.ones(len(self.nodes), dtype=bool)
            is_kept[by_chance] = uniform_below(len(by_chance), UNIT, bits) < chances
            is_kept[people] = True
            found.append(np.flatnonzero(is_kept))
        kept, many = np.concatenate(found), np.array([len(own) for own in found])
        begins = np.cumsum(many) - many
        return many, lambda urns, units: kept[begins[urns] + units]

    def shown(self, drawn: Ints, bits: Bits) -> Ints:
        """The values that drawn people show: one of their cell by the densities in it."""
        if len(self.values) == len(self.nodes):
            return self.values[drawn].astype(np.int32)
        ends = np.cumsum(self.densities)
        last = ends[np.searchsorted(self.parts, np.arange(len(self.nodes)), side="right") - 1]
        first = np.concatenate([[0], last[:-1]])
        within = uniform_below(len(drawn), (last - first)[drawn].astype(np.uint64), bits)
        found = np.searchsorted(ends, first[drawn] + within.astype(np.int64), side="right")
        return self.values[found].astype(np.int32)


def _read(
    listed: Table, name: str, hierarchy: Hierarchy, becomes: Ints, every: Ints
) -> tuple[Ints, dict[str, Longs]]:
    """The values of a list, ascending, and their numbers."""
    if name not in listed.attributes:
        raise _fault("unknown-attribute", f"The list has no column {name!r}.", "Name one as what is drawn.")
    j = listed.position(name)
    labels = listed.hierarchies[j].labels
    nodes = np.array([UNKNOWN if own is None else own for own in map(hierarchy.node_of, labels)])
    found = nodes[listed.codes[:, j]]
    is_wrong = (found < 0) | listed.is_missing(j) | ~np.isin(becomes[found], every)
    if is_wrong.any():
        message = f"Row {int(np.argmax(is_wrong))} of the list has no value of {name!r} at its level."
        raise _fault("unknown-value", message, "Name declared values.")
    values, rows = np.unique(becomes[found], return_index=True)
    if len(values) < len(found):
        raise _fault("repeated-value", "The list has a value twice.", "Give one row to each value.")
    return values.astype(np.int32), {own: _numbers(listed, own)[rows] for own in NUMBERS}


def _numbers(listed: Table, name: str) -> Longs:
    """A column in millionths, rounded up; 1 where there is no such column."""
    if name not in listed.attributes:
        return np.full(listed.n_records, UNIT, dtype=np.int64)
    j, greatest = listed.position(name), 1 if name == "inclusion" else _GREATEST
    codes = listed.codes[:, j]
    found = np.full(listed.hierarchies[j].n_nodes, -1, dtype=np.int64)
    for node in np.unique(codes[~listed.is_missing(j)]).tolist():
        try:
            number = Decimal(listed.hierarchies[j].labels[node])
        except InvalidOperation:
            continue
        if number.is_finite() and 0 <= number <= greatest and (number > 0 or name == "density"):
            found[node] = math.ceil(number * UNIT)
    is_wrong = found[codes] < 0
    if is_wrong.any():
        message = f"Row {int(np.argmax(is_wrong))} of the list has no {name}, or one out of range."
        least = "at least" if name == "density" else "above"
        raise _fault("out-of-range", message, f"Give a decimal number {least} 0 and at most {greatest:,}.")
    return found[codes]


def _in_few_sizes(numbers: Longs, base: int, digits: int) -> Longs:
    """Whole numbers rounded up to so many digits: each size that there is costs a proof, or part of one."""
    steps = base ** np.maximum((np.log(numbers) / np.log(base)).astype(np.int64) - digits + 1, 0)
    return np.asarray(-(-numbers // steps) * steps)


def _fault(code: str, message: str, remedy: str) -> InvalidInput:
    return InvalidInput.of("/mechanism/domain", code, message, remedy)
