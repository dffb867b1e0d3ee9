"""Use cases on evidence: reading signed reports, and the keys that sign them; reports of assessments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from app.domain.errors import NotFound
from app.evidence.envelope import envelope_bytes, opened, sealed
from app.evidence.keys import PublicKey
from app.evidence.statement import statement_of
from app.evidence.withdrawal import Withdrawal
from app.services.gates.evidence import Attested, EvidenceIssuer, files_of, inputs_of
from app.services.gates.evidence_values import EvidenceRef, StoredEvidence
from app.services.ports import Clock, Store, UnitOfWork
from app.services.questions import require_result
from app.services.resources import Actor, JsonObject, Kind, Period, Scope, Stored, document_of, require
from app.services.rules.rules import rule_of_question
from app.services.scoring.scoring_inputs import find_sources, refs_of
from app.services.scoring.scoring_options import ScoringOptions

_SLOT = "dictionary"
"""The slot of an assessment's one dictionary or dictionary set."""

_MONOTONE = {
    "non_empty": "Every record has consistent entities.",
    "phi_monotone": "A more general value is never more harmful.",
    "psi_le_phi": "An attack that fails is never more harmful than one that succeeds.",
    "model_monotone": "The risk model is proved monotone.",
}


async def issue_assessment(work: UnitOfWork, issuer: EvidenceIssuer, assessment: Stored) -> EvidenceRef:
    """The evidence of a stored assessment; Conflict while it has no result."""
    found = await work.results.find(Kind.ASSESSMENT.value, assessment.sha256)
    result = require_result(assessment, found)
    sources = await find_sources(work, refs_of(assessment))
    dictionary, sensitivity = sources.dictionary, sources.sensitivity
    if dictionary is None or sensitivity is None:
        raise ValueError("an assessment names a dictionary and a sensitivity profile")
    rule = await rule_of_question(work, assessment, sources.dataset)
    if rule is None:
        raise ValueError("an assessment is of a rule")
    options = ScoringOptions.of(document_of(assessment))
    return await issuer.issue(
        work,
        Attested(
            report="assessment",
            resource=assessment,
            result=result,
            inputs=await inputs_of(
                work,
                dataset=sources.dataset,
                rule=(rule.name, rule.sha256),
                dictionaries={_SLOT: dictionary},
                sensitivity=sensitivity,
                failure=sources.failure,
                true_dictionary=sources.true_dictionary,
            ),
            parameters={
                "dataset": sources.dataset.name,
                "rule": {**rule.in_short, "sha256": rule.sha256},
                "release": None,
                "dictionaries": {_SLOT: dictionary.name},
                "sensitivity": sensitivity.name,
                "failure": None if sources.failure is None else sources.failure.name,
                # As a request names them.
                "options": {**options.shown(), "utility": options.utility.document()},
                "bounds": assessment.summary.get("bounds"),
            },
            hypotheses=_hypotheses(result),
            files=await files_of(work, sources.dataset),
        ),
    )


def _hypotheses(result: JsonObject) -> Sequence[JsonObject]:
    monotone = [
        {"id": name, "holds": "yes" if result["monotone"][name] else "no", "reason": reason}
        for name, reason in _MONOTONE.items()
        if result["monotone"].get(name) is not None
    ]
    bound = result.get("bound")
    return [*monotone, *(bound["hypotheses"] if bound else [])]


async def _as_of_now(work: UnitOfWork, found: StoredEvidence) -> StoredEvidence:
    """The evidence with what was signed of its release later, if that was withdrawn.

    Asked for again, the bytes are the same until the key is rotated.
    """
    if found.report != "verdict" or found.envelope is None:
        return found
    envelope = opened(found.envelope)
    statement = statement_of(envelope.content)
    release = statement.release
    at = None if release is None else await work.draws.withdrawn(release.sha256, statement.issued_at)
    if release is None or at is None:
        return found
    signer = await work.signing_keys.signer()
    withdrawal = Withdrawal(release, found.sha256, at, max(at, signer.key.valid_from))
    beside = replace(envelope, withdrawal=sealed(withdrawal, signer))
    return replace(found, envelope=envelope_bytes(beside))


class EvidenceService:
    """Read evidence and manage the keys that sign it."""

    def __init__(self, store: Store, clock: Clock) -> None:
        self._store = store
        self._issuer = EvidenceIssuer(clock)

    async def of_assessment(self, actor: Actor, ref: str) -> StoredEvidence:
        """The evidence of an assessment, issued when it is first asked for; Conflict without a result."""
        async with self._store.work(actor.tenant) as work:
            assessment = await work.resources.get(Kind.ASSESSMENT, ref)
            found = await work.evidence.of_resource(assessment.id)
            if found is not None:
                return found
            issued = await issue_assessment(work, self._issuer, assessment)
            await work.audit.record(actor.key_id, "evidence.issue", issued.id, {"sha256": issued.sha256})
            stored = await work.evidence.get(issued.id)
            await work.commit()
        return stored

    async def of_evaluation(self, actor: Actor, ref: str) -> StoredEvidence:
        """The evidence of a verdict; NotFound while there is no verdict. See :meth:`get`."""
        async with self._store.work(actor.tenant) as work:
            evaluation = await work.resources.get(Kind.EVALUATION, ref)
            found = await work.evidence.of_resource(evaluation.id)
            if found is None:
                raise NotFound("evidence", ref)
            return await _as_of_now(work, found)

    async def get(self, actor: Actor, ref: str) -> StoredEvidence:
        """The evidence of this id or about this name, whether or not what it is about still exists.

        If the release that it is about was withdrawn, a signed statement of that stands beside what was
        signed, which stays as it is.
        """
        async with self._store.work(actor.tenant) as work:
            return await _as_of_now(work, await work.evidence.get(ref))

    async def list(
        self, actor: Actor, *, name: str | None, created: Period, limit: int, cursor: str | None
    ) -> tuple[Sequence[StoredEvidence], str | None]:
        """Newest first, without envelopes; ``name`` filters by substring of what it is about."""
        async with self._store.work(actor.tenant) as work:
            return await work.evidence.list(name=name, limit=limit, cursor=cursor, created=created)

    async def keys(self, actor: Actor) -> Sequence[PublicKey]:
        """The tenant's public keys, newest first; the first is made if there is none."""
        async with self._store.work(actor.tenant) as work:
            keys = await work.signing_keys.list()
            if not keys:
                await work.signing_keys.signer()
                keys = await work.signing_keys.list()
                await work.audit.record(actor.key_id, "signing_key.create", keys[0].id, {})
                await work.commit()
        return keys

    async def rotate(self, actor: Actor) -> PublicKey:
        """Begin a new key; the old one stays for verifying, with its end; needs admin."""
        require(actor, Scope.ADMIN)
        async with self._store.work(actor.tenant) as work:
            key = await work.signing_keys.rotate()
            await work.audit.record(actor.key_id, "signing_key.rotate", key.id, {})
            await work.commit()
        return key
