"""Use cases on disclosure rules: what is shown of whom."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from app.domain.criteria.class_suppression import ClassSuppression
from app.domain.errors import pointing_into
from app.domain.rules.condition_truth import Column
from app.domain.rules.conditional import check_statements, columns_read
from app.domain.rules.rule import Rule
from app.domain.tables import Table
from app.services.access import require
from app.services.cell_values import require_to_name_values
from app.services.condition_columns import column_types, condition_columns
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.ports import Store
from app.services.references import document_of
from app.services.resources import Actor, Created, JsonObject, Kind, Scope, Stored, TenantId
from app.services.rule_building import apply_definition, raised_rule
from app.services.rule_building import define_rule as define_rule
from app.services.rule_definitions import (
    AtLeastDefinition,
    ConditionalDefinition,
    GeneralisationDefinition,
    StatedDefinition,
    definition_of,
    shown_definition,
)
from app.services.rule_definitions import IdentityDefinition as IdentityDefinition
from app.services.rule_definitions import RecordLevelDefinition as RecordLevelDefinition
from app.services.rule_definitions import RecordLevels as RecordLevels
from app.services.rule_definitions import RuleDefinition as RuleDefinition
from app.services.rule_definitions import SuppressionDefinition as SuppressionDefinition
from app.services.rule_definitions import TableLevelDefinition as TableLevelDefinition
from app.services.rule_definitions import kind_of as kind_of
from app.services.rule_documents import DICTIONARY, new_rule, require_rule_of, rule_of, suppression_of
from app.services.rule_previews import PreviewRule, RulePreview, preview_of
from app.services.suppressing_population import notes_on, population_of
from app.services.tables import TableLoader


@dataclass(frozen=True)
class CreateRule:
    """A rule for the disclosed attributes of a dataset."""

    name: str
    dataset: str
    rule: RuleDefinition


@dataclass(frozen=True)
class RuleSummary:
    """The keys of a rule's ``summary``; ``levels`` of table rules, None for record-level ones.

    The last three are there only for rules that withhold classes which fail criteria, and beside them
    ``suppression_order`` where it is not the usual one.
    """

    dataset: str
    kind: str
    levels: JsonObject | None
    records: int | None
    suppress_classes_below: int | None
    suppress_classes_failing: list[JsonObject] | None
    missing: str | None
    suppressed: str | None


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
        document = await defined_rule(self._store, self._loader, actor, request.rule, dataset, table)
        new = new_rule(request.name, document, dataset, kind_of(request.rule))
        return await self._add(actor, new)

    async def preview(self, actor: Actor, request: PreviewRule) -> RulePreview:
        """Some records before and after a stored rule or a definition; needs data:read, stores nothing."""
        require(actor, Scope.DATA_READ)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            asked = request.rule
            found = await work.resources.get(Kind.RULE, asked) if isinstance(asked, str) else asked
        table = await self._loader.table(actor.tenant, dataset)
        if isinstance(found, Stored):
            document = require_rule_of(found, dataset)
        else:
            document = await defined_rule(self._store, self._loader, actor, found, dataset, table)
        return await asyncio.to_thread(
            lambda: preview_of(table, rule_of(document, table), request.first, request.limit)
        )

    def definition(self, actor: Actor, rule: Stored) -> JsonObject | None:
        """The definition of a rule that is kept with one, conditions in both forms.

        None for other rules, and without data:read: conditions may name values.
        """
        return shown_definition(document_of(rule)) if Scope.DATA_READ in actor.scopes else None


async def defined_rule(
    store: Store,
    loader: TableLoader,
    actor: Actor,
    definition: RuleDefinition,
    dataset: Stored,
    table: Table,
) -> JsonObject:
    """The document of the rule for the dataset; InvalidInput with every offender, pointers into /rule.

    A condition asks the data a question, even of columns that are never disclosed; a value that is named for
    a record is refused unless it lies above the cell, and steps that lead beyond ⊥ are; a criterion that
    names values withholds by who has them. All of these need data:read. What is ignored is said in ``notes``.
    """
    document = await _defined(store, loader, actor, definition, dataset, table)
    notes = notes_on(definition)
    return {**document, "notes": list(notes)} if notes else document


async def _defined(
    store: Store,
    loader: TableLoader,
    actor: Actor,
    definition: RuleDefinition,
    dataset: Stored,
    table: Table,
) -> JsonObject:
    if isinstance(definition, TableLevelDefinition | AtLeastDefinition) and isinstance(
        definition.suppression, ClassSuppression
    ):
        require_to_name_values(actor, *definition.suppression.failing)
    population = await population_of(store, loader, actor.tenant, definition, dataset)
    if isinstance(definition, AtLeastDefinition):
        document = await _document_below(store, loader, actor, definition.rule, dataset, table)
        return await asyncio.to_thread(raised_rule, definition, document, table, population)
    if isinstance(definition, RecordLevelDefinition) and any(
        record.asks_the_record for record in definition.records
    ):
        require(actor, Scope.DATA_READ)
    if not isinstance(definition, ConditionalDefinition):
        return await asyncio.to_thread(define_rule, definition, table, None, population)
    require(actor, Scope.DATA_READ)
    check_statements(table, definition.statements, column_types(dataset), "/rule/statements")
    names = columns_read(definition.statements)
    columns = await condition_columns(store, actor.tenant, dataset, table, names)
    return await asyncio.to_thread(define_rule, definition, table, columns)


async def _document_below(
    store: Store,
    loader: TableLoader,
    actor: Actor,
    rule: str | StatedDefinition,
    dataset: Stored,
    table: Table,
) -> JsonObject:
    """The document of the rule that another one generalises further; pointers into /rule/rule."""
    with pointing_into("/rule"):
        if not isinstance(rule, str):
            return await defined_rule(store, loader, actor, rule, dataset, table)
        async with store.work(actor.tenant) as work:
            return require_rule_of(await work.resources.get(Kind.RULE, rule), dataset)


async def rule_stated_anew(
    store: Store, loader: TableLoader, tenant: TenantId, rule: JsonObject, dataset: Stored, table: Table
) -> Rule | None:
    """A stored rule of conditions or values, by its document, for another dataset with its table.

    Likewise one that withholds small classes, which are others there. None for rules of levels, which say
    nothing but their levels. InvalidInput at /rule/definition where the definition does not fit the other
    dataset.
    """
    definition = _definition_in(rule)
    if definition is None:
        return None
    columns: Mapping[str, Column] = {}
    if isinstance(definition, ConditionalDefinition):
        names = columns_read(definition.statements)
        columns = await condition_columns(store, tenant, dataset, table, names)
    population = None
    if isinstance(definition, TableLevelDefinition):
        population = await population_of(store, loader, tenant, definition, dataset)
    return await asyncio.to_thread(
        apply_definition, definition, table, columns, "/rule/definition", population
    )


def _definition_in(
    rule: JsonObject,
) -> GeneralisationDefinition | ConditionalDefinition | TableLevelDefinition | None:
    """How a rule's document can be stated anew, beyond its levels."""
    suppression = suppression_of(rule)
    if suppression is not None:
        population = rule.get(DICTIONARY)
        named = None if population is None else population["id"]
        return TableLevelDefinition(rule["levels"], suppression, named)
    return None if rule.get("definition") is None else definition_of(rule["definition"])
