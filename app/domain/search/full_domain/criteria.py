"""What criteria say of all rules before one is looked at: that none can meet them, or how they prune."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.errors import pointing_into
from app.domain.models.criterion import Criterion
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.problem import AnonymityProblem, Refusal


def refusals_of(
    problem: AnonymityProblem, whole: JudgedClasses | None, allowed: int, left_out: int, *, overlaps: bool
) -> tuple[Refusal, ...]:
    """Why no rule is allowed, if that is known.

    Parameters
    ----------
    whole
        The records that are not left out as the classes of the most general rule; None: there are none.
    allowed, left_out
        Records that may be suppressed, and that every rule suppresses for a missing value.
    overlaps
        Whether a missing value matches everything, and there is one.
    """
    found = []
    for criterion in problem.privacy:
        if whole is None:
            break
        own, reason = _lost_as_one_class(criterion, whole, overlaps=overlaps)
        least = left_out + own
        if own and criterion.table_wide and problem.suppressed == "own_block":
            # Who is suppressed has to meet it with the others, and all of them are no better than one.
            found.append(Refusal(criterion, reason))
        elif own and least > allowed:
            said = f"{reason} {_of_the_limit(least, allowed)} {criterion.alternative(whole)}"
            found.append(Refusal(criterion, said.rstrip()))
    if not found and left_out > allowed:
        reason = f"{left_out} records have a missing quasi-identifier and would be suppressed."
        found.append(Refusal(None, f"{reason} {_of_the_limit(left_out, allowed)}"))
    return tuple(found)


def _lost_as_one_class(criterion: Criterion, whole: JudgedClasses, *, overlaps: bool) -> tuple[int, str]:
    """Records that no rule keeps, known from all of them as one class, and why."""
    cannot = "The criterion cannot be met."
    everybody = int(whole.records.sum())
    if criterion.table_wide:
        reason = criterion.impossible(whole)
        return (0, "") if reason is None else (everybody, reason)
    if not overlaps:
        return int(criterion.unavoidable(whole).sum()), criterion.impossible(whole) or cannot
    # Classes that overlap may all meet what their records as one class do not.
    for own in (criterion, *criterion.implied(whole)):
        if own.merging == "fewer_fail" and own.failing(whole).any():
            return everybody, own.impossible(whole) or cannot
    return 0, ""


def _of_the_limit(least: int, allowed: int) -> str:
    return f"At least {least} records would have to be suppressed, and {allowed} may be."


def sorted_criteria(
    privacy: Sequence[Criterion], whole: JudgedClasses | None
) -> tuple[list[Criterion], list[Criterion]]:
    """Criteria that generalising never breaks for a record, implied ones included, and the others.

    ``whole`` are the records as one class, None if there are none. What is wrong with a criterion for this
    table is raised.
    """
    given = [own for own in privacy if own.merging == "fewer_fail" and not own.table_wide]
    others = [own for own in privacy if own not in given]
    implied: list[Criterion] = []
    for i, own in enumerate(privacy):
        with pointing_into(f"/objective/privacy/{i}"):
            if whole is None:
                break
            implied += own.implied(whole)
            # What is wrong with a criterion for this table shows when it is asked.
            own.failing(whole)
    k = max(own.least_alike or 1 for own in (KAnonymity(1), *given, *implied))
    rest = [own for own in dict.fromkeys((*given, *implied)) if own.least_alike is None]
    return [KAnonymity(k), *rest], others
