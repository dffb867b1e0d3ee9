"""Whose classes fail a criterion of privacy in a release, by the functions that searches judge by.

Records of which nothing at all is disclosed are in no class. Records whose quasi-identifiers are suppressed
but of which something else is released are one more class: that can harm them. Where there are both, the
former may count as members of that class or not, or only those of them without a missing quasi-identifier,
and the matching that fewer fail counts: a search leaves out what it suppresses, or judges that as one more
class, with or without whoever is left out for a missing value. That is as usual; another one that is asked
for by name is that of the search which is asked the same. Distributions are compared with that of the whole
table, suppressed records included, as a search does that suppresses them.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Ints, Longs
from app.domain.classes.grouping import (
    EquivalenceClasses,
    Grouping,
    Missing,
    equivalence_classes,
    lacking_records,
    positions_of,
)
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.errors import InvalidInput, NotSupported
from app.domain.gates.findings import Group, Part
from app.domain.models.criterion import Criterion, version_of
from app.domain.models.judging import JudgedClasses, JudgedRecords, Population
from app.domain.models.overlapping import judged_classes
from app.domain.models.suppression import own_block, require_meaning, suppressed_classes
from app.domain.risk.bayes import Knowledge
from app.domain.risk.class_populations import entities_of_release, without_records
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import rows_without_values
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table

USUAL: Final = Grouping()


def failing_records(
    release: Release,
    criterion: Criterion,
    grouping: Grouping = USUAL,
    counter: Counter | None = None,
    *,
    absent: Bools | None = None,
) -> Bools:
    """(n,) records of classes that fail; of a criterion of all classes those that would be suppressed for it.

    Where a missing value is reason to leave a record out, the records with a missing quasi-identifier
    have to be suppressed: those that are released fail.

    Parameters
    ----------
    grouping
        What records are grouped by, and how missing values and suppressed records are read.
    counter
        Of the release's table and the population, where the criterion compares classes with one.
    absent
        (n,) records that are not in the release, not even as an empty row: they are in no class.

    Raises InvalidInput for attributes that the table lacks and for a population that is missing, NotSupported
    where classes cannot be compared with it, and for a criterion that classes which overlap have none of.
    """
    require_meaning(release.table, (criterion,), grouping.missing, grouping.suppressed)
    silent = silent_records(release)
    nobody = np.zeros_like(silent) if absent is None else absent
    shown = shown_though_lacking(release, grouping)
    readings = [records_left_out(release, grouping) | nobody | shown]
    is_usual = grouping.missing == "own_category" and grouping.suppressed == "excluded"
    if is_usual and silent.any() and (release.is_suppressed & ~silent).any():
        readings += [
            nobody,
            (silent & left_out_for_missing(release.table, Grouping(missing="excluded"))) | nobody,
        ]
    found = [failing_without(release, criterion, own, grouping, counter) for own in readings]
    return min(found, key=np.count_nonzero) | shown


def failing_without(
    release: Release,
    criterion: Criterion,
    left_out: Bools,
    grouping: Grouping,
    counter: Counter | None = None,
) -> Bools:
    """The same (n,) with the records ``left_out`` (n,) in no class, whatever else the grouping says of them.

    Where a missing value matches everything, only suppressed records can be left out. A criterion of all
    classes together has to hold without the class of the suppressed records as well, which may be so great
    that it outweighs the others. All records fail where people of a population are known to be absent who
    must not be, even if no record is disclosed.
    """
    found = _failing(release, criterion, left_out, grouping, counter)
    block = own_block(release.is_suppressed, left_out, "own_block")
    if criterion.table_wide and block.any():
        found |= _failing(release, criterion, left_out | block, grouping, counter)
    return found


def _failing(
    release: Release, criterion: Criterion, left_out: Bools, grouping: Grouping, counter: Counter | None
) -> Bools:
    """The same (n,) of the classes that there are without these records."""
    classes = _classes(release, left_out, grouping)
    found = np.zeros(release.table.n_records, dtype=bool)
    population = None
    if criterion.needs_population and (classes.n_classes or criterion.needs_tuples):
        population = _population(release, criterion, grouping, classes, counter)
        if criterion.bars_outsiders and population.outside:
            return ~found
    if not classes.n_classes:
        return found
    judged = _judged(release, criterion, left_out, classes, counter, population)
    failing = np.append(suppressed_classes(judged, (criterion,)).classes, False)
    found |= failing[classes.of_record]
    return found


def _judged(
    release: Release,
    criterion: Criterion,
    left_out: Bools,
    classes: EquivalenceClasses,
    counter: Counter | None,
    population: Population | None,
) -> JudgedClasses:
    """The classes, of which there are some, as the criterion looks at them."""
    groups, of_group = _groups(release, criterion, classes)
    if criterion.needs_beliefs:
        population = _with_knowledge(release, classes, groups, counter, population)
    shown, version = _shown(release, criterion, left_out), version_of((criterion,))
    records = JudgedRecords(release.table, groups, shown, version=version)
    return judged_classes(records, classes, of_group, population)


def worst_attained(
    release: Release, criterion: Criterion, failing: Bools, grouping: Grouping, counter: Counter | None
) -> float | None:
    """What the worst of the classes of the records (n,) that fail attains, as the criterion tells it.

    None where that is not what makes them fail, or not of their classes alone: for a criterion of all classes
    together, and where missing values match everything or are reason to suppress a record.
    """
    if criterion.table_wide or grouping.missing != "own_category" or not failing.any():
        return None
    classes = _classes(release, ~failing, grouping)
    population = None
    if criterion.needs_population:
        population = _population(release, criterion, grouping, classes, counter)
    return criterion.attained(_judged(release, criterion, ~failing, classes, counter, population))


def _classes(release: Release, left_out: Bools, grouping: Grouping) -> EquivalenceClasses:
    """The classes of the records that are not left out."""
    missing: Missing = "own_category" if grouping.missing == "excluded" else grouping.missing
    own = Grouping(quasi_identifiers=grouping.quasi_identifiers, missing=missing)
    return equivalence_classes(release.table, release.codes, release.is_suppressed, own, left_out=left_out)


def records_left_out(release: Release, grouping: Grouping) -> Bools:
    """(n,) the suppressed records that criteria do not look at.

    All of whom nothing is disclosed; where suppressed records are one more class, those of them that are
    suppressed for a missing value.
    """
    silent = silent_records(release)
    return silent & ~own_block(silent, left_out_for_missing(release.table, grouping), grouping.suppressed)


def shown_though_lacking(release: Release, grouping: Grouping) -> Bools:
    """(n,) records released with a missing quasi-identifier, where that is reason to suppress them."""
    return left_out_for_missing(release.table, grouping) & ~release.is_suppressed


def left_out_for_missing(table: Table, grouping: Grouping) -> Bools:
    """(n,) records with a missing quasi-identifier, where that is reason to suppress them."""
    known = positions_of(table, grouping.quasi_identifiers)
    return lacking_records(table.codes, known, grouping.missing)


def _groups(release: Release, criterion: Criterion, classes: EquivalenceClasses) -> tuple[Ints, Longs]:
    """(n,) group of each record and (g,) the class of each group, −1 for who is in none.

    A group is a class; where it counts who the people are, its records of equal original values.
    """
    apart = classes.n_classes
    of_record = np.where(classes.of_record < 0, apart, classes.of_record).astype(np.int32)
    if not criterion.needs_beliefs:
        return of_record, np.append(np.arange(apart, dtype=np.int64), -1)
    table = release.table
    if classes.attributes != table.quasi_identifiers:
        raise NotSupported(
            f"{criterion.kind} is about what people can be told by, which are all quasi-identifiers.",
            "Leave the scope of attributes out.",
        )
    rows = distinct_rows(
        [of_record, *(table.codes[:, j] for j in classes.attributes)],
        [apart + 1, *(table.sizes[j] for j in classes.attributes)],
        len(of_record),
    )
    class_of_group = rows.codes[:, 0].astype(np.int64)
    class_of_group[class_of_group == apart] = -1
    return rows.inverse, class_of_group


def _with_knowledge(
    release: Release,
    classes: EquivalenceClasses,
    groups: Ints,
    counter: Counter | None,
    population: Population | None,
) -> Population:
    """The population with what it tells of sensitive values."""
    if counter is None or population is None:
        raise ValueError("beliefs need a population")
    table = release.table
    first = np.unique(groups, return_index=True)[1]
    own = table.codes[first][:, classes.attributes]
    knowledge = Knowledge(table, counter.dictionary, own)
    return replace(population, shown=classes.codes, knowledge=knowledge)


def allowed_of(records: int, share: float) -> int:
    """How many records a share of them is, rounded down as searches do it."""
    return min(records, math.floor(highest_accepted(share * records)))


def share_part(failing: int, records: int, allowed_share: float, group: Group | None = None) -> Part:
    """The share of records that fail, counted exactly: as many may as a search may suppress of them."""
    share, passes = failing / records, failing <= allowed_of(records, allowed_share)
    room = allowed_share - share
    # The margin says the same as the count, whatever the division made of it.
    least_short = -1.0 / records
    return Part(share, passes, max(0.0, room) if passes else min(room, least_short / 2), None, group)


def silent_records(release: Release) -> Bools:
    """(n,) records of which a rule for single records discloses nothing at all."""
    others = [j for j in range(release.table.n_attributes) if j not in release.table.quasi_identifiers]
    found: Bools = release.is_suppressed & rows_without_values(release.codes[:, others])
    return found


def only_quasi_identifiers_help(table: Table, criterion: Criterion) -> bool:
    """Whether nobody who fails passes once other attributes of a table-level rule are generalised, too.

    Fewer different sensitive values make classes neither more diverse nor greater, but closer to the table.
    """
    if not criterion.is_of_values:
        return True
    alone = len(table.sensitive) == 1 or getattr(criterion, "others", None) == "apart"
    return alone and not criterion.passes_by_fewer_values


def splits_by_others(table: Table, criterion: Criterion) -> bool:
    """Whether other sensitive attributes of the table split the classes that the criterion looks at."""
    return len(table.sensitive) > 1 and getattr(criterion, "others", "apart") == "in_classes"


def _shown(release: Release, criterion: Criterion, left_out: Bools) -> Ints:
    """(n, m) nodes whose values classes have; for who is left out what they would show as the others do."""
    if not (criterion.is_of_values and left_out.any()):
        return release.codes
    shown = release.codes.copy(order="F")
    for name in sorted(release.table.sensitive):
        j = release.table.position(name)
        shown[left_out, j] = release.values(Grouping(), name)[1][left_out]
    return shown


def _population(
    release: Release,
    criterion: Criterion,
    grouping: Grouping,
    classes: EquivalenceClasses,
    counter: Counter | None,
) -> Population:
    """The entities in each class of the release, and how many are in none."""
    if counter is None:
        raise InvalidInput.of(
            "/dictionary",
            "no-population",
            "The criterion compares the classes with a population, and none is given.",
            "Name a dictionary that lists it.",
        )
    entities = entities_of_release(counter, release, classes)
    outside = max(0, without_records(counter, release, grouping, "/scope")) if criterion.needs_tuples else 0
    return Population(entities, outside, counter.dictionary.n_entities)
