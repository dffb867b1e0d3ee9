"""What a verdict says of the released columns and of earlier releases, in words."""

from __future__ import annotations

from collections.abc import Iterator

from app.cli.gate_verdict import Json, Verdict

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


def column_text(column: Json) -> str:
    """All that is said of a column, on one line."""
    parts = (role_text(column), levels_text(column), singled_text(column), judges_text(column))
    return f"{column['name']}: {'; '.join(parts)}"


def _coverage(verdict: Verdict) -> Json:
    coverage: Json = verdict.document["coverage"]
    return coverage
