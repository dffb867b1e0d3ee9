"""Making evidence: a result becomes a signed report, in the transaction that stores the result.

It needs nothing but that transaction and a clock, so that a run's own process can do it.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib.metadata import version
from typing import Any, Final, Literal

from app import __version__
from app.evidence.canonical import instant_text, sha256_of_bytes
from app.evidence.envelope import sealed
from app.evidence.statement import CANONICAL_PREFIX, FILE_PREFIX, Report, Statement, Subject
from app.services.fingerprints import MEANING_VERSION, plain, sha256_of
from app.services.gates.evidence_masking import masked_options, masked_policy, masked_rule, masked_verdict
from app.services.gates.evidence_values import (
    TOLERANCE,
    EvidenceFile,
    EvidenceInput,
    EvidenceRef,
    NewEvidence,
    Role,
)
from app.services.ports import Clock, UnitOfWork
from app.services.resources import JsonObject, Kind, Stored, document_of, without_names

_LIBRARIES: Final = (
    "cryptography",
    "faker",
    "numpy",
    "phonenumberslite",
    "pyarrow",
    "python-stdnum",
    "rapidfuzz",
    "scipy",
    "sqlglot",
)
_SUBJECTS: Final = ("dataset", "rule", "release", "dictionary", "relational_schema", "view")


@dataclass(frozen=True, kw_only=True)
class Attested:
    """A result, and what it came from.

    Parameters
    ----------
    resource
        The evaluation or assessment.
    result
        Its result document; values of cells and hierarchies are left out of the evidence.
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
    files
        The files that dataset and release came in, see :func:`files_of`.
    """

    report: Report
    resource: Stored
    result: JsonObject
    inputs: Sequence[EvidenceInput]
    parameters: JsonObject
    policy: JsonObject | None = None
    measures: Mapping[str, int] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    hypotheses: Sequence[JsonObject] = ()
    files: Sequence[EvidenceFile] = ()


class EvidenceIssuer:
    """Writes and signs reports with the key of the tenant whose work it is given."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def issue(self, work: UnitOfWork, attested: Attested) -> EvidenceRef:
        """The evidence of a result; the one that there is if the resource has some already."""
        resource = attested.resource
        found = await work.evidence.of_resource(resource.id)
        if found is not None:
            return found.ref
        signer = await work.signing_keys.signer()
        # A process whose clock is behind that of the one which made the key must not seem to precede it.
        issued_at = max(self._clock(), signer.key.valid_from)
        asked_by = await _asked_by(work, resource)
        predicate = _predicate(attested, asked_by, instant_text(issued_at))
        # The release file by its bytes: what whoever holds it can compare.
        released = [
            Subject(f"{prefix}{own.name}", sha256)
            for own in attested.files
            for prefix, sha256 in ((FILE_PREFIX, own.sha256), (CANONICAL_PREFIX, own.canonical_sha256))
            if own.role != "dataset" and sha256 is not None
        ]
        subjects = (*_subjects(attested.inputs), *released)
        envelope = sealed(Statement(attested.report, subjects, predicate), signer)
        stored = await work.evidence.add(
            NewEvidence(
                attested.report, resource.id, resource.name, resource.sha256, signer.key.id,
                sha256_of_bytes(envelope), issued_at, envelope,
            )
        )  # fmt: skip
        return stored.ref


async def find(work: UnitOfWork, resource_id: str) -> EvidenceRef | None:
    """The evidence of a resource, if there is some."""
    found = await work.evidence.of_resource(resource_id)
    return None if found is None else found.ref


async def _asked_by(work: UnitOfWork, resource: Stored) -> JsonObject | None:
    """The key or the person that asked for the result, as the audit trail has it; None if it has neither."""
    action = f"{resource.kind.value}.create"
    events, _ = await work.audit.list(action=action, subject=resource.id, limit=1, cursor=None)
    if not events:
        return None
    # Every key has a name, and none is ever removed; who has none came by the identity provider.
    kind = "identity" if events[0].key_name is None else "key"
    return {"kind": kind, "id": events[0].key_id, "name": events[0].key_name}


