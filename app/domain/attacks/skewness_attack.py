"""The skewness attack: who is suspected of a sensitive value more than before (Li et al. (2007))."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Gt, Le, Len, doc

from app.domain.arrays import Bools, Floats, Longs, greatest_first
from app.domain.catalogue.catalogue_types import ADDED_LATER, CellValue
from app.domain.catalogue.meanings import FAILING, FROM_MINUS_ONE, GAIN, LOW_SHARE, SHARE
from app.domain.classes.diversity import most_frequent
from app.domain.classes.gains import CAP_TOLERANCE, frequency_bounds
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import records_per_entry, value_numbers
from app.domain.errors import InvalidInput
from app.domain.mechanisms.posteriors import Posteriors
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.drawn_gains import (
    TOLERANCE,
    DrawnGains,
    KnownBefore,
    judged_by_value,
    known_before,
    matrix_and_prior_of,
    numbers_shown,
    other_attribute,
)
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.gains_found import GainFound, GainsOfClasses, require_values
from app.domain.models.judged import JudgedOn, judged_on
from app.domain.models.sensitive_values import (
    GroupingOfValues,
    SensitiveAttribute,
    SensitiveValues,
    cost_of_counting,
    sensitive_values,
)
from app.domain.tables.numbers import exact_sum

SECONDS_PER_RECORD: Final = 5.5e-8


@dataclass(frozen=True, kw_only=True)
class SkewnessParameters(GroupingOfValues):
    """Of what attribute, and from what gain on somebody counts as exposed."""

    attribute: SensitiveAttribute = None
    gain: Annotated[
        float,
        Gt(0),
        Le(1e6),
        doc("Records are exposed if some value has become more likely by more than this: 1 is twice."),
    ] = 1.0
    top: Annotated[int, Ge(1), Le(200), doc("Most classes and values to list.")] = 10
    known: Annotated[
        Mapping[CellValue, Annotated[int, Ge(1), Le(10**12)]] | None,
        Len(1, 100_000),
        ADDED_LATER,
        doc(
            "Of how many other people the attacker knows that they have each value; of releases that were "
            "drawn only. The gain stays relative to the published shares. null: of nobody."
        ),
    ] = None


@dataclass(frozen=True)
class RaisedValue:
    """A value that some classes have become suspected of."""

    value: Annotated[CellValue, doc("The value.")]
    in_table: Annotated[float, doc("p: its share of the whole table.")]
    greatest_in_class: Annotated[float, doc("q: its greatest share of a class.")]
    classes: Annotated[int, doc("Classes in which it has become more likely by more than the gain.")]
    records: Annotated[int, doc("Records in these classes.")]
    with_value: Annotated[
        int,
        doc(
            "Records with the value among those that cannot be told from these, class by class; rows that "
            "show it, if it was drawn."
        ),
    ]


@dataclass(frozen=True)
class SkewnessAttack:
    """Who is exposed by what their class has more of than the table, and how well guessing goes."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    classes_exposed: Annotated[
        int, FAILING, doc("Classes with a relative gain above the one asked for on some value.")
    ]
    records_exposed: Annotated[int, FAILING, doc("Records in these classes.")]
    share_exposed: Annotated[float, SHARE, FAILING, doc("The same in parts of the records judged.")]
    worst_posterior: Annotated[float | None, LOW_SHARE, doc("Greatest share of a value in a class.")]
    worst_gain: Annotated[float | None, FROM_MINUS_ONE, GAIN, doc("Greatest relative gain (q − p) / p.")]
    success_rate: Annotated[
        float | None,
        LOW_SHARE,
        doc(
            "Expected share of records of which the most frequent value of the class, or the most probable "
            "one after what was drawn, is right."
        ),
    ]
    success_before: Annotated[float, SHARE, doc("The same of the most frequent value of the whole table.")]
    by_value: Annotated[
        tuple[RaisedValue, ...], doc("What records are suspected of, most records first, at most `top`.")
    ]
    worst: Annotated[
        tuple[GainFound, ...],
        doc("Exposed classes of greatest gain; the bound f(p) is enhanced β-likeness with this gain as β."),
    ]
    greatest_prior_shift: Annotated[
        float | None,
        SHARE,
        doc(
            "Greatest change of the probability of a value by what is `known` of other people, before the "
            "row is read; null if nothing is."
        ),
    ] = None


