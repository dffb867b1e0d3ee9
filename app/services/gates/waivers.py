"""Waivers: a criterion of a policy that need not hold for a while, with who takes that on himself and why.

Who approves has looked at data that were there. A waiver is therefore for what the named datasets held when
it was granted, known by their hashes; that it is for whatever comes under a name has to be said. It is for
the criterion as it was then: a later version of the policy that asks for the same inherits it, one that asks
for something else under the same id does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import Annotated, ClassVar, Final, Literal

from annotated_types import Len
from pydantic import StringConstraints

from app.domain.catalogue.catalogue_types import DatasetRef, Example
from app.domain.errors import Fault, NotFound, refuse
from app.domain.policies.policy import Policy
from app.domain.policies.reasons import is_reason
from app.services.fingerprints import new_resource, sha256_of
from app.services.gates.policies import find_policy
from app.services.gates.policy_documents import asked_document, policy_of
from app.services.named import NamedResources, all_resources
from app.services.ports import Clock, Store, UnitOfWork
from app.services.resources import Actor, Created, JsonObject, Kind, NewResource, Scope, Stored, document_of

Lapse = Literal["expired", "other_content", "other_criterion"]
"""Why a waiver is not in force: its last day is past, or it is for other data under the dataset's name, or
for another criterion under the criterion's id."""


_WITH_WORDS: Final = StringConstraints(pattern=r"\S")


@dataclass(frozen=True, kw_only=True)
class NewWaiver:
    """A criterion of a policy to be waived."""

    name: str
    policy: str
    """Name of the policy, or `NAME@VERSION`; of the name alone the highest version. The waiver is for the
    criterion as it is there, and for all versions that have the very same.
    """
    criterion: Annotated[str, Len(1, 100), Example("several-people")]
    """Id of the criterion."""
    datasets: Annotated[tuple[DatasetRef, ...] | None, Len(1, 100), Example(["members"])] = None
    """Names of the datasets that it is for, as they are now; null: all (`any_content`)."""
    any_content: Annotated[bool, Example(False)] = False
    """Whether it is for whatever is stored under these names, now and later. Otherwise it is for what the
    datasets hold now, and for nothing else that will have their names.
    """
    views: str | None = None
    """Of a criterion about views, in place of datasets: the `views_sha256` of the verdict that was looked at.
    The waiver is for that schema and these views; of others, the criterion is judged plainly.
    """
    reason: Annotated[str, Len(1, 2000), _WITH_WORDS]
    """Why the criterion need not hold."""
    approved_by: Annotated[str, Len(1, 200), _WITH_WORDS, Example("A. Officer, data protection")]
    """Who takes it on himself."""
    until: Annotated[date, Example("2027-06-30")]
    """Last day on which it is in force (UTC)."""


class WaiverService(NamedResources):
    """Grant, read and withdraw waivers; to delete one is to withdraw it."""

    kind: ClassVar[Kind] = Kind.WAIVER
    write_scope: ClassVar[Scope] = Scope.GOVERN

    def __init__(self, store: Store, clock: Clock) -> None:
        super().__init__(store)
        self._clock = clock

    async def create(self, actor: Actor, request: NewWaiver) -> Created:
        """Store it; InvalidInput for a criterion that the policy lacks, and for a day that is past."""
        self._admit(actor, request.name)
        async with self._store.work(actor.tenant) as work:
            policy = policy_of(document_of(await find_policy(work, request.policy)))
            datasets, unknown = await _datasets(work, request)
        asked = criterion_sha256(policy, request.criterion)
        faults = [*([] if asked else [_unknown_criterion(request, policy)]), *unknown]
        if not is_reason(request.reason):
            faults.append(
                Fault("/reason", "missing-reason", "The reason has no word.", "Say why it need not hold.")
            )
        if request.until < self._clock().date():
            faults.append(
                Fault("/until", "in-the-past", "The waiver would have expired already.", "Give a later day.")
            )
        refuse(faults)
        return await self._add(actor, _resource(request, policy, asked, datasets))


@dataclass(frozen=True)
class _Datasets:
    """What a waiver is for: names, None for all; and what each held, None for any content."""

    names: list[str] | None
    contents: dict[str, str] | None


async def _datasets(work: UnitOfWork, request: NewWaiver) -> tuple[_Datasets, list[Fault]]:
    """What is meant, and what of it is not there though its content is meant."""
    if request.views is not None:
        both = Fault(
            "/views", "two-subjects", "A waiver is for data or for views.",
            "Leave out datasets and any_content, or views.",
        )  # fmt: skip
        return _Datasets(None, None), [both] if request.datasets or request.any_content else []
    if request.datasets is None:
        unsaid = Fault(
            "/any_content",
            "all-datasets",
            "A waiver that names no dataset is for all of them, those to come included.",
            "Name the datasets that were looked at, or say any_content: true.",
        )
        return _Datasets(None, None), [] if request.any_content else [unsaid]
    names, contents, unknown = set[str](), dict[str, str](), list[Fault]()
    for number, ref in enumerate(request.datasets):
        try:
            dataset = await work.resources.get(Kind.DATASET, ref)
        except NotFound:
            names.add(ref)
            unknown.append(
                Fault(
                    f"/datasets/{number}",
                    "unknown-reference",
                    f"There is no dataset {ref!r} whose content could be waived.",
                    "Create it first. If datasets to come are meant, say any_content: true.",
                )
            )
        else:
            names.add(dataset.name)
            contents[dataset.name] = dataset.sha256
    if request.any_content:
        return _Datasets(sorted(names), None), []
    return _Datasets(sorted(names), contents), unknown


