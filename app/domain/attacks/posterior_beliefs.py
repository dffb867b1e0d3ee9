"""What an attacker who knows the population believes before and after the release."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Interval, Le, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.attacks.beliefs import Contradicted, Inconsistent
from app.domain.attacks.believed_units import believed_units
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import HIGH, LOW, LOW_AMOUNT, LOW_SHARE, SHARE
from app.domain.classes.grouping import Grouping, SensitiveName, positions_of
from app.domain.errors import InvalidInput
from app.domain.models.drawn_gains import matrix_of, other_attribute
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick, given
from app.domain.models.judged import ROWS_NAMED, ClassRef, JudgedOn, judged_on
from app.domain.models.reading import unclassed
from app.domain.models.rho_privacy import RhoPrivacy
from app.domain.risk.bayes import PAIRS_AT_ONCE, BayesBlock, breaches
from app.domain.risk.population import Units, unlinked_reason
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import highest_accepted, lowest_accepted

SECONDS_PER_CELL: Final = 5e-8
SECONDS_PER_PAIR: Final = 3e-7

Open01 = Interval(gt=0, lt=1)


@dataclass(frozen=True)
class Believed:
    """Records of a class whom the attacker cannot tell apart, and what is believed of them."""

    records: Annotated[ClassRef, doc("The records.")]
    value: Annotated[CellValue, doc("The value that the belief is about.")]
    prior: Annotated[
        float | None,
        SHARE,
        doc("How probable it is for such a person without the release; null for a missing value."),
    ]
    belief: Annotated[float, SHARE, doc("How probable it is given the release.")]


@dataclass(frozen=True)
class PositiveDisclosure:
    """Records whose own value is believed too firmly.

    Of a drawn release nobody knows a row's own value: its most probable one is taken for it, here and below.
    """

    records: Annotated[int, LOW, doc("Records whose value is believed above 1 − delta.")]
    share: Annotated[float, LOW_SHARE, doc("Their share of the records with a number.")]
    greatest_belief: Annotated[float, LOW_SHARE, doc("Strongest belief in the own value of a record.")]


@dataclass(frozen=True)
class NegativeDisclosure:
    """Records that are believed not to have some other value."""

    records: Annotated[int, LOW, doc("Records of whom another value is believed below epsilon.")]
    share: Annotated[float, LOW_SHARE, doc("Their share of the records with a number.")]
    records_ruled_out: Annotated[
        int,
        LOW,
        doc(
            "Of these, records of whom another value is ruled out: nobody of the class has it, or nobody "
            "like them in the population."
        ),
    ]


@dataclass(frozen=True)
class Breaches:
    """Beliefs that the release changes too much, in one direction."""

    pairs: Annotated[int, LOW, doc("Pairs of a kind of person in a class and a value.")]
    records: Annotated[int, LOW, doc("Records of whom a belief so changes, about any value.")]
    worst: Annotated[Believed | None, doc("The greatest change among them; null without one.")]


@dataclass(frozen=True)
class PosteriorBeliefs:
    """Beliefs before and after the release, and who is exposed by them."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    known: Annotated[tuple[str, ...], doc("Quasi-identifiers that the dictionary carries.")]
    entities: Annotated[int, doc("People of the dictionary whose values are all known exactly.")]
    entities_left_out: Annotated[int, doc("People of whom some value is missing or vague.")]
    records_with_number: Annotated[int, doc("Records of whom beliefs could be computed.")]
    records_contradicted: Contradicted
    records_inconsistent: Inconsistent
    positive: Annotated[PositiveDisclosure, doc("Positive disclosures.")]
    negative: Annotated[NegativeDisclosure, doc("Negative disclosures.")]
    upward: Annotated[
        Breaches, doc("Values improbable before, probable after: prior < rho_1, belief > rho_2.")
    ]
    downward: Annotated[
        Breaches, doc("Values probable before, improbable after: prior > 1 − rho_1, belief < 1 − rho_2.")
    ]
    is_private: Annotated[
        bool | None, HIGH,
        doc("Whether there is no breach in either direction; null if there is none among the records with a "
            "number but there are records without."),
    ]  # fmt: skip
    greatest_increase: Annotated[
        float, LOW_SHARE, doc("Greatest belief − prior, over all persons and values.")
    ]
    greatest_decrease: Annotated[float, LOW_SHARE, doc("Greatest prior − belief.")]
    greatest_ratio: Annotated[float, LOW_AMOUNT, doc("Greatest belief / prior.")]
    exposed: Annotated[
        tuple[Believed, ...], doc("Records whose own value is believed most firmly, the firmest first.")
    ]


