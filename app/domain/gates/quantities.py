"""What the value of a criterion is a number of, in a few words: "0 (at most 0)" alone says nothing."""

from __future__ import annotations

from app.domain.errors import InvalidInput
from app.domain.gates.explanations import model_in_short
from app.domain.policies.objectives import criterion_of
from app.domain.policies.policy import (
    BoundCondition,
    Condition,
    MeasureCondition,
    PrivacyModelCondition,
    ScoreCondition,
)
from app.domain.policies.requirements import value_of


def quantity_of(condition: Condition) -> str:
    """``mean risk of the records``, to be read before the number; of shares of records, after it.

    Of scores and measures it is what the result's own field says of itself.
    """
    match condition:
        case PrivacyModelCondition(model, parameters):
            return f"in classes that fail {_model(model, parameters)}"
        case ScoreCondition():
            value = value_of(condition)
            return _clause(value.meaning) if value is not None and value.meaning else condition.value
        case MeasureCondition(measure):
            value = value_of(condition)
            said = _clause(value.meaning) if value is not None and value.meaning else condition.value
            return f"{said} ({measure})"
        case BoundCondition():
            return "whether the risk is an upper bound"
        case _:
            return "distance from the proven optimum, as a share of it"


def _model(model: str, parameters: object) -> str:
    try:
        return model_in_short(criterion_of(model, parameters))  # type: ignore[arg-type]
    except InvalidInput:
        return model.replace("_", " ")


def _clause(meaning: str) -> str:
    """The sentence as part of one, without what follows a colon or semicolon."""
    first = meaning.partition(";")[0].partition(":")[0].rstrip(". ")
    is_word = len(first) < 2 or not first[1].isupper()
    return first[:1].lower() + first[1:] if is_word else first
