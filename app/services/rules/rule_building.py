"""From a rule's definition to the rule for one table, every offender named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

import numpy as np

from app.domain.errors import Fault, NotSupported, joined, pointing_into, refuse
from app.domain.hierarchies.hierarchy import UNKNOWN
from app.domain.models.class_suppression import ClassSuppression, suppress_failing, suppress_records
from app.domain.rules.condition_truth import Column
from app.domain.rules.conditional import conditional_rule
from app.domain.rules.disclosed_values import Ancestors, generalisation, not_above, unknown_value
from app.domain.rules.rule import (
    CellRule,
    RecordRule,
    Rule,
    TableRule,
    apply,
    identity,
    record_rule,
    suppression,
    table_rule,
)
from app.domain.search.full_domain.plan import suppressed_by_population
from app.domain.search.nearest.raising import join
from app.domain.tables.masks import missing_cells
from app.domain.tables.table import Table, unknown_attribute
from app.services.resources import reference
from app.services.rules.rule_definitions import (
    AtLeastDefinition,
    ConditionalDefinition,
    GeneralisationDefinition,
    IdentityDefinition,
    RecordLevelDefinition,
    RecordLevels,
    StatedDefinition,
    SuppressionDefinition,
    TableLevelDefinition,
    definition_document,
)
from app.services.rules.rule_documents import (
    DICTIONARY,
    Suppression,
    WrittenRule,
    population_suppressing_rule,
    suppressed_cells,
    suppressing_rule,
)
from app.services.rules.rule_sources import SuppressingPopulation

FAULTS_SHOWN: Final = 50


def define_rule(
    definition: StatedDefinition,
    table: Table,
    columns: Mapping[str, Column] | None = None,
    population: SuppressingPopulation | None = None,
) -> WrittenRule:
    """The rule for this table; InvalidInput with every offender, pointers into /rule.

    ``columns`` are those that conditions read, ``population`` what criteria compare with.
    """
    match definition:
        case IdentityDefinition():
            return WrittenRule.of(identity(table.n_attributes), table)
        case SuppressionDefinition(attributes):
            faults = [
                unknown_attribute(f"/rule/attributes/{i}", attribute, table)
                for i, attribute in enumerate(attributes)
                if attribute not in table.attributes
            ]
            refuse(faults)
            return WrittenRule.of(suppression(table, attributes), table)
        case TableLevelDefinition(levels):
            whole = table_rule(table, levels, "/rule/levels")
            if definition.suppression is None:
                return WrittenRule.of(whole, table)
            return _suppressing(table, whole, definition.suppression, population)
        case RecordLevelDefinition(records):
            of_records = rule_of_records(records, table)
            named = {"records": len(records)} if isinstance(of_records, CellRule) else {}
            return WrittenRule.of(of_records, table, **named)
        case GeneralisationDefinition(values):
            rule, affected = generalisation(table, values, "/rule/values"), None
        case ConditionalDefinition(statements):
            found = conditional_rule(table, statements, columns or {}, "/rule/statements")
            rule, affected = found.rule, list(found.affected)
    return WrittenRule.of(
        rule,
        table,
        records=int((rule.codes != table.codes).any(axis=1).sum()),
        definition=definition_document(definition),
        affected=affected,
    )


def raised_rule(
    definition: AtLeastDefinition,
    rule: Rule,
    table: Table,
    population: SuppressingPopulation | None = None,
) -> WrittenRule:
    """The rule with every record generalised further.

    Of one level per attribute it is one again. InvalidInput with every attribute and level that does not fit.
    """
    levels = table_rule(table, definition.levels, "/rule/levels").levels
    raised = join(table, rule, levels)
    suppression = definition.suppression
    if isinstance(raised, TableRule):
        if suppression is None:
            return WrittenRule.of(raised, table)
        return _suppressing(table, raised, suppression, population)
    if suppression is not None:
        if suppression.needs_population:
            raise NotSupported(
                "Classes of rules for single records are not compared with a population by a rule.",
                "Raise a rule of one level per attribute, or search with min_loss and record_level.",
            )
        with pointing_into("/rule"):
            raised, _ = suppress_failing(table, raised, suppression)
    changed = (apply(raised, table) != table.codes).any(axis=1)
    return WrittenRule.of(raised, table, records=int(np.count_nonzero(changed)))


def apply_definition(
    definition: GeneralisationDefinition | ConditionalDefinition | TableLevelDefinition,
    table: Table,
    columns: Mapping[str, Column],
    pointer: str = "",
    population: SuppressingPopulation | None = None,
) -> Rule:
    """A stored rule's definition stated anew for another table, such as the next delivery.

    ``columns`` are those of that table which conditions read. InvalidInput where the definition does not fit
    it, such as an affected record that has no value; ``pointer`` is where the definition is.
    """
    if isinstance(definition, TableLevelDefinition):
        whole = table_rule(table, definition.levels, f"{pointer}/levels")
        suppression = definition.suppression
        if population is not None and isinstance(suppression, ClassSuppression):
            records = suppressed_by_population(table, whole, suppression, population.dictionary)
            return suppress_records(table, whole, records, suppression.missing, suppression.suppressed)
        return whole if suppression is None else suppressed_cells(table, whole, suppression)[0]
    if isinstance(definition, GeneralisationDefinition):
        return generalisation(table, definition.values, f"{pointer}/values")
    return conditional_rule(table, definition.statements, columns, f"{pointer}/statements").rule


def _suppressing(
    table: Table, rule: TableRule, suppression: Suppression, population: SuppressingPopulation | None
) -> WrittenRule:
    """A table-level rule with what it suppresses beside its levels, pointers into /rule."""
    with pointing_into("/rule"):
        if population is None or not isinstance(suppression, ClassSuppression):
            return suppressing_rule(table, rule, suppression)
        records = suppressed_by_population(table, rule, suppression, population.dictionary)
    stored = population.stored
    written = population_suppressing_rule(table, rule, suppression, records, stored.sha256)
    return replace(written, document={**written.document, DICTIONARY: reference(stored)})


def rule_of_records(records: Sequence[RecordLevels], table: Table) -> Rule:
    """Steps per record; where records name values, these are put over what the steps disclose.

    InvalidInput with every record, attribute, number of steps and value that does not fit, pointers into
    /rule.
    """
    steps = np.zeros((table.n_records, table.n_attributes), dtype=np.int16, order="F")
    rows = _RowFinder(table)
    values = _ValueFinder(table)
    faults: list[Fault] = []
    for i, record in enumerate(records):
        pointer = f"/rule/records/{i}"
        found = rows.find(record, pointer)
        own = [found] if isinstance(found, Fault) else []
        own += _faults_of_levels(record.levels, table, f"{pointer}/levels")
        if isinstance(found, int):
            own += _faults_of_steps(record.steps, table, found, f"{pointer}/steps")
            own += values.find(record, found, f"{pointer}/values")
            if not own:
                for attribute, number in {**record.levels, **record.steps}.items():
                    steps[found, table.attributes.index(attribute)] = number
        faults += own
        if len(faults) >= FAULTS_SHOWN:
            break
    refuse(faults[:FAULTS_SHOWN])
    return values.over(record_rule(table, steps, "/rule/records"))


class _ValueFinder:
    """Finds the nodes that records name by their values, and puts them over a rule."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._nodes: dict[tuple[int, int], int] = {}
        self._ancestors: dict[str, Ancestors] = {}

    def find(self, record: RecordLevels, row: int, pointer: str) -> list[Fault]:
        """Keep the nodes of the record's values, or say what is wrong with them."""
        faults = []
        for attribute, value in (record.values or {}).items():
            place = joined(pointer, attribute)
            found = self._node(attribute, value, row, place)
            if attribute in record.levels or attribute in record.steps:
                found = Fault(
                    place,
                    "level-and-value",
                    f"Attribute {attribute!r} has steps (or a level) and a value.",
                    "Give one of them.",
                )
            if isinstance(found, Fault):
                faults.append(found)
            else:
                self._nodes[row, self._table.attributes.index(attribute)] = found
        return faults

    def _node(self, attribute: str, value: str | None, row: int, pointer: str) -> int | Fault:
        table = self._table
        if attribute not in table.attributes:
            return unknown_attribute(pointer, attribute, table)
        j = table.attributes.index(attribute)
        ancestors = self._ancestors.setdefault(attribute, Ancestors(table.hierarchies[j]))
        if not ancestors.knows(value):
            return unknown_value(pointer, attribute, str(value))
        node = ancestors.of(int(table.codes[row, j]), value)
        return not_above(pointer, attribute, str(value), "the original") if node == UNKNOWN else node

    def over(self, rule: RecordRule) -> Rule:
        """The rule itself where no record names a value."""
        if not self._nodes:
            return rule
        codes = apply(rule, self._table).copy(order="F")
        for (row, j), node in self._nodes.items():
            codes[row, j] = node
        return CellRule(codes)


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


