"""What a rule's definition needs beside the table: columns that conditions read, a population for criteria.

Conditions may read all declared columns of a dataset, disclosed or not.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.class_suppression import ClassSuppression
from app.domain.rules.condition_truth import Column, ValueType
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import as_declared
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, Role, declarations_of
from app.services.datasets.tables import TableLoader
from app.services.datasets.text_columns import TextColumn, read_columns
from app.services.ports import Store
from app.services.resources import Kind, Stored, TenantId, document_of
from app.services.rules.rule_definitions import AtLeastDefinition, RuleDefinition, TableLevelDefinition

_TYPES: Final[Mapping[AttributeType, ValueType]] = {
    AttributeType.NUMBER: "number",
    AttributeType.DATE: "date",
}


def column_types(dataset: Stored) -> dict[str, ValueType]:
    """How the values of each declared column are compared; all but numbers and dates are texts."""
    return {d.name: _TYPES.get(d.type, "text") for d in declarations_of(dataset)}


async def condition_columns(
    store: Store, tenant: TenantId, dataset: Stored, table: Table, names: Collection[str]
) -> dict[str, Column]:
    """The named columns, declared ones, as conditions read them.

    Disclosed columns and identifiers are those of the table, which is in memory; only others are read from
    the upload.
    """
    types = column_types(dataset)
    declared = {d.name: d for d in declarations_of(dataset) if d.name in names}
    found = {d.name: _of_table(d, table, types[d.name]) for d in declared.values() if _is_held(d, table)}
    to_read = [name for name in declared if name not in found]
    if to_read:
        async with store.work(tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
            read = await read_columns(work, upload, to_read, "/upload")
        for name in to_read:
            found[name] = await asyncio.to_thread(_of_upload, declared[name], read[name], types[name])
    return found


def _is_held(declaration: AttributeDeclaration, table: Table) -> bool:
    if declaration.role is Role.IDENTIFIER:
        # The table's identifiers are as uploaded, conditions read values as mapped.
        return table.entity_ids is not None and not declaration.map
    return declaration.role.is_disclosed


def _of_table(declaration: AttributeDeclaration, table: Table, type_: ValueType) -> Column:
    if declaration.role is Role.IDENTIFIER:
        return Column(
            type_, [str(entity) for entity in table.own_ids], np.arange(table.n_records, dtype=np.int32)
        )
    j = table.attributes.index(declaration.name)
    labels = table.hierarchies[j].labels
    # Only labels that cells have are of the column's type: those above them are intervals and the like. A
    # missing value has none.
    values: list[str | None] = [None] * len(labels)
    for node in table.used_nodes[j].tolist():
        values[node] = labels[node]
    values[TOP] = None
    return Column(type_, values, table.codes[:, j])


def _of_upload(declaration: AttributeDeclaration, column: TextColumn, type_: ValueType) -> Column:
    texts = as_declared(column, declaration)
    return Column(type_, (*texts.values, None), texts.positions)


@dataclass(frozen=True, eq=False)
class SuppressingPopulation:
    """A stored dictionary, and as it is linked to the dataset of the rule."""

    stored: Stored
    dictionary: Dictionary


async def population_of(
    store: Store, loader: TableLoader, tenant: TenantId, definition: RuleDefinition, dataset: Stored
) -> SuppressingPopulation | None:
    """The population that the definition names, if its criteria need one.

    InvalidInput at /rule/dictionary if they do and none is named, or if it does not fit the dataset; NotFound
    if there is no such dictionary.
    """
    if not needs_population(definition) or not isinstance(
        definition, TableLevelDefinition | AtLeastDefinition
    ):
        return None
    if definition.dictionary is None:
        raise InvalidInput.of(
            "/rule/dictionary",
            "missing",
            "A criterion compares the classes with a population, which is one dictionary.",
            "Name a dictionary that lists it.",
        )
    async with store.work(tenant) as work:
        stored = await work.resources.get(Kind.DICTIONARY, definition.dictionary)
    linked = await loader.dictionary(tenant, stored, dataset, "/rule/dictionary")
    return SuppressingPopulation(stored, linked)


def needs_population(definition: RuleDefinition) -> bool:
    """Whether a criterion by which the rule suppresses compares its classes with a population."""
    if not isinstance(definition, TableLevelDefinition | AtLeastDefinition):
        return False
    suppression = definition.suppression
    return isinstance(suppression, ClassSuppression) and suppression.needs_population


def notes_on(definition: RuleDefinition) -> Sequence[str]:
    """What is ignored of the definition, in words."""
    if not isinstance(definition, TableLevelDefinition | AtLeastDefinition):
        return ()
    below: Sequence[str] = ()
    if isinstance(definition, AtLeastDefinition) and not isinstance(definition.rule, str):
        below = notes_on(definition.rule)
    if definition.dictionary is None or needs_population(definition):
        return below
    return (
        *below,
        f"The dictionary {definition.dictionary!r} is ignored: no criterion of the rule compares its classes "
        "with a population.",
    )
