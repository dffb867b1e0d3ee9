"""Optimisations: the question which rule is best."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.assessments import Absent, UtilityFamily
from app.api.schemas.common import Name, Ref, Request, Resource
from app.services import optimisations
from app.services.optimisations import CreateOptimisation, Objective


class MinRisk(Request):
    """Least risk among the rules of at least this utility."""

    kind: Annotated[Literal["min_risk"], Field(description="Kind of objective.")]
    utility_floor: Annotated[
        float, Field(ge=0, le=1e12, allow_inf_nan=False, description="Least average utility.", examples=[6])
    ]

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return optimisations.MinRisk(self.utility_floor)


class MaxUtility(Request):
    """Greatest utility among the rules of at most this risk."""

    kind: Annotated[Literal["max_utility"], Field(description="Kind of objective.")]
    risk_cap: Annotated[
        float, Field(ge=0, allow_inf_nan=False, description="Greatest average risk.", examples=[0.05])
    ]

    def objective(self) -> Objective:
        """The value that the use case takes."""
        return optimisations.MaxUtility(self.risk_cap)


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
        return optimisations.Lagrangian(self.trade_off)


ScopeOfRules = Annotated[
    Literal["table_level", "record_level"],
    Field(description="Rules with one level per attribute for the table, or for each record."),
]
Solver = Annotated[
    Literal["auto", "enumeration", "branch_and_bound"],
    Field(description="How the best rule is found; both are exact."),
]


class NewOptimisation(Request):
    """A question for the best rule."""

    name: Annotated[Name, Field(description="Its name; the best rule is stored as a rule of the same name.")]
    dataset: Annotated[Ref, Field(description="Dataset that is disclosed.", examples=["members"])]
    dictionary: Annotated[Ref, Field(description="What the attacker has.", examples=["census"])]
    sensitivity: Annotated[Ref, Field(description="What harm disclosure does.", examples=["members-harm"])]
    objective: Annotated[
        MinRisk | MaxUtility | Lagrangian, Field(discriminator="kind", description="What is best.")
    ]
    scope: ScopeOfRules = "table_level"
    solver: Solver = "auto"
    utility: UtilityFamily = "depth_sum"
    absent_policy: Absent = "zero"
    max_nodes: Annotated[
        int | None,
        Field(
            ge=1, le=10**12, description="Most rules looked at; beyond, the result is heuristic with a bound."
        ),
    ] = None

    def request(self) -> CreateOptimisation:
        """The value that the use case takes."""
        return CreateOptimisation(
            name=self.name,
            dataset=self.dataset,
            dictionary=self.dictionary,
            sensitivity=self.sensitivity,
            objective=self.objective.objective(),
            scope=self.scope,
            solver=self.solver,
            utility=self.utility,
            absent_policy=self.absent_policy,
            max_nodes=self.max_nodes,
        )


class OptimisationSummary(Resource):
    """An optimisation without its result."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    dictionary: Annotated[
        str, Field(max_length=100, description="Name of the dictionary.", examples=["census"])
    ]
    sensitivity: Annotated[
        str, Field(max_length=100, description="Name of the sensitivity profile.", examples=["members-harm"])
    ]
    objective: Annotated[
        dict[str, Any],
        Field(description="What is best.", examples=[{"kind": "min_risk", "utility_floor": 6}]),
    ]
    scope: ScopeOfRules
    solver: Solver
    utility: UtilityFamily
    absent_policy: Absent
    max_nodes: Annotated[int | None, Field(description="Most rules looked at.", examples=[None])]


class Optimisation(OptimisationSummary):
    """An optimisation with its result."""

    result: Annotated[
        dict[str, Any] | None,
        Field(
            description="Null until its run has succeeded. `status` (optimal, infeasible, prohibited, "
            "heuristic), `rule`, `risk`, `utility`, ties, counters, bound; infeasible says by how much.",
        ),
    ]
