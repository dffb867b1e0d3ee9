"""Draws of other deliveries that have some of the same people: recognised by identifiers.

The same people may be delivered again: in another order, with one record more, a quarter later. Whoever has
releases of several such contents has several draws of the same people's values. Contents are compared by the
identifiers of the datasets that were made of them, each as its dataset reads it, and in memory only: what is
kept are the hashes by which draws are counted, and never who or how many the people are.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy.typing as npt

from app.domain.tables.table import Table
from app.services.datasets.dataset_schema import DatasetStatus, Role
from app.services.datasets.tables import TableLoader
from app.services.named import all_resources
from app.services.ports import Store, UnitOfWork
from app.services.releases.draw_subjects import subject_of
from app.services.resources import JsonObject, Kind, Stored, TenantId

MOST_DATASETS: Final = 20
MOST_RECORDS: Final = 2_000_000
"""Of so many other datasets, with so many records in all, identifiers are compared: the newest first."""

NO_IDENTIFIER: Final = (
    "No identifier is declared, so later deliveries of the same people cannot be recognised."
)
_UNREADABLE: Final = (
    "The attribute was drawn of other uploaded contents, too, and no dataset of some of them declares an "
    "identifier by which people in both would be recognised."
)
_BEYOND: Final = (
    f"Identifiers are compared with at most {MOST_DATASETS} other datasets of {MOST_RECORDS:,} records in "
    "all, and the attribute was drawn of more."
)

Ids = npt.NDArray[Any]


@dataclass(frozen=True)
class PeopleInBoth:
    """Which draws of other contents count with one, for the people in both.

    Attributes
    ----------
    content, attribute
        What is drawn: the attribute, of the uploaded content with this hash.
    subjects
        What those of the other contents are counted by that have some of the same people.
    unknown
        Why there may be others; empty if all that is stored was compared.
    people
        How many of its people are in another of these contents.
    draws
        How many of their draws the person is in, at most, who is in most of them.
    compared
        How many draws were counted of each of the other contents, by what they are counted by; None: nobody
        would be recognised in any.
    """

    content: str
    attribute: str
    subjects: tuple[str, ...] = ()
    unknown: str = ""
    people: int = 0
    draws: int = 0
    compared: Mapping[str, int] | None = None

    @property
    def subject(self) -> str:
        """What the draw itself is counted by."""
        return subject_of(self.content, (self.attribute,))

    @property
    def kept(self) -> JsonObject:
        """What the summary of a release keeps of it."""
        return {"subject": self.subject, "subjects": list(self.subjects), "unknown": self.unknown}


async def people_in_both(
    store: Store, loader: TableLoader, tenant: TenantId, table: Table, drawn: tuple[tuple[str, ...], str]
) -> PeopleInBoth:
    """The draws of other contents that count with a draw of an attribute.

    ``drawn`` are its content, with those that are the same table, and the attribute. Another content is
    compared if a draw of an attribute of the same name is counted of it, and a dataset of it, in which that
    is sensitive, is stored.
    """
    (content, *_), attribute = drawn
    if table.entity_ids is None:
        return PeopleInBoth(content, attribute, unknown=NO_IDENTIFIER)
    async with store.work(tenant) as work:
        others = await other_contents(work, *drawn)
    ids, unknown = [], []
    for other in others:
        read = [(await loader.table(tenant, own)).entity_ids for own in other.datasets]
        ids.append([own for own in read if own is not None])
        if not read:
            unknown.append(other.why_not)
    people, shared = await asyncio.to_thread(
        _in_both, table.entity_ids, [(own, other.draws) for own, other in zip(ids, others, strict=True)]
    )
    return PeopleInBoth(
        content,
        attribute,
        tuple(sorted(other.subject for other, own in zip(others, shared, strict=True) if own)),
        " ".join(sorted(set(unknown))),
        len(people),
        max(people.values(), default=0),
        {own.subject: own.draws for own in others},
    )


@dataclass(frozen=True)
class OtherContent:
    """Another content of which draws are counted, and the datasets of it that are to be read."""

    subject: str
    draws: int
    datasets: tuple[Stored, ...]
    why_not: str


async def other_contents(work: UnitOfWork, alike: Collection[str], attribute: str) -> Sequence[OtherContent]:
    """All other contents with draws of the attribute of which a dataset is stored, the newest first.

    ``alike`` are those that are the same table.
    """
    contents = {own.id: own.summary["content_sha256"] for own in await all_resources(work, Kind.UPLOAD)}
    by_content: dict[str, list[Stored]] = {}
    for dataset in await all_resources(work, Kind.DATASET):
        other = contents.get(dataset.uses[0])
        if other is not None and other not in alike and _is_sensitive(dataset, attribute):
            by_content.setdefault(other, []).append(dataset)
    subjects = {subject_of(other, (attribute,)): own for other, own in by_content.items()}
    if not subjects or not await work.draws.of_subject("", tuple(subjects)):
        return ()
    found, n_datasets, n_records = [], 0, 0
    for subject, datasets in subjects.items():
        draws = len(await work.draws.of_subject(subject))
        if not draws:
            continue
        # Of several datasets of one content that have the same identifier one tells who is in it.
        readable = {own.summary["identifier"]: own for own in datasets if _tells_people(own)}
        chosen, why_not = tuple(readable.values()), _UNREADABLE
        size = sum(own.summary["rows"] for own in chosen)
        if chosen and (n_datasets + len(chosen) > MOST_DATASETS or n_records + size > MOST_RECORDS):
            chosen, why_not = (), _BEYOND
        elif chosen:
            n_datasets, n_records = n_datasets + len(chosen), n_records + size
        found.append(OtherContent(subject, draws, chosen, why_not))
    return found


def _is_sensitive(dataset: Stored, attribute: str) -> bool:
    roles = {own["name"]: own["role"] for own in dataset.summary["attributes"]}
    return roles.get(attribute) == Role.SENSITIVE.value


def _tells_people(dataset: Stored) -> bool:
    return dataset.summary["identifier"] is not None and dataset.summary["status"] == DatasetStatus.READY


def _in_both(own: Ids, others: Sequence[tuple[Sequence[Ids], int]]) -> tuple[Counter[str], list[bool]]:
    """In how many draws of the others each of its people is, and which of the others have any of them."""
    known: set[str] = set(own.tolist())
    draws: Counter[str] = Counter()
    shared = []
    for ids, number in others:
        both = {one for some in ids for one in known.intersection(some.tolist())}
        draws.update(dict.fromkeys(both, number))
        shared.append(bool(both))
    return draws, shared