def _by_value(values: SensitiveValues, own: Longs, raised: Bools, top: int) -> tuple[RaisedValue, ...]:
    """What is suspected; ``own`` (E,) are the records of the classes themselves that have each value."""
    counts = values.counts
    of_value, of_class = counts.values[raised], counts.of_entry[raised]
    m = counts.n_values
    classes = np.bincount(of_value, minlength=m)
    records = np.bincount(of_value, values.classes.records[of_class], m).astype(np.int64)
    with_value = np.bincount(of_value, own[raised], m).astype(np.int64)
    greatest = np.zeros(m)
    np.maximum.at(greatest, of_value, counts.counts[raised] / counts.sizes[of_class])
    order = greatest_first(records, min(top, int(np.count_nonzero(classes))))
    total = counts.population
    return tuple(
        RaisedValue(
            value=values.label(v),
            in_table=int(counts.totals[v]) / total,
            greatest_in_class=float(greatest[v]),
            classes=int(classes[v]),
            records=int(records[v]),
            with_value=int(with_value[v]),
        )
        for v in order.tolist()
    )


def _compute(context: MeasureContext, parameters: SkewnessParameters, tick: Tick) -> SkewnessAttack:
    if context.drawn is not None:
        return _of_draw(context, parameters, tick)
    values = sensitive_values(context, parameters, parameters.attribute, "apart")
    require_values(values)
    counts, gain = values.counts, as_written(parameters.gain)
    total = counts.population
    listed = GainsOfClasses(values, counts, frequency_bounds(counts.totals, total, gain, "enhanced"))
    raised = listed.gains.exceed(gain, "basic")
    exposed = np.zeros(counts.n_classes, dtype=bool)
    exposed[counts.of_entry[raised]] = True
    first, sizes = most_frequent(counts)[values.judged], counts.sizes[values.judged]
    own = values.classes.records[values.judged]
    records = values.records_of(exposed)
    highest = listed.one_per_class()
    tick(1)
    # Without those that a class may only be confused with.
    of_record = values.classes.of_record
    shown, _ = context.release.values(parameters, values.name)
    numbers = value_numbers(counts, shown, values.hierarchy.n_nodes)
    own_records = records_per_entry(
        counts.starts, counts.values, counts.n_values, of_record, numbers, of_record >= 0
    )
    return SkewnessAttack(
        judged=judged_on(context.table, parameters, values.classes),
        attribute=values.name,
        classes_exposed=int(np.count_nonzero(exposed)),
        records_exposed=records,
        share_exposed=records / values.classes.n_judged if values.classes.n_judged else 0.0,
        worst_posterior=float((first / sizes).max()) if len(sizes) else None,
        worst_gain=max(0.0, float(listed.gains.relative.max())) if len(sizes) else None,
        success_rate=exact_sum(first / sizes * own) / int(own.sum()) if len(sizes) else None,
        success_before=int(counts.totals.max()) / total,
        by_value=_by_value(values, own_records, raised, parameters.top),
        worst=listed.greatest(highest[raised[highest]], parameters.top),
    )


