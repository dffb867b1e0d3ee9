"""Use cases on disclosure rules: which level of each attribute is shown of whom."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

import numpy as np

from app.domain.errors import Fault, InvalidInput
from app.domain.rules import Rule, identity, record_rule, suppression, table_rule
from app.domain.tables import Table
from app.services.access import require
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.ports import Store
from app.services.resources import Actor, Created, JsonObject, Kind, Scope
from app.services.rule_documents import new_rule, rule_document
from app.services.tables import TableLoader

FAULTS_SHOWN: Final = 50


@dataclass(frozen=True)
class IdentityDefinition:
    """Everything as it is."""


@dataclass(frozen=True)
class SuppressionDefinition:
    """The attributes named are withheld, the others shown as they are."""

    attributes: tuple[str, ...]


@dataclass(frozen=True)
class TableLevelDefinition:
    """One level per attribute for the whole table; 0 (as is) for attributes that are not named."""

    levels: Mapping[str, int]


@dataclass(frozen=True)
class RecordLevels:
    """The levels of one record, named by its entity id or by its row number from 1."""

    levels: Mapping[str, int]
    entity: str | None = None
    row: int | None = None


@dataclass(frozen=True)
class RecordLevelDefinition:
    """Levels per record; level 0 for records and attributes that are not named."""

    records: tuple[RecordLevels, ...]


RuleDefinition = IdentityDefinition | SuppressionDefinition | TableLevelDefinition | RecordLevelDefinition

_KINDS: Final[Mapping[type[RuleDefinition], str]] = {
    IdentityDefinition: "identity",
    SuppressionDefinition: "suppression",
    TableLevelDefinition: "table_level",
    RecordLevelDefinition: "record_level",
}


@dataclass(frozen=True)
class CreateRule:
    """A rule for the disclosed attributes of a dataset."""

    name: str
    dataset: str
    rule: RuleDefinition


@dataclass(frozen=True)
class RuleSummary:
    """The keys of a rule's ``summary``; ``levels`` of table rules, None for record-level ones."""

    dataset: str
    kind: str
    levels: JsonObject | None
    records: int | None


class RuleService(NamedResources):
    """Create and read rules."""

    kind: ClassVar[Kind] = Kind.RULE

    def __init__(self, store: Store, loader: TableLoader) -> None:
        super().__init__(store)
        self._loader = loader

    async def create(self, actor: Actor, request: CreateRule) -> Created:
        """Validate against the dataset and store; errors name attribute and bound."""
        require(actor, Scope.DATA_WRITE)
        check_name(request.name)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
        table = await self._loader.table(actor.tenant, dataset)
        document = await asyncio.to_thread(define_rule, request.rule, table)
        new = new_rule(request.name, document, dataset, kind_of(request.rule))
        return await self._add(actor, new)


def kind_of(definition: RuleDefinition) -> str:
    """The word for the definition's kind."""
    return _KINDS[type(definition)]


def define_rule(definition: RuleDefinition, table: Table) -> JsonObject:
    """The document of the rule for this table; InvalidInput with every offender, pointers into /rule."""
    return rule_document(_rule(definition, table), table.attributes)


def _rule(definition: RuleDefinition, table: Table) -> Rule:
    match definition:
        case IdentityDefinition():
            return identity(table.n_attributes)
        case SuppressionDefinition(attributes):
            faults = [
                _unknown_attribute(f"/rule/attributes/{i}", attribute, table)
                for i, attribute in enumerate(attributes)
                if attribute not in table.attributes
            ]
            if faults:
                raise InvalidInput(faults)
            return suppression(table, attributes)
        case TableLevelDefinition(levels):
            return table_rule(table, levels, "/rule/levels")
        case RecordLevelDefinition(records):
            return _record_rule(records, table)


def _record_rule(records: Sequence[RecordLevels], table: Table) -> Rule:
    steps = np.zeros((table.n_records, table.n_attributes), dtype=np.int16, order="F")
    rows = _RowFinder(table)
    faults: list[Fault] = []
    for i, record in enumerate(records):
        pointer = f"/rule/records/{i}"
        found = rows.find(record, pointer)
        own = [found] if isinstance(found, Fault) else []
        own += _faults_of_levels(record.levels, table, f"{pointer}/levels")
        faults += own
        if len(faults) >= FAULTS_SHOWN:
            break
        if not own and isinstance(found, int):
            for attribute, level in record.levels.items():
                steps[found, table.attributes.index(attribute)] = level
    if faults:
        raise InvalidInput(faults[:FAULTS_SHOWN])
    return record_rule(table, steps, "/rule/records")


class _RowFinder:
    """Finds the row of a record, and refuses one that was named before."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._named_at: dict[int, str] = {}

    def find(self, record: RecordLevels, pointer: str) -> int | Fault:
        row = self._row(record, pointer)
        if isinstance(row, int):
            earlier = self._named_at.setdefault(row, pointer)
            if earlier != pointer:
                return Fault(
                    pointer,
                    "duplicate-record",
                    f"The record is named at {earlier} already.",
                    "Name every record once, with all its levels.",
                )
        return row

    def _row(self, record: RecordLevels, pointer: str) -> int | Fault:
        if (record.entity is None) == (record.row is None):
            return Fault(
                pointer,
                "exactly-one",
                "A record is named by exactly one of entity and row.",
                "Give its entity id, or its row number from 1.",
            )
        if record.row is not None:
            if 1 <= record.row <= self._table.n_records:
                return record.row - 1
            return Fault(
                f"{pointer}/row",
                "out-of-range",
                f"Row {record.row} is outside 1..{self._table.n_records}.",
                "Rows are numbered from 1 in the order of the upload.",
            )
        if self._table.entity_ids is None:
            return Fault(
                f"{pointer}/entity",
                "no-identifier",
                "The dataset has no identifier, so that entities have no names.",
                "Name records by their row number, or declare an identifier in the dataset's schema.",
            )
        found = self._row_of_entity.get(str(record.entity))
        if found is None:
            return Fault(
                f"{pointer}/entity",
                "unknown-entity",
                f"No record of the dataset has the entity id {record.entity!r}.",
                "Give an id as it stands in the dataset's identifier column.",
            )
        return found

    @cached_property
    def _row_of_entity(self) -> dict[str, int]:
        ids = self._table.entity_ids
        return {} if ids is None else {str(entity): row for row, entity in enumerate(ids.tolist())}


def _faults_of_levels(levels: Mapping[str, int], table: Table, pointer: str) -> list[Fault]:
    faults = []
    for attribute, level in levels.items():
        if attribute not in table.attributes:
            faults.append(_unknown_attribute(f"{pointer}/{attribute}", attribute, table))
            continue
        height = table.heights[table.attributes.index(attribute)]
        if not 0 <= level <= height:
            faults.append(
                Fault(
                    f"{pointer}/{attribute}",
                    "level-out-of-range",
                    f"Level {level} of attribute {attribute!r} is outside 0..{height}.",
                    f"Choose 0 (as it is) to {height} (withheld).",
                )
            )
    return faults


def _unknown_attribute(pointer: str, attribute: str, table: Table) -> Fault:
    return Fault(
        pointer,
        "unknown-attribute",
        f"There is no disclosed attribute {attribute!r}.",
        f"The attributes are: {', '.join(table.attributes)}.",
    )
