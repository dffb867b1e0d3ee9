"""ℓ-diversity of a release in all its readings (Machanavajjhala (2008), sections 3.4 and 3.7)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final

import numpy as np
import numpy.typing as npt
from annotated_types import Ge, Gt, Le, Len, doc

from app.domain.arrays import Bools, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_ONE, HIDING, HIGH
from app.domain.classes import diversity
from app.domain.classes.diversity import RankedCounts, corrected_values, has_corrected_entropy, ranked
from app.domain.classes.ratios import as_written
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.errors import InvalidInput
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import CorrectedEntropyLDiversity, EntropyLDiversity
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on
from app.domain.models.judging import Others
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.models.sensitive_values import (
    GroupingOfDiversity,
    SensitiveValues,
    cost_of_counting,
    sensitive_values,
)
from app.domain.tables.numbers import exact_sum

SECONDS_PER_READINGS: Final = 3e-3
"""What the readings of one attribute take on Adult beside counting its values."""

ONE_RECORD: Final = "Everybody has one value and one record: of persons who repeat nothing is promised."
SEVERAL: Final = (
    "A person may have several values: to rule one of them out can make another certain, and so can two "
    "known facts of one person."
)
ASSUMED: Final = (
    "Values are words without meaning: several that mean much the same, or amounts that lie close together, "
    "count as different.",
    "This is the only release of these records: several releases can be intersected.",
    "No value says anything about another person's: what is known of families or friends is not counted.",
)


@dataclass(frozen=True, kw_only=True)
class LDiversityParameters(GroupingOfDiversity):
    """Which attributes are judged, and what to compare them with."""

    attributes: Annotated[
        tuple[Annotated[str, Len(1, 200)], ...] | None,
        Len(1, 100),
        doc("Sensitive attributes to judge; null: all of the role sensitive."),
    ] = None
    others: Annotated[
        Others,
        doc(
            "Whether the other sensitive attributes split the classes further (`in_classes`): whoever knows "
            "one of them must not learn this one from it; or are left aside (`apart`)."
        ),
    ] = "in_classes"
    l: Annotated[  # noqa: E741
        int, Ge(1), Le(100_000), doc("Classes that are less than ℓ-diverse are counted as failing.")
    ] = 2
    c: Annotated[
        float,
        Gt(0),
        Le(1e9),
        doc("The c of recursive (c, ℓ)-diversity, taken as the decimal it is written as."),
    ] = 3.0
    deepest: Annotated[
        int, Ge(2), Le(50), doc("Least c and posterior are told for ℓ from 2 up to this one.")
    ] = 5
    confidence: Annotated[
        float, Gt(0), Le(1), doc("How sure of a value an attacker must become to count as having learnt it.")
    ] = 0.95


@dataclass(frozen=True)
class Reading:
    """One reading of ℓ, over the classes."""

    value: Annotated[float | None, doc("ℓ of the least diverse class; null if no class has a value.")]
    mean: Annotated[float | None, doc("Mean of ℓ over classes, each counted once.")]
    attainable: Annotated[
        float, doc("ℓ of the whole table as one class: no generalisation of all records has more.")
    ]
    is_met: Annotated[bool, doc("Whether every class is as diverse as asked.")]
    classes_failing: Annotated[int, doc("Classes that are not.")]
    records_failing: Annotated[int, doc("Records in these classes.")]
    worst: Annotated[ClassRef | None, doc("The least diverse class, the first of equals.")]


@dataclass(frozen=True)
class RecursiveBound:
    """With which c recursive (c, ℓ)-diversity holds, and what an attacker can believe."""

    l: Annotated[int, doc("ℓ.")]  # noqa: E741
    c_min: Annotated[
        float,
        doc("It holds for every c above this and for no other; infinite if some class has fewer values."),
    ]
    attainable: Annotated[
        float, doc("The same of the whole table as one class: no generalisation of all records has less.")
    ]
    posterior: Annotated[
        float, doc("Greatest belief in one value of an attacker who can rule out ℓ − 2 others of a class.")
    ]
    most_frequent: Annotated[int, doc("Records of the worst class with its most frequent value: r_1.")]
    tail: Annotated[
        int, doc("Records of the worst class with values of rank ℓ or above: c_min is r_1 divided by this.")
    ]
    value: Annotated[CellValue | None, doc("The most frequent value of the worst class.")]
    ruled_out: Annotated[tuple[CellValue, ...], doc("The values whose exclusion serves the attacker best.")]
    worst: Annotated[ClassRef | None, doc("The class of the greatest c_min, the first of equals.")]


@dataclass(frozen=True)
class NegationShare:
    """Records that so many negations expose."""

    negations: Annotated[int, doc("Values that an attacker must be able to rule out of a person.")]
    records: Annotated[int, doc("Records whose class then shows one value with the confidence asked for.")]


@dataclass(frozen=True)
class EntropyEstimate:
    """Entropy ℓ with Grassberger's correction: classes are taken for samples, without a bound of error."""

    value: Annotated[float | None, doc("ℓ of the least diverse class; null if no class has a value.")]
    classes_failing: Annotated[int, doc("Classes that are less diverse than asked.")]
    records_failing: Annotated[int, doc("Records in these classes.")]
    worst: Annotated[ClassRef | None, doc("The least diverse class, the first of equals.")]


