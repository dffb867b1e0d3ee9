"""Which searches make up a comparison: the alternatives, and the points of two curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from app.domain.errors import InvalidInput
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.problem import AnonymityProblem, criterion_document
from app.domain.search.objectives import MOST_CRITERIA, Alternatives

Way = Literal[
    "one_level_per_column",
    "levels_per_record",
    "every_column_shown",
    "important_columns",
    "fewer_suppressed",
]
WAYS: Final[tuple[Way, ...]] = get_args(Way)
IMPORTANCE: Final = 10.0
"""How much more the loss of an important column counts than that of another."""
SIZES: Final = (2, 3, 5, 10, 20)
"""The k of the curve, beside the one that is asked for."""
TIMES: Final = (0.0, 0.5, 1.0, 2.0, 5.0)
"""The limits of the curve, as multiples of the one that is asked for."""
SHARES: Final = (0.0, 0.01, 0.02, 0.05, 0.1)
"""The same where nothing may be suppressed."""


@dataclass(frozen=True)
class Point:
    """A point of a curve: the rule of one level per column with this limit or this k."""

    curve: Literal["suppression", "k"]
    at: float
    problem: AnonymityProblem


def problem_of(asked: Alternatives) -> AnonymityProblem:
    """The question for one level per column, from which the others differ in one thing each."""
    return AnonymityProblem(asked.privacy, asked.suppression_limit)


def problems_of(asked: Alternatives) -> dict[Way, AnonymityProblem]:
    """The question of each alternative that is asked for."""
    base = problem_of(asked)
    found: dict[Way, AnonymityProblem] = {
        "one_level_per_column": base,
        "levels_per_record": replace(base, scope="record_level"),
        "every_column_shown": replace(base, shows_every=True),
    }
    if asked.important:
        weights = dict.fromkeys(asked.important, IMPORTANCE)
        found["important_columns"] = replace(base, loss=LossChoice(weights=weights))
    found["fewer_suppressed"] = replace(base, scope="record_level", suppression_limit=0.0)
    return found


def points_of(asked: Alternatives, n_records: int) -> Iterator[Point]:
    """The points of both curves, by limit and by k."""
    base, limit = problem_of(asked), asked.suppression_limit
    limits = {min(1.0, times * limit) for times in TIMES} if limit else set(SHARES)
    for own in sorted(limits):
        yield Point("suppression", own, replace(base, suppression_limit=own))
    given = [own for own in asked.privacy if isinstance(own, KAnonymity)]
    others = tuple(own for own in asked.privacy if not isinstance(own, KAnonymity))
    if len(others) == MOST_CRITERIA:
        return
    for k in sorted({*SIZES, *(own.k for own in given)}):
        if k <= n_records:
            one = replace(given[0], k=k) if given else KAnonymity(k)
            yield Point("k", k, replace(base, privacy=(one, *others)))


def require_columns(asked: Alternatives, quasi_identifiers: Sequence[str]) -> None:
    """InvalidInput for an important column that is no quasi-identifier."""
    for number, name in enumerate(asked.important):
        if name not in quasi_identifiers:
            raise InvalidInput.of(
                f"/objective/important/{number}",
                "unknown-attribute",
                f"{name!r} is none of the quasi-identifiers.",
                f"These are: {', '.join(quasi_identifiers)}.",
            )


def document_of(asked: Alternatives) -> dict[str, Any]:
    """Plain JSON-able form, for results and hashes."""
    return {
        "kind": asked.kind,
        "privacy": [criterion_document(own) for own in asked.privacy],
        "suppression_limit": float(asked.suppression_limit),
        "important": list(asked.important),
    }
