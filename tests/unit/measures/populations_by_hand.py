"""A small release and population for the measures that hold one against the other, counted by loops."""

from __future__ import annotations

import numpy as np

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.tables.table import Table

REGION = {"a": "north", "b": "north", "c": "south", "d": "south"}
CITY = Hierarchy.from_parents(
    {city: [region] for city, region in REGION.items()} | {"north": [None], "south": [None]}
)
SEX = Hierarchy.from_parents({"f": [None], "m": [None]})
ILLNESS = Hierarchy.from_parents({"flu": [None], "cold": [None]})


def table_of(rows):
    """Rows of city, sex and the sensitive illness."""
    columns = [
        hierarchy.encode([row[j] for row in rows])[0] for j, hierarchy in enumerate((CITY, SEX, ILLNESS))
    ]
    return Table(
        ("city", "sex", "illness"),
        (CITY, SEX, ILLNESS),
        np.stack(columns, axis=1),
        sensitive=frozenset({"illness"}),
    )


def population_of(people, attributes=("city", "sex")):
    """People of city and sex."""
    hierarchies = {"city": CITY, "sex": SEX}
    links = tuple(
        link_identity(name, hierarchies[name], [person[j] for person in people])
        for j, name in enumerate(attributes)
    )
    return Dictionary(len(people), links)


def context_of(table, rule=None, dictionary=None):
    utility = build_utility(table, "depth_sum")
    return MeasureContext(table, rule, dictionary, None, None, utility, MODEL_I, "zero")


def measured(measure, context, **parameters):
    chosen = measure.parameters(**parameters)
    assert measure.supports(context, chosen) is None
    ticks = []
    assert measure.cost(context, chosen).seconds >= 0
    result = measure.compute(context, chosen, ticks.append)
    assert ticks[-1] == measure.cost(context, chosen).units
    return result


def generalised(cell, level, height):
    """A cell of city (height 2) or sex (height 1) at a level."""
    if cell is None or level >= height:
        return None
    return REGION[cell] if level == 1 else cell
