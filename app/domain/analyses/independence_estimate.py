"""Which q attributes to disclose per record, if attributes were independent, and how far that is off."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Floats, Integers, Ints, Longs
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.risk.independence import MAX_CLUSTER, LeastLoss, choose_in_cluster, least_loss
from app.domain.risk.loss import loss
from app.domain.risk.summaries import mean, quantiles
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table, no_attribute

ROWS_PER_BLOCK: Final = 50_000
SECONDS_PER_CELL: Final = 4e-8
FACTOR_LEVELS: Final = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class IndependenceParameters:
    """What is taken to be dependent, and which records the estimate is compared with the truth on."""

    clusters: Annotated[
        tuple[Annotated[tuple[Annotated[str, Len(1, 200)], ...], Len(1, MAX_CLUSTER)], ...],
        MaxLen(200),
        doc("Sets of attributes that depend on each other and are counted jointly; every attribute that is "
            "in none is independent of all others. Put into one set what a rule of integrity ties together."),
    ] = ()  # fmt: skip
    sample: Annotated[
        int | None, Ge(1), Le(10_000_000), doc("How many records to compare on, drawn at random. null: all.")
    ] = None
    seed: Annotated[int, Ge(0), Le(2**63 - 1), doc("Seed of that draw.")] = 0


@dataclass(frozen=True)
class CountError:
    """Estimated over exact number of consistent entities, of the compared records where both are above 0."""

    records: Annotated[int, doc("How many such records there are.")]
    smallest: Annotated[float | None, doc("Smallest factor; below 1 the estimate overstates the risk.")]
    largest: Annotated[float | None, doc("Largest factor; above 1 the estimate understates the risk.")]
    quantiles: Annotated[Mapping[str, float], doc("Quantiles of the factor.")]


@dataclass(frozen=True)
class DisclosingQ:
    """Disclosing exactly q attributes of every record, those of least estimated loss."""

    n_disclosed: Annotated[int, doc("q.")]
    loss_unclamped: Annotated[float, doc("Mean estimated loss as the closed form gives it.")]
    loss_clamped: Annotated[
        float, doc("The same with identification probabilities of at most 1: what can be meant.")
    ]
    loss_clamped_max: Annotated[float, doc("Greatest clamped loss of a record.")]
    share_below_one: Annotated[
        float, doc("Share of records whose estimated number of consistent entities is below 1.")
    ]
    disclosed: Annotated[Mapping[str, float], doc("Attribute → share of records that disclose it.")]
    loss_clamped_compared: Annotated[float, doc("Mean clamped loss of the compared records.")]
    loss_exact: Annotated[float, doc("Mean loss of the same disclosure with exact counts, of the same.")]
    loss_exact_max: Annotated[float, doc("Greatest exact loss of a compared record.")]
    count_error: Annotated[CountError, doc("How the estimated counts compare with the exact ones.")]
    absent: Annotated[
        int, doc("Compared records that no entity is consistent with, though the estimate is above 0.")
    ]


@dataclass(frozen=True)
class IndependenceEstimate:
    """The closed form for every number of disclosed attributes, each beside the truth."""

    n_entities: Annotated[int, doc("Entities of the dictionary.")]
    compared: Annotated[int, doc("Records that the estimate is compared with the exact counts on.")]
    clusters: Annotated[tuple[tuple[str, ...], ...], doc("All clusters, single attributes included.")]
    by_number: Annotated[tuple[DisclosingQ, ...], doc("One entry per q from 0 to the number of attributes.")]


def _clusters(table: Table, parameters: IndependenceParameters) -> list[list[int]]:
    """Positions of the attributes of each cluster; InvalidInput for names unknown or given twice."""
    faults: list[Fault] = []
    seen: set[str] = set()
    for i, cluster in enumerate(parameters.clusters):
        for k, name in enumerate(cluster):
            pointer = f"/measure/clusters/{i}/{k}"
            if name not in table.attributes:
                faults.append(no_attribute(pointer, name, table.attributes))
            elif name in seen:
                faults.append(
                    Fault(pointer, "duplicate-attribute", f"The attribute {name!r} is in two places.",
                          "Clusters are disjoint: name every attribute once.")
                )  # fmt: skip
            seen.add(name)
    if faults:
        raise InvalidInput(faults)
    given_clusters = [[table.attributes.index(name) for name in cluster] for cluster in parameters.clusters]
    return given_clusters + [[j] for j, name in enumerate(table.attributes) if name not in seen]


@dataclass(frozen=True, eq=False)
class _Rows:
    """Distinct records with their weight group: what they count in means, and how many were drawn."""

    codes: Ints
    groups: Ints | None
    weight: Floats
    drawn: Longs
    drawn_weight: Floats


def _rows(context: MeasureContext, parameters: IndependenceParameters) -> _Rows:
    table, sensitivity = context.table, given(context.sensitivity)
    n, m = table.n_records, table.n_attributes
    groups = sensitivity.personal_groups
    columns: list[Integers] = [table.codes[:, j] for j in range(m)]
    sizes = list(table.sizes)
    if groups is not None:
        columns.append(groups)
        sizes.append(sensitivity.n_groups)
    rows = distinct_rows(columns, sizes, n)
    weights = np.ones(n) if table.weights is None else table.weights
    drawn = np.ones(n)
    if parameters.sample is not None and parameters.sample < n:
        drawn = np.zeros(n)
        drawn[np.random.default_rng(parameters.seed).choice(n, parameters.sample, replace=False)] = 1
    return _Rows(
        rows.codes[:, :m],
        None if groups is None else rows.codes[:, m],
        np.bincount(rows.inverse, weights, minlength=rows.size).astype(np.float64),
        np.bincount(rows.inverse, drawn, minlength=rows.size).astype(np.int64),
        np.bincount(rows.inverse, weights * drawn, minlength=rows.size).astype(np.float64),
    )


def _estimate(
    context: MeasureContext, clusters: Sequence[Sequence[int]], codes: Ints, groups: Ints | None
) -> LeastLoss:
    """The best attributes of each row for every q."""
    sensitivity, counter = given(context.sensitivity), context.counter

    def counting(cluster: Sequence[int]) -> Callable[[int], Longs]:
        def count(subset: int) -> Longs:
            """Entities per row that match what it shows: a subset of the cluster, by its bits."""
            shown = np.full(codes.shape, TOP, dtype=np.int32, order="F")
            for i, j in enumerate(cluster):
                if subset >> i & 1:
                    shown[:, j] = codes[:, j]
            return counter.count_records(shown).values

        return count

    n_entities = given(context.dictionary).n_entities
    choices = [
        choose_in_cluster(
            n_entities,
            np.stack([sensitivity.weights(j, codes[:, j], groups) for j in cluster]),
            counting(cluster),
        )
        for cluster in clusters
    ]
    return least_loss(n_entities, clusters, choices)


def _compute(context: MeasureContext, parameters: IndependenceParameters, tick: Tick) -> IndependenceEstimate:
    table, rows = context.table, _rows(context, parameters)
    clusters = _clusters(table, parameters)
    parts: list[LeastLoss] = []
    exact: list[tuple[Floats, Longs]] = []
    for start in range(0, len(rows.codes), ROWS_PER_BLOCK):
        block = slice(start, start + ROWS_PER_BLOCK)
        groups = None if rows.groups is None else rows.groups[block]
        found = _estimate(context, clusters, rows.codes[block], groups)
        parts.append(found)
        exact.append(_exact(context, rows.codes[block], groups, found))
        tick(min(start + ROWS_PER_BLOCK, len(rows.codes)))
    estimate = LeastLoss(
        *(np.concatenate([getattr(part, name) for part in parts], axis=1) for name in _ESTIMATED)
    )
    losses, counts = (np.concatenate(arrays, axis=1) for arrays in zip(*exact, strict=True))
    return IndependenceEstimate(
        n_entities=given(context.dictionary).n_entities,
        compared=int(rows.drawn.sum()),
        clusters=tuple(tuple(table.attributes[j] for j in cluster) for cluster in clusters),
        by_number=tuple(
            _disclosing(table, q, rows, estimate, losses[q], counts[q]) for q in range(len(losses))
        ),
    )


_ESTIMATED: Final = ("disclosed", "estimated_count", "unclamped", "clamped")


def _exact(
    context: MeasureContext, codes: Ints, groups: Ints | None, found: LeastLoss
) -> tuple[Floats, Longs]:
    """Losses and counts (m + 1, r) of what was chosen, by counting."""
    losses, counts = [], []
    for shown in found.disclosed:
        disclosed = np.where(shown, codes, TOP).astype(np.int32)
        counts.append(context.counter.count_records(disclosed).values)
        losses.append(loss(counts[-1], given(context.sensitivity).phi(disclosed, groups)))
    return np.stack(losses), np.stack(counts)


def _disclosing(
    table: Table, q: int, rows: _Rows, estimate: LeastLoss, losses: Floats, counts: Longs
) -> DisclosingQ:
    estimated, drawn = estimate.estimated_count[q], rows.drawn > 0
    counted = rows.weight > 0
    # Where the drawn records weigh nothing their plain mean is shown.
    compared = rows.drawn_weight if rows.drawn_weight.any() else rows.drawn.astype(np.float64)
    return DisclosingQ(
        n_disclosed=q,
        loss_unclamped=mean(estimate.unclamped[q], rows.weight),
        loss_clamped=mean(estimate.clamped[q], rows.weight),
        loss_clamped_max=float(estimate.clamped[q][counted].max()),
        share_below_one=mean((estimated < 1.0).astype(np.float64), rows.weight),
        disclosed={
            name: mean(estimate.disclosed[q, :, j].astype(np.float64), rows.weight)
            for j, name in enumerate(table.attributes)
        },
        loss_clamped_compared=mean(estimate.clamped[q], compared),
        loss_exact=mean(losses, compared),
        loss_exact_max=float(losses[compared > 0].max()),
        count_error=_count_error(estimated, counts, rows.drawn),
        absent=int(rows.drawn[drawn & (counts == 0) & (estimated > 0)].sum()),
    )


def _count_error(estimated: Floats, counts: Longs, drawn: Longs) -> CountError:
    comparable = (drawn > 0) & (counts > 0) & (estimated > 0)
    if not comparable.any():
        return CountError(0, None, None, {})
    factor, records = estimated[comparable] / counts[comparable], drawn[comparable]
    found = quantiles(factor, records, FACTOR_LEVELS)
    return CountError(
        records=int(records.sum()),
        smallest=float(factor.min()),
        largest=float(factor.max()),
        quantiles={str(level): value for level, value in found.items()},
    )


def _supports(context: MeasureContext, parameters: IndependenceParameters) -> str | None:
    sensitivity = given(context.sensitivity)
    if sensitivity.family != "multiplicative":
        return (
            f"The closed form needs the sensitivity family multiplicative; with {sensitivity.family} the "
            "loss is no product over attributes. Choose a multiplicative profile, or search for a rule."
        )
    if any(shape[:, TOP].any() for shape in sensitivity.shapes):
        return "The closed form needs the weight 0 for suppressed values; give ⊥ the weight 0."
    if context.failure is not None or context.model.name != "I":
        return "The closed form is that of risk model I without a harm of failure; leave both out."
    if context.absent_policy != "zero":
        return "The closed form knows the absent policy zero only; choose it."
    if not given(context.dictionary).n_entities:
        return "The dictionary has no entities; name one that has."
    return None


def _cost(context: MeasureContext, parameters: IndependenceParameters) -> Cost:
    clusters = _clusters(context.table, parameters)
    rows, m = len(_rows(context, parameters).codes), context.table.n_attributes
    subsets = sum(1 << len(cluster) for cluster in clusters)
    block = min(rows, ROWS_PER_BLOCK)
    blocks = -(-rows // ROWS_PER_BLOCK)
    counting = context.counter.choose(block, blocks * (subsets + m + 1))
    cells = rows * (m * subsets + 4 * (m + 1) * (m + len(clusters)))
    size = block * (m + 1) * (m + 60) + rows * (m + 1) * (m + 40)
    return Cost(counting.seconds + cells * SECONDS_PER_CELL, counting.bytes + size, rows, counting.engine)


INDEPENDENCE_ESTIMATE: Final = Measure(
    name="independence_estimate",
    title="Which attributes to disclose, as if they were independent",
    source="Lebanon et al. (2009), section 4.2; Definitions: independence, clamped counts",
    guarantee="heuristic",
    parameters=IndependenceParameters,
    result=IndependenceEstimate,
    needs=frozenset({"dictionary", "sensitivity"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "how far off is it to take the attributes for independent?",
        "members-independence",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"clusters": [["city", "race"]]},
    ),
)
