"""What sets records with the same values apart: their weight groups and their own row in the dictionary.

Under the absent policy ``add_self`` a record counts itself exactly once: where its own row in the dictionary
is consistent it is counted already, elsewhere 1 is added. The own row is consistent from a threshold level
on, attribute by attribute.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from app.domain.counting.compatibility import Compatibility
from app.domain.dictionaries.dictionary import own_rows
from app.domain.distinct import group, row_keys
from app.domain.search.context import SearchContext
from app.domain.search.problem import AbsentPolicy, Scope

Ints = npt.NDArray[np.int32]
Longs = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Profiles:
    """Profiles of the records: ``of_record`` (n,), weight ``groups`` (profiles,), own-row ``thresholds``.

    ``failure_groups`` are the weight groups of Ψ. ``thresholds`` (profiles, m) are the least levels at which
    the own row is consistent, one above the height where the dictionary lacks the record's entity; None
    unless the policy is ``add_self``. ``outside`` (profiles,) marks the latter, none for other policies.
    """

    of_record: Ints
    groups: Ints
    failure_groups: Ints
    thresholds: Ints | None
    outside: npt.NDArray[np.bool_]

    @property
    def size(self) -> int:
        """Number of profiles."""
        return len(self.groups)

    def added(self, levels: Sequence[int]) -> npt.NDArray[np.float64]:
        """What is added to the count of each profile's records at these levels: 1 or 0."""
        if self.thresholds is None:
            return np.zeros(self.size)
        missed: npt.NDArray[np.bool_] = np.any(self.thresholds > np.asarray(levels), axis=1)
        return missed.astype(np.float64)


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
    if policy == "add_self":
        thresholds = _own_thresholds(context, scope)
        columns += list(thresholds.T)
        sizes += [height + 2 for height in context.table.heights]
    keys, limit = row_keys(columns, sizes, n)
    first, of_record = group(keys, limit)
    outside: npt.NDArray[np.bool_] = np.zeros(len(first), dtype=bool)
    if thresholds is not None:
        thresholds = thresholds[first]
        outside = np.any(thresholds > np.asarray(context.table.heights), axis=1)
    return Profiles(of_record, groups[first], failure_groups[first], thresholds, outside)


def _own_thresholds(context: SearchContext, scope: Scope) -> Ints:
    """Least level per record and attribute at which the record's own row is consistent (n, m)."""
    table, dictionary = context.table, context.dictionary
    rows = own_rows(table, dictionary)
    found = np.zeros(table.codes.shape, dtype=np.int32)
    known = np.flatnonzero(rows >= 0)
    for j, (hierarchy, link) in enumerate(zip(table.hierarchies, context.links, strict=True)):
        if link is None:
            continue
        if scope == "record_level":
            hierarchy.require_tree("The absent policy add_self in a search for single records")
        raise_to = hierarchy.ancestors_at if scope == "table_level" else hierarchy.ancestor_steps
        compatibility = Compatibility(link, table.used_nodes[j])
        entries = link.column[rows[known]]
        nodes = table.codes[known, j]
        open_ = np.ones(len(known), dtype=bool)
        for level in range(hierarchy.height + 1):
            open_ &= ~compatibility.consistent(raise_to(level)[nodes], entries)
            found[known, j] += open_
    found[rows < 0] = np.asarray(table.heights, dtype=np.int32) + 1
    return found