def _predicate(attested: Attested, asked_by: JsonObject | None, issued_at: str) -> JsonObject:
    """What the statement says of its subjects."""
    report, resource, result = attested.report, attested.resource, attested.result
    predicate: JsonObject = plain(
        {
            "report": report,
            "version": 1,
            "issued_at": issued_at,
            "service": _service(),
            "resource": {"name": resource.name, "sha256": resource.sha256},
            "inputs": [asdict(own) for own in attested.inputs],
            "parameters": _masked_parameters(attested.parameters),
            "policy": None if attested.policy is None else masked_policy(attested.policy),
            "measures": dict(attested.measures),
            "seeds": dict(attested.seeds),
            "hypotheses": list(attested.hypotheses),
            "result": masked_verdict(result) if report == "verdict" else result,
            "tolerance": TOLERANCE,
            "asked_by": asked_by,
            "files": [
                {key: own for key, own in asdict(file).items() if own is not None} for file in attested.files
            ],
            "signed_by": "service",
        }
    )
    return predicate


def _service() -> dict[str, Any]:
    """What computed it; ``meaning`` is the version of what hashes of resources mean."""
    return {
        "version": __version__,
        "meaning": MEANING_VERSION,
        "python": platform.python_version(),
        "libraries": dict(_libraries()),
    }


@cache
def _libraries() -> Mapping[str, str]:
    """The versions of the libraries, which do not change while the process lives and take long to read."""
    return {name: version(name) for name in _LIBRARIES}


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


async def inputs_of(
    work: UnitOfWork,
    *,
    dataset: Stored,
    rule: tuple[str | None, str] | None = None,
    release: Stored | None = None,
    dictionaries: Mapping[str, Stored],
    sensitivity: Stored | None = None,
    failure: Stored | None = None,
    true_dictionary: Stored | None = None,
    policy: Stored | None = None,
) -> tuple[EvidenceInput, ...]:
    """Everything that a result rests on, in one order.

    Parameters
    ----------
    rule
        Its name, if it has one, and its hash.
    release
        The upload of a finished release file.
    dictionaries
        Slot → dictionary or dictionary set.
    """
    found = [*_of_dataset(dataset)]
    if rule is not None:
        found.append(EvidenceInput("rule", *rule))
    found += _of_stored("release", release)
    for slot, dictionary in sorted(dictionaries.items()):
        found += await _of_dictionary(work, dictionary, slot)
    found += _of_stored("true_dictionary", true_dictionary)
    found += _of_stored("sensitivity", sensitivity)
    found += _of_stored("failure", failure)
    found += _of_stored("policy", policy)
    return tuple(found)


def _of_stored(role: Role, stored: Stored | None) -> list[EvidenceInput]:
    return [] if stored is None else [EvidenceInput(role, stored.name, stored.sha256)]


async def files_of(
    work: UnitOfWork, dataset: Stored, release: Stored | None = None
) -> tuple[EvidenceFile, ...]:
    """The files that the dataset and the finished release came in, if the latter is one."""
    upload = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
    found = [_file_of("dataset", upload)]
    if release is not None:
        found.append(_file_of("release", release))
    return tuple(found)


def _file_of(role: Literal["dataset", "release"], upload: Stored) -> EvidenceFile:
    known = upload.summary
    return EvidenceFile(role, upload.name, known["content_sha256"], known.get("canonical_sha256"))


def _of_dataset(dataset: Stored) -> list[EvidenceInput]:
    document = document_of(dataset)
    attributes: list[JsonObject] = document["attributes"]
    schema = sha256_of(without_names([{**own, "hierarchy": None} for own in attributes]))
    return [
        EvidenceInput("dataset", dataset.name, dataset.sha256),
        _of_reference("upload", document["upload"]),
        EvidenceInput("schema", None, schema),
        *(
            _of_reference("hierarchy", own["hierarchy"], own["name"])
            for own in attributes
            if own["hierarchy"] is not None
        ),
    ]


async def _of_dictionary(work: UnitOfWork, dictionary: Stored, slot: str) -> list[EvidenceInput]:
    document = document_of(dictionary)
    if dictionary.kind is Kind.DICTIONARY_SET:
        found = [EvidenceInput("dictionary_set", dictionary.name, dictionary.sha256, slot)]
        for entry in document["members"]:
            member = await work.resources.get(Kind.DICTIONARY, entry["dictionary"]["id"])
            found += await _of_dictionary(work, member, slot)
        return found
    found = [EvidenceInput("dictionary", dictionary.name, dictionary.sha256, slot)]
    lookups = [link["transform"].get("upload") for link in document.get("links") or ()]
    found += [
        _of_reference("upload", upload, slot)
        for upload in (document.get("upload"), *lookups)
        if upload is not None
    ]
    return found


def _of_reference(role: Role, reference: JsonObject, slot: str | None = None) -> EvidenceInput:
    return EvidenceInput(role, reference["name"], reference["sha256"], slot)
