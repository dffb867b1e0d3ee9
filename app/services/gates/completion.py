"""What is stored with a verdict, in the same transaction: its evidence, and the news of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from app.domain.policies.measure_condition import MeasureCondition
from app.evidence.canonical import sha256_of_bytes
from app.services.gates.evidence import Attested, EvidenceIssuer, files_of, inputs_of
from app.services.gates.evidence_values import EvidenceFile, EvidenceInput, EvidenceRef
from app.services.gates.subject import Subject
from app.services.gates.view_subject import DECISION, ViewSubject, view_sha256
from app.services.ports import UnitOfWork
from app.services.resources import JsonObject, Kind, Run, Stored, document_of
from app.services.runs.webhook_values import WebhookEvent
from app.services.scoring.scoring_options import ScoringOptions


class Completion:
    """Completes verdicts."""

    def __init__(self, issuer: EvidenceIssuer) -> None:
        self._issuer = issuer

    def of(
        self, subject: Subject | ViewSubject, stored: Stored, result: JsonObject
    ) -> Callable[[UnitOfWork, Run], Awaitable[None]]:
        """What a run that found the result stores with it."""

        async def complete(work: UnitOfWork, run: Run) -> None:
            await self.complete(work, subject, stored, result, run.id)

        return complete

    async def complete(
        self,
        work: UnitOfWork,
        subject: Subject | ViewSubject,
        stored: Stored,
        result: JsonObject,
        run_id: str | None,
    ) -> EvidenceRef:
        """Issue the evidence and tell who wants to know; an evaluation that has its evidence keeps it."""
        known = await work.evidence.of_resource(stored.id)
        if known is not None:
            return known.ref
        attested = await _attested(work, subject, stored, result)
        ref = await self._issuer.issue(work, attested)
        await work.webhooks.emit(
            WebhookEvent.EVALUATION_COMPLETED, _news(subject, stored, result, ref, run_id)
        )
        return ref


async def _attested(
    work: UnitOfWork, subject: Subject | ViewSubject, stored: Stored, result: JsonObject
) -> Attested:
    """What is signed of a verdict."""
    # A waiver may be withdrawn before a run ends; what counted is what was in force when it was asked.
    waivers = [EvidenceInput("waiver", own["name"], own["sha256"]) for own in subject.waivers.values()]
    if isinstance(subject, ViewSubject):
        return _of_views(subject, stored, result, waivers)
    rule = subject.rule
    inputs = await inputs_of(
        work,
        dataset=subject.dataset,
        rule=None if rule is None else (rule.name, rule.sha256),
        release=subject.upload if subject.released is None else subject.released.stored,
        dictionaries=subject.dictionaries,
        sensitivity=subject.base.sensitivity,
        failure=subject.base.failure,
        policy=subject.stored_policy,
    )
    compared = [EvidenceInput(role, own.name, own.sha256) for role, own in subject.compared.items()]
    # The rules of earlier releases that a criterion takes into account.
    earlier = [
        EvidenceInput("released_rule", stored.name, stored.sha256)
        for (kind, _), stored in subject.referred.items()
        if kind is Kind.RULE
    ]
    seeds = {id_: getattr(own, "seed", None) for id_, own in subject.parameters.items()}
    return Attested(
        report="verdict",
        resource=stored,
        result=result,
        inputs=(*inputs, *compared, *earlier, *waivers),
        parameters=_parameters(subject, document_of(stored)),
        policy=document_of(subject.stored_policy),
        measures={
            own.condition.measure: own.condition.version
            for own in subject.policy.requirements
            if isinstance(own.condition, MeasureCondition) and own.condition.version is not None
        },
        seeds={id_: seed for id_, seed in seeds.items() if seed is not None},
        hypotheses=[own for criterion in result["criteria"] for own in criterion["hypotheses"]],
        files=await _files(work, subject),
    )


def _of_views(
    subject: ViewSubject, stored: Stored, result: JsonObject, waivers: Sequence[EvidenceInput]
) -> Attested:
    """What is signed of a verdict on views: hashes of the schema with its constraints and of every query."""
    policy = subject.stored_policy
    return Attested(
        report="verdict",
        resource=stored,
        result=result,
        inputs=(
            EvidenceInput("relational_schema", None, subject.schema.sha256),
            *(EvidenceInput("view", own.id, view_sha256(own)) for own in subject.views),
            EvidenceInput("policy", policy.name, policy.sha256),
            *waivers,
        ),
        parameters={
            **dict.fromkeys(("dataset", "rule", "release", "sensitivity", "failure")),
            "dictionaries": {},
            "decision": DECISION,
            "views": len(subject.views),
            "route": document_of(stored)["route"],
        },
        policy=document_of(policy),
        files=[EvidenceFile("view", own.id, sha256_of_bytes(own.query.encode())) for own in subject.views],
    )


async def _files(work: UnitOfWork, subject: Subject) -> tuple[EvidenceFile, ...]:
    """Those of dataset and release; of a stored release its table as CSV, to be compared by its bytes."""
    files, released = await files_of(work, subject.dataset, subject.upload), subject.released
    if released is None:
        return files
    # As CSV a release is written in canonical form.
    csv_sha256 = released.csv_sha256
    return (*files, EvidenceFile("release", released.stored.name, csv_sha256, csv_sha256))


def _news(
    subject: Subject | ViewSubject, stored: Stored, result: JsonObject, ref: EvidenceRef, run_id: str | None
) -> JsonObject:
    return {
        "evaluation": {"id": stored.id, "name": stored.name},
        "verdict": result["verdict"],
        "policy": {"name": subject.policy.name, "version": subject.policy.version},
        "dataset": None if isinstance(subject, ViewSubject) else subject.dataset.name,
        "evidence": ref.id,
        "run": run_id,
    }


def _parameters(subject: Subject, document: JsonObject) -> JsonObject:
    """What recomputing needs beside the inputs."""
    rule = subject.rule
    return {
        "dataset": subject.dataset.name,
        "rule": None if rule is None else {**rule.in_short, "sha256": rule.sha256},
        "release": subject.shown_release,
        "dictionaries": {slot: stored.name for slot, stored in subject.dictionaries.items()},
        "sensitivity": subject.base.sensitivity and subject.base.sensitivity.name,
        "failure": subject.base.failure and subject.base.failure.name,
        "options": _options(subject.options),
        "suppression_limit": subject.policy.suppression_limit or 0.0,
        "change_rules": document["change_rules"],
        "route": document["route"],
    }


def _options(options: ScoringOptions) -> JsonObject:
    """Every option of the scores, those too that the policy leaves as usual.

    Without a view of the attacker each slot is judged by the view that is usual for its dictionaries.
    """
    return {
        **options.shown(),
        "utility": options.utility.document(),
        "attacker_view": options.attacker_view,
    }
