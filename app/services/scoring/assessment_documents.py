"""The result of a score as a plain document: no ids and no times, infinities as "inf"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from app.domain.errors import having
from app.domain.risk.assessment import Assessment, Monotone
from app.domain.risk.attackers import SetAssessment, View, ViewScore
from app.domain.risk.dictionary_order import BoundAnswer
from app.domain.risk.models import RiskModel
from app.domain.risk.summaries import Histogram, histogram_of_losses
from app.domain.risk.utility import Utility, rounded_half_away
from app.services.fingerprints import plain
from app.services.resources import JsonObject
from app.services.scoring.scoring_options import ScoringOptions, UtilitySpec

SOMETIMES: Final = (
    "views",
    "dictionaries",
    "person_risk_average",
    "bound",
    "information_loss_average",
    "information_loss_max",
    "utility_average_displayed",
    "information_loss_average_displayed",
)
"""Keys of a result that are null unless dictionaries or options give them a meaning."""

ESTIMATED: Final = (
    "The dictionary is an estimate: the risk is as good as the dictionary is close to what the attacker has."
)


def result_of(found: Assessment | SetAssessment, options: ScoringOptions, utility: Utility) -> JsonObject:
    """The score of a rule as its options ask for it: the attacker's view, and what is said of utility."""
    view = options.attacker_view or "known"
    if isinstance(found, SetAssessment):
        result, first = _result_of_set(found, view), found.assessments[0]
    else:
        result, first = {**_result_of_one(found), "attacker_view": view}, found
        if view == "estimated":
            result["warnings"] = [*result["warnings"], ESTIMATED]
    more = more_results(options.utility, utility, first.utility_average, first.utility_min)
    document: JsonObject = {**dict.fromkeys(SOMETIMES), **result, **more}
    return plain(document)


def more_results(spec: UtilitySpec, utility: Utility, average: float, minimum: float) -> JsonObject:
    """What a result says beside ``utility_average`` and ``utility_min``.

    ``information_loss_average`` and ``information_loss_max`` of the loss models (the least utility is the
    greatest loss), and with ``display_rounding`` the average as it is displayed.
    """
    found: dict[str, float] = {}
    if utility.is_loss:
        losses = utility.information_loss(np.array([average, minimum]))
        found |= {"information_loss_average": float(losses[0]), "information_loss_max": float(losses[1])}
    if spec.display_rounding == "nearest":
        shown = {"utility_average": average, **{k: v for k, v in found.items() if k.endswith("average")}}
        found |= {f"{key}_displayed": rounded_half_away(value) for key, value in shown.items()}
    return found


def _result_of_one(found: Assessment) -> JsonObject:
    """The score of a rule against one dictionary."""
    # Where a column names persons, k counts them: that is a measure of its own.
    counts_records = found.persons is None
    return {
        "n_records": found.n_records,
        "n_entities": found.n_entities,
        "absent_policy": found.absent_policy,
        "risk_model": found.model.name,
        **_risks(found),
        **_extreme_risks(found.extremes.risk_max, found.extremes.risk_min),
        "utility_average": found.utility_average,
        "utility_min": found.utility_min,
        "row_of_utility_min": found.extremes.utility_min + 1,
        "min_consistent": found.min_consistent,
        "row_of_min_consistent": found.extremes.min_consistent + 1,
        "absent": found.absent,
        "add_self_risk_average": found.add_self_risk_average,
        "histogram": {
            "counts": _histogram(found.histogram_counts),
            "losses": _histogram(found.histogram_losses),
        },
        "person_risk_average": found.person_risk_average,
        "k_matching": found.k_matching if counts_records else None,
        "k_equivalence": found.k_equivalence if counts_records else None,
        "row_of_k_equivalence": found.extremes.k_equivalence + 1 if counts_records else None,
        "classes": found.classes,
        "engine": found.engine,
        "weighted": found.weighted,
        "monotone": _monotone(found.monotone),
        "not_monotone": found.model.name == "III_raw",
        "warnings": _warnings(found.model, found.absent, found.absent_policy, found.warnings),
    }


