"""Objectives and criteria of privacy that policies name, as the searches take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, get_type_hints

from app.domain.analyses.catalogue import CRITERIA
from app.domain.errors import InvalidInput, pointing_into
from app.domain.losses.loss import EQUAL, LossChoice
from app.domain.models.criterion import Criterion
from app.domain.policies.building import built, closest
from app.domain.policies.policy import OptimumScope
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.objectives import OBJECTIVES, MinLoss, Objective
from app.domain.search.problem import Problem

_CRITERIA: Final = {own.kind: own for own in CRITERIA}
_OF_SEARCHES: Final = ("local_recoding", "minimal_rules")
"""Options of ``min_loss`` that ask a search for more than an optimum."""


def criterion_of(model: str, parameters: Mapping[str, Any], pointer: str = "") -> Criterion:
    """The criterion of privacy of this kind; InvalidInput names what is unknown or out of bounds."""
    type_ = _CRITERIA.get(model)
    if type_ is None:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-model", f"There is no privacy model {model!r}.",
            closest(model, _CRITERIA),
        )  # fmt: skip
    return built(type_, parameters, pointer)


def marks_of(model: str) -> Mapping[str, tuple[Any, ...]]:
    """What the annotations of a privacy model's parameters say, by parameter; empty for unknown models."""
    if model not in _CRITERIA:
        return {}
    hints = get_type_hints(_CRITERIA[model], include_extras=True)
    return {name: getattr(hint, "__metadata__", ()) for name, hint in hints.items()}


def objective_of(document: Mapping[str, Any], pointer: str = "") -> Objective:
    """The objective of a policy; InvalidInput for one that no proven optimum is known of."""
    kind: Any = document.get("kind")
    fields = {name: value for name, value in document.items() if name != "kind"}
    if kind not in OBJECTIVES:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-objective", "There is no such objective.",
            closest(str(kind), OBJECTIVES),
        )  # fmt: skip
    if kind != MinLoss.kind:
        return built(OBJECTIVES[kind], fields, pointer)
    for name in _OF_SEARCHES:
        if name in fields:
            raise InvalidInput.of(
                f"{pointer}/{name}", "not-applicable", "It asks a search for more than a proven optimum.",
                "Leave it out.",
            )  # fmt: skip
    made: dict[str, Any] = {"privacy": _privacy(fields.pop("privacy", None), f"{pointer}/privacy")}
    if isinstance(fields.get("loss"), str):
        made["loss"] = built(LossChoice, {"kind": fields.pop("loss")}, f"{pointer}/loss")
    objective = built(MinLoss, fields, pointer, made)
    _require_figure(objective.loss, f"{pointer}/loss")
    return objective


def problem_of(
    objective: Mapping[str, Any], scope: OptimumScope, pointer: str = ""
) -> Problem | AnonymityProblem:
    """The question that an objective poses; InvalidInput for one that no search takes."""
    asked = objective_of(objective, pointer)
    with pointing_into(pointer.removesuffix("/objective")):
        return AnonymityProblem.of(asked, scope) if isinstance(asked, MinLoss) else Problem(asked, scope)


def _require_figure(loss: LossChoice, pointer: str) -> None:
    """A gate compares releases with one number, which each of them has whatever rule made it."""
    if loss.aggregate == "rank":
        raise InvalidInput.of(
            f"{pointer}/aggregate", "not-applicable",
            "A rank is no figure that a release could be compared with.",
            "Choose the aggregate mean, sum or maximum.",
        )  # fmt: skip
    if loss.suppression_factor != EQUAL:
        raise InvalidInput.of(
            f"{pointer}/suppression_factor", "not-applicable",
            "What a suppressed cell counts by it depends on the rule and cannot be seen in a release.",
            "Leave it out.",
        )  # fmt: skip


def _privacy(document: object, pointer: str) -> tuple[Criterion, ...]:
    if isinstance(document, str | Mapping) or not isinstance(document, Sequence):
        raise InvalidInput.of(pointer, "wrong-type", "It must be a list of privacy models.")
    found: list[Criterion] = []
    for number, own in enumerate(document):
        place = f"{pointer}/{number}"
        if not isinstance(own, Mapping) or not isinstance(own.get("kind"), str):
            raise InvalidInput.of(place, "wrong-type", "It must be an object with the field kind.")
        found.append(criterion_of(own["kind"], {k: v for k, v in own.items() if k != "kind"}, place))
    return tuple(found)
