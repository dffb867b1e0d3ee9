"""Frontiers: all Pareto-optimal rules of risk and utility."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Name, Number, Ref, Resource
from app.api.schemas.derived import Asking
from app.api.schemas.optimisations import AggregateOfRisk, ScopeOfRules
from app.api.schemas.scoring import AttackerView, ScoringFields, ShownAttacker
from app.domain.risk.attackers import View
from app.domain.search.problem import FRONTIER_POINTS
from app.services.searches.frontiers import CreateFrontier

MaxPoints = Annotated[
    int,
    Field(
        ge=2,
        le=FRONTIER_POINTS,
        description="Most points of the answer; beyond, both ends and others spread evenly over utility.",
        examples=[200],
    ),
]


class NewFrontier(ScoringFields, Asking[CreateFrontier]):
    """A question for all Pareto-optimal rules."""

    name: Name
    dataset: Annotated[Ref, Field(description="Dataset that is disclosed.", examples=["members"])]
    dictionary: Annotated[Ref, Field(examples=["census"])]
    """What the attacker has: a dictionary or a dictionary set."""
    sensitivity: Annotated[Ref, Field(description="What harm disclosure does.", examples=["members-harm"])]
    scope: ScopeOfRules = "table_level"
    attacker_view: AttackerView = None
    aggregate: AggregateOfRisk = "average"
    max_points: MaxPoints = 200


class FrontierPoint(Answer):
    """One Pareto-optimal rule."""

    risk: Annotated[Number, Field(description="Its risk.", examples=[0.1])]
    utility: Annotated[Number, Field(description="Its mean utility.", examples=[8.0])]
    information_loss: Number | None
    """Its mean loss of information, for utilities that are losses."""
    kind: Literal["proven", "hull", "heuristic"]
    """`proven`: no rule is better in both, and none lies between it and its neighbours. `hull`: no rule is
    better in both, but there may be others between it and its neighbours, all above the line that joins them.
    `heuristic`: at most `gap` from the frontier.
    """
    gap: Annotated[Number, Field(description="Greatest distance in risk from the frontier.", examples=[0])]
    price_of_utility: Number | None
    """Risk per unit of utility from here to the next point; null at the end."""
    levels: Annotated[dict[str, Count] | None, Field(examples=[{"city": 1}])]
    """Attribute → level; null for record-level rules."""


class FrontierResult(Answer):
    """The frontier, by ascending utility."""

    scope: Annotated[str, Field(max_length=20, description="Kind of rules.", examples=["table_level"])]
    absent_policy: Annotated[str, Field(max_length=20, description="Policy.", examples=["zero"])]
    attacker_view: Annotated[View, Field(description="The view of the attacker.", examples=["known"])]
    aggregate: Annotated[str, Field(max_length=20, description="Risk of a table.", examples=["average"])]
    max_points: MaxPoints
    solver: Annotated[str, Field(max_length=40, description="What searched.", examples=["enumeration"])]
    n_points: Annotated[Count, Field(description="Points found, before they were thinned.", examples=[20])]
    complete: Annotated[bool, Field(description="These are all of the frontier's.", examples=[True])]
    absent: Annotated[Count, Field(description="Records without consistent entity as they are.")]
    rules: Annotated[Count, Field(description="Rules there are.", examples=[300])]
    visited_nodes: Annotated[Count, Field(description="Nodes looked at.", examples=[300])]
    risk_evaluations: Annotated[Count, Field(description="Risks computed.", examples=[300])]
    utility_evaluations: Annotated[Count, Field(description="Utilities computed.", examples=[300])]
    points: Annotated[list[FrontierPoint], Field(max_length=FRONTIER_POINTS, description="The points.")]


class FrontierSummary(ShownAttacker, Resource):
    """A frontier without its result."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    scope: ScopeOfRules
    aggregate: AggregateOfRisk
    max_points: MaxPoints
    warnings: Annotated[list[str], Field(max_length=1000, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """Columns that the search can only show or suppress, since they have no hierarchy."""


class Frontier(FrontierSummary):
    """A frontier with its result."""

    result: Annotated[FrontierResult | None, Field(description="Null until its run has succeeded.")]
