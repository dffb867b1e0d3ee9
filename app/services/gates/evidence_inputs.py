"""What went into a result, by the hashes of meaning that it has in every tenant."""

from __future__ import annotations

from collections.abc import Mapping

from app.services.fingerprints import sha256_of
from app.services.gates.evidence_values import EvidenceFile, EvidenceInput, Role
from app.services.ports import UnitOfWork
from app.services.references import document_of, without_names
from app.services.resources import JsonObject, Kind, Stored


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
    found = [EvidenceFile("dataset", upload.name, upload.summary["content_sha256"])]
    if release is not None:
        found.append(EvidenceFile("release", release.name, release.summary["content_sha256"]))
    return tuple(found)


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
