"""Risk of records drawn from a distribution, attributes independent of each other, by Monte Carlo."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, doc

from app.domain.arrays import Floats, Ints, Longs
from app.domain.catalogue.meanings import ASIDE, ASKED, FROM_ZERO, HARM, LOW_ASIDE, LOW_SHARE, RISK, UTILITY
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.rules.rule import TableRule, apply_to_codes
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE, exact_sum
from app.domain.tables.table import Table, no_attribute

DRAWS_PER_BLOCK: Final = 50_000
SECONDS_PER_CELL: Final = 1e-7


@dataclass(frozen=True, eq=False)
class ProductDistribution:
    """Records whose attributes are independent.

    Per attribute ``nodes`` are those of positive probability, ascending, and ``probabilities`` theirs.
    """

    nodes: tuple[Ints, ...]
    probabilities: tuple[Floats, ...]

    def draw(self, n: int, rng: np.random.Generator) -> Ints:
        """Draw n records, int32 (n, m) of node codes."""
        drawn = np.empty((n, len(self.nodes)), dtype=np.int32, order="F")
        for j, (nodes, probabilities) in enumerate(zip(self.nodes, self.probabilities, strict=True)):
            below = np.cumsum(probabilities)
            # Rounding must not lead past the last node.
            place = np.searchsorted(below / below[-1], rng.random(n), side="right")
            drawn[:, j] = nodes[np.minimum(place, len(nodes) - 1)]
        return drawn


def fitted(
    table: Table, smoothing: float = 0.0, given: Mapping[str, Mapping[str, float]] | None = None
) -> ProductDistribution:
    """The table's own shares of each attribute's values, or given ones.

    Parameters
    ----------
    smoothing
        Added to the count of every leaf, ≥ 0; what is missing or generalised in the table stays possible with
        its count. Records count with their weights, scaled to a mean of 1.
    given
        Attribute → leaf → probability, in place of the table's shares. InvalidInput for names that do not
        exist and for probabilities that are no distribution.
    """
    given = given or {}
    _check(table, given)
    weights = np.ones(table.n_records) if table.weights is None else table.weights / table.weights.mean()
    nodes, probabilities = [], []
    for j, (attribute, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        share = np.zeros(hierarchy.n_nodes)
        if attribute in given:
            for label, probability in given[attribute].items():
                share[_leaf(hierarchy, label)] = probability
        else:
            share += np.bincount(table.codes[:, j], weights, minlength=hierarchy.n_nodes)
            share[hierarchy.leaves] += smoothing
        possible = np.flatnonzero(share > 0).astype(np.int32)
        nodes.append(possible)
        probabilities.append(share[possible] / math.fsum(share[possible].tolist()))
    return ProductDistribution(tuple(nodes), tuple(probabilities))


def _leaf(hierarchy: Hierarchy, label: str) -> int | None:
    node = hierarchy.node_of(label)
    return node if node is not None and hierarchy.is_leaf[node] else None


def _check(table: Table, given: Mapping[str, Mapping[str, float]]) -> None:
    faults = []
    for attribute, shares in given.items():
        pointer = f"/measure/marginals/{attribute}"
        if attribute not in table.attributes:
            faults.append(no_attribute(pointer, attribute, table.attributes))
            continue
        hierarchy = table.hierarchies[table.position(attribute)]
        faults += [
            Fault(
                f"{pointer}/{label}",
                "unknown-value",
                f"{label!r} is no leaf of the hierarchy of {attribute!r}.",
                "Give probabilities of leaves.",
            )
            for label in shares
            if _leaf(hierarchy, label) is None
        ]
        total = math.fsum(shares.values())
        if abs(total - 1.0) > FEASIBILITY_TOLERANCE or any(not value >= 0 for value in shares.values()):
            faults.append(
                Fault(
                    pointer,
                    "no-distribution",
                    f"The probabilities of {attribute!r} add up to {total:g} or are negative.",
                    "They are 0 or more and add up to 1.",
                )
            )
    if faults:
        raise InvalidInput(faults)


@dataclass(frozen=True)
class ParametricParameters:
    """The distribution that records are drawn from, how many, and with what confidence is answered."""

    samples: Annotated[int, Ge(2), Le(10_000_000), doc("How many records are drawn.")] = 100_000
    seed: Annotated[int, Ge(0), Le(2**63 - 1), doc("Seed of the draws; the same for the same result.")] = 0
    smoothing: Annotated[
        float,
        Ge(0),
        Le(1_000_000),
        doc(
            "Added to the count of every leaf before shares are taken, so that values not seen are possible."
        ),
    ] = 0.0
    marginals: Annotated[
        Mapping[
            Annotated[str, Len(1, 200)],
            Annotated[Mapping[Annotated[str, MaxLen(1000)], Annotated[float, Ge(0), Le(1)]], Len(1, 10_000)],
        ],
        MaxLen(200),
        doc(
            "Attribute → leaf → probability, adding up to 1; attributes not named have the dataset's shares."
        ),
    ] = field(default_factory=dict)
    confidence: Annotated[float, Gt(0), Lt(1), doc("Confidence of the intervals.")] = 0.95


@dataclass(frozen=True)
class Interval:
    """From low to high."""

    low: Annotated[float, LOW_ASIDE, doc("Lower end.")]
    high: Annotated[float, HARM, doc("Upper end.")]


@dataclass(frozen=True)
class ParametricRisk:
    """Estimated risk of a record that is yet to come, with what chance may have done to it."""

    risk: Annotated[float, RISK, doc("Mean loss of the records drawn; infinite if that of any is.")]
    standard_error: Annotated[
        float | None, FROM_ZERO, doc("Standard error of `risk`, by the losses drawn; null if it is infinite.")
    ]
    interval: Annotated[
        Interval | None,
        doc("Normal interval around `risk`: approximate, and too narrow if losses are rare and great."),
    ]
    interval_guaranteed: Annotated[
        Interval | None,
        doc("Interval that holds with at least the confidence, however the losses are distributed (empirical "
            "Bernstein bound); null where no greatest loss is known or it is infinite."),
    ]  # fmt: skip
    samples: Annotated[int, ASKED, doc("Records drawn.")]
    loss_max: Annotated[float, RISK, doc("Greatest loss drawn.")]
    greatest_possible: Annotated[
        float | None,
        RISK,
        doc("A loss that no record can exceed, drawn or not; null for models without a proof."),
    ]
    infinite_losses: Annotated[
        int, LOW_ASIDE, doc("Records drawn whose loss is infinite: prohibited data identified.")
    ]
    infinite_at_most: Annotated[
        float | None, LOW_SHARE, ASIDE,
        doc("With the confidence, the probability of an infinite loss is at most this; null if some were "
            "drawn: then it is positive, and the risk infinite."),
    ]  # fmt: skip
    absent: Annotated[
        float,
        LOW_SHARE,
        ASIDE,
        doc("Share of records drawn that no entity of the dictionary is consistent with."),
    ]
    utility: Annotated[float, UTILITY, doc("Mean utility under the distribution, exact.")]


@dataclass(frozen=True, eq=False)
class _Draws:
    """Distinct disclosed records of one or more blocks: loss, |ρ| and how often each was drawn."""

    loss: Floats
    counts: Longs
    times: Longs


def _draw(context: MeasureContext, parameters: ParametricParameters, tick: Tick) -> _Draws:
    """All draws, block by block; a record drawn in two blocks stands twice."""
    table, rng = context.table, np.random.default_rng(parameters.seed)
    distribution = fitted(table, parameters.smoothing, parameters.marginals)
    parts = []
    for start in range(0, parameters.samples, DRAWS_PER_BLOCK):
        n = min(DRAWS_PER_BLOCK, parameters.samples - start)
        codes = apply_to_codes(given(context.rule), table, distribution.draw(n, rng))
        rows = distinct_rows([codes[:, j] for j in range(table.n_attributes)], table.sizes, n)
        counts = context.counter.count_records(rows.codes).values
        parts.append(_Draws(_losses(context, rows.codes, counts), counts, rows.counts))
        tick(start + n)
    return _Draws(*(np.concatenate([getattr(part, name) for part in parts]) for name in _FIELDS))


_FIELDS: Final = ("loss", "counts", "times")


def _losses(context: MeasureContext, codes: Ints, counts: Longs) -> Floats:
    phi = given(context.sensitivity).phi(codes)
    psi = None if context.failure is None else context.failure.phi(codes)
    n_entities = given(context.dictionary).n_entities
    if context.absent_policy == "add_self":
        # Whoever is drawn is in no dictionary yet.
        counts, n_entities = counts + 1, n_entities + 1
    return context.model.of(counts, phi, psi, n_entities)


def _greatest_possible(context: MeasureContext, distribution: ProductDistribution) -> float | None:
    """A bound on every loss: nobody but the record's owner consistent, each attribute at its heaviest."""
    if not context.model.is_monotone:
        return None
    n_entities = given(context.dictionary).n_entities + (context.absent_policy == "add_self")
    one = np.ones(1, dtype=np.int64)
    phi = _heaviest(context, given(context.sensitivity), distribution)
    greatest = float(context.model.of(one, np.array([phi]), None, max(1, n_entities))[0])
    if context.failure is None:
        return greatest
    return max(greatest, _heaviest(context, context.failure, distribution))


