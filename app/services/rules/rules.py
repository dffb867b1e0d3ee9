"""Use cases on disclosure rules: what is shown of whom, also as some records before and after."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, MaxLen

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import pointing_into
from app.domain.models.class_suppression import ClassSuppression
from app.domain.rules.condition_truth import Column
from app.domain.rules.conditional import check_statements, columns_read
from app.domain.rules.rule import Rule, apply
from app.domain.rules.steps import labels_shown, steps_between
from app.domain.tables.table import Table
from app.services.datasets.cell_values import require_to_name_values
from app.services.datasets.tables import TableLoader, TableResources
from app.services.ports import Store, UnitOfWork
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    Scope,
    Stored,
    TenantId,
    document_of,
    require,
)
from app.services.rules.rule_building import apply_definition, define_rule, raised_rule
from app.services.rules.rule_definitions import (
    AtLeastDefinition,
    ConditionalDefinition,
    GeneralisationDefinition,
    RecordLevelDefinition,
    RuleDefinition,
    TableLevelDefinition,
    definition_of,
    shown_definition,
)
from app.services.rules.rule_documents import (
    WrittenRule,
    new_rule,
    require_rule_of,
    resources_of_rule,
    rule_in_short,
    rule_of,
    rule_sha256,
    stated_rule,
    table_level_definition_of,
)
from app.services.rules.rule_sources import column_types, condition_columns, notes_on, population_of


@dataclass(frozen=True)
class PreviewRule:
    """Records ``first`` to ``first + limit - 1`` (from 1) of a dataset; a stored rule or a definition."""

    dataset: str
    rule: str | RuleDefinition
    first: int = 1
    limit: int = 20


@dataclass(frozen=True)
class PreviewedRecord:
    """One record before and after."""

    row: Annotated[int, Ge(1), Example(1)]
    """Row number, from 1."""
    before: Annotated[tuple[str | None, ...], MaxLen(10_000), Example(["Lafayette"])]
    """Cells, column by column; null is missing or suppressed."""
    after: Annotated[tuple[str | None, ...], MaxLen(10_000), Example(["Tippecanoe"])]
    """Cells, column by column; null is missing or suppressed."""
    steps: Annotated[tuple[Annotated[int, Ge(0)] | None, ...], MaxLen(10_000), Example([1])]
    """Per column the steps from the original up to the shown value, as rules of single records take
    them; 0 is as it is. Null where a hierarchy with several parents per value has no such number.
    """


@dataclass(frozen=True)
class RulePreview:
    """Some records before and after."""

    columns: Annotated[tuple[str, ...], MaxLen(10_000), Example(["city"])]
    """The disclosed attributes."""
    heights: Annotated[tuple[Annotated[int, Ge(0)], ...], MaxLen(10_000), Example([4])]
    """Their hierarchies' heights."""
    total_rows: Annotated[int, Ge(0), Example(12)]
    """Rows of the dataset."""
    records: Annotated[tuple[PreviewedRecord, ...], MaxLen(200)]
    """The records."""


def preview_of(table: Table, rule: Rule, first: int, limit: int) -> RulePreview:
    """The records as they are and as the rule discloses them."""
    rows = np.arange(first - 1, min(first - 1 + limit, table.n_records))
    before, after = table.codes[rows], apply(rule, table)[rows]
    trees = table.hierarchies
    steps = [steps_between(tree, before[:, j], after[:, j]).tolist() for j, tree in enumerate(trees)]
    originals = [labels_shown(tree, before[:, j]) for j, tree in enumerate(trees)]
    shown = [labels_shown(tree, after[:, j]) for j, tree in enumerate(trees)]
    return RulePreview(
        table.attributes,
        table.heights,
        table.n_records,
        tuple(
            PreviewedRecord(
                row + 1,
                tuple(labels[i] for labels in originals),
                tuple(labels[i] for labels in shown),
                tuple(None if own[i] < 0 else own[i] for own in steps),
            )
            for i, row in enumerate(rows.tolist())
        ),
    )


_RULE_POSITION: Final = 3
"""Where assessments that name no roles list their stored rule among what they use."""


@dataclass(frozen=True)
class CreateRule:
    """A rule for the disclosed attributes of a dataset."""

    name: str
    dataset: str
    rule: RuleDefinition


class RuleService(TableResources):
    """Create and read rules."""

    kind: ClassVar[Kind] = Kind.RULE

    async def create(self, actor: Actor, request: CreateRule) -> Created:
        """Validate against the dataset and store; errors name attribute and bound."""
        self._admit(actor, request.name)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
        rule = await find_rule(self._store, self._loader, actor, request.rule, dataset)
        return await self._add(actor, new_rule(request.name, rule.document, dataset, rule.kind))

    async def preview(self, actor: Actor, request: PreviewRule) -> RulePreview:
        """Some records before and after a stored rule or a definition; needs data:read, stores nothing."""
        require(actor, Scope.DATA_READ)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
        rule = await find_rule(self._store, self._loader, actor, request.rule, dataset)
        table = await self._loader.table(actor.tenant, dataset)
        return await asyncio.to_thread(
            lambda: preview_of(table, rule.on(table), request.first, request.limit)
        )

    def _definition_of(self, stored: Stored) -> JsonObject:
        document = document_of(stored)
        return shown_definition(document) or stated_rule(document)

    def definition(self, actor: Actor, rule: Stored) -> JsonObject | None:
        """The definition of a rule that is kept with one, conditions in both forms.

        None for other rules, and without data:read: conditions may name values.
        """
        return shown_definition(document_of(rule)) if Scope.DATA_READ in actor.scopes else None


