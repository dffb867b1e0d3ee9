"""X5: least risk against a utility floor, most utility against a risk cap (Fouad (2012), figure 3.6)."""

from __future__ import annotations

import numpy as np

from app.domain.arrays import Floats
from app.domain.search.context import SearchContext
from app.domain.search.objectives import MaxUtility
from app.domain.search.problem import Problem
from app.experiments.report import Effort, Picture, Report, ResultTable, curves, exact
from app.experiments.solving import context_at, least_risk, never_falls, solve

CAPS = 24


def run(effort: Effort) -> Report:
    """Both problems over all table-level rules, seed by seed."""
    contexts = [context_at(seed, effort) for seed in range(effort.seeds)]
    floors = np.arange(sum(contexts[0].table.heights) + 1, dtype=float)
    risks = np.array([[least_risk(c, floor, "table_level") for floor in floors] for c in contexts])
    caps = np.linspace(0.0, float(risks.max()), CAPS)
    utilities = np.array([[most_utility(c, cap) for cap in caps] for c in contexts])
    back = np.array([[most_utility(c, risk) for risk in row] for c, row in zip(contexts, risks, strict=True)])
    forth = np.array(
        [[least_risk(c, u, "table_level") for u in row] for c, row in zip(contexts, utilities, strict=True)]
    )
    of_risk, of_utility = (
        curves(("mean of the seeds",), x, y.mean(axis=0)[:, None], "step")
        for x, y in ((floors, risks), (caps, utilities))
    )
    return Report(
        id="X5",
        title="Least risk by utility floor, most utility by risk cap",
        source="Lebanon et al. (2009), figure 10; Fouad (2012), figure 3.6",
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


def most_utility(context: SearchContext, cap: float) -> float:
    """Most mean utility of a table-level rule of at most this mean risk."""
    utility = solve(context, Problem(MaxUtility(float(cap)))).utility
    if utility is None:
        raise ValueError(f"no rule has a risk of at most {cap}")
    return utility
