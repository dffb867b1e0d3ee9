"""What a policy asks of the parameters of a guarantee: bounds on its numbers, least choices, an attribute."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, get_args

from app.documents import built, closest, read_as
from app.domain.catalogue.catalogue_types import ColumnName
from app.domain.errors import Fault, InvalidInput, joined, refuse
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import (
    ATTRIBUTE,
    MODEL_OF,
    GuaranteeModel,
)
from app.domain.policies.comparison import Comparison, Value
from app.domain.policies.intervals import Interval
from app.domain.tables.numbers import FEASIBILITY_TOLERANCE, highest_accepted, lowest_accepted

_COMPARISONS: Final[tuple[Comparison, ...]] = get_args(Comparison)


@dataclass(frozen=True)
class NumberBound:
    """One end of what a number may be."""

    parameter: str
    comparison: Comparison
    threshold: Value

    @property
    def interval(self) -> Interval:
        """The reals that keep it, those within the tolerance among them.

        That is a part of the threshold, at most the tolerance of other reals: a δ of 1e-10 is a hundred times
        one of 1e-12, and no bound of 0 is kept by anything else.
        """
        threshold = float(self.threshold)
        allowed = FEASIBILITY_TOLERANCE * abs(threshold) if math.isfinite(threshold) else 0.0
        least = max(lowest_accepted(threshold), threshold - allowed)
        greatest = min(highest_accepted(threshold), threshold + allowed)
        match self.comparison:
            case "at_least":
                return Interval.of("at_least", least, whole=False)
            case "above":
                return Interval.of("above", greatest, whole=False)
            case "at_most":
                return Interval.of("at_most", greatest, whole=False)
            case "below":
                return Interval.of("below", least, whole=False)
            case "equals":
                return Interval(least, greatest)

    def is_kept_by(self, guarantee: PrivacyGuarantee) -> bool:
        """Whether the guarantee states a number that keeps it."""
        value = guarantee.parameters.get(self.parameter)
        if not isinstance(value, int | float) or math.isnan(value):
            return False
        stated = float(value)
        return Interval(stated, stated).within(self.interval)


@dataclass(frozen=True)
class GuaranteeBounds:
    """Everything that a requirement says of the parameters.

    ``choices`` are the least that are asked for; ``attribute`` None: the only sensitive one.
    """

    model: GuaranteeModel
    numbers: tuple[NumberBound, ...] = ()
    choices: Mapping[str, str] | None = None
    attribute: str | None = None

    def interval(self, parameter: str) -> Interval:
        """The reals that keep all bounds of a number, maybe none."""
        own = (bound.interval for bound in self.numbers if bound.parameter == parameter)
        return functools.reduce(Interval.both, own, Interval(-math.inf, math.inf))

    def choice(self, parameter: str) -> str:
        """The least of the choices that is asked for."""
        return (self.choices or {}).get(parameter, self.model.choices[parameter][-1])

    def is_kept_by(self, guarantee: PrivacyGuarantee, choice: str) -> bool:
        """Whether a choice of the guarantee is at least the one that is asked for."""
        order, stated = self.model.choices[choice], guarantee.parameters.get(choice)
        return stated in order and order.index(str(stated)) <= order.index(self.choice(choice))

    def within(self, other: GuaranteeBounds) -> bool:
        """Whether every guarantee that keeps these keeps the others too."""
        return (
            self.model == other.model
            and self.attribute == other.attribute
            and all(self.interval(name).within(other.interval(name)) for name in self.model.numbers)
            and all(
                order.index(self.choice(name)) <= order.index(other.choice(name))
                for name, order in self.model.choices.items()
            )
        )

    def loosest(self) -> dict[str, Any]:
        """Of each parameter the value that keeps the bounds and promises least; of the attribute the one."""
        numbers = {}
        for name, value in self.model.numbers.items():
            possible, own = value.range({}), self.interval(name)
            if value.marks.safer == "low":
                numbers[name] = min(possible.greatest, own.greatest)
            elif value.marks.safer == "high":
                numbers[name] = max(possible.least, own.least)
        found: dict[str, Any] = {**numbers, **{name: self.choice(name) for name in self.model.choices}}
        return found if self.attribute is None else {**found, ATTRIBUTE: self.attribute}

    def document(self) -> dict[str, Any]:
        """The parameters as policies write them, in one way."""
        found: dict[str, Any] = {}
        for own in sorted(self.numbers, key=lambda bound: (bound.parameter, bound.comparison)):
            found.setdefault(own.parameter, {})[own.comparison] = own.threshold
        found |= {
            name: own for name, own in sorted((self.choices or {}).items())
            if own != self.model.choices[name][-1]
        }  # fmt: skip
        return found if self.attribute is None else {**found, ATTRIBUTE: self.attribute}


def bounds_of(kind: str, parameters: Mapping[str, Any], pointer: str = "") -> GuaranteeBounds:
    """The bounds on a model of this kind; InvalidInput names what is unknown or written otherwise.

    ``pointer`` is the place of the model, which holds its kind and the bounds.
    """
    model = MODEL_OF.get(kind)
    if model is None:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-model", f"No guarantee is of a model {kind!r}.",
            closest(kind, MODEL_OF),
        )  # fmt: skip
    found, faults = GuaranteeBounds(model), []
    choices: dict[str, str] = {}
    for name, given in parameters.items():
        place = joined(pointer, name)
        try:
            if name in model.numbers:
                found = replace(found, numbers=(*found.numbers, *_numbers(name, given, place)))
            elif name in model.choices:
                choices[name] = read_as(Literal[model.choices[name]], given, place)
            elif name == ATTRIBUTE and model.is_of_one_attribute:
                found = replace(found, attribute=read_as(ColumnName, given, place))
            else:
                faults.append(
                    Fault(
                        place, "unknown-field", f"Guarantees of {model.name} state no {name!r}.",
                        closest(name, model.names),
                    )
                )  # fmt: skip
        except InvalidInput as error:
            faults += error.faults
    if faults:
        raise InvalidInput(faults)
    return replace(found, choices=choices)


@dataclass(frozen=True)
class _Thresholds:
    """The bounds of one number, as policies write them; false where there is none."""

    at_least: Value = False
    at_most: Value = False
    above: Value = False
    below: Value = False
    equals: Value = False


def _numbers(name: str, given: object, pointer: str) -> list[NumberBound]:
    if not isinstance(given, Mapping) or not given:
        raise InvalidInput.of(
            pointer, "wrong-type", f"It must be an object that bounds {name}.",
            f"Write one of {', '.join(_COMPARISONS)} with a number, such as at_most: 2.",
        )  # fmt: skip
    read = built(_Thresholds, given, pointer)
    found = [NumberBound(name, own, getattr(read, own)) for own in _COMPARISONS if own in given]
    refuse(
        [
            Fault(joined(pointer, own.comparison), "wrong-type", "It must be a number.")
            for own in found
            if isinstance(own.threshold, bool)
        ]
    )
    return found
