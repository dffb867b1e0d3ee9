"""What draws are counted by: hashes of an uploaded content and of what of it is drawn.

A draw of one attribute counts with all of the same attribute. A draw of whole records, as differentially
private mechanisms make them, shows something of every attribute: it counts with every draw of the same
content. Contents that are the same table in another file count as the same; of others those draws count that
have some of the same people, which each draw keeps.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from app.services.fingerprints import sha256_of
from app.services.named import all_resources
from app.services.ports import UnitOfWork
from app.services.releases.draws import Draw
from app.services.releases.mechanism_manifests import attributes_of, hides_records
from app.services.releases.same_tables import contents_alike, joined
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


def linked(draws: Sequence[Draw], subjects: Collection[str]) -> set[str]:
    """What those draws are counted by that have people of draws of the subjects, by any of the draws."""
    found = {other for own in draws if own.subject_sha256 in subjects for other in own.beside}
    return found.union(own.subject_sha256 for own in draws if not own.beside.isdisjoint(subjects))


@dataclass(frozen=True)
class Tables:
    """The tenant's tables by what draws of their contents are counted by.

    ``alike`` are by subject all of the same table, or of others with some of its people, in one order, where
    there are several; ``stored`` are by the first of them the datasets that are stored, the oldest first.
    """

    alike: Mapping[str, tuple[str, ...]]
    stored: Mapping[str, tuple[Stored, ...]]
    draws: Sequence[Draw]

    def subjects(self, subject: str) -> tuple[str, ...]:
        """The subjects of all contents that are the same table, or have some of its people."""
        return self.alike.get(subject, (subject,))

    def datasets(self, subject: str) -> tuple[Stored, ...]:
        """The datasets of these, without their documents."""
        return self.stored.get(self.subjects(subject)[0], ())

    def names(self, subject: str) -> tuple[str, ...]:
        """Their names."""
        return tuple(own.name for own in self.datasets(subject))


async def tables_of(work: UnitOfWork, more: Mapping[str, Collection[str]] = MappingProxyType({})) -> Tables:
    """All that is known of which contents and which datasets are of the same table, or of the same people.

    ``more`` are by subject others that are found just now to have some of its people.
    """
    draws = await work.draws.all()
    people = [(own.subject_sha256, own.beside) for own in draws] + list(more.items())
    # Each table, and each draw with those that have its people, joins what it names.
    pairs = [
        (subject_of(content, None), min(own))
        for content, own in (await contents_alike(work)).items()
        if len(own) > 1
    ]
    pairs += [(one, own) for own, beside in people for one in (own, *beside) if beside]
    alike = {subject: tuple(sorted(own)) for subject, own in joined(pairs).items()}
    contents = {own.id: own.summary["content_sha256"] for own in await all_resources(work, Kind.UPLOAD)}
    stored: dict[str, tuple[Stored, ...]] = {}
    for dataset in list(await all_resources(work, Kind.DATASET))[::-1]:
        if dataset.uses[0] in contents:
            subject = subject_of(contents[dataset.uses[0]], None)
            key = alike.get(subject, (subject,))[0]
            stored[key] = (*stored.get(key, ()), dataset)
    return Tables(alike, stored, draws)


async def subjects_beside_releases(
    work: UnitOfWork, releases: Sequence[Stored]
) -> Mapping[str, tuple[str, ...]]:
    """The same by id of drawn releases, and what draws of other contents with the same people count by."""
    tables, alike = await tables_of(work), await contents_alike(work)
    uploads: dict[str, Stored] = {}
    for id_ in {own.uses[0] for own in releases}:
        dataset = await work.resources.described(Kind.DATASET, id_)
        uploads[id_] = await work.resources.described(Kind.UPLOAD, dataset.uses[0])
    return {own.id: _beside(own, uploads[own.uses[0]].summary, alike, tables) for own in releases}


def _beside(
    release: Stored,
    upload: Mapping[str, Sequence[str]],
    alike: Mapping[str, frozenset[str]],
    tables: Tables,
) -> tuple[str, ...]:
    content, columns = str(upload["content_sha256"]), upload["columns"]
    contents = alike.get(content, frozenset((content,)))
    if hides_records(release):
        return (*tables.subjects(subject_of(content, None)), *subjects_beside(contents, None, columns))
    attributes = attributes_of(release.summary["mechanism"]["guarantees"])
    found = (*subjects_alike(contents, attributes), *subjects_beside(contents, attributes, columns))
    return (*found, *sorted(linked(tables.draws, found[: len(contents)])))