@dataclass(frozen=True)
class AttributeDiversity:
    """How diverse one sensitive attribute is within the classes."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    split_by: Annotated[
        tuple[str, ...], doc("Other sensitive attributes that are taken as known and split the classes.")
    ]
    classes: Annotated[int, doc("Classes that were judged, after the split.")]
    values: Annotated[int, doc("Different values of the attribute in the whole table.")]
    records_without_value: Annotated[int, doc("Records in a class whose missing value does not count.")]
    distinct: Annotated[Reading, doc("Different values per class; asked for: ℓ.")]
    frequency: Annotated[Reading, doc("1 / share of the most frequent value per class; asked for: ℓ.")]
    entropy: Annotated[
        Reading,
        doc(
            "exp(entropy) per class, not rounded: so many equally frequent values would be as diverse; "
            "asked for: ℓ. Where persons are counted each weighs one in a class, divided among own records."
        ),
    ]
    recursive: Annotated[
        Reading,
        doc(
            "Greatest ℓ with which a class is recursively (c, ℓ)-diverse; asked for: ℓ with the c given. "
            "Of the same weights, where persons are counted."
        ),
    ]
    bounds: Annotated[
        tuple[RecursiveBound, ...],
        doc("Per ℓ the least c, and the attacker it stands for; none where persons are counted."),
    ] = ()
    least_negations: Annotated[
        int | None, doc("Fewest negations with which some class shows a value with the confidence asked for.")
    ] = None
    negations: Annotated[
        tuple[NegationShare, ...], doc("How many records so many negations expose, and no fewer; ascending.")
    ] = ()
    corrected_entropy: Annotated[
        EntropyEstimate | None,
        doc(
            "exp(entropy) per class as Grassberger's correction estimates it, at most the values that the "
            "class shows; heuristic. null: measured before there was this estimate."
        ),
    ] = None
    least_negations_in: Annotated[
        ClassRef | None,
        doc("The class of least_negations, the first of equals. null also: measured before it was told."),
    ] = None


@dataclass(frozen=True)
class LDiversity:
    """How well sensitive values hide within classes: the least over all attributes, then each of them."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    distinct_l: Annotated[
        float | None, FROM_ONE, HIDING, doc("Least number of different values in a class, of any attribute.")
    ]
    frequency_l: Annotated[
        float | None, FROM_ONE, HIDING, doc("1 / greatest share of a value in a class, of any attribute.")
    ]
    entropy_l: Annotated[
        float | None, FROM_ONE, HIDING, doc("Least exp(entropy) of a class, of any attribute.")
    ]
    recursive_l: Annotated[
        float | None, HIDING, doc("Greatest ℓ with which all attributes are recursively (c, ℓ)-diverse.")
    ]
    attributes: Annotated[tuple[AttributeDiversity, ...], doc("The attributes, in the schema's order.")]
    weaknesses: Annotated[tuple[str, ...], doc("What these numbers do not protect from.")]
    corrected_entropy_l: Annotated[
        float | None,
        FROM_ONE,
        HIGH,
        doc(
            "Least exp(entropy) of a class, of any attribute, with Grassberger's correction; an estimate "
            "without a bound of its error. null also where it was measured before there was this estimate."
        ),
    ] = None


