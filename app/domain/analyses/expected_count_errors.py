"""How far counts would be off after uniform replacement, by p, beside what groups would tell."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, doc

from app.domain.arrays import Longs
from app.domain.catalogue.meanings import FAILING, FROM_ZERO, LOW_AMOUNT, MET, SHARE
from app.domain.classes.grouping import Grouping
from app.domain.classes.reconstruction import Bound, UniformReplacement
from app.domain.classes.reconstruction_groups import GroupsUnderTest, ReconstructionQuestion
from app.domain.mechanisms.expected_errors import Balanced, PooledCounts, sample_sizes
from app.domain.mechanisms.query_pool import DRAWS_PER_TICK, GroupedValues, PoolQuestion, Words, query_pool
from app.domain.mechanisms.uniform_column import cap_on_p, is_within_cap, require_cap
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.perturbable_values import perturbable_values
from app.domain.models.sensitive_values import SensitiveAttribute, SensitiveValues, cost_of_counting

WORDS_AT_ONCE: Final = 2**14
SECONDS_PER_DRAW: Final = 6e-6
SECONDS_PER_RECORD_AND_COLUMNS: Final = 6e-8
SECONDS_PER_RECORD_AND_P: Final = 8e-7
BYTES_PER_RECORD: Final = 400
BYTES_PER_RECORD_AND_COLUMNS: Final = 32
BYTES_PER_CELL: Final = 400

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
        float | None,
        Gt(0),
        Lt(1),
        doc(
            "No p above it is recommended. null: it follows from rho_1 and rho_2. One of both is needed, as "
            "for a release."
        ),
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
    queries: Annotated[int, Ge(100), Le(50_000), doc("Queries in the pool.")] = 5000
    predicates: Annotated[
        int, Ge(1), Le(5), doc("Most quasi-identifiers that a query asks for; each number is as likely.")
    ] = 3
    least_share: Annotated[
        float,
        Gt(0),
        Le(1),
        doc("A query that counts a smaller share of the records is drawn again."),
    ] = 0.001
    least_count: Annotated[
        int,
        Ge(1),
        Le(10**9),
        doc("So is one that counts fewer records: the fewer, the rougher its expected error is."),
    ] = 10
    most_draws: Annotated[
        int, Ge(1), Le(5_000_000), doc("After so many draws a pool that is not full is refused.")
    ] = 50_000

    def __post_init__(self) -> None:
        require_cap(self)

    @property
    def pool(self) -> PoolQuestion:
        """The queries that are asked for."""
        return PoolQuestion(
            self.queries, self.predicates, self.least_share, self.most_draws, self.least_count
        )


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
        float | None,
        FROM_ZERO,
        doc(
            "The same if groups are sampled by their shares (`balanced`), with suppressed groups counted as "
            "if nobody was in them; null if every group would be suppressed, so that the mechanism refuses."
        ),
    ]
    error_balanced_fixed: Annotated[
        float | None,
        FROM_ZERO,
        doc(
            "The same if all larger groups are sampled alike (`balanced_fixed`); null if not even a single "
            "record is within the bound, so that the mechanism refuses."
        ),
    ]
    suppressed_balanced: Annotated[
        int, LOW_AMOUNT, doc("Records of groups that `balanced` would suppress: nothing is told of them.")
    ]
    suppressed_balanced_fixed: Annotated[
        int, LOW_AMOUNT, doc("The same of `balanced_fixed`, which suppresses all groups or none.")
    ]


@dataclass(frozen=True)
class ExpectedCountErrors:
    """A frontier of privacy and error: what p buys, before anything is drawn."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("m: leaves of its hierarchy, whether they occur or not.")]
    p_cap: Annotated[float, SHARE, doc("The cap on p.")]
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
        float | None,
        SHARE,
        doc(
            "The p of least error within the cap with which `balanced` suppresses no group; null if there "
            "is none."
        ),
    ]
    best_balanced_fixed: Annotated[
        float | None, SHARE, doc("The same of `balanced_fixed`: a p that the mechanism does not refuse.")
    ]


def pool_words(groups: GroupedValues, question: PoolQuestion) -> Words:
    """Random words, without an end, that follow from the records and what is asked.

    Whoever could choose them could choose the one query that is asked, and read its count off the error.
    """
    seed = hashlib.sha256(f"pool of queries {question}".encode())
    groups.feed(seed.update)

    def drawn() -> Iterator[int]:
        generator = np.random.Generator(np.random.PCG64(int.from_bytes(seed.digest())))
        while True:
            yield from generator.integers(0, 1 << 32, WORDS_AT_ONCE, dtype=np.uint64).tolist()

    return drawn()


