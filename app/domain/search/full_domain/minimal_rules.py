"""The rules that meet privacy criteria while no more specific one does: Machanavajjhala (2008), 3.5."""

from __future__ import annotations

import math

import numpy as np

from app.domain.arrays import Levels
from app.domain.search.answers import packed_state, unpacked_state
from app.domain.search.full_domain.checks import Asks, Progress
from app.domain.search.full_domain.open_rules import OpenRules, count_above, count_below


def minimal_rules(progress: Progress) -> tuple[Levels, ...] | None:
    """The minimal allowed rules in ascending order of their levels; None if the search had to end early.

    A rule below a conflict is not allowed, and one above an allowed rule is not minimal, whatever else holds
    of it. Hence nothing is concluded that needs criteria to be monotone under suppression.
    """
    open_ = OpenRules.of_terms([np.zeros(height + 1) for height in progress.table.heights])
    allowed: list[Levels] = []
    n_rules, answers = open_.size, progress.answers
    kept = answers.state((Asks.STATE_OF_MINIMAL,))
    if kept is not None:
        numbers, arrays = unpacked_state(kept)
        progress.restore(numbers["progress"])
        allowed = [tuple(own) for own in numbers["allowed"]]
        open_.keep(np.unpackbits(arrays["open"], count=n_rules).astype(bool))
    while open_.size:
        if not progress.may_go_on(0.0):
            return None
        answers.offer((Asks.STATE_OF_MINIMAL,), lambda: _kept_of_minimal(progress, open_, allowed))
        # The open rule that settles most of the others whatever is found
        lowest = open_.levels.min(axis=1).tolist()
        shape = tuple((open_.levels.max(axis=1) - open_.levels.min(axis=1) + 1).tolist())
        places = open_.places(lowest, shape)
        least = np.minimum(count_below(places, shape)[places], count_above(places, shape)[places])
        rule = tuple(open_.levels[:, int(least.argmax())].tolist())
        verdict = progress.check(rule)
        if verdict.allowed:
            allowed.append(rule)
            settled = open_.above(rule)
        elif verdict.unavoidable > progress.allowed:
            settled = open_.below(rule)
        else:
            settled = open_.at(rule)
        open_.keep(~settled)
    return tuple(sorted(rule for rule in allowed if not any(_is_below(own, rule) for own in allowed)))


def _kept_of_minimal(progress: Progress, open_: OpenRules, allowed: list[Levels]) -> bytes:
    shape = tuple(height + 1 for height in progress.table.heights)
    is_open = np.zeros(math.prod(shape), dtype=bool)
    is_open[open_.places([0] * len(shape), shape)] = True
    numbers = {"progress": progress.kept(), "allowed": allowed}
    return packed_state(numbers, {"open": np.packbits(is_open)})


def _is_below(one: Levels, other: Levels) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))
