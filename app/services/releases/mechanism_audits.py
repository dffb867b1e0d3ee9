"""Use cases on audits of mechanisms, on made-up tables: asked at once or by a run, and kept.

Nothing of any dataset is read. What was found is kept, so that the same audit, asked for again, is answered
by it: draws that were repeated until they refute something would err more often than they say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

from app.domain.errors import InvalidInput, MemoryLimitExceeded
from app.domain.mechanisms.mechanism_audit import AuditedMechanism, AuditMethod, least_runs
from app.services.datasets.tables import TableLoader
from app.services.direct_questions import DirectService
from app.services.fingerprints import new_resource
from app.services.ports import Store, UnitOfWork
from app.services.questions import DirectBudget, Plan, Route, faults_of
from app.services.releases.audit_work import AuditQuestion, AuditWork
from app.services.releases.mechanism_manifests import BY_NAME
from app.services.resources import Actor, JsonObject, Kind, NewResource, Stored, document_of
from app.services.scoring.measurement_documents import document_of_parameters

_VERSION: Final = 2
"""Grows when an audit comes to look at other tables, so that what was found before is not answered."""


@dataclass(frozen=True)
class AskAudit:
    """A mechanism, and how its promise is put to the test. Without a name one is made of the hash."""

    mechanism: str
    parameters: Any
    method: AuditMethod = "exact"
    runs: int | None = None
    name: str | None = None

    @property
    def refs(self) -> None:
        """It is about no dataset."""
        return

    @property
    def named(self) -> Sequence[tuple[str, Kind, str]]:
        """It names no other resource."""
        return []


class MechanismAuditService(DirectService[AskAudit, AuditQuestion, AuditWork]):
    """Audit mechanisms, directly where that is small and by a run where it is not.

    InvalidInput for what a mechanism's plan names as missing, or too few runs; NotSupported where nothing
    certified is promised; TooLarge where tables have too many outcomes, or too many records.
    """

    kind: ClassVar[Kind] = Kind.MECHANISM_AUDIT

    def __init__(self, store: Store, loader: TableLoader, budget: DirectBudget, run_bytes: int) -> None:
        super().__init__(store, loader, budget)
        self._run_bytes = run_bytes

    async def _resolve(
        self, store: Store, actor: Actor, request: AskAudit, route: Route
    ) -> tuple[AuditQuestion, NewResource]:
        return await asyncio.to_thread(_question, request)

    async def _prepare(self, actor: Actor, question: AuditQuestion) -> AuditWork:
        return await asyncio.to_thread(AuditWork, question)

    def _plan(self, prepared: AuditWork) -> Plan:
        try:
            self._refuse_as_run(self._estimate(prepared))
        except MemoryLimitExceeded as error:
            return Plan(**self._estimate(prepared), missing=faults_of(error))
        return super()._plan(prepared)

    def _refuse_as_run(self, estimate: JsonObject) -> None:
        if estimate["bytes"] > self._run_bytes:
            raise MemoryLimitExceeded(estimate["bytes"], self._run_bytes, estimate)

    async def _beside(self, work: UnitOfWork, actor: Actor, stored: Stored) -> JsonObject:
        """The mechanism's parameters, which name values of the made-up tables at most."""
        return {"parameters": document_of(stored)["mechanism"]["parameters"]}


def _question(asked: AskAudit) -> tuple[AuditQuestion, NewResource]:
    """The audit as it is made, and as it will be stored."""
    if asked.method == "exact" and asked.runs is not None:
        raise InvalidInput.of(
            "/runs",
            "nothing-drawn",
            "An exact audit draws nothing.",
            "Leave runs out, or ask for the method draws.",
        )
    mechanism = BY_NAME[asked.mechanism]
    own = AuditedMechanism.of(mechanism, asked.parameters)
    runs = None if asked.method == "exact" else asked.runs or least_runs(own)
    meaning = {
        "mechanism": {
            "name": mechanism.name,
            "version": mechanism.version,
            "parameters": document_of_parameters(asked.parameters),
        },
        "method": asked.method,
        "runs": runs,
        "audit": _VERSION,
    }
    summary = {
        "mechanism": mechanism.name,
        "method": asked.method,
        "runs": runs,
        "epsilon": own.epsilon,
        "delta": own.delta,
    }
    new = new_resource(Kind.MECHANISM_AUDIT, asked.name, meaning, {}, summary, {}, ())
    return AuditQuestion(own, runs), new
