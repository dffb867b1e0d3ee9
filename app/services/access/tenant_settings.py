"""How long a tenant's data are kept and how much it may have: settings, with the service's defaults."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from app.domain.errors import InvalidInput
from app.services.resources import Tenant

UNLIMITED: Final = "unlimited"
"""How None is written where settings are texts."""

DEFAULT: Final = "default"
"""What is written to go back to the service's default."""

MOST_DAYS: Final = 36_500
MOST: Final = 10**15

Changes = Mapping[str, int | str | None]
"""Settings by name: a number, None for no limit, or ``DEFAULT``."""


def _days(default: int | None, meaning: str) -> Any:  # noqa: ANN401 - a field of any type
    return field(default=default, metadata={"meaning": meaning, "most": MOST_DAYS})


def _quota(default: int | None, meaning: str) -> Any:  # noqa: ANN401 - a field of any type
    return field(default=default, metadata={"meaning": meaning, "most": MOST})


@dataclass(frozen=True)
class TenantSettings:
    """What holds for one tenant; None: without a limit.

    Datasets, rules and all else that somebody made by name is deleted by nobody but its users.
    """

    results_days: int | None = _days(
        365, "Days after which the result of a run is removed; the run is `expired` then."
    )
    runs_days: int | None = _days(
        None, "Days after which a run that failed, was cancelled or has expired is removed itself."
    )
    unused_uploads_days: int | None = _days(30, "Days after which an upload is removed that nothing uses.")
    uploads: int | None = _quota(1000, "Most uploads.")
    datasets: int | None = _quota(1000, "Most datasets.")
    stored_bytes: int | None = _quota(
        100 * 1024**3, "Most bytes of uploads, as they are stored: compressed and encrypted."
    )
    active_runs: int | None = _quota(100, "Most runs that are queued or running.")

    def changed(self, changes: Changes) -> TenantSettings:
        """These settings with those of ``changes`` that are no defaults; others are as they were."""
        known = {own.name for own in dataclasses.fields(self)}
        given = {name: value for name, value in changes.items() if name in known and value != DEFAULT}
        return dataclasses.replace(self, **given)  # type: ignore[arg-type]


@dataclass(frozen=True)
class Usage:
    """What a tenant has of that for which there are quotas."""

    uploads: int
    datasets: int
    stored_bytes: int
    active_runs: int


@dataclass(frozen=True)
class TenantOverview:
    """A tenant, what holds for it, which of that is its own instead of a default, and what it has."""

    tenant: Tenant
    settings: TenantSettings
    own: frozenset[str]
    usage: Usage


USUAL: Final = TenantSettings()
"""What holds where the operator has said nothing."""

SETTINGS: Final = {own.name: own for own in dataclasses.fields(TenantSettings)}
"""The settings by name; ``metadata`` says what each means and its greatest value."""


class OwnTenant(Protocol):
    """The tenant of a unit of work, with what holds for it."""

    async def overview(self) -> TenantOverview:
        """The tenant, its settings and what it has."""

    async def settings(self) -> TenantSettings:
        """What holds for the tenant."""

    async def change(self, changes: Changes) -> None:
        """Keep these settings from now on; the others stay as they are."""


def parsed(texts: Mapping[str, str]) -> Changes:
    """Changes from texts by name: whole numbers from 1, ``unlimited`` or ``default``; InvalidInput if not."""
    changes: dict[str, int | str | None] = {}
    for name, text in texts.items():
        if name not in SETTINGS:
            raise InvalidInput.of(
                f"/{name}",
                "unknown-setting",
                f"There is no setting {name!r}.",
                f"Choose from {', '.join(SETTINGS)}.",
            )
        changes[name] = DEFAULT if text == DEFAULT else number_or_unlimited(name, text)
    return changes


def number_or_unlimited(name: str, text: str) -> int | None:
    """The value of a setting that is written so; InvalidInput if it is none."""
    if text == UNLIMITED:
        return None
    most = SETTINGS[name].metadata["most"]
    if text.isascii() and text.isdigit() and len(text) <= len(str(most)) and 1 <= int(text) <= most:
        return int(text)
    raise InvalidInput.of(
        f"/{name}",
        "out-of-range",
        f"The setting {name} is a whole number from 1 to {most}, {UNLIMITED} or {DEFAULT}.",
        "Give one of these.",
    )
