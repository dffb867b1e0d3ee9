"""Requirements of one policy beside each other: which cannot hold together, and which follows from which.

Only requirements about the same number are compared: the same measure with the same parameters, the same
value, dictionary and scope. Of privacy models and guarantees also those of one kind of which one asks for
more in every parameter.
"""

from __future__ import annotations

import dataclasses
import json
from typing import TypeGuard

from app.domain.catalogue.meanings import STRICTER_DOWN, Stricter
from app.domain.policies.findings import Findings
from app.domain.policies.guarantee_bounds import asks_as_much
from app.domain.policies.intervals import Interval
from app.domain.policies.objectives import marks_of
from app.domain.policies.perfect_privacy import as_private
from app.domain.policies.pinning import parameters_in_full
from app.domain.policies.policy import (
    BudgetCondition,
    GuaranteeCondition,
    MeasureCondition,
    PerfectPrivacyCondition,
    Policy,
    PrivacyModelCondition,
    Requirement,
    ScoreCondition,
)
from app.domain.policies.requirements import value_of


def check_together(policy: Policy, found: Findings) -> None:
    """Note requirements that contradict others or follow from others; those with errors are left out.

    A requirement is warned of once for each of the two, however many others there are to name: the number of
    warnings, which are kept with the policy, grows with that of the requirements and not of their pairs.
    """
    sound = [
        (number, own)
        for number, own in enumerate(policy.requirements)
        if not found.has_error_in(f"/requirements/{number}")
    ]
    for place, later in enumerate(sound):
        for earlier in sound[:place]:
            if earlier[1].scope == later[1].scope:
                _compare(found, earlier, later)


def as_strict(old: PrivacyModelCondition, new: PrivacyModelCondition) -> bool:
    """Whether it is plain that who meets the new condition meets the old one, both being of one model."""
    before = {**parameters_in_full(old), "failing_share": old.failing_share}
    after = {**parameters_in_full(new), "failing_share": new.failing_share}
    if old.model != new.model or old.dictionary != new.dictionary:
        return False
    if (old.missing, old.suppressed) != (new.missing, new.suppressed):
        return False
    marks = {"failing_share": (STRICTER_DOWN,), **marks_of(old.model)}
    for name in before.keys() | after.keys():
        one, other = before.get(name), after.get(name)
        if one == other:
            continue
        if not _is_number(one) or not _is_number(other):
            return False
        greater = float(other) > float(one)
        if Stricter(greater) not in marks.get(name, ()):
            return False
    return True


def subject_of(condition: MeasureCondition | ScoreCondition) -> str:
    """What a threshold is about, as a text: equal for conditions on the same number."""
    fields = dataclasses.asdict(condition)
    del fields["comparison"], fields["threshold"]
    if isinstance(condition, MeasureCondition):
        fields["parameters"] = parameters_in_full(condition)
        del fields["version"]
    return json.dumps([type(condition).__name__, fields], sort_keys=True, default=str)


def _compare(found: Findings, earlier: tuple[int, Requirement], later: tuple[int, Requirement]) -> None:
    match earlier[1].condition, later[1].condition:
        case PrivacyModelCondition() as one, PrivacyModelCondition() as other:
            _note_implied(found, earlier, later, as_strict(one, other), as_strict(other, one))
        case GuaranteeCondition() as one, GuaranteeCondition() as other:
            _note_implied(found, earlier, later, asks_as_much(one, other), asks_as_much(other, one))
        case BudgetCondition() as one, BudgetCondition() as other:
            _note_implied(found, earlier, later, other.within(one), one.within(other))
        case PerfectPrivacyCondition() as one, PerfectPrivacyCondition() as other:
            _note_implied(found, earlier, later, as_private(one, other), as_private(other, one))
        case (MeasureCondition() | ScoreCondition() as one, MeasureCondition() | ScoreCondition() as other):
            value = value_of(one)
            if value is None or subject_of(one) != subject_of(other):
                return
            whole = value.kind != "number"
            mine = Interval.of(one.comparison, one.threshold, whole=whole)
            theirs = Interval.of(other.comparison, other.threshold, whole=whole)
            if mine.meets(theirs):
                _note_implied(found, earlier, later, theirs.within(mine), mine.within(theirs))
            else:
                _note_contradiction(found, earlier[1], later)


def _note_contradiction(found: Findings, one: Requirement, later: tuple[int, Requirement]) -> None:
    number, other = later
    pointer, code = f"/requirements/{number}/condition/threshold", "contradictory"
    both_block = one.severity == other.severity == "block"
    if not both_block and found.has_warning(pointer, code):
        return
    note = found.error if both_block else found.warn
    note(
        pointer, code,
        f"No release can meet both {one.id!r} and {other.id!r}.", "Change or leave out one of the two.",
    )  # fmt: skip


def _note_implied(
    found: Findings,
    earlier: tuple[int, Requirement],
    later: tuple[int, Requirement],
    later_implies: bool,
    earlier_implies: bool,
) -> None:
    """Note the one that follows from the other, if that one's failure blocks at least as much."""
    for (number, own), (_, other), implied in (
        (later, earlier, earlier_implies),
        (earlier, later, later_implies),
    ):
        if implied and (other.severity == "block" or own.severity == "warn"):
            if found.has_warning(f"/requirements/{number}", "implied"):
                return
            found.warn(
                f"/requirements/{number}", "implied", f"Who meets {other.id!r} meets {own.id!r} as well.",
                "Leave it out, or make it a requirement of its own.",
            )  # fmt: skip
            return


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
