"""How far counts would be off after uniform replacement, by p, beside what groups would tell."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, doc

from app.domain.arrays import Longs
from app.domain.catalogue.meanings import FAILING, FROM_ZERO, LOW_AMOUNT, MET, SHARE
from app.domain.classes.grouping import Grouping
from app.domain.classes.reconstruction import Bound, UniformReplacement, greatest_p
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.errors import InvalidInput
from app.domain.mechanisms.expected_errors import Balanced, PooledCounts, sample_sizes
from app.domain.mechanisms.query_pool import GroupedValues, PoolQuestion, Words, query_pool
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.reconstruction_privacy import perturbable_values
from app.domain.models.sensitive_values import SensitiveAttribute, SensitiveValues, cost_of_counting

WORDS_AT_ONCE: Final = 2**14
SECONDS_PER_DRAW: Final = 6e-6
SECONDS_PER_RECORD_AND_COLUMNS: Final = 6e-8
SECONDS_PER_RECORD_AND_P: Final = 8e-7
BYTES_PER_RECORD_AND_COLUMNS: Final = 24
DRAWS_PER_QUERY: Final = 4

Probability = Annotated[float, Ge(1e-9), Lt(1)]
Belief = Annotated[float | None, Gt(0), Lt(1)]


@dataclass(frozen=True, kw_only=True)
class ExpectedCountErrorsParameters(Grouping):
    """Which perturbations, under which cap, and which counts are asked for."""

    attribute: SensitiveAttribute = None
    p: Annotated[
        tuple[Probability, ...],
        Len(1, 100),
        doc("Probabilities with which a record would keep its value, else get any of all m."),
    ] = (0.1, 0.3, 0.5, 0.7, 0.9)
    p_cap: Annotated[
        float | None, Gt(0), Lt(1), doc("No p above it is recommended. null: it follows from rho_1, rho_2.")
    ] = None
    rho_1: Annotated[
        Belief, doc("What was at most so likely is at most rho_2 likely after one record: a cap on p.")
    ] = None
    rho_2: Annotated[Belief, doc("Above rho_1; see there.")] = None
    epsilon: Annotated[
        float, Ge(1e-9), Le(1000), doc("ε: from which error on an estimate of a group's share counts as bad.")
    ] = 0.5
    delta: Annotated[float, Gt(0), Lt(1), doc("δ: what the bound is compared with.")] = 0.3
    bound: Annotated[Bound, doc("By which upper bound groups are too large.")] = "chernoff_simple"
    queries: Annotated[int, Ge(1), Le(50_000), doc("Queries in the pool.")] = 5000
    predicates: Annotated[
        int, Ge(1), Le(5), doc("Most quasi-identifiers that a query asks for; each number is as likely.")
    ] = 3
    least_share: Annotated[
        float, Gt(0), Le(1), doc("A query that counts a smaller share of the records is drawn again.")
    ] = 0.001
    most_draws: Annotated[
        int, Ge(1), Le(5_000_000), doc("After so many draws a pool that is not full is refused.")
    ] = 200_000
    seed: Annotated[
        int, Ge(0), Le(2**63 - 1), doc("Seed of the queries: the same ones for the same seed.")
    ] = 1

    def __post_init__(self) -> None:
        beliefs = (self.rho_1, self.rho_2)
        if (None in beliefs and beliefs != (None, None)) or (
            self.p_cap is not None and beliefs != (None, None)
        ):
            raise InvalidInput.of(
                "/rho_1",
                "cap-unclear",
                "A cap on p is given by p_cap, or by rho_1 and rho_2 together.",
                "Give p_cap alone, both rho_1 and rho_2, or none of them.",
            )
        if self.rho_1 is not None and self.rho_2 is not None and self.rho_1 >= self.rho_2:
            raise InvalidInput.of(
                "/rho_1",
                "out-of-range",
                f"rho_1 is {self.rho_1}, not below rho_2, which is {self.rho_2}.",
                "Choose 0 < rho_1 < rho_2 < 1.",
            )

    def cap(self, m: int) -> float:
        """The greatest p that is allowed, of m values; 1 without a cap."""
        if self.rho_1 is not None and self.rho_2 is not None:
            return greatest_p(self.rho_1, self.rho_2, m)
        return 1.0 if self.p_cap is None else self.p_cap


@dataclass(frozen=True)
class CountErrorsFound:
    """Privacy and error with one p: of plain perturbation, and of large groups drawn by samples."""

    p: Annotated[float, SHARE, doc("The probability.")]
    is_within_cap: Annotated[bool, doc("Whether it is at most the cap.")]
    is_met: Annotated[bool, MET, doc("Whether all groups pass by the bound as they are; exactly at δ too.")]
    groups_failing: Annotated[int, FAILING, doc("Groups that do not.")]
    records_failing: Annotated[int, FAILING, doc("Records in these groups.")]
    delta: Annotated[float, SHARE, doc("The greatest δ with which all groups pass as they are.")]
    error_plain: Annotated[
        float,
        FROM_ZERO,
        doc("Expected |estimate − count| / count of plain perturbation, the mean over the pool."),
    ]
    error_balanced: Annotated[
        float, FROM_ZERO, doc("The same if groups are sampled by their shares (`balanced`).")
    ]
    error_balanced_fixed: Annotated[
        float, FROM_ZERO, doc("The same if all larger groups are sampled alike (`balanced_fixed`).")
    ]
    records_suppressed: Annotated[
        int, LOW_AMOUNT, doc("Records of groups that would be suppressed by `balanced`, counted as lost.")
    ]


@dataclass(frozen=True)
class ExpectedCountErrors:
    """A frontier of privacy and error: what p buys, before anything is drawn."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("m: leaves of its hierarchy, whether they occur or not.")]
    p_cap: Annotated[float, SHARE, doc("The cap on p; 1: none.")]
    queries_distinct: Annotated[int, doc("Different queries in the pool.")]
    draws: Annotated[int, doc("Queries that were drawn to fill it.")]
    points: Annotated[tuple[CountErrorsFound, ...], doc("By p, ascending.")]
    best_plain: Annotated[
        float | None,
        SHARE,
        doc(
            "The p of least error of plain perturbation within the cap with which all groups pass; null "
            "if there is none."
        ),
    ]
    best_balanced: Annotated[
        float | None, SHARE, doc("The p of least error within the cap if groups are sampled by their shares.")
    ]
    best_balanced_fixed: Annotated[
        float | None, SHARE, doc("The p of least error within the cap if larger groups are sampled alike.")
    ]


