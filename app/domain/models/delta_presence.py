"""δ-presence: how surely an attacker tells who of the population is in the release (Nergiz et al. (2007)).

Of the people of the population who share a tuple of generalised quasi-identifiers, δ is the share whose
records are in the release. Near 1 everybody with that tuple is known to be in it, near 0 not to be.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Bools
from app.domain.catalogue.meanings import ASKED, FAILING, LOW_SHARE, MET, SHARE, STRICTER_DOWN, STRICTER_UP
from app.domain.classes.grouping import Grouping
from app.domain.errors import InvalidInput, pointing_into
from app.domain.models.criterion import COUNTS_PERSONS, Criterion, Merging
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ClassRef, JudgedOn, judged_on, worst_class
from app.domain.models.judging import JudgedClasses
from app.domain.models.populations import Population, cost_of_classes, people_of, population_of
from app.domain.risk.class_populations import (
    entities_of_release,
    outside_presence,
    population_sizes,
    presence_shares,
    without_records,
)
from app.domain.tables.numbers import lowest_accepted


@dataclass(frozen=True)
class DeltaPresence(Criterion):
    """Of the people with one tuple of disclosed quasi-identifiers, bounded shares are in the release."""

    kind: ClassVar[str] = "delta_presence"
    title: ClassVar[str] = "δ-presence: bounded shares of the population in the release"
    source: ClassVar[str] = "Nergiz et al. (2007)"
    merging: ClassVar[Merging] = "passes_stay"
    needs_population: ClassVar[bool] = True
    needs_tuples: ClassVar[bool] = True
    by_persons: ClassVar[str] = COUNTS_PERSONS

    lower: Annotated[float, Ge(0), Le(1), STRICTER_UP, doc("δ_min: no tuple's share may be below.")] = 0.0
    upper: Annotated[float, Ge(0), Le(1), STRICTER_DOWN, doc("δ_max: no tuple's share may be above.")] = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.lower > self.upper:
            raise InvalidInput.of(
                "/lower", "out-of-range", "The lower bound is above the upper one.", "Exchange the two."
            )

    @property
    def asks_nothing(self) -> bool:
        """Any share is within the bounds."""
        return self.lower == 0 and self.upper == 1

    @property
    def bars_outsiders(self) -> bool:
        """Whether people of whom no record can be break the lower bound."""
        return lowest_accepted(self.lower) > 0

    def failing(self, judged: JudgedClasses) -> Bools:
        """Classes whose share is out of bounds; all if people without a record break the lower one."""
        if self.bars_outsiders and judged.outside():
            return np.ones(len(judged.sizes), dtype=bool)
        people = people_of(judged)
        return outside_presence(judged.units, people, self.lower, self.upper)

    def satisfied(self, judged: JudgedClasses) -> bool:
        """No class fails, and people without a record do not break the lower bound."""
        return not (self.bars_outsiders and judged.outside()) and super().satisfied(judged)

    def attained(self, judged: JudgedClasses) -> float | None:
        """The greatest share."""
        shares = presence_shares(judged.units, people_of(judged))
        return float(shares.max()) if len(shares) else None

    def impossible(self, whole: JudgedClasses) -> str | None:
        """The share of the whole population that is in the release is out of bounds."""
        people = people_of(whole)
        if not outside_presence(whole.units, people, self.lower, self.upper).any():
            return None
        share = float(presence_shares(whole.units, people)[0])
        if share > self.upper:
            bound, by = f"above the upper bound {self.upper:g}", share - self.upper
        else:
            bound, by = f"below the lower bound {self.lower:g}", self.lower - share
        return f"The {whole.unit} are a share of {share:g} of the population, {bound} by {by:g}."


@dataclass(frozen=True, kw_only=True)
class DeltaPresenceParameters(Grouping):
    """The bounds of δ."""

    lower: Annotated[float, Ge(0), Le(1), doc("δ_min: no tuple's share may be below.")] = 0.0
    upper: Annotated[float, Ge(0), Le(1), doc("δ_max: no tuple's share may be above.")] = 0.5


@dataclass(frozen=True)
class DeltaPresenceFound:
    """How the release is spread over the tuples of the population."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how.")]
    lower: Annotated[float, ASKED, doc("The lower bound.")]
    upper: Annotated[float, ASKED, doc("The upper bound.")]
    least: Annotated[
        float | None, SHARE, doc("Least δ of a tuple of the population; null if nobody is in any tuple.")
    ]
    greatest: Annotated[float | None, LOW_SHARE, doc("Greatest δ of a tuple; null if no record was judged.")]
    classes_failing: Annotated[int, FAILING, doc("Classes of the release whose δ is out of bounds.")]
    records_failing: Annotated[int, FAILING, doc("Their records.")]
    entities_without_records: Annotated[
        int, doc("Entities of the dictionary whose tuple no record has: there δ is 0.")
    ]
    is_delta_present: Annotated[
        bool, MET, doc("Whether the δ of every tuple of the population is in bounds.")
    ]
    most_present: Annotated[ClassRef | None, doc("A class of greatest δ; null if none was judged.")]
    least_present: Annotated[ClassRef | None, doc("A class of least δ; null if none was judged.")]
    population: Annotated[Population, doc("The population.")]


def _compute(context: MeasureContext, parameters: DeltaPresenceParameters, tick: Tick) -> DeltaPresenceFound:
    criterion = _criterion(parameters)
    classes = context.release.classes(parameters)
    without = without_records(context.counter, context.release, parameters)
    entities = entities_of_release(context.counter, context.release, classes)
    people = population_sizes(entities, classes.units)
    shares = presence_shares(classes.units, people)
    failing = outside_presence(classes.units, people, parameters.lower, parameters.upper)
    found = shares.tolist() + ([0.0] if without else [])
    tick(1)
    return DeltaPresenceFound(
        judged=judged_on(context.table, parameters, classes),
        lower=parameters.lower,
        upper=parameters.upper,
        least=min(found, default=None),
        greatest=float(shares.max()) if len(shares) else None,
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=int(classes.records[failing].sum()),
        entities_without_records=without,
        is_delta_present=not failing.any() and not (without and criterion.bars_outsiders),
        most_present=worst_class(classes, shares),
        least_present=worst_class(classes, -shares),
        population=population_of(context, classes, entities),
    )


def _criterion(parameters: DeltaPresenceParameters) -> DeltaPresence:
    with pointing_into("/measure"):
        return DeltaPresence(parameters.lower, parameters.upper)


def _cost(context: MeasureContext, parameters: DeltaPresenceParameters) -> Cost:
    _criterion(parameters)
    return cost_of_classes(context, parameters, counts_people=True)


DELTA_PRESENCE: Final = Measure(
    name="delta_presence",
    title="δ-presence: who of the population is in the release",
    source="Nergiz et al. (2007)",
    guarantee="exact",
    parameters=DeltaPresenceParameters,
    result=DeltaPresenceFound,
    needs=frozenset({"dictionary"}),
    cost=_cost,
    compute=_compute,
    example=Example(
        "can one tell who is a member?",
        "proposal-presence",
        rule="proposal",
        dictionary="census",
        parameters={"quasi_identifiers": ["city", "race"], "upper": 0.5},
    ),
    criteria=(DeltaPresence,),
    judges=lambda own, value: DeltaPresence(own.lower, own.upper),
    looks_at="quasi_identifiers",
    reads=frozenset({"records", "classes"}),
    by_persons=COUNTS_PERSONS,
)
