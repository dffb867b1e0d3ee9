"""COUNT queries that are asked of a release, and their answers."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Column, Number, Text
from app.api.schemas.conditions import NumberOrText
from app.api.schemas.derived import Asking, model_of
from app.domain.hierarchies.predicates import Predicate
from app.domain.mechanisms.count_estimates import EstimateOptions, Estimator
from app.services.releases import count_answers
from app.services.releases.count_answers import MOST_PREDICATES, MOST_QUERIES, AskCounts, CountQuestion

MOST_VALUES = 100_000

Bound = NumberOrText | None


class QueriedAttribute(Asking[Predicate]):
    """A predicate on an attribute: `values`, or an interval by `low`, `high` or both."""

    attribute: Annotated[Column, Field(description="Attribute of the release.", examples=["gender"])]
    values: Annotated[
        list[Text] | None, Field(min_length=1, max_length=MOST_VALUES, examples=[["female"]])
    ] = None
    """Values, or values of the hierarchy above them: a record has one of them, or one below them."""
    low: Annotated[Bound, Field(examples=[30])] = None
    """Where the interval begins, itself included: a number, a date as text (1975-05-10, also 1975-05, 1975-Q2
    or 1975 for its first day), or a value of an attribute whose hierarchy was made of groups in an order.
    """
    high: Annotated[Bound, Field(examples=[44])] = None
    """Where it ends, itself included; of a month, quarter or year its last day."""


class NewCountQuery(Asking[CountQuestion]):
    """The question how many records fulfil all of some predicates."""

    where: Annotated[list[QueriedAttribute], Field(max_length=MOST_PREDICATES)] = []  # noqa: RUF012 - pydantic copies it
    """The predicates, at most one per attribute; without any, all records are counted. Values that are
    missing fulfil none.
    """


class NewCountQueries(Asking[AskCounts]):
    """COUNT queries, to be answered from a release alone."""

    queries: Annotated[list[NewCountQuery], Field(min_length=1, max_length=MOST_QUERIES)]
    """The queries; together they have at most 10,000 predicates."""
    level: Annotated[float, Field(strict=True, gt=0, lt=1, examples=[0.95])] = 0.95
    """Share of draws in which an interval holds the count, by the normal law."""
    clip: bool = False
    """Move estimates and intervals to between 0 and the records selected: nearer, but biased."""
    estimator: Estimator = "unbiased"
    """`maximum_likelihood`: the counts, none below 0, under which what is published is most probable, where
    all values were replaced alike and one by one: biased, and those of parts do not add up to that of the
    whole. Standard errors and intervals stay those of the unbiased estimate.
    """

    @property
    def options(self) -> EstimateOptions:
        """What is wanted of the answers."""
        return EstimateOptions(self.level, self.clip, self.estimator)


UnderlyingErrorAnswer: Any = model_of(count_answers.UnderlyingError, "UnderlyingErrorAnswer")


class CountQueryAnswer(Answer):
    """What the release tells of one query."""

    estimate: Annotated[Number, Field(description="How many records, estimated.", examples=[7.5])]
    standard_error: Annotated[Number | None, Field(examples=[2.1])]
    """Over draws of the same records, itself estimated from the release; of values in copies at most so much,
    on average over draws: it may be several times the true one. Null where `without_errors` says why.
    """
    low: Annotated[Number | None, Field(examples=[3.4])]
    """Where the interval at the level begins; null as above."""
    high: Annotated[Number | None, Field(description="Where it ends; null as above.", examples=[11.6])]
    interval: Annotated[Literal["normal", "bounded"] | None, Field(examples=["normal"])] = None
    """By which law: `bounded`, which holds the count at least as often as the level says, where the records
    are too few for the normal law, or their copies too many. Null as above.
    """
    underlying: UnderlyingErrorAnswer | None
    """The same as an estimate of the records selected times the share of the values in what the records are a
    sample of, where all values were replaced alike and one by one; null elsewhere, and where nothing has to
    be estimated.
    """
    records: Annotated[Number, Field(examples=[12])]
    """Records that fulfil all predicates on attributes that were not drawn."""
    kind: Annotated[Literal["micro", "aggregate"] | None, Field(examples=["aggregate"])]
    """`micro`: all these records are alike in all quasi-identifiers, so that the answer is about each person
    among them, whatever the predicates are. Null of a release in which nothing was drawn.
    """
    is_spread: Annotated[bool, Field(examples=[False])]
    """Whether generalised cells, or drawn values that stand for several, were taken as evenly spread over
    the values below them.
    """
    is_biased: Annotated[bool, Field(examples=[False])]
    """Whether the mean over draws may be another number: because of that, of clipping, of the estimator, or
    of groups that may have been suppressed.
    """


CountQueryAnswers: Any = model_of(
    count_answers.CountAnswers, "CountQueryAnswers", parts={count_answers.CountAnswer: CountQueryAnswer}
)
