"""The whole risk profile of a release: the figure of every class-based model, from one grouping.

Nothing is computed here that a measure of its own does not compute: each is asked with its defaults and the
same grouping, and its figures are put side by side with the classes that they come from.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, Final, Literal

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.analyses.distinction_and_separation import (
    DISTINCTION_AND_SEPARATION,
    Distinction,
    DistinctionParameters,
)
from app.domain.analyses.singling_out import SINGLING_OUT, SinglingOut, SinglingOutParameters
from app.domain.attacks.background_knowledge_attack import (
    BACKGROUND_KNOWLEDGE_ATTACK,
    seconds_of_eliminations,
)
from app.domain.attacks.background_results import BackgroundKnowledgeAttack
from app.domain.attacks.homogeneity_attack import HOMOGENEITY_ATTACK, HomogeneityAttack
from app.domain.attacks.similarity_attack import SIMILARITY_ATTACK, SimilarityAttack
from app.domain.attacks.skewness_attack import SKEWNESS_ATTACK, SkewnessAttack
from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.catalogue.meanings import LOW
from app.domain.catalogue.result_values import ResultValue, found_in, values_of
from app.domain.classes.grouping import Grouping, positions_of, seconds_of_grouping
from app.domain.classes.released import Release
from app.domain.counting.threads import in_order
from app.domain.errors import NotSupported
from app.domain.models.alpha_k_anonymity import ALPHA_K_ANONYMITY, AlphaKAnonymityFound
from app.domain.models.beta_likeness import BETA_LIKENESS
from app.domain.models.criterion import COUNTS_PERSONS
from app.domain.models.delta_disclosure import DELTA_DISCLOSURE, DeltaDisclosureFound
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on
from app.domain.models.k_anonymity import EQUIVALENCE_CLASSES, EquivalenceClassesFound
from app.domain.models.l_diversity import L_DIVERSITY, LDiversity
from app.domain.models.likeness_found import BetaLikenessFound
from app.domain.models.reading import unreadable
from app.domain.models.reidentification_risk import ATTACKER_MODELS, AttackerModels
from app.domain.models.sensitive_values import GroupingOfDiversity
from app.domain.models.t_closeness import T_CLOSENESS, TClosenessFound
from app.domain.tables.distinct import one_of_each
from app.domain.tables.masks import shows_nothing

Safer = Literal["higher", "lower"]

MOST_CONTRIBUTING: Final = 100
"""Columns of which it is told what each adds: that takes a grouping by all but it."""

MOST_AT_ONCE: Final = 2
"""Attributes that are judged beside each other, where there are so many threads: each takes memory."""

SECONDS_PER_ATTRIBUTE: Final = 0.035
SECONDS_PER_RECORD: Final = 2.1e-7
SECONDS_PER_VALUE: Final = 2e-5


@dataclass(frozen=True, kw_only=True)
class PrivacyProfileParameters(GroupingOfDiversity):
    """What counts as sensitive and as at risk."""

    attributes: Annotated[
        tuple[Annotated[str, MaxLen(1000)], ...] | None,
        Len(1, 100),
        doc("Sensitive attributes to judge; null: all of the role sensitive, there may be none."),
    ] = None
    threshold: Annotated[
        float, Ge(0), Le(1), doc("A record is at risk if its probability of re-identification is above this.")
    ] = 0.2
    contributions: Annotated[
        bool,
        ADDED_LATER,
        doc("Whether it is told, too, what each column that classes are made of tells apart."),
    ] = False
    singled_out: Annotated[
        bool, ADDED_LATER, doc("Whether it is told, too, which sets of these columns single people out.")
    ] = False


@dataclass(frozen=True)
class Figure:
    """One number of the profile."""

    measure: Annotated[str, doc("The measure that explains it and tells more.")]
    name: Annotated[
        str, doc("Which of its numbers; in brackets the ℓ, or how many values an attacker can rule out.")
    ]
    attribute: Annotated[str | None, doc("The sensitive attribute; null if it is about classes alone.")]
    value: Annotated[float | None, doc("The number; null if there is nothing to judge.")]
    safer: Annotated[Safer, doc("Whether higher or lower numbers are safer.")]
    worst: Annotated[ClassRef | None, doc("The class that it comes from, where it comes from one.")]


@dataclass(frozen=True)
class LeftOut:
    """A measure that the data do not have."""

    measure: Annotated[str, doc("The measure.")]
    attribute: Annotated[str | None, doc("The sensitive attribute.")]
    reason: Annotated[str, doc("Why, and what would make it possible.")]


@dataclass(frozen=True)
class ValuesAlone:
    """A sensitive attribute by which whoever knows a value finds a person."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    records: Annotated[int, LOW, doc("Records that show a value of it which no other person's record shows.")]


