"""A requirement on a number or boolean of a measure of the catalogue."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Final, NewType, Self, get_args, get_origin

from annotated_types import Ge

from app.documents import WithKind, built, closest
from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.catalogue_types import DatasetRef, DictionaryIf, DictionaryRef, Example, RuleRef
from app.domain.catalogue.field_types import field_types
from app.domain.catalogue.result_values import ResultValue, found_in, values_of
from app.domain.errors import InvalidInput, NotSupported, joined
from app.domain.models.alpha_k_anonymity import AlphaKParameters
from app.domain.models.beta_likeness import LEAST, BetaLikeness
from app.domain.models.entry import Measure
from app.domain.models.k_anonymity import EquivalenceClassesParameters
from app.domain.policies.condition import (
    Compared,
    Hiding,
    Parameters,
    ParametrisedCondition,
    SlotName,
    Threshold,
    Title,
)
from app.domain.policies.findings import Checked
from app.domain.policies.reading import (
    NO_COLUMNS,
    NOTHING_READ,
    Columns,
    Readable,
    Reading,
    WorstCase,
    failing_records,
)
from app.domain.policies.thresholds import ThresholdCondition, check_threshold

MEASURE_OF: Final[Mapping[str, Measure[Any, Any]]] = {measure.name: measure for measure in MEASURES}
VALUES_OF: Final[Mapping[str, tuple[ResultValue, ...]]] = {
    measure.name: values_of(measure.result) for measure in MEASURES
}

_NAMES_RESOURCE: Final = {DatasetRef: "dataset", RuleRef: "rule"}
COMPARED: Final = {"synthetic": "dataset", "holdout": "holdout"}
"""What a policy writes for the datasets of a measure that judges synthetic tables: parts of an evaluation."""
_SHOWN_BY: Final[Mapping[str | None, tuple[str, ...]]] = {
    "lower": ("at_least", "above"),
    "upper": ("at_most", "below"),
    None: (),
}
"""What a bound from this side can show."""
_ASKS_K: Final = (EquivalenceClassesParameters, AlphaKParameters)
"""Parameters of measures whose k is the least size of classes."""
_BELOW_K: Final = frozenset(
    {"is_k_anonymous", "classes_below_k", "records_below_k", "is_met", "classes_failing", "records_failing"}
)
"""Values of these measures that compare classes with the k that is asked for."""


@dataclass(frozen=True)
class MeasureCondition(ParametrisedCondition, ThresholdCondition):
    """A number or boolean of a measure."""

    kind: ClassVar[str] = "measure"
    measure: str
    parameters: Annotated[Parameters, WithKind("measure"), Example({"kind": "k_map", "k": 5})]
    """The measure's `kind` and its parameters, as `POST measurements` takes them; dictionaries among the
    parameters are slots of the policy.
    """
    version: Annotated[int | None, Ge(1)] = field(default=None, kw_only=True)
    """Version of the measure; filled in when the policy is stored. Another one than the catalogue's is
    refused.
    """
    value: Annotated[Title, Example("records_failing")]
    """Path to the number in the measure's result."""
    comparison: Compared
    threshold: Threshold
    dictionary: SlotName = None

    @property
    def typed(self) -> Any:  # noqa: ANN401 - some dataclass
        """The measure's parameters."""
        measure = MEASURE_OF.get(self.measure)
        if measure is None:
            raise InvalidInput.of("/measure/kind", "unknown-measure", "There is no such measure.")
        return built(measure.parameters, {**self.meant, **self.parameters})

    @property
    def meant(self) -> Mapping[str, Any]:
        """The parameters that are as usual in an earlier version of the measure."""
        measure = MEASURE_OF.get(self.measure)
        return {} if measure is None else measure.earlier.get(self.version or measure.version, {})

    @property
    def result_value(self) -> ResultValue | None:
        """The value of the measure's result."""
        return found_in(VALUES_OF.get(self.measure, ()), self.value)

    @property
    def quantity(self) -> str:
        """What the result's field says, and the measure."""
        return f"{super().quantity} ({self.measure})"

    @property
    def synthetic_judge(self) -> Measure[Any, Any] | None:
        """The measure, if it judges such tables."""
        measure = MEASURE_OF.get(self.measure)
        return measure if measure is not None and measure.judges_synthetic else None

    @property
    def is_scored(self) -> bool:
        """Whether the measure weighs harm."""
        return self.measure not in MEASURE_OF or "sensitivity" in MEASURE_OF[self.measure].needs

    @property
    def is_of_earlier_version(self) -> bool:
        """Whether the measure had other defaults in its version."""
        return bool(self.meant)

    @property
    def shown_by_fewest_persons(self) -> bool:
        """If the number of the fewest persons bounds it on the side of the threshold."""
        return self.comparison in _SHOWN_BY[MEASURE_OF[self.measure].bounded_by_persons.get(self.value)]

    @property
    def class_sizes(self) -> Iterable[object]:
        """The threshold of k, or the k that classes are compared with."""
        takes = MEASURE_OF[self.measure].parameters if self.measure in MEASURE_OF else None
        if takes not in _ASKS_K:
            return ()
        if self.value == "k":
            return (math.ceil(self.threshold),) if self.threshold < math.inf else ()
        return (self.parameters.get("k", takes.k),) if self.value in _BELOW_K else ()

    def slots(self, declared: frozenset[str]) -> frozenset[str]:
        """The one that it names, and those among its parameters."""
        named = {ref for _, type_, ref in self._references if type_ is DictionaryRef}
        return super().slots(declared) | (named & declared)

    def check(self, checked: Checked) -> None:
        """Note a measure or value that there is not, references, and thresholds without sense."""
        found, at = checked.found, checked.at
        measure = MEASURE_OF.get(self.measure)
        if measure is None:
            found.error(
                f"{at}/measure/kind", "unknown-measure", f"There is no measure {self.measure!r}.",
                closest(self.measure, MEASURE_OF),
            )  # fmt: skip
            return
        if self.version not in (None, measure.version, *measure.earlier):
            found.error(
                f"{at}/version", "wrong-version",
                f"{measure.name} is version {measure.version} here, not {self.version}.",
                "Read what has changed, then raise the policy's version with it.",
            )  # fmt: skip
        with found.refusals():
            built(measure.parameters, self.parameters, f"{at}/measure")
        self._check_references(checked)
        needs = f"The measure {measure.name}" if self._needs_dictionary(measure) else None
        checked.slot(self.dictionary, f"{at}/dictionary", needs)
        self._check_grouped(checked, measure)
        value = checked.value(self.value, VALUES_OF[measure.name], f"the measure {measure.name}")
        if value is None:
            return
        if value.marks.asked:
            found.error(
                f"{at}/value", "repeats-the-question",
                f"{value.path} repeats a parameter of {measure.name}, whatever the data are.",
                "Name a value that depends on the data.",
            )  # fmt: skip
        check_threshold(checked.found, checked.at, value, self, checked.policy.assumes.options)

    def _needs_dictionary(self, measure: Measure[Any, Any]) -> bool:
        if "dictionary" in measure.needs or "comparable_ids" in measure.needs:
            return True
        for own in fields(measure.parameters):
            hint = field_types(measure.parameters)[own.name]
            chosen = self.parameters.get(own.name, own.default)
            if DictionaryIf(chosen) in getattr(hint, "__metadata__", ()):
                return True
        value = found_in(VALUES_OF[measure.name], self.value)
        return value is not None and value.marks.of_dictionary

    def _check_references(self, checked: Checked) -> None:
        """Dictionaries inside parameters are slots; datasets and rules belong to the evaluation."""
        for name, type_, ref in self._references:
            place = joined(f"{checked.at}/measure", name)
            if type_ is DictionaryRef:
                checked.slot(ref, place)
            elif MEASURE_OF[self.measure].judges_synthetic and name in COMPARED:
                if ref != COMPARED[name]:
                    checked.found.error(
                        place, "names-a-resource",
                        f"A policy names no dataset: {name!r} is {COMPARED[name]!r}, the part of an "
                        "evaluation.",
                        f"Write {name}: {COMPARED[name]}.",
                    )  # fmt: skip
            else:
                checked.found.error(
                    place, "names-a-resource",
                    f"A policy names no {_NAMES_RESOURCE[type_]}: it is about whatever is evaluated.",
                    "Leave it out, or choose another measure.",
                )  # fmt: skip

    @property
    def _references(self) -> list[tuple[str, Any, str]]:
        """The resources that a measure's parameters name: field, type of reference, reference."""
        found, measure = [], MEASURE_OF.get(self.measure)
        for name, hint in ({} if measure is None else field_types(measure.parameters)).items():
            type_ = next((own for own in _leaves(hint) if own in (*_NAMES_RESOURCE, DictionaryRef)), None)
            given = self.parameters.get(name)
            if type_ is None or given is None:
                continue
            items = [given] if isinstance(given, str) else given
            found += [(name, type_, own) for own in items if isinstance(own, str)]
        return found

    def _check_grouped(self, checked: Checked, measure: Measure[Any, Any]) -> None:
        """The scope of a measure: it may name the attributes that records are grouped by."""
        found, scope = checked.found, checked.scope
        if scope.groups is not None:
            found.error(
                f"{checked.pointer}/scope/groups", "unsupported-scope",
                "Measures are taken of the whole release; only scores and privacy models are judged by "
                "group.",
                "Use a score or a privacy model, or leave the scope out.",
            )  # fmt: skip
        if scope.attributes is None:
            return
        if "quasi_identifiers" not in {own.name for own in fields(measure.parameters)}:
            found.error(
                f"{checked.pointer}/scope/attributes", "unsupported-scope",
                f"{measure.name} does not group records by quasi-identifiers.", "Leave the scope out.",
            )  # fmt: skip
        elif "quasi_identifiers" in self.parameters:
            found.error(
                f"{checked.pointer}/scope/attributes", "unsupported-scope",
                "The measure names quasi_identifiers itself.", "Name them in one place.",
            )  # fmt: skip
        checked.check_roles()

    def pinned(self, *, as_before: bool) -> Self:
        """It with the measure's version, and without what is as usual."""
        measure = MEASURE_OF.get(self.measure)
        if measure is None:
            return self
        newest = min([measure.version, *measure.earlier]) if as_before else measure.version
        return replace(self, version=newest if self.version is None else self.version).without_usual()

    def without_values(self, hiding: Hiding) -> Self:
        """It without the values that its parameters name."""
        return replace(self, parameters=hiding.measure(self.measure, self.version, self.parameters))

    def is_about_the_same(self, other: Self) -> bool:
        """Whether both are on the same value of the same measurement."""
        if len({self.version, other.version} - {None}) > 1:
            return False
        mine, theirs = (
            (own.measure, own.parameters_in_full, own.value, own.dictionary) for own in (self, other)
        )
        return mine == theirs

    def takes_absence_for_safety(self, risk_of_absent_is_0: bool) -> bool:
        """If absent records have no risk, or the measure looks people up in the dictionary."""
        measure = MEASURE_OF.get(self.measure)
        if measure is None:
            return False
        return risk_of_absent_is_0 if self.is_scored else "dictionary" in measure.needs

    def reading(self, readable: Readable) -> Reading:
        """The columns that it groups by and the values that it is about, by the measure's parameters."""
        measure, columns, grouped = MEASURE_OF.get(self.measure), readable.columns, readable.grouped
        if measure is None or not measure.protects or not self.protects(columns.worst):
            return NOTHING_READ
        if measure.judges_synthetic:
            # Attackers try all columns.
            return Reading(columns.disclosed, columns.disclosed)
        names = {own.name for own in fields(measure.parameters)}
        if "quasi_identifiers" not in names:
            if "sensitivity" in measure.needs:
                return Reading(readable.carried | columns.weighed, readable.carried)
            if "rule" in measure.needs:
                # It compares records by everything that is disclosed of them.
                return Reading(columns.disclosed, columns.disclosed)
            return NOTHING_READ
        named = self.parameters.get("quasi_identifiers")
        if named is not None:
            grouped = frozenset(named) & columns.disclosed
        if self.dictionary is not None:
            grouped &= readable.carried
        values = self._values(names, columns)
        of_values = bool({"attribute", "attributes"} & names)
        return Reading(grouped | values, NO_COLUMNS if of_values and self.value != "k" else grouped)

    def as_released(self, reading: Reading, drawn: Set[str] | None) -> Reading:
        """Of a mechanism's release classes are those of its rows.

        What else measures read there is what was drawn, and they bound what is learnt of it, not who is
        found; an attack that fails on a draw bounds nothing.
        """
        if drawn is None:
            return reading
        if self.synthetic_judge is not None:
            return NOTHING_READ
        if self.measure in MEASURE_OF and "classes" in MEASURE_OF[self.measure].reads:
            return Reading(reading.read - drawn, reading.tells_apart - drawn)
        return Reading(reading.read & drawn)

    def greatest_gain(self, worst: WorstCase) -> float:
        """The gain of the measure's attribute, for the measures of it."""
        parameters = self.parameters
        groups = parameters.get("groups")
        try:
            found = BetaLikeness(
                LEAST,
                "basic",
                parameters.get("attribute"),
                None if groups is None else tuple(groups),
                parameters.get("values_in_groups", "bounded"),
            ).attained(worst.alone)
        except (InvalidInput, NotSupported):
            return math.inf
        return math.inf if found is None else found

    def asks_by_parameters(self, value: ResultValue, worst: WorstCase | None) -> bool:
        """Whether the measure's parameters ask for something, and not everybody may fail."""
        measure, threshold = MEASURE_OF[self.measure], self.threshold
        if measure.judges is None:
            return True
        model = measure.judges(built(measure.parameters, self.parameters), self.value)
        if model is None:
            return True
        if model.asks_nothing:
            return False
        failing = None if worst is None else failing_records(model, worst)
        if failing is None or worst is None:
            return True
        if isinstance(threshold, bool):
            return failing > 0
        most = failing / worst.alone.table_records() if value.kind == "number" else failing
        return threshold <= most if self.comparison == "below" else threshold < most

    def _values(self, names: Set[str], columns: Columns) -> frozenset[str]:
        if "attribute" in names:
            return columns.named(self.parameters.get("attribute"))
        if "attributes" in names:
            listed = self.parameters.get("attributes")
            return columns.sensitive if listed is None else frozenset(listed) & columns.disclosed
        return NO_COLUMNS


def _leaves(hint: Any) -> list[Any]:  # noqa: ANN401 - any type
    if isinstance(hint, NewType) or get_origin(hint) is None:
        return [hint]
    return [leaf for own in get_args(hint) for leaf in _leaves(own)]
