"""Which earlier deliveries may hold the same people, and whether that is known: recognised by identifiers.

The same people may be delivered again: in another order, with one record more, a quarter later, with columns
named otherwise. Whoever has releases of several such contents has several of the same people's values.
Contents are compared by the identifiers or persons of the datasets that were made of them, as readers read
these, and in memory only: what is kept are the hashes by which draws are counted, and never who or how many
the people are.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain.hierarchies.spellings import common_reading
from app.services.datasets.dataset_schema import DatasetStatus
from app.services.datasets.tables import TableLoader
from app.services.datasets.text_columns import read_columns
from app.services.named import all_resources
from app.services.ports import Store, UnitOfWork
from app.services.releases.draw_subjects import linked, subject_of, subjects_alike, subjects_beside
from app.services.releases.same_tables import contents_alike
from app.services.resources import JsonObject, Kind, Stored, TenantId

MOST_DATASETS: Final = 20
MOST_RECORDS: Final = 2_000_000
"""Of so many other datasets, with so many records in all, identifiers are compared: the newest first."""

NO_IDENTIFIER: Final = (
    "No identifier is declared, so that other deliveries of the same people cannot be recognised."
)
_UNREADABLE: Final = (
    "Something was given out of other uploaded contents, too, and no dataset of some of them declares an "
    "identifier by which people in both would be recognised."
)
_OTHER_IDENTIFIER: Final = (
    "Something was given out of other uploaded contents, too, and some of them have identifiers of another "
    "name, by which people in both may not be recognised."
)
_BEYOND: Final = (
    f"Identifiers are compared with at most {MOST_DATASETS} other datasets of {MOST_RECORDS:,} records in "
    "all, and something was given out of more."
)
_GONE: Final = (
    "Something was given out of datasets that are deleted by now, of which it is not known whether they had "
    "any of these people."
)

_OTHER_NAME: Final = (
    "Another attribute was drawn of people who are in both, and whether it is this one by another name is "
    "not known."
)

_BYTES_PER_PERSON: Final = 150

People = frozenset[str]


@dataclass(frozen=True)
class PeopleInBoth:
    """Which draws of other contents count with one, for the people in both.

    Attributes
    ----------
    content, attribute
        What is drawn: the attribute, of the uploaded content with this hash; None: whole records.
    subjects
        What those of the other contents are counted by that have some of the same people.
    unknown
        Why there may be others; empty if all that was given out was compared.
    people
        How many of its people are in another of these contents.
    draws
        How many of their draws the person is in, at most, who is in most of them.
    compared
        By content that was compared, how many of its draws count with it; None: it has nobody in both.
    """

    content: str
    attribute: str | None
    subjects: tuple[str, ...] = ()
    unknown: str = ""
    people: int = 0
    draws: int = 0
    compared: Mapping[str, int | None] | None = None

    @property
    def subject(self) -> str:
        """What the draw itself is counted by."""
        return subject_of(self.content, None if self.attribute is None else (self.attribute,))

    @property
    def kept(self) -> JsonObject:
        """What the summary of a release keeps of it."""
        return {"subject": self.subject, "subjects": list(self.subjects), "unknown": self.unknown}

    async def is_outdated(self, work: UnitOfWork, dataset: Stored) -> bool:
        """Whether something was given out since of a content that may have some of its people."""
        now = await deliveries(work, dataset, self.attribute)
        if not now.linked <= {*self.subjects}:
            return True
        compared = self.compared
        return compared is not None and any(
            compared.get(own.content, -1) not in (None, own.draws) for own in now.others
        )


@dataclass(frozen=True)
class Delivery:
    """Another content of which something was given out, or that has a budget.

    ``subjects`` are what of it counts with the draw if people are in both, and ``draws`` how many draws that
    are; ``has_others`` says that more were drawn of it. ``readable`` are the datasets that say whose rows
    they are, if any are to be compared; else ``why_not`` says why none are.
    """

    content: str
    subjects: tuple[str, ...]
    draws: int
    has_others: bool
    readable: tuple[Stored, ...]
    why_not: str


@dataclass(frozen=True)
class Deliveries:
    """All other deliveries of which something was given out.

    ``linked`` are what draws are counted by that are known to have some of the same people, of which ``more``
    are of none of the others; ``is_any_unknown`` says that of draws of deleted datasets nothing is known.
    """

    content: str
    others: tuple[Delivery, ...]
    linked: frozenset[str]
    more: int
    is_any_unknown: bool


async def people_in_both(
    store: Store, loader: TableLoader, tenant: TenantId, dataset: Stored, attribute: str | None
) -> PeopleInBoth:
    """The draws of other contents that count with a draw from a dataset: of an attribute, or None for all."""
    async with store.work(tenant) as work:
        known = await deliveries(work, dataset, attribute)
    if names_people(dataset) is None:
        subjects = tuple(sorted(known.linked))
        return PeopleInBoth(known.content, attribute, subjects, NO_IDENTIFIER, draws=known.more)
    unknown = {_GONE} if known.is_any_unknown else set()
    shared, own = set(known.linked), None
    compared: dict[str, int | None] = {}
    draws: Counter[str] = Counter()
    for other in known.others:
        compared[other.content] = None
        if not other.readable:
            unknown.add(other.why_not)
            continue
        own = own or await _people(store, loader, tenant, dataset)
        theirs = [await _people(store, loader, tenant, one) for one in other.readable]
        both = await asyncio.to_thread(own.intersection, frozenset().union(*theirs))
        if both:
            compared[other.content] = other.draws
            shared.update(other.subjects)
            draws.update(dict.fromkeys(both, other.draws))
            unknown |= {_OTHER_NAME} if other.has_others else set()
        elif names_people(dataset) not in map(names_people, other.readable):
            unknown.add(_OTHER_IDENTIFIER)
    return PeopleInBoth(
        known.content,
        attribute,
        tuple(sorted(shared)),
        " ".join(sorted(unknown)),
        len(draws),
        known.more + max(draws.values(), default=0),
        compared,
    )


async def deliveries(work: UnitOfWork, dataset: Stored, attribute: str | None) -> Deliveries:
    """All deliveries beside that of a dataset of which something was given out, the newest first."""
    uploads = {own.id: own.summary for own in await all_resources(work, Kind.UPLOAD)}
    alike, drawn = await contents_alike(work), await work.draws.all()
    content, columns = _content(uploads, dataset), uploads[dataset.uses[0]]["columns"]
    mine = {content, *alike.get(content, ())}
    datasets: dict[frozenset[str], list[Stored]] = {}
    for one in await all_resources(work, Kind.DATASET):
        other = _content(uploads, one)
        datasets.setdefault(alike.get(other, frozenset({other})), []).append(one)
    there = {own.id for some in datasets.values() for own in some}
    released = await all_resources(work, Kind.RELEASE)
    told = {own.dataset_id for own in drawn}.union(own.uses[0] for own in released)
    whole = {subject_of(own, None): contents for contents in datasets for own in contents}
    limited = {whole[own.subject_sha256] for own in await work.budgets.of_table(whole)}
    number = Counter(own.subject_sha256 for own in drawn)
    found, left = [], [MOST_DATASETS, MOST_RECORDS]
    for contents, some in datasets.items():
        if contents & mine or not (contents in limited or told & {own.id for own in some}):
            continue
        names = {name for own in some for name in uploads[own.uses[0]]["columns"]}
        # Of two columns that one content has, neither is the other one by another name.
        apart = set() if attribute is None else names if attribute in names else names.intersection(columns)
        counted = [None, *names.difference(apart - {attribute})]
        subjects = {own for name in counted for own in subjects_alike(contents, name and (name,))}
        others = {own for name in apart - {attribute} for own in subjects_alike(contents, (name,))}
        found.append(
            Delivery(
                min(contents),
                tuple(own for own in subjects if own in whole or number[own]),
                sum(number[own] for own in subjects),
                any(number[own] for own in others),
                *_readable(some, left),
            )
        )
    same = {*subjects_alike(mine, None), *subjects_beside(mine, None, columns)}
    known = linked(drawn, same if attribute is None else subjects_alike(mine, (attribute,)))
    for upload in uploads.values():
        if (other := upload["content_sha256"]) in mine:
            # The same table, whatever its columns are called there.
            renamed = (
                frozenset() if attribute in upload["columns"] else {*upload["columns"]}.difference(columns)
            )
            known |= {subject_of(other, (name,)) for name in renamed}
    gone = {own.subject_sha256 for own in drawn if own.dataset_id not in there}
    more = known.difference(same, *(own.subjects for own in found))
    return Deliveries(
        content,
        tuple(found),
        frozenset(known - same),
        sum(number[own] for own in more),
        bool(gone - same - known),
    )


def _readable(datasets: Sequence[Stored], left: list[int]) -> tuple[tuple[Stored, ...], str]:
    """Those by which people are recognised, or why there are none; takes them off what is ``left``."""
    # Of several datasets of one content that have the same identifier one tells who is in it.
    found = {names_people(own): own for own in datasets if own.summary["status"] == DatasetStatus.READY}
    found.pop(None, None)
    if not found:
        return (), _UNREADABLE
    size = sum(own.summary["rows"] for own in found.values())
    if len(found) > left[0] or size > left[1]:
        return (), _BEYOND
    left[:] = left[0] - len(found), left[1] - size
    return tuple(found.values()), ""


def _content(uploads: Mapping[str, Any], dataset: Stored) -> str:
    return str(uploads[dataset.uses[0]]["content_sha256"])


def names_people(dataset: Stored) -> str | None:
    """The column that says whose rows they are, as it is read; None where none does."""
    column = dataset.summary["identifier"] or dataset.summary.get("person")
    return None if column is None else common_reading(column)


async def _people(store: Store, loader: TableLoader, tenant: TenantId, dataset: Stored) -> People:
    """The identifiers or persons of a dataset, each in one reading of all its spellings."""
    column = dataset.summary["identifier"] or dataset.summary["person"]

    async def load() -> tuple[People, int]:
        async with store.work(tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, dataset.uses[0])
            texts = (await read_columns(work, upload, [column], "/dataset"))[column].values
        found = await asyncio.to_thread(lambda: frozenset(map(common_reading, texts)) - {""})
        return found, len(found) * _BYTES_PER_PERSON

    found: People = await loader.profile(tenant, dataset, load, "people")
    return found
