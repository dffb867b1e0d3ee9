"""Rules that meet privacy criteria while no more specific one does (Machanavajjhala (2008), section 3.5)."""

from __future__ import annotations

import numpy as np

from app.domain.search.anonymity.checks import Progress
from app.domain.search.anonymity.class_sizes import Levels
from app.domain.search.anonymity.open_rules import OpenRules, count_above, count_below


def minimal_rules(progress: Progress) -> tuple[Levels, ...] | None:
    """The minimal allowed rules in ascending order of their levels; None if the search had to end early.

    A rule below a conflict is not allowed, and one above an allowed rule is not minimal, whatever else holds
    of it. Hence nothing is concluded that needs criteria to be monotone under suppression.
    """
    open_ = OpenRules.of_terms([np.zeros(height + 1) for height in progress.table.heights])
    allowed: list[Levels] = []
    while open_.size:
        if not progress.may_go_on(0.0):
            return None
        rule = _middle(open_)
        verdict = progress.check(rule)
        if verdict.allowed:
            allowed.append(rule)
            settled = open_.above(rule)
        elif verdict.unavoidable > progress.allowed:
            settled = open_.below(rule)
        else:
            settled = (open_.levels == np.array(rule, dtype=np.int16)[:, None]).all(axis=0)
        open_.keep(~settled)
    return tuple(sorted(rule for rule in allowed if not any(_is_below(own, rule) for own in allowed)))


def _middle(open_: OpenRules) -> Levels:
    """The open rule that settles most of the others whatever is found."""
    lowest = open_.levels.min(axis=1).tolist()
    shape = tuple((open_.levels.max(axis=1) - open_.levels.min(axis=1) + 1).tolist())
    places = open_.places(lowest, shape)
    least = np.minimum(count_below(places, shape)[places], count_above(places, shape)[places])
    return tuple(open_.levels[:, int(least.argmax())].tolist())


def _is_below(one: Levels, other: Levels) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
