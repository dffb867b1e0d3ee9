"""Persons looked for in a release, and records that may be theirs (Machanavajjhala (2008), section 3.1)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.compatibility import Compatibility
from app.domain.counting.counter import MEMORY_CEILING, Counter
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table


class CandidateSets:
    """The released records that each person of a dictionary may be.

    A record is a candidate if every quasi-identifier that it shows agrees with what the dictionary says of
    the person. Counting turns the usual question round: the dictionary's codes are the values asked for, and
    a released value is the set of codes that agree with it.

    Parameters
    ----------
    table
        The table whose hierarchies the dictionary is linked to.
    dictionary
        The persons.
    attributes
        Positions of the quasi-identifiers in the table.
    released
        (n, m) nodes that the release shows.
    kept
        (n,) records that are in the release.
    """

    def __init__(
        self,
        table: Table,
        dictionary: Dictionary,
        attributes: tuple[int, ...],
        released: Ints,
        kept: Bools,
        memory_ceiling: int = MEMORY_CEILING,
    ) -> None:
        links = {table.position(link.attribute): link for link in dictionary.links}
        self.linked = tuple(j for j in attributes if j in links)
        if not self.linked:
            raise NotSupported(
                "The dictionary carries none of the quasi-identifiers.",
                "Use one that is linked to some of them.",
            )
        self._links = [links[j] for j in self.linked]
        self.rows = np.flatnonzero(kept)
        self._released = released
        self._compatibilities = [
            Compatibility(link, np.unique(released[:, j]))
            for j, link in zip(self.linked, self._links, strict=True)
        ]
        turned = [
            _turned_round(compatibility, released[self.rows, j])
            for j, compatibility in zip(self.linked, self._compatibilities, strict=True)
        ]
        self._release = Dictionary(len(self.rows), tuple(turned))
        self._memory_ceiling = memory_ceiling
        everybody = np.arange(dictionary.n_entities, dtype=np.int64)
        self.sizes: Longs = self._counted(np.arange(len(self.rows), dtype=np.int64), everybody)

    def only_candidates(self) -> tuple[Longs, Longs]:
        """The persons with a single candidate, ascending, and the table's row, from 0, of each one's."""
        alone = np.flatnonzero(self.sizes == 1)
        if not len(alone):
            return alone, alone
        columns = [link.column for link in self._release.links]
        shown = distinct_rows(columns, [link.n_codes for link in self._release.links], len(self.rows))
        # Only a record that is shown like no other can be the only candidate of somebody.
        unlike = np.flatnonzero(shown.counts[shown.inverse] == 1)
        place = np.zeros(len(alone), dtype=np.int64)
        for bit in range(len(unlike).bit_length()):
            half = unlike[(np.arange(len(unlike)) >> bit) & 1 == 1]
            # The place of the one candidate is written in the halves that it is in.
            place += self._counted(half, alone) << bit
        return alone, self.rows[unlike[place]]

    def contain(self, persons: Longs, rows: Longs) -> Bools:
        """Per pair of a person and a row of the table, from 0, whether the row may be the person's."""
        found = np.ones(len(persons), dtype=bool)
        for j, compatibility in zip(self.linked, self._compatibilities, strict=True):
            found &= compatibility.consistent(self._released[rows, j], compatibility.link.column[persons])
        return found

    def _counted(self, records: Longs, persons: Longs) -> Longs:
        """Candidates of persons among some of the records, given by their place in ``rows``."""
        if not len(records) or not len(persons):
            return np.zeros(len(persons), dtype=np.int64)
        asked = distinct_rows(
            [link.column[persons] for link in self._links],
            [link.n_codes for link in self._links],
            len(persons),
        )
        # Code c is node c + 1 of a flat hierarchy, under ⊥.
        nodes = (asked.codes + 1).astype(np.int32)
        links = tuple(replace(link, column=link.column[records]) for link in self._release.links)
        table = Table(self._release.attributes, tuple(link.hierarchy for link in links), nodes)
        counter = Counter(table, Dictionary(len(records), links), self._memory_ceiling)
        return counter.count(nodes).values[asked.inverse]


def _turned_round(compatibility: Compatibility, shown: Ints) -> LinkedAttribute:
    """The released values of one attribute as cells over the codes that the dictionary has for it."""
    link = compatibility.link
    flat = Hierarchy(("⊥", *map(str, range(link.n_codes))), ((), *((TOP,),) * link.n_codes))
    used, column = np.unique(shown, return_inverse=True)
    nodes, codes = compatibility.pairs
    always = np.flatnonzero(link.everything)
    is_open = shows_nothing(used)
    lists = []
    for node, open_ in zip(used.tolist(), is_open.tolist(), strict=True):
        own = codes[np.searchsorted(nodes, node) : np.searchsorted(nodes, node, side="right")]
        lists.append(np.empty(0, dtype=np.int32) if open_ else np.union1d(own, always))
    starts = np.zeros(len(used) + 1, dtype=np.int64)
    np.cumsum([len(own) for own in lists], out=starts[1:])
    leaves = np.concatenate([np.empty(0, dtype=np.int32), *lists]).astype(np.int32)
    return LinkedAttribute(link.attribute, flat, column.astype(np.int32).reshape(-1), starts, leaves, is_open)
