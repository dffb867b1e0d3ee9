"""What a gate checks before any requirement, of one evaluation; and how its verdict says it."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import Any, Final, Literal

from app.domain.direct_identifiers.recognition import recognised_kinds
from app.domain.gates.coverage import Coverage, JudgedColumn, Uncovered, coverage_of
from app.domain.gates.reading import reading_of
from app.domain.gates.verdicts import Verdict
from app.services.fingerprints import plain
from app.services.gates.context import EvaluationContext
from app.services.gates.released_columns import columns_to_read, released_columns
from app.services.gates.subject import Subject
from app.services.resources import JsonObject

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
    document = {
        "outcome": outcome,
        "explanation": explanation,
        "records": None,
        "allowed_share": None,
        "to_confirm": [],
        "uncovered": [],
        "columns": [],
        **found,
    }
    return plain(document)  # type: ignore[no-any-return]


def _column(column: JudgedColumn, coverage: Coverage) -> JsonObject:
    levels = column.levels
    return {
        "name": column.name,
        "role": column.role,
        "given_by": column.given_by,
        "levels": levels and {"least": levels.least, "greatest": levels.greatest, "height": levels.height},
        "values": column.values,
        "singled_out": column.singled_out,
        "singled_out_share": column.singled_out / coverage.records,
        "identifiers": [{"kind": own.kind, "share": own.share} for own in column.identifiers],
        "judged_by": column.judged_by,
        "warned_by": column.warned_by,
        "waived": column.waived,
        "reason": column.reason,
    }


def _uncovered(own: Uncovered, coverage: Coverage) -> JsonObject:
    return {
        "columns": own.columns,
        "why": own.why,
        "singled_out": own.singled_out,
        "singled_out_share": own.singled_out / coverage.records,
        "identifier": own.identifier and {"kind": own.identifier.kind, "share": own.identifier.share},
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
