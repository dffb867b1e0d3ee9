"""What a gate checks before any requirement, of one evaluation; and how its verdict says it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import asdict
from typing import Any, Final, Literal

import numpy as np

from app.domain.arrays import Ints
from app.domain.classes.row_matching import MOST_PAIRS
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.direct_identifiers.recognition import RecognisedKind, recognised_kinds
from app.domain.errors import counted
from app.domain.gates.coverage import (
    LEAST_PERSONS,
    Coverage,
    JudgedColumn,
    PersonsOfRows,
    Uncovered,
    Why,
    coverage_of,
    reading_of,
    singled_out,
)
from app.domain.gates.verdicts import Verdict
from app.domain.models.judging import AloneRecords
from app.domain.policies.policy import Policy
from app.domain.policies.reading import Columns, WorstCase, greatest_loss
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import highest_accepted
from app.domain.tables.table import Table
from app.services.datasets.spellings import Spelling
from app.services.fingerprints import plain
from app.services.gates.context import EvaluationContext
from app.services.gates.released_columns import released_columns, unreadable
from app.services.gates.subject import Subject
from app.services.releases.aligned_release import AlignedRelease
from app.services.resources import JsonObject

LEAST_MISSING: Final = 0.1
"""A dictionary does not carry a column if this share of its people have no value of it, or more."""


def columns_to_read(subject: Subject, context: EvaluationContext) -> Columns:
    """What the requirements may read of the dataset, its dictionaries and its sensitivity profile."""
    table = context.table
    readable = set(table.attributes) - unreadable(table, context.aligned)
    carried = {
        slot: frozenset(name for own in scoring.linked for name in _carried(own)) & readable
        for slot, scoring in context.scorings.items()
    }
    sensitivity = context.base.sensitivity
    asked = {
        slot
        for own in subject.policy.requirements
        if own.severity == "block" and subject.policy.takes_absence_for_safety(own.condition)
        for slot in subject.policy.slots_of(own.condition)
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
    is_there = slice(None) if context.absent is None else ~context.absent
    released = codes[is_there]
    sizes = [table.hierarchies[j].n_nodes for j in carried]
    persons = None
    if table.persons is not None and not subject.policy.is_covered_as_before:
        persons = PersonsOfRows(table.persons[is_there], np.bincount(table.persons))
    alone = released[singled_out([released[:, j] for j in carried], sizes, persons, LEAST_PERSONS)[0]]
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
    elif context.alone is not None:
        alone = AloneRecords(context.alone.by_itself.table, context.alone.by_itself.codes)
    else:
        alone = AloneRecords(context.table)
    sensitivity, failure = context.base.sensitivity, context.base.failure
    if sensitivity is None:
        return WorstCase(alone)
    entities = [own.n_entities for scoring in context.scorings.values() for own in scoring.linked]
    model = context.base.options.risk_model
    return WorstCase(
        alone, greatest_loss(context.table, sensitivity, failure, model, max(entities, default=1))
    )


def _weighed(table: Table, sensitivity: Sensitivity) -> frozenset[str]:
    """The attributes whose disclosure weighs anything for anybody, alone or with others."""
    if sensitivity.family == "constant":
        return frozenset()
    together = {j for own in sensitivity.interactions if own.weights.any() for j in own.attributes}
    return frozenset(
        name for j, name in enumerate(table.attributes) if sensitivity.shapes[j].any() or j in together
    )


Outcome = Literal[
    "covered", "not_covered", "not_of_dataset", "draft_schema", "missing_reason", "not_computable"
]
UNDECIDED: Final[tuple[Outcome, ...]] = ("draft_schema", "missing_reason", "not_computable")
"""Outcomes that make a verdict an error."""

SECONDS_PER_CELL: Final = 2e-8
SECONDS_PER_TEXT: Final = 1e-4
MOST_TEXTS: Final = 5000
SECONDS_PER_MATCHED_CELL: Final = 1e-7
SECONDS_PER_PAIR: Final = 1e-6
"""Counting a cell, recognising a text, reading a cell to match it, and a row that a record fits, measured
generously; of a column so many texts are looked at.
"""
ROWS_SHOWN: Final = 20

_TO_COVER: Final = (
    "Generalise it further, drop it from the release, let a blocking requirement bound telling records apart "
    "by it, as k-anonymity with it as quasi-identifier does, or name it under not_covered in the policy with "
    "the reason why it may leave."
)
_NAMES: Final = "Drop it from the release, or name it under not_covered with the reason why it may leave."
COVERED_AS_BEFORE: Final = (
    "The policy keeps version 1 of the check of columns, which counts unique records and takes whatever was "
    "written for a reason. A new version of the policy counts persons up to its largest k, in every column."
)
_OF_ROWS: Final = (
    "See that the file was made of this dataset as it is now, shows originals or what lies above them in the "
    "hierarchies, and has one row per record at most."
)
_OF_SUPPRESSED: Final = (
    "Suppress fewer and generalise further, or store a new version of the policy whose suppression_limit is "
    "what its readers can do without."
)
_OF_KEY: Final = (
    "Give the file without it, in the order of the records, or name it under not_covered in the policy with "
    "the reason why it does not leave, such as that the pipeline removes it after the gate."
)


def find_coverage(subject: Subject, context: EvaluationContext, waived: Set[str]) -> Coverage:
    """Compare the released columns with what the policy's requirements read, but for those ``waived``."""
    policy, columns = subject.policy, columns_to_read(subject, context)
    drawn = None
    if context.drawn is not None:
        own = context.drawn.drawn_attribute
        drawn = frozenset() if own is None else frozenset({own})
    readings = {
        own.id: own.condition.as_released(reading_of(policy, own, columns), drawn)
        for own in policy.requirements
    }
    released = released_columns(subject, context)
    return coverage_of(policy, released, readings, recognised_kinds, waived, _persons(context))


