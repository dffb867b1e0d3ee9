"""What an optimisation asks for, and with what it may be found: as values and as plain documents."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from app.domain.classes.grouping import Missing, Suppressed
from app.domain.criteria.catalogue import CRITERIA
from app.domain.criteria.criterion import Criterion
from app.domain.errors import pointing_into
from app.domain.losses.loss import LossChoice
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.scalable.aggregate_options import AggregateOptions
from app.domain.search.solvers import SOLVERS, Solver
from app.services.measurement_documents import document_of_parameters
from app.services.resources import JsonObject

_OF_THE_OBJECTIVE: Final = ("kind", "trade_off")
_OPTIONS_OF_MIN_LOSS: Final = ("missing", "suppressed", "local_recoding", "minimal_rules")
_CRITERIA: Final[Mapping[str, type[Criterion]]] = {own.kind: own for own in CRITERIA}

Scope = Literal["table_level", "record_level"]


@dataclass(frozen=True)
class MinRisk:
    """Least risk among the rules with at least this utility, or at most this loss of information."""

    utility_floor: float | None = None
    loss_cap: float | None = None


@dataclass(frozen=True)
class MaxUtility:
    """Greatest utility among the rules with at most this risk."""

    risk_cap: float


@dataclass(frozen=True)
class Lagrangian:
    """Least risk − trade_off · utility."""

    trade_off: float


@dataclass(frozen=True)
class AggregateObjective:
    """Greatest trade_off / risk + utility^κ of every record, which names no threshold."""

    trade_off: float
    options: AggregateOptions = field(default_factory=AggregateOptions)


@dataclass(frozen=True)
class MinLoss:
    """Least loss of information among the rules that meet all criteria of ``privacy``.

    Classes that fail them are withheld whole, with at most this share of the records.
    """

    privacy: Sequence[Criterion]
    loss: LossChoice = field(default_factory=LossChoice)
    suppression_limit: float = 0.0
    missing: Missing = "own_category"
    suppressed: Suppressed = "excluded"
    local_recoding: bool = False
    minimal_rules: bool = False

    def problem(self, scope: Scope) -> AnonymityProblem:
        """The domain's problem."""
        return AnonymityProblem(
            tuple(self.privacy),
            float(self.suppression_limit),
            self.loss,
            self.missing,
            self.suppressed,
            scope,
            self.local_recoding,
            self.minimal_rules,
        )

    @property
    def needs_population(self) -> bool:
        """Whether a criterion compares the table with the people of a dictionary."""
        return any(own.needs_population for own in self.privacy)


Objective = MinRisk | MaxUtility | Lagrangian | AggregateObjective | MinLoss


def objective_document(objective: Objective) -> JsonObject:
    """The objective as plain JSON."""
    match objective:
        case MinRisk(None, loss_cap) if loss_cap is not None:
            return {"kind": "min_risk", "loss_cap": float(loss_cap)}
        case MinRisk(utility_floor):
            return {"kind": "min_risk", "utility_floor": float(utility_floor or 0.0)}
        case MaxUtility(risk_cap):
            return {"kind": "max_utility", "risk_cap": float(risk_cap)}
        case Lagrangian(trade_off):
            return {"kind": "lagrangian", "trade_off": float(trade_off)}
        case AggregateObjective(trade_off, options):
            return {"kind": "aggregate", "trade_off": float(trade_off), **options.to_document()}
        case MinLoss():
            document: JsonObject = objective.problem("table_level").to_document()["objective"]
            return document


def aggregate_options_of(objective: JsonObject) -> AggregateOptions | None:
    """The options of an aggregate objective's document; None for another objective."""
    if objective["kind"] != "aggregate":
        return None
    return AggregateOptions(**{name: objective[name] for name in objective if name not in _OF_THE_OBJECTIVE})


def anonymity_problem_of(document: JsonObject) -> AnonymityProblem | None:
    """The problem of an optimisation's document whose objective is ``min_loss``; None for another one."""
    objective = document["objective"]
    if objective["kind"] != "min_loss":
        return None
    options = {name: objective[name] for name in _OPTIONS_OF_MIN_LOSS if name in objective}
    privacy = [criterion_of(own) for own in objective["privacy"]]
    loss = loss_choice_of(objective["loss"])
    return MinLoss(privacy, loss, objective["suppression_limit"], **options).problem(document["scope"])


def criterion_of(document: Mapping[str, Any], pointer: str = "") -> Criterion:
    """The criterion of a document or request that is at ``pointer``."""
    fields = {name: value for name, value in document.items() if name != "kind"}
    with pointing_into(pointer):
        return TypeAdapter(_CRITERIA[document["kind"]]).validate_python(fields)


def loss_choice_of(document: str | Mapping[str, Any], pointer: str = "") -> LossChoice:
    """The loss of a document or request at ``pointer``: its kind alone, or with what else was chosen."""
    fields = {"kind": document} if isinstance(document, str) else document
    with pointing_into(pointer):
        return TypeAdapter(LossChoice).validate_python(fields)


@dataclass(frozen=True)
class SearchBudget:
    """What a search may use: counts, which make it stop at the same place every time, and seconds."""

    counted: Budget = UNLIMITED
    time_limit_seconds: float | None = None

    def document(self) -> JsonObject:
        """Plain JSON; beside ``max_nodes`` only what limits is written down."""
        limits = {"relative_gap": self.counted.relative_gap, "time_limit_seconds": self.time_limit_seconds}
        return {
            "max_nodes": self.counted.max_nodes,
            **{name: float(limit) for name, limit in limits.items() if limit is not None},
        }

    def shown(self) -> JsonObject:
        """Plain JSON with every limit, None where there is none."""
        return {"relative_gap": None, "time_limit_seconds": None, **self.document()}

    @classmethod
    def of(cls, document: JsonObject) -> SearchBudget:
        """The budget that :meth:`document` wrote among other keys."""
        counted = Budget(document["max_nodes"], document.get("relative_gap"))
        return cls(counted, document.get("time_limit_seconds"))


def solver_document(solver: Solver) -> str | JsonObject:
    """The solver's name; with every parameter, if it has any."""
    if not dataclasses.fields(solver):
        return solver.name
    return {"kind": solver.name, **document_of_parameters(solver)}


def solver_of(document: str | JsonObject) -> Solver:
    """The solver that :func:`solver_document` wrote down, or that a request asks for."""
    if isinstance(document, str):
        return SOLVERS[document]()  # type: ignore[call-arg]
    parameters: dict[str, Any] = {name: value for name, value in document.items() if name != "kind"}
    return TypeAdapter(SOLVERS[document["kind"]]).validate_python(parameters)