def _of_draw(context: MeasureContext, parameters: SkewnessParameters, tick: Tick) -> SkewnessAttack:
    """Every value that can be published plays the part of a class, by what it makes a reader believe."""
    drawn, published = matrix_and_prior_of(context)
    public, gain = known_before(context, published, None), as_written(parameters.gain)
    gains = DrawnGains(
        published, public.prior, public.bounds(gain, "enhanced"), numbers_shown(drawn, published)
    )
    rows, prior, n = gains.rows, _prior_of(parameters, public, published.values), len(gains.numbers)
    shift, posteriors = prior / public.prior, Posteriors(published.matrix, prior)
    with np.errstate(divide="ignore"):
        raised = posteriors.above((1 + float(gain)) * (1 + TOLERANCE) / shift)
    exposed, greatest = raised.published(), np.zeros(len(prior))
    of_values = posteriors.greatest_of_values()
    greatest[of_values.true] = of_values.ratios
    likeliest = posteriors.greatest_of_published(prior)
    highest = posteriors.greatest_of_published(shift).times(shift)
    beliefs = prior[likeliest.true] * likeliest.ratios
    records, classes = raised.weights(rows), raised.counts()
    order = np.argsort(-records, kind="stable")
    tick(1)
    return SkewnessAttack(
        judged=judged_by_value(parameters, gains),
        attribute=published.attribute,
        classes_exposed=int(np.count_nonzero(exposed)),
        records_exposed=int(rows[exposed].sum()),
        share_exposed=int(rows[exposed].sum()) / n,
        worst_posterior=float(beliefs.max()),
        worst_gain=max(0.0, float(highest.ratios.max()) - 1),
        success_rate=exact_sum(beliefs * rows) / n,
        success_before=float(prior.max()),
        by_value=tuple(
            RaisedValue(
                value=published.values[i],
                in_table=float(public.prior[i]),
                greatest_in_class=float(prior[i] * greatest[i]),
                classes=int(classes[i]),
                records=int(records[i]),
                with_value=int(rows[i]) if raised.own[i] else 0,
            )
            for i in order[classes[order] > 0][: parameters.top].tolist()
        ),
        worst=gains.found(highest.of(exposed), parameters.top),
        greatest_prior_shift=None if parameters.known is None else float(np.abs(prior - public.prior).max()),
    )


def _prior_of(parameters: SkewnessParameters, public: KnownBefore, values: Sequence[CellValue]) -> Floats:
    """(m,) what the attacker expects of a person of whom nothing is known: the published shares, or the rest.

    Records are drawn one by one, so that what is known of some tells nothing of what others' rows show: it
    only moves the prior to (N_i − known_i) / (N − Σ known). Published shares of a reference say how many
    records to expect, which need not be a whole number.
    """
    if parameters.known is None:
        return public.prior
    left, whole = public.totals.copy(), np.rint(public.totals)
    # Shares of the table itself are those of whole numbers, up to rounding.
    is_whole = np.abs(left - whole) <= CAP_TOLERANCE * public.total
    left[is_whole] = whole[is_whole]
    number = {value: i for i, value in enumerate(values)}
    for value, records in parameters.known.items():
        most = float(left[number[value]]) if value in number else 0.0
        if records > most:
            raise InvalidInput.of(
                "/measure/known",
                "more-known-than-there-are",
                f"By the published shares {most:,.12g} of {public.total:,.12g} records have the value "
                f"{str(value)!r}; {records:,} are said to be known.",
                "Name values that are published, with at most as many records.",
            )
        left[number[value]] -= records
    if not left.any():
        raise InvalidInput.of(
            "/measure/known",
            "nobody-left",
            "All records are said to be known.",
            "Leave one at least of whom the release can tell something.",
        )
    return np.asarray(left / left.sum())


def _supports(context: MeasureContext, parameters: SkewnessParameters) -> str | None:
    if context.drawn is not None:
        return other_attribute(context, parameters.attribute)
    if parameters.known is None:
        return None
    return (
        "What is known of other people tells more of a class the more of them are in it, and the parameter "
        "known does not say in which they are. Leave it out, or measure a release that was drawn."
    )


def _cost(context: MeasureContext, parameters: SkewnessParameters) -> Cost:
    """That of counting the values twice: of who is in a class, and of whom it may be confused with."""
    cost = cost_of_counting(context, 1)
    return replace(cost, seconds=cost.seconds + context.table.n_records * SECONDS_PER_RECORD)


SKEWNESS_ATTACK: Final = Measure(
    name="skewness_attack",
    version=2,
    title="Skewness attack: sensitive values that a class has too much of",
    source="Li et al. (2007), section 3; Cao and Karras (2012), definition 1",
    guarantee="exact",
    parameters=SkewnessParameters,
    result=SkewnessAttack,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "who is suspected of an income far more than before?",
        "proposal-skewness",
        rule="proposal",
        parameters={"gain": 1.5, "top": 3},
    ),
    judges=lambda own, value: BetaLikeness(own.gain, "basic", own.attribute),
    reads=frozenset({"records", "matrix_and_prior"}),
    by_persons=COUNTS_PERSONS,
)
