"""Releases that are given out no more: no row of them is told, whatever asks for one."""

from __future__ import annotations

from datetime import datetime

from app.domain.errors import Withdrawn
from app.services.ports import UnitOfWork
from app.services.releases.mechanism_manifests import is_drawn
from app.services.resources import Stored


async def require_given_out(work: UnitOfWork, release: Stored) -> None:
    """Raise Withdrawn if the release was withdrawn, which is possible of what a mechanism made."""
    withdrawn_at = await find_withdrawal(work, release.id) if is_drawn(release) else None
    if withdrawn_at is not None:
        raise Withdrawn(release.name, withdrawn_at)


async def find_withdrawal(work: UnitOfWork, release_id: str | None) -> datetime | None:
    """When the release was withdrawn, if it was; None, too, for no release or a rule's."""
    if release_id is None:
        return None
    state = (await work.draws.states([release_id])).get(release_id)
    return None if state is None else state.withdrawn_at
