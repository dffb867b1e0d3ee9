"""Sequential disclosures over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import Body, Path, Response

from app.api.authentication import AnyKey, Assessor
from app.api.bodies.limits import LARGEST_BYTES, takes_up_to
from app.api.examples.assessments import BATCHES, SEQUENTIAL_DISCLOSURES
from app.api.examples.form import names
from app.api.routers.answers import MADE, located, problems
from app.api.routers.collection import Collection
from app.api.schemas.common import Ref, shown
from app.api.schemas.sequential_disclosures import (
    AppendedBatch,
    JudgedRecord,
    NewBatch,
    NewSequentialDisclosure,
    Running,
    SequentialDisclosure,
    SequentialDisclosureSummary,
)
from app.api.services import UseCases
from app.services.resources import Scope

COLLECTION = Collection(
    "sequential disclosure",
    SequentialDisclosureSummary,
    tuple(SEQUENTIAL_DISCLOSURES),
    write_scope=Scope.ASSESS,
)

DisclosureRef = Annotated[Ref, Path(openapi_examples=names("enquiries"))]

router = COLLECTION.router()


@router.post("", status_code=201, responses=MADE | problems("not-found"))
@takes_up_to(LARGEST_BYTES)
async def create_sequential_disclosure(
    actor: Assessor,
    services: UseCases,
    response: Response,
    body: Annotated[NewSequentialDisclosure, Body(openapi_examples=SEQUENTIAL_DISCLOSURES)],
) -> SequentialDisclosure:
    """Begin a sequential disclosure.

    For records that are released one after another: each batch is judged as it comes, and the risk of all
    so far is kept exactly. Needs the scope `assess`.
    """
    created = await services.sequential_disclosures.create(actor, await asyncio.to_thread(body.request))
    view = await services.sequential_disclosures.view(actor, created.resource.id)
    located(response, f"/sequential-disclosures/{created.resource.id}", created.created)
    return shown(SequentialDisclosure, view.resource, running=view.running)


@router.post("/{ref}/batches", status_code=201, responses=problems("invalid-input", "not-found", "conflict"))
@takes_up_to(LARGEST_BYTES)
async def append_batch(
    actor: Assessor,
    services: UseCases,
    ref: DisclosureRef,
    body: Annotated[NewBatch, Body(openapi_examples=BATCHES)],
) -> AppendedBatch:
    """Append records.

    Judges the records at chosen levels of the full domain (`levels`), at chosen steps from their own values
    (`record_level`), at the best steps for a utility floor (`optimal`), or at those that were best most often
    so far (`modal`), and adds them to the running risk. The answer states per record the `steps` and what is
    `disclosed`; its steps, sent as `record_level`, disclose the same again. An infinite loss is never lost.
    The values are not stored. Send an `Idempotency-Key`, so that a repeated request appends nothing twice.
    Needs the scope `assess`.
    """
    appended = await services.sequential_disclosures.append(actor, ref, await asyncio.to_thread(body.request))
    return AppendedBatch(
        step=appended.step,
        records=[JudgedRecord.model_validate(record) for record in appended.records],
        running=Running.model_validate(appended.running),
    )


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_sequential_disclosure(
    actor: AnyKey, services: UseCases, ref: DisclosureRef
) -> SequentialDisclosure:
    """Get a sequential disclosure.

    With the running figures of all records so far.
    """
    view = await services.sequential_disclosures.view(actor, ref)
    return shown(SequentialDisclosure, view.resource, running=view.running)
