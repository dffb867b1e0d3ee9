"""What leaves under an evaluation, column by column: as the rule discloses it, or as the file is written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np

from app.domain.criteria.alone import AloneRecords
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.distinct import Ints
from app.domain.gates.coverage import KEY, NOTHING_SHOWN, Levels, ReleasedColumn, alone_in
from app.domain.gates.protection import WorstCase, greatest_loss
from app.domain.gates.reading import Columns, takes_absence_for_safety
from app.domain.harm.sensitivity import Sensitivity
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.numbers import highest_accepted
from app.domain.policies.demands import slots_of
from app.domain.policies.schema import Giver
from app.domain.rules.rule import TableRule
from app.domain.tables import Table
from app.services.aligned_release import AlignedRelease
from app.services.dataset_schema import declarations_of
from app.services.gates.bench import Bench
from app.services.gates.subject import Subject
from app.services.release_alignment import WITHHELD, readings_of
from app.services.text_columns import TextColumn

LEAST_MISSING: Final = 0.1
"""A dictionary does not carry a column if this share of its people have no value of it, or more."""


def released_columns(subject: Subject, bench: Bench) -> list[ReleasedColumn]:
    """The disclosed columns in the schema's order; of a file those that it has, its key column last."""
    table, aligned = bench.table, bench.aligned
    if aligned is None:
        return [_of_rule(subject, bench, j) for j in range(table.n_attributes)]
    found = [
        _of_file(subject, bench, aligned.texts[name], name)
        for name in table.attributes
        if name in aligned.texts
    ]
    return found if subject.key is None else [*found, _key_column(subject, subject.key, aligned)]


def columns_to_read(subject: Subject, bench: Bench) -> Columns:
    """What the requirements may read of the dataset, its dictionaries and its sensitivity profile."""
    table = bench.table
    readable = set(table.attributes) - unreadable(subject, table, bench.aligned)
    carried = {
        slot: frozenset(name for own in scoring.linked for name in _carried(own)) & readable
        for slot, scoring in bench.scorings.items()
    }
    sensitivity = bench.base.sensitivity
    asked = {
        slot
        for own in subject.policy.criteria
        if own.severity == "block" and takes_absence_for_safety(subject.policy, own.demand)
        for slot in slots_of(own.demand, subject.policy)
    }
    return Columns(
        quasi_identifiers=frozenset(readable - table.sensitive),
        sensitive=frozenset(readable & table.sensitive),
        carried=carried,
        lacking=frozenset(slot for slot in asked & carried.keys() if _lacks_people(subject, bench, slot)),
        weighed=frozenset() if sensitivity is None else _weighed(table, sensitivity) & readable,
        worst=_worst_case(bench),
    )


def _lacks_people(subject: Subject, bench: Bench, slot: str) -> bool:
    """Whether more records than may be are alone in what the dictionaries carry and like nobody in them.

    Nobody finds them by it, and their risk counts as 0. It says of nobody that others are like them.
    """
    dictionaries, rule, table = bench.scorings[slot].members, bench.rule, bench.table
    carried = sorted({table.position(own.attribute) for one in dictionaries for own in one.links})
    if rule is None or not carried:
        return False
    codes = bench.release(rule).codes
    released = codes if bench.absent is None else codes[~bench.absent]
    sizes = [table.hierarchies[j].n_nodes for j in carried]
    alone = released[alone_in([released[:, j] for j in carried], sizes)]
    allowed = highest_accepted(subject.policy.singled_out_share * len(released))
    if len(alone) <= allowed:
        return False
    found = [bench.counter(own).count_records(alone).values for own in dictionaries]
    return int((np.max(found, axis=0) == 0).sum()) > allowed


def _carried(dictionary: Dictionary) -> list[str]:
    """The attributes that it says enough of: whose cell is missing is consistent with every record."""
    return [
        own.attribute
        for own in dictionary.links
        if np.count_nonzero(own.meaning.everything[own.meaning.column])
        < LEAST_MISSING * dictionary.n_entities
    ]


def _worst_case(bench: Bench) -> WorstCase:
    """What the released values are like if every record is alone in its class, and found."""
    if bench.rule is not None:
        alone = AloneRecords(bench.table, bench.release(bench.rule).codes)
    else:
        alone = AloneRecords(bench.table if bench.alone is None else bench.alone)
    sensitivity, failure = bench.base.sensitivity, bench.base.failure
    if sensitivity is None:
        return WorstCase(alone)
    entities = [own.n_entities for scoring in bench.scorings.values() for own in scoring.linked]
    model = bench.base.options.risk_model
    return WorstCase(alone, greatest_loss(bench.table, sensitivity, failure, model, max(entities, default=1)))


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


def _of_rule(subject: Subject, bench: Bench, j: int) -> ReleasedColumn:
    if bench.rule is None:
        raise ValueError("without a file there is a rule")
    table, hierarchy = bench.table, bench.table.hierarchies[j]
    texts = tuple(dict.fromkeys(hierarchy.labels))
    number = {text: code for code, text in enumerate(texts)}
    of_node = np.array([number[label] for label in hierarchy.labels], dtype=np.int32)
    of_node[TOP] = NOTHING_SHOWN
    shown = bench.release(bench.rule).codes[:, j]
    name = table.attributes[j]
    return ReleasedColumn(
        name, _role(table, name), _giver(subject, name), texts, of_node[shown], _levels(bench, j, hierarchy)
    )


def _of_file(subject: Subject, bench: Bench, column: TextColumn, name: str) -> ReleasedColumn:
    """The column as it is written, rows in the file's order."""
    table = bench.table
    j = table.position(name)
    hierarchy = table.hierarchies[j]
    nothing, texts = {"", WITHHELD, hierarchy.labels[TOP]}, column.values
    code = [NOTHING_SHOWN if text in nothing else place for place, text in enumerate(texts)]
    missing = NOTHING_SHOWN
    if _says_nothing_in_several_ways(column, hierarchy.labels[TOP]):
        # Whoever gets the file tells them apart: each way of writing it is a value.
        code, missing, texts = list(range(len(texts))), len(texts), (*texts, "")
    codes: Ints = np.array([*code, missing], dtype=np.int32)[column.positions]
    levels = None if bench.rule is None else _levels(bench, j, hierarchy)
    return ReleasedColumn(name, _role(table, name), _giver(subject, name), texts, codes, levels)


def _key_column(subject: Subject, key: str, aligned: AlignedRelease) -> ReleasedColumn:
    """The column that says whose row is whose; its texts are all different, and nobody looks at them."""
    rows = np.arange(aligned.records, dtype=np.int32)
    return ReleasedColumn(key, KEY, _giver(subject, key), ("",) * aligned.records, rows)


def _levels(bench: Bench, j: int, hierarchy: Hierarchy) -> Levels:
    """How far values are generalised, by the table's rule or else by what became of each cell."""
    rule = bench.rule
    if isinstance(rule, TableRule):
        return Levels(rule.levels[j], rule.levels[j], hierarchy.height)
    if rule is None:
        raise ValueError("without a rule nobody knows what the values were")
    original, shown = bench.table.codes[:, j], bench.release(rule).codes[:, j]
    had = original != TOP
    if bench.absent is not None:
        had = had & ~bench.absent
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
