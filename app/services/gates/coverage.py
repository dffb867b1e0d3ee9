"""What a gate checks before any requirement, of one evaluation; and how its verdict says it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict
from typing import Any, Final, Literal

import numpy as np

from app.domain.arrays import Ints
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.direct_identifiers.recognition import RecognisedKind, recognised_kinds
from app.domain.gates.coverage import (
    KEY,
    NOTHING_SHOWN,
    Coverage,
    JudgedColumn,
    Levels,
    ReleasedColumn,
    Uncovered,
    alone_in,
    coverage_of,
)
from app.domain.gates.protection import WorstCase, greatest_loss
from app.domain.gates.reading import Columns, of_drawn, reading_of, takes_absence_for_safety
from app.domain.gates.verdicts import Verdict
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.models.judging import AloneRecords
from app.domain.policies.requirements import slots_of
from app.domain.policies.schema import Giver
from app.domain.rules.rule import TableRule
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import declarations_of
from app.services.datasets.text_columns import TextColumn
from app.services.fingerprints import plain
from app.services.gates.context import EvaluationContext
from app.services.gates.subject import Subject
from app.services.releases.aligned_release import AlignedRelease
from app.services.releases.readings import ASTERISK, readings_of
from app.services.resources import JsonObject

LEAST_MISSING: Final = 0.1
"""A dictionary does not carry a column if this share of its people have no value of it, or more."""


def released_columns(subject: Subject, context: EvaluationContext) -> list[ReleasedColumn]:
    """The disclosed columns in the schema's order; of a file those that it has, its key column last."""
    table, aligned, drawn = context.table, context.aligned, context.drawn
    if drawn is not None:
        return [_of_drawn(subject, context, drawn, j) for j in range(table.n_attributes)]
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
    labels = {name: own.labels for name, own in zip(table.attributes, table.hierarchies, strict=True)}
    return frozenset(
        name
        for name, column in aligned.texts.items()
        if are_alike(column.values, replaced.get(name, {}), frozenset(labels[name]))
        or _says_nothing_in_several_ways(column, labels[name][TOP])
    )


def _says_nothing_in_several_ways(column: TextColumn, top: str) -> bool:
    """Whether cells that show nothing are written differently, so that they can be told apart."""
    ways = len({"", ASTERISK, top}.intersection(column.values))
    return ways + (column.n_missing > 0) > 1


def are_alike(texts: Sequence[str], replaced: Mapping[str, str], labels: Set[str]) -> bool:
    """Whether two of these different texts can stand for one value."""
    seen: set[str | None] = set()
    for text in texts:
        own = {reading for reading in readings_of(text, replaced, labels) if reading is not None}
        if own & seen:
            return True
        seen |= own
    return False


def _of_rule(subject: Subject, context: EvaluationContext, j: int) -> ReleasedColumn:
    if context.rule is None:
        raise ValueError("without a file there is a rule")
    shown = context.release(context.rule).codes[:, j]
    return _of_nodes(subject, context, j, shown, _levels(context, j, context.table.hierarchies[j]))


def _of_drawn(subject: Subject, context: EvaluationContext, drawn: DrawnRelease, j: int) -> ReleasedColumn:
    """A column of what a mechanism made; its levels are those of the rule that came first."""
    name, height = context.table.attributes[j], context.table.hierarchies[j].height
    levels = None
    if subject.released is not None and (drawn.replaced is None or drawn.replaced.attribute != name):
        level = (subject.released.stored.summary["rule"]["levels"] or {}).get(name)
        levels = None if level is None else Levels(level, level, height)
    return _of_nodes(subject, context, j, drawn.table.codes[:, j], levels)


def _of_nodes(
    subject: Subject, context: EvaluationContext, j: int, shown: Ints, levels: Levels | None
) -> ReleasedColumn:
    """The column of which each record shows the label of its node."""
    table, hierarchy = context.table, context.table.hierarchies[j]
    texts = tuple(dict.fromkeys(hierarchy.labels))
    number = {text: code for code, text in enumerate(texts)}
    of_node = np.array([number[label] for label in hierarchy.labels], dtype=np.int32)
    of_node[TOP] = NOTHING_SHOWN
    name = table.attributes[j]
    return ReleasedColumn(name, _role(table, name), _giver(subject, name), texts, of_node[shown], levels)


def _of_file(subject: Subject, context: EvaluationContext, column: TextColumn, name: str) -> ReleasedColumn:
    """The column as it is written, rows in the file's order."""
    table = context.table
    j = table.position(name)
    hierarchy = table.hierarchies[j]
    nothing, texts = {"", ASTERISK, hierarchy.labels[TOP]}, column.values
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


Outcome = Literal["covered", "not_covered", "draft_schema", "not_computable"]

SECONDS_PER_CELL: Final = 2e-8
SECONDS_PER_TEXT: Final = 1e-4
MOST_TEXTS: Final = 5000
"""Counting a cell and recognising a text, measured generously; of a column so many texts are looked at."""

