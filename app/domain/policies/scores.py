"""The numbers of an assessment's result that a policy may set a threshold for."""

from __future__ import annotations

from typing import Final

from app.domain.catalogue.meanings import ASIDE, FROM_ONE, HIDING, LOSS, LOW, NOTHING_KNOWN, RISK, UTILITY
from app.domain.catalogue.result_values import ResultValue
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
_MAY_BE_NULL: Final = frozenset(
    {"add_self_risk_average", "information_loss_average", "information_loss_max", "n_entities"}
)

SCORE_VALUES: Final[tuple[ResultValue, ...]] = (
    *(ResultValue(name, "number", meaning, name in _MAY_BE_NULL, marks) for name, meaning, marks in _NUMBERS),
    *(
        ResultValue(
            f"loss_quantiles.{level}",
            "number",
            f"Risk that {level:.0%} of the records do not exceed.",
            marks=RISK,
        )
        for level in LOSS_QUANTILES
    ),
    *(
        ResultValue(name, "whole number", meaning, name in _MAY_BE_NULL, marks)
        for name, meaning, marks in _COUNTS
    ),
)
