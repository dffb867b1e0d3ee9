"""Objectives and criteria of privacy, read from what policies state and what searches have stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

from app.documents import built, closest
from app.domain.catalogue.field_types import field_types
from app.domain.errors import InvalidInput, pointing_into
from app.domain.losses.loss import EQUAL, LossChoice
from app.domain.models.criteria import CRITERIA
from app.domain.models.criterion import Criterion
from app.domain.models.judging import NEWEST_READING
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.objectives import OBJECTIVES, Alternatives, MinLoss, Objective, ScoredObjective
from app.domain.search.problem import Problem

OptimumScope = Literal["table_level", "record_level"]

_CRITERIA: Final = {own.kind: own for own in CRITERIA}
_OF_SEARCHES: Final = ("local_recoding", "minimal_rules")
"""Options of ``min_loss`` that ask a search for more than an optimum."""


def criterion_of(
    model: str, parameters: Mapping[str, Any], pointer: str = "", *, printed: bool = True
) -> Criterion:
    """The criterion of this kind, of version 1 if none is said; InvalidInput names what is wrong."""
    type_ = _CRITERIA.get(model)
    if type_ is None:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-model", f"There is no privacy model {model!r}.",
            closest(model, _CRITERIA),
        )  # fmt: skip
    if "version" in marks_of(model):
        parameters = {"version": 1, **parameters}
    return built(type_, parameters, pointer, printed=printed)


def criteria_of(document: object, pointer: str = "", *, printed: bool = True) -> tuple[Criterion, ...]:
    """The criteria of a list of documents; ``printed`` as for :func:`built`."""
    if isinstance(document, str | Mapping) or not isinstance(document, Sequence):
        raise InvalidInput.of(pointer, "wrong-type", "It must be a list of privacy models.")
    found: list[Criterion] = []
    for number, own in enumerate(document):
        place = f"{pointer}/{number}"
        if not isinstance(own, Mapping) or not isinstance(own.get("kind"), str):
            raise InvalidInput.of(place, "wrong-type", "It must be an object with the field kind.")
        parameters = {name: value for name, value in own.items() if name != "kind"}
        found.append(criterion_of(own["kind"], parameters, place, printed=printed))
    return tuple(found)


def marks_of(model: str) -> Mapping[str, tuple[Any, ...]]:
    """What the annotations of a privacy model's parameters say, by parameter; empty for unknown models."""
    if model not in _CRITERIA:
        return {}
    return {name: getattr(hint, "__metadata__", ()) for name, hint in field_types(_CRITERIA[model]).items()}


def of_newest_version(model: str, document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The document of a privacy model with a version, where there are several."""
    return {"version": NEWEST_READING, **document} if "version" in marks_of(model) else document


def objective_of(document: Mapping[str, Any], pointer: str = "", *, printed: bool = True) -> Objective:
    """The objective of a document, whether a policy states it or a search has stored it.

    ``printed`` as for :func:`built`: stored criteria may name any value of a cell.
    """
    kind: Any = document.get("kind")
    fields = {name: value for name, value in document.items() if name != "kind"}
    if kind not in OBJECTIVES:
        raise InvalidInput.of(
            f"{pointer}/kind", "unknown-objective", "There is no such objective.",
            closest(str(kind), OBJECTIVES),
        )  # fmt: skip
    made: dict[str, Any] = {}
    if kind in (MinLoss.kind, Alternatives.kind):
        made["privacy"] = criteria_of(fields.pop("privacy", None), f"{pointer}/privacy", printed=printed)
        if isinstance(fields.get("loss"), str):
            loss = {"kind": fields.pop("loss")}
            made["loss"] = built(LossChoice, loss, f"{pointer}/loss", printed=printed)
    return built(OBJECTIVES[kind], fields, pointer, made, printed=printed)


def optimum_of(document: Mapping[str, Any], pointer: str = "") -> ScoredObjective | MinLoss:
    """The objective of a requirement; InvalidInput for one that no proven optimum is known of."""
    asks_for_loss = document.get("kind") == MinLoss.kind
    for name in _OF_SEARCHES:
        if asks_for_loss and name in document:
            raise InvalidInput.of(
                f"{pointer}/{name}", "not-applicable", "It asks a search for more than a proven optimum.",
                "Leave it out.",
            )  # fmt: skip
    objective = objective_of(document, pointer)
    if isinstance(objective, Alternatives):
        raise InvalidInput.of(
            f"{pointer}/kind", "not-applicable", "Several rules side by side are no optimum.",
            "Require that of min_loss.",
        )  # fmt: skip
    if isinstance(objective, MinLoss):
        _require_figure(objective.loss, f"{pointer}/loss")
    return objective


def problem_of(
    objective: Mapping[str, Any], scope: OptimumScope, pointer: str = ""
) -> Problem | AnonymityProblem:
    """The question that an objective poses; InvalidInput for one that no search takes."""
    asked = optimum_of(objective, pointer)
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