def _heaviest(context: MeasureContext, harm: Sensitivity, distribution: ProductDistribution) -> float:
    total = sum(max(0.0, float(one.weights.max())) for one in harm.interactions)
    levels = _rule(context).levels
    for j, (hierarchy, nodes) in enumerate(zip(context.table.hierarchies, distribution.nodes, strict=True)):
        total += float(harm.weights(j, np.unique(hierarchy.ancestors_at(levels[j])[nodes])).max())
    return float(harm.of_sum(np.array([total]))[0])


def _rule(context: MeasureContext) -> TableRule:
    if not isinstance(context.rule, TableRule):
        raise ValueError("records that are drawn have no levels of their own")
    return context.rule


def bernstein_radius(variance: float, greatest: float, n: int, confidence: float) -> float:
    """How far a mean of n losses in [0, greatest] can be off, except with probability 1 − confidence.

    Maurer and Pontil (2009), theorem 4,
    applied to both sides; ``variance`` is that of the sample.
    """
    log_term = math.log(4.0 / (1.0 - confidence))
    return math.sqrt(2.0 * variance * log_term / n) + 7.0 * greatest * log_term / (3.0 * (n - 1))


def _compute(context: MeasureContext, parameters: ParametricParameters, tick: Tick) -> ParametricRisk:
    draws = _draw(context, parameters, tick)
    distribution = fitted(context.table, parameters.smoothing, parameters.marginals)
    greatest = _greatest_possible(context, distribution)
    n = parameters.samples
    infinite = int(draws.times[np.isposinf(draws.loss)].sum())
    risk = math.inf if infinite else exact_sum(draws.loss * draws.times) / n
    error = interval = guaranteed = at_most = None
    if not infinite:
        variance = exact_sum((draws.loss - risk) ** 2 * draws.times) / (n - 1)
        error = math.sqrt(variance / n)
        interval = _around(risk, NormalDist().inv_cdf(0.5 + parameters.confidence / 2) * error, greatest)
        if greatest is not None and math.isfinite(greatest):
            radius = bernstein_radius(variance, greatest, n, parameters.confidence)
            guaranteed = _around(risk, radius, greatest)
            at_most = 0.0
        else:
            at_most = -math.expm1(math.log1p(-parameters.confidence) / n)
    terms = []
    for j, (nodes, shares) in enumerate(zip(distribution.nodes, distribution.probabilities, strict=True)):
        disclosed = context.table.hierarchies[j].ancestors_at(_rule(context).levels[j])[nodes]
        terms += (shares * context.utility.values[j][disclosed]).tolist()
    return ParametricRisk(
        risk=risk,
        standard_error=error,
        interval=interval,
        interval_guaranteed=guaranteed,
        samples=n,
        loss_max=float(draws.loss.max()),
        greatest_possible=greatest,
        infinite_losses=infinite,
        infinite_at_most=at_most,
        absent=int(draws.times[draws.counts == 0].sum()) / n,
        utility=math.fsum(terms),
    )


