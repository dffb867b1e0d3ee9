"""What draws are counted by: hashes of an uploaded content and of what of it is drawn.

A draw of one attribute counts with all of the same attribute. A draw of whole records, as differentially
private mechanisms make them, shows something of every attribute: it counts with every draw of the same
content.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from app.services.fingerprints import sha256_of
from app.services.ports import UnitOfWork
from app.services.releases.mechanism_manifests import attributes_of, hides_records
from app.services.resources import Kind, Stored


def subject_of(content_sha256: str, attributes: Collection[str] | None) -> str:
    """Hash of the content and of the attributes that are drawn; None: whole records are."""
    drawn = None if attributes is None else sorted(attributes)
    return sha256_of({"content_sha256": content_sha256, "drawn": drawn})


def subjects_beside(
    content_sha256: str, attributes: Collection[str] | None, columns: Sequence[str]
) -> tuple[str, ...]:
    """The subjects of other draws of the same content, with these columns, that count with one of these."""
    if attributes is None:
        return tuple(subject_of(content_sha256, (own,)) for own in columns)
    return (subject_of(content_sha256, None),)


async def subjects_beside_releases(
    work: UnitOfWork, releases: Sequence[Stored]
) -> Mapping[str, tuple[str, ...]]:
    """The same by id of drawn releases."""
    uploads: dict[str, Stored] = {}
    for id_ in {own.uses[0] for own in releases}:
        dataset = await work.resources.described(Kind.DATASET, id_)
        uploads[id_] = await work.resources.described(Kind.UPLOAD, dataset.uses[0])
    return {own.id: _beside(own, uploads[own.uses[0]].summary) for own in releases}


def _beside(release: Stored, upload: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    guarantees = release.summary["mechanism"]["guarantees"]
    attributes = None if hides_records(release) else attributes_of(guarantees)
    return subjects_beside(str(upload["content_sha256"]), attributes, upload["columns"])
