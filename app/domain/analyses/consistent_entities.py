"""Whom an attacker takes a record for: the entities of the dictionary that are consistent with it, by id."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, doc

from app.domain.catalogue.catalogue_types import CellValue, RowInQuestion
from app.domain.dictionaries.dictionary import own_rows
from app.domain.errors import InvalidInput
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.rules.rule import apply

SECONDS_PER_CELL: Final = 3e-9


@dataclass(frozen=True)
class ConsistentEntitiesParameters:
    """Which record, by its row or by its identifier, and how many entities are named."""

    row: Annotated[
        Annotated[RowInQuestion, Ge(1), Le(1_000_000_000)] | None,
        doc("The record, as a row of the dataset from 1; needs the scope `data:read`."),
    ] = None
    id: Annotated[
        Annotated[CellValue, Len(1, 1000)] | None,
        doc("The record's identifier, instead of its row; needs the scope `data:read`."),
    ] = None
    most: Annotated[int, Ge(1), Le(10_000), doc("How many entities are named at most.")] = 100


@dataclass(frozen=True)
class ConsistentEntities:
    """The entities that the disclosed record may belong to."""

    row: Annotated[int, doc("The record, as a row of the dataset from 1.")]
    consistent: Annotated[
        int, doc("Entities of the dictionary that are consistent with what is disclosed of the record.")
    ]
    entities: Annotated[
        tuple[CellValue, ...],
        doc(
            "The first of them by their identifiers, in the dictionary's order; where it declares none, by "
            "their rows from 1. Shown to keys with the scope `data:read` only."
        ),
    ]
    own_entity_consistent: Annotated[
        bool | None,
        doc("Whether the record's own entity is among all of them; null unless identifiers are comparable."),
    ]


def _row_of(context: MeasureContext, parameters: ConsistentEntitiesParameters) -> int:
    """The record's position; InvalidInput unless exactly one of row and id names a record."""
    table = context.table
    if (parameters.row is None) == (parameters.id is None):
        raise InvalidInput.of(
            "/measure/row", "exactly-one", "A record is named by exactly one of row and id.", "Give one."
        )
    if parameters.row is not None:
        if parameters.row > table.n_records:
            raise InvalidInput.of(
                "/measure/row",
                "unknown-row",
                f"There is no row {parameters.row}: the dataset has {table.n_records}.",
                "Count the rows of the dataset from 1.",
            )
        return parameters.row - 1
    if table.entity_ids is None:
        raise InvalidInput.of(
            "/measure/id",
            "no-identifier",
            "The dataset declares no identifier.",
            "Give the row, or declare a column of the role identifier.",
        )
    found = np.flatnonzero(table.entity_ids == parameters.id)
    if not len(found):
        raise InvalidInput.of(
            "/measure/id", "unknown-id", "No record has this identifier.", "Write it as the table does."
        )
    return int(found[0])


def _compute(
    context: MeasureContext, parameters: ConsistentEntitiesParameters, tick: Tick
) -> ConsistentEntities:
    row, dictionary = _row_of(context, parameters), given(context.dictionary)
    nodes, counter = apply(given(context.rule), context.table)[row], context.counter
    fits = np.ones(dictionary.n_entities, dtype=bool)
    for j, compatibility in zip(counter.linked, counter.compatibilities, strict=True):
        fits &= compatibility.fitting(int(nodes[j]))[compatibility.link.column]
    found = np.flatnonzero(fits)
    named = found[: parameters.most]
    ids = named + 1 if dictionary.entity_ids is None else dictionary.entity_ids[named]
    is_own = None
    if dictionary.comparable_ids:
        own = int(own_rows(context.table, dictionary)[row])
        is_own = own >= 0 and bool(fits[own])
    tick(1)
    return ConsistentEntities(
        row=row + 1,
        consistent=len(found),
        entities=tuple(CellValue(str(own)) for own in ids.tolist()),
        own_entity_consistent=is_own,
    )


def _cost(context: MeasureContext, parameters: ConsistentEntitiesParameters) -> Cost:
    _row_of(context, parameters)
    table, entities = context.table, given(context.dictionary).n_entities
    cells = (table.n_records + entities) * (table.n_attributes + 1)
    return Cost(cells * SECONDS_PER_CELL, 8 * cells, 1, "scan")


CONSISTENT_ENTITIES: Final = Measure(
    name="consistent_entities",
    title="The entities that a record may belong to, by id",
    source="Definitions: consistency",
    guarantee="exact",
    parameters=ConsistentEntitiesParameters,
    result=ConsistentEntities,
    needs=frozenset({"rule", "dictionary"}),
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "who of the census may the second record be?",
        "proposal-candidates",
        rule="proposal",
        dictionary="census",
        parameters={"row": 2, "most": 20},
    ),
    by_persons=BY_ROWS,
)