def _result_of_set(found: SetAssessment, view: View) -> JsonObject:
    """The score of a rule against a set of dictionaries, in a view of the attacker.

    The risks are those of the view; ``views`` has all of them, ``dictionaries`` the score under each
    dictionary in the set's order. Of what depends on the dictionary, ``min_consistent`` is the least and
    ``absent`` the greatest of all; ``n_entities``, ``add_self_risk_average`` and the histogram of counts are
    told of each dictionary only.
    """
    chosen, parts = found.view(view), found.assessments
    one = _result_of_one(parts[0])
    prior: Sequence[float | None] = found.prior or (None,) * len(parts)
    warnings = [
        f"Dictionary {number} of the set: {warning}"
        for number, part in enumerate(parts, start=1)
        for warning in part.warnings
    ]
    absent = max(part.absent for part in parts)
    fewest = min(parts, key=lambda part: part.min_consistent)
    return {
        **one,
        **_risks(chosen),
        **_extreme_risks(chosen.row_max, chosen.row_min),
        "attacker_view": view,
        "n_entities": None,
        "min_consistent": fewest.min_consistent,
        "row_of_min_consistent": fewest.extremes.min_consistent + 1,
        "absent": absent,
        "add_self_risk_average": None,
        "person_risk_average": None,
        "histogram": {
            "counts": None,
            "losses": _histogram(histogram_of_losses(chosen.loss, np.ones(len(chosen.loss), np.int64))),
        },
        "monotone": _monotone(chosen.monotone),
        "warnings": _warnings(parts[0].model, absent, parts[0].absent_policy, warnings),
        "views": {
            score.view: {
                **_risks(score),
                **_extreme_risks(score.row_max, score.row_min),
                "at_average": _number_of(score.at_average),
                "at_max": _number_of(score.at_max),
                "at_min": _number_of(score.at_min),
                "monotone": _monotone(score.monotone),
            }
            for score in (found.bayes, found.worst_case, found.worst_case_per_record)
            if score is not None
        },
        "dictionaries": [{"prior": q, **_result_of_one(part)} for q, part in zip(prior, parts, strict=True)],
    }


def bound_document(found: BoundAnswer) -> JsonObject:
    """Whether the risk is an upper bound of the true one, and why (Definitions: upper bound)."""
    words = {"true": "yes", "false": "no", "assumed": "assumed"}
    return {
        "claimed": found.claimed,
        "rests_on_assumptions": found.rests_on_assumptions,
        "hypotheses": [
            {"id": hypothesis.name, "holds": words[hypothesis.holds], "reason": hypothesis.reason}
            for hypothesis in found.hypotheses
        ],
    }


def _risks(found: Assessment | ViewScore) -> JsonObject:
    """The mean, and what never leaves it alone."""
    return {
        "risk_average": found.risk_average,
        "risk_max": found.risk_max,
        "risk_min": found.risk_min,
        "loss_quantiles": found.loss_quantiles,
        "infinite": found.infinite,
    }


def _extreme_risks(greatest: int, least: int) -> JsonObject:
    """The records of the greatest and the least risk; rows are numbered from 1 for people."""
    return {"row_of_risk_max": greatest + 1, "row_of_risk_min": least + 1}


def _number_of(position: int | None) -> int | None:
    """Dictionaries are numbered from 1 for people."""
    return None if position is None else position + 1


def _histogram(histogram: Histogram) -> Mapping[str, Any]:
    # Its fields as they are: asdict would copy every number.
    return vars(histogram)


def _monotone(monotone: Monotone) -> Mapping[str, bool]:
    return {**vars(monotone), "holds": monotone.holds}


def _warnings(model: RiskModel, absent: int, policy: str, found: Sequence[str]) -> Sequence[str]:
    warnings = list(found)
    if absent and policy == "zero":
        warnings.append(
            f"{having(absent, 'record')} no consistent entity in the dictionary: counted as never "
            "identified, with the risk of a failed attempt alone. That is no safety: the dictionary may lack "
            "the person."
        )
    if model.name == "III_raw":
        warnings.append("The risk model III_raw is not monotone: generalising further may raise it.")
    if model.name == "custom":
        warnings.append("The formula passed samples of the conditions for a risk model; that is no proof.")
    return warnings
