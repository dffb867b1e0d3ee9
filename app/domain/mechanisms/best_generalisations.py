"""The generalisation of each record that is of most worth against a public dictionary.

Worth is λ·|ρ(x)| / Φ(x) + u(x)^κ, in which Φ and u are sums over attributes, and |ρ(x)|, the entities below
x, is at least 1: one entity counts as none does. So generalisations that are alike in their first attributes
share these sums and, where two entities or more are below that part, the number of the group that these make.
Each attribute more is a few steps for a record, whatever the number of entities; these are grouped once for
all records that are looked at together.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.mechanisms.generalised_records import GeneralisedRecords
from app.domain.mechanisms.public_dictionary import PublicDictionary
from app.domain.mechanisms.public_scores import PublicScores
from app.domain.tables.distinct import group

RECORDS_AT_ONCE: Final = 2**18
ROWS_AT_ONCE: Final = 2**14
"""Numbers of so many rows stay in the processor's cache."""
SECONDS_PER_CHOICE: Final = 1.5e-8
"""For each distinct record and each generalisation that it has at most."""
SECONDS_PER_ENTITY: Final = 6e-8
"""For each entity and each generalisation, once for all records that are looked at together."""
BYTES_PER_ATTRIBUTE: Final = 22
"""Of a record that is looked at: its value, and Φ, u and group of what generalisations have in common."""
BYTES_PER_CHOICE: Final = 40
"""Of a record that is looked at: what is best so far, and what is made on the way."""
BYTES_PER_NODE: Final = 28
"""Of a value of a hierarchy at each depth: its node, weight and utility, and what is made on the way."""
MOST_CELLS: Final = 2**20
"""Where more pairs of a group and a node are possible, those that there are are searched for."""
Groups = npt.NDArray[np.uint16]
"""Numbers of groups of entities from 1, 0 for none; of 10,000 entities there are 5,000 groups of two."""


@dataclass(frozen=True, eq=False)
class Crowds:
    """Entities below generalisations of the same depths, in groups of two or more.

    Parameters
    ----------
    entities
        Their codes, (e, attributes of the dictionary).
    groups
        (e,) the group of each, from 1.
    sizes
        (groups + 1,) how many entities each has, as they count: 1 where there is none.
    """

    entities: Ints
    groups: Groups
    sizes: Longs

    @classmethod
    def of(cls, entities: Ints) -> Crowds:
        """All of them, as they are below ⊥."""
        alone = len(entities) < 2
        sizes = np.array([1] if alone else [1, len(entities)])
        return cls(entities[: 0 if alone else None], np.ones(0 if alone else len(entities), np.uint16), sizes)

    def narrowed(self, place: int, nodes: Ints) -> tuple[Crowds, Step]:
        """By the node of one more attribute, and how generalisations are led to their groups.

        ``nodes`` tells by what each value of the attribute at ``place`` in the dictionary is generalised.
        """
        own = self.entities[:, place]
        below = np.bincount(nodes[own], minlength=len(nodes))
        numbers = np.where(below > 1, np.cumsum(below > 1), 0)
        of_value = numbers[nodes]
        width = int(numbers.max()) + 1
        keys = self.groups.astype(np.int64) * width + of_value[own]
        kept = np.flatnonzero(of_value[own])
        first, of_row = group(keys[kept], len(self.sizes) * width)
        sizes = np.bincount(of_row, minlength=len(first))
        found = np.where(sizes > 1, np.cumsum(sizes > 1), 0).astype(np.uint16)
        groups = found[of_row]
        crowded = groups > 0
        narrowed = Crowds(
            self.entities[kept[crowded]], groups[crowded], np.concatenate([[1], sizes[sizes > 1]])
        )
        return narrowed, Step.of(of_value, width, keys[kept][first][sizes > 1], len(self.sizes) * width)


@dataclass(frozen=True, eq=False)
class Step:
    """From the group of a generalisation, and the value of one more attribute, to the group of both.

    A pair of a group and a value has the key group · ``width`` + ``of_value``; ``pairs`` are the keys of the
    groups of both, ascending. ``cells`` has the number of the group for every possible key, None if these
    are too many.
    """

    of_value: Longs
    width: int
    pairs: Longs
    cells: Groups | None

    @classmethod
    def of(cls, of_value: Longs, width: int, pairs: Longs, possible: int) -> Step:
        """With cells if so many keys are possible that there is room for them."""
        cells = None
        if possible <= MOST_CELLS:
            cells = np.zeros(possible, dtype=np.uint16)
            cells[pairs] = np.arange(1, len(pairs) + 1)
        return cls(of_value, width, pairs, cells)

    def groups(self, before: Groups, values: Ints) -> Groups:
        """(n,) of such groups and values."""
        keys = before.astype(np.int64)
        keys *= self.width
        keys += self.of_value.take(values)
        if self.cells is not None:
            return self.cells.take(keys)
        # From the right: of a key that is there this is its number from 1, and of what is less than all, 0.
        found = np.searchsorted(self.pairs, keys, side="right")
        is_there = (found > 0) & (self.pairs.take(found - 1, mode="wrap") == keys)
        return np.where(is_there, found, 0).astype(np.uint16)


@dataclass(frozen=True, eq=False)
class Depth:
    """What each value of an attribute is at one depth; ``place`` is the attribute's in the dictionary."""

    depth: int
    place: int | None
    weights: Floats
    utilities: Floats
    nodes: Ints


@dataclass(frozen=True, eq=False)
class Begun:
    """One generalisation of each record, that are alike in the depths of their first attributes.

    ``number`` tells which depths; ``groups`` is None where no two entities are below any.
    """

    number: int
    phi: Floats
    utility: Floats
    crowds: Crowds
    groups: Groups | None


