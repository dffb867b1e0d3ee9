"""What leaves under an evaluation, column by column: as the rule discloses it, or as the file is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from app.domain.arrays import Ints
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.gates.coverage import KEY, NOTHING_SHOWN, Levels, ReleasedColumn, alone_in
from app.domain.gates.protection import WorstCase, greatest_loss
from app.domain.gates.reading import Columns, takes_absence_for_safety
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.models.judging import AloneRecords
from app.domain.policies.requirements import slots_of
from app.domain.policies.schema import Giver
from app.domain.rules.rule import TableRule
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import declarations_of
from app.services.datasets.text_columns import TextColumn
from app.services.gates.context import EvaluationContext
from app.services.gates.subject import Subject
from app.services.releases.aligned_release import AlignedRelease
from app.services.releases.release_alignment import WITHHELD, readings_of

LEAST_MISSING: Final = 0.1
"""A dictionary does not carry a column if this share of its people have no value of it, or more."""


def released_columns(subject: Subject, context: EvaluationContext) -> list[ReleasedColumn]:
    """The disclosed columns in the schema's order; of a file those that it has, its key column last."""
    table, aligned = context.table, context.aligned
    if aligned is None:
        return [_of_rule(subject, context, j) for j in range(table.n_attributes)]
    found = [
        _of_file(subject, context, aligned.texts[name], name)
        for name in table.attributes
        if name in aligned.texts
    ]
    return found if subject.key is None else [*found, _key_column(subject, subject.key, aligned)]


def columns_to_read(subject: Subject, context: EvaluationContext) -> Columns:
    """What the requirements may read of the dataset, its dictionaries and its sensitivity profile."""
    table = context.table
    readable = set(table.attributes) - unreadable(subject, table, context.aligned)
    carried = {
        slot: frozenset(name for own in scoring.linked for name in _carried(own)) & readable
        for slot, scoring in context.scorings.items()
    }
    sensitivity = context.base.sensitivity
    asked = {
        slot
        for own in subject.policy.requirements
        if own.severity == "block" and takes_absence_for_safety(subject.policy, own.condition)
        for slot in slots_of(own.condition, subject.policy)
    }
    return Columns(
        quasi_identifiers=frozenset(readable - table.sensitive),
        sensitive=frozenset(readable & table.sensitive),
        carried=carried,
        lacking=frozenset(slot for slot in asked & carried.keys() if _lacks_people(subject, context, slot)),
        weighed=frozenset() if sensitivity is None else _weighed(table, sensitivity) & readable,
        worst=_worst_case(context),
    )


def _lacks_people(subject: Subject, context: EvaluationContext, slot: str) -> bool:
    """Whether more records than may be are alone in what the dictionaries carry and like nobody in them.

    Nobody finds them by it, and their risk counts as 0. It says of nobody that others are like them.
    """
    dictionaries, rule, table = context.scorings[slot].members, context.rule, context.table
    carried = sorted({table.position(own.attribute) for one in dictionaries for own in one.links})
    if rule is None or not carried:
        return False
    codes = context.release(rule).codes
    released = codes if context.absent is None else codes[~context.absent]
    sizes = [table.hierarchies[j].n_nodes for j in carried]
    alone = released[alone_in([released[:, j] for j in carried], sizes)]
    allowed = highest_accepted(subject.policy.singled_out_share * len(released))
    if len(alone) <= allowed:
        return False
    found = [context.counter(own).count_records(alone).values for own in dictionaries]
    return int((np.max(found, axis=0) == 0).sum()) > allowed


def _carried(dictionary: Dictionary) -> list[str]:
    """The attributes that it says enough of: whose cell is missing is consistent with every record."""
    return [
        own.attribute
        for own in dictionary.links
        if np.count_nonzero(own.meaning.everything[own.meaning.column])
        < LEAST_MISSING * dictionary.n_entities
    ]


def _worst_case(context: EvaluationContext) -> WorstCase:
    """What the released values are like if every record is alone in its class, and found."""
    if context.rule is not None:
        alone = AloneRecords(context.table, context.release(context.rule).codes)
    else:
        alone = AloneRecords(context.table if context.alone is None else context.alone)
    sensitivity, failure = context.base.sensitivity, context.base.failure
    if sensitivity is None:
        return WorstCase(alone)
    entities = [own.n_entities for scoring in context.scorings.values() for own in scoring.linked]
    model = context.base.options.risk_model
    return WorstCase(
        alone, greatest_loss(context.table, sensitivity, failure, model, max(entities, default=1))
    )