def criterion_sha256(policy: Policy, id_: str) -> str | None:
    """The hash of all that the policy asks by a criterion; None if it has none of this id."""
    own = next((own for own in policy.requirements if own.id == id_), None)
    return None if own is None else sha256_of(asked_document(policy, own))


def _unknown_criterion(request: NewWaiver, policy: Policy) -> Fault:
    return Fault(
        "/criterion",
        "unknown-criterion",
        f"Version {policy.version} of the policy {policy.name!r} has no criterion {request.criterion!r}.",
        f"Its criteria are: {', '.join(criterion.id for criterion in policy.requirements)}.",
    )


def _resource(request: NewWaiver, policy: Policy, criterion: str | None, datasets: _Datasets) -> NewResource:
    meaning: JsonObject = {
        "policy": policy.name,
        "criterion": request.criterion,
        "criterion_sha256": criterion,
        "datasets": datasets.names,
        "any_content": request.any_content,
        "contents": datasets.contents,
        "reason": request.reason,
        "approved_by": request.approved_by,
        "until": request.until.isoformat(),
    }
    if request.views is not None:
        meaning["views"] = request.views
    # Versions that ask for the same are alike to a waiver.
    kept = {"policy_version": policy.version}
    return new_resource(Kind.WAIVER, request.name, meaning, {}, {**meaning, **kept}, kept, ())


@dataclass(frozen=True)
class Waivable:
    """What waivers are looked up for: a policy as it is stored, the dataset or the hash of views, the day."""

    stored_policy: Stored
    policy: Policy
    subject: Stored | str
    today: date

    def is_named_by(self, waiver: JsonObject) -> bool:
        """Whether the waiver is for such a subject: of views whatever their hash, of data by the name."""
        names_views, names_data = waiver.get("views") is not None, waiver["datasets"] is not None
        if isinstance(self.subject, str):
            return names_views or (not names_data and bool(waiver.get("any_content")))
        if names_views:
            return False
        return waiver["datasets"] is None or self.subject.name in waiver["datasets"]


async def waivers_for(work: UnitOfWork, judged: Waivable) -> dict[str, JsonObject]:
    """Criterion → the waiver of it that names the subject: one in force before one that is not.

    Of several in force that which lasts longest, then by name. As plain documents with ``in_force`` and, of
    one that is not, the ``lapse``.
    """
    found: dict[str, tuple[bool, str, str, JsonObject]] = {}
    for stored in await all_resources(work, Kind.WAIVER):
        own = stored.summary
        named = judged.is_named_by(own)
        if own["policy"] != judged.policy.name or not named:
            continue
        lapse = _lapse(stored, judged)
        known = found.get(own["criterion"])
        key = (lapse is None, own["until"], stored.name)
        if known is None or key > known[:3]:
            found[own["criterion"]] = (*key, _waiver_document(stored, judged.subject, lapse))
    return {criterion: entry[3] for criterion, entry in found.items()}


def _lapse(waiver: Stored, judged: Waivable) -> Lapse | None:
    """Why a waiver that names policy, criterion and dataset does not count; None if it does."""
    if not _is_for_content(waiver, judged.subject):
        return "other_content"
    if not _is_for_criterion(waiver, judged):
        return "other_criterion"
    return "expired" if date.fromisoformat(waiver.summary["until"]) < judged.today else None


def _is_for_criterion(waiver: Stored, judged: Waivable) -> bool:
    """Whether the waiver was granted for what the policy asks by the criterion.

    Waivers that were granted before criteria were recorded are for the versions that were there then.
    """
    granted = waiver.summary.get("criterion_sha256")
    if granted is None:
        return judged.stored_policy.created_at <= waiver.created_at
    return bool(granted == criterion_sha256(judged.policy, waiver.summary["criterion"]))


def _is_for_content(waiver: Stored, subject: Stored | str) -> bool:
    """Whether the waiver, which names the subject, was granted for what that is.

    Waivers that were granted before contents were recorded are for the datasets that were there then.
    """
    own = waiver.summary
    if isinstance(subject, str):
        return bool(own.get("any_content")) or own.get("views") == subject
    dataset = subject
    if own.get("any_content"):
        return True
    contents = own.get("contents")
    if contents is None:
        return dataset.created_at <= waiver.created_at
    return bool(contents[dataset.name] == dataset.sha256)


def _waiver_document(stored: Stored, subject: Stored | str, lapse: Lapse | None) -> JsonObject:
    own = stored.summary
    granted = own.get("views")
    if not isinstance(subject, str):
        granted = (own.get("contents") or {}).get(subject.name)
    return {
        "name": stored.name,
        "sha256": stored.sha256,
        "approved_by": own["approved_by"],
        "reason": own["reason"],
        "until": own["until"],
        "dataset_sha256": granted,
        "criterion_sha256": own.get("criterion_sha256"),
        "in_force": lapse is None,
        "lapse": lapse,
    }
