"""Which search answers a question for the least loss."""

from __future__ import annotations

from app.domain.dictionaries.dictionary import Dictionary
from app.domain.search.anonymity.plan import AnonymityPlan
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.end_levels import LeastLossOfEnds, table_of_ends
from app.domain.search.recoding.plan import RecodingPlan
from app.domain.tables import Table

LeastLossPlan = AnonymityPlan | LeastLossOfEnds | RecodingPlan


def least_loss_plan(
    table: Table,
    problem: AnonymityProblem,
    budget: Budget = UNLIMITED,
    dictionary: Dictionary | None = None,
) -> LeastLossPlan:
    """The plan of the search for a problem; ``dictionary`` is the population where criteria need one.

    A quasi-identifier whose hierarchy is no tree has its lowest and its highest level alone.
    """
    if problem.scope == "record_level" or problem.local_recoding:
        return RecodingPlan(table, problem, budget, dictionary)
    ends = table_of_ends(table, table.quasi_identifiers)
    found = AnonymityPlan(ends, problem, budget, dictionary)
    return found if ends is table else LeastLossOfEnds(found, ends)
