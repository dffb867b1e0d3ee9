"""What an optimisation asks for, and with what it may be found: as values and as plain documents."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from typing import Annotated, Any, Final

from annotated_types import Gt, Le, doc

from app.domain.catalogue.catalogue_types import Example
from app.domain.errors import InvalidInput
from app.domain.search.budget import Budget
from app.domain.search.objectives import ScoredObjective
from app.domain.search.problem import Aggregate, Constraint, Problem, Scope
from app.domain.search.solvers import SOLVERS, Solver
from app.services.readers import reader_of
from app.services.resources import JsonObject
from app.services.scoring.measurement_documents import document_of_parameters
from app.services.scoring.scoring_options import ScoringOptions


def scored_problem(
    objective: ScoredObjective,
    scope: Scope,
    options: ScoringOptions,
    constraint: Constraint = "per_record",
    aggregate: Aggregate = "average",
) -> Problem:
    """The problem that an objective poses under the options; InvalidInput where they do not go together."""
    try:
        return Problem(
            objective,
            scope,
            options.absent_policy,
            options.attacker_view or "known",
            constraint,
            aggregate,
            options.utility.round_before_constraint,
        )
    except InvalidInput as error:
        # The domain names its own option; it was sent as one of the utility.
        raise InvalidInput(
            [replace(f, pointer=f.pointer.replace("/round_", "/utility/round_")) for f in error.faults]
        ) from None


LONGEST_SECONDS: Final = 7 * 24 * 3600


@dataclass(frozen=True)
class SearchBudget(Budget):
    """What a search may use; at its end the best rule found is shown with a lower bound and the gap."""

    time_limit_seconds: Annotated[
        float | None,
        Gt(0),
        Le(LONGEST_SECONDS),
        doc(
            "Seconds of searching, loading not counted; an attempt after the loss of a worker has as many "
            "again. A result that was cut short by it is not `reproducible`, and answers no other run."
        ),
        Example(60),
    ] = None

    @property
    def counted(self) -> Budget:
        """The counts, which make a search stop at the same place every time."""
        return Budget(self.max_nodes, self.relative_gap)

    def document(self) -> JsonObject:
        """Plain JSON; beside ``max_nodes`` only what limits is written down."""
        limits = {"relative_gap": self.relative_gap, "time_limit_seconds": self.time_limit_seconds}
        return {
            "max_nodes": self.max_nodes,
            **{name: float(limit) for name, limit in limits.items() if limit is not None},
        }

    def shown(self) -> JsonObject:
        """Plain JSON with every limit, None where there is none."""
        return {"relative_gap": None, "time_limit_seconds": None, **self.document()}

    @classmethod
    def of(cls, document: JsonObject) -> SearchBudget:
        """The budget that :meth:`document` wrote among other keys."""
        return cls(document["max_nodes"], document.get("relative_gap"), document.get("time_limit_seconds"))


def solver_document(solver: Solver) -> str | JsonObject:
    """The solver's name; with every parameter, if it has any."""
    if not dataclasses.fields(solver):
        return solver.name
    return {"kind": solver.name, **document_of_parameters(solver)}


def solver_of(document: str | JsonObject) -> Solver:
    """The solver that :func:`solver_document` wrote down, or that a request asks for."""
    if isinstance(document, str):
        return SOLVERS[document]()  # type: ignore[call-arg]
    parameters: dict[str, Any] = {name: value for name, value in document.items() if name != "kind"}
    return reader_of(SOLVERS[document["kind"]]).validate_python(parameters)