@dataclass(frozen=True, kw_only=True)
class PosteriorParameters(Grouping):
    """Of what attribute, and which beliefs count as disclosures."""

    attribute: SensitiveName = None
    delta: Annotated[
        float, Open01, doc("A record's value is disclosed if the belief in it is above 1 − delta.")
    ] = 0.05
    epsilon: Annotated[
        float,
        Open01,
        doc("A record is disclosed not to have another value if the belief in that is below epsilon."),
    ] = 0.05
    rho_1: Annotated[
        float, Open01, doc("A value is improbable beforehand if its prior is below rho_1, less than rho_2.")
    ] = 0.2
    rho_2: Annotated[float, Open01, doc("It is disclosed if the belief in it is then above rho_2.")] = 0.8
    top: Annotated[int, Ge(1), Le(200), doc("Most groups of exposed records to list.")] = 10


@dataclass(frozen=True)
class _Place:
    """A unit, the number of a value, and what is believed."""

    score: float
    unit: int
    value: int
    prior: float
    belief: float
    records: int


@dataclass
class _Tally:
    """What the blocks come to."""

    parameters: PosteriorParameters
    judged: int = 0
    contradicted: int = 0
    inconsistent: int = 0
    positive: int = 0
    greatest: float = 0.0
    negative: int = 0
    ruled_out: int = 0
    pairs: list[int] = field(default_factory=lambda: [0, 0])
    records: list[int] = field(default_factory=lambda: [0, 0])
    worst: list[_Place | None] = field(default_factory=lambda: [None, None])
    increase: float = 0.0
    decrease: float = 0.0
    ratio: float = 0.0
    exposed: list[_Place] = field(default_factory=list)

    def add(self, block: BayesBlock) -> None:
        records = block.targets.sum(axis=1)
        self.judged += int(records[block.is_judged].sum())
        self.contradicted += int(records[block.is_contradicted].sum())
        self.inconsistent += int(records[block.is_inconsistent].sum())
        judged = block.is_judged[:, None]
        own = judged & (block.targets > 0)
        firmly = own & (block.belief > highest_accepted(1 - self.parameters.delta))
        self.positive += int(block.targets[firmly].sum())
        self.greatest = max(self.greatest, float(block.belief.max(initial=0.0, where=own)))
        self.negative += _with_another(
            block, judged & (block.belief < lowest_accepted(self.parameters.epsilon))
        )
        self.ruled_out += _with_another(block, judged & (block.belief == 0))
        self._add_breaches(block)
        found = _places(block, own, block.belief, self.parameters.top)
        self.exposed = sorted([*self.exposed, *found], key=lambda place: -place.score)[: self.parameters.top]

    def _add_breaches(self, block: BayesBlock) -> None:
        prior, belief, p, comparable = block.prior, block.belief, self.parameters, block.is_comparable
        change = belief - prior
        self.increase = max(self.increase, float(change.max(initial=0.0, where=comparable)))
        self.decrease = max(self.decrease, float((-change).max(initial=0.0, where=comparable)))
        known = comparable & (prior > 0)
        ratio = np.divide(belief, prior, out=np.zeros(belief.shape), where=known)
        self.ratio = max(self.ratio, float(ratio.max(initial=0.0)))
        for way, found in enumerate(breaches(block, p.rho_1, p.rho_2)):
            self.pairs[way] += int(np.count_nonzero(found))
            self.records[way] += int(block.targets.sum(axis=1)[found.any(axis=1)].sum())
            for place in _places(block, found, np.abs(change), 1):
                best = self.worst[way]
                if best is None or place.score > best.score:
                    self.worst[way] = place


def _with_another(block: BayesBlock, believed: Bools) -> int:
    """Records of whose unit a value is so believed that is not their own."""
    number = believed.sum(axis=1)
    only_own = block.targets[(number == 1)[:, None] & believed].sum()
    return int(block.targets[number > 0].sum() - only_own)


def _places(block: BayesBlock, chosen: Bools, scores: Floats, most: int) -> list[_Place]:
    """The highest-scoring of the chosen pairs, with records first among equals."""
    units, values = np.nonzero(chosen)
    order = np.lexsort((-block.targets[units, values], -scores[units, values]))[:most]
    return [
        _Place(
            score=float(scores[u, v]),
            unit=int(block.units[u]),
            value=v,
            prior=float(block.prior[u, v]),
            belief=float(block.belief[u, v]),
            records=int(block.targets[u, v]),
        )
        for u, v in zip(units[order].tolist(), values[order].tolist(), strict=True)
    ]


@dataclass(frozen=True, eq=False)
class _Naming:
    """Names the records and values of places: by record its unit and number, by number its node."""

    units: Units
    numbers: Longs
    nodes: Ints
    labels: Sequence[str]

    def believed(self, place: _Place, *, own: bool = False) -> Believed:
        """The records of a place's unit, only those with its value if ``own``, and what is believed."""
        chosen = self.units.of_record == place.unit
        if own:
            chosen &= self.numbers == place.value
        rows, node = np.flatnonzero(chosen), self.nodes[place.value]
        return Believed(
            records=ClassRef(tuple((rows[:ROWS_NAMED] + 1).tolist()), len(rows)),
            value=CellValue(self.labels[node]),
            prior=None if shows_nothing(node) else place.prior,
            belief=place.belief,
        )