def _words(seed: int) -> Words:
    """Random words of a seed, without an end."""

    def drawn() -> Iterator[int]:
        generator = np.random.Generator(np.random.PCG64(seed))
        while True:
            yield from generator.integers(0, 1 << 32, WORDS_AT_ONCE, dtype=np.uint64).tolist()

    return drawn()


def _grouped(values: SensitiveValues) -> GroupedValues:
    own: Longs = np.searchsorted(values.hierarchy.leaves, values.counts.nodes).astype(np.int64)
    return GroupedValues(values.classes.codes, values.counts, values.hierarchy.n_leaves, own)


def _point(
    values: SensitiveValues, pooled: PooledCounts, own: ExpectedCountErrorsParameters, p: float
) -> CountErrorsFound:
    m, counts = values.hierarchy.n_leaves, values.counts
    question = ReconstructionQuestion(UniformReplacement(p, m), own.epsilon, own.delta)
    tested = GroupsUnderTest(counts, question)
    failing = tested.failing(own.bound)
    modes: tuple[Balanced, ...] = ("balanced", "balanced_fixed")
    samples = {mode: sample_sizes(counts, question, own.bound, mode) for mode in modes}
    return CountErrorsFound(
        p=p,
        is_within_cap=p <= own.cap(m) * (1 + 1e-12),
        is_met=not failing.any(),
        groups_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
        delta=min(1.0, math.exp(tested.log_levels(own.bound).min())),
        error_plain=pooled.error(question, counts.sizes),
        error_balanced=pooled.error(question, samples["balanced"]),
        error_balanced_fixed=pooled.error(question, samples["balanced_fixed"]),
        records_suppressed=int(counts.sizes[samples["balanced"] == 0].sum()),
    )


def _compute(
    context: MeasureContext, parameters: ExpectedCountErrorsParameters, tick: Tick
) -> ExpectedCountErrors:
    own = parameters
    values = perturbable_values(context, own, own.attribute)
    groups = _grouped(values)
    question = PoolQuestion(own.queries, own.predicates, own.least_share, own.most_draws)
    pool = query_pool(groups, question, _words(own.seed))
    pooled, points = PooledCounts(groups, pool), []
    for p in sorted(set(own.p)):
        points.append(_point(values, pooled, own, p))
        tick(len(points))
    allowed = [point for point in points if point.is_within_cap]
    return ExpectedCountErrors(
        judged=judged_on(context.table, own, values.classes),
        attribute=values.name,
        values=groups.n_values,
        p_cap=own.cap(groups.n_values),
        queries_distinct=len(pool.answers),
        draws=pool.draws,
        points=tuple(points),
        best_plain=_best({point.p: point.error_plain for point in allowed if point.is_met}),
        best_balanced=_best({point.p: point.error_balanced for point in allowed}),
        best_balanced_fixed=_best({point.p: point.error_balanced_fixed for point in allowed}),
    )


def _best(errors: dict[float, float]) -> float | None:
    """The p of the least error, the least of equals."""
    return min(errors, key=lambda p: (errors[p], p)) if errors else None


def _cost(context: MeasureContext, own: ExpectedCountErrorsParameters) -> Cost:
    table = context.table
    asked = table.quasi_identifiers if own.quasi_identifiers is None else own.quasi_identifiers
    draws = min(own.most_draws, DRAWS_PER_QUERY * own.queries)
    subsets = min(draws, sum(math.comb(len(asked), d) for d in range(1, own.predicates + 1)))
    n, n_points = table.n_records, len(own.p)
    seconds = SECONDS_PER_DRAW * draws + SECONDS_PER_RECORD_AND_COLUMNS * n * subsets
    counting = cost_of_counting(context, 1, seconds + SECONDS_PER_RECORD_AND_P * n * n_points)
    memory = counting.bytes + BYTES_PER_RECORD_AND_COLUMNS * n * subsets
    return Cost(counting.seconds, memory, n_points, counting.engine)


EXPECTED_COUNT_ERRORS: Final = Measure(
    name="expected_count_errors",
    title="Expected errors of counts: what perturbation would leave to be counted, by p",
    source="Wang et al. (2012), section 6, with expected errors in place of drawn ones",
    guarantee="exact",
    parameters=ExpectedCountErrorsParameters,
    result=ExpectedCountErrors,
    cost=_cost,
    compute=_compute,
    example=Example(
        "how far would counts of perturbed incomes be off, and which p is best?",
        "proposal-count-errors",
        parameters={"p": [0.1, 0.3, 0.5], "p_cap": 0.5, "queries": 200, "missing_sensitive": "excluded"},
    ),
    protects=False,
)