@dataclass(frozen=True)
class PrivacyProfile:
    """What the models of equivalence classes say of a release, side by side."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    sensitive: Annotated[tuple[str, ...], doc("The sensitive attributes that were judged.")]
    figures: Annotated[
        tuple[Figure, ...], doc("One per model and attribute: classes first, then attribute by attribute.")
    ]
    left_out: Annotated[tuple[LeftOut, ...], doc("Measures, or numbers of one, that the data do not have.")]
    contributions: Annotated[
        Distinction | None,
        doc(
            "If asked for, what the columns that classes are made of tell apart: all, each alone, and all "
            f"but each; of more than {MOST_CONTRIBUTING} the first {MOST_CONTRIBUTING}. Null if it was not "
            "asked for."
        ),
    ] = None
    singled_out: Annotated[
        SinglingOut | None,
        doc("If asked for, what singles people out by these columns; null if it was not asked for."),
    ] = None
    values_alone: Annotated[
        tuple[ValuesAlone, ...] | None,
        doc("With it, the sensitive attributes that single people out by themselves; null without."),
    ] = None


_Found = tuple[str, float | None, ClassRef | None]
_OfPart = tuple[Figure | LeftOut, ...]
_OfColumns = DistinctionParameters | SinglingOutParameters


@dataclass(frozen=True)
class _Part:
    """A measure and the figures of its result: ``takes`` is how it is told the attribute, if it is."""

    measure: Measure[Any, Any]
    figures: Callable[[Any], Iterator[_Found]]
    takes: Literal["attribute", "attributes"] | None = None

    @cached_property
    def _values(self) -> tuple[ResultValue, ...]:
        return values_of(self.measure.result)

    def safer(self, name: str) -> Safer:
        """By the mark of the number; those of lists, which have no path, are the safer the lower."""
        value = found_in(self._values, name)
        return "higher" if value is not None and value.marks.safer == "high" else "lower"


def _of_classes(found: EquivalenceClassesFound) -> Iterator[_Found]:
    yield "k", found.k, found.worst
    yield "mean_size", found.mean_size, None
    yield "unique_share", found.unique_share, None


def _of_attackers(found: AttackerModels) -> Iterator[_Found]:
    prosecutor, journalist = found.prosecutor, found.journalist
    yield "prosecutor.highest", prosecutor.highest, prosecutor.worst_class
    yield "prosecutor.average_per_record", prosecutor.average_per_record, None
    yield "prosecutor.share_at_risk", prosecutor.share_at_risk, None
    if journalist is not None:
        yield "journalist.highest", journalist.highest, journalist.worst_class
        yield "journalist.average", journalist.average, None
        yield "journalist.share_at_risk", journalist.share_at_risk, None
    yield "marketer.share_re_identified", found.marketer.share_re_identified, None


def _of_diversity(found: LDiversity) -> Iterator[_Found]:
    (own,) = found.attributes
    yield "distinct_l", own.distinct.value, own.distinct.worst
    yield "entropy_l", own.entropy.value, own.entropy.worst
    for bound in own.bounds[:2]:
        yield f"c_min({bound.l})", bound.c_min, bound.worst


def _of_shares(found: AlphaKAnonymityFound) -> Iterator[_Found]:
    yield "alpha", found.alpha, found.worst


def _of_distances(found: TClosenessFound) -> Iterator[_Found]:
    for own in found.distances:
        yield f"t.{own.distance}", own.t, own.worst


def _of_ratios(found: DeltaDisclosureFound) -> Iterator[_Found]:
    yield "delta.natural", found.delta.natural, found.worst
    yield "delta_of_present.natural", found.delta_of_present.natural, found.worst_of_present


def _of_gains(found: BetaLikenessFound) -> Iterator[_Found]:
    worst = None if found.worst is None else found.worst.exposed
    yield "beta_basic", found.beta_basic, worst
    yield "beta_enhanced", found.beta_enhanced, worst


def _of_skewness(found: SkewnessAttack) -> Iterator[_Found]:
    yield "share_exposed", found.share_exposed, None


def _of_similarity(found: SimilarityAttack) -> Iterator[_Found]:
    yield "worst_belief", found.worst_belief, found.worst[0].exposed if found.worst else None


def _of_knowledge(found: BackgroundKnowledgeAttack) -> Iterator[_Found]:
    for step in found.steps[:2]:
        yield f"share_exposed({step.negations})", step.share_exposed, None


def _of_homogeneity(found: HomogeneityAttack) -> Iterator[_Found]:
    largest = found.worst[0].exposed if found.worst else None
    yield "complete.share_of_records", found.complete.share_of_records, None
    yield "near.share_of_records", found.near.share_of_records, largest


_CLASSES: Final = (_Part(EQUIVALENCE_CLASSES, _of_classes), _Part(ATTACKER_MODELS, _of_attackers))
_ATTRIBUTES: Final = (
    _Part(L_DIVERSITY, _of_diversity, "attributes"),
    _Part(ALPHA_K_ANONYMITY, _of_shares, "attribute"),
    _Part(T_CLOSENESS, _of_distances, "attribute"),
    _Part(DELTA_DISCLOSURE, _of_ratios, "attribute"),
    _Part(BETA_LIKENESS, _of_gains, "attribute"),
    _Part(HOMOGENEITY_ATTACK, _of_homogeneity, "attribute"),
    _Part(BACKGROUND_KNOWLEDGE_ATTACK, _of_knowledge, "attribute"),
    _Part(SKEWNESS_ATTACK, _of_skewness, "attribute"),
    _Part(SIMILARITY_ATTACK, _of_similarity, "attribute"),
)


def _sensitive(context: MeasureContext, parameters: PrivacyProfileParameters) -> tuple[str, ...]:
    """The attributes to judge, in the schema's order; InvalidInput for one that the table does not have."""
    table = context.table
    if parameters.attributes is None:
        known = set(parameters.quasi_identifiers or ())
        return tuple(name for name in table.attributes if name in table.sensitive - known)
    named = {context.release.sensitive(name, "/measure/attributes") for name in parameters.attributes}
    return tuple(name for name in table.attributes if name in named)


