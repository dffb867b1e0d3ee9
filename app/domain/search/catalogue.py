"""The catalogue of searches: what each is, what it takes, and where it may be used.

A search is added by its parameters in :mod:`app.domain.search.solvers`, the file of its algorithm and one
entry here. Whether it fits an instance is asked before any of the work is done; some refusals need counts of
the data and come from the algorithm itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from app.domain.catalogue.catalogue_types import Guarantee, Need
from app.domain.search.aggregate.plans import approximation_refusal
from app.domain.search.context import SearchContext
from app.domain.search.problem import Problem
from app.domain.search.solvers import (
    Approx,
    Aruba,
    Auto,
    BranchAndBound,
    Burel,
    Candidates,
    Enumeration,
    Genetic,
    Mondrian,
    Solver,
    TopDown,
)

S = TypeVar("S", bound=Solver)


@dataclass(frozen=True)
class SearchEntry(Generic[S]):
    """An entry of the catalogue.

    Parameters
    ----------
    version, title, source
        A number that grows when a correction changes what the search finds; a heading; the paper and section.
    guarantee
        What its rule is worth if nothing stops it: the optimum, or a feasible rule.
    parameters
        Its frozen dataclass.
    needs
        What the question must come with.
    works_on_dags
        Whether it accepts hierarchies that are no trees.
    supports
        None if it can solve a problem, else why not and what can.
    """

    version: int
    title: str
    source: str
    guarantee: Guarantee
    parameters: type[S]
    needs: frozenset[Need]
    works_on_dags: bool
    supports: Callable[[SearchContext, Problem, S], str | None]

    @property
    def name(self) -> str:
        """The field's term."""
        return self.parameters.name


def always(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """``supports`` of searches that fit every problem."""
    return None


def needs_criteria(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """Refuse objectives that are not made of the risk and the utility of a table."""
    kind = problem.objective.kind
    if kind != "aggregate":
        return None
    return f"Given rules are compared by risk and utility, not by {kind}. Leave the solver out."


def needs_min_loss(context: SearchContext, problem: Problem, parameters: Solver) -> str:
    """Refuse every objective of risk and utility."""
    return f"{parameters.name} makes classes that meet privacy criteria. Ask for the objective min_loss."


def needs_bounds(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """Refuse where the general corner of a box may be riskier than its other nodes."""
    if context.harm_is_monotone:
        return None
    return (
        "The search needs a risk that is proved never to rise under generalisation; that of the model "
        f"{context.model.name} with these sensitivities is not. Use enumeration, without max_nodes and on at "
        "most 2,000,000 rules."
    )


def needs_monotone_extremes(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """Refuse what a search from one corner of the lattice to the other cannot solve."""
    if problem.objective.kind not in ("min_risk", "max_utility"):
        return (
            f"The search goes from one corner of the lattice to the other; {problem.objective.kind} sets no "
            "threshold that would tell it where to stop. Use branch_and_bound or enumeration."
        )
    return needs_bounds(context, problem, parameters)


def needs_frontier(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """Refuse where the optimum need not be on the frontier of the feasible rules."""
    if context.failure is not None:
        return (
            "With a harm of failed identification risk may rise under generalisation, and the best rule need "
            "not be on the frontier of the feasible ones. Use btda, branch_and_bound or enumeration."
        )
    return needs_monotone_extremes(context, problem, parameters)


def needs_floor(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """Refuse what paths from the top to the first feasible node do not lead to."""
    if problem.objective.kind != "min_risk":
        return (
            "The search follows paths from the most general rule to the first one above a utility floor; "
            f"{problem.objective.kind} has none. Use branch_and_bound, btda or enumeration."
        )
    return needs_bounds(context, problem, parameters)


def entry_of(solver: Solver) -> AnySearch:
    """The entry of a solver's parameters."""
    return next(entry for entry in SEARCHES if isinstance(solver, entry.parameters))


AnySearch = SearchEntry[Any]

_SCORED: Final[frozenset[Need]] = frozenset({"dictionary", "sensitivity"})

SEARCHES: Final[tuple[AnySearch, ...]] = (
    SearchEntry(
        1, "Whichever of the others fits the question and is estimated to be faster",
        "Definitions: exact searches", "exact", Auto, _SCORED, True, always,
    ),
    SearchEntry(
        1, "Every rule of the lattice, counts shared between neighbours",
        "Definitions: enumeration", "exact", Enumeration, _SCORED, True, always,
    ),
    SearchEntry(
        1, "Parts of the lattice are left out where a bound proves that they hold nothing better",
        "Lawler and Wood (1966); Definitions: branch and bound", "exact", BranchAndBound, _SCORED, False,
        needs_bounds,
    ),
    SearchEntry(
        1, "Linear programmes over the Lovász extension, rounded; keeps a share of the utility floor and "
        "certifies a lower bound of the risk", "Fouad (2012), algorithm 5; Definitions: approximation",
        "bound", Approx, _SCORED, False, approximation_refusal,
    ),
    SearchEntry(
        1, "From the most general rule down, the least risk first; for a risk cap from the bottom up",
        "Fouad (2012), algorithm 2, theorem 4.5.1; Definitions: top-down search", "exact", TopDown,
        _SCORED, True, needs_monotone_extremes,
    ),
    SearchEntry(
        1, "Along the frontier of the rules that keep the threshold: few risks are evaluated",
        "Fouad (2012), algorithm 3; Definitions: ARUBA", "exact", Aruba, _SCORED, False,
        needs_frontier,
    ),
    SearchEntry(
        1, "Random paths from the most general rule, bred for small risk",
        "Fouad (2012), algorithm 4; Definitions: genetic search", "heuristic", Genetic, _SCORED,
        False, needs_floor,
    ),
    SearchEntry(
        1, "The best of rules that are given",
        "Fouad (2012), algorithm 1; Definitions: enumeration", "exact", Candidates, _SCORED, True,
        needs_criteria,
    ),
    SearchEntry(
        1, "For min_loss: classes that are β-like whichever of a bucket's rows they take, each cell their "
        "least common node", "Cao and Karras (2012), section 4", "heuristic", Burel, frozenset(), False,
        needs_min_loss,
    ),
    SearchEntry(
        1, "For min_loss: classes cut at medians while both halves meet all criteria, each cell their least "
        "common node", "LeFevre et al. (2006); Cao and Karras (2012), section 6", "heuristic", Mondrian,
        frozenset(), False, needs_min_loss,
    ),
)  # fmt: skip
