"""Who fails and who is suppressed: decided here for searches, gates and rules that suppress.

Which records count depends on how a missing quasi-identifier value is matched:

=================== =============================== ============================= ===========================
matching            classes                         count towards a class         are suppressed
=================== =============================== ============================= ===========================
own category        of records that show the same,  its own records               the classes that fail
                    ⊥ equal to ⊥
wildcard            the same; and what is missing   its own, and those of classes the classes that fail, and
(matches            is told from what is            that show the same wherever   again those that fail
everything)         suppressed                      neither misses the value      without them, till none
excluded            of records that miss nothing    its own records               under any rule who misses a
                                                                                  value; classes that fail
=================== =============================== ============================= ===========================

What of that a criterion looks at, and what fails then:

=================== ============================================= ===========================================
criterion           counts                                        fails
=================== ============================================= ===========================================
of sizes            all records that count towards a class; of an the class
                    estimate from a sample its own alone
of values           their values, compared with those of the      the class, if any of its blocks does
                    whole table, records in no class included
of a population     entities that fit what the class shows, and   the class; every class if somebody is
                    no fewer than its own records                 outside who must not be (δ-presence)
of the whole table  the classes that remain together              none: further classes go until it is met
=================== ============================================= ===========================================

Nobody tells those of whom nothing is shown from those who are suppressed: as soon as anybody is suppressed,
so are they. Gates suppress nobody. They count whose classes fail, and where classes overlap whom a rule would
suppress, who shows nothing included.

Suppressed records match nobody. Judged as one more class (``own_block``) they are those that were not left
out for a missing value: the class shows nothing, anybody of the population may be in it, and every criterion
has to hold with it, those of the whole table without it as well. Who is outside of a population is told by
the tuples of all records: what is suppressed is not known to be absent.

By its definition δ-presence counts who is suppressed as in the release, and anybody as who that may be. What
is counted here does not: shares are of the records in classes. So where every quasi-identifier is ⊥ and some
records show nothing else either, a measure has nobody to judge and a gate those whose other values are shown.

For criteria of the whole table classes go *in order* until these are met, and not one more:

1. those of whom nothing is shown;
2. classes among the fewest people, where the criterion compares with a population;
3. then those of fewest records;
4. of equally large ones that which discloses least: Σ over attributes of (m − n(v)) / (m − 1), with n(v) of
   the m leaves of the hierarchy under what is shown;
5. then by what they show, in the order of the schema and of the hierarchies' nodes.

Several such criteria take turns, in the order in which they are named. The order depends on nothing but what
the rule discloses, so that a stored rule suppresses the same classes as the search that found it. For what
is known of other sets of classes see ``fewest_in_order`` and ``search.full_domain.choices``.

Where classes overlap, or a criterion is no quotient of sums, all classes of the least size are tried at once,
then half of them and so on, which finds a first part of them in the same order that suffices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.grouping import Missing, Suppressed, require_rows_of_persons
from app.domain.classes.uniqueness import OVERLAPPING
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.criterion import Criterion, require_persons
from app.domain.models.judging import JudgedClasses
from app.domain.models.populations import people_of
from app.domain.models.table_wide import Indices, fewest_in_order
from app.domain.tables.table import Table

Order = Literal["size_by_size", "class_by_class"]
"""All classes of the least size go, then all of the next, or one after another."""
Ranks = Callable[[], Longs]
"""(G,) ranks of the classes: of equally large ones the least goes first."""


@dataclass(frozen=True, eq=False)
class SuppressedClasses:
    """Which classes (G,) are suppressed, and whether what remains meets all criteria then.

    ``necessary`` (G,) are those of them that have to be, whichever others are chosen.
    """

    classes: Bools
    satisfied: bool
    necessary: Bools


def require_meaning(
    table: Table, criteria: Iterable[Criterion], missing: Missing, suppressed: Suppressed = "excluded"
) -> None:
    """Refuse what has no meaning: NotSupported.

    Criteria of classes that overlap, if any may, and what needs one record of each person, if a person may
    have several.
    """
    if table.persons is not None:
        require_rows_of_persons(missing, suppressed)
        for own in criteria:
            require_persons(own.kind, own.by_persons)
    overlaps = missing == "matches_everything" and not table.is_complete
    if overlaps and any(own.needs_partition for own in criteria):
        raise NotSupported.because(OVERLAPPING)


def ranks_by_disclosure(trees: Sequence[Hierarchy], shown: Ints) -> Longs:
    """(G,) ranks of classes that show ``shown`` (G, q) of attributes of these hierarchies: points 4 and 5."""
    told = np.zeros(len(shown))
    for j, tree in enumerate(trees):
        if tree.n_leaves > 1:
            told += (tree.n_leaves - tree.leaf_count[shown[:, j]]) / (tree.n_leaves - 1)
    order = np.lexsort((*shown.T[::-1], told))
    ranks = np.empty(len(shown), dtype=np.int64)
    ranks[order] = np.arange(len(shown))
    return ranks


def failing_any(judged: JudgedClasses, criteria: Sequence[Criterion]) -> Bools:
    """(G,) classes that fail at least one criterion."""
    failing = np.zeros(len(judged.records), dtype=bool)
    for criterion in criteria:
        if not criterion.table_wide:
            failing |= criterion.failing(judged)
    return failing


def peeled(
    judged: JudgedClasses, criteria: Sequence[Criterion], gone: Bools, most: int | None = None
) -> Bools:
    """(G,) classes that are gone, with those that fail without them, those that fail then, and so on.

    It may end once more than ``most`` records are gone. Of classes that do not overlap none fails for others.
    """
    gone = gone.copy()
    while most is None or judged.records[gone].sum() <= most:
        failing = failing_any(judged.only(~gone), criteria)
        if not failing.any():
            break
        gone[~gone] = failing
    return gone


def own_block(suppressed: Bools, left_out: Bools, judged_as: Suppressed) -> Bools:
    """(n,) the suppressed records that are one more class: none, or all that were not left out (n,)."""
    return suppressed & ~left_out if judged_as == "own_block" else np.zeros_like(suppressed)


def passes_with_block(judged: JudgedClasses, criteria: Sequence[Criterion], gone: Bools) -> bool:
    """Whether all criteria hold of the classes of which those that are gone (G,) are the own block.

    Those of the whole table have to hold without it as well, which is not looked at here.
    """
    found = judged.with_block(gone)
    return all(criterion.satisfied(found) for criterion in criteria)


def suppressed_classes(
    judged: JudgedClasses,
    criteria: Sequence[Criterion],
    ranks: Ranks | None = None,
    allowed: int | None = None,
    *,
    begun: bool = False,
    failing: Bools | None = None,
) -> SuppressedClasses:
    """The classes that have to be suppressed so that the others meet all criteria.

    Parameters
    ----------
    ranks
        Asked for only if some classes of a size go and others stay. None: all of the least size go at once.
    allowed
        Records that may be suppressed: no more are tried. None: all.
    begun
        Whether records that are in no class are suppressed already.
    failing
        (G,) classes that fail a criterion of single classes, if that is known.
    """
    gone = failing_any(judged, criteria) if failing is None else failing
    if begun or gone.any():
        nothing = judged.shows_nothing
        # Where classes overlap, who fails beside those who show nothing may pass without them.
        gone = peeled(judged, criteria, nothing) if judged.overlaps else gone | nothing
    table_wide = [criterion for criterion in criteria if criterion.table_wide]
    records = judged.records
    budget = int(records.sum()) if allowed is None else allowed
    necessary, broken = gone, first_broken(judged, gone, table_wide)
    if broken is not None and (judged.shows_nothing & ~gone).any():
        # Whoever is suppressed for it, those of whom nothing is shown go with them.
        gone = necessary = _with(judged, criteria, gone, judged.shows_nothing)
        broken = first_broken(judged, gone, table_wide)
    while broken is not None:
        gone = _next(judged, criteria, gone, broken, ranks)
        if records[gone].sum() > budget:
            return SuppressedClasses(necessary, False, necessary)
        broken = first_broken(judged, gone, table_wide)
    return SuppressedClasses(gone, bool(records[gone].sum() <= budget), necessary)


def _with(judged: JudgedClasses, criteria: Sequence[Criterion], gone: Bools, more: Bools) -> Bools:
    """(G,) what is gone with more of the classes, and whoever fails then."""
    return peeled(judged, criteria, gone | more) if judged.overlaps else gone | more


def first_broken(judged: JudgedClasses, gone: Bools, table_wide: Sequence[Criterion]) -> Criterion | None:
    """Which criterion of the whole table the classes that are not gone break; without classes none."""
    if not table_wide or gone.all():
        return None
    remaining = judged.only(~gone)
    return next((own for own in table_wide if not own.satisfied(remaining)), None)


def _next(
    judged: JudgedClasses, criteria: Sequence[Criterion], gone: Bools, broken: Criterion, ranks: Ranks | None
) -> Bools:
    """(G,) what is gone, with the first classes that a broken criterion asks for."""
    remaining, places = judged.only(~gone), np.flatnonzero(~gone)
    if ranks is None:
        return _with(judged, criteria, gone, _at(gone, places[remaining.sizes == remaining.sizes.min()]))
    keys = [ranks()[places], remaining.sizes]
    if broken.needs_population:
        keys.append(people_of(remaining))
    order: Indices = np.lexsort(tuple(keys))
    surpluses = () if judged.overlaps else broken.surpluses(remaining)
    if surpluses:
        m = max(1, fewest_in_order(surpluses, order))
        while (
            m < len(order)
            and first_broken(judged, gone | _at(gone, places[order[:m]]), (broken,)) is not None
        ):
            m += 1
        return gone | _at(gone, places[order[:m]])
    least = np.logical_and.reduce([key == key[order[0]] for key in keys[1:]])
    equal = order[: np.count_nonzero(least)]

    def after(m: int) -> Bools:
        return _with(judged, criteria, gone, _at(gone, places[equal[:m]]))

    too_few, enough = 0, len(equal)
    if first_broken(judged, after(enough), (broken,)) is not None:
        return after(enough)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        suffices = first_broken(judged, after(middle), (broken,)) is None
        too_few, enough = (too_few, middle) if suffices else (middle, enough)
    return after(enough)


def _at(gone: Bools, places: Indices) -> Bools:
    found = np.zeros_like(gone)
    found[places] = True
    return found
