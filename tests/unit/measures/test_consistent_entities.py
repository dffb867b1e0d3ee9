"""Whom a record may be, by id, against looking at every entity."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.analyses.consistent_entities import CONSISTENT_ENTITIES, ConsistentEntitiesParameters
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table

PLACES = Hierarchy.from_parents({"north": [None], "south": [None], "Oslo": ["north"], "Bergen": ["north"],
                                 "Rome": ["south"]})  # fmt: skip
SEXES = Hierarchy.from_parents({"f": [None], "m": [None]})
PEOPLE = [("Oslo", "f"), ("Bergen", "f"), ("Rome", "f"), ("Oslo", "m"), (None, "f")]
RECORDS = [("Oslo", "f"), ("Rome", "m")]


def encoded(rows):
    columns = [tree.encode([row[j] for row in rows])[0] for j, tree in enumerate((PLACES, SEXES))]
    return np.stack(columns, axis=1)


def measured(levels, ids=True, **parameters):
    own = np.array(["p0", "p9"], dtype=object) if ids else None
    table = Table(("place", "sex"), (PLACES, SEXES), encoded(RECORDS), own)
    codes = encoded(PEOPLE)
    links = (link_nodes("place", PLACES, codes[:, 0]), link_nodes("sex", SEXES, codes[:, 1]))
    names = np.array([f"p{i}" for i in range(len(PEOPLE))], dtype=object) if ids else None
    dictionary = Dictionary(len(PEOPLE), links, names, comparable_ids=ids)
    utility = build_utility(table)
    context = MeasureContext(table, TableRule(levels), dictionary, None, None, utility, MODEL_I, "zero")
    asked = ConsistentEntitiesParameters(**parameters)
    ticks = []
    assert CONSISTENT_ENTITIES.cost(context, asked).units == 1
    found = CONSISTENT_ENTITIES.compute(context, asked, ticks.append)
    assert ticks == [1]
    return found


@pytest.mark.parametrize(
    ("levels", "entities"),
    [
        # Whose place the dictionary does not say may be anywhere.
        ((0, 0), ("p0", "p4")),
        ((1, 0), ("p0", "p1", "p4")),
        ((1, 1), ("p0", "p1", "p3", "p4")),
        ((2, 1), ("p0", "p1", "p2", "p3", "p4")),
    ],
)
def test_the_entities_that_fit_what_is_disclosed_are_named(levels, entities):
    for parameters in ({"row": 1}, {"id": "p0"}):
        found = measured(levels, **parameters)
        assert (found.row, found.consistent, found.entities) == (1, len(entities), entities)
        assert found.own_entity_consistent is True


def test_only_so_many_are_named_and_all_are_counted():
    found = measured((2, 1), row=2, most=2)
    assert (found.consistent, found.entities, found.own_entity_consistent) == (5, ("p0", "p1"), False)


def test_without_identifiers_rows_stand_for_the_entities():
    found = measured((0, 0), ids=False, row=1)
    assert (found.entities, found.own_entity_consistent) == (("1", "5"), None)


@pytest.mark.parametrize(
    ("parameters", "code"),
    [
        ({}, "exactly-one"),
        ({"row": 1, "id": "p0"}, "exactly-one"),
        ({"row": 3}, "unknown-row"),
        ({"id": "p1"}, "unknown-id"),
        ({"id": "p0", "ids": False}, "no-identifier"),
    ],
)
def test_records_that_there_are_not_are_refused(parameters, code):
    with pytest.raises(InvalidInput) as refused:
        measured((0, 0), **parameters)
    assert refused.value.faults[0].code == code
    assert "p1" not in str(refused.value)
