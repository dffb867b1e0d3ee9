"""What can be said of a threshold by what the value can be: wrong kind, out of range, met by all or none."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from app.domain.catalogue.meanings import (
    ASIDE,
    FROM_ONE,
    HIDING,
    LOSS,
    LOW,
    NOTHING_KNOWN,
    RISK,
    UTILITY,
    Range,
)
from app.domain.catalogue.result_values import ResultValue
from app.domain.policies.comparison import WORDS, Comparison
from app.domain.policies.findings import Findings
from app.domain.policies.policy import MeasureCondition, ScoreCondition
from app.domain.risk.summaries import LOSS_QUANTILES

_Compared = MeasureCondition | ScoreCondition
_TOWARDS: dict[Comparison, str] = {"at_least": "high", "above": "high", "at_most": "low", "below": "low"}

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


def check_threshold(
    found: Findings, pointer: str, value: ResultValue, condition: _Compared, options: Mapping[str, Any]
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


def _check_boolean(found: Findings, pointer: str, value: ResultValue, condition: _Compared) -> None:
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
    found: Findings, pointer: str, value: ResultValue, condition: _Compared, possible: Range
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
