"""Waivers: a criterion of a policy that need not hold for a while, with who takes that on himself and why."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import ClassVar, Final

from app.domain.errors import Fault, InvalidInput
from app.services.access import require
from app.services.fingerprints import resource_sha256
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.policies import find_policy
from app.services.policy_documents import policy_of
from app.services.ports import Clock, Store, UnitOfWork
from app.services.references import document_of
from app.services.resources import Actor, Created, JsonObject, Kind, NewResource, Scope, Stored

_WAIVERS_PER_READ: Final = 200


@dataclass(frozen=True)
class CreateWaiver:
    """A criterion that need not hold up to and including ``until``.

    ``policy`` is the policy's name: the waiver is for all of its versions that have the criterion.
    ``datasets`` are names; None: every dataset.
    """

    name: str
    policy: str
    criterion: str
    reason: str
    approved_by: str
    until: date
    datasets: tuple[str, ...] | None = None


@dataclass(frozen=True)
class WaiverSummary:
    """The keys of a waiver's ``summary``."""

    policy: str
    criterion: str
    datasets: list[str] | None
    reason: str
    approved_by: str
    until: str


class WaiverService(NamedResources):
    """Grant, read and withdraw waivers; to delete one is to withdraw it."""

    kind: ClassVar[Kind] = Kind.WAIVER
    write_scope: ClassVar[Scope] = Scope.GOVERN

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock

    async def create(self, actor: Actor, request: CreateWaiver) -> Created:
        """Store it; InvalidInput for a criterion that the policy lacks, and for a day that is past."""
        require(actor, Scope.GOVERN)
        check_name(request.name)
        async with self._store.work(actor.tenant) as work:
            policy = policy_of(document_of(await find_policy(work, request.policy)))
        faults = []
        if request.policy != policy.name:
            faults.append(
                Fault(
                    "/policy",
                    "not-a-name",
                    "A waiver is for a policy by its name, for all of its versions.",
                    f"Give {policy.name!r}.",
                )
            )
        known = [criterion.id for criterion in policy.criteria]
        if request.criterion not in known:
            faults.append(
                Fault(
                    "/criterion",
                    "unknown-criterion",
                    f"The policy {policy.name!r} has no criterion {request.criterion!r}.",
                    f"Its criteria are: {', '.join(known)}.",
                )
            )
        if request.until < self._clock().date():
            faults.append(
                Fault("/until", "in-the-past", "The waiver would have expired already.", "Give a later day.")
            )
        if faults:
            raise InvalidInput(faults)
        return await self._add(actor, _resource(request))


def _resource(request: CreateWaiver) -> NewResource:
    document: JsonObject = {
        "policy": request.policy,
        "criterion": request.criterion,
        "datasets": None if request.datasets is None else sorted(set(request.datasets)),
        "reason": request.reason,
        "approved_by": request.approved_by,
        "until": request.until.isoformat(),
    }
    sha256 = resource_sha256(Kind.WAIVER, document, {})
    return NewResource(Kind.WAIVER, request.name, sha256, document, document)


async def waivers_for(work: UnitOfWork, policy: str, dataset: str, today: date) -> dict[str, JsonObject]:
    """Criterion → the waiver of it that counts for a dataset: one in force before one that has expired.

    Of several in force that which lasts longest, then by name. As plain documents with ``in_force``.
    """
    found: dict[str, tuple[bool, str, str, JsonObject]] = {}
    for stored in await _all(work):
        own = stored.summary
        if own["policy"] != policy or not (own["datasets"] is None or dataset in own["datasets"]):
            continue
        in_force = date.fromisoformat(own["until"]) >= today
        known = found.get(own["criterion"])
        key = (in_force, own["until"], stored.name)
        if known is None or key > known[:3]:
            found[own["criterion"]] = (*key, _waiver_document(stored, in_force))
    return {criterion: entry[3] for criterion, entry in found.items()}


def _waiver_document(stored: Stored, in_force: bool) -> JsonObject:
    own = stored.summary
    return {
        "name": stored.name,
        "sha256": stored.sha256,
        "approved_by": own["approved_by"],
        "reason": own["reason"],
        "until": own["until"],
        "in_force": in_force,
    }


async def _all(work: UnitOfWork) -> list[Stored]:
    found: list[Stored] = []
    cursor = None
    while True:
        page = await work.resources.list(Kind.WAIVER, name=None, limit=_WAIVERS_PER_READ, cursor=cursor)
        found += page.items
        if page.next_cursor is None:
            return found
        cursor = page.next_cursor
