"""The entities near one record, and the counts of all nodes that differ from one node by an exchange.

An *exchange* changes at most two attributes: one to any more specific level, another to any more general one.
An entity is consistent after it only if it missed the node on at most one attribute, the one that is
generalised; so the entities with at most one miss give all counts at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Longs
from app.domain.search.large_lattices.chains import Chains

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class Steps:
    """All (attribute, level) of finite weight below ⊥, attribute by attribute; int64 (c,) each.

    ``first`` is, per attribute, where its level 0 stands or would stand.
    """

    attribute: Longs
    level: Longs
    first: Longs

    @classmethod
    def of(cls, chains: Chains) -> Steps:
        """The steps of a record, from the levels of finite weight that its chains have."""
        sizes = chains.top - chains.low
        attribute = np.repeat(np.arange(chains.n_attributes), sizes)
        first = np.cumsum(sizes) - sizes - chains.low
        return cls(attribute, np.arange(len(attribute)) - first[attribute], first)


@dataclass(frozen=True, eq=False)
class Exchanges:
    """|ρ| of a node and of all its exchanges, float64 (1 + ups, 1 + downs).

    Row 0 generalises nothing, row u the attribute ``up[u − 1]`` to ``up_level[u − 1]``; columns likewise
    specialise. Entries that would do both to one attribute mean nothing.
    """

    counts: npt.NDArray[np.float64]
    up: Longs
    up_level: Longs
    down: Longs
    down_level: Longs

    @property
    def evaluated(self) -> int:
        """Nodes that were counted."""
        return self.counts.size

    def is_exact(self, row: int, column: int) -> bool:
        """Whether an entry is a count, not a bound."""
        del row, column
        return True

    @cached_property
    def distinct(self) -> npt.NDArray[np.bool_]:
        """Whether an entry changes each attribute once at most."""
        found = np.ones(self.counts.shape, dtype=bool)
        found[1:, 1:] = self.up[:, None] != self.down
        return found


@dataclass(frozen=True, eq=False)
class NearRows:
    """Entities as thresholds: uint8 (r, k), least level of each attribute from which on each is consistent.

    Under ``add_self`` the own row counts always: it is here with thresholds 0.
    """

    chains: Chains
    steps: Steps
    thresholds: Bytes

    @classmethod
    def of(cls, chains: Chains, steps: Steps, rows: Longs) -> NearRows:
        """Those of some entities of the dictionary."""
        found = cls.listed(chains, rows)
        if chains.own is not None:
            own = np.flatnonzero((found == chains.own).all(axis=1))
            found = np.concatenate(
                [np.delete(found, own[:1], axis=0), np.zeros_like(found[:1], shape=(1, found.shape[1]))]
            )
        return cls(chains, steps, found)

    @staticmethod
    def listed(chains: Chains, rows: Longs) -> Bytes:
        """Thresholds (r, k) of some entities as the dictionary has them."""
        nodes = [int(chains.nodes[j, 0]) for j in chains.linked]
        found = np.zeros((len(rows), chains.n_attributes), dtype=np.uint8)
        found[:, list(chains.linked)] = chains.index.thresholds(nodes, rows)
        return found

    @property
    def size(self) -> int:
        """r, the rows of thresholds."""
        return len(self.thresholds)

    @cached_property
    def hits(self) -> Bytes:
        """Per entity and step, whether the entity is consistent from that level on (r, c)."""
        return (self.thresholds[:, self.steps.attribute] <= self.steps.level).view(np.uint8)

    def only(self, chosen: npt.NDArray[np.integer] | npt.NDArray[np.bool_]) -> NearRows:
        """Some of them."""
        return NearRows(self.chains, self.steps, self.thresholds[chosen])

    def count(self, levels: Sequence[int] | Longs) -> int:
        """How many are consistent with a node."""
        return int((self.thresholds <= np.asarray(levels)).all(axis=1).sum())

    def exchanges(self, levels: Longs) -> Exchanges:
        """|ρ| of all exchanges of a node."""
        steps = self.steps
        missed = self.thresholds > levels
        misses = missed.sum(axis=1, dtype=np.int16)
        here, near = np.flatnonzero(misses == 0), np.flatnonzero(misses == 1)
        downs = np.flatnonzero(steps.level < levels[steps.attribute])
        # Going up to level s + 1 is numbered as the step of level s.
        ups = np.flatnonzero(steps.level >= levels[steps.attribute])
        counts = np.zeros((1 + len(ups), 1 + len(downs)))
        counts[0, 0] = len(here)
        counts[0, 1:] = self.hits[np.ix_(here, downs)].sum(axis=0, dtype=np.int64)
        at = missed[near].argmax(axis=1)
        step = steps.first[at] + self.thresholds[near, at] - 1
        place = np.searchsorted(ups, step)
        order = np.argsort(place, kind="stable")
        if len(order):
            starts = np.flatnonzero(np.diff(place[order], prepend=-1))
            rows = self.hits[np.ix_(near[order], downs)]
            groups = place[order][starts]
            counts[1 + groups, 1:] = np.add.reduceat(rows, starts, axis=0, dtype=np.int64)
            counts[1 + groups, 0] = np.diff(np.append(starts, len(order)))
        # Rows 1.. are summed over the levels up to each within every attribute.
        sums = np.cumsum(counts[1:], axis=0)
        firsts = np.flatnonzero(np.diff(steps.attribute[ups], prepend=-1))
        before = np.concatenate([np.zeros((1, counts.shape[1])), sums])[firsts]
        counts[1:] = sums - np.repeat(before, np.diff(np.append(firsts, len(ups))), axis=0)
        counts[1:] += counts[0]
        return Exchanges(
            counts, steps.attribute[ups], steps.level[ups] + 1, steps.attribute[downs], steps.level[downs]
        )
