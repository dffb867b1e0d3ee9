"""What can be said of a threshold by what the value can be: wrong kind, out of range, met by all or none."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, Self

from app.domain.catalogue.meanings import Range
from app.domain.catalogue.result_values import ResultValue
from app.domain.policies.comparison import WORDS, Comparison, Value
from app.domain.policies.condition import Condition
from app.domain.policies.findings import Findings
from app.domain.policies.guarantee_bounds import NumberBound
from app.domain.policies.intervals import Interval
from app.domain.policies.reading import WorstCase

_TOWARDS: dict[Comparison, str] = {"at_least": "high", "above": "high", "at_most": "low", "below": "low"}
_INCLUSIVE: Final = ("at_least", "at_most", "equals")


class ThresholdCondition(Condition):
    """A kind that compares a number or boolean of a result with a threshold."""

    value: str
    comparison: Comparison
    threshold: Value

    @property
    @abstractmethod
    def result_value(self) -> ResultValue | None:
        """The value that the threshold is set for; None if there is none of this name."""

    def is_about_the_same(self, other: Self) -> bool:
        """Whether the other one's threshold is for the very same number."""
        as_other = replace(self, comparison=other.comparison, threshold=other.threshold)  # type: ignore[type-var]
        return as_other == other

    @property
    def quantity(self) -> str:
        """What the result's own field says of itself."""
        value = self.result_value
        return _clause(value.meaning) if value is not None and value.meaning else self.value

    def as_strict_as(self, other: Self) -> bool:
        """Whether every number that keeps its threshold keeps the other one, too."""
        intervals = self._intervals(other)
        return intervals is not None and intervals[0].within(intervals[1])

    def contradicts(self, other: Self) -> bool:
        """Whether no number keeps both thresholds."""
        intervals = self._intervals(other)
        return intervals is not None and not intervals[0].meets(intervals[1])

    def protects(self, worst: WorstCase | None) -> bool:
        """Whether it is on the side on which people are safer, and beyond what the worst case keeps."""
        value = self.result_value
        if value is None or value.marks.safer is None or value.marks.if_alone == "good":
            return False
        side = value.marks.safer
        if _TOWARDS.get(self.comparison, side) != side:
            return False
        if isinstance(self.threshold, bool) and self.threshold != (side == "high"):
            return False
        asked = self.asks_by_parameters(value, worst) if value.marks.if_alone == "fails" else None
        if asked is not None:
            return asked
        if isinstance(self.threshold, bool):
            return True
        reached = self._if_alone(value, worst)
        strictly = self.comparison not in _INCLUSIVE
        if side == "high":
            return self.threshold >= reached if strictly else self.threshold > reached
        return self.threshold <= reached if strictly else self.threshold < reached

    def asks_by_parameters(self, value: ResultValue, worst: WorstCase | None) -> bool | None:
        """Whether parameters beside the threshold ask for something; None: there are none."""
        return None

    def greatest_gain(self, worst: WorstCase) -> float:
        """The greatest relative gain of belief if every record is alone, as far as it is known."""
        return math.inf

    def _if_alone(self, value: ResultValue, worst: WorstCase | None) -> float:
        """The worst that the value can be: what it is, or a bound of it, if every record is alone."""
        possible, marks = value.range({}), value.marks
        if marks.safer == "high":
            return 1.0 if marks.if_alone == "one" else possible.least
        bounds = [possible.greatest]
        if worst is not None:
            if marks.if_alone == "loss":
                bounds.append(worst.greatest_loss)
            elif value.kind == "whole number":
                bounds.append(worst.alone.table_records())
            if marks.if_alone in ("gain", "ratio"):
                bounds.append(self.greatest_gain(worst) + (marks.if_alone == "ratio"))
        return min(bounds)

    def _intervals(self, other: Self) -> tuple[Interval, Interval] | None:
        value = self.result_value
        if value is None or not self.is_about_the_same(other):
            return None
        whole = value.kind != "number"
        return (
            Interval.of(self.comparison, self.threshold, whole=whole),
            Interval.of(other.comparison, other.threshold, whole=whole),
        )


