"""Optimisations: the question which rule is best."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, Tag, model_validator

from app.api.schemas.alternatives import AlternativesResult
from app.api.schemas.common import Name, Ref, Resource
from app.api.schemas.derived import value_of
from app.api.schemas.objectives import AskedObjective
from app.api.schemas.results import LossResult, SearchResult
from app.api.schemas.scoring import Absent, AttackerView, ScoringFields, ShownAttacker
from app.api.schemas.solvers import BudgetFields, SolverChoice, solver_asked
from app.api.schemas.utility import ShownUtility
from app.domain.errors import Fault, InvalidInput
from app.domain.risk.attackers import View
from app.domain.search.objectives import Alternatives, MinLoss, Objective, OfPrivacy
from app.domain.search.problem import Aggregate, Constraint
from app.services.scoring.scoring_options import NO_CONSISTENCY
from app.services.searches.optimisations import CreateOptimisation

ScopeOfRules = Annotated[
    Literal["table_level", "record_level"],
    Field(description="Rules with one level per attribute for the table, or for each record."),
]


AggregateOfRisk = Annotated[
    Aggregate, Field(description="The risk of a table: the mean of its records' (`average`) or the greatest.")
]


class NewOptimisation(ScoringFields):
    """A question for the best rule."""

    name: Annotated[Name, Field(description="Its name; the best rule is stored as a rule of the same name.")]
    dataset: Annotated[Ref, Field(description="Dataset that is disclosed.", examples=["members"])]
    dictionary: Annotated[Ref | None, Field(examples=["census"])] = None
    """What the attacker has: a dictionary or a dictionary set. For `min_loss` only the population that its
    criteria compare with; where they do not it is ignored, and `notes` say so.
    """
    sensitivity: Annotated[Ref | None, Field(examples=["members-harm"])] = None
    """What harm disclosure does. Needed but for `min_loss`."""
    objective: AskedObjective
    """What is best."""
    scope: ScopeOfRules = "table_level"
    solver: SolverChoice = "auto"
    attacker_view: AttackerView = None
    constraint: Constraint | None = None
    """Record-level rules: whether the threshold holds for every record (`per_record`, the default) or for
    their mean (`average`). Table-level rules: always `average`.
    """
    aggregate: AggregateOfRisk = "average"
    budget: BudgetFields = BudgetFields()
    """What the search may use; without limits it ends with a proof."""

    def request(self) -> CreateOptimisation:
        """The value that the use case takes; InvalidInput for fields without meaning for the objective."""
        objective: Objective = value_of(self.objective, "/objective")
        if isinstance(objective, OfPrivacy):
            # What would be ignored is refused; its default may be spelled out.
            taken = _OF_MIN_LOSS if isinstance(objective, MinLoss) else _OF_MIN_LOSS - {"scope", "solver"}
            faults = [
                Fault(
                    f"/{name}",
                    "not-applicable",
                    f"The objective {objective.kind} looks at the dataset alone; "
                    f"{name} has no meaning for it.",
                    "Leave it out, and assess the rule that is found.",
                )
                for name in sorted(self.model_fields_set - taken)
                if getattr(self, name) != type(self).model_fields[name].default
            ]
            if faults:
                raise InvalidInput(faults)
        return CreateOptimisation(
            name=self.name,
            dataset=self.dataset,
            dictionary=self.dictionary,
            sensitivity=self.sensitivity,
            objective=objective,
            scope=self.scope,
            solver=solver_asked(self.solver),
            failure=self.failure,
            options=self.options,
            constraint=self.constraint,
            aggregate=self.aggregate,
            budget=value_of(self.budget),
        )


_OF_MIN_LOSS: Final = {"name", "dataset", "dictionary", "objective", "scope", "solver", "budget"}


class OptimisationSummary(ShownAttacker, Resource):
    """An optimisation without its result; what scores rules is null for the objective `min_loss`."""

    dictionary: Annotated[str | None, Field(max_length=100, examples=["census"])] = None  # type: ignore[assignment]
    """Name of the dictionary or dictionary set."""
    sensitivity: Annotated[str | None, Field(max_length=100, examples=["members-harm"])] = None  # type: ignore[assignment]
    """Name of the sensitivity profile."""
    utility: ShownUtility | None = None  # type: ignore[assignment]
    """What a record is worth."""
    absent_policy: Absent | None = None  # type: ignore[assignment]
    """What a record is that no entity is consistent with."""
    risk_model: Annotated[str | dict[str, Any] | None, Field(examples=["I"])] = "I"  # type: ignore[assignment]
    """How harm and entities become risk."""
    attacker_view: Annotated[View | None, Field(examples=["known"])] = "known"  # type: ignore[assignment]
    """What is assumed of the attacker."""
    consistency: Annotated[dict[str, Any] | None, Field(examples=[NO_CONSISTENCY])] = NO_CONSISTENCY  # type: ignore[assignment]
    """When a disclosed value and a dictionary's cell agree."""
    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    objective: Annotated[dict[str, Any], Field(examples=[{"kind": "min_risk", "utility_floor": 6}])]
    """What is best."""
    scope: ScopeOfRules
    solver: Annotated[str | dict[str, Any], Field(examples=["auto"])]
    """How it is found: a name, or `kind` with parameters."""
    constraint: Constraint | None = None
    """Of what the threshold holds; null where that was not asked yet."""
    aggregate: AggregateOfRisk = "average"
    budget: Annotated[BudgetFields, Field(description="What the search may use.")] = BudgetFields()
    notes: Annotated[list[str], Field(max_length=10, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """What of the question was ignored, and why."""

    warnings: Annotated[list[str], Field(max_length=1000, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """Columns that the search can only show or suppress, since they have no hierarchy."""

    @model_validator(mode="before")
    @classmethod
    def _read_number_of_nodes(cls, summary: Any) -> Any:  # noqa: ANN401 - whatever is stored
        """The first optimisations had no other budget than their number of nodes."""
        if isinstance(summary, dict) and summary.get("max_nodes") and "budget" not in summary:
            return {**summary, "budget": {"max_nodes": summary["max_nodes"]}}
        return summary


def _kind_of_result(result: Any) -> str:  # noqa: ANN401 - a document, or the model made of it
    objective = result["objective"] if isinstance(result, dict) else result.objective
    return _KINDS_OF_RESULTS.get(objective["kind"], "scored")


_KINDS_OF_RESULTS: Final = {MinLoss.kind: "loss", Alternatives.kind: "alternatives"}


class Optimisation(OptimisationSummary):
    """An optimisation with its result."""

    result: Annotated[
        Annotated[
            Annotated[SearchResult, Tag("scored")]
            | Annotated[LossResult, Tag("loss")]
            | Annotated[AlternativesResult, Tag("alternatives")],
            Discriminator(_kind_of_result),
        ]
        | None,
        Field(description="Null until its run has succeeded."),
    ]