def _compute(context: MeasureContext, parameters: PosteriorParameters, tick: Tick) -> PosteriorBeliefs:
    _check(parameters)
    asked = believed_units(context, parameters, parameters.attribute)
    table, units, population, last = asked.table, asked.units, asked.population, asked.table.reduced.size
    tally = _Tally(parameters)
    for block in asked.blocks:
        tally.add(block)
        tick(min(int(block.units[-1]) + 1, last))
    tick(last)
    labels = table.hierarchies[table.position(asked.attribute)].labels
    naming = _Naming(units, asked.numbers, asked.nodes, labels)
    without = tally.contradicted + tally.inconsistent
    ways = [
        Breaches(tally.pairs[way], tally.records[way], None if worst is None else naming.believed(worst))
        for way, worst in enumerate(tally.worst)
    ]
    return PosteriorBeliefs(
        judged=judged_on(table, parameters, asked.classes),
        attribute=asked.attribute,
        known=tuple(table.attributes[i] for i in population.linked),
        entities=population.n_entities,
        entities_left_out=population.n_left_out,
        records_with_number=tally.judged,
        records_contradicted=tally.contradicted,
        records_inconsistent=tally.inconsistent,
        positive=PositiveDisclosure(tally.positive, _share(tally.positive, tally.judged), tally.greatest),
        negative=NegativeDisclosure(tally.negative, _share(tally.negative, tally.judged), tally.ruled_out),
        upward=ways[0],
        downward=ways[1],
        is_private=False if tally.pairs != [0, 0] else None if without else True,
        greatest_increase=tally.increase,
        greatest_decrease=tally.decrease,
        greatest_ratio=tally.ratio,
        exposed=tuple(naming.believed(place, own=True) for place in tally.exposed),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _check(parameters: PosteriorParameters) -> None:
    if parameters.rho_1 >= parameters.rho_2:
        raise InvalidInput.of(
            "/measure/rho_1",
            "out-of-range",
            f"rho_1 is {parameters.rho_1}, not below rho_2, which is {parameters.rho_2}.",
            "Choose 0 < rho_1 < rho_2 < 1.",
        )


def _supports(context: MeasureContext, parameters: PosteriorParameters) -> str | None:
    _check(parameters)
    table = context.table
    if context.drawn is not None:
        reason = other_attribute(context, parameters.attribute) or unclassed(context, parameters)
        if reason is not None:
            return reason
    attributes = positions_of(table, parameters.quasi_identifiers)
    sensitive = table.position(_attribute(context, parameters))
    return unlinked_reason(table, attributes, sensitive, given(context.dictionary))


def _attribute(context: MeasureContext, parameters: PosteriorParameters) -> str:
    """The attribute that beliefs are about: of a drawn release the one that was drawn."""
    if context.drawn is not None:
        return matrix_of(context)[1].attribute
    return context.release.sensitive(parameters.attribute)


def _cost(context: MeasureContext, parameters: PosteriorParameters) -> Cost:
    if context.drawn is not None:
        drawn, published = matrix_of(context)
        table, values = drawn.table, len(published.values)
    else:
        table = context.table
        values = len(table.used_nodes[table.position(context.release.sensitive(parameters.attribute))]) + 1
    n, m = table.n_records, table.n_attributes
    # At most as many kinds of person as distinct records, each with every value that there is.
    pairs = table.reduced.size * values
    entities = given(context.dictionary).n_entities
    seconds = n * (m + 10) * SECONDS_PER_CELL + (pairs + entities) * SECONDS_PER_PAIR
    size = 8 * n * (m + 10) + 150 * min(pairs, PAIRS_AT_ONCE) + 16 * entities
    return Cost(seconds, size, table.reduced.size, "classes")


POSTERIOR_BELIEFS: Final = Measure(
    name="posterior_beliefs",
    title="What an attacker who knows the population comes to believe",
    source="Machanavajjhala (2008), section 3.3",
    guarantee="exact",
    parameters=PosteriorParameters,
    result=PosteriorBeliefs,
    needs=frozenset({"dictionary"}),
    supports=_supports,
    cost=_cost,
    compute=_compute,
    criteria=(RhoPrivacy,),
    example=Example(
        "what does somebody learn who knows how incomes are distributed?",
        "proposal-beliefs",
        rule="proposal",
        dictionary="members-themselves",
        parameters={"rho_1": 0.2, "rho_2": 0.7},
    ),
    reads=frozenset({"records", "matrix"}),
)
