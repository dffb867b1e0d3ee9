"""What is left of the guarantees of a release: its draws counted, and what other releases show."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.services.ports import UnitOfWork
from app.services.releases.draw_subjects import subjects_beside_releases
from app.services.releases.draws import Draw
from app.services.releases.mechanism_manifests import attributes_of, guarantees_known, together
from app.services.releases.shown_otherwise import releases_of_upload, shown_otherwise
from app.services.resources import JsonObject, Kind, Stored


async def standing_guarantees(work: UnitOfWork, release: Stored) -> tuple[JsonObject, ...]:
    """All that a drawn release promises as of now, and what all draws of the same data promise together."""
    beside = await subjects_beside_releases(work, [release])
    states = await work.draws.states([release.id], beside)
    refuted = await refuted_by_others(work, release)
    draws = await draws_with(work, release, beside[release.id])
    found = guarantees_known(release, states[release.id], refuted)
    return tuple([*found, await asyncio.to_thread(together, draws, refuted)] if draws else found)


def guarantee_of(document: JsonObject) -> PrivacyGuarantee:
    """The guarantee of its document."""
    return PrivacyGuarantee(
        model=document["model"],
        parameters=document["parameters"],
        sentence=document["sentence"],
        status=document["status"],
        hypotheses=tuple(
            Hypothesis(own["id"], own["holds"], own["reason"]) for own in document["hypotheses"]
        ),
        claimed_by_source=document["claimed_by_source"],
    )


async def draws_with(work: UnitOfWork, release: Stored, beside: Collection[str]) -> Sequence[Stored | Draw]:
    """The releases of all draws that count with it, if there are several.

    Where none is stored it is the draw.

    ``beside`` are the other subjects whose draws count.
    """
    draws = await work.draws.of_release(release.id, beside)
    if len(draws) < 2:
        return ()
    return [own if own.release is None else await work.resources.get(Kind.RELEASE, own.id) for own in draws]


async def refuted_by_others(work: UnitOfWork, release: Stored) -> Mapping[str, Hypothesis]:
    """By attribute of its guarantees, what other releases of the same upload refute."""
    dataset = await work.resources.get(Kind.DATASET, release.uses[0])
    others = [own for own in await releases_of_upload(work, dataset) if own[1].id != release.id]
    found = {
        name: shown_otherwise(name, others)
        for name in attributes_of(release.summary["mechanism"]["guarantees"])
    }
    return {name: own for name, own in found.items() if own is not None}
