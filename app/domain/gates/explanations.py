"""One sentence per criterion, for people who sign: what was found, and what would have to hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

from app.domain.gates.findings import Finding, Part, worst_of
from app.domain.models.criterion import Criterion
from app.domain.policies.comparison import WORDS, Comparison, Value, model_in_short, number


def of_value(what: str, parts: Sequence[Part], comparison: Comparison, threshold: Value) -> str:
    """Of a value with a threshold; the worst of several parts is named."""
    worst = worst_of(parts)
    place = "".join(
        [
            "" if worst.dictionary is None else f" under {worst.dictionary!r}",
            "" if worst.group is None else f" for group {worst.group.number} of {len(parts)}",
        ]
    )
    found = f"{what}{place} is {number(worst.value)}"
    return f"{found}; it must be {WORDS[comparison]} {number(threshold)}."


def of_share(
    model: Criterion, failing: int, records: int, allowed: int, worst: Part, attained: float | None = None
) -> str:
    """Of the records in classes that fail a criterion of privacy, and of the worst of them if it is known."""
    whole = f"{number(records)} records"
    if worst.group is not None:
        whole = f"the {number(worst.group.records)} records of group {worst.group.number}"
    who = f"{number(failing)} of {whole}" if failing else f"none of {whole}"
    may = "" if not failing else "; none may" if not allowed else f"; {number(allowed)} may"
    said = model.failing_in_words or "would be in classes that fail"
    worst_off = None if attained is None else model.worst_in_words(attained)
    return f"{model_in_short(model)}: {who} {said}{may}{'' if worst_off is None else f'; {worst_off}'}."


def of_lacking(unseen: int, shown: int) -> str:
    """Of records with a missing quasi-identifier, where they are to be suppressed; empty without any."""
    said = []
    if unseen:
        said.append(f"Not looked at, for a missing quasi-identifier: {number(unseen)} suppressed records.")
    if shown:
        said.append(f"Released with a missing quasi-identifier, and hence failing: {number(shown)} records.")
    return " ".join(said)


def of_bound(slot: str, claimed: bool, assumed: Sequence[str], may_rest: bool) -> str:
    """Of the claim that the risk bounds that under what the attacker has, by what could not be checked."""
    if not claimed:
        return f"That the risk under {slot!r} is an upper bound cannot be claimed: a hypothesis is false."
    if not assumed:
        return f"The risk under {slot!r} is an upper bound of the true one: every hypothesis was shown."
    suffix = "which the policy allows" if may_rest else "which the policy does not allow"
    listed = ", ".join(own.replace("_", " ") for own in assumed)
    return f"The risk under {slot!r} is an upper bound if what is assumed is true, {suffix}: {listed}."


def of_optimum(gap: float, allowed: float) -> str:
    """Of the distance from the proven optimum."""
    if math.isinf(gap):
        return "The rule does not keep what the objective requires, or is infinitely far from its optimum."
    if gap == 0.0:
        return "The rule is optimal: no rule was shown to do better."
    return f"The rule is {gap:.4%} from the proven optimum; {allowed:.4%} are allowed."


def with_failures(finding: Finding) -> str:
    """The sentence of a finding, with how many of its parts fail where there are several."""
    failing = sum(not part.passes for part in finding.parts)
    if len(finding.parts) == 1 or not failing:
        return finding.explanation
    return f"{finding.explanation} {failing} of {len(finding.parts)} parts fail."