def _grouping(parameters: PrivacyProfileParameters) -> dict[str, Any]:
    own = {field.name: getattr(parameters, field.name) for field in dataclasses.fields(Grouping)}
    if parameters.missing_sensitive == "most_frequent":
        del own["missing_sensitive"]  # each measure takes it as it usually does
    return own


def _questions(
    context: MeasureContext, parameters: PrivacyProfileParameters
) -> Iterator[tuple[_Part, Any, str | None]]:
    """Every part with its parameters and its attribute."""
    own = _grouping(parameters)
    for part in _CLASSES:
        threshold = {"threshold": parameters.threshold} if part.measure is ATTACKER_MODELS else {}
        yield part, part.measure.parameters(**own, **threshold), None
    for name in _sensitive(context, parameters):
        for part in _ATTRIBUTES:
            said: dict[str, Any] = (
                {"attribute": name} if part.takes == "attribute" else {"attributes": (name,)}
            )
            if part.measure is HOMOGENEITY_ATTACK:
                said["top_values"] = 1  # none is looked at, and each would be an object
            said["spellings"] = parameters.spellings
            yield part, part.measure.parameters(**own, **said), name


def _compute(context: MeasureContext, parameters: PrivacyProfileParameters, tick: Tick) -> PrivacyProfile:
    columns = tuple(_of_columns(context, parameters))
    found: dict[str | None, list[_OfPart]] = {}
    told: dict[str, Any] = {}
    for done, (attribute, own) in enumerate(_answers(context, parameters, columns), start=1):
        if isinstance(own, tuple):
            found.setdefault(attribute, []).append(own)
        else:
            told["contributions" if isinstance(own, Distinction) else "singled_out"] = own
        tick(done)
    sensitive = _sensitive(context, parameters)
    parts = [part for attribute in (None, *sensitive) for part in found[attribute]]
    if parameters.singled_out:
        alone = ((name, _records_alone(context.release, name)) for name in sensitive)
        told["values_alone"] = tuple(ValuesAlone(name, records) for name, records in alone if records)
    return PrivacyProfile(
        judged_on(context.table, parameters, context.release.classes(parameters)),
        sensitive,
        tuple(own for part in parts for own in part if isinstance(own, Figure)),
        tuple(own for part in parts for own in part if isinstance(own, LeftOut)),
        **told,
    )


def _records_alone(release: Release, attribute: str) -> int:
    """Records with a value that no other person has, of those that show one."""
    table, shown = release.table, release.codes[:, release.table.position(attribute)]
    kept = np.flatnonzero(~release.is_suppressed & ~shows_nothing(shown))
    values, whose = shown[kept], kept if table.persons is None else table.persons[kept]
    n_nodes = table.hierarchies[table.position(attribute)].n_nodes
    is_shared = np.zeros(n_nodes, dtype=bool)
    is_shared[values[whose != whose[one_of_each(values, n_nodes)[values]]]] = True
    return int(np.count_nonzero(~is_shared[values]))