def _around(risk: float, radius: float, greatest: float | None) -> Interval:
    high = risk + radius
    return Interval(max(0.0, risk - radius), high if greatest is None else min(high, greatest))


def _supports(context: MeasureContext, parameters: ParametricParameters) -> str | None:
    if not isinstance(context.rule, TableRule):
        return "Records that are drawn have no levels of their own; name a table-level rule."
    if any(harm is not None and harm.is_personal for harm in (context.sensitivity, context.failure)):
        return (
            "Records that are drawn belong to nobody, so weights per person or group cannot be theirs; use a "
            "profile without overrides that rescales nobody's weights."
        )
    if context.absent_policy == "error":
        return "Records are drawn at random; choose the absent policy zero or add_self."
    if context.model.name == "III_raw":
        return "The model III_raw is for evaluation of given records only; choose III."
    return None


def _cost(context: MeasureContext, parameters: ParametricParameters) -> Cost:
    table, n = context.table, parameters.samples
    fitted(table, parameters.smoothing, parameters.marginals)
    block = min(n, DRAWS_PER_BLOCK)
    counting = context.counter.choose(block, -(-n // DRAWS_PER_BLOCK))
    seconds = n * (table.n_attributes + 4) * SECONDS_PER_CELL + counting.seconds
    size = 8 * block * (2 * table.n_attributes + 10) + 24 * n
    return Cost(seconds, size + counting.bytes, n, counting.engine)


PARAMETRIC_RISK: Final = Measure(
    name="parametric_risk",
    title="Risk of records drawn from a distribution",
    source="Definitions: record distributions",
    guarantee="statistical",
    parameters=ParametricParameters,
    result=ParametricRisk,
    needs=frozenset({"rule", "dictionary", "sensitivity"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "what would be the risk of members yet to come?",
        "proposal-parametric",
        rule="proposal",
        dictionary="census",
        sensitivity="members-harm",
        parameters={"samples": 20000, "smoothing": 0.5},
    ),
)
