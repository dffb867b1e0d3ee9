"""How many people of a population are in the class of the release, and what attackers make of that.

The dictionary stands for the population: a class of f records that may be any of F of its entities. The
people of a release belong to the population whether or not the dictionary lists them, so risks are taken
with max(F, f): a dictionary that lacks people never makes a release look safer than its own records do, and
never riskier than that either.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from app.domain.arrays import Bools, Floats, Ints, Levels, Longs
from app.domain.classes.grouping import EquivalenceClasses, Grouping, equivalence_classes, positions_of
from app.domain.classes.persons import ClassPersons
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.dictionaries.dictionary import Dictionary, LinkedAttribute
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules.rule import TableRule, apply
from app.domain.tables.numbers import exact_sum, highest_accepted, lowest_accepted
from app.domain.tables.table import Table


def entities_of_classes(
    counter: Counter, attributes: Sequence[int], codes: Ints, levels: Sequence[int] | None = None
) -> Longs:
    """(G,) entities of the dictionary that are consistent with classes that show ``codes`` (G, q) each.

    ``attributes`` are those that classes are grouped by. ``levels``, one per attribute of the table, says
    that the classes come from one table-level rule, which saves work.
    """
    at = None
    if levels is not None:
        at = [levels[j] if j in attributes else counter.table.heights[j] for j in counter.linked]
    return counter.count(linked_nodes(counter, attributes, codes), at).values


def entities_of_release(counter: Counter, release: Release, classes: EquivalenceClasses) -> Longs:
    """(G,) entities of the dictionary that are consistent with each class of a release."""
    levels = release.rule.levels if isinstance(release.rule, TableRule) else None
    return entities_of_classes(counter, classes.attributes, classes.codes, levels)


def linked_nodes(counter: Counter, attributes: Sequence[int], codes: Ints) -> Ints:
    """(G, p) what the classes show of the attributes that the dictionary carries.

    Attributes that it carries and classes are not grouped by tell nothing here.
    """
    nodes = np.zeros((len(codes), len(counter.linked)), dtype=np.int32, order="F")
    for i, j in enumerate(counter.linked):
        if j in attributes:
            nodes[:, i] = codes[:, attributes.index(j)]
    return nodes


def population_sizes(entities: Longs, units: Longs) -> Longs:
    """(G,) people of each class: the entities counted, and no fewer than the persons of the class.

    ``units`` (G,) are the persons whom its records are about, each record another one where none are named.
    """
    return np.maximum(entities, units)


@dataclass(frozen=True)
class RiskFigures:
    """Re-identification risk of the records of a release.

    Attributes
    ----------
    highest
        Of any record.
    per_record, per_class
        The mean over records, and over classes, which is another number.
    at_risk
        Records whose risk is above the threshold.
    """

    highest: float
    per_record: float
    per_class: float
    at_risk: int


def risk_figures(
    records: Longs, sizes: Longs, threshold: float, persons: ClassPersons | None = None
) -> RiskFigures:
    """The figures of G classes: ``records`` (G,) run the risk 1/``sizes`` (G,) each.

    With ``persons`` a record's risk is the share that its person has of the records of its class. Above the
    threshold is strict, with the tolerance of all thresholds on reals. Without classes every figure is 0:
    nothing is disclosed of anybody.
    """
    if not len(records):
        return RiskFigures(0.0, 0.0, 0.0, 0)
    most = highest_accepted(threshold)
    if persons is not None:
        expected, highest = persons.expected_matches, persons.largest_share
        risks, at_risk = expected / records, persons.records_above(most)
    else:
        risks = highest = 1.0 / sizes
        expected, at_risk = records / sizes, int(records[risks > most].sum())
    return RiskFigures(
        highest=float(highest.max()),
        per_record=exact_sum(expected) / int(records.sum()),
        per_class=exact_sum(risks) / len(risks),
        at_risk=at_risk,
    )


def outside_presence(units: Longs, people: Longs, lower: float, upper: float) -> Bools:
    """(G,) classes of which the share units/people is below ``lower`` or above ``upper``."""
    shares = presence_shares(units, people)
    return (shares < lowest_accepted(lower)) | (shares > highest_accepted(upper))


def presence_shares(units: Longs, people: Longs) -> Floats:
    """δ (G,): the share of the people of each class whose records are in the release."""
    shares: Floats = units / people
    return shares


def without_records(counter: Counter, release: Release, grouping: Grouping, pointer: str = "/measure") -> int:
    """Entities whose tuple of generalised quasi-identifiers no record has, be it suppressed.

    What is suppressed is not known to be absent. Raises NotSupported for rules that treat the records that
    are shown differently, and what :func:`require_tuples` raises, at ``pointer``.
    """
    table, attributes = release.table, positions_of(release.table, grouping.quasi_identifiers)
    levels = _shared_levels(release, attributes)
    if levels is None:
        raise NotSupported(
            "The rule discloses the quasi-identifiers of different records on different levels: the "
            "population has no tuples of its own to compare the classes with.",
            "Use a rule with one level per attribute for the whole table; it may suppress records.",
        )
    require_tuples(table, counter.dictionary, attributes, levels, pointer)
    nobody = np.zeros(table.n_records, dtype=bool)
    every = equivalence_classes(table, apply(TableRule(levels), table), nobody, grouping)
    entities = entities_of_classes(counter, attributes, every.codes, levels)
    return counter.dictionary.n_entities - int(entities.sum())


def _shared_levels(release: Release, attributes: Sequence[int]) -> tuple[int, ...] | None:
    """The levels of a rule that treats all records alike that are shown; None if it does not.

    A table-level rule has them. Others may be one that suppresses some records altogether: then they are the
    least levels that disclose what is disclosed of the records kept. Other attributes have level 0.
    """
    if isinstance(release.rule, TableRule):
        return release.rule.levels
    table, kept = release.table, ~release.is_suppressed
    trees = [table.hierarchies[j] for j in attributes]
    found = shared_levels(trees, release.codes[kept][:, attributes], table.codes[kept][:, attributes])
    if found is None:
        return None
    levels = [0] * table.n_attributes
    for j, level in zip(attributes, found, strict=True):
        levels[j] = level
    return tuple(levels)


def shared_levels(trees: Sequence[Hierarchy], shown: Ints, original: Ints) -> Levels | None:
    """The least levels at which ``original`` nodes (r, q) are ``shown`` (r, q); None if there are none."""
    found = []
    for tree, own, raw in zip(trees, shown.T, original.T, strict=True):
        level = shared_level(tree, own, raw)
        if level is None:
            return None
        found.append(level)
    return tuple(found)


def shared_level(hierarchy: Hierarchy, shown: Ints, original: Ints) -> int | None:
    """The least level of an attribute at which its ``original`` nodes are ``shown``; None if none is."""
    for level in range(hierarchy.height + 1):
        if not hierarchy.is_tree and 0 < level < hierarchy.height:
            continue
        if bool((hierarchy.ancestors_at(level)[original] == shown).all()):
            return level
    return None


def require_tuples(
    table: Table,
    dictionary: Dictionary,
    attributes: Sequence[int],
    levels: Sequence[int],
    pointer: str = "/measure",
) -> None:
    """Refuse unless every record and every entity has exactly one tuple of generalised quasi-identifiers.

    δ-presence compares tuples of the population with those of the release. Raises InvalidInput for
    quasi-identifiers that the dictionary does not carry, NotSupported for records without a value and for
    entities whose value may be several of the level's.
    """
    links = {link.attribute: link for link in dictionary.links}
    lacking = [table.attributes[j] for j in attributes if table.attributes[j] not in links]
    if lacking:
        raise InvalidInput.of(
            f"{pointer}/quasi_identifiers",
            "not-linked",
            f"The dictionary does not carry the quasi-identifiers {', '.join(lacking)}.",
            "Link them, or name the quasi-identifiers that it carries.",
        )
    for j in attributes:
        name, hierarchy = table.attributes[j], table.hierarchies[j]
        if levels[j] == hierarchy.height:
            continue
        above = hierarchy.ancestors_at(levels[j])
        several = _in_several(links[name], above)
        if several:
            raise NotSupported(
                f"{several} entities of the dictionary may have more than one value of {name!r} as the rule "
                "discloses it, so that they belong to no single tuple of the population.",
                "Link values that fit one of the dataset each, generalise further, or leave it out.",
            )
        # Records that show another node than the people whose value a leaf below theirs is
        tree, used = table.hierarchies[j], table.used_nodes[j]
        starts, leaves = tree.leaves_below(used)
        # A value above a single leaf has no second one to be mixed with and yet makes a tuple of its own.
        differs = above[tree.leaves[leaves]] != np.repeat(above[used], np.diff(starts))
        # Every node has a leaf, so that no range is empty.
        mixed = np.logical_or.reduceat(differs, starts[:-1])
        wide = np.zeros(tree.n_nodes, dtype=bool)
        wide[used] = mixed
        blurred = int(np.count_nonzero(wide[table.codes[:, j]]))
        if blurred:
            raise NotSupported(
                f"{blurred} records of the dataset have no value of {name!r}, or one more general than the "
                "rule discloses, so that they belong to no single tuple of the population.",
                "Attach or map the values, generalise the attribute further, or leave it out.",
            )


def _in_several(link: LinkedAttribute, above: Ints) -> int:
    """Entities whose cell may be of several nodes of a level; ``above`` has the level's node of each node."""
    if link.mode != "compatible":
        return len(link.column)
    counts = np.diff(link.starts)
    owners = np.repeat(np.arange(link.n_codes), counts)
    nodes = above[link.seed_nodes]
    first = np.zeros(link.n_codes, dtype=np.int32)
    filled = counts > 0
    first[filled] = nodes[link.starts[:-1][filled]]
    mixed = link.everything.copy()
    mixed[owners[nodes != first[owners]]] = True
    return int(np.count_nonzero(mixed[link.column]))