def unreadable(subject: Subject, table: Table, aligned: AlignedRelease | None) -> frozenset[str]:
    """Columns of a file in which different texts stand for one value, so that requirements do not see them.

    A dataset may replace texts by others before it looks them up. What it takes for alike need not look alike
    to a reader of the file.
    """
    if aligned is None:
        return frozenset()
    replaced = {own.name: own.map for own in declarations_of(subject.dataset)}
    top = {name: own.labels[TOP] for name, own in zip(table.attributes, table.hierarchies, strict=True)}
    return frozenset(
        name
        for name, column in aligned.texts.items()
        if _are_alike(column, replaced.get(name, {})) or _says_nothing_in_several_ways(column, top[name])
    )


def _says_nothing_in_several_ways(column: TextColumn, top: str) -> bool:
    """Whether cells that show nothing are written differently, so that they can be told apart."""
    ways = len({"", WITHHELD, top}.intersection(column.values))
    return ways + (column.n_missing > 0) > 1


def _are_alike(column: TextColumn, replaced: Mapping[str, str]) -> bool:
    seen: set[str | None] = set()
    for text in column.values:
        own = {reading for reading in readings_of(text, replaced) if reading is not None}
        if own & seen:
            return True
        seen |= own
    return False


def _of_rule(subject: Subject, context: EvaluationContext, j: int) -> ReleasedColumn:
    if context.rule is None:
        raise ValueError("without a file there is a rule")
    table, hierarchy = context.table, context.table.hierarchies[j]
    texts = tuple(dict.fromkeys(hierarchy.labels))
    number = {text: code for code, text in enumerate(texts)}
    of_node = np.array([number[label] for label in hierarchy.labels], dtype=np.int32)
    of_node[TOP] = NOTHING_SHOWN
    shown = context.release(context.rule).codes[:, j]
    name = table.attributes[j]
    return ReleasedColumn(
        name, _role(table, name), _giver(subject, name), texts, of_node[shown], _levels(context, j, hierarchy)
    )


def _of_file(subject: Subject, context: EvaluationContext, column: TextColumn, name: str) -> ReleasedColumn:
    """The column as it is written, rows in the file's order."""
    table = context.table
    j = table.position(name)
    hierarchy = table.hierarchies[j]
    nothing, texts = {"", WITHHELD, hierarchy.labels[TOP]}, column.values
    code = [NOTHING_SHOWN if text in nothing else place for place, text in enumerate(texts)]
    missing = NOTHING_SHOWN
    if _says_nothing_in_several_ways(column, hierarchy.labels[TOP]):
        # Whoever gets the file tells them apart: each way of writing it is a value.
        code, missing, texts = list(range(len(texts))), len(texts), (*texts, "")
    codes: Ints = np.array([*code, missing], dtype=np.int32)[column.positions]
    levels = None if context.rule is None else _levels(context, j, hierarchy)
    return ReleasedColumn(name, _role(table, name), _giver(subject, name), texts, codes, levels)


def _key_column(subject: Subject, key: str, aligned: AlignedRelease) -> ReleasedColumn:
    """The column that says whose row is whose; its texts are all different, and nobody looks at them."""
    rows = np.arange(aligned.records, dtype=np.int32)
    return ReleasedColumn(key, KEY, _giver(subject, key), ("",) * aligned.records, rows)


def _levels(context: EvaluationContext, j: int, hierarchy: Hierarchy) -> Levels:
    """How far values are generalised, by the table's rule or else by what became of each cell."""
    rule = context.rule
    if isinstance(rule, TableRule):
        return Levels(rule.levels[j], rule.levels[j], hierarchy.height)
    if rule is None:
        raise ValueError("without a rule nobody knows what the values were")
    original, shown = context.table.codes[:, j], context.release(rule).codes[:, j]
    had = ~context.table.is_missing(j)
    if context.absent is not None:
        had = had & ~context.absent
    steps = (hierarchy.depth[original] - hierarchy.depth[shown])[had]
    if not len(steps):
        return Levels(0, 0, hierarchy.height)
    return Levels(int(steps.min()), int(steps.max()), hierarchy.height)


def _weighed(table: Table, sensitivity: Sensitivity) -> frozenset[str]:
    """The attributes whose disclosure weighs anything for anybody, alone or with others."""
    if sensitivity.family == "constant":
        return frozenset()
    together = {j for own in sensitivity.interactions if own.weights.any() for j in own.attributes}
    return frozenset(
        name for j, name in enumerate(table.attributes) if sensitivity.shapes[j].any() or j in together
    )


def _role(table: Table, name: str) -> str:
    return "sensitive" if name in table.sensitive else "quasi_identifier"


def _giver(subject: Subject, name: str) -> Giver:
    schema = subject.policy.schema
    given = None if schema is None else schema.role_of(name)
    return "dataset" if given is None else given[1]
