"""Evidence over HTTP: signed reports, their readable pages, and the keys that sign them."""

from __future__ import annotations

from typing import Annotated, Any, Final

from fastapi import APIRouter, Path, Response

from app.api.authentication import Administrator, AnyKey
from app.api.examples.form import names
from app.api.routers.answers import COMMON, REFUSED, problems
from app.api.routers.collection import CreatedIn, Cursor, Limit, NamePart
from app.api.routes import PREFIX, Route
from app.api.schemas.common import Ref
from app.api.schemas.evidence import EvidenceListing, EvidenceSummary, SigningKey, SigningKeys
from app.api.services import UseCases
from app.evidence.envelope import MEDIA_TYPE
from app.evidence.keys import keys_document
from app.reports.page import PAGE_POLICY, render_page
from app.services.gates.evidence_values import StoredEvidence

router = APIRouter(prefix=PREFIX, tags=["evidence"], route_class=Route, responses=COMMON)
verdicts = APIRouter(prefix=PREFIX, tags=["evidence"], route_class=Route, responses=COMMON)

EvidenceRef = Annotated[
    Ref,
    Path(
        description="Id or sha256 of evidence, or name of the evaluation or assessment whose newest evidence "
        "is meant; that may have been deleted.",
        openapi_examples=names("proposal-score"),
    ),
]
AssessmentRef = Annotated[Ref, Path(openapi_examples=names("proposal-score"))]
EvaluationRef = Annotated[Ref, Path(openapi_examples=names("members-gate"))]

_ENVELOPE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "The DSSE envelope of an in-toto statement, byte by byte as it was signed.",
        "content": {MEDIA_TYPE: {"schema": {"type": "object"}}},
    }
}
_PAGE: Final[dict[int | str, dict[str, Any]]] = {
    200: {
        "description": "A page to read or to print.",
        "content": {"text/html": {"schema": {"type": "string"}}},
    }
}


@router.get(
    "/assessments/{ref}/evidence",
    response_class=Response,
    responses=_ENVELOPE | problems("not-found", "conflict"),
)
async def get_assessment_evidence(actor: AnyKey, services: UseCases, ref: AssessmentRef) -> Response:
    """Get the evidence of an assessment.

    A report with the hashes of all inputs, the parameters, versions and the result, and no value of the
    data, signed when it is first asked for and the same ever after. Refused with `conflict` while a run is
    at work on the assessment.
    """
    return _envelope(await services.evidence.of_assessment(actor, ref))


@router.get(
    "/assessments/{ref}/report", response_class=Response, responses=_PAGE | problems("not-found", "conflict")
)
async def get_assessment_report(actor: AnyKey, services: UseCases, ref: AssessmentRef) -> Response:
    """Get the report of an assessment.

    The evidence as a page for people: what is assumed of the attacker, the risk in words and numbers, what
    was not covered, and how to verify it. The page carries the hash of the evidence and is not itself
    evidence.
    """
    return _page(await services.evidence.of_assessment(actor, ref))


@verdicts.get(
    "/evaluations/{ref}/evidence", response_class=Response, responses=_ENVELOPE | problems("not-found")
)
async def get_evaluation_evidence(actor: AnyKey, services: UseCases, ref: EvaluationRef) -> Response:
    """Get the evidence of a verdict.

    A report with the hashes of all inputs, the policy, every criterion with its value and margin, versions
    and seeds, and no value of the data, signed together with the verdict. If the release was withdrawn, the
    envelope has a further member `withdrawal`, the envelope of a signed statement of that; what was signed
    before and its hash stay as they are.
    """
    return _envelope(await services.evidence.of_evaluation(actor, ref))


@verdicts.get("/evaluations/{ref}/report", response_class=Response, responses=_PAGE | problems("not-found"))
async def get_evaluation_report(actor: AnyKey, services: UseCases, ref: EvaluationRef) -> Response:
    """Get the report of a verdict.

    The evidence as a page for people: the verdict in words, what is assumed of the attacker, risk, criteria
    with their margins, suggested changes, what was not covered, and how to verify it. The page carries the
    hash of the evidence and is not itself evidence.
    """
    return _page(await services.evidence.of_evaluation(actor, ref))


@router.get("/evidence")
async def list_evidence(
    actor: AnyKey,
    services: UseCases,
    created: CreatedIn,
    name: NamePart = None,
    limit: Limit = 50,
    cursor: Cursor = None,
) -> EvidenceListing:
    """List evidence.

    All signed reports of the tenant, newest first, those of what has been deleted included.
    """
    found, following = await services.evidence.list(
        actor, name=name, created=created, limit=limit, cursor=cursor
    )
    return EvidenceListing(items=[EvidenceSummary.of(own) for own in found], next_cursor=following)


@router.get("/evidence/{ref}", response_class=Response, responses=_ENVELOPE | problems("not-found"))
async def get_evidence(actor: AnyKey, services: UseCases, ref: EvidenceRef) -> Response:
    """Get evidence.

    It outlives what it is about: erasing a dataset leaves the reports, which hold hashes and numbers only.
    """
    return _envelope(await services.evidence.get(actor, ref))


@router.get("/evidence/{ref}/report", response_class=Response, responses=_PAGE | problems("not-found"))
async def get_evidence_report(actor: AnyKey, services: UseCases, ref: EvidenceRef) -> Response:
    """Get evidence as a page.

    The readable form of the evidence, which is made from it alone and carries its hash.
    """
    return _page(await services.evidence.get(actor, ref))


@router.get("/evidence/{ref}/standing", responses=problems("not-found"))
async def get_evidence_standing(actor: AnyKey, services: UseCases, ref: EvidenceRef) -> EvidenceSummary:
    """Ask whether evidence still stands.

    What was signed never changes; a verdict can be revoked. By the hash of a report's bytes, which `verify`
    prints, that very report is meant.
    """
    return EvidenceSummary.of(await services.evidence.get(actor, ref))


@router.get("/signing-keys")
async def list_signing_keys(actor: AnyKey, services: UseCases) -> SigningKeys:
    """Get the public keys.

    The key set of the tenant, past keys included: saved as a file it is all that `verify` needs, without the
    service. Give it to whoever is to verify over another way than the reports.
    """
    return SigningKeys.model_validate(keys_document(await services.evidence.keys(actor)))


@router.post("/signing-keys", status_code=201, responses=REFUSED)
async def rotate_signing_key(actor: Administrator, services: UseCases) -> SigningKey:
    """Rotate the signing key.

    Begins a new key. The one before ends now and stays in the key set, so that what it signed can be verified
    on. Needs the scope `admin`.
    """
    return SigningKey.model_validate((await services.evidence.rotate(actor)).document())


def _envelope(stored: StoredEvidence) -> Response:
    return Response(
        stored.envelope,
        media_type=MEDIA_TYPE,
        headers={
            "Content-Location": f"{PREFIX}/evidence/{stored.id}",
            "Content-Disposition": f'inline; filename="{stored.resource_name}-report.json"',
        },
    )


def _page(stored: StoredEvidence) -> Response:
    if stored.envelope is None:
        raise ValueError("the evidence was read without its envelope")
    return Response(
        render_page(stored.envelope, stored.revocation.reason if stored.revocation else None),
        media_type="text/html; charset=utf-8",
        headers={
            "Content-Location": f"{PREFIX}/evidence/{stored.id}/report",
            "Content-Security-Policy": PAGE_POLICY,
        },
    )
