"""Audits of mechanisms on made-up tables: nothing of any dataset is read, and nothing is stored."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Final

from app.domain.errors import TooLarge
from app.domain.mechanisms.mechanism_audit import (
    Audit,
    AuditedMechanism,
    AuditMethod,
    audit_by_draws,
    exact_audit,
    least_runs,
    records_drawn,
)
from app.services.releases.mechanism_manifests import BY_NAME

MOST_DRAWN: Final = 10_000_000
"""Records of all tables that one answer may draw: some seconds."""


@dataclass(frozen=True)
class AskAudit:
    """A mechanism, and how its promise is put to the test."""

    mechanism: str
    parameters: Any
    method: AuditMethod = "exact"
    runs: int | None = None


def mechanism_audit(asked: AskAudit) -> Audit:
    """Audit a mechanism.

    InvalidInput for what its plan names as missing, or too few runs; NotSupported where the catalogue calls
    nothing certified; TooLarge where tables have too many outcomes, or too many records would be drawn.
    """
    own = AuditedMechanism.of(BY_NAME[asked.mechanism], asked.parameters)
    if asked.method == "exact":
        return exact_audit(own)
    runs = asked.runs or least_runs(own)
    if (drawn := records_drawn(own, runs)) > MOST_DRAWN:
        raise TooLarge(
            f"{runs:,} runs of each table draw {drawn:,} records; {MOST_DRAWN:,} are drawn at once.",
            "Draw fewer, or run the command audit, which draws as many as it is asked for.",
            MOST_DRAWN,
        )
    return audit_by_draws(own, runs, os.urandom)
