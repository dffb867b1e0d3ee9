"""Objectives and criteria of privacy that policies name, as the searches take them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Final

from annotated_types import Ge, Le

from app.domain.criteria.catalogue import CRITERIA
from app.domain.criteria.criterion import Criterion
from app.domain.errors import InvalidInput
from app.domain.losses.loss import EQUAL, LossChoice
from app.domain.policies.building import built, closest
from app.domain.policies.policy import OptimumScope
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.problem import Problem
from app.domain.search.scalable.aggregate_options import AggregateOptions

_CRITERIA: Final = {own.kind: own for own in CRITERIA}
_KINDS: Final = ("min_risk", "max_utility", "lagrangian", "aggregate", "min_loss")
_OF_SEARCHES: Final = ("local_recoding", "minimal_rules")
"""Options of ``min_loss`` that ask a search for more than an optimum."""

Amount = Annotated[float, Ge(0), Le(1e12)]


@dataclass(frozen=True)
class _MinRisk:
    utility_floor: Amount | None = None
    loss_cap: Amount | None = None


@dataclass(frozen=True)
class _MaxUtility:
    risk_cap: Annotated[float, Ge(0)]


@dataclass(frozen=True)
class _Traded:
    trade_off: Amount


def criterion_of(model: str, parameters: Mapping[str, Any], pointer: str = "") -> Criterion:
    """The criterion of privacy of this kind; InvalidInput names what is unknown or out of bounds."""
    type_ = _CRITERIA.get(model)
    if type_ is None:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-model", f"There is no privacy model {model!r}.",
            closest(model, _CRITERIA),
        )  # fmt: skip
    return built(type_, parameters, pointer)


def problem_of(
    objective: Mapping[str, Any], scope: OptimumScope, pointer: str = ""
) -> Problem | AnonymityProblem:
    """The question that an objective poses; InvalidInput for one that no search takes."""
    kind = objective.get("kind")
    fields = {name: value for name, value in objective.items() if name != "kind"}
    if kind not in _KINDS:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-objective", "There is no such objective.", closest(str(kind), _KINDS)
        )
    if kind == "min_loss":
        return _least_loss(fields, scope, pointer)
    if kind == "min_risk":
        return _least_risk(fields, scope, pointer)
    if kind == "max_utility":
        cap = built(_MaxUtility, fields, pointer).risk_cap
        return Problem("max_utility", cap, scope)
    own = {name: value for name, value in fields.items() if name == "trade_off"}
    more = {name: value for name, value in fields.items() if name != "trade_off"}
    trade_off = built(_Traded, own if kind == "aggregate" else fields, pointer).trade_off
    if kind == "lagrangian":
        return Problem("lagrangian", trade_off, scope)
    return Problem("aggregate", trade_off, scope, aggregate_options=built(AggregateOptions, more, pointer))


def _least_risk(fields: Mapping[str, Any], scope: OptimumScope, pointer: str) -> Problem:
    bounds = built(_MinRisk, fields, pointer)
    if (bounds.utility_floor is None) == (bounds.loss_cap is None):
        raise InvalidInput.of(pointer, "exactly-one", "Give exactly one of utility_floor and loss_cap.")
    if bounds.loss_cap is not None:
        return Problem("min_risk", bounds.loss_cap, scope, threshold_is_loss=True)
    return Problem("min_risk", bounds.utility_floor or 0.0, scope)


def _least_loss(fields: Mapping[str, Any], scope: OptimumScope, pointer: str) -> AnonymityProblem:
    for name in _OF_SEARCHES:
        if name in fields:
            raise InvalidInput.of(
                f"{pointer}/{name}", "not-applicable", "It asks a search for more than a proven optimum.",
                "Leave it out.",
            )  # fmt: skip
    privacy, loss = fields.get("privacy"), fields.get("loss")
    made: dict[str, Any] = {"scope": scope, "privacy": _privacy(privacy, f"{pointer}/privacy")}
    if isinstance(loss, str):
        made["loss"] = built(LossChoice, {"kind": loss}, f"{pointer}/loss")
    rest = {name: value for name, value in fields.items() if name not in ("privacy", *made)}
    problem = built(AnonymityProblem, rest, pointer, made)
    _require_figure(problem.loss, f"{pointer}/loss")
    return problem


def _require_figure(loss: LossChoice, pointer: str) -> None:
    """A gate holds releases against one number, which each of them has whatever rule made it."""
    if loss.aggregate == "rank":
        raise InvalidInput.of(
            f"{pointer}/aggregate", "not-applicable",
            "A rank is no figure that a release could be held against.",
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