def _reading(
    values: SensitiveValues, of_class: npt.NDArray[np.float64], passes: Bools, attainable: float
) -> Reading:
    scores, failing = of_class[values.judged], values.judged & ~passes
    return Reading(
        value=float(scores.min()) if len(scores) else None,
        mean=exact_sum(scores) / len(scores) if len(scores) else None,
        attainable=attainable,
        is_met=not failing.any(),
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=values.records_of(failing),
        worst=values.ref(values.worst(-of_class)),
    )


def _estimate(values: SensitiveValues, ell: int) -> EntropyEstimate:
    found = _reading(
        values, corrected_values(values.counts), has_corrected_entropy(values.counts, ell), attainable=0.0
    )
    return EntropyEstimate(found.value, found.classes_failing, found.records_failing, found.worst)


def _shares(counts: SensitiveCounts) -> npt.NDArray[np.float64]:
    """(G,) N / r_1."""
    return np.asarray(counts.sizes / np.maximum(diversity.most_frequent(counts), 1))


def _bound(values: SensitiveValues, ranks: RankedCounts, whole: RankedCounts, ell: int) -> RecursiveBound:
    least = diversity.least_c(ranks, ell)
    worst = values.worst(least)
    ordered = () if worst is None else values.by_frequency(worst)
    return RecursiveBound(
        l=ell,
        c_min=0.0 if worst is None else float(least[worst]),
        attainable=float(diversity.least_c(whole, ell)[0]),
        posterior=float(diversity.worst_posterior(ranks, ell - 2).max(initial=0.0)),
        most_frequent=0 if worst is None else int(ranks.first[worst]),
        tail=0 if worst is None else int(ranks.tail(ell)[worst]),
        value=ordered[0] if ordered else None,
        ruled_out=ordered[1 : ell - 1],
        worst=values.ref(worst),
    )


def _negations(values: SensitiveValues, needed: Longs) -> tuple[NegationShare, ...]:
    records = np.bincount(needed[values.judged], values.classes.records[values.judged])
    return tuple(NegationShare(j, int(records[j])) for j in np.flatnonzero(records).tolist())


def _diversity_of(
    values: SensitiveValues, weighed: SensitiveValues, parameters: LDiversityParameters
) -> AttributeDiversity:
    """The readings; ``weighed`` are the distributions of the values, where persons weigh one each."""
    counts, single, ell, c = values.counts, values.in_one_class(), parameters.l, as_written(parameters.c)
    distinct = diversity.distinct_values(counts)
    ranks, whole = ranked(weighed.counts), ranked(weighed.in_one_class())
    deepest = diversity.deepest_recursion(ranks, c)
    found = AttributeDiversity(
        attribute=values.name,
        split_by=values.others,
        classes=int(np.count_nonzero(values.judged)),
        values=int(single.distinct[0]),
        records_without_value=values.without_value,
        distinct=_reading(
            values,
            distinct.astype(np.float64),
            distinct >= ell,
            float(diversity.distinct_values(single)[0]),
        ),
        frequency=_reading(
            values,
            _shares(counts),
            diversity.most_frequent(counts) * ell <= counts.sizes,
            float(_shares(single)[0]),
        ),
        entropy=_reading(
            values,
            diversity.effective_entropy(weighed.counts),
            diversity.has_entropy(weighed.counts, ell),
            float(diversity.effective_entropy(weighed.in_one_class())[0]),
        ),
        recursive=_reading(
            values,
            deepest.astype(np.float64),
            deepest >= ell,
            float(diversity.deepest_recursion(whole, c)[0]),
        ),
    )
    if counts.persons is not None:
        return found
    needed = diversity.needed_negations(ranks, as_written(parameters.confidence))
    negations = _negations(values, needed)
    return replace(
        found,
        bounds=tuple(_bound(values, ranks, whole, depth) for depth in range(2, parameters.deepest + 1)),
        least_negations=negations[0].negations if negations else None,
        negations=negations,
        corrected_entropy=_estimate(values, ell),
        least_negations_in=values.ref(values.worst(-needed.astype(np.float64))),
    )


