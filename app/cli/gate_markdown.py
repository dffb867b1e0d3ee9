"""A gate's outcome as a Markdown summary: for the page of a pipeline's run or a comment on a change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from app.cli.gate_text import (
    changes_of,
    column_text,
    columns_of,
    earlier_of,
    explanation_of,
    standing_of,
    uncovered_of,
    waiver_text,
)
from app.cli.gate_verdict import Outcome, Standing, Verdict
from app.cli.gate_views import lines_of_pairs
from app.cli.plain_lines import plain_line
from app.reports.assumptions import rows_sentence

_SIGNS = {
    Standing.PASSED: "✅",
    Standing.WARNING: "⚠️",
    Standing.WAIVED: "➖",
    Standing.FAILED: "❌",
    Standing.ERROR: "⛔",
}
_SPECIAL = re.compile(r"([\\`*_{}\[\]()#+!|<>~&@-])")


def markdown_of(outcome: Outcome) -> str:
    """A heading, a table of the criteria, and what would pass."""
    return "\n".join(_lines(outcome)) + "\n"


def _lines(outcome: Outcome) -> Iterator[str]:
    verdict = outcome.verdict
    policy = verdict.policy if verdict else outcome.policy
    yield f"## {outcome.headline}: {_plain(outcome.subject)} under {_plain(policy)}"
    yield ""
    if outcome.fault is not None:
        yield _plain(outcome.fault)
        yield ""
    if verdict is None:
        return
    if rows := rows_sentence(verdict.document):
        yield from (_plain(rows), "")
    yield "| | Criterion | Found | |"
    yield "|---|---|---|---|"
    for criterion in verdict.criteria:
        is_waived = criterion.standing is Standing.WAIVED
        remark = waiver_text(criterion.document["waiver"]) if is_waived else criterion.explanation
        cells = (criterion.title, criterion.value_and_threshold, remark)
        yield f"| {_SIGNS[criterion.standing]} {criterion.standing} | {' | '.join(map(_plain, cells))} |"
    yield ""
    yield from _columns(verdict)
    changes = [f"* {_plain(change)}" for change in changes_of(verdict)]
    pairs = [
        f"* {_plain(line)}" for criterion in verdict.criteria for line in lines_of_pairs(criterion, outcome)
    ]
    if changes or pairs:
        yield from (*changes, *pairs, "")
    attacker = verdict.document["policy"].get("attacker")
    if attacker:
        yield f"Assumed of the attacker: {_plain(str(attacker))}"
        yield ""
    for sentence in verdict.document.get("not_covered") or ():
        yield f"* Not covered: {_plain(str(sentence))}"
    for sentence in verdict.document.get("warnings") or ():
        yield f"* Warning: {_plain(str(sentence))}"


def _columns(verdict: Verdict) -> Iterator[str]:
    """What is not covered, and what is said of every column."""
    yield f"Columns {_plain(standing_of(verdict))}: {_plain(explanation_of(verdict))}"
    yield ""
    for own in uncovered_of(verdict):
        yield f"* ❌ {_plain(own['message'])} {_plain(own['remedy'])}"
    yield from (f"* Column {_plain(column_text(own))}" for own in columns_of(verdict))
    for sentence in earlier_of(verdict):
        yield f"* Earlier releases: {_plain(sentence)}"
    yield ""


def _plain(text: str) -> str:
    """The text on one line, none of whose characters Markdown or HTML would read as its own."""
    return (
        _SPECIAL.sub(r"\\\1", plain_line(" ".join(text.split())))
        .replace("\\<", "&lt;")
        .replace("\\>", "&gt;")
    )
