"""Which groups of a release the persons of a dictionary may be in, by what it says of them.

Who is known by all quasi-identifiers exactly is looked for in one micro group (Wang et al. (2012), definition
1): the one that shows these values, or what a rule made of them. A missing value is a category of its own, so
that a row without one is not theirs, unless none shows what is known. Who is known by fewer, or vaguely, is
looked for in an aggregate of all groups that agree with it, unless only one does.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.compatibility import Compatibility
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.entry import Tick
from app.domain.tables.distinct import distinct_rows, one_of_each
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table

PAIRS_AT_ONCE: Final = 1 << 21
_SEVERAL: Final = -1
_NO_NODE: Final = -2


class SoughtGroups:
    """The T kinds of person that a dictionary tells apart, and the groups (G, q) that each may be in.

    ``number`` (T,) says in how many groups each may be, ``first`` (T,) which is the first of these, −1 for
    none. Ticks off kinds of person.
    """

    def __init__(
        self, table: Table, dictionary: Dictionary, attributes: tuple[int, ...], nodes: Ints, tick: Tick
    ) -> None:
        links = {table.position(link.attribute): link for link in dictionary.links}
        self._places = [place for place, j in enumerate(attributes) if j in links]
        self._links = [links[attributes[place]] for place in self._places]
        self._knows_all = len(self._places) == len(attributes)
        self._nodes = nodes
        columns, sizes = [own.column for own in self._links], [own.n_codes for own in self._links]
        self._kinds = distinct_rows(columns, sizes, dictionary.n_entities)
        self.number, self.first = self._found(tick)

    @property
    def persons(self) -> Longs:
        """(T,) persons of each kind."""
        return self._kinds.counts

    @property
    def known(self) -> tuple[int, ...]:
        """Places, among the quasi-identifiers, of those that the dictionary carries."""
        return tuple(self._places)

    @cached_property
    def is_exact(self) -> Bools:
        """(T,) of whom all quasi-identifiers are known, each by one value."""
        found: Bools = np.full(self._kinds.size, self._knows_all)
        for link in self._links:
            found[self._kinds.inverse[~are_exact(link)]] = False
        return found

    def groups(self, kind: int) -> Longs:
        """The groups that a kind of person may be in, ascending."""
        if self._own[kind] >= 0:
            return self._own[[kind]]
        return np.flatnonzero(self._fits(np.array([kind]), np.arange(len(self._nodes)))[0])

    def _found(self, tick: Tick) -> tuple[Longs, Longs]:
        number, first = (self._own >= 0).astype(np.int64), self._own.copy()
        everywhere, left = np.arange(len(self._nodes)), self._own < 0
        # Of whom all values are known and no row shows them, only rows that show less may be.
        only_blank = left & self.is_exact & ~self._is_ambiguous
        done = self._kinds.size - int(left.sum())
        for chosen, groups in (
            (only_blank, np.flatnonzero(self._is_blank)),
            (left & ~only_blank, everywhere),
        ):
            waiting = np.flatnonzero(chosen)
            at_once = max(1, PAIRS_AT_ONCE // max(1, len(groups)))
            for start in range(0, len(waiting) if len(groups) else 0, at_once):
                kinds = waiting[start : start + at_once]
                fits = self._fits(kinds, groups)
                number[kinds] = fits.sum(axis=1)
                first[kinds] = np.where(fits.any(axis=1), groups[fits.argmax(axis=1)], -1)
                done += len(kinds)
                tick(done)
        return number, first

    @cached_property
    def _own_nodes(self) -> Ints:
        """(T, q) the only node of each column that shows what is known exactly of a kind of person."""
        found = np.full((self._kinds.size, len(self._places)), _NO_NODE, dtype=np.int32)
        exact = np.flatnonzero(self.is_exact)
        someone = one_of_each(self._kinds.inverse, self._kinds.size)[exact]
        for i, (place, link) in enumerate(zip(self._places, self._links, strict=True)):
            meaning, shown = link.meaning, np.unique(self._nodes[:, place])
            leaves = meaning.leaves[meaning.starts[meaning.column[someone]]]
            found[exact, i] = _nodes_of_leaves(link.hierarchy, shown)[leaves]
        return found

    @cached_property
    def _is_ambiguous(self) -> Bools:
        """(T,) known exactly, by a value for which a column shows several nodes, as rules for records do."""
        found: Bools = (self._own_nodes == _SEVERAL).any(axis=1)
        return found

    @cached_property
    def _own(self) -> Longs:
        """(T,) the group that shows what is known exactly of a kind of person, else −1."""
        found: Longs = np.full(self._kinds.size, -1, dtype=np.int64)
        kinds = np.flatnonzero(self.is_exact & (self._own_nodes >= 0).all(axis=1))
        if not len(kinds):
            return found
        n_groups = len(self._nodes)
        both = np.concatenate([self._nodes, self._own_nodes[kinds]])
        sizes = [link.hierarchy.n_nodes for link in self._links]
        rows = distinct_rows(list(both.T), sizes, len(both))
        group = np.full(rows.size, -1, dtype=np.int64)
        group[rows.inverse[:n_groups]] = np.arange(n_groups)
        found[kinds] = group[rows.inverse[n_groups:]]
        return found

    @cached_property
    def _is_blank(self) -> Bools:
        """(G,) groups that show nothing in a column in which others show something."""
        is_nothing = shows_nothing(self._nodes)
        found: Bools = (is_nothing & ~is_nothing.all(axis=0)).any(axis=1)
        return found

    @cached_property
    def _compatibilities(self) -> list[Compatibility]:
        return [
            Compatibility(link, np.unique(self._nodes[:, place]))
            for place, link in zip(self._places, self._links, strict=True)
        ]

    def _fits(self, kinds: Longs, groups: Longs) -> Bools:
        """(t, g) whether what a group shows agrees with what is known of a kind of person.

        Of who is known exactly, groups that show less do so only where no other one does.
        """
        found: Bools = np.ones((len(kinds), len(groups)), dtype=bool)
        for i, (place, own) in enumerate(zip(self._places, self._compatibilities, strict=True)):
            kind, group = np.nonzero(found)
            codes, nodes = self._kinds.codes[kinds[kind], i], self._nodes[groups[group], place]
            found[kind, group] = own.consistent(nodes, codes)
        shows_all = found & ~self._is_blank[groups]
        found = np.where((self.is_exact[kinds] & shows_all.any(axis=1))[:, None], shows_all, found)
        return found


def are_exact(link: LinkedAttribute) -> Bools:
    """(N,) persons of whom the attribute is known by one value."""
    meaning = link.meaning
    is_one: Bools = (np.diff(meaning.starts) == 1) & ~meaning.everything
    return is_one[meaning.column]


def _nodes_of_leaves(hierarchy: Hierarchy, shown: Ints) -> Ints:
    """(leaves,) the node by which a column shows each leaf; ⊥ only where it shows nothing else."""
    nodes = shown[~shows_nothing(shown)]
    if not len(nodes):
        return np.full(hierarchy.n_leaves, TOP, dtype=np.int32)
    starts, leaves = hierarchy.leaves_below(nodes)
    found = np.full(hierarchy.n_leaves, _NO_NODE, dtype=np.int32)
    found[leaves] = np.repeat(nodes, np.diff(starts))
    found[np.bincount(leaves, minlength=hierarchy.n_leaves) > 1] = _SEVERAL
    return found
