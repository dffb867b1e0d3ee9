"""Which groups of a release the persons of a dictionary may be in, by what it says of them.

Who is known by all quasi-identifiers exactly is looked for in one micro group (Wang et al. (2012), definition
1). Who is known by fewer, or vaguely, is looked for in an aggregate of groups, unless only one fits.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.compatibility import Compatibility
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table

PAIRS_AT_ONCE: Final = 1 << 21


class SoughtGroups:
    """The T kinds of person that a dictionary tells apart, and the groups (G, q) that each may be in."""

    def __init__(
        self, table: Table, dictionary: Dictionary, attributes: tuple[int, ...], nodes: Ints
    ) -> None:
        links = {table.position(link.attribute): link for link in dictionary.links}
        self._places = [place for place, j in enumerate(attributes) if j in links]
        self._links = [links[attributes[place]] for place in self._places]
        self._knows_all = len(self._places) == len(attributes)
        self._nodes = nodes
        columns, sizes = [own.column for own in self._links], [own.n_codes for own in self._links]
        self._kinds = distinct_rows(columns, sizes, dictionary.n_entities)

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
            is_vague = ~_stands_for_one_leaf(link)[link.meaning.column]
            found[self._kinds.inverse[is_vague]] = False
        return found

    @cached_property
    def found(self) -> tuple[Longs, Longs]:
        """(T,) how many groups each kind may be in, and the first of these, −1 without one."""
        number = np.zeros(self._kinds.size, dtype=np.int64)
        first = np.full(self._kinds.size, -1, dtype=np.int64)
        at_once = max(1, PAIRS_AT_ONCE // len(self._nodes))
        for start in range(0, self._kinds.size, at_once):
            kinds = np.arange(start, min(start + at_once, self._kinds.size))
            fits = self._fits(kinds)
            number[kinds] = fits.sum(axis=1)
            first[kinds] = np.where(fits.any(axis=1), fits.argmax(axis=1), -1)
        return number, first

    def groups(self, kind: int) -> Longs:
        """The groups that a kind of person may be in, ascending."""
        return np.flatnonzero(self._fits(np.array([kind]))[0])

    @cached_property
    def _compatibilities(self) -> list[Compatibility]:
        return [
            Compatibility(link, np.unique(self._nodes[:, place]))
            for place, link in zip(self._places, self._links, strict=True)
        ]

    def _fits(self, kinds: Longs) -> Bools:
        """(t, G) whether what a group shows agrees with what is known of a kind of person."""
        found: Bools = np.ones((len(kinds), len(self._nodes)), dtype=bool)
        for i, (place, own) in enumerate(zip(self._places, self._compatibilities, strict=True)):
            kind, group = np.nonzero(found)
            codes, nodes = self._kinds.codes[kinds[kind], i], self._nodes[group, place]
            found[kind, group] = own.consistent(nodes, codes)
        return found


def _stands_for_one_leaf(link: LinkedAttribute) -> Bools:
    """(codes,)."""
    meaning = link.meaning
    found: Bools = (np.diff(meaning.starts) == 1) & ~meaning.everything
    return found
