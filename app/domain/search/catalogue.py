"""The catalogue of searches: what each is, what it takes, and where it may be used.

A search is added by its parameters in :mod:`app.domain.search.solvers`, the file of its algorithm and one
entry here. Whether it fits an instance is asked before any of the work is done; some refusals need counts of
the data and come from the algorithm itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from app.domain.measures.entry import Guarantee, Need
from app.domain.search.context import SearchContext
from app.domain.search.problem import Problem
from app.domain.search.solvers import Auto, BranchAndBound, Enumeration, Solver

S = TypeVar("S", bound=Solver)


@dataclass(frozen=True)
class SearchEntry(Generic[S]):
    """An entry of the catalogue.

    Parameters
    ----------
    name, version, title, source
        The field's term; a number that grows when a correction changes what the search finds; a heading; the
        paper and section.
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

    name: str
    version: int
    title: str
    source: str
    guarantee: Guarantee
    parameters: type[S]
    needs: frozenset[Need]
    works_on_dags: bool
    supports: Callable[[SearchContext, Problem, S], str | None]


def always(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """``supports`` of searches that fit every problem."""
    return None


def needs_bounds(context: SearchContext, problem: Problem, parameters: object) -> str | None:
    """Refuse where the general corner of a box may be riskier than its other nodes."""
    if context.harm_is_monotone:
        return None
    return (
        "The search needs a risk that is proved never to rise under generalisation; that of the model "
        f"{context.model.name} with these sensitivities is not. Use enumeration, without max_nodes and on at "
        "most 2,000,000 rules."
    )


def entry_of(solver: Solver) -> AnySearch:
    """The entry of a solver's parameters."""
    return next(entry for entry in SEARCHES if isinstance(solver, entry.parameters))


AnySearch = SearchEntry[Any]

_SCORED: Final[frozenset[Need]] = frozenset({"dictionary", "sensitivity"})

SEARCHES: Final[tuple[AnySearch, ...]] = (
    SearchEntry(
        "auto", 1, "Whichever of the others fits the question and is estimated to be faster",
        "Decision-theoretic framework, section 12.1", "exact", Auto, _SCORED, True, always,
    ),
    SearchEntry(
        "enumeration", 1, "Every rule of the lattice, counts shared between neighbours",
        "Decision-theoretic framework, section 12.2", "exact", Enumeration, _SCORED, True, always,
    ),
    SearchEntry(
        "branch_and_bound", 1,
        "Parts of the lattice are left out where a bound proves that they hold nothing better",
        "Decision-theoretic framework, section 12.3", "exact", BranchAndBound, _SCORED, False, needs_bounds,
    ),
)  # fmt: skip