def _weaknesses(found: Sequence[AttributeDiversity], *, persons: bool) -> tuple[str, ...]:
    """What holds of every reading, of records or of ``persons``, and what the numbers at hand show."""
    skewed = [
        f"{own.attribute}: the least entropy ℓ is {own.entropy.value:.4g}, yet one value has "
        f"{1 / own.frequency.value:.1%} of a class. Entropy does not bound what an attacker may believe."
        for own in found
        if own.entropy.value and own.frequency.value and own.frequency.value < own.entropy.value - 1e-9
    ]
    apart = [
        f"{own.attribute}: other sensitive attributes were left aside; whoever knows one of them may "
        "conclude this one."
        for own in found
        if len(found) > 1 and not own.split_by
    ]
    return (SEVERAL if persons else ONE_RECORD, *ASSUMED, *skewed, *apart)


def _names(context: MeasureContext, parameters: LDiversityParameters) -> tuple[str, ...]:
    """The attributes to judge, in the schema's order."""
    table = context.table
    if parameters.attributes is None:
        if not table.sensitive:
            raise InvalidInput.of(
                "/measure/attributes",
                "no-sensitive-attribute",
                "No attribute of the dataset has the role sensitive.",
                "Name the attributes to judge, and leave them out of quasi_identifiers.",
            )
        return tuple(name for name in table.attributes if name in table.sensitive)
    named = {context.release.sensitive(name, "/measure/attributes") for name in parameters.attributes}
    return tuple(name for name in table.attributes if name in named)


def _compute(context: MeasureContext, parameters: LDiversityParameters, tick: Tick) -> LDiversity:
    found = []
    names = _names(context, parameters)
    for done, name in enumerate(names, start=1):
        values = sensitive_values(context, parameters, name, parameters.others, names)
        weighed = sensitive_values(context, parameters, name, parameters.others, names, weighed=True)
        found.append(_diversity_of(values, weighed, parameters))
        tick(done)
    return LDiversity(
        judged=judged_on(context.table, parameters, context.release.classes(parameters)),
        distinct_l=_least([own.distinct for own in found]),
        frequency_l=_least([own.frequency for own in found]),
        entropy_l=_least([own.entropy for own in found]),
        recursive_l=_least([own.recursive for own in found]),
        attributes=tuple(found),
        weaknesses=_weaknesses(found, persons=context.table.persons is not None),
        corrected_entropy_l=_least([own.corrected_entropy for own in found]),
    )


def _least(readings: Sequence[Reading | EntropyEstimate | None]) -> float | None:
    values = [own.value for own in readings if own is not None and own.value is not None]
    return min(values, default=None)


def _cost(context: MeasureContext, parameters: LDiversityParameters) -> Cost:
    n_attributes = len(_names(context, parameters))
    return cost_of_counting(context, n_attributes, n_attributes * SECONDS_PER_READINGS)


L_DIVERSITY: Final = Measure(
    name="l_diversity",
    version=2,
    title="ℓ-diversity: distinct, frequency, entropy and recursive",
    source="Machanavajjhala et al. (2007); Machanavajjhala (2008), definitions 3.7, 3.8, 3.11, 3.12",
    guarantee="exact",
    parameters=LDiversityParameters,
    result=LDiversity,
    cost=_cost,
    compute=_compute,
    criteria=(DistinctLDiversity, EntropyLDiversity, CorrectedEntropyLDiversity, RecursiveLDiversity),
    example=Example(
        "how many incomes are there in each equivalence class?",
        "proposal-diversity",
        rule="proposal",
        parameters={"l": 2, "c": 3.0, "deepest": 3},
    ),
    by_persons=COUNTS_PERSONS,
)