_Bound = ThresholdCondition | NumberBound


def check_threshold(
    found: Findings,
    pointer: str,
    value: ResultValue,
    condition: _Bound,
    options: Mapping[str, Any],
) -> None:
    """Note what is wrong with the threshold of a condition that is at ``pointer``."""
    comparison, threshold = condition.comparison, condition.threshold
    if value.kind == "boolean" or isinstance(threshold, bool):
        _check_boolean(found, pointer, value, condition)
        return
    if value.kind == "whole number" and math.isinf(threshold):
        found.error(
            f"{pointer}/threshold", "out-of-range", f"{value.path} is a whole number and never infinite.",
            "Give a whole number.",
        )  # fmt: skip
        return
    possible = value.range(options)
    if not possible.least <= threshold <= possible.greatest:
        found.error(
            f"{pointer}/threshold", "out-of-range", f"{value.path} is {_described(possible)}.",
            "Give a threshold that it can reach.",
        )  # fmt: skip
        return
    _check_outcome(found, f"{pointer}/threshold", value, condition, possible)
    side = value.marks.safer
    if side is not None and _TOWARDS.get(comparison, side) != side:
        found.warn(
            f"{pointer}/comparison", "wrong-direction",
            f"It asks for {value.path} to be {WORDS[comparison]} a threshold: "
            f"{'the less the better' if side == 'low' else 'the more the better'} is usual.",
            "Turn the comparison round, unless this is meant.",
        )  # fmt: skip


def _check_boolean(found: Findings, pointer: str, value: ResultValue, condition: _Bound) -> None:
    threshold = condition.threshold
    if value.kind != "boolean" or not isinstance(threshold, bool):
        wanted = "true or false" if value.kind == "boolean" else "a number"
        found.error(
            f"{pointer}/threshold", "wrong-kind",
            f"{value.path} is a {value.kind}; its threshold is {wanted}.", f"Give {wanted}.",
        )  # fmt: skip
        return
    if condition.comparison != "equals":
        found.error(
            f"{pointer}/comparison", "wrong-kind", f"{value.path} is true or false and has no order.",
            "Write equals.",
        )  # fmt: skip
    side = value.marks.safer
    if side is not None and threshold != (side == "high"):
        found.warn(
            f"{pointer}/threshold", "wrong-direction",
            f"It asks for {value.path} to be {str(threshold).lower()}.",
            "Turn it round, unless this is meant.",
        )  # fmt: skip


def _check_outcome(
    found: Findings,
    pointer: str,
    value: ResultValue,
    condition: _Bound,
    possible: Range,
) -> None:
    """Note thresholds at an end of what is possible, where no value or every value keeps them."""
    comparison, threshold = condition.comparison, condition.threshold
    least, greatest = possible.least, possible.greatest
    whole = value.kind == "whole number"
    unreachable = (
        (comparison == "above" and threshold >= greatest)
        or (comparison == "below" and threshold <= least)
        or (comparison == "equals" and whole and threshold != int(threshold))
    )
    if unreachable:
        found.error(
            pointer, "never-passes", f"No value of {value.path} is {WORDS[comparison]} this.",
            "Give a threshold that can be kept.",
        )  # fmt: skip
    elif (comparison == "at_least" and threshold <= least) or (
        comparison == "at_most" and threshold >= greatest
    ):
        found.warn(
            pointer, "always-passes", f"Every value of {value.path} is {WORDS[comparison]} this.",
            "Give a threshold that some release misses, or leave the requirement out.",
        )  # fmt: skip


def _described(possible: Range) -> str:
    if math.isinf(possible.greatest):
        return f"at least {possible.least:g}"
    return f"between {possible.least:g} and {possible.greatest:g}"


def _clause(meaning: str) -> str:
    """The sentence as part of one, without what follows a colon or semicolon."""
    first = meaning.partition(";")[0].partition(":")[0].rstrip(". ")
    is_word = len(first) < 2 or not first[1].isupper()
    return first[:1].lower() + first[1:] if is_word else first