_TO_COVER: Final = (
    "Generalise it further, drop it from the release, let a blocking requirement bound telling records apart "
    "by it, as k-anonymity with it as quasi-identifier does, or name it under not_covered in the policy with "
    "the reason why it may leave."
)
_NAMES: Final = (
    "Drop it from the release, or name it under not_covered in the policy with the reason why it may leave. "
    "Only a requirement that bounds telling records apart by it, as k-anonymity with it as quasi-identifier "
    "does, covers it."
)
_OF_KEY: Final = (
    "Give the file without it, in the order of the records, or name it under not_covered in the policy with "
    "the reason why it does not leave, such as that the pipeline removes it after the gate."
)


def find_coverage(subject: Subject, context: EvaluationContext, waived: Set[str]) -> Coverage:
    """Compare the released columns with what the policy's requirements read, but for those ``waived``."""
    policy, columns = subject.policy, columns_to_read(subject, context)
    readings = {own.id: reading_of(policy, own, columns) for own in policy.requirements}
    if context.drawn is not None:
        replaced = context.drawn.replaced
        drawn = frozenset() if replaced is None else frozenset({replaced.attribute})
        readings = {own.id: of_drawn(own.condition, readings[own.id], drawn) for own in policy.requirements}
    return coverage_of(policy, released_columns(subject, context), readings, recognised_kinds, waived)


def seconds_of_coverage(context: EvaluationContext) -> float:
    """Estimated time of :func:`find_coverage`."""
    table = context.table
    texts = sum(min(MOST_TEXTS, len(own)) for own in table.used_nodes)
    return SECONDS_PER_CELL * table.n_records * table.n_attributes + SECONDS_PER_TEXT * texts


def coverage_document(coverage: Coverage) -> JsonObject:
    """The columns and what is not covered, as the result has it."""
    outcome: Outcome = "covered"
    if coverage.draft:
        outcome = "draft_schema"
    elif coverage.uncovered:
        outcome = "not_covered"
    uncovered = [_uncovered(own, coverage) for own in coverage.uncovered]
    return _document(
        outcome,
        _explanation(coverage),
        records=coverage.records,
        allowed_share=coverage.allowed_share,
        to_confirm=coverage.to_confirm,
        uncovered=uncovered,
        columns=[_column(own, coverage) for own in coverage.columns],
    )


def broken_coverage(message: str) -> JsonObject:
    """What is said where the columns were not looked at."""
    return _document("not_computable", f"The columns were not looked at: {message}")


def verdict_with(coverage: JsonObject, verdict: Verdict) -> Verdict:
    """The verdict of the requirements, unless what was checked before them does not let anything pass."""
    outcome: Outcome = coverage["outcome"]
    if outcome in ("draft_schema", "not_computable"):
        return "error"
    return "fail" if outcome == "not_covered" and verdict == "pass" else verdict


def _document(outcome: Outcome, explanation: str, **found: Any) -> JsonObject:  # noqa: ANN401
    document: JsonObject = {
        "outcome": outcome,
        "explanation": explanation,
        "records": None,
        "allowed_share": None,
        "to_confirm": [],
        "uncovered": [],
        "columns": [],
        **found,
    }
    return plain(document)


def _column(column: JudgedColumn, coverage: Coverage) -> JsonObject:
    return {
        **asdict(column),
        "singled_out_share": column.singled_out / coverage.records,
        "identifiers": [_identifier(own) for own in column.identifiers],
    }


def _identifier(found: RecognisedKind) -> JsonObject:
    return {"kind": found.kind, "share": found.share}


def _uncovered(own: Uncovered, coverage: Coverage) -> JsonObject:
    return {
        **asdict(own),
        "identifier": own.identifier and _identifier(own.identifier),
        "singled_out_share": own.singled_out / coverage.records,
        "message": _message(own, coverage),
        "remedy": {"direct_identifier": _NAMES, "key": _OF_KEY}.get(own.why, _TO_COVER),
    }


def _message(own: Uncovered, coverage: Coverage) -> str:
    named = _listed(own.columns)
    if own.why == "key":
        return f"The key column {named} is a column of the release file and says whose row is whose."
    if own.why == "direct_identifier" and own.identifier is not None:
        kind = own.identifier.kind.replace("_", " ")
        return f"The column {named} looks like a direct identifier: {own.identifier.share:.1%} {kind}."
    waived = {id_ for column in coverage.columns if column.name in own.columns for id_ in column.waived}
    but = f", {_listed(sorted(waived))} being waived," if waived else ""
    share = f"{own.singled_out / coverage.records:.2%}"
    counted = f"{own.singled_out:,} of {coverage.records:,} records ({share})"
    allowed = f"at most {coverage.allowed_share:.4g} of the records may be"
    if len(own.columns) == 1:
        unread = f"No blocking requirement bounds telling records apart by the column {named}{but or ','}"
        return f"{unread} and it singles out {counted}; {allowed}."
    unread = (
        f"No blocking requirement bounds telling records apart by the columns {named} together{but or ','}"
    )
    return f"{unread} and together they single out {counted}; {allowed}."


def _explanation(coverage: Coverage) -> str:
    if coverage.draft:
        if coverage.to_confirm:
            return f"The policy's schema is a draft: nobody has confirmed {_listed(coverage.to_confirm)}."
        return "The policy's schema is an empty draft: it names no column yet."
    if not coverage.uncovered:
        return f"All {len(coverage.columns)} disclosed columns are covered."
    names = dict.fromkeys(name for own in coverage.uncovered for name in own.columns)
    return f"Not covered: {_listed(tuple(names))}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