def _faults_of_steps(steps: Mapping[str, int], table: Table, row: int, pointer: str) -> list[Fault]:
    """What is wrong with the steps of one record; those of a missing value lead nowhere and are right."""
    faults = []
    is_missing = missing_cells(table.codes[row])
    for attribute, number in steps.items():
        place = joined(pointer, attribute)
        if attribute not in table.attributes:
            faults.append(unknown_attribute(place, attribute, table))
            continue
        j = table.attributes.index(attribute)
        hierarchy, node = table.hierarchies[j], table.codes[row, j]
        most = hierarchy.height if is_missing[j] else hierarchy.depth[node]
        if not 0 <= number <= most:
            faults.append(
                Fault(
                    place,
                    "steps-out-of-range",
                    f"{number} steps of attribute {attribute!r} lead beyond ⊥ from the record's own value.",
                    "Steps count from that value, not from the hierarchy's lowest level: give fewer, or the "
                    "value null to suppress it.",
                )
            )
    return faults


def _faults_of_levels(levels: Mapping[str, int], table: Table, pointer: str) -> list[Fault]:
    faults = []
    for attribute, level in levels.items():
        if attribute not in table.attributes:
            faults.append(unknown_attribute(f"{pointer}/{attribute}", attribute, table))
            continue
        height = table.heights[table.attributes.index(attribute)]
        if not 0 <= level <= height:
            faults.append(
                Fault(
                    f"{pointer}/{attribute}",
                    "level-out-of-range",
                    f"Level {level} of attribute {attribute!r} is outside 0..{height}.",
                    f"Choose 0 (as it is) to {height} (suppressed).",
                )
            )
    return faults
