"""A gate's outcome as text for people and as JSON for programs, its columns and earlier releases in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from app.cli.gate_outline import questions_of
from app.cli.gate_verdict import Json, Kept, Outcome, Standing, Verdict, shown
from app.cli.gate_views import lines_of_pairs
from app.cli.plain_lines import plain_json, plain_line
from app.reports.assumptions import rows_sentence
from privacy_risk.spellings import spellings_text

FAILING: Final = ("not covered", "not of dataset")
"""What becomes of the check of the columns where it fails, and is no doubt."""
_GIVERS = {
    "policy": "by the policy",
    "pattern": "by a pattern of the policy",
    "dataset": "by whoever described the dataset",
}


def columns_of(verdict: Verdict) -> list[Json]:
    """Every disclosed column."""
    return list(_coverage(verdict).get("columns") or ())


def uncovered_of(verdict: Verdict) -> list[Json]:
    """What is not covered: columns, message and remedy."""
    return list(_coverage(verdict).get("uncovered") or ())


def standing_of(verdict: Verdict) -> str:
    """``covered``, ``not covered`` …: what became of the check of the columns."""
    return str(_coverage(verdict).get("outcome")).replace("_", " ")


def explanation_of(verdict: Verdict) -> str:
    """What became of it, in a sentence."""
    return str(_coverage(verdict).get("explanation") or "")


def earlier_of(verdict: Verdict) -> Iterator[str]:
    """A sentence on what was released before, then one per release."""
    ledger = verdict.document.get("earlier_releases") or {}
    if ledger.get("explanation"):
        yield str(ledger["explanation"])
    for own in ledger.get("releases") or ():
        judged = ", ".join(own.get("judged_by") or ()) or "not taken into account"
        order = ", in the records' order" if own.get("order") == "records" else ""
        yield f"{own['date']} {own['name']}{order} (sha256 {own['csv_sha256']}): {judged}"


def role_text(column: Json) -> str:
    """Role and who gave it."""
    role = str(column.get("role")).replace("_", "-")
    return f"{role} {_GIVERS.get(str(column.get('given_by')), '')}".strip()


def levels_text(column: Json) -> str:
    """How far the column is generalised."""
    levels = column.get("levels")
    if not levels:
        return "levels unknown"
    least, greatest, height = levels["least"], levels["greatest"], levels["height"]
    between = f"level {least}" if least == greatest else f"levels {least} to {greatest}"
    return f"{between} of {height}"


def judges_text(column: Json) -> str:
    """Which requirements judge it, or why none has to."""
    said = [f"judged by {', '.join(column['judged_by'])}"] if column.get("judged_by") else []
    if column.get("warned_by"):
        said.append(f"warned of by {', '.join(column['warned_by'])}")
    if column.get("waived"):
        said.append(f"not judged by {', '.join(column['waived'])}, for it is waived")
    if column.get("reason"):
        said.append(f"may leave by the policy: {column['reason']}")
    return "; ".join(said) or "judged by no requirement"


def singled_text(column: Json) -> str:
    """The share of the records that it singles out."""
    return f"singles out {100 * float(column.get('singled_out_share') or 0):.3g} %"


def lines_of(verdict: Verdict) -> Iterator[str]:
    """A line on what became of the check, one per fault and one per column."""
    yield f"Columns  {standing_of(verdict)}: {explanation_of(verdict)}"
    for own in uncovered_of(verdict):
        yield f"  {own['message']} {own['remedy']}"
    for column in columns_of(verdict):
        yield f"  {column_text(column)}"
        if column.get("spellings"):
            yield f"    each a value, as the file writes it: {spellings_text(column['spellings'])}"


def column_text(column: Json) -> str:
    """All that is said of a column, on one line."""
    parts = (role_text(column), levels_text(column), singled_text(column), judges_text(column))
    return f"{column['name']}: {'; '.join(parts)}"


def _coverage(verdict: Verdict) -> Json:
    coverage: Json = verdict.document["coverage"]
    return coverage


def text_of(outcome: Outcome) -> str:
    """The verdict, each criterion with its value, what would pass, and what was not covered."""
    return "\n".join(map(plain_line, _lines(outcome))) + "\n"


def json_of(outcome: Outcome) -> str:
    """One JSON object: the exit code, the result document, where its evidence is."""
    document = {
        "verdict": outcome.headline.lower(),
        "exit_code": outcome.exit_code,
        "fault": outcome.fault,
        "evaluation": outcome.evaluation,
        "evidence": outcome.evidence,
        "result": None if outcome.verdict is None else outcome.verdict.document,
    }
    return plain_json(document, indent=2)


def plan_text(plan: Json) -> str:
    """What a dry run tells, one line per entry; the document of the service in words of its own."""
    return "Nothing was judged. It would take:\n" + "\n".join(map(plain_line, _plan_lines(plan, "  "))) + "\n"


def changes_of(verdict: Verdict) -> Iterator[str]:
    """A sentence per suggested change."""
    changes = verdict.document.get("changes") or ()
    for_all = [_what(change) for change in changes if change["for"] == "all"]
    titles = {criterion.id: criterion.title for criterion in verdict.criteria} | {"all": "all criteria"}
    for change in changes:
        if change["for"] != "all" and _what(change) in for_all:
            continue
        wanted = titles.get(change["for"], change["for"])
        if change["status"] != "found":
            yield (
                f"No rule that only generalises this one further passes {wanted}; another rule may."
                if change.get("proven")
                else f"No rule was found that only generalises this one further and passes {wanted}; "
                "another rule may."
            )
            continue
        levels = ", ".join(f"{name} {level}" for name, level in (change.get("levels") or {}).items())
        suppressed = change.get("suppressed_records") or 0
        what = f"generalise at least to {levels}" if levels else "generalise nothing further"
        if suppressed:
            what += f" and suppress {suppressed:,} records"
        cost = f"utility {shown(change.get('utility_before'))} → {shown(change.get('utility_after'))}"
        yield f"To pass {wanted}: {what} ({cost}{'' if change.get('proven') else '; not proven nearest'})."


def _what(change: Json) -> Json:
    """The change itself, without whom it is for."""
    return {key: value for key, value in change.items() if key not in ("for", "examined")}


def _lines(outcome: Outcome) -> Iterator[str]:
    verdict = outcome.verdict
    yield f"{outcome.headline}  {outcome.subject} under {verdict.policy if verdict else outcome.policy}"
    if outcome.fault is not None:
        yield from (f"  {line}" for line in outcome.fault.splitlines())
    if verdict is None:
        return
    if rows := rows_sentence(verdict.document):
        yield f"  {rows}"
    for criterion in verdict.criteria:
        yield f"  {criterion.standing:<8} {criterion.title}: {criterion.value_and_threshold}"
        if criterion.standing is not Standing.PASSED:
            yield from (f"           {line}" for line in _why(criterion.explanation, criterion.document))
            yield from (f"           {line}" for line in lines_of_pairs(criterion, outcome))
        elif criterion.rests_on_assumptions:
            yield f"           {criterion.explanation}"
    if outcome.unchanged:
        yield f"  {outcome.unchanged:,} views are unchanged since the evidence that proves them private"
    yield from (f"  {line}" for line in questions_of(verdict, outcome.outline))
    yield from (f"  {line}" for line in lines_of(verdict))
    for change in changes_of(verdict):
        yield f"  {change}"
    yield from (f"  Earlier releases: {line}" for line in earlier_of(verdict))
    for sentence in verdict.document.get("not_covered") or ():
        yield f"  Not covered: {sentence}"
    for sentence in verdict.document.get("warnings") or ():
        yield f"  Warning: {sentence}"
    if outcome.kept is not None:
        yield from (f"  {line}" for line in _kept(outcome, outcome.kept))
    if outcome.canonical is not None:
        yield f"  The release in canonical form was written to {outcome.canonical}: give out this file"


def _kept(outcome: Outcome, kept: Kept) -> Iterator[str]:
    """Where the evidence is, and what it shows of itself."""
    if kept.signed_by == "service":
        yield f"Stored on the server as the evaluation {outcome.evaluation}"
        return
    if kept.report is None:
        yield "Nothing of this is stored: --report FILE writes the signed evidence"
        return
    yield f"Evidence written to {kept.report}, the public key to {kept.keys}"
    if kept.signed_by == "pipeline":
        yield "Signed with the pipeline's key: its origin is proven to whoever trusts the public key of that"
    else:
        yield "Signed with a key made for this report alone: it shows any change, but not who signed it"


def _why(explanation: str, document: Json) -> Iterator[str]:
    if explanation:
        yield explanation
    error, waiver = document.get("error"), document.get("waiver")
    if error:
        yield " ".join(str(error[key]) for key in ("message", "remedy") if error.get(key))
    if waiver:
        yield waiver_text(waiver)


_LAPSES: Final = {
    "other_content": " It was granted for other data.",
    "other_criterion": " It was granted for another criterion.",
}


def waiver_text(waiver: Json) -> str:
    """Who waived what until when, in one sentence."""
    lapsed = ""
    if waiver.get("in_force") is not True:
        lapsed = _LAPSES.get(str(waiver.get("lapse")), " It is not in force.")
    return (
        f"Waived by {waiver.get('approved_by')} until {waiver.get('until')}: {waiver.get('reason')}{lapsed}"
    )


def _plan_lines(value: Any, indent: str) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(item, Mapping | Sequence) and not isinstance(item, str) and item:
                yield f"{indent}{key}:"
                yield from _plan_lines(item, indent + "  ")
            else:
                yield f"{indent}{key}: {'none' if item in ([], {}) else shown(item)}"
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for item in value:
            lines = list(_plan_lines(item, ""))
            yield f"{indent}- {lines[0] if lines else ''}"
            yield from (f"{indent}  {line}" for line in lines[1:])
    else:
        yield f"{indent}{shown(value)}"
