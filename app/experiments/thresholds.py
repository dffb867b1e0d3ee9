"""X5: least risk against a utility floor, most utility against a risk cap (Fouad (2012), figure 3.6)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np

from app.domain.arrays import Floats
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MaxUtility, MinRisk
from app.domain.search.problem import Problem
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact
from app.experiments.solving import context_at, least_risk, never_falls, solve

CAPS = 24
Answer = Callable[[float], float]


def run(effort: Effort) -> Report:
    """Both problems over all table-level rules, seed by seed."""
    contexts = [context_at(seed, effort) for seed in range(effort.seeds)]
    floors = np.arange(sum(contexts[0].table.heights) + 1, dtype=float)
    least, most = zip(*((_scored if effort.case_study else _searched)(own) for own in contexts), strict=True)
    risks = np.array([list(map(answer, floors)) for answer in least])
    caps = np.linspace(risks.min(), risks.max(), CAPS)
    utilities = np.array([list(map(answer, caps)) for answer in most])
    back = np.array([list(map(answer, row)) for answer, row in zip(most, risks, strict=True)])
    forth = np.array([list(map(answer, row)) for answer, row in zip(least, utilities, strict=True)])
    of_risk, of_utility = (
        curves(("mean of the seeds",), x, y.mean(axis=0)[:, None], "step")
        for x, y in ((floors, risks), (caps, utilities))
    )
    return Report(
        id="X5",
        title="Least risk by utility floor, most utility by risk cap",
        setting=f"table-level rules on {effort.records} records against {effort.entities} entities; "
        f"means of {effort.seeds} seeds are shown, the claims hold for each seed",
        tables=(
            _means("Least risk by utility floor", ("utility floor", "least risk"), floors, risks),
            _means("Most utility by risk cap", ("risk cap", "most utility"), caps, utilities),
        ),
        pictures=(
            Picture("x5-floor", "Least risk by utility floor", "Utility floor", "Least mean risk", of_risk),
            Picture("x5-cap", "Most utility by risk cap", "Risk cap", "Most mean utility", of_utility),
        ),
        claims=(
            exact(
                "The least risk never falls as the floor rises",
                never_falls(risks),
                f"{risks.size} optima",
            ),
            exact(
                "The most utility never falls as the cap rises",
                never_falls(utilities),
                f"{utilities.size} optima",
            ),
            exact(
                "They are generalised inverses: most utility at a floor's least risk is at least the floor, "
                "least risk at a cap's most utility at most the cap",
                bool((back >= floors - 1e-9).all() and (forth <= caps + 1e-9).all()),
                f"{back.size + forth.size} compositions",
            ),
        ),
    )


def _means(title: str, columns: tuple[str, str], x: Floats, y: Floats) -> ResultTable:
    """Means over the seeds."""
    return ResultTable.of(title, columns, x.tolist(), y.mean(axis=0)[:, None])


def _searched(context: SearchContext) -> tuple[Answer, Answer]:
    """Least risk by floor and most utility by cap, each by a search of its own."""
    return cache(partial(least_risk, context, scope="table_level")), cache(partial(most_utility, context))


def _scored(context: SearchContext) -> tuple[Answer, Answer]:
    """The same, of all rules scored in one walk: for millions of records, where a search takes seconds."""
    scored = solve(context, Problem(MinRisk(0.0), "table_level")).risk_map
    assert scored is not None and scored.kind == "all"  # noqa: S101, PT018 - of 300 rules
    risks, utilities = np.array([(own.risk, own.utility) for own in scored.points]).T
    return lambda floor: risks[utilities >= floor].min(), lambda cap: utilities[risks <= cap].max()


def most_utility(context: SearchContext, cap: float) -> float:
    """Most mean utility of a table-level rule of at most this mean risk."""
    utility = solve(context, Problem(MaxUtility(float(cap)))).utility
    if utility is None:
        raise ValueError(f"no rule has a risk of at most {cap}")
    return utility
