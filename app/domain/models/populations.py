"""The population that a release is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import doc

from app.domain.arrays import Longs
from app.domain.classes.grouping import EquivalenceClasses, Grouping, positions_of, seconds_of_grouping
from app.domain.models.entry import Cost, MeasureContext
from app.domain.models.judging import JudgedClasses
from app.domain.risk.class_populations import population_sizes


def people_of(judged: JudgedClasses) -> Longs:
    """(G,) people of each class, no fewer than its records, or its persons where a column names them."""
    return population_sizes(judged.population(), judged.units)


@dataclass(frozen=True)
class Population:
    """The dictionary as the population."""

    entities: Annotated[int, doc("Entities of the dictionary.")]
    known: Annotated[tuple[str, ...], doc("Quasi-identifiers that the dictionary carries.")]
    records_beyond: Annotated[
        int,
        doc(
            "Records of classes with fewer entities of the dictionary than records, or persons: it does not "
            "hold all of their people. There the records, or persons, themselves are counted as the people."
        ),
    ]


def population_of(context: MeasureContext, classes: EquivalenceClasses, entities: Longs) -> Population:
    """What the dictionary is to classes with so many ``entities`` (G,) of it."""
    counter = context.counter
    linked = {counter.table.attributes[j] for j in counter.linked}
    return Population(
        entities=counter.dictionary.n_entities,
        known=tuple(n for n in (context.table.attributes[j] for j in classes.attributes) if n in linked),
        records_beyond=int(classes.records[entities < classes.units].sum()),
    )


def cost_of_classes(context: MeasureContext, grouping: Grouping, *, counts_people: bool) -> Cost:
    """Of grouping the records and, if ``counts_people``, of counting the entities of every class."""
    table = context.table
    q = len(positions_of(table, grouping.quasi_identifiers))
    seconds = seconds_of_grouping(table, grouping)
    size = table.n_records * (4 * table.n_attributes + 8 * q + 24)
    if not counts_people:
        return Cost(seconds, size, 1, "classes")
    counting = context.counter.choose(table.reduced.size, 1)
    return Cost(seconds + counting.seconds, size + counting.bytes, 1, counting.engine)
