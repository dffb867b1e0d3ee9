"""What an evaluation is of, the policy and everything that it evaluates: resolved, stored, and read again.

The subject is resolved once, when the evaluation is asked for; what it found is stored by ids and hashes, so
that a run computes with the very same, whatever has been created under the same names meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.policies.measure_condition import COMPARED, MeasureCondition
from app.domain.policies.policy import Policy, Register, Requirement
from app.services.fingerprints import new_resource
from app.services.gates.policies import find_policy
from app.services.gates.policy_documents import policy_of, scoring_options_of
from app.services.gates.requests import Compared, CreateEvaluation, ReleaseFile
from app.services.gates.schema_faults import schema_faults
from app.services.gates.stored_releases import JudgedRelease, given_out
from app.services.gates.tombstones import judged_sha256
from app.services.ports import UnitOfWork
from app.services.questions import Route
from app.services.resources import JsonObject, Kind, NewResource, Stored, document_of
from app.services.rules.rules import RuleInQuestion, rule_kept, rule_of_question
from app.services.scoring.measurement_documents import (
    Reference,
    document_of_parameters,
    parameters_of,
    references_in,
    with_references,
)
from app.services.scoring.measurement_work import measure_of
from app.services.scoring.measurements import with_released_rules
from app.services.scoring.scoring_inputs import SourceRefs, Sources, find_sources
from app.services.scoring.scoring_options import ScoringOptions


@dataclass(frozen=True)
class Subject:
    """A resolved evaluation.

    ``slots`` are the sources with the dictionary of each slot that is filled; ``base`` those without any.
    ``rule`` is None for a finished release, and for one that a mechanism made. ``upload`` is the file of the
    former; ``released`` a release that was made here, whichever way.
    ``key`` and ``order`` say how the rows of a finished release are found; ``order`` None: nobody chose one.
    ``parameters`` are those of the measures by criterion, with references by name, and ``referred`` what
    these lead to. ``waivers`` by criterion. ``earlier`` are the releases of the same data that were stored
    when the evaluation was asked for. ``is_filled_by_govern``: the scope of who named the dictionaries.
    ``compared`` are the original of a synthetic table and the records held out, by these names.
    """

    stored_policy: Stored
    policy: Policy
    base: Sources
    slots: Mapping[str, Sources]
    rule: RuleInQuestion | None
    upload: Stored | None
    key: str | None
    order: Literal["records"] | None
    parameters: Mapping[str, Any]
    referred: Mapping[tuple[Kind, str], Stored]
    waivers: Mapping[str, JsonObject]
    earlier: tuple[JsonObject, ...] = ()
    released: JudgedRelease | None = None
    is_filled_by_govern: bool = False
    compared: Mapping[Compared, Stored] = field(default_factory=dict)

    @property
    def dataset(self) -> Stored:
        """The dataset."""
        return self.base.dataset

    @property
    def is_as_written(self) -> bool:
        """Whether the table is to leave as it is, and its file writes values in ways that are read as one."""
        leaves = self.released is None and self.rule is not None and self.rule.kind == "identity"
        return leaves and any(own.get("spellings") for own in self.dataset.summary["attributes"])

    @property
    def shown_rule(self) -> JsonObject | None:
        """The rule in short, with its name if it is stored; None for a finished release."""
        return None if self.rule is None else self.rule.in_short

    @property
    def shown_release(self) -> JsonObject | None:
        """How a request names the release that is there already; None for a rule."""
        if self.released is not None:
            return {"name": self.released.stored.name}
        if self.upload is None:
            return None
        return {"upload": self.upload.name, "key": self.key, "order": self.order}

    @property
    def options(self) -> ScoringOptions:
        """How scores are taken, as the policy says."""
        return scoring_options_of(self.policy)

    @property
    def registers(self) -> dict[str, Register | None]:
        """Slot that is filled → what the policy says of its dictionary."""
        return {slot.name: slot.register for slot in self.policy.dictionaries if slot.name in self.slots}

    @property
    def dictionaries(self) -> dict[str, Stored]:
        """Slot → dictionary or dictionary set."""
        return {
            slot: sources.dictionary for slot, sources in self.slots.items() if sources.dictionary is not None
        }


async def find_base(work: UnitOfWork, request: CreateEvaluation) -> tuple[Stored, Policy, Sources]:
    """The policy, and the dataset with its profiles; NotFound for what is not there.

    InvalidInput where the dataset is not what the policy is about, for slots that it does not have and for
    required ones that are not filled.
    """
    stored = await find_policy(work, request.policy)
    policy = policy_of(document_of(stored))
    if policy.judges_views:
        raise InvalidInput.of(
            "/dataset",
            "other-subject",
            f"The policy {policy.name!r} is about views: it requires nothing of data.",
            "Give relational_schema and views in place of a dataset.",
        )
    base = await find_sources(work, request.refs)
    key = request.release.key if isinstance(request.release, ReleaseFile) else None
    faults = [
        *schema_faults(policy, base.dataset, key),
        *_of_slots(policy, request),
        *_of_harm(policy, request),
    ]
    refuse(faults)
    return stored, policy, base


async def find_slots(work: UnitOfWork, base: Sources, dictionaries: Mapping[str, str]) -> dict[str, Sources]:
    """Slot → the sources with its dictionary."""
    found = {}
    for slot, ref in sorted(dictionaries.items()):
        own = await find_sources(work, SourceRefs(base.dataset.id, ref))
        found[slot] = replace(own, sensitivity=base.sensitivity, failure=base.failure)
    return found


async def find_compared(
    work: UnitOfWork, policy: Policy, request: CreateEvaluation, drawn_of: Stored | None
) -> dict[Compared, Stored]:
    """The datasets that a synthetic table is compared with; InvalidInput unless the policy needs these.

    ``drawn_of`` is the dataset of a release that a mechanism drew: its original.
    """
    given: dict[Compared, str | None] = {"original": request.original, "holdout": request.holdout}
    named = {role: ref for role, ref in given.items() if ref is not None}
    if not any(own.condition.synthetic_judge for own in policy.requirements):
        refuse(
            [
                Fault(f"/{role}", "not-applicable", f"The policy {policy.name!r} judges no synthetic table.",
                      "Leave it out.")
                for role in named
            ]
        )  # fmt: skip
    elif drawn_of is not None:
        if request.original is not None:
            raise InvalidInput.of(
                "/original", "not-applicable",
                f"The release was drawn of the dataset {drawn_of.name!r}: that is its original.",
                "Leave it out.",
            )  # fmt: skip
        named = {"original": drawn_of.id, **named}
    elif request.original is None:
        raise InvalidInput.of(
            "/original", "missing", f"The policy {policy.name!r} judges synthetic tables by their originals.",
            "Name the dataset of which this one was made.",
        )  # fmt: skip
    return {role: await work.resources.get(Kind.DATASET, ref) for role, ref in named.items()}


async def asked_parameters(
    work: UnitOfWork,
    policy: Policy,
    base: Sources,
    slots: Mapping[str, Sources],
    compared: Mapping[Compared, Stored],
    *,
    is_drawn: bool,
) -> dict[str, Any]:
    """Criterion → the parameters of its measure, with names in the place of slots and datasets.

    The synthetic table is what is judged: a release that ``is_drawn`` has no dataset's name.
    """
    found: dict[str, Any] = {}
    datasets: dict[str, Stored] = {"dataset": base.dataset}
    for role, dataset in compared.items():
        datasets[role] = dataset
    for criterion in policy.requirements:
        condition = criterion.condition
        if not isinstance(condition, MeasureCondition):
            continue
        measure = measure_of(condition.measure, condition.version)
        parameters = parameters_of(measure, condition.parameters)
        if measure.judges_synthetic:
            parameters = replace(parameters, synthetic=None if is_drawn else COMPARED["synthetic"])
        parameters = with_references(
            parameters,
            lambda reference, own=criterion: _filled(own, slots, datasets, reference),  # type: ignore[misc]
        )
        found[criterion.id] = await with_released_rules(work, parameters, base.dataset)
    return found


def _filled(
    criterion: Requirement,
    slots: Mapping[str, Sources],
    datasets: Mapping[str, Stored],
    reference: Reference,
) -> str:
    slot = reference.ref
    if reference.kind is Kind.DATASET:
        if slot not in datasets:
            raise InvalidInput.of(
                f"/{slot}", "missing", f"The criterion {criterion.id!r} compares with records held out.",
                "Name a dataset of the same population of which the synthetic table was not made.",
            )  # fmt: skip
        return datasets[slot].name
    sources = slots.get(slot)
    if sources is None or sources.dictionary is None:
        raise InvalidInput.of(
            f"/dictionaries/{slot}",
            "missing",
            f"The criterion {criterion.id!r} looks at the dictionary {slot!r}, which is not given.",
            "Name a dictionary for it.",
        )
    return sources.dictionary.name


async def find_referred(work: UnitOfWork, parameters: Mapping[str, Any]) -> dict[tuple[Kind, str], Stored]:
    """What the parameters of measures refer to, by kind and name."""
    found: dict[tuple[Kind, str], Stored] = {}
    for own in parameters.values():
        for reference in references_in(own):
            stored = await work.resources.get(reference.kind, reference.ref)
            found[(reference.kind, stored.name)] = stored
    return found


def _parameters_stored(policy: Policy, documents: Mapping[str, JsonObject]) -> dict[str, Any]:
    """The parameters that an evaluation was stored with."""
    return {
        own.id: parameters_of(measure_of(own.condition.measure, own.condition.version), documents[own.id])
        for own in policy.requirements
        if isinstance(own.condition, MeasureCondition)
    }


def _of_slots(policy: Policy, request: CreateEvaluation) -> list[Fault]:
    known = {slot.name for slot in policy.dictionaries}
    faults = [
        Fault(
            f"/dictionaries/{slot}",
            "unknown-slot",
            f"The policy {policy.name!r} has no dictionary slot {slot!r}.",
            f"Its slots are: {', '.join(sorted(known)) or 'none'}.",
        )
        for slot in request.dictionaries
        if slot not in known
    ]
    faults += [
        Fault(
            f"/dictionaries/{slot.name}",
            "missing",
            f"The policy {policy.name!r} needs the dictionary {slot.name!r}: {slot.description}".rstrip(": "),
            "Name a dictionary for it.",
        )
        for slot in policy.dictionaries
        if slot.required and slot.name not in request.dictionaries
    ]
    return faults


def _of_harm(policy: Policy, request: CreateEvaluation) -> list[Fault]:
    """A fault if criteria need the harm of a disclosure and none is given."""
    if request.sensitivity is not None:
        return []
    needing = [criterion.id for criterion in policy.requirements if criterion.condition.is_scored]
    if not needing:
        return []
    return [
        Fault(
            "/sensitivity",
            "missing",
            f"The criteria {', '.join(needing)} are about risk, which needs the harm of a disclosure.",
            "Name a sensitivity profile of the dataset.",
        )
    ]


def new_evaluation(subject: Subject, name: str | None, route: Route, change_rules: int) -> NewResource:
    """The evaluation as it will be stored.

    The waivers and the stored releases of the day and the number of rules that changes are sought among are
    part of its meaning.
    """
    meaning: JsonObject = {
        "parameters": {id_: document_of_parameters(own) for id_, own in subject.parameters.items()},
        "waivers": dict(sorted(subject.waivers.items())),
        "key": subject.key,
        "change_rules": change_rules,
        # Verdicts from before columns were checked do not answer for those that check them, nor do those by
        # the first check, which took criteria that are waived or that protect nobody for ones that judge.
        "checks": ["columns/2", "rows/1", *(["registers/1"] if subject.dictionaries else [])],
        "earlier": list(subject.earlier),
    }
    if subject.upload is not None:
        # Without it the same request meant that the file keeps the records' order.
        meaning["order"] = subject.order
        # Verdicts from before rows were matched with the records do not answer for those that do it.
        meaning["checks"].append("file/1")
    if None in subject.registers.values() and not subject.policy.takes_any_register:
        meaning["filled_by_govern"] = subject.is_filled_by_govern
    if subject.released is not None:
        # How they stand depends on what else was drawn and released by now.
        meaning["guarantees"] = list(subject.released.guarantees)
        if any(own.condition.reads_ledger for own in subject.policy.requirements):
            meaning["spending"] = subject.released.spending
    kept = {
        "policy": subject.stored_policy.id,
        "sources": subject.base.refs,
        "slots": {slot: stored.id for slot, stored in subject.dictionaries.items()},
        **rule_kept(subject.rule),
        "rule_kind": None if subject.rule is None else subject.rule.kind,
        "upload": None if subject.upload is None else subject.upload.id,
        "released": None if subject.released is None else subject.released.stored.id,
        "route": route,
    }
    if subject.compared:
        kept["compared"] = {role: own.id for role, own in subject.compared.items()}
    hashes, judged = _hashes(subject), _hashes(subject)
    if subject.upload is not None:
        # A file in another dialect has the same content: to write it anew is no way around a revocation.
        judged["release"] = subject.upload.summary.get("canonical_sha256") or subject.upload.sha256
    summary = {**_summary(subject), "judged_sha256": judged_sha256(meaning, judged)}
    return new_resource(Kind.EVALUATION, name, meaning, hashes, summary, kept, _uses(subject))


def _hashes(subject: Subject) -> dict[str, str]:
    hashes = {
        "policy": subject.stored_policy.sha256,
        **subject.base.hashes,
        **{f"slot/{slot}": stored.sha256 for slot, stored in subject.dictionaries.items()},
        **{f"{kind.value}/{name}": stored.sha256 for (kind, name), stored in subject.referred.items()},
        **{f"compared/{role}": stored.sha256 for role, stored in subject.compared.items()},
    }
    if subject.rule is not None:
        hashes["rule"] = subject.rule.sha256
    if subject.upload is not None:
        hashes["release"] = subject.upload.sha256
    if subject.released is not None:
        hashes["stored_release"] = subject.released.stored.sha256
        # What was drawn is no part of what was asked for.
        hashes["released_table"] = subject.released.csv_sha256
    return hashes


def _uses(subject: Subject) -> tuple[str, ...]:
    return (
        subject.stored_policy.id,
        *subject.base.ids,
        *(stored.id for stored in subject.dictionaries.values()),
        *(() if subject.rule is None else subject.rule.uses),
        *(() if subject.upload is None else (subject.upload.id,)),
        *(() if subject.released is None else (subject.released.stored.id,)),
        *(stored.id for stored in subject.referred.values()),
        *(stored.id for stored in subject.compared.values()),
    )


def _summary(subject: Subject) -> JsonObject:
    names = {slot: stored.name for slot, stored in subject.dictionaries.items()}
    return {
        "policy": {"name": subject.policy.name, "version": subject.policy.version},
        "dataset": subject.dataset.name,
        "rule": subject.shown_rule,
        "release": subject.shown_release,
        "dictionaries": names,
        "sensitivity": subject.base.sensitivity and subject.base.sensitivity.name,
        "failure": subject.base.failure and subject.base.failure.name,
    }


async def subject_of(work: UnitOfWork, stored: Stored) -> Subject:
    """The subject of a stored evaluation: the very resources that it was asked for."""
    document = document_of(stored)
    policy_resource = await work.resources.get(Kind.POLICY, document["policy"])
    policy = policy_of(document_of(policy_resource))
    base = await find_sources(work, SourceRefs(**document["sources"]))
    parameters: Mapping[str, Any] = _parameters_stored(policy, document["parameters"])
    upload = document["upload"]
    released = await _released_stored(work, document, base.dataset)
    # Without an order in it the file had to keep that of the records, unless it had a key.
    order_before: Literal["records"] | None = "records" if document["key"] is None else None
    order = document.get("order", order_before) if upload is not None else None
    return Subject(
        stored_policy=policy_resource,
        policy=policy,
        base=base,
        slots=await find_slots(work, base, document["slots"]),
        rule=await rule_of_question(work, stored, base.dataset),
        upload=None if upload is None else await work.resources.get(Kind.UPLOAD, upload),
        key=document["key"],
        order=order if released is None else released.chosen_order,
        parameters=parameters,
        referred=await find_referred(work, parameters),
        waivers=document["waivers"],
        earlier=tuple(document.get("earlier", ())),
        released=released,
        is_filled_by_govern=document.get("filled_by_govern", False),
        compared={
            role: await work.resources.get(Kind.DATASET, id_)
            for role, id_ in document.get("compared", {}).items()
        },
    )


async def _released_stored(work: UnitOfWork, document: JsonObject, dataset: Stored) -> JudgedRelease | None:
    """The release that an evaluation was stored with, its guarantees as they stood then."""
    if document.get("released") is None:
        return None
    found = await given_out(work, document["released"], dataset)
    guarantees, spending = tuple(document["guarantees"]), document.get("spending")
    return replace(found, guarantees=guarantees, spending=spending)
