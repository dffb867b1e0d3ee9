"""Where the scalable models may be used, and what else can solve a problem."""

from __future__ import annotations

from app.domain.search.context import SearchContext
from app.domain.search.problem import Problem

NODES_LIMIT = 2_000_000


def refusal(context: SearchContext, problem: Problem) -> str | None:
    """Why single records are no canonical instances of one dictionary in this problem; None if they are.

    Whether hierarchies are trees and Φ is a sum is asked apart.
    """
    if problem.scope != "record_level":
        return "It is for rules of single records. Ask for the scope record_level."
    if problem.view not in ("known", "estimated"):
        return "It knows one dictionary. Choose the view known or estimated, or the objective lagrangian."
    if context.model.name != "I" or context.failure is not None:
        return (
            "It is for the risk Φ / |ρ| without a harm of failed identification. Choose model I and leave "
            "failure out, or another objective and solver."
        )
    if problem.aggregate != "average" or problem.constraint != "per_record":
        return (
            "It solves every record on its own. Choose the constraint per_record and the aggregate average."
        )
    return None


def is_additive(context: SearchContext) -> bool:
    """Whether Φ is constant or a sum of weights of single attributes (Definitions: additive sensitivity)."""
    sensitivity = context.sensitivity
    if sensitivity.family == "interactions":
        return not sensitivity.interactions
    return sensitivity.family in ("linear", "linear_personal", "constant")


def refusal_of_family(context: SearchContext) -> str | None:
    """Why this Φ is none that the minimum cut, the ring family and the approximation are right for."""
    if is_additive(context):
        return None
    return (
        f"It needs a sensitivity that is a sum over attributes; that of the family "
        f"{context.sensitivity.family} is not supermodular with the rest. Use enumeration (at most "
        f"{NODES_LIMIT} nodes), or the family linear, linear_personal or constant."
    )
