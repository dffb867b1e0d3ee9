"""What sets records with the same values apart: their weight groups and their own row in the dictionary.

Under the absent policy ``add_self`` a record counts itself exactly once: where its own row in the dictionary
is consistent it is counted already, elsewhere 1 is added. Attribute by attribute the own row is consistent
on some of the levels: from a threshold on where each level is more general than the one before. The ancestors
of a value in a hierarchy that is no tree are numbered otherwise (``ladders``), and any of these may be it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Ints, Longs
from app.domain.counting.compatibility import Compatibility
from app.domain.dictionaries.dictionary import own_rows
from app.domain.search.axes import ladder_of
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, Scope
from app.domain.tables.distinct import group, row_keys


@dataclass(frozen=True, eq=False)
class Profiles:
    """Profiles of the records: ``of_record`` (n,), weight ``groups`` (profiles,), levels of the own row.

    ``failure_groups`` are the weight groups of Ψ. ``thresholds`` (profiles, m), None unless the policy is
    ``add_self``, are rows of ``reached``, which has per attribute the levels (rows, levels) on which the own
    row is consistent. Where levels are a chain, row t has those from t on. The last row has none: it is that
    of entities that the dictionary lacks. ``outside`` (profiles,) marks these, none for other policies.
    """

    of_record: Ints
    groups: Ints
    failure_groups: Ints
    thresholds: Ints | None
    reached: tuple[Bools, ...]
    outside: Bools

    @property
    def size(self) -> int:
        """Number of profiles."""
        return len(self.groups)

    def added(self, levels: Sequence[int]) -> npt.NDArray[np.float64]:
        """What is added to the count of each profile's records at these levels: 1 or 0."""
        if self.thresholds is None:
            return np.zeros(self.size)
        found = [own[:, level] for own, level in zip(self.reached, levels, strict=True)]
        is_own = [own[row] for own, row in zip(found, self.thresholds.T, strict=True)]
        return np.asarray(~np.logical_and.reduce(is_own), dtype=np.float64)


def build_profiles(context: SearchContext, policy: AbsentPolicy, scope: Scope) -> Profiles:
    """The profiles of the table's records; InvalidInput if ``add_self`` lacks comparable identifiers."""
    n = context.table.n_records
    none = np.zeros(n, np.int32)
    groups = none if context.groups is None else context.groups.astype(np.int32)
    columns, sizes = [groups], [context.sensitivity.n_groups]
    failure_groups = none if context.failure_groups is None else context.failure_groups.astype(np.int32)
    if context.failure is not None:
        columns.append(failure_groups)
        sizes.append(context.failure.n_groups)
    thresholds = None
    reached: tuple[Bools, ...] = ()
    outside: Bools = np.zeros(n, dtype=bool)
    if policy == "add_self":
        rows = own_rows(context.table, context.dictionary)
        outside = rows < 0
        thresholds, reached = _own_levels(context, scope, rows)
        columns += list(thresholds.T)
        sizes += [len(own) for own in reached]
    keys, limit = row_keys(columns, sizes, n)
    first, of_record = group(keys, limit)
    if thresholds is not None:
        thresholds = thresholds[first]
    return Profiles(of_record, groups[first], failure_groups[first], thresholds, reached, outside[first])


def _own_levels(context: SearchContext, scope: Scope, rows: Longs) -> tuple[Ints, tuple[Bools, ...]]:
    """Per record and attribute a number (n, m) of the levels on which the own row is consistent, and these.

    ``rows`` (n,) are the own rows, −1 for none: of these the last number, which has no level.
    """
    table = context.table
    found = np.zeros(table.codes.shape, dtype=np.int32)
    reached = []
    known = np.flatnonzero(rows >= 0)
    for j, (hierarchy, link) in enumerate(zip(table.hierarchies, context.links, strict=True)):
        used = table.used_nodes[j]
        ladder = ladder_of(hierarchy, used, scope)
        levels = np.arange(len(ladder))
        own: Bools = levels >= np.arange(len(ladder) + 1)[:, None]
        if link is not None:
            compatibility, entries = Compatibility(link, used), link.column[rows[known]]
            first, of_pair = group(
                *row_keys([table.codes[known, j], entries], [hierarchy.n_nodes, link.n_codes], len(known))
            )
            place = np.searchsorted(used, table.codes[known[first], j])
            met = np.stack([compatibility.consistent(shown[place], entries[first]) for shown in ladder])
            if scope == "table_level" or hierarchy.is_tree:
                numbers = np.count_nonzero(~met, axis=0)
            else:
                patterns, numbers = np.unique(met.T, axis=0, return_inverse=True)
                own = np.append(patterns, np.zeros((1, len(ladder)), dtype=bool), axis=0)
            found[known, j] = numbers.reshape(-1)[of_pair]
        found[rows < 0, j] = len(own) - 1
        reached.append(own)
    return found, tuple(reached)