def _answers(
    context: MeasureContext, parameters: PrivacyProfileParameters, columns: Sequence[_OfColumns]
) -> Iterator[tuple[str | None, _OfPart | Distinction | SinglingOut]]:
    """What each part says, and of which attribute: the classes first, for all others rest on them.

    Attributes are judged beside each other, as many as there may be threads; the parts of one attribute share
    what is counted of it, so that they wait for each other.
    """
    asked = list(_questions(context, parameters))
    for part, own, attribute in asked:
        if attribute is None:
            yield None, _figures(part, own, None, context)
    one_at_a_time = {attribute: threading.Lock() for _, _, attribute in asked}

    def answer(
        question: tuple[_Part, Any, str] | _OfColumns,
    ) -> tuple[str | None, _OfPart | Distinction | SinglingOut]:
        if isinstance(question, DistinctionParameters):
            return None, DISTINCTION_AND_SEPARATION.compute(context, question, lambda _: None)
        if isinstance(question, SinglingOutParameters):
            return None, SINGLING_OUT.compute(context, question, lambda _: None)
        part, own, attribute = question
        with one_at_a_time[attribute]:
            return attribute, _figures(part, own, attribute, context)

    by_part = sorted(
        ((part, own, attribute) for part, own, attribute in asked if attribute is not None),
        key=lambda question: _ATTRIBUTES.index(question[0]),
    )
    jobs: list[tuple[_Part, Any, str] | _OfColumns] = [*columns, *by_part]
    yield from in_order(answer, jobs, min(context.threads, MOST_AT_ONCE))


def _of_columns(context: MeasureContext, parameters: PrivacyProfileParameters) -> Iterator[_OfColumns]:
    """What is asked of the columns that classes are made of."""
    if parameters.contributions:
        columns = positions_of(context.table, parameters.quasi_identifiers)[:MOST_CONTRIBUTING]
        names = tuple(context.table.attributes[j] for j in columns)
        yield DistinctionParameters(columns=names, largest_set=1, shown=len(names), leave_one_out=True)
    if parameters.singled_out:
        yield SinglingOutParameters(**_grouping(parameters))


def _figures(part: _Part, asked: object, attribute: str | None, context: MeasureContext) -> _OfPart:
    """The figures of one measure, or why the data do not have it."""
    try:
        refusal = unreadable(part.measure, context, asked) or part.measure.supports(context, asked)
        if refusal is not None:
            raise NotSupported.because(refusal)
        found = part.measure.compute(context, asked, lambda _: None)
    except NotSupported as refused:
        return (LeftOut(part.measure.name, attribute, f"{refused.message} {refused.remedy}".strip()),)
    nothing = not found.judged.classes
    figures = (
        Figure(
            part.measure.name,
            name,
            attribute,
            None if value is None or nothing else float(value),
            part.safer(name),
            worst,
        )
        for name, value, worst in part.figures(found)
    )
    not_defined = getattr(found, "not_defined", ())
    return (*figures, *(LeftOut(part.measure.name, attribute, reason) for reason in not_defined))


def _cost(context: MeasureContext, parameters: PrivacyProfileParameters) -> Cost:
    """What the parts on classes cost, and by attribute what its parts take on counts that they share."""
    table = context.table
    asked = list(_questions(context, parameters))
    costs = [part.measure.cost(context, own) for part, own, _ in asked]
    seconds = sum(cost.seconds for cost, (_, _, attribute) in zip(costs, asked, strict=True) if not attribute)
    for name in _sensitive(context, parameters):
        values = len(table.used_nodes[table.position(name)])
        seconds += SECONDS_PER_ATTRIBUTE
        seconds += seconds_of_grouping(table, parameters) + seconds_of_eliminations(table)
        seconds += table.n_records * SECONDS_PER_RECORD + values * SECONDS_PER_VALUE
    for columns in _of_columns(context, parameters):
        is_distinction = isinstance(columns, DistinctionParameters)
        measure: Measure[Any, Any] = DISTINCTION_AND_SEPARATION if is_distinction else SINGLING_OUT
        costs.append(measure.cost(context, columns))
        seconds += costs[-1].seconds
    at_once = sorted(own.bytes for own in costs)[-MOST_AT_ONCE:]
    return Cost(seconds, sum(at_once), len(costs), "classes")


PRIVACY_PROFILE: Final = Measure(
    name="privacy_profile",
    version=2,
    title="The risk profile: every class-based model at once",
    source="The definitions of the measures that it names",
    guarantee="exact",
    parameters=PrivacyProfileParameters,
    result=PrivacyProfile,
    cost=_cost,
    compute=_compute,
    example=Example("what do all privacy models say of the rule?", "proposal-profile", rule="proposal"),
    by_persons=COUNTS_PERSONS,
)
