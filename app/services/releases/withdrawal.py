"""Releases that are given out no more: no row of them is told, whatever asks for one."""

from __future__ import annotations

from app.domain.errors import Withdrawn
from app.services.ports import UnitOfWork
from app.services.releases.mechanism_manifests import is_drawn
from app.services.resources import Stored


async def require_given_out(work: UnitOfWork, release: Stored) -> None:
    """Raise Withdrawn if the release was withdrawn, which is possible of what a mechanism made."""
    if not is_drawn(release):
        return
    state = (await work.draws.states([release.id]))[release.id]
    if state.withdrawn_at is not None:
        raise Withdrawn(release.name, state.withdrawn_at)
