"""The numbers of an assessment's result that a policy may set a threshold for."""

from __future__ import annotations

from typing import Final

from app.domain.policies.values import ResultValue
from app.domain.risk.summaries import LOSS_QUANTILES

_NUMBERS: Final = (
    ("risk_average", "Mean risk of the records."),
    ("risk_max", "Greatest risk of a record."),
    ("risk_min", "Least risk of a record."),
    ("utility_average", "Mean utility of the records."),
    ("utility_min", "Least utility of a record."),
    ("add_self_risk_average", "Mean risk if absent records were in the dictionary; null without any."),
    ("information_loss_average", "Mean loss of information; null for utilities that are no loss."),
    ("information_loss_max", "Greatest loss of information of a record; null as above."),
)
_COUNTS: Final = (
    ("min_consistent", "Least number of entities that a record's disclosed form may be of."),
    ("absent", "Records that no entity of the dictionary is consistent with."),
    ("infinite", "Records of infinite risk: something prohibited is disclosed of them."),
    ("k_matching", "Least number of original records that a disclosed record matches."),
    ("k_equivalence", "Least number of records that are disclosed alike: the k of k-anonymity."),
    ("classes", "Number of distinct disclosed records."),
    ("n_records", "Records of the dataset."),
    ("n_entities", "Entities of the dictionary; null for a dictionary set."),
)
_MAY_BE_NULL: Final = frozenset(
    {"add_self_risk_average", "information_loss_average", "information_loss_max", "n_entities"}
)

SCORE_VALUES: Final[tuple[ResultValue, ...]] = (
    *(ResultValue(name, "number", meaning, name in _MAY_BE_NULL) for name, meaning in _NUMBERS),
    *(
        ResultValue(
            f"loss_quantiles.{level}", "number", f"Risk that {level:.0%} of the records do not exceed."
        )
        for level in LOSS_QUANTILES
    ),
    *(ResultValue(name, "whole number", meaning, name in _MAY_BE_NULL) for name, meaning in _COUNTS),
)
