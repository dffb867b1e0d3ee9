"""From outcomes of criteria to the verdict on a release.

Only a criterion that was computed and holds has passed. One that blocks and could not be computed makes the
verdict an error, waived or not: nobody can have waived a number that is not known.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from app.domain.policies.policy import Severity

Outcome = Literal["passed", "failed", "waived", "not_computable"]
Verdict = Literal["pass", "fail", "error"]

EXIT_CODES: Final[dict[Verdict, int]] = {"pass": 0, "fail": 1, "error": 2}
"""What a pipeline's step ends with."""


def outcome_of(passes: bool | None, *, waived: bool) -> Outcome:
    """The outcome of a criterion; ``passes`` is None if its value could not be had."""
    if passes is None:
        return "not_computable"
    if passes:
        return "passed"
    return "waived" if waived else "failed"


def verdict_of(outcomes: Iterable[tuple[Severity, Outcome]]) -> Verdict:
    """The verdict; that on no criteria at all is an error, for it shows nothing."""
    found = list(outcomes)
    blocking = [outcome for severity, outcome in found if severity == "block"]
    if not found or "not_computable" in blocking:
        return "error"
    return "fail" if "failed" in blocking else "pass"
