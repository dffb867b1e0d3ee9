"""Loads datasets, dictionaries and sensitivity profiles into domain types, keeping recent ones in memory."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Collection, Hashable
from typing import Any, Final

from app.domain.counting.counter import Matching
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import encode, table_of
from app.services.datasets.dataset_schema import DatasetStatus, OnUnknown, Role, declarations_of
from app.services.datasets.dictionary_links import (
    as_dictionary,
    build_dictionary,
    check_dataset_fits,
    check_links_fit,
    read_dictionary,
)
from app.services.datasets.ingest.faults import in_rows
from app.services.datasets.spellings import Spelling, as_written, spellings_of
from app.services.datasets.text_columns import read_columns
from app.services.deletions import Erased
from app.services.named import NamedResources
from app.services.ports import Store
from app.services.recollection import Memory
from app.services.resources import Kind, Stored, TenantId, document_of
from app.services.scoring.sensitivity_building import build_profile, read_overrides

_Load = Callable[[], Awaitable[tuple[Any, int]]]


class BoundedCache:
    """Least recently used values are dropped first; one load at a time per key.

    A value larger than the capacity is answered but not kept.
    """

    def __init__(self, capacity_bytes: int) -> None:
        self._capacity = capacity_bytes
        self._held: OrderedDict[Hashable, tuple[Any, int]] = OrderedDict()
        self._loading: dict[Hashable, asyncio.Task[Any]] = {}
        self.bytes = 0

    async def get(self, key: Hashable, load: _Load) -> Any:  # noqa: ANN401
        """The value of the key; ``load`` answers it with its size in bytes if it is not held."""
        if key in self._held:
            self._held.move_to_end(key)
            return self._held[key][0]
        if key not in self._loading:
            self._loading[key] = asyncio.create_task(self._load(key, load))
        # The task is everybody's who waits for it: one who leaves does not end it for the others.
        return await asyncio.shield(self._loading[key])

    async def _load(self, key: Hashable, load: _Load) -> Any:  # noqa: ANN401
        try:
            value, size = await load()
            if self._loading.get(key) is asyncio.current_task():  # else it was dropped meanwhile
                self.keep(key, value, size)
            return value
        finally:
            if self._loading.get(key) is asyncio.current_task():
                del self._loading[key]

    def keep(self, key: Hashable, value: object, size: int) -> None:
        """Hold a value that is at hand."""
        if size > self._capacity or key in self._held:
            return
        self._held[key] = value, size
        self.bytes += size
        while self.bytes > self._capacity:
            _, (_, dropped) = self._held.popitem(last=False)
            self.bytes -= dropped

    def drop(self, is_meant: Callable[[Hashable], bool]) -> None:
        """Hold no value of these keys any more, nor any that is just being loaded."""
        for key in [key for key in self._loading if is_meant(key)]:
            del self._loading[key]
        for key in [key for key in self._held if is_meant(key)]:
            _, size = self._held.pop(key)
            self.bytes -= size


def _lacking(dataset: Stored) -> list[Fault]:
    """What the hierarchies of a dataset lack, by column."""
    columns = zip(dataset.summary["attributes"], declarations_of(dataset), strict=True)
    lacking = [own for own, said in columns if own["unknown"] and said.on_unknown is OnUnknown.REFUSE]
    remedy = "Add them to the hierarchy, declare that they are attached or missing (on_unknown), or map them."
    return [
        Fault("/dataset", "needs-attention",
              f"The hierarchy of {own['name']!r} lacks {own['unknown_values']:,} of the column's values, "
              f"{in_rows(own.get('unknown_in', ()), own['unknown'])}.", remedy)
        for own in lacking
    ]  # fmt: skip


_MIB: Final = 1024**2

_BYTES_PER_CELL: Final = 8
"""A cell is held as the place of its text and as its code while columns are encoded."""

# Bytes beside the arrays themselves, measured: Python strings of ids, labels and tuples of hierarchies.
_PER_ID = 90
_PER_NODE = 400


class TableLoader:
    """Encoded tables by tenant and content hash, least recently used dropped beyond ``capacity_bytes``."""

    def __init__(self, store: Store, capacity_bytes: int = 512 * _MIB, most_bytes: int = 8192 * _MIB) -> None:
        """``most_bytes`` may be taken while columns are encoded."""
        self._store = store
        self._cache = BoundedCache(capacity_bytes)
        self._most_bytes = most_bytes
        self._is_of_files = False
        self.spellings: dict[str, tuple[Spelling, ...]] = {}
        self.memory = Memory()

    def of_files(self) -> TableLoader:
        """A loader of a table as its file writes it; ``spellings`` are what is read as one value."""
        loader = TableLoader(self._store)
        loader._is_of_files = True
        return loader

    def require_room(self, upload: Stored, names: Collection[str], pointer: str) -> None:
        """Raise InvalidInput at ``pointer`` if so many columns of an upload cannot be held."""
        rows, asked = upload.summary["rows"], len(set(names))
        if _BYTES_PER_CELL * rows * asked > self._most_bytes:
            most, mib = self._most_bytes // (_BYTES_PER_CELL * rows), self._most_bytes // _MIB
            raise InvalidInput.of(
                pointer,
                "too-many-cells",
                f"{rows:,} rows of {asked:,} columns do not fit into the {mib:,} MiB that a table may take.",
                f"At most {most:,} fit: declare fewer, or have PRIVACY_RISK_RUN_MEMORY_MIB raised.",
            )

    async def table(self, tenant: TenantId, dataset: Stored) -> Table:
        """The disclosed attributes of a dataset; InvalidInput if it still needs attention."""
        if dataset.summary["status"] != DatasetStatus.READY:
            raise InvalidInput(_lacking(dataset))

        async def load() -> tuple[Table, int]:
            table = await self._load_table(tenant, dataset)
            return table, bytes_of_table(table)

        table: Table = await self._cache.get(("table", tenant, dataset.sha256), load)
        return table

    def keep_table(self, tenant: TenantId, dataset: Stored, table: Table) -> None:
        """Hold a table that was encoded just now, so that it need not be read again."""
        self._cache.keep(("table", tenant, dataset.sha256), table, bytes_of_table(table))

    async def profile(self, tenant: TenantId, dataset: Stored, load: _Load, kind: str = "profile") -> Any:  # noqa: ANN401
        """The profile of a dataset; ``load`` makes it, with its size in bytes, if it is not in memory."""
        return await self._cache.get((kind, tenant, dataset.sha256), load)

    def keep_profile(self, tenant: TenantId, dataset: Stored, profile: object, size: int) -> None:
        """Hold a profile that was made with its dataset: whoever has made that looks at it next."""
        self._cache.keep(("profile", tenant, dataset.sha256), profile, size)

    async def release(self, tenant: TenantId, release: Stored, form: str, load: _Load) -> Any:  # noqa: ANN401
        """A release in some form; ``load`` makes it, with its size in bytes, if it is not in memory.

        It is found by its id, too: what is drawn again after an erasure has the hash of what was erased.
        """
        key = (form, tenant, release.id, release.sha256, release.summary["dataset_sha256"])
        return await self._cache.get(key, load)

    def forget(self, erased: Erased | None) -> None:
        """Drop from memory what was made of an erased resource; everything if that is None."""
        self.memory.forget(erased)
        self._cache.drop(
            lambda key: (
                erased is None
                or (isinstance(key, tuple) and key[1] == erased.tenant and erased.sha256 in key[2:])
            )
        )

    async def dictionary(
        self, tenant: TenantId, dictionary: Stored, dataset: Stored, pointer: str = "/dictionary"
    ) -> Dictionary:
        """The dictionary as it is linked to this dataset; InvalidInput at ``pointer`` where they differ."""
        table = await self.table(tenant, dataset)

        async def load() -> tuple[Dictionary, int]:
            linked = await self._load_dictionary(tenant, dictionary, dataset, table, pointer)
            return linked, _bytes_of_dictionary(linked)

        key = ("dictionary", tenant, dictionary.sha256, dataset.sha256)
        linked: Dictionary = await self._cache.get(key, load)
        return linked

    async def matching(self, tenant: TenantId, dictionary: Stored, dataset: Stored) -> Matching:
        """What of a dictionary fits what of the dataset: what every count of the two begins with."""

        async def load() -> tuple[Matching, int]:
            table = await self.table(tenant, dataset)
            made = Matching(table, await self.dictionary(tenant, dictionary, dataset))
            return made, made.most_bytes

        matching: Matching = await self._cache.get(
            ("matching", tenant, dictionary.sha256, dataset.sha256), load
        )
        return matching

    async def sensitivity(
        self, tenant: TenantId, profile: Stored, dataset: Stored, pointer: str = "/sensitivity"
    ) -> Sensitivity:
        """The profile's Φ for the dataset's records; InvalidInput at ``pointer`` if of another dataset."""
        if document_of(profile)["dataset"]["sha256"] != dataset.sha256:
            raise InvalidInput.of(
                pointer,
                "other-dataset",
                f"The sensitivity profile {profile.name!r} was made for another dataset than "
                f"{dataset.name!r}.",
                "Create a profile for this dataset.",
            )
        table = await self.table(tenant, dataset)

        async def load() -> tuple[Sensitivity, int]:
            document = document_of(profile)
            async with self._store.work(tenant) as work:
                overrides = await read_overrides(work, document["overrides"], dataset)
            sensitivity = await asyncio.to_thread(build_profile, table, document, overrides)
            return sensitivity, sensitivity.n_bytes

        sensitivity: Sensitivity = await self._cache.get(("sensitivity", tenant, profile.sha256), load)
        return sensitivity

    async def _load_table(self, tenant: TenantId, dataset: Stored) -> Table:
        declarations = declarations_of(dataset)
        used = [d for d in declarations if d.role is not Role.OTHER]
        async with self._store.work(tenant) as work:
            upload = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
            columns = await read_columns(work, upload, [d.name for d in used], "/upload")
            hierarchies = {}
            for d in used:
                if d.hierarchy is not None:
                    stored = await work.resources.get(Kind.HIERARCHY, d.hierarchy)
                    hierarchies[d.name] = Hierarchy.from_document(document_of(stored))

        def build() -> Table:
            encoded = encode(used, columns, hierarchies)
            if self._is_of_files:
                self.spellings |= {own.declaration.name: spellings_of(own.column) for own in encoded}
                encoded = tuple(map(as_written, encoded))
            return table_of(encoded, used, columns)

        return await asyncio.to_thread(build)

    async def _load_dictionary(
        self, tenant: TenantId, dictionary: Stored, dataset: Stored, table: Table, pointer: str
    ) -> Dictionary:
        document = document_of(dictionary)
        if document["from_dataset"] is not None:
            async with self._store.work(tenant) as work:
                source = await work.resources.get(Kind.DATASET, document["from_dataset"]["id"])
            own = await self.table(tenant, source)
            same = source.sha256 == dataset.sha256
            made = await asyncio.to_thread(as_dictionary, own, table, same=same)
            if not same:
                check_dataset_fits(dictionary, made, dataset, table, pointer)
            return made
        check_links_fit(dictionary, dataset, table, pointer)
        async with self._store.work(tenant) as work:
            content = await read_dictionary(work, document)
        return await asyncio.to_thread(build_dictionary, document, content, dataset, table)


def bytes_of_table(table: Table) -> int:
    """What a table takes in memory, with what it keeps once that is used."""
    nodes = sum(hierarchy.n_nodes for hierarchy in table.hierarchies)
    ids = 0 if table.entity_ids is None else table.n_records * _PER_ID
    # What a table keeps of its reduced form once that is used: codes at most as large as its own, and a byte
    # per cell for what is missing.
    codes = 2 * table.codes.nbytes + table.codes.size
    weights = 0 if table.weights is None else table.weights.nbytes
    persons = 0 if table.persons is None else table.persons.nbytes
    return codes + 8 * table.n_records + ids + weights + persons + nodes * _PER_NODE


def _bytes_of_dictionary(dictionary: Dictionary) -> int:
    arrays = sum(link.n_bytes for link in dictionary.links)
    ids = 0 if dictionary.entity_ids is None else dictionary.n_entities * _PER_ID
    # Which nodes and codes are consistent is kept once it was asked, two numbers for each pair.
    pairs = sum(8 * len(link.leaves) * link.hierarchy.height for link in dictionary.links)
    return 2 * arrays + pairs + 8 * dictionary.n_entities + ids


class TableResources(NamedResources):
    """Reading and deleting resources of one kind that rest on tables."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        super().__init__(store)
        self._loader = loader
