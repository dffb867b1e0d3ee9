"""How well COUNT queries are answered from a release: a seeded workload, relative errors.

Of a release that a mechanism drew, copies of samples included, answers are estimated as its readers do, and
so are their standard errors where readers can have any.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, doc

from app.domain.analyses.drawn_answers import AS_THEY_ARE, DrawnAnswers
from app.domain.arrays import Floats
from app.domain.catalogue.meanings import FROM_ZERO, LOW_AMOUNT, SHARE
from app.domain.classes.grouping import Grouping, lacking_records, positions_of
from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.hierarchies.numbers import ends, number_labels
from app.domain.losses.count_queries import (
    CountedRows,
    Interval,
    LeafScale,
    RealNumbers,
    Scale,
    WholeNumbers,
    Workload,
)
from app.domain.losses.released import suppresses
from app.domain.mechanisms.count_intervals import quantile
from app.domain.mechanisms.counted_release import COPIES_TAKE
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, blocks_of
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.reading import unclassed
from app.domain.search.record_rules.blocks import block_of
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table

SECONDS_PER_CELL: Final = 4e-8
SECONDS_PER_ROW_AND_QUERY: Final = 5e-9
SECONDS_PER_QUERY: Final = 1e-4
GREATEST_NUMBER: Final = 2**53
SECONDS_PER_VALUE_AND_QUERY: Final = 1e-7
REACH: Final = quantile(0.95)
"""Standard errors on either side that hold 95 % of a normal law."""
ROUNDING: Final = 1e-9
"""Share of a right answer that an estimate without error may be off by, as it is a sum of doubles."""
PER_TICK: Final = 50
PER_ESTIMATE: Final = 500
"""Queries of a drawn release that are estimated at once: those on the same attributes share work."""


@dataclass(frozen=True, kw_only=True)
class QueryAccuracyParameters(Grouping):
    """Which queries are asked."""

    attribute: Annotated[
        str | None,
        Len(1, 200),
        doc(
            "Sensitive attribute that every query has a predicate on; null: the only one, or none if none is."
        ),
    ] = None
    queries: Annotated[int, Ge(1), Le(100_000), doc("Queries to draw.")] = 1000
    predicates: Annotated[
        int, Ge(1), Le(100), doc("Quasi-identifiers that each query has a predicate on.")
    ] = 2
    selectivity: Annotated[
        float,
        Gt(0),
        Lt(1),
        doc("Share of the records that a query selects if attributes are independent and evenly spread."),
    ] = 0.1
    seed: Annotated[
        int, Ge(0), Le(2**63 - 1), doc("Seed of the queries: the same ones for the same seed.")
    ] = 1
    whole_numbers: Annotated[
        tuple[Annotated[str, Len(1, 200)], ...],
        MaxLen(100),
        doc("Attributes whose values are whole numbers: intervals and cells hold all of them between two."),
    ] = ()
    real_numbers: Annotated[
        tuple[Annotated[str, Len(1, 200)], ...],
        MaxLen(100),
        doc("Attributes whose values are numbers on a continuous scale. Others are counted by their leaves."),
    ] = ()


@dataclass(frozen=True)
class QueryAccuracy:
    """How far answers from the release are off, as a share of the right answer."""

    judged: Annotated[JudgedOn, doc("Which records answers were estimated from, and how.")]
    attribute: Annotated[str | None, doc("The sensitive attribute that queries had a predicate on.")]
    answered: Annotated[int, doc("Queries with a right answer above 0: the medians are of these.")]
    dropped: Annotated[int, doc("Queries with the right answer 0, which have no relative error.")]
    median_error: Annotated[float, LOW_AMOUNT, doc("Median of |estimate − right answer| / right answer.")]
    median_signed_error: Annotated[
        float, doc("Median of (estimate − right answer) / right answer: whether answers tend to be too high.")
    ]
    greatest_error: Annotated[float, LOW_AMOUNT, doc("Greatest of |estimate − right answer| / right answer.")]
    baseline_error: Annotated[
        float | None,
        FROM_ZERO,
        doc(
            "Median error if quasi-identifiers were published as they are, and of the sensitive attribute "
            "only the distribution in the whole table; null without a sensitive attribute."
        ),
    ]
    lengths: Annotated[
        Mapping[str, float],
        doc("Attribute → length of its intervals: in values, or for real numbers on their scale."),
    ]
    median_standard_error: Annotated[
        float | None,
        LOW_AMOUNT,
        doc(
            "Median of standard error / right answer, with the standard errors that a reader of the release "
            "has; null: see `without_errors`."
        ),
    ]
    within_intervals: Annotated[
        float | None,
        SHARE,
        doc(
            "Share of the answered queries of which the right answer is within 1.96 such standard errors of "
            "the estimate: about 0.95 where they tell how far answers are off, more where they are bounds. "
            "null: see `without_errors`."
        ),
    ]
    without_errors: Annotated[
        str | None, doc("Why a reader of the release has no standard errors; null: they follow from it.")
    ]


@dataclass(frozen=True, eq=False)
class _Question:
    """Positions of the attributes that queries are about, and the scales of their intervals."""

    attributes: tuple[int, ...]
    sensitive: int | None
    scales: Mapping[int, Scale]

    @property
    def all(self) -> tuple[int, ...]:
        return self.attributes if self.sensitive is None else (*self.attributes, self.sensitive)


def _question(release: Release, parameters: QueryAccuracyParameters) -> _Question:
    """What is asked about; InvalidInput for attributes that it cannot be asked about."""
    table = release.table
    attributes = positions_of(table, parameters.quasi_identifiers)
    sensitive = None
    if parameters.attribute is not None or table.sensitive:
        sensitive = table.position(release.sensitive(parameters.attribute))
        if sensitive in attributes:
            raise InvalidInput.of(
                "/measure/attribute",
                "sensitive-and-quasi-identifier",
                f"The attribute {table.attributes[sensitive]!r} is among the quasi-identifiers.",
                "Leave it out of quasi_identifiers, or choose another attribute.",
            )
    if parameters.predicates > len(attributes):
        raise InvalidInput.of(
            "/measure/predicates",
            "too-many-predicates",
            f"There are {len(attributes)} quasi-identifiers, fewer than {parameters.predicates} predicates.",
            f"Ask for at most {len(attributes)}.",
        )
    chosen = attributes if sensitive is None else (*attributes, sensitive)
    names = [table.attributes[j] for j in chosen]
    for where, named in (
        ("whole_numbers", parameters.whole_numbers),
        ("real_numbers", parameters.real_numbers),
    ):
        for name in named:
            if name not in names or (where == "real_numbers" and name in parameters.whole_numbers):
                raise InvalidInput.of(
                    f"/measure/{where}",
                    "unknown-attribute" if name not in names else "duplicate-attribute",
                    f"{name!r} is none of the attributes asked about, or is named as another kind too.",
                    f"They are: {', '.join(names)}.",
                )
    return _Question(attributes, sensitive, {j: _scale(table, j, parameters) for j in chosen})


def _scale(table: Table, j: int, parameters: QueryAccuracyParameters) -> Scale:
    name, hierarchy = table.attributes[j], table.hierarchies[j]
    leaves = np.arange(hierarchy.n_leaves, dtype=np.int64)
    if name in parameters.whole_numbers:
        numbers = number_labels(name, hierarchy, "/measure/whole_numbers")
        if any(n.denominator != 1 or abs(n) > GREATEST_NUMBER for n in numbers):
            raise InvalidInput.of(
                "/measure/whole_numbers",
                "not-whole",
                f"A value in the hierarchy of {name!r} is no whole number below 2^53.",
                "Name it among the real numbers.",
            )
        low, high = ends(hierarchy, np.array([int(n) for n in numbers], dtype=np.int64), leaves)
        return WholeNumbers(low, high)
    if name in parameters.real_numbers:
        numbers = number_labels(name, hierarchy, "/measure/real_numbers")
        order = sorted(range(len(numbers)), key=lambda i: numbers[i])
        rank = np.empty(len(order), dtype=np.int64)
        rank[order] = np.arange(len(order))
        low, high = ends(hierarchy, rank, leaves)
        values = np.array([float(numbers[i]) for i in order])
        return RealNumbers(values[low], values[high])
    return LeafScale(hierarchy)


def _rows(
    release: Release, question: _Question, parameters: QueryAccuracyParameters
) -> tuple[CountedRows, CountedRows]:
    """The original records and those that estimates are made from, as distinct rows."""
    table, suppressed = release.table, release.is_suppressed
    counted = np.ones(table.n_records, dtype=bool)
    if parameters.missing == "excluded":
        counted = ~lacking_records(table.codes, question.attributes, "excluded")
    shown_too = counted & ~suppressed if parameters.suppressed == "excluded" else counted
    originals, cells, sizes = [], [], []
    for j in question.all:
        own, cell, n_nodes = table.codes[:, j], release.codes[:, j], table.sizes[j]
        is_missing = table.is_missing(j) & (n_nodes > 1)
        known = is_missing & ~suppressed
        if suppresses(release, j) or parameters.missing == "matches_everything":
            known[:] = False
        originals.append(np.where(is_missing, n_nodes, own)[counted])
        cells.append(np.where(known, n_nodes, cell)[shown_too])
        sizes.append(n_nodes + 1)
    before = distinct_rows(originals, sizes, int(counted.sum()))
    after = distinct_rows(cells, sizes, int(shown_too.sum()))
    return CountedRows.of(question.all, before), CountedRows.of(question.all, after)


class _Answers:
    """Right answers, estimates and baselines of queries."""

    def __init__(
        self, context: MeasureContext, question: _Question, parameters: QueryAccuracyParameters
    ) -> None:
        self._question = question
        self._before, self._after = _rows(context.release, question, parameters)
        self._n = int(self._before.counts.sum())
        self._drawn = None
        if context.drawn is not None:
            self._drawn = DrawnAnswers(context, question.all, question.attributes, parameters)

    def of(self, queries: Sequence[Mapping[int, Interval]]) -> Floats:
        """(q, 4) the right answer, the estimate from the release, the baseline's, and the standard error.

        The latter is not a number where a reader has none.
        """
        scales = self._question.scales
        shares = [{j: scales[j].shares(interval) for j, interval in query.items()} for query in queries]
        found = np.array([(*self._of(own), math.nan) for own in shares])
        if self._drawn is not None:
            found[:, [1, 3]] = self._drawn.of(shares)
        return found

    @property
    def without_errors(self) -> str | None:
        """Why a reader has no standard errors; None if there are some."""
        return AS_THEY_ARE if self._drawn is None else self._drawn.without_errors

    def _of(self, shares: Mapping[int, Floats]) -> tuple[float, float, float]:
        """Of a query, as if the release were under a rule."""
        # An original that is itself a group of values lies in an interval if all of them do.
        inside = {j: (own == 1.0).astype(np.float64) for j, own in shares.items()}
        right = self._before.count(inside)
        baseline = right
        if self._question.sensitive is not None:
            sensitive = {self._question.sensitive: inside.pop(self._question.sensitive)}
            baseline = self._before.count(inside) * self._before.count(sensitive) / max(1, self._n)
        return right, self._after.count(shares), baseline


class _AccuracyPlan:
    """The queries of a workload, all drawn by each process that answers some of them."""

    def __init__(self, context: MeasureContext, parameters: QueryAccuracyParameters, seconds: float) -> None:
        self._context, self._parameters = context, _of_release(context, parameters)
        at_once, n = PER_TICK if context.drawn is None else PER_ESTIMATE, parameters.queries
        self._parts = [range(start, min(start + at_once, n)) for start in range(0, n, at_once)]
        self.n_blocks = blocks_of(seconds, len(self._parts))

    @cached_property
    def _question(self) -> _Question:
        return _question(self._context.release, self._parameters)

    @cached_property
    def _answers(self) -> _Answers:
        return _Answers(self._context, self._question, self._parameters)

    @cached_property
    def _workload(self) -> Workload:
        question, parameters = self._question, self._parameters
        return Workload(
            question.scales,
            question.attributes,
            question.sensitive,
            parameters.predicates,
            parameters.selectivity,
            parameters.seed,
        )

    @cached_property
    def _queries(self) -> list[dict[int, Interval]]:
        return [self._workload.draw() for _ in range(self._parameters.queries)]

    def run_block(self, index: int, tick: Tick) -> bytes:
        """The answers of its queries, (q, 4) float64."""
        found, done = [], 0
        for number in block_of(len(self._parts), self.n_blocks, index):
            part = self._parts[number]
            found.append(self._answers.of(self._queries[part.start : part.stop]).tobytes())
            done += len(part)
            tick(done)
        return b"".join(found)

    def combine(self, blocks: Mapping[int, bytes]) -> QueryAccuracy:
        """What the answers are like."""
        answers = np.frombuffer(b"".join(blocks[index] for index in range(self.n_blocks)))
        return _accuracy(
            self._context, self._parameters, self._question, self._workload.lengths,
            self._answers.without_errors, answers.reshape(-1, 4),
        )  # fmt: skip


def _compute(context: MeasureContext, parameters: QueryAccuracyParameters, tick: Tick) -> QueryAccuracy:
    plan = _AccuracyPlan(context, parameters, seconds=0.0)
    return plan.combine({0: plan.run_block(0, tick)})


def _plan(context: MeasureContext, parameters: QueryAccuracyParameters) -> _AccuracyPlan:
    return _AccuracyPlan(context, parameters, _cost(context, parameters).seconds)


def _accuracy(
    context: MeasureContext,
    parameters: QueryAccuracyParameters,
    question: _Question,
    lengths: Mapping[int, float],
    why: str | None,
    found: Floats,
) -> QueryAccuracy:
    table = context.table
    right, estimates, baselines, deviations = found[found[:, 0] > 0].T
    if not len(right):
        raise InvalidInput.of(
            "/measure/selectivity",
            "empty-workload",
            f"None of the {parameters.queries} queries counts any record.",
            "Draw more queries, with a greater selectivity or fewer predicates.",
        )
    errors = (estimates - right) / right
    baseline = np.abs(baselines - right) / right
    reach = REACH * deviations + ROUNDING * right
    shown = context if context.drawn is None else context.of_rows
    return QueryAccuracy(
        judged=judged_on(shown.table, parameters, shown.release.classes(parameters)),
        attribute=None if question.sensitive is None else table.attributes[question.sensitive],
        answered=len(right),
        dropped=parameters.queries - len(right),
        median_error=float(np.median(np.abs(errors))),
        median_signed_error=float(np.median(errors)),
        greatest_error=float(np.abs(errors).max()),
        baseline_error=None if question.sensitive is None else float(np.median(baseline)),
        lengths={table.attributes[j]: length for j, length in lengths.items()},
        median_standard_error=None if why else float(np.median(deviations / right)),
        within_intervals=None if why else float((np.abs(estimates - right) <= reach).mean()),
        without_errors=why,
    )


def _of_release(context: MeasureContext, parameters: QueryAccuracyParameters) -> QueryAccuracyParameters:
    """The parameters, about the attribute that was drawn where none is named."""
    through = None if context.drawn is None else context.drawn.counted_through
    if through is None or parameters.attribute is not None:
        return parameters
    return replace(parameters, attribute=through.attribute)


def _supports(context: MeasureContext, parameters: QueryAccuracyParameters) -> str | None:
    """Why not; InvalidInput for what cannot be asked, NotSupported for a matrix without an inverse."""
    reason = None if context.drawn is None else unclassed(context, parameters)
    if context.drawn is not None and context.drawn.counted_through is not None:
        InverseMatrix(context.drawn.counted_through.matrix)
    if reason is None:
        _question(context.release, _of_release(context, parameters))  # a plan tells its faults, too
    return reason


def _cost(context: MeasureContext, parameters: QueryAccuracyParameters) -> Cost:
    table = context.table
    width = len(positions_of(table, parameters.quasi_identifiers)) + 1
    rows = 2 * table.reduced.size * (parameters.predicates + 1)
    seconds = table.n_records * (2 * width + 4) * SECONDS_PER_CELL
    seconds += parameters.queries * (rows * SECONDS_PER_ROW_AND_QUERY + SECONDS_PER_QUERY)
    if context.drawn is not None:
        through = context.drawn.counted_through
        values = 0 if through is None else len(through.values)
        seconds += parameters.queries * values * SECONDS_PER_VALUE_AND_QUERY
        seconds *= 1 if context.drawn.copied is None else COPIES_TAKE
    return Cost(seconds, 16 * table.n_records * (2 * width + 4), parameters.queries, "classes")


QUERY_ACCURACY: Final = Measure(
    name="query_accuracy",
    title="Accuracy of COUNT queries",
    source="Cao and Karras (2012), sections 5 and 6.2, with absolute errors",
    guarantee="exact",
    parameters=QueryAccuracyParameters,
    result=QueryAccuracy,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    plan=_plan,
    protects=False,
    example=Example(
        "how well can incomes still be counted by city, race and age?",
        "proposal-queries",
        rule="proposal",
        parameters={"attribute": "income", "queries": 500, "predicates": 2, "selectivity": 0.3},
    ),
    looks_at="originals",
    reads=frozenset({"records", "rows", "retention"}),
    by_persons=BY_ROWS,
)
