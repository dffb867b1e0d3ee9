"""An audit of a mechanism as work: at once, or part by part in a run; no dataset is read."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

from app.domain.errors import NotSupported
from app.domain.mechanisms.audit_tables import table_of
from app.domain.mechanisms.mechanism_audit import (
    Audit,
    AuditedMechanism,
    audit_by_draws,
    drawn_parts,
    exact_audit,
    exact_parts,
    records_drawn,
)
from app.domain.mechanisms.privacy_audit import Refutation
from app.domain.mechanisms.sample_audit import Need
from app.domain.mechanisms.sampled_generalisation import SampledGeneralisation, constants_of
from app.domain.models.entry import Cost
from app.domain.search.budget import Halted, never
from app.services.fingerprints import canonical_json
from app.services.readers import reader_of
from app.services.releases.mechanism_manifests import BY_NAME
from app.services.resources import JsonObject, Stored, TenantId, document_of
from app.services.runs.run_execution import Conclusion, Tick

_SECONDS_OF_LAWS: Final = 1e-5
"""For each pair of values that noise of two cells has; 0.36 s were measured with 195 values each."""
_REACH: Final = 60.0
"""Values that noise has, times ε."""
_SECONDS_OF_A_TABLE: Final = 0.3
_SECONDS_OF_A_CUBE: Final = 2.3e-7
"""A table of a sample with its neighbours takes the former and, for each threshold³, the latter: 0.3 s were
measured with thresholds of 55, 0.9 s with 154, and 2.1 s with 206.
"""
_SECONDS_OF_A_RECORD: Final = 0.6e-6
"""That is drawn, with the noise of its cell; 0.4 to 0.55 µs were measured."""
_SECONDS_OF_A_COIN: Final = 0.2e-6
"""And of a choice, of a record of a sample; 0.15 to 0.17 µs were measured."""
_BYTES: Final = 100 * 1024**2
"""More than laws of tables and a batch of draws have taken."""
_BYTES_OF_A_RUN: Final = 200
"""The counts of both tables, and what they are compared by."""


@dataclass(frozen=True)
class AuditQuestion:
    """A mechanism as it is asked for, and how its promise is put to the test: ``runs`` None, exactly."""

    own: AuditedMechanism
    runs: int | None


class AuditWork:
    """The tables or the pairs of an audit, each a block."""

    time_limit = None

    def __init__(self, question: AuditQuestion) -> None:
        self._own, runs = question.own, question.runs
        # Whatever is refused is refused here, before anything is stored or computed.
        self._parts: Sequence[Callable[[], Sequence[Need | Refutation]]] = (
            exact_parts(self._own) if runs is None else drawn_parts(self._own, runs, os.urandom)
        )
        self._runs = runs
        self.n_blocks = self.units = len(self._parts)

    @cached_property
    def seconds(self) -> float:
        """By what was measured."""
        is_sample = isinstance(self._own.parameters, SampledGeneralisation)
        if self._runs is not None:
            of_a_record = _SECONDS_OF_A_COIN if is_sample else _SECONDS_OF_A_RECORD
            return of_a_record * records_drawn(self._own, self._runs)
        if is_sample:
            threshold = int(constants_of(table_of((1, 0, 0)), self._own.parameters).threshold)
            return (_SECONDS_OF_A_TABLE + _SECONDS_OF_A_CUBE * threshold**3) * self.units
        return _SECONDS_OF_LAWS * (_REACH / self._own.epsilon + 1) ** 2

    @property
    def cost(self) -> Cost:
        """The estimate."""
        kept = _BYTES_OF_A_RUN * (self._runs or 0)
        return Cost(self.seconds, _BYTES + kept, self.units, "laws" if self._runs is None else "draws")

    def result(self) -> JsonObject:
        """The result document."""
        return self._whole([part() for part in self._parts])

    def run_block(self, index: int, tick: Tick, halted: Halted = never) -> bytes:
        """What one part has found."""
        found = canonical_json([asdict(one) for one in self._parts[index]()])
        tick(1)
        return found

    def conclude(self, blocks: Mapping[int, bytes]) -> Conclusion:
        """The result."""
        kind: Any = Need if self._runs is None else Refutation
        return Conclusion(
            self._whole([[kind(**one) for one in json.loads(block)] for block in blocks.values()])
        )

    def _whole(self, found: Sequence[Sequence[Any]]) -> JsonObject:
        together = exact_audit if self._runs is None else audit_by_draws
        return document_of_audit(together(self._own, found))


def document_of_audit(audit: Audit) -> JsonObject:
    """What was found, as it is stored, answered and printed."""
    return asdict(audit) | {
        "verdict": audit.verdict,
        "is_refuted": audit.is_refuted,
        "needs": [asdict(one) | {"is_refuted": one.is_refuted} for one in audit.needs],
        "tests": [
            asdict(one) | {"is_refuted": one.is_refuted, "verdict": one.verdict} for one in audit.tests
        ],
    }


async def audit_preparation(tenant: TenantId, stored: Stored) -> AuditWork:
    """Makes the work of a stored audit; a ``Prepare`` of run execution.

    NotSupported if the mechanism has another meaning by now.
    """
    document = document_of(stored)
    asked = document["mechanism"]
    mechanism = BY_NAME.get(asked["name"])
    if mechanism is None or mechanism.version != asked["version"]:
        raise NotSupported(
            f"The mechanism {asked['name']} was corrected since: version {asked['version']} is not audited "
            "any more.",
            "Ask again.",
        )
    parameters: Any = reader_of(mechanism.parameters).validate_python(asked["parameters"])
    own = AuditedMechanism.of(mechanism, parameters)
    return AuditWork(AuditQuestion(own, document["runs"]))
