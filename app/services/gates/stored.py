"""Evaluations as stored resources, and back."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from app.services.fingerprints import new_resource
from app.services.gates.policy_documents import policy_of
from app.services.gates.subject import (
    Subject,
    find_referred,
    find_slots,
    parameter_documents,
    parameters_stored,
)
from app.services.ports import UnitOfWork
from app.services.questions import Route
from app.services.references import document_of
from app.services.resources import JsonObject, Kind, NewResource, Stored
from app.services.rules.rules import rule_kept, rule_of_question
from app.services.scoring.scoring_inputs import SourceRefs, find_sources


def new_evaluation(subject: Subject, name: str | None, route: Route, change_rules: int) -> NewResource:
    """The evaluation as it will be stored.

    The waivers and the stored releases of the day and the number of rules that changes are sought among are
    part of its meaning.
    """
    parameters = parameter_documents(subject.parameters)
    meaning: JsonObject = {
        "parameters": parameters,
        "waivers": dict(sorted(subject.waivers.items())),
        "key": subject.key,
        "change_rules": change_rules,
        # Verdicts from before columns were checked do not answer for those that check them, nor do those by
        # the first check, which took criteria that are waived or that protect nobody for ones that judge.
        "checks": ["columns/2"],
        "earlier": list(subject.earlier),
    }
    if subject.upload is not None:
        # Without it the same request meant that the file keeps the records' order.
        meaning["order"] = subject.order
    kept = {
        "policy": subject.stored_policy.id,
        "sources": subject.base.refs,
        "slots": {slot: stored.id for slot, stored in subject.dictionaries.items()},
        **rule_kept(subject.rule),
        "rule_kind": None if subject.rule is None else subject.rule.kind,
        "upload": None if subject.upload is None else subject.upload.id,
        "route": route,
    }
    return new_resource(
        Kind.EVALUATION, name, meaning, _hashes(subject), _summary(subject), kept, _uses(subject)
    )


def _hashes(subject: Subject) -> dict[str, str]:
    hashes = {
        "policy": subject.stored_policy.sha256,
        **subject.base.hashes,
        **{f"slot/{slot}": stored.sha256 for slot, stored in subject.dictionaries.items()},
        **{f"{kind.value}/{name}": stored.sha256 for (kind, name), stored in subject.referred.items()},
    }
    if subject.rule is not None:
        hashes["rule"] = subject.rule.sha256
    if subject.upload is not None:
        hashes["release"] = subject.upload.sha256
    return hashes


def _uses(subject: Subject) -> tuple[str, ...]:
    return (
        subject.stored_policy.id,
        *subject.base.ids,
        *(stored.id for stored in subject.dictionaries.values()),
        *(() if subject.rule is None else subject.rule.uses),
        *(() if subject.upload is None else (subject.upload.id,)),
        *(stored.id for stored in subject.referred.values()),
    )


def _summary(subject: Subject) -> JsonObject:
    upload = subject.upload
    names = {slot: stored.name for slot, stored in subject.dictionaries.items()}
    return {
        "policy": {"name": subject.policy.name, "version": subject.policy.version},
        "dataset": subject.dataset.name,
        "rule": subject.shown_rule,
        "release": None
        if upload is None
        else {"upload": upload.name, "key": subject.key, "order": subject.order},
        "dictionaries": names,
        "sensitivity": subject.base.sensitivity and subject.base.sensitivity.name,
        "failure": subject.base.failure and subject.base.failure.name,
    }


def _order_before(document: JsonObject) -> Literal["records"] | None:
    """What an evaluation without an order meant: without a key the file had to keep the records' order."""
    return "records" if document["key"] is None else None


async def subject_of(work: UnitOfWork, stored: Stored) -> Subject:
    """The subject of a stored evaluation: the very resources that it was asked for."""
    document = document_of(stored)
    policy_resource = await work.resources.get(Kind.POLICY, document["policy"])
    policy = policy_of(document_of(policy_resource))
    base = await find_sources(work, SourceRefs(**document["sources"]))
    parameters: Mapping[str, Any] = parameters_stored(policy, document["parameters"])
    upload = document["upload"]
    return Subject(
        stored_policy=policy_resource,
        policy=policy,
        base=base,
        slots=await find_slots(work, base, document["slots"]),
        rule=await rule_of_question(work, stored, base.dataset),
        upload=None if upload is None else await work.resources.get(Kind.UPLOAD, upload),
        key=document["key"],
        order=document.get("order", _order_before(document)) if upload is not None else None,
        parameters=parameters,
        referred=await find_referred(work, parameters),
        waivers=document["waivers"],
        earlier=tuple(document.get("earlier", ())),
    )
