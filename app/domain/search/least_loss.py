"""Which search finds the rule that loses least among those that meet criteria of privacy."""

from __future__ import annotations

from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import InvalidInput
from app.domain.search.below_tops import table_below_tops
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.end_levels import LeastLossOfEnds, table_of_ends
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.search.partitions.plan import BurelPlan, MondrianPlan
from app.domain.search.solvers import AUTO, Auto, Burel, Mondrian, Solver
from app.domain.tables.table import Table

LeastLossPlan = AnonymityPlan | LeastLossOfEnds | RecodingPlan | BurelPlan | MondrianPlan


def least_loss_plan(
    table: Table,
    problem: AnonymityProblem,
    budget: Budget = UNLIMITED,
    dictionary: Dictionary | None = None,
    solver: Solver = AUTO,
) -> LeastLossPlan:
    """The plan of the search for a problem; ``dictionary`` is the population where criteria need one.

    A quasi-identifier whose hierarchy is no tree has its lowest and its highest level alone. InvalidInput for
    a solver that scores rules.
    """
    if isinstance(solver, Burel):
        return BurelPlan(table, problem, solver, budget)
    if isinstance(solver, Mondrian):
        return MondrianPlan(table, problem, budget)
    if not isinstance(solver, Auto):
        raise InvalidInput.of(
            "/solver",
            "not-applicable",
            f"The solver {solver.name} scores rules; min_loss looks at the dataset alone.",
            f"Choose {AUTO.name}, {Burel.name} or {Mondrian.name}.",
        )
    if problem.scope == "record_level" or problem.local_recoding:
        return RecodingPlan(table, problem, budget, dictionary)
    ends = table_of_ends(table, table.quasi_identifiers)
    searched = table_below_tops(ends) if problem.shows_every else ends
    found = AnonymityPlan(searched, problem, budget, dictionary)
    return found if ends is table else LeastLossOfEnds(found, ends)
