"""Which criteria of a question prune the rules of a search as k-anonymity does."""

from __future__ import annotations

from collections.abc import Sequence

from app.domain.criteria.anonymity import KAnonymity
from app.domain.criteria.criterion import Criterion
from app.domain.criteria.judging import JudgedClasses
from app.domain.errors import pointing_into


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
    k = max((own.k for own in (*given, *implied) if isinstance(own, KAnonymity)), default=1)
    rest = [own for own in dict.fromkeys((*given, *implied)) if not isinstance(own, KAnonymity)]
    return [KAnonymity(k), *rest], others
