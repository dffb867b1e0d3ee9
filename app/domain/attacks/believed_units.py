"""Whom an attacker who knows the population cannot tell apart, under a rule or by drawn rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from app.domain.arrays import Ints, Longs
from app.domain.attacks.drawn_beliefs import DrawnBeliefs
from app.domain.classes.grouping import EquivalenceClasses, Grouping
from app.domain.classes.sensitive_counts import value_numbers
from app.domain.models.drawn_gains import matrix_of
from app.domain.models.entry import MeasureContext, given
from app.domain.risk.bayes import BayesBlock, beliefs, values_of
from app.domain.risk.population import Population, Units, units_of
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class BelievedUnits:
    """The units that beliefs are about, and the beliefs themselves.

    ``numbers`` (n,) of each record the number of the value that is taken for its own, and ``nodes`` (m,) what
    these stand for; the numbers of drawn rows are known once their block was found.
    """

    table: Table
    attribute: str
    classes: EquivalenceClasses
    population: Population
    units: Units
    numbers: Longs
    nodes: Ints
    blocks: Iterable[BayesBlock]


def believed_units(context: MeasureContext, grouping: Grouping, attribute: str | None) -> BelievedUnits:
    """Of the records under the rule, or of the rows of the drawn release, about the one attribute drawn."""
    if context.drawn is not None:
        drawn, published = matrix_of(context)
        table, name, release = drawn.table, published.attribute, context.of_rows.release
        classes, known = release.classes(grouping), given(context.dictionary)
        population = Population(
            table, known, classes.attributes, table.position(name), context.memory_ceiling
        )
        units = units_of(table, release.classes(grouping, (name,)), population.linked)
        found = DrawnBeliefs(drawn, published, units, population)
        return BelievedUnits(table, name, classes, population, units, found.numbers, found.nodes, found)
    table, release = context.table, context.release
    name = release.sensitive(attribute)
    j = table.position(name)
    classes, counts = release.classes(grouping), release.counts(grouping, name)
    population = Population(table, given(context.dictionary), classes.attributes, j, context.memory_ceiling)
    units = units_of(table, classes, population.linked)
    shown, _ = release.values(grouping, name)
    numbers = value_numbers(counts, shown, table.sizes[j])
    nodes = values_of(counts, table.hierarchies[j], population)
    blocks = beliefs(units, counts, numbers, nodes, population)
    return BelievedUnits(table, name, classes, population, units, numbers, nodes, blocks)
