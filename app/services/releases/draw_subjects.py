"""What draws are counted by: hashes of an uploaded content and of what of it is drawn.

A draw of one attribute counts with all of the same attribute. A draw of whole records, as differentially
private mechanisms make them, shows something of every attribute: it counts with every draw of the same
content. Contents that are the same table in another file count as the same; of others those draws of the
same attribute count that have some of the same people.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from app.services.fingerprints import sha256_of
from app.services.named import all_resources
from app.services.ports import UnitOfWork
from app.services.releases.mechanism_manifests import (
    PEOPLE,
    attributes_of,
    hides_records,
    is_drawn,
)
from app.services.releases.same_tables import contents_alike
from app.services.resources import Kind, Stored


def subject_of(content_sha256: str, attributes: Collection[str] | None) -> str:
    """Hash of the content and of the attributes that are drawn; None: whole records are."""
    drawn = None if attributes is None else sorted(attributes)
    return sha256_of({"content_sha256": content_sha256, "drawn": drawn})


def subjects_alike(contents: Collection[str], attributes: Collection[str] | None) -> tuple[str, ...]:
    """The same of all contents that are one table, in their order."""
    return tuple(subject_of(own, attributes) for own in contents)


def subjects_beside(
    contents: Collection[str], attributes: Collection[str] | None, columns: Sequence[str]
) -> tuple[str, ...]:
    """What other draws count by that count with one of these.

    ``contents`` are the one that is drawn of and all that are the same table, with these columns.
    """
    if attributes is None:
        return tuple(own for name in columns for own in subjects_alike(contents, (name,)))
    return subjects_alike(contents, None)


async def subjects_beside_releases(
    work: UnitOfWork, releases: Sequence[Stored]
) -> Mapping[str, tuple[str, ...]]:
    """The same by id of drawn releases, and what draws of other contents with the same people count by."""
    others = [own for own in await all_resources(work, Kind.RELEASE) if is_drawn(own)]
    uploads: dict[str, Stored] = {}
    alike = await contents_alike(work)
    for id_ in {own.uses[0] for own in releases}:
        dataset = await work.resources.described(Kind.DATASET, id_)
        uploads[id_] = await work.resources.described(Kind.UPLOAD, dataset.uses[0])
    return {own.id: _beside(own, uploads[own.uses[0]].summary, alike, others) for own in releases}


def _beside(
    release: Stored,
    upload: Mapping[str, Sequence[str]],
    alike: Mapping[str, frozenset[str]],
    others: Sequence[Stored],
) -> tuple[str, ...]:
    content, columns = str(upload["content_sha256"]), upload["columns"]
    contents = alike.get(content, frozenset((content,)))
    if hides_records(release):
        return (*subjects_alike(contents, None), *subjects_beside(contents, None, columns))
    attributes = attributes_of(release.summary["mechanism"]["guarantees"])
    found = (*subjects_alike(contents, attributes), *subjects_beside(contents, attributes, columns))
    # What draws of other contents count by that have some of its people. Of earlier ones it is kept with the
    # release, of later ones with theirs, while those are stored.
    subject, own = subject_of(content, attributes), release.summary["mechanism"].get(PEOPLE)
    kept = [other.summary["mechanism"].get(PEOPLE) for other in others]
    in_both = {one["subject"] for one in kept if one is not None and subject in one["subjects"]}
    return (*found, *sorted(in_both.union(() if own is None else own["subjects"])))
