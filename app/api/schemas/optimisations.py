"""Optimisations: the question which rule is best."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, Self

from pydantic import Discriminator, Field, Tag, model_validator
from pydantic_core import PydanticCustomError

from app.api.schemas.common import Column, Name, Ref, Request, Resource
from app.api.schemas.criteria import Privacy, criteria_asked
from app.api.schemas.results import LossResult, SearchResult
from app.api.schemas.scoring import Absent, AttackerView, ScoringFields, ShownAttacker
from app.api.schemas.solvers import BudgetFields, SolverChoice, solver_asked
from app.api.schemas.utility import ShownUtility
from app.domain.attackers import View
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.errors import Fault, InvalidInput
from app.domain.losses.loss import LeafDomain, LossKind
from app.domain.search.problem import Aggregate, Constraint
from app.domain.search.scalable.aggregate_options import (
    AggregateOptions,
    Method,
    ParametricSearch,
    PhiZeroPolicy,
)
from app.services import objectives
from app.services.objectives import Objective
from app.services.optimisations import CreateOptimisation
from app.services.scoring_options import NO_CONSISTENCY


class MinRisk(Request):
    """Least risk among the rules of at least this utility, or of at most this loss of information."""

    kind: Annotated[Literal["min_risk"], Field(description="Kind of objective.")]
    utility_floor: Annotated[
        float | None,
        Field(ge=0, le=1e12, allow_inf_nan=False, description="Least utility.", examples=[6]),
    ] = None
    loss_cap: Annotated[
        float | None,
        Field(
            ge=0,
            le=1e12,
            allow_inf_nan=False,
            description="Instead of it, for the utilities `info_loss_xt` and `info_loss_lm`: greatest loss.",
            examples=[1.5],
        ),
    ] = None

    @model_validator(mode="after")
    def _has_one_threshold(self) -> Self:
        if (self.utility_floor is None) == (self.loss_cap is None):
            raise PydanticCustomError("exactly_one", "Give exactly one of utility_floor and loss_cap.")
        return self

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return objectives.MinRisk(self.utility_floor, self.loss_cap)


class MaxUtility(Request):
    """Greatest utility among the rules of at most this risk."""

    kind: Annotated[Literal["max_utility"], Field(description="Kind of objective.")]
    risk_cap: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="Greatest average risk.", examples=[0.05])
    ]

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return objectives.MaxUtility(self.risk_cap)


class Lagrangian(Request):
    """Least risk − trade_off · utility."""

    kind: Annotated[Literal["lagrangian"], Field(description="Kind of objective.")]
    trade_off: Annotated[
        float,
        Field(
            ge=0,
            le=1e12,
            allow_inf_nan=False,
            description="Risk that a unit of utility is worth.",
            examples=[0.01],
        ),
    ]

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return objectives.Lagrangian(self.trade_off)


class AggregateObjective(Request):
    """Greatest trade_off / risk + utility^kappa of every record: for record-level rules, additive harm."""

    kind: Annotated[Literal["aggregate"], Field(description="Kind of objective.")]
    trade_off: Annotated[
        float,
        Field(
            ge=0, le=1e12, allow_inf_nan=False, description="λ: weight of the reciprocal risk.", examples=[1]
        ),
    ]
    kappa: Annotated[
        int, Field(strict=True, ge=0, le=8, description="κ: exponent of the utility.", examples=[1])
    ] = 1
    phi_zero_policy: Annotated[
        PhiZeroPolicy,
        Field(
            description="What becomes of disclosures that do no harm at all, for which the objective is "
            "infinite: left out (`exclude`), kept finite by phi_offset (`offset`), or taken literally "
            "(`unbounded`), which withholds whatever is sensitive."
        ),
    ] = "exclude"
    phi_offset: Annotated[
        float | None,
        Field(
            gt=0,
            le=1e300,
            allow_inf_nan=False,
            description="Added to every harm under the policy `offset`.",
            examples=[None],
        ),
    ] = None
    method: Annotated[
        Method,
        Field(
            description="How the inner problem is solved: over all rules of a record (`enumeration`), by a "
            "minimum cut (`closure`), over a ring family, or whichever is estimated to be fastest."
        ),
    ] = "auto"
    parametric_search: Annotated[
        ParametricSearch, Field(description="How the outer problem is solved; both find the same rule.")
    ] = "dinkelbach"

    def objective(self) -> Objective:
        """The value that the use case takes; InvalidInput for options that do not go together."""
        options = AggregateOptions(
            self.kappa, self.phi_zero_policy, self.phi_offset, self.method, self.parametric_search
        )
        return objectives.AggregateObjective(self.trade_off, options)


class LossFields(Request):
    """How loss of information is measured, with more than its kind."""

    kind: Annotated[LossKind, Field(description="Kind of loss.", examples=["ail"])]
    leaf_domain: Annotated[
        LeafDomain | None,
        Field(
            description="Which values count where leaves are counted: all leaves of the hierarchy "
            "(`declared`) or those that occur in the table (`active`); null: `active` for `kl_divergence`, "
            "else `declared`.",
            examples=["active"],
        ),
    ] = None
    numeric: Annotated[
        list[Column],
        Field(
            max_length=200,
            description="Attributes whose values are numbers: `ail` measures them by their range.",
            examples=[[]],
        ),
    ] = []  # noqa: RUF012 - pydantic copies it


class MinLoss(Request):
    """Least loss of information among the rules that meet privacy criteria: no attacker is modelled."""

    kind: Annotated[Literal["min_loss"], Field(description="Kind of objective.")]
    privacy: Privacy
    loss: Annotated[
        LossKind | LossFields,
        Field(
            description="`geometric` and `arithmetic`: share of each hierarchy's leaves under the values "
            "disclosed, averaged over the records and normalised, then the attributes' losses by their "
            "geometric or arithmetic mean. The others as the measure `information_loss` defines them."
        ),
    ] = "geometric"
    suppression_limit: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            allow_inf_nan=False,
            description="Greatest share of the records that may be withheld; by a rule for the table each "
            "class as a whole.",
            examples=[0.2],
        ),
    ] = 0.0
    missing: Annotated[
        Missing,
        Field(
            description="A missing quasi-identifier is like another missing one (`own_category`), like any "
            "value (`matches_everything`), or reason to withhold the record under every rule (`excluded`)."
        ),
    ] = "own_category"
    suppressed: Annotated[
        Suppressed,
        Field(
            description="Whether only the classes that remain have to meet the criteria (`excluded`), or the "
            "withheld records as one more class as well (`own_block`): then their sensitive values are shown."
        ),
    ] = "excluded"
    local_recoding: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether the records that the best table-level rule withholds are searched again on "
            "their own, as long as that helps: the rule found is then one of records. With `delta_presence` "
            "they are disclosed at its levels, if at all.",
        ),
    ] = False

    minimal_rules: Annotated[
        bool,
        Field(
            strict=True,
            description="Whether to list all rules of levels that are allowed while none is that discloses "
            "more: whatever loss is minimised without suppression, an optimum is among them.",
        ),
    ] = False

    def objective(self) -> Objective:
        """The value that the use case takes."""
        asked = self.loss if isinstance(self.loss, str) else self.loss.model_dump()
        return objectives.MinLoss(
            criteria_asked(self.privacy, "/objective/privacy"),
            objectives.loss_choice_of(asked),
            self.suppression_limit,
            self.missing,
            self.suppressed,
            self.local_recoding,
            self.minimal_rules,
        )


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
    dictionary: Annotated[
        Ref | None,
        Field(
            description="What the attacker has: a dictionary or a dictionary set. For `min_loss` only the "
            "population that its criteria compare with, where they do.",
            examples=["census"],
        ),
    ] = None
    sensitivity: Annotated[
        Ref | None,
        Field(description="What harm disclosure does. Needed but for `min_loss`.", examples=["members-harm"]),
    ] = None
    objective: Annotated[
        MinRisk | MaxUtility | Lagrangian | AggregateObjective | MinLoss,
        Field(discriminator="kind", description="What is best."),
    ]
    scope: ScopeOfRules = "table_level"
    solver: SolverChoice = "auto"
    attacker_view: AttackerView = None
    constraint: Annotated[
        Constraint | None,
        Field(
            description="Record-level rules: whether the threshold holds for every record (`per_record`, the "
            "default) or for their mean (`average`). Table-level rules: always `average`."
        ),
    ] = None
    aggregate: AggregateOfRisk = "average"
    budget: Annotated[
        BudgetFields, Field(description="What the search may use; without limits it ends with a proof.")
    ] = BudgetFields()

    def request(self) -> CreateOptimisation:
        """The value that the use case takes; InvalidInput for fields without meaning for the objective."""
        objective = self.objective.objective()
        if isinstance(objective, objectives.MinLoss):
            self._refuse_what_scores(objective)
        return CreateOptimisation(
            name=self.name,
            dataset=self.dataset,
            dictionary=self.dictionary,
            sensitivity=self.sensitivity,
            objective=objective,
            scope=self.scope,
            solver=solver_asked(self.solver),
            failure=self.failure,
            options=self.options(self.attacker_view),
            constraint=self.constraint,
            aggregate=self.aggregate,
            budget=self.budget.budget(),
        )

    def _refuse_what_scores(self, objective: objectives.MinLoss) -> None:
        """Raise InvalidInput for whatever would be ignored; its default may be spelled out."""
        allowed = _OF_MIN_LOSS | ({"dictionary"} if objective.needs_population else set())
        faults = [
            Fault(
                f"/{name}",
                "not-applicable",
                f"The objective min_loss looks at the dataset alone; {name} has no meaning for it.",
                "Leave it out, and assess the rule that is found.",
            )
            for name in sorted(self.model_fields_set - allowed)
            if getattr(self, name) != type(self).model_fields[name].default
        ]
        if faults:
            raise InvalidInput(faults)


_OF_MIN_LOSS: Final = {"name", "dataset", "objective", "scope", "budget"}


class OptimisationSummary(ShownAttacker, Resource):
    """An optimisation without its result; what scores rules is null for the objective `min_loss`."""

    # fmt: off
    dictionary: Annotated[str | None, Field(
        max_length=100, description="Name of the dictionary or dictionary set.", examples=["census"]
    )] = None  # type: ignore[assignment]
    sensitivity: Annotated[str | None, Field(
        max_length=100, description="Name of the sensitivity profile.", examples=["members-harm"]
    )] = None  # type: ignore[assignment]
    utility: Annotated[ShownUtility | None, Field(
        description="What a record is worth."
    )] = None  # type: ignore[assignment]
    absent_policy: Annotated[Absent | None, Field(
        description="What a record is that no entity is consistent with."
    )] = None  # type: ignore[assignment]
    risk_model: Annotated[str | dict[str, Any] | None, Field(
        description="How harm and entities become risk.", examples=["I"]
    )] = "I"  # type: ignore[assignment]
    attacker_view: Annotated[View | None, Field(
        description="What is assumed of the attacker.", examples=["known"]
    )] = "known"  # type: ignore[assignment]
    consistency: Annotated[dict[str, Any] | None, Field(
        description="When a disclosed value and a dictionary's cell agree.", examples=[NO_CONSISTENCY]
    )] = NO_CONSISTENCY  # type: ignore[assignment]
    # fmt: on
    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    objective: Annotated[
        dict[str, Any],
        Field(description="What is best.", examples=[{"kind": "min_risk", "utility_floor": 6}]),
    ]
    scope: ScopeOfRules
    solver: Annotated[
        str | dict[str, Any],
        Field(description="How it is found: a name, or `kind` with parameters.", examples=["auto"]),
    ]
    constraint: Annotated[
        Constraint | None,
        Field(description="Of what the threshold holds; null where that was not asked yet."),
    ] = None
    aggregate: AggregateOfRisk = "average"
    budget: Annotated[BudgetFields, Field(description="What the search may use.")] = BudgetFields()

    @model_validator(mode="before")
    @classmethod
    def _read_number_of_nodes(cls, summary: Any) -> Any:  # noqa: ANN401 - whatever is stored
        """The first optimisations had no other budget than their number of nodes."""
        if isinstance(summary, dict) and summary.get("max_nodes") and "budget" not in summary:
            return {**summary, "budget": {"max_nodes": summary["max_nodes"]}}
        return summary


def _kind_of_result(result: Any) -> str:  # noqa: ANN401 - a document, or the model made of it
    objective = result["objective"] if isinstance(result, dict) else result.objective
    return "loss" if objective["kind"] == "min_loss" else "scored"


class Optimisation(OptimisationSummary):
    """An optimisation with its result."""

    result: Annotated[
        Annotated[
            Annotated[SearchResult, Tag("scored")] | Annotated[LossResult, Tag("loss")],
            Discriminator(_kind_of_result),
        ]
        | None,
        Field(description="Null until its run has succeeded."),
    ]
