"""Which search answers a question for the least loss."""

from __future__ import annotations

from app.domain.dictionaries import Dictionary
from app.domain.errors import NotSupported
from app.domain.hierarchies import TOP
from app.domain.search.anonymity.plan import AnonymityPlan
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.recoding.plan import RecodingPlan
from app.domain.tables import Table

LeastLossPlan = AnonymityPlan | RecodingPlan


def least_loss_plan(
    table: Table,
    problem: AnonymityProblem,
    budget: Budget = UNLIMITED,
    dictionary: Dictionary | None = None,
) -> LeastLossPlan:
    """The plan of the search for a problem; ``dictionary`` is the population where criteria need one.

    Raises NotSupported for rules of single records where a missing value matches everything.
    """
    if problem.scope == "record_level" or problem.local_recoding:
        _require_no_wildcards(table, problem)
        return RecodingPlan(table, problem, budget, dictionary)
    return AnonymityPlan(table, problem, budget, dictionary)


def _require_no_wildcards(table: Table, problem: AnonymityProblem) -> None:
    if problem.missing != "matches_everything":
        return
    if (table.reduced.codes[:, table.quasi_identifiers] == TOP).any():
        raise NotSupported(
            "Where a missing value matches everything, a record leans on records of many classes: once they "
            "have levels of their own, no change of one class can be judged by itself.",
            "Ask for a rule for the whole table without local recoding, or take missing values for a "
            "category of their own, or leave these records out.",
        )
