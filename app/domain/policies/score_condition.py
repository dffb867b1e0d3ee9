"""A requirement on a number of the assessment: risk, utility, how many people a record may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Final

from app.domain.catalogue.catalogue_types import Example
from app.domain.catalogue.meanings import ASIDE, FROM_ONE, HIDING, LOSS, LOW, NOTHING_KNOWN, RISK, UTILITY
from app.domain.catalogue.result_values import ResultValue, found_in
from app.domain.policies.condition import Compared, SlotName, Threshold, Title
from app.domain.policies.findings import Checked
from app.domain.policies.reading import NO_COLUMNS, NOTHING_READ, Readable, Reading
from app.domain.policies.thresholds import ThresholdCondition, check_threshold
from app.domain.risk.summaries import LOSS_QUANTILES

_NUMBERS: Final = (
    ("risk_average", "Mean risk of the records.", RISK),
    ("risk_max", "Greatest risk of a record.", RISK),
    ("risk_min", "Least risk of a record.", LOSS | LOW | ASIDE),
    ("utility_average", "Mean utility of the records.", UTILITY),
    ("utility_min", "Least utility of a record.", UTILITY),
    ("add_self_risk_average", "Mean risk if absent records were in the dictionary; null without any.", RISK),
    (
        "information_loss_average",
        "Mean loss of information; null for utilities that are no loss.",
        LOW | ASIDE,
    ),
    ("information_loss_max", "Greatest loss of information of a record; null as above.", LOW | ASIDE),
)
_COUNTS: Final = (
    ("min_consistent", "Least number of entities that a record's disclosed form may be of.", HIDING),
    ("absent", "Records that no entity of the dictionary is consistent with.", LOW | ASIDE),
    ("infinite", "Records of infinite risk: something prohibited is disclosed of them.", LOW | ASIDE),
    ("k_matching", "Least number of original records that a disclosed record matches.", HIDING),
    (
        "k_equivalence",
        "Least number of records of an equivalence class: the k of k-anonymity.",
        FROM_ONE | HIDING,
    ),
    ("classes", "Number of distinct disclosed records.", NOTHING_KNOWN),
    ("n_records", "Records of the dataset.", NOTHING_KNOWN),
    ("n_entities", "Entities of the dictionary; null for a dictionary set.", NOTHING_KNOWN),
)

SCORE_VALUES: Final[tuple[ResultValue, ...]] = (
    *(ResultValue(name, "number", meaning, marks) for name, meaning, marks in _NUMBERS),
    *(
        ResultValue(f"loss_quantiles.{q}", "number", f"Risk that {q:.0%} of the records do not exceed.", RISK)
        for q in LOSS_QUANTILES
    ),
    *(ResultValue(name, "whole number", meaning, marks) for name, meaning, marks in _COUNTS),
)

_BY_GROUP: Final = frozenset(
    {"risk_average", "risk_max", "risk_min", "utility_average", "utility_min", "min_consistent", "infinite"}
)
"""Scores that groups of records have of their own, beside the quantiles."""
_OF_ALL: Final = frozenset({"k_matching", "k_equivalence"})
"""Scores that compare records by everything that is disclosed of them."""
_OF_HARM: Final = ("risk", "loss_quantiles", "add_self_risk")


@dataclass(frozen=True)
class ScoreCondition(ThresholdCondition):
    """A number of the assessment's result; without a dictionary of the worst of all that are filled."""

    kind: ClassVar[str] = "score"
    is_scored = True
    value: Annotated[Title, Example("loss_quantiles.0.95")]
    """Which number."""
    comparison: Compared
    threshold: Threshold
    dictionary: SlotName = None

    @property
    def result_value(self) -> ResultValue | None:
        """The number of the score."""
        return found_in(SCORE_VALUES, self.value)

    def slots(self, declared: frozenset[str]) -> frozenset[str]:
        """The one that it names, or all."""
        return declared if self.dictionary is None else super().slots(declared)

    def check(self, checked: Checked) -> None:
        """Note a number that there is not, a scope that it does not have, and thresholds without sense."""
        if self.dictionary is not None or not checked.policy.dictionaries:
            checked.slot(self.dictionary, f"{checked.at}/dictionary", "A score")
        if checked.scope.attributes is not None:
            checked.found.error(
                f"{checked.pointer}/scope/attributes", "unsupported-scope",
                "A score is of all that is disclosed of a record.", "Leave the attributes out.",
            )  # fmt: skip
        value = checked.value(self.value, SCORE_VALUES, "a score")
        if value is None:
            return
        if checked.scope.groups is not None and not (
            value.path in _BY_GROUP or value.path.startswith("loss_quantiles")
        ):
            checked.found.error(
                f"{checked.pointer}/scope/groups", "unsupported-scope",
                f"{value.path} is of the whole release; groups have no such number of their own.",
                f"By group there are: {', '.join(sorted(_BY_GROUP))} and the quantiles.",
            )  # fmt: skip
        checked.check_roles()
        check_threshold(checked.found, checked.at, value, self, checked.policy.assumes.options)

    def takes_absence_for_safety(self, risk_of_absent_is_0: bool) -> bool:
        """If absent records have no risk, unless the number counts people."""
        return risk_of_absent_is_0 and self.value not in _OF_ALL and self.value != "min_consistent"

    def reading(self, readable: Readable) -> Reading:
        """What the dictionary carries and, of harm, what is weighed; k compares all that is disclosed."""
        columns = readable.columns
        if not self.protects(columns.worst):
            return NOTHING_READ
        if self.value in _OF_ALL:
            return Reading(columns.disclosed, columns.disclosed)
        weighed = columns.weighed if self.value.startswith(_OF_HARM) else NO_COLUMNS
        return Reading(readable.carried | weighed, readable.carried)
