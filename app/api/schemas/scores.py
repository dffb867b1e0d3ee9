"""What the score of a rule says."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Number
from app.domain.risk.attackers import View
from app.services.datasets.dictionary_sets import MOST_MEMBERS

Position = Annotated[
    int | None,
    Field(ge=1, description="Number of the dictionary in its set that attains it, from 1; null: of none."),
]


Row = Annotated[
    int | None,
    Field(
        ge=1,
        description="The first record that attains it, as a row of the dataset from 1; null in results from "
        "before records were named.",
        examples=[7],
    ),
]


class Histogram(Answer):
    """Records by a number of theirs."""

    edges: Annotated[list[Number], Field(description="Edges of the bins.", examples=[[1, 2, 4]])]
    records: Annotated[list[Count], Field(description="Records per bin.", examples=[[3, 9]])]
    infinite: Annotated[Count, Field(description="Records beyond all bins, at infinity.", examples=[0])]


class Histograms(Answer):
    """How records are distributed."""

    counts: Histogram | None
    """By consistent entities; null for several dictionaries."""
    losses: Annotated[Histogram, Field(description="By loss.")]


class Monotone(Answer):
    """Which hypotheses hold under which generalising further never raises a loss."""

    non_empty: Annotated[bool, Field(description="Every record has consistent entities.", examples=[True])]
    phi_monotone: Annotated[bool, Field(description="More general is never more harmful.", examples=[True])]
    psi_le_phi: Annotated[bool, Field(examples=[True])]
    """Failure is never more harmful than success."""
    model_monotone: Annotated[bool | None, Field(examples=[True])] = None
    """The risk model is proved monotone."""
    holds: Annotated[bool | None, Field(description="All of them hold.", examples=[True])] = None


class Risks(Answer):
    """A mean risk, and what never leaves it alone."""

    risk_average: Annotated[Number, Field(description="Mean risk of the records.", examples=[0.12])]
    risk_max: Annotated[Number, Field(description="Risk of the worst record.", examples=[0.8])]
    row_of_risk_max: Row = None
    risk_min: Annotated[Number, Field(description="Risk of the best record.", examples=[0.02])]
    row_of_risk_min: Row = None
    loss_quantiles: Annotated[dict[str, Number], Field(examples=[{"0.5": 0.1}])]
    """Quantiles of the records' risks."""
    infinite: Annotated[Count, Field(description="Records of infinite risk.", examples=[0])]


class ViewResult(Risks):
    """The risk in one view of an attacker who has one of several dictionaries."""

    at_average: Annotated[Position, Field(description="Dictionary of the mean.")]
    at_max: Annotated[Position, Field(description="Dictionary of the worst record.")]
    at_min: Annotated[Position, Field(description="Dictionary of the best record.")]
    monotone: Annotated[Monotone, Field(description="Hypotheses, for all dictionaries that count.")]


class Hypothesis(Answer):
    """One hypothesis of the upper-bound theorem."""

    id: Annotated[str, Field(max_length=40, description="Which.", examples=["dictionary_order"])]
    holds: Annotated[Literal["yes", "no", "assumed"], Field(description="Whether it holds.")]
    reason: Annotated[str, Field(max_length=1000, description="Why.")]


class BoundResult(Answer):
    """Whether the risk is an upper bound of the risk under the true dictionary."""

    claimed: Annotated[bool, Field(description="No hypothesis fails.", examples=[True])]
    rests_on_assumptions: Annotated[bool, Field(examples=[False])]
    """Some hypotheses could not be checked."""
    hypotheses: Annotated[list[Hypothesis], Field(max_length=20, description="All of them.")]


class Score(Risks):
    """The score of a rule."""

    n_records: Annotated[Count, Field(description="Records.", examples=[12])]
    n_entities: Annotated[Count | None, Field(examples=[20])]
    """Entities of the dictionary; null for several."""
    absent_policy: Annotated[str, Field(max_length=20, description="Policy.", examples=["zero"])]
    risk_model: Annotated[str, Field(max_length=20, description="Risk model.", examples=["I"])] = "I"
    utility_average: Annotated[Number, Field(description="Mean utility.", examples=[8.0])]
    utility_min: Annotated[Number, Field(description="Utility of the worst record.", examples=[7.0])]
    row_of_utility_min: Row = None
    min_consistent: Annotated[Count, Field(examples=[1])]
    """Least number of consistent entities of a record."""
    row_of_min_consistent: Row = None
    absent: Count
    """Records that no entity is consistent with (most of any dictionary)."""
    add_self_risk_average: Number | None
    """Mean risk if every record's own entity counted; null where ids do not allow it."""
    histogram: Annotated[Histograms, Field(description="How records are distributed.")]
    person_risk_average: Annotated[Number | None, Field(examples=[None])] = None
    """Mean over persons of the risk of each one's worst record; null where no column names persons, and for
    several dictionaries.
    """
    k_matching: Annotated[Count | None, Field(examples=[1])]
    """k by consistent records of the table; null where a column names persons: see `equivalence_classes`."""
    k_equivalence: Annotated[
        Count | None, Field(description="k by identical records; null likewise.", examples=[1])
    ]
    row_of_k_equivalence: Row = None
    classes: Annotated[Count, Field(description="Distinct disclosed records.", examples=[12])]
    engine: Annotated[str, Field(max_length=20, description="What counted.", examples=["cube"])]
    weighted: Annotated[bool, Field(description="Means are by record weights.", examples=[False])] = False
    monotone: Annotated[Monotone, Field(description="Hypotheses of monotonicity.")]
    not_monotone: Annotated[bool, Field(examples=[False])] = False
    """The risk model is known not to be monotone."""
    warnings: Annotated[list[str], Field(max_length=1000, examples=[[]])] = []  # noqa: RUF012 - pydantic copies it
    """What to know before using it."""


class DictionaryScore(Score):
    """The score under one dictionary of a set."""

    prior: Annotated[float | None, Field(description="Its probability.", examples=[0.75])]


class Views(Answer):
    """The risk in every view of an attacker who has one of several dictionaries."""

    bayes: Annotated[ViewResult | None, Field(description="By the prior; null without one.")] = None
    worst_case: Annotated[ViewResult, Field(description="Under the dictionary that is worst for the rule.")]
    worst_case_per_record: ViewResult
    """Each record under the dictionary that is worst for it."""


class AssessmentResult(Score):
    """The score of a rule in the view of the attacker that was asked for."""

    attacker_view: Annotated[View, Field(description="The view.", examples=["known"])] = "known"
    information_loss_average: Number | None = None
    """Mean loss of information, for utilities that are losses."""
    information_loss_max: Annotated[Number | None, Field(description="Greatest loss of information.")] = None
    utility_average_displayed: Number | None = None
    """Mean utility as it is displayed, where rounding was asked for."""
    information_loss_average_displayed: Number | None = None
    """Mean loss as it is displayed."""
    views: Annotated[Views | None, Field(description="All views of a dictionary set.")] = None
    dictionaries: Annotated[list[DictionaryScore] | None, Field(max_length=MOST_MEMBERS)] = None
    """The score under each dictionary of a set, in its order."""
    bound: BoundResult | None = None
    """Whether the risk is an upper bound, where that was asked."""
