"""Requirements of one policy beside each other: which cannot hold together, and which follows from which.

Only requirements of one kind and scope are compared, by what their kind says of two of it.
"""

from __future__ import annotations

from app.domain.policies.condition import Condition
from app.domain.policies.findings import Findings
from app.domain.policies.policy import Policy, Requirement


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


def _compare(found: Findings, earlier: tuple[int, Requirement], later: tuple[int, Requirement]) -> None:
    one: Condition = earlier[1].condition
    other: Condition = later[1].condition
    if type(one) is not type(other):
        return
    if one.contradicts(other):
        _note_contradiction(found, earlier[1], later)
    else:
        _note_implied(found, earlier, later, other.as_strict_as(one), one.as_strict_as(other))


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
