"""What searches found."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Number
from app.api.schemas.criteria import AttainedCriterion, Refusal
from app.api.schemas.derived import model_of
from app.api.schemas.scores import AssessmentResult
from app.api.schemas.shown_rules import ShownSuppression
from app.domain.risk.attackers import View
from app.domain.search import outcome
from app.domain.search.local_recoding.one_rule import MOST_ROUNDS
from app.domain.search.objectives import MOST_CRITERIA

Shortfall: Any = model_of(outcome.Shortfall, "Shortfall")


class MapPoint(Answer):
    """One rule on the map."""

    risk: Annotated[Number, Field(description="Its average risk.", examples=[0.1])]
    utility: Annotated[Number, Field(description="Its average utility.", examples=[8.0])]
    levels: Annotated[dict[str, Count], Field(description="Attribute → level.", examples=[{"city": 1}])]


class FoundRule(ShownSuppression):
    """The rule that a search found; the levels of single records are in the stored rule of the same name."""

    kind: Annotated[str, Field(max_length=20, description="Kind of rule.", examples=["table_level"])]
    levels: Annotated[dict[str, Count] | None, Field(examples=[{"city": 1}])] = None
    """Attribute → level, of a table-level rule."""
    records: Count | None = None
    """Records with levels of their own, or that a table-level rule suppresses."""


class Certificate(Answer):
    """What an approximation proves of this one run; the guarantee that was published for it does not hold."""

    ratio: Annotated[Number, Field(description="Mean risk over its proven lower bound.", examples=[1.2])]
    promised: Annotated[Number, Field(description="The ratio that was published.", examples=[6.75])]
    guarantee_met: Annotated[bool, Field(description="Every record keeps that ratio.", examples=[True])]
    kept_floor: Annotated[Number, Field(examples=[4.8])]
    """Utility that every record keeps at least."""
    records: Annotated[Count, Field(description="Records.", examples=[12])]
    met: Annotated[Count, Field(description="Records that keep the published ratio.", examples=[12])]
    exact: Annotated[Count, Field(description="Records solved exactly, where that was plain.", examples=[0])]
    fallback: Annotated[Count, Field(examples=[0])]
    """Records solved exactly because they missed the ratio."""
    linear_programmes: Annotated[Count, Field(description="Linear programmes solved.", examples=[60])]
    rounding_trials: Annotated[Count, Field(description="Roundings tried.", examples=[240])]
    rounded: Annotated[Count | None, Field(examples=[12])] = None
    """Records that programmes were solved for."""
    expected_inverse_risk: Annotated[Number | None, Field(examples=[4.2])] = None
    """Mean over these of E[1/risk] after the rounding that was published, without polishing; null without
    any.
    """
    promised_inverse_risk: Annotated[Number | None, Field(examples=[1.3])] = None
    """Mean over these of what was published for it, 1/(`promised` · least risk), with the proven lower bound
    for a least risk that is not known.
    """
    expected_met: Annotated[Count | None, Field(examples=[12])] = None
    """Records whose E[1/risk] is as great as published."""


class Found(Answer):
    """What every search for a rule found, and how."""

    status: Literal["optimal", "infeasible", "prohibited", "heuristic"]
    """`optimal` is proven; `infeasible`: no rule meets the threshold; `prohibited`: each that does is of
    infinite risk; `heuristic`: the best found, with a bound.
    """
    objective: Annotated[dict[str, Any], Field(description="What was asked for.")]
    scope: Annotated[str, Field(max_length=20, description="Kind of rules.", examples=["table_level"])]
    solver: Annotated[str, Field(max_length=40, description="What searched.", examples=["enumeration"])]
    solver_parameters: Annotated[dict[str, Any] | None, Field(examples=[{"kind": "auto"}])] = None
    """What was asked to search, with parameters."""
    budget: Annotated[dict[str, Any] | None, Field(description="What the search was allowed to use.")] = None
    reproducible: Annotated[bool, Field(examples=[True])] = True
    """The same question finds the same again; false for a search that was stopped or cut short by its time
    limit, after `visited_nodes`.
    """
    rule: Annotated[FoundRule | None, Field(description="The rule; null if there is none.")]
    lower_bound: Annotated[Number | None, Field(examples=[0.1])]
    """What no rule is below, of what was minimised; where the objective is maximised (`max_utility`,
    `aggregate`), minus its value.
    """
    gap: Annotated[Number | None, Field(description="Distance from it; 0 if proven.", examples=[0])]
    relative_gap: Annotated[Number | None, Field(examples=[0])] = None
    """The gap as a share of the objective."""
    visited_nodes: Annotated[Count, Field(description="Nodes looked at.", examples=[300])]
    risk_evaluations: Annotated[Count, Field(description="Risks computed.", examples=[300])]
    utility_evaluations: Annotated[Count, Field(description="Utilities computed.", examples=[300])]
    rules: Annotated[Count, Field(description="Rules there are.", examples=[300])]


class RecodingRound(Answer):
    """One round of local recoding."""

    levels: Annotated[dict[str, Count], Field(description="Attribute → level.", examples=[{"city": 1}])]
    records: Annotated[Count, Field(description="Records that it discloses.", examples=[3])]


class PartitionMade(Answer):
    """What a solver made that partitions the records."""

    parts: Annotated[Count, Field(examples=[280])]
    """Classes, before those that show the same were counted as one."""
    silent_records: Annotated[Count, Field(examples=[0])]
    """Records of classes whose least common nodes are all ⊥: they meet the criteria, and leave with their
    sensitive values, but measures count them as suppressed.
    """
    buckets: Annotated[Count | None, Field(examples=[25])] = None
    """Of `burel`: groups of sensitive values of similar frequency."""
    slack_margin: Annotated[Number | None, Field(examples=[0.05])] = None
    """Of `burel`: the share of their bound that buckets of several values leave free."""


class LossResult(Found):
    """What a search for the least loss of information found.

    Of its counters, `risk_evaluations` are rules whose classes were counted, `utility_evaluations` those
    whose loss was computed.
    """

    loss: Annotated[Number | None, Field(examples=[0.27])]
    """Loss of the rule, in the unit of the loss."""
    suppressed_records: Annotated[Count | None, Field(description="Records suppressed.", examples=[2])]
    suppression_allowed: Annotated[Count, Field(description="Most records to suppress.", examples=[2])]
    smallest_class: Annotated[Count | None, Field(examples=[2])]
    """Fewest records of an equivalence class, of those that remain."""
    classes: Annotated[Count | None, Field(description="Classes of those that remain.", examples=[4])]
    privacy: Annotated[list[AttainedCriterion], Field(max_length=MOST_CRITERIA)] = []  # noqa: RUF012 - pydantic copies it
    """What those that remain attain of each criterion."""
    infeasible_because: Annotated[list[Refusal], Field(max_length=MOST_CRITERIA)] = []  # noqa: RUF012 - pydantic copies it
    """Why no rule meets the criteria; empty if one does."""
    minimal_rules: Annotated[list[dict[str, Count]] | None, Field(max_length=2_000_000)] = None
    """Levels of all allowed rules below which none is allowed; null if not asked for, or if the search was
    ended before all were known.
    """
    withheld_for_missing: Annotated[Count, Field(examples=[0])] = 0
    """Of the records suppressed those for a missing quasi-identifier."""
    rounds: Annotated[list[RecodingRound], Field(max_length=MOST_ROUNDS)] = []  # noqa: RUF012 - pydantic copies it
    """Of local recoding the rules that suppressed records were given, one after another."""
    table_level_loss: Annotated[Number | None, Field(examples=[0.27])] = None
    """Where records have levels of their own, the loss of the best rule for the whole table, with which the
    search began; null if none meets the criteria.
    """
    attribute_losses: Annotated[
        dict[str, Number] | None, Field(examples=[{"city": 0.5, "birth_date": 0.25}])
    ] = None
    """Where the loss has weights, an aggregate or a suppression factor of its own: what each quasi-identifier
    loses, times its weight. The `loss` of a `rank` is the greatest of them. Null otherwise, and where records
    have levels of their own.
    """
    partition: PartitionMade | None = None
    """Of the solvers `burel` and `mondrian`; null for others."""


class SearchResult(Found):
    """What a search found."""

    absent_policy: Annotated[str, Field(max_length=20, description="Policy.", examples=["zero"])]
    attacker_view: Annotated[View, Field(description="The view of the attacker.")] = "known"
    constraint: Annotated[str | None, Field(max_length=20, examples=["average"])] = None
    """Of what the threshold holds."""
    aggregate: Annotated[str, Field(max_length=20, examples=["average"])] = "average"
    """Risk of a table."""
    round_before_constraint: Annotated[bool, Field(examples=[False])] = False
    """The mean utility was rounded before it was compared."""
    objective_value: Annotated[Number | None, Field(description="Value of the objective.", examples=[0.1])]
    risk: Annotated[Number | None, Field(description="Its average risk.", examples=[0.1])]
    utility: Annotated[Number | None, Field(description="Its mean utility.", examples=[6.5])]
    optimal_rules: Annotated[Count | None, Field(examples=[1])] = None
    """Rules that attain the objective's best value, the one found included; null where the search need not
    know, where records are solved one by one, and in results from before this field.
    """
    records_with_ties: Annotated[Count | None, Field(examples=[None])] = None
    """Where records are solved one by one: those with several disclosures as good as the one found. Null as
    above, and for rules of one level per attribute.
    """
    ties: Annotated[Count | None, Field(json_schema_extra={"deprecated": True}, examples=[1])]
    """`optimal_rules`, or where records are solved one by one `records_with_ties`."""
    infeasible_by: Annotated[Shortfall | None, Field(description="How far the threshold is out of reach.")]
    prohibited_records: Annotated[Count, Field(description="Records with infinite risk only.", examples=[0])]
    absent: Annotated[Count, Field(description="Records without consistent entity as they are.")]
    not_monotone: Annotated[bool, Field(examples=[False])] = False
    """It is not proved that generalising never raises the risk: all were looked at."""
    certificate: Certificate | None = None
    """What an approximation proves; null for other solvers."""
    assessment: Annotated[AssessmentResult | None, Field(description="Score of the rule.")]
    points: Annotated[list[MapPoint], Field(description="Rules by risk and utility.")]
