"""Making evidence: a result becomes a signed report, in the transaction that stores the result.

It needs nothing but that transaction and a clock, so that a run's own process can do it.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from importlib.metadata import version
from typing import Any, Final

from app import __version__
from app.evidence.canonical import sha256_of_bytes
from app.evidence.envelope import sealed
from app.evidence.instants import instant_text
from app.evidence.statement import Report, Statement, Subject
from app.services.evidence_inputs import inputs_of as inputs_of
from app.services.evidence_masking import masked_options, masked_policy, masked_rule, masked_verdict
from app.services.evidence_values import TOLERANCE, NewEvidence
from app.services.evidence_values import EvidenceInput as EvidenceInput
from app.services.evidence_values import EvidenceRef as EvidenceRef
from app.services.fingerprints import MEANING_VERSION, plain
from app.services.ports import Clock, UnitOfWork
from app.services.resources import JsonObject, Stored

_LIBRARIES: Final = ("cryptography", "numpy", "pyarrow", "rapidfuzz", "scipy")
_SUBJECTS: Final = ("dataset", "rule", "release", "dictionary")


class EvidenceIssuer:
    """Writes and signs reports with the key of the tenant whose work it is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def issue(
        self,
        work: UnitOfWork,
        *,
        report: Report,
        resource: Stored,
        result: JsonObject,
        inputs: Sequence[EvidenceInput],
        parameters: JsonObject,
        policy: JsonObject | None = None,
        measures: Mapping[str, int] | None = None,
        seeds: Mapping[str, int] | None = None,
        hypotheses: Sequence[JsonObject] = (),
    ) -> EvidenceRef:
        """The evidence of a result; the one that there is if the resource has some already.

        Parameters
        ----------
        resource
            The evaluation or assessment.
        result
            Its result document; values of cells and hierarchies are left out here.
        inputs
            What went in, see :func:`inputs_of`.
        parameters
            What recomputing needs beside the inputs: dataset, rule (in short, with its hash), release,
            dictionaries by slot, sensitivity, failure, and the options of the score.
        policy
            The policy's document.
        measures
            Measures that were computed → their version.
        seeds
            What was drawn at random → its seed.
        hypotheses
            Those of theorems that the result rests on, with id, holds and reason.
        """
        found = await work.evidence.of_resource(resource.id)
        if found is not None:
            return found.ref
        signer = await work.signing_keys.signer()
        # A process whose clock is behind that of the one which made the key must not seem to precede it.
        issued_at = max(self._clock(), signer.key.valid_from)
        predicate = plain(
            {
                "report": report,
                "version": 1,
                "issued_at": instant_text(issued_at),
                "service": _service(),
                "resource": {"name": resource.name, "sha256": resource.sha256},
                "inputs": [asdict(own) for own in inputs],
                "parameters": _masked_parameters(parameters),
                "policy": None if policy is None else masked_policy(policy),
                "measures": dict(measures or {}),
                "seeds": dict(seeds or {}),
                "hypotheses": list(hypotheses),
                "result": masked_verdict(result) if report == "verdict" else result,
                "tolerance": TOLERANCE,
            }
        )
        envelope = sealed(Statement(report, _subjects(inputs), predicate), signer)
        stored = await work.evidence.add(
            NewEvidence(
                report, resource.id, resource.name, resource.sha256, signer.key.id, sha256_of_bytes(envelope),
                issued_at, envelope,
            )
        )  # fmt: skip
        return stored.ref


async def find(work: UnitOfWork, resource_id: str) -> EvidenceRef | None:
    """The evidence of a resource, if there is some."""
    found = await work.evidence.of_resource(resource_id)
    return None if found is None else found.ref


def _service() -> dict[str, Any]:
    """What computed it; ``meaning`` is the version of what hashes of resources mean."""
    return {
        "version": __version__,
        "meaning": MEANING_VERSION,
        "python": platform.python_version(),
        "libraries": {name: version(name) for name in _LIBRARIES},
    }


def _masked_parameters(parameters: JsonObject) -> JsonObject:
    shown = dict(parameters)
    if shown.get("rule"):
        shown["rule"] = masked_rule(shown["rule"])
    if shown.get("options"):
        shown["options"] = masked_options(shown["options"])
    return shown


def _subjects(inputs: Sequence[EvidenceInput]) -> tuple[Subject, ...]:
    """What the statement is about, under names that are unique in it."""
    chosen = [own for own in inputs if own.role in _SUBJECTS]
    times = Counter((own.role, own.name) for own in chosen)
    subjects = []
    for number, own in enumerate(chosen, start=1):
        name = f"{own.role}/{own.name}" if own.name else own.role
        if times[own.role, own.name] > 1:
            name = f"{name}#{number}"
        subjects.append(Subject(name, own.sha256))
    return tuple(subjects)
