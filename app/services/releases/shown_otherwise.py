"""Releases of the same content, and which of them show as it is what a mechanism drew for another."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.mechanisms.common_hypotheses import NOT_SHOWN_OTHERWISE
from app.services.named import all_resources
from app.services.ports import UnitOfWork
from app.services.releases.mechanism_manifests import hides_records, is_drawn
from app.services.releases.same_tables import contents_like
from app.services.resources import Kind, Stored, document_of

_MOST_NAMED: Final = 5

Released = tuple[Stored, Stored]
"""A dataset and a release of it."""


async def releases_of_upload(
    work: UnitOfWork, dataset: Stored, *, with_parts: bool = False
) -> Sequence[Released]:
    """The stored releases of all datasets that were made of the dataset's upload, the oldest first.

    The same table that was uploaded another time, also in another file, counts as the same upload; and if
    ``with_parts``, other columns of the same rows, where a stored upload has the columns of both.
    """
    upload = await work.resources.described(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
    contents = {*await contents_like(work, upload.summary["content_sha256"])}
    if with_parts:
        contents |= await _contents_beside(work, upload)
    alike = [
        own.id for own in await all_resources(work, Kind.UPLOAD) if own.summary["content_sha256"] in contents
    ]
    datasets = {dataset.id: dataset} | {
        own.id: own for id_ in alike for own in await all_resources(work, Kind.DATASET, built_on=id_)
    }
    found = [
        (own, release)
        for own in datasets.values()
        for release in await all_resources(work, Kind.RELEASE, built_on=own.id)
        if release.uses[0] == own.id
    ]
    return sorted(found, key=lambda own: (own[1].created_at, own[1].name))


async def _contents_beside(work: UnitOfWork, upload: Stored) -> set[str]:
    """The contents of uploads that are columns of one table together with this one, maybe all of them."""
    columns: dict[str, frozenset[str]] = {}
    for own in await all_resources(work, Kind.UPLOAD):
        if own.summary["rows"] == upload.summary["rows"]:
            document = document_of(await work.resources.get(Kind.UPLOAD, own.id))
            columns[own.summary["content_sha256"]] = frozenset(document.get("column_hashes", ()))
    here = columns[upload.summary["content_sha256"]]
    wholes = [whole for whole in columns.values() if here and here <= whole]
    return {other for other, own in columns.items() if own and any(own <= whole for whole in wholes)}


def shown_otherwise(attribute: str, others: Sequence[Released]) -> Hypothesis | None:
    """The refuted hypothesis where another release shows the attribute undrawn, maybe generalised.

    None where no stored one does: what is deleted, or released elsewhere, is not known.
    """
    names = [release.name for dataset, release in others if _shows(dataset, release, attribute)]
    if not names:
        return None
    listed = ", ".join(map(repr, names[:_MOST_NAMED])) + (", …" if len(names) > _MOST_NAMED else "")
    return Hypothesis(
        NOT_SHOWN_OTHERWISE,
        "no",
        f"{len(names):,} stored releases of the same uploaded content show {attribute!r} undrawn: {listed}. "
        "Who has one of them reads there what this release hides.",
    )


def _shows(dataset: Stored, release: Stored, attribute: str) -> bool:
    """Whether the release tells something of a record's own value of the attribute."""
    if attribute not in release.summary["columns"]:
        return False
    if is_drawn(release):
        if hides_records(release):
            return False  # counts with noise are no record's own; it is counted among the draws
        guarantees = release.summary["mechanism"]["guarantees"]
        return all(own["parameters"].get("attribute") != attribute for own in guarantees)
    levels = release.summary["rule"]["levels"]
    heights = {own["name"]: own["height"] for own in dataset.summary["attributes"]}
    return levels is None or levels[attribute] < heights[attribute]
