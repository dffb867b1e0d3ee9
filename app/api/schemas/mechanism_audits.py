"""Audits of mechanisms in requests and answers."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from app.api.schemas.common import Answer, Name, Number, Request, Resource
from app.api.schemas.derived import value_of
from app.api.schemas.mechanisms import AskedMechanism
from app.api.schemas.runs import WithRun
from app.domain.mechanisms.mechanism_audit import MOST_RUNS, AuditMethod
from app.services.releases.mechanism_audits import AskAudit


class NewMechanismAudit(Request):
    """A mechanism that is called certified, and how its promise is put to the test."""

    name: Name | None = None
    """Its name; without one it is made of the content's hash."""
    mechanism: Annotated[AskedMechanism, Field(description="Which mechanism, with its parameters.")]
    """Attributes that it names are those of the made-up tables: their only one is `leaf`, of the values a and
    b.
    """
    method: Annotated[AuditMethod, Field(examples=["exact"])] = "exact"
    """`exact`: the laws of all that small tables can be released as. `draws`: many releases of pairs that are
    hard to hide.
    """
    runs: Annotated[int | None, Field(strict=True, ge=2, le=MOST_RUNS, examples=[None])] = None
    """How many releases of each table are drawn, for `draws` alone; without it as few as could refute
    anything.
    """

    def request(self) -> AskAudit:
        """What was sent, as the use case takes it."""
        parameters = value_of(self.mechanism, "/mechanism")
        return AskAudit(self.mechanism.kind, parameters, self.method, self.runs, self.name)


class AuditedPart(Answer):
    """What small tables need at most of δ or of a part of it."""

    part: Annotated[str, Field(max_length=100, examples=["delta_of_frequent_set"])]
    """`delta`, or a part as the guarantee tells it."""
    least: Annotated[Number, Field(description="No less would hold.", examples=[0.000666])]
    promised: Annotated[Number, Field(description="What is promised.", examples=[0.000912])]
    error: Annotated[Number, Field(description="`least` is off by no more.", examples=[1e-12])]
    is_refuted: Annotated[bool, Field(description="Whether more is needed than is promised.")]


class AuditedPair(Answer):
    """What draws of two neighbours bound ε by, in one order."""

    pair: Annotated[str, Field(max_length=100, description="The two tables.", examples=["alone"])]
    order: Annotated[str, Field(max_length=100, examples=["more over less"])]
    """Whether the event is more frequent with the record or without it."""
    event: Annotated[str, Field(max_length=200, examples=["6 or more rows a"])]
    """The event by which half of the draws differ most; the other half counts it."""
    least_epsilon: Annotated[Number, Field(description="No smaller ε holds.", examples=[0.63])]
    claimed: Annotated[Number, Field(description="The ε that is promised.", examples=[1])]
    attainable: Annotated[Number, Field(examples=[4.1])]
    """No greater ε could have been found by so many draws."""
    is_refuted: Annotated[bool, Field(description="Whether ε must be greater than is promised.")]
    verdict: Annotated[str, Field(max_length=100, examples=["not refuted"])]
    """`refuted: ε ≥ …`, or `not refuted`, which is no proof."""


class MechanismAuditResult(Answer):
    """What an audit found. That nothing is refuted is no proof."""

    mechanism: Annotated[str, Field(max_length=100, examples=["stability_histogram"])]
    """Its name."""
    epsilon: Annotated[Number, Field(description="The ε that is promised.", examples=[1])]
    delta: Annotated[Number, Field(description="The δ that is promised.", examples=[0.01])]
    verdict: Annotated[str, Field(max_length=200, description="The worst of what was found.")]
    is_refuted: Annotated[bool, Field(description="Whether anything breaks what is promised.")]
    needs: Annotated[list[AuditedPart], Field(max_length=10)]
    """By the exact laws; empty for draws."""
    tests: Annotated[list[AuditedPair], Field(max_length=100)]
    """By draws; all together err with at most 10⁻⁶. Empty for exact laws."""


class MechanismAuditSummary(Resource):
    """An audit of a mechanism without what it found."""

    mechanism: Annotated[str, Field(max_length=100, examples=["stability_histogram"])]
    """Its name."""
    method: Annotated[AuditMethod, Field(description="How it is put to the test.", examples=["exact"])]
    runs: Annotated[int | None, Field(examples=[None])]
    """How many releases of each table are drawn; null for exact laws."""
    epsilon: Annotated[Number, Field(description="The ε that is promised.", examples=[1])]
    delta: Annotated[Number, Field(description="The δ that is promised.", examples=[0.01])]


class MechanismAudit(WithRun, MechanismAuditSummary):
    """An audit of a mechanism with what it found."""

    parameters: Annotated[dict[str, Any], Field(examples=[{"epsilon": 1, "delta": 0.01}])]
    """By which the mechanism was asked for."""
    result: Annotated[MechanismAuditResult | None, Field(description="Null until a run has brought it.")]
