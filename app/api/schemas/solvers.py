"""How the best rule is found: solvers, made of the catalogue of searches, and what they may use."""

from __future__ import annotations

import dataclasses
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, Discriminator, Field, Tag

from app.api.schemas.derived import Asked, one_of, request_of, value_of
from app.domain.search.catalogue import SEARCHES, AnySearch
from app.domain.search.solvers import Solver
from app.services.searches.objectives import SearchBudget, solver_of


def _about(search: AnySearch) -> str:
    """What it is, what it is worth, and what it needs."""
    needs = f" Needs: {', '.join(sorted(search.needs))}." if search.needs else ""
    return f"{search.title}. Its rule is {_WORTH[search.guarantee]}.{needs}"


_WORTH: Final = {
    "exact": "proved to be the best",
    "bound": "shown with a bound of what it may miss",
    "statistical": "the best up to a stated error",
    "heuristic": "feasible, with the best bound that is known",
}

REQUESTS: Final = {
    search.name: request_of(
        search.parameters, f"{search.name.title().replace('_', '')}Solver", search.name, _about(search)
    )
    for search in SEARCHES
}
"""Name of the search → the body that asks for it."""

NAMES: Final = tuple(
    search.name
    for search in SEARCHES
    if all(
        own.default is not dataclasses.MISSING or own.default_factory is not dataclasses.MISSING
        for own in dataclasses.fields(search.parameters)
    )
)
"""Searches that a name alone asks for, all parameters at their defaults."""


def _form(value: Any) -> str:  # noqa: ANN401 - whatever was sent
    return "parameters" if isinstance(value, dict | BaseModel) else "name"


_by_name: Any = Literal[NAMES]
_by_parameters: Any = one_of(tuple(REQUESTS.values()))

SolverChoice: Any = Annotated[
    Annotated[_by_name, Tag("name")] | Annotated[_by_parameters, Tag("parameters")],
    Discriminator(_form),
    Field(
        description="How the best rule is found: a name, or `kind` with parameters; `GET /v1/catalogue` "
        "lists them. `auto` chooses one that fits and is estimated to be fast. All exact ones find the same "
        "rule."
    ),
]


def solver_asked(sent: str | Asked) -> Solver:
    """The domain's value of a solver that was sent; InvalidInput for parameters that do not go together."""
    return solver_of(sent) if isinstance(sent, str) else value_of(sent)


BudgetFields: Any = request_of(SearchBudget, "BudgetFields", None, strict_numbers=False)
