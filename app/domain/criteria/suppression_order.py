"""Which classes are suppressed for the criteria of a whole table, one class after another.

Classes that fail a criterion by themselves have to go. Where what remains does not meet a criterion of the
whole table, further classes go *in order* until it does, and not one more:

1. classes among the fewest people first, where the criterion compares with a population;
2. then those of fewest records;
3. of equally large ones that which discloses least: Σ over attributes of (m − n(v)) / (m − 1), with n(v) of
   the m leaves of the hierarchy under what is shown;
4. then by what they show, in the order of the schema and of the hierarchies' nodes.

Several such criteria take turns, in the order in which they are named. The order depends on nothing but what
the rule discloses, so that a stored rule suppresses the same classes as the search that found it. For what
is known of other sets of classes see ``fewest_in_order`` and ``search.anonymity.choices``.

Where classes overlap, or a criterion is no quotient of sums, all classes of the least size are tried at once,
then half of them and so on, which finds a first part of them in the same order that suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from app.domain.classes.grouping import Bools
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.judging import JudgedClasses, Withheld, peeled, withheld_alone
from app.domain.criteria.population import Indices, fewest_in_order, people_of
from app.domain.distinct import Ints, Longs
from app.domain.hierarchies.hierarchy import Hierarchy

Order = Literal["size_by_size", "class_by_class"]
"""All classes of the least size go, then all of the next (``judging.withheld``), or one after another."""
Ranks = Callable[[], Longs]
"""(G,) ranks of the classes: of equally large ones the least goes first."""


def ranks_by_disclosure(trees: Sequence[Hierarchy], shown: Ints) -> Longs:
    """(G,) ranks of classes that show ``shown`` (G, q) of attributes of these hierarchies: points 3 and 4."""
    told = np.zeros(len(shown))
    for j, tree in enumerate(trees):
        if tree.n_leaves > 1:
            told += (tree.n_leaves - tree.leaf_count[shown[:, j]]) / (tree.n_leaves - 1)
    order = np.lexsort((*shown.T[::-1], told))
    ranks = np.empty(len(shown), dtype=np.int64)
    ranks[order] = np.arange(len(shown))
    return ranks


def withheld_in_order(
    judged: JudgedClasses,
    criteria: Sequence[Criterion],
    ranks: Ranks,
    allowed: int | None = None,
    *,
    begun: bool = False,
) -> Withheld:
    """The classes that have to be withheld so that the others meet all criteria, class after class.

    Parameters
    ----------
    ranks
        Asked for only if some classes of a size go and others stay.
    allowed
        Records that may be withheld: no more are tried. None: all.
    begun
        Whether records that are in no class are withheld already.
    """
    necessary = withheld_alone(judged, criteria, begun=begun)
    table_wide = [criterion for criterion in criteria if criterion.table_wide]
    records = judged.records
    budget = int(records.sum()) if allowed is None else allowed
    gone, remaining = necessary, judged.only(~necessary)
    broken = _first_broken(remaining, table_wide)
    if broken is not None and (nothing := judged.shows_nothing & ~gone).any():
        # Whoever is withheld for it, those of whom nothing is shown go with them.
        gone = necessary = peeled(judged, criteria, gone | nothing) if judged.overlaps else gone | nothing
        remaining = judged.only(~gone)
        broken = _first_broken(remaining, table_wide)
    while broken is not None:
        gone = _next(judged, criteria, gone, broken, ranks)
        if records[gone].sum() > budget:
            return Withheld(necessary, False, necessary)
        remaining = judged.only(~gone)
        broken = _first_broken(remaining, table_wide)
    return Withheld(gone, bool(records[gone].sum() <= budget), necessary)


def _first_broken(remaining: JudgedClasses, table_wide: Sequence[Criterion]) -> Criterion | None:
    if not remaining.n_classes:
        return None
    return next((own for own in table_wide if not own.satisfied(remaining)), None)


def _next(
    judged: JudgedClasses, criteria: Sequence[Criterion], gone: Bools, broken: Criterion, ranks: Ranks
) -> Bools:
    """(G,) what is gone, with the first classes that a broken criterion asks for."""
    remaining, places = judged.only(~gone), np.flatnonzero(~gone)
    keys = [ranks()[places], remaining.sizes]
    if broken.needs_population:
        keys.append(people_of(remaining))
    order: Indices = np.lexsort(tuple(keys))
    surpluses = () if judged.overlaps else broken.surpluses(remaining)
    if surpluses:
        m = max(1, fewest_in_order(surpluses, order))
        while m < len(order) and not broken.satisfied(judged.only(~_with(gone, places[order[:m]]))):
            m += 1
        return _with(gone, places[order[:m]])
    least = np.logical_and.reduce([key == key[order[0]] for key in keys[1:]])
    equal = order[: np.count_nonzero(least)]

    def after(m: int) -> Bools:
        found = _with(gone, places[equal[:m]])
        return peeled(judged, criteria, found) if judged.overlaps else found

    def suffices(m: int) -> bool:
        return _first_broken(judged.only(~after(m)), (broken,)) is None

    too_few, enough = 0, len(equal)
    if not suffices(enough):
        return after(enough)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        too_few, enough = (too_few, middle) if suffices(middle) else (middle, enough)
    return after(enough)


def _with(gone: Bools, places: Indices) -> Bools:
    found = gone.copy()
    found[places] = True
    return found