def _point(
    values: SensitiveValues, pooled: PooledCounts, own: ExpectedCountErrorsParameters, p: float
) -> CountErrorsFound:
    m, counts = values.hierarchy.n_leaves, values.counts
    question = ReconstructionQuestion(UniformReplacement(p, m), own.epsilon, own.delta)
    tested = GroupsUnderTest(counts, question)
    failing = tested.failing(own.bound)
    modes: tuple[Balanced, ...] = ("balanced", "balanced_fixed")
    samples = {mode: sample_sizes(counts, question, own.bound, mode) for mode in modes}
    errors = {mode: pooled.error(question, drawn) if drawn.any() else None for mode, drawn in samples.items()}
    gone = {mode: int(counts.sizes[drawn == 0].sum()) for mode, drawn in samples.items()}
    return CountErrorsFound(
        p=p,
        is_within_cap=is_within_cap(own, p, m),
        is_met=not failing.any(),
        groups_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
        delta=min(1.0, math.exp(tested.log_levels(own.bound).min())),
        error_plain=pooled.error(question, counts.sizes),
        error_balanced=errors["balanced"],
        error_balanced_fixed=errors["balanced_fixed"],
        suppressed_balanced=gone["balanced"],
        suppressed_balanced_fixed=gone["balanced_fixed"],
    )


def _compute(
    context: MeasureContext, parameters: ExpectedCountErrorsParameters, tick: Tick
) -> ExpectedCountErrors:
    own = parameters
    values = perturbable_values(context, own, own.attribute)
    leaf: Longs = np.searchsorted(values.hierarchy.leaves, values.counts.nodes).astype(np.int64)
    groups = GroupedValues(values.classes.codes, values.counts, values.hierarchy.n_leaves, leaf)
    pool = query_pool(groups, own.pool, pool_words(groups, own.pool), tick)
    pooled, points, drawing = PooledCounts(groups, pool), [], own.most_draws // DRAWS_PER_TICK
    for p in sorted(set(own.p)):
        points.append(_point(values, pooled, own, p))
        tick(drawing + len(points))
    allowed = [point for point in points if point.is_within_cap]
    balanced = {point.p: point.error_balanced for point in allowed if not point.suppressed_balanced}
    fixed = {point.p: point.error_balanced_fixed for point in allowed if not point.suppressed_balanced_fixed}
    return ExpectedCountErrors(
        judged=judged_on(context.table, own, values.classes),
        attribute=values.name,
        values=groups.n_values,
        p_cap=cap_on_p(own, groups.n_values),
        queries_distinct=len(pool.answers),
        draws=pool.draws,
        points=tuple(points),
        best_plain=_best({point.p: point.error_plain for point in allowed if point.is_met}),
        best_balanced=_best(balanced),
        best_balanced_fixed=_best(fixed),
    )


def _best(errors: Mapping[float, float | None]) -> float | None:
    """The p of the least error, the least of equals."""
    known = {p: error for p, error in errors.items() if error is not None}
    return min(known, key=lambda p: (known[p], p)) if known else None


def _supports(context: MeasureContext, own: ExpectedCountErrorsParameters) -> str | None:
    """NotSupported where values cannot be perturbed."""
    perturbable_values(context, own, own.attribute)
    return None


def _cost(context: MeasureContext, own: ExpectedCountErrorsParameters) -> Cost:
    table = context.table
    asked = table.quasi_identifiers if own.quasi_identifiers is None else own.quasi_identifiers
    subsets = min(own.most_draws, sum(math.comb(len(asked), d) for d in range(1, own.predicates + 1)))
    n, n_points = table.n_records, len(set(own.p))
    cells = min(n / own.least_count, 1 / own.least_share) * subsets
    seconds = SECONDS_PER_DRAW * own.most_draws + SECONDS_PER_RECORD_AND_COLUMNS * n * subsets
    counting = cost_of_counting(context, 1, seconds + SECONDS_PER_RECORD_AND_P * n * n_points)
    held = BYTES_PER_RECORD_AND_COLUMNS * n * min(subsets, own.queries) + BYTES_PER_RECORD * n
    memory = counting.bytes + held + int(BYTES_PER_CELL * cells)
    return Cost(counting.seconds, memory, own.most_draws // DRAWS_PER_TICK + n_points, counting.engine)


EXPECTED_COUNT_ERRORS: Final = Measure(
    name="expected_count_errors",
    title="Expected errors of counts: what perturbation would leave to be counted, by p",
    source="Wang et al. (2012), section 6, with expected errors in place of drawn ones",
    guarantee="heuristic",
    parameters=ExpectedCountErrorsParameters,
    result=ExpectedCountErrors,
    cost=_cost,
    compute=_compute,
    supports=_supports,
    example=Example(
        "how far would counts of perturbed incomes be off, and which p is best?",
        "proposal-count-errors",
        parameters={
            "p": [0.1, 0.3, 0.5],
            "p_cap": 0.5,
            "queries": 100,
            "least_count": 1,
            "most_draws": 20_000,
            "predicates": 1,
            "missing_sensitive": "excluded",
        },
    ),
    protects=False,
    tells_counts=True,
)
