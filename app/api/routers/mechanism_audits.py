"""Audits of mechanisms over HTTP."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Final

from fastapi import APIRouter, Body

from app.api.authentication import Assessor
from app.api.examples.rules import MECHANISM_AUDITS
from app.api.routers.answers import COMMON, problems
from app.api.routes import PREFIX, Route
from app.api.schemas.mechanism_audits import MechanismAudit, NewMechanismAudit
from app.services.releases.mechanism_audits import mechanism_audit

router = APIRouter(
    prefix=f"{PREFIX}/mechanism-audits", tags=["mechanism audits"], route_class=Route, responses=COMMON
)

_ALONE: Final = ThreadPoolExecutor(max_workers=1, thread_name_prefix="audits")
"""Audits take seconds: they wait for each other, and hold no thread that other answers need."""


@router.post("", responses=problems("invalid-input", "not-supported", "too-large", "unsupported-media-type"))
async def audit_mechanism(
    actor: Assessor,
    body: Annotated[NewMechanismAudit, Body(openapi_examples=MECHANISM_AUDITS)],
) -> MechanismAudit:
    """Audit a mechanism.

    Tries to refute what a certified mechanism promises with these parameters, on made-up tables of few
    records about its own thresholds: no dataset is read, and nothing is stored. `exact` compares the laws of
    all that they can be released as, of all neighbours and in both orders, with δ and every part of it that
    the guarantee tells; a mechanism whose thresholds are too high for that is refused with `too-large`.
    `draws` draws releases of pairs that are hard to hide and bounds ε by what they show. A mechanism that
    certifies nothing is refused with `not-supported`. That nothing is refuted is no proof. Needs the scope
    `assess`.
    """
    asked = await asyncio.to_thread(body.request)
    loop = asyncio.get_running_loop()
    return MechanismAudit.model_validate(await loop.run_in_executor(_ALONE, mechanism_audit, asked))