@dataclass(frozen=True)
class RuleInQuestion:
    """The rule that a question is about: its document, its hash, and the resource that it is, if it is one.

    ``kind`` is the word that it was asked for with, None where that is not known any more; ``made`` the rule
    itself where its definition was asked about, so that nobody reads the document that was written of it.
    """

    document: JsonObject
    sha256: str
    stored: Stored | None
    kind: str | None
    made: Rule | None = None

    @property
    def name(self) -> str | None:
        """The name, if it is stored."""
        return None if self.stored is None else self.stored.name

    @property
    def in_short(self) -> JsonObject:
        """The rule as summaries show it, with its name."""
        return {"name": self.name, **rule_in_short(self.document, self.kind)}

    def on(self, table: Table) -> Rule:
        """The rule itself for the dataset as a ``table``; read only where it was not made by the request."""
        return rule_of(self.document, table) if self.made is None else self.made

    @property
    def uses(self) -> tuple[str, ...]:
        """Ids of what has to stay as long as the question does."""
        return resources_of_rule(self.document, self.stored)


async def find_rule(
    store: Store, loader: TableLoader, actor: Actor, rule: str | RuleDefinition, dataset: Stored
) -> RuleInQuestion:
    """A stored rule of the dataset, or that of a definition; InvalidInput with every offender, into /rule.

    A condition asks the data a question, even of columns that are never disclosed; a value that is named for
    a record is refused unless it lies above the cell, and steps that lead beyond ⊥ are; a criterion that
    names values suppresses by who has them. All of these need data:read. What is ignored is said in
    ``notes``.
    """
    if isinstance(rule, str):
        async with store.work(actor.tenant) as work:
            stored = await work.resources.get(Kind.RULE, rule)
        return RuleInQuestion(require_rule_of(stored, dataset), stored.sha256, stored, stored.summary["kind"])
    table = await loader.table(actor.tenant, dataset)
    written = await _defined(store, loader, actor, rule, dataset, table)
    document, notes = written.document, notes_on(rule)
    if notes:
        document = {**document, "notes": list(notes)}
    return RuleInQuestion(document, rule_sha256(document, dataset.sha256), None, rule.kind, written.rule)


def rule_kept(rule: RuleInQuestion | None) -> JsonObject:
    """What the document of a question keeps of its rule: where it is stored, else the rule itself."""
    if rule is None or rule.stored is None:
        return {"rule": None if rule is None else rule.document, "stored_rule": None}
    return {"rule": None, "stored_rule": rule.stored.id}


async def rule_of_question(work: UnitOfWork, question: Stored, dataset: Stored) -> RuleInQuestion | None:
    """The rule that a stored question is about; None without one."""
    document = document_of(question)
    kind = document.get("rule_kind")
    if document["rule"] is not None:
        sha256 = rule_sha256(document["rule"], dataset.sha256)
        return RuleInQuestion(document["rule"], sha256, None, kind)
    ref = document["stored_rule"] if "stored_rule" in document else question.uses[_RULE_POSITION]
    if ref is None:
        return None
    stored = await work.resources.get(Kind.RULE, ref)
    return RuleInQuestion(require_rule_of(stored, dataset), stored.sha256, stored, kind)


async def _defined(
    store: Store,
    loader: TableLoader,
    actor: Actor,
    definition: RuleDefinition,
    dataset: Stored,
    table: Table,
) -> WrittenRule:
    if isinstance(definition, TableLevelDefinition | AtLeastDefinition) and isinstance(
        definition.suppression, ClassSuppression
    ):
        require_to_name_values(actor, *definition.suppression.failing)
    population = await population_of(store, loader, actor.tenant, definition, dataset)
    if isinstance(definition, AtLeastDefinition):
        with pointing_into("/rule"):
            below = await find_rule(store, loader, actor, definition.rule, dataset)
        return await asyncio.to_thread(lambda: raised_rule(definition, below.on(table), table, population))
    if isinstance(definition, RecordLevelDefinition) and any(
        record.asks_the_record for record in definition.records
    ):
        require(actor, Scope.DATA_READ)
    if isinstance(definition, TableLevelDefinition) and definition.suppression is None:
        return define_rule(definition, table)  # a number per attribute: no work for a thread
    if not isinstance(definition, ConditionalDefinition):
        return await asyncio.to_thread(define_rule, definition, table, None, population)
    require(actor, Scope.DATA_READ)
    check_statements(table, definition.statements, column_types(dataset), "/rule/statements")
    names = columns_read(definition.statements)
    columns = await condition_columns(store, actor.tenant, dataset, table, names)
    return await asyncio.to_thread(define_rule, definition, table, columns)


async def rule_stated_anew(
    store: Store, loader: TableLoader, tenant: TenantId, rule: JsonObject, dataset: Stored, table: Table
) -> Rule | None:
    """A stored rule of conditions or values, by its document, for another dataset with its table.

    Likewise one that suppresses small classes, which are others there. None for rules of levels, which say
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
    if "levels" in rule:
        stated = table_level_definition_of(rule)
        return None if stated.suppression is None else stated
    return None if rule.get("definition") is None else definition_of(rule["definition"])