def _persons(context: EvaluationContext) -> PersonsOfRows | None:
    """Whose the rows of the release are; None: each is one person's, since no column names persons."""
    persons, aligned = context.table.persons, context.aligned
    if persons is None:
        return None
    of_rows: Ints | None = None
    if aligned is None:
        of_rows = persons if context.drawn is None else None
    elif aligned.row_of_record is not None:
        rows = aligned.row_of_record
        of_rows = np.empty(aligned.records, dtype=np.int32)
        of_rows[rows[rows >= 0]] = persons[rows >= 0]
    return PersonsOfRows(of_rows, np.bincount(persons))


def seconds_of_coverage(context: EvaluationContext) -> float:
    """Estimated time of :func:`find_coverage`."""
    table = context.table
    texts = sum(min(MOST_TEXTS, len(own)) for own in table.used_nodes)
    seconds = SECONDS_PER_CELL * table.n_records * table.n_attributes + SECONDS_PER_TEXT * texts
    file = context.alone
    if file is None:
        return seconds
    hidden = list(shows_nothing(file.table.codes).T.astype(np.int8))
    # Of the rows that hide the same columns a record mostly fits one.
    pairs = table.reduced.size * distinct_rows(hidden, [2] * len(hidden), file.records).size
    cells = (table.n_records + file.records) * table.n_attributes
    return seconds + SECONDS_PER_MATCHED_CELL * cells + SECONDS_PER_PAIR * min(pairs, MOST_PAIRS)


def coverage_document(coverage: Coverage, policy: Policy, context: EvaluationContext) -> JsonObject:
    """The columns, what their file writes in several ways, and what is not covered, as the result has it.

    Of a release file also what its rows stand for; too many suppressed records are not covered either.
    """
    file, spellings = context.aligned, context.spellings
    uncovered = [_uncovered(own, coverage) for own in coverage.uncovered]
    rows = "" if file is None else _stand_for(file)
    explanation = _explanation(coverage)
    outcome: Outcome = "covered"
    suppressed, records = _suppressed(context), context.table.n_records
    allowed = policy.most_suppressed(records)
    if allowed is not None and suppressed > allowed:
        said = f"{suppressed:,} of {records:,} records are suppressed ({suppressed / records:.2%})"
        explanation = f"{said}, and at most {allowed:,} may be ({policy.suppression_limit:.4g})."
        uncovered.insert(0, _uncovered_rows("suppressed", explanation, _OF_SUPPRESSED))
    explanation = f"{explanation} {rows}".rstrip()
    if file is not None and len(file.unmatched):
        rows_are = counted(len(file.unmatched), "row of the release file is", "rows of the release file are")
        said = f"{rows_are} of no record."
        uncovered.insert(0, _uncovered_rows("rows", said, _OF_ROWS))
        outcome, explanation = "not_of_dataset", rows
    elif coverage.draft:
        outcome = "draft_schema"
    elif coverage.without_reason:
        outcome = "missing_reason"
    elif uncovered:
        outcome = "not_covered"
    elif coverage.undecided:
        outcome = "not_computable"
    return _document(
        outcome,
        explanation,
        records=coverage.records,
        allowed_share=coverage.allowed_share,
        to_confirm=coverage.to_confirm,
        uncovered=uncovered,
        columns=[_column(own, coverage, spellings.get(own.name, ())) for own in coverage.columns],
        **({} if coverage.least_persons is None else {"least_persons": coverage.least_persons}),
        **({} if file is None else {"rows": _rows(file)}),
    )