@dataclass(frozen=True)
class ChoiceCost:
    """What the choice costs where all records differ, of so many generalisations at most."""

    generalisations: int
    entities: int
    attributes: int
    nodes: int
    """Of the hierarchies of all attributes, at each of its depths."""

    @property
    def seconds(self) -> float:
        """For the entities, of as many records as are looked at together."""
        return SECONDS_PER_ENTITY * self.entities * self.generalisations

    @property
    def seconds_per_record(self) -> float:
        """For a record, and its part of the entities."""
        return SECONDS_PER_CHOICE * self.generalisations + self.seconds / RECORDS_AT_ONCE

    @property
    def bytes(self) -> int:
        """However many records there are: of those looked at together, of nodes, and of cells."""
        cells = min((self.entities // 2 + 1) ** 2, MOST_CELLS)
        of_records = RECORDS_AT_ONCE * (BYTES_PER_ATTRIBUTE * self.attributes + BYTES_PER_CHOICE)
        return of_records + BYTES_PER_NODE * self.nodes + 2 * cells * self.attributes


def best_generalisations(
    records: GeneralisedRecords, dictionary: PublicDictionary, scores: PublicScores
) -> tuple[Ints, ...]:
    """Per attribute (d,) the nodes of each record's generalisation of most worth; of equals the first.

    All of a record are looked at, ⊥ first, then in the order of their depths: of equals the one that shows
    less of the first attribute in which they differ. Each choice is a function of its record alone.
    ValueError if a worth could be no finite number, whatever the records are.

    A value that is less deep stands for itself: such a generalisation was looked at before, is worth no less
    there, and is not chosen again.
    """
    if not (scores.least_phi > 0 and math.isfinite(scores.width(dictionary.size))):
        raise ValueError("the worth of a generalisation may be no finite number")
    depths = tuple(_depths(records, dictionary, scores, j) for j in range(len(records.hierarchies)))
    numbers = np.empty(len(records.codes), dtype=np.int32)
    for start in range(0, len(numbers), RECORDS_AT_ONCE):
        own = _Choice(scores, depths, records.codes[start : start + RECORDS_AT_ONCE])
        own.choose(dictionary.entities.codes)
        numbers[start : start + RECORDS_AT_ONCE] = own.numbers
    found = []
    for j in range(len(depths) - 1, -1, -1):
        numbers, places = np.divmod(numbers, len(depths[j]))
        nodes = np.stack([one.nodes for one in depths[j]])
        found.append(nodes[places, records.codes[:, j]])
    return tuple(reversed(found))


def _depths(
    records: GeneralisedRecords, dictionary: PublicDictionary, scores: PublicScores, j: int
) -> tuple[Depth, ...]:
    own = records.hierarchies[j]
    place = dictionary.attributes.index(j) if j in dictionary.attributes else None
    above = [own.ancestors_at(own.height - depth) for depth in range(records.depths[j] + 1)]
    return tuple(
        Depth(depth, place, scores.weights[j][nodes], scores.utilities[j][nodes], nodes)
        for depth, nodes in enumerate(above)
    )


class _Choice:
    """Of some records the number of what is best so far, and how much that is worth."""

    def __init__(self, scores: PublicScores, depths: tuple[tuple[Depth, ...], ...], codes: Ints) -> None:
        self.scores = scores
        self.depths = depths
        self.columns = [np.ascontiguousarray(codes[:, j]) for j in range(len(depths))]
        self.numbers = np.zeros(len(codes), dtype=np.int32)
        self.greatest = np.full(len(codes), -math.inf)

    def choose(self, entities: Ints) -> None:
        """Look at all generalisations."""
        n = len(self.numbers)
        groups = np.ones(n, dtype=np.uint16) if len(entities) > 1 else None
        self._under(0, Begun(0, np.full(n, self.scores.offset), np.zeros(n), Crowds.of(entities), groups))

    def _under(self, j: int, begun: Begun) -> None:
        """All that begin so, in the order of the depths of the others."""
        values = self.columns[j]
        for own in self.depths[j]:
            number, crowds, step = begun.number * len(self.depths[j]) + own.depth, begun.crowds, None
            if begun.groups is not None and own.depth and own.place is not None:
                crowds, step = crowds.narrowed(own.place, own.nodes)
            if j + 1 == len(self.depths):
                self._compare(number, begun, own, crowds, step)
                continue
            groups = begun.groups if len(crowds.sizes) > 1 else None
            if groups is not None and step is not None:
                groups = step.groups(groups, values)
            phi = begun.phi + own.weights.take(values)
            utility = begun.utility + own.utilities.take(values)
            self._under(j + 1, Begun(number, phi, utility, crowds, groups))

    def _compare(self, number: int, begun: Begun, own: Depth, crowds: Crowds, step: Step | None) -> None:
        """Of all attributes, those of this depth the last: which are worth more than what is best so far."""
        for start in range(0, len(self.numbers), ROWS_AT_ONCE):
            rows = slice(start, start + ROWS_AT_ONCE)
            values = self.columns[-1][rows]
            counts: Longs | int = 1
            if begun.groups is not None and len(crowds.sizes) > 1:
                groups = begun.groups[rows]
                counts = crowds.sizes.take(groups if step is None else step.groups(groups, values))
            phi = begun.phi[rows] + own.weights.take(values)
            worth = self.scores.worth(phi, begun.utility[rows] + own.utilities.take(values), counts)
            is_better = worth > self.greatest[rows]
            np.copyto(self.greatest[rows], worth, where=is_better)
            np.copyto(self.numbers[rows], number, where=is_better)
