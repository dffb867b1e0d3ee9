"""What a requirement of a policy asks: the base class of all kinds, each of which is a file of its own.

A kind says everything that is decided by kind: with which dictionaries it is evaluated, what is wrong with
it, how it is kept, whether it asks for as much as another, which columns it reads, and what its value is a
number of. :mod:`app.domain.policies.policy` lists the kinds.
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Protocol, Self

from annotated_types import Ge, Le, Len, MaxLen, doc

from app.documents import SHORT
from app.domain.catalogue.catalogue_types import Example, LabelText
from app.domain.errors import InvalidInput
from app.domain.models.entry import Measure
from app.domain.policies.comparison import Comparison, Value
from app.domain.policies.reading import NOTHING_READ, Readable, Reading

if TYPE_CHECKING:
    from app.domain.policies.findings import Checked

Word = Annotated[str, Len(1, 100)]
Title = Annotated[str, Len(1, 200)]
Prose = Annotated[str, Len(1, 2000)]
Share = Annotated[float, Ge(0), Le(1), SHORT]
Parameters = Annotated[Mapping[LabelText, Any], MaxLen(100)]
SlotName = Annotated[Word | None, doc("Slot of the dictionary it is judged with.")]
Compared = Annotated[
    Comparison,
    doc(
        "How the value is compared with the threshold: whole numbers exactly, reals with a tolerance of 1e-9 "
        "in favour of `at_least`, `at_most` and `equals`."
    ),
    Example("at_least"),
]
Threshold = Annotated[
    Value, doc('A number, "inf", or true or false for a value that is either.'), Example(5), SHORT
]
RestsOnAssumptions = Annotated[bool, doc("Whether hypotheses may be assumed rather than checked.")]


class Hiding(Protocol):
    """Documents with null for what are values of cells."""

    def measure(self, name: str, version: int | None, parameters: Mapping[str, Any]) -> Mapping[str, Any]:
        """The parameters of a measure."""

    def model(self, document: Mapping[str, Any]) -> Mapping[str, Any]:
        """A privacy model with its kind."""


class Condition(ABC):
    """A kind of requirement; its fields are what a policy writes."""

    kind: ClassVar[str]
    is_certificate: ClassVar[bool] = False
    """Whether it is on what a mechanism promises, whatever it draws."""
    is_of_views: ClassVar[bool] = False
    """Whether it is about queries that are to be published rather than about a release of data."""
    reads_ledger: ClassVar[bool] = False
    """Whether what else was released of the table matters."""
    of_whole: ClassVar[str] = ""
    """Why it is never about a part of the release; empty if it may be."""

    @property
    @abstractmethod
    def quantity(self) -> str:
        """``mean risk of the records``, to be read before the number; of shares of records, after it."""

    @property
    def synthetic_judge(self) -> Measure[Any, Any] | None:
        """The measure that judges the dataset as a synthetic table of another one; None if none does."""
        return None

    @property
    def is_scored(self) -> bool:
        """Whether it depends on how scores are taken, and needs the harm of a disclosure."""
        return False

    @property
    def shown_by_fewest_persons(self) -> bool:
        """Whether it holds of classes if it holds of the fewest persons that they can have."""
        return False

    @property
    def class_sizes(self) -> Iterable[object]:
        """The least sizes of classes that it asks for, as they are written."""
        return ()

    @property
    def questions(self) -> Iterable[object]:
        """The typed parameters that may name values of cells; InvalidInput if they cannot be read."""
        return ()

    def slots(self, declared: frozenset[str]) -> frozenset[str]:
        """Those of the policy's slots that it is evaluated with."""
        return declared & {getattr(self, "dictionary", None)}

    @abstractmethod
    def check(self, checked: Checked) -> None:
        """Note all that is wrong with it, and what is unusual."""

    @property
    def fields(self) -> dict[str, Any]:
        """What it asks, by names for people who compare two policies."""
        names = [own.name for own in dataclasses.fields(self)]  # type: ignore[arg-type]
        found = {name: getattr(self, name) for name in names if name != "parameters"}
        return found | {f"parameters.{name}": own for name, own in self.parameters_in_full.items()}

    @property
    def parameters_in_full(self) -> Mapping[str, Any]:
        """Its parameters, if it has some."""
        return getattr(self, "parameters", {})

    def pinned(self, *, as_before: bool) -> Self:
        """It with the version of what it names, the newest or the first, and without what is as usual."""
        return self

    @property
    def is_of_earlier_version(self) -> bool:
        """Whether it names an earlier version of what it asks."""
        return False

    def without_values(self, hiding: Hiding) -> Self:
        """It without the values of cells that it names."""
        return self

    def as_strict_as(self, other: Self) -> bool:
        """Whether it is plain that whatever meets it meets the other one of its kind, too."""
        return self == other

    def contradicts(self, other: Self) -> bool:
        """Whether nothing can meet both it and the other one of its kind."""
        return False

    def takes_absence_for_safety(self, risk_of_absent_is_0: bool) -> bool:
        """Whether records that are like nobody in the dictionary count as safe: not found, or of risk 0."""
        return False

    def reading(self, readable: Readable) -> Reading:
        """What it reads of these columns; InvalidInput if it cannot be understood."""
        return NOTHING_READ

    def as_released(self, reading: Reading, drawn: Set[str] | None) -> Reading:
        """What is left of a reading of this release.

        ``drawn`` are the columns whose values a mechanism drew; None: no mechanism made the release.
        """
        if self.is_certificate:
            return NOTHING_READ if drawn is None else reading
        return reading if drawn is None else NOTHING_READ


class ParametrisedCondition(Condition):
    """A kind that names something of a catalogue, with parameters that have a type and versions."""

    parameters: Parameters

    @property
    @abstractmethod
    def typed(self) -> Any:  # noqa: ANN401 - some dataclass
        """The parameters as their dataclass; InvalidInput if they cannot be read."""

    @property
    @abstractmethod
    def meant(self) -> Mapping[str, Any]:
        """Parameters that mean the version where none are given."""

    @cached_property
    def parameters_in_full(self) -> Mapping[str, Any]:
        """The parameters with all defaults; as they are if they cannot be read."""
        try:
            return _plain(dataclasses.asdict(self.typed))  # type: ignore[no-any-return]
        except InvalidInput:
            return self.parameters

    @property
    def questions(self) -> Iterable[object]:
        """Its parameters."""
        return (self.typed,)

    def without_usual(self) -> Self:
        """It without the parameters that equal their default; as it is if they cannot be read."""
        try:
            typed = self.typed
        except InvalidInput:
            return self
        own = dataclasses.fields(typed)
        usual = {**{field.name: field.default for field in own}, **self.meant}
        given = {field.name: getattr(typed, field.name) for field in own}
        parameters = _plain({name: value for name, value in given.items() if value != usual[name]})
        return dataclasses.replace(self, parameters=parameters)  # type: ignore[type-var]


def _plain(value: Any) -> Any:  # noqa: ANN401 - any value of a parameter
    if isinstance(value, Mapping):
        return {name: _plain(own) for name, own in value.items()}
    return [_plain(own) for own in value] if isinstance(value, tuple) else value