def _suppressed(context: EvaluationContext) -> int:
    """Records that are suppressed; of rows that a mechanism drew, none."""
    if context.aligned is not None:
        return context.aligned.suppressed
    return 0 if context.rule is None else int(context.release(context.rule).is_suppressed.sum())


def _uncovered_rows(why: Why, message: str, remedy: str) -> JsonObject:
    none = {"singled_out": 0, "singled_out_share": 0.0, "identifier": None}
    return {"columns": [], "why": why, **none, "message": message, "remedy": remedy}


def _rows(file: AlignedRelease) -> JsonObject:
    """What the rows of a file stand for, in numbers; the rows that stand for nothing from 1."""
    matched, records = file.records - len(file.unmatched), file.original.n_records
    return {
        "rows": file.records,
        "matched": matched,
        "records": records,
        "suppressed": file.suppressed,
        "without_row": records - matched,
        "unmatched": (file.unmatched[:ROWS_SHOWN] + 1).tolist(),
    }


def _stand_for(file: AlignedRelease) -> str:
    rows, over = _rows(file), len(file.unmatched)
    if over:
        shown = ", ".join(map(str, rows["unmatched"])) + ", …" * (over > ROWS_SHOWN)
        return (
            f"The dataset cannot have produced the file: {over:,} of its {rows['rows']:,} rows are of "
            f"no record, whichever of the {rows['records']:,} records the others are of, each of another one "
            f"(for example row{'s' * (over > 1)} {shown})."
        )
    said = f"{rows['rows']:,} rows of the file stand for as many of {rows['records']:,} records"
    without = f", {rows['without_row']:,} of them since no row stands for them" if rows["without_row"] else ""
    return f"{said}; {counted(rows['suppressed'], 'record is', 'records are')} suppressed{without}."


def broken_coverage(message: str) -> JsonObject:
    """What is said where the columns were not looked at."""
    return _document("not_computable", f"The columns were not looked at: {message}")


def verdict_with(coverage: JsonObject, verdict: Verdict) -> Verdict:
    """The verdict of the requirements, unless what was checked before them does not let anything pass."""
    outcome: Outcome = coverage["outcome"]
    if outcome == "not_of_dataset":
        return "fail"
    if outcome in UNDECIDED:
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


def _column(column: JudgedColumn, coverage: Coverage, spellings: Sequence[Spelling]) -> JsonObject:
    return {
        **asdict(column),
        **({"spellings": [asdict(own) for own in spellings]} if spellings else {}),
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
    if coverage.least_persons is not None:
        counted += f", whose value fewer than {coverage.least_persons:,} persons have"
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
    if coverage.without_reason:
        why = f"Nobody has written why these columns may leave: {_listed(coverage.without_reason)}."
        return f"{why} Write it under not_covered, in words, in a new version of the policy."
    if not coverage.uncovered and coverage.undecided:
        why = f"Nobody knows whose rows are singled out, perhaps, by {_listed(coverage.undecided)}"
        return f"{why}. Give the file's key, judge the stored release, or give a reason under not_covered."
    if not coverage.uncovered:
        return f"All {len(coverage.columns)} disclosed columns are covered."
    names = dict.fromkeys(name for own in coverage.uncovered for name in own.columns)
    return f"Not covered: {_listed(tuple(names))}."


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
