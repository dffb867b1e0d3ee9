"""Releases that a mechanism made, read back from what is stored: the stored rows, never a second draw."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.shown_labels import nodes_shown
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.tables.table import Table
from app.services.datasets.tables import TableLoader, bytes_of_table
from app.services.ports import Store
from app.services.readers import reader_of
from app.services.releases.mechanism_manifests import BY_NAME, published_fields
from app.services.releases.withdrawal import require_given_out
from app.services.resources import Kind, Stored, TenantId
from app.services.rules.rule_documents import may_suppress_records


async def read_drawn_release(
    store: Store, loader: TableLoader, tenant: TenantId, release: Stored
) -> DrawnRelease:
    """What is stored of a release that a mechanism made, read with its document.

    Withdrawn if it is given out no more; NotSupported if another version of its mechanism made it. What was
    read is kept in memory as tables are.
    """
    kept = release.summary["mechanism"]
    mechanism = BY_NAME.get(kept["name"])
    if mechanism is None or mechanism.version != kept["version"]:
        raise NotSupported(
            f"The release {release.name!r} was made by version {kept['version']} of the mechanism "
            f"{kept['name']!r}, which is not read any more.",
            "Use its table and its manifest as they are.",
        )
    async with store.work(tenant) as work:
        await require_given_out(work, release)
        dataset = await work.resources.get(Kind.DATASET, release.uses[0])

    async def load() -> tuple[DrawnRelease, int]:
        async with store.work(tenant) as work:
            parquet = b"".join([piece async for piece in work.draws.read(release.id)])
        table = await loader.table(tenant, dataset)
        published = reader_of(mechanism.published).validate_python(published_fields(release))
        rule = release.summary["rule"]
        levels = dict(rule["levels"] or {})
        if mechanism.family == "generalise":
            # It goes on from what the rule shows: any node may be shown.
            levels = {}
        elif not mechanism.hides_records:
            # No rule changes what is drawn: a label of it is what it is in the dataset.
            levels[published.attribute] = 0
        rows = await asyncio.to_thread(rows_of, parquet, table, levels)
        made = DrawnRelease(rows, mechanism.name, published, may_suppress_records(rule), levels)
        return made, bytes_of_table(rows)

    drawn: DrawnRelease = await loader.release(tenant, release, "drawn release", load)
    return drawn


def rows_of(parquet: bytes, original: Table, levels: Mapping[str, int]) -> Table:
    """The stored rows as nodes of the hierarchies; an attribute without a level may show any node."""
    names = list(original.attributes)
    stored = pq.ParquetFile(pa.BufferReader(parquet), read_dictionary=names).read(columns=names)
    if not stored.num_rows:
        raise InvalidInput.of(
            "/release",
            "empty-dataset",
            "The table of the release has no rows: the mechanism published none.",
            "Ask for one that shows something: with more ε, fewer columns or a more general rule.",
        )
    codes = np.empty((stored.num_rows, len(names)), dtype=np.int32, order="F")
    for j, (name, hierarchy) in enumerate(zip(names, original.hierarchies, strict=True)):
        nodes = nodes_shown(hierarchy, levels.get(name))
        whole: Any = stored.column(name).combine_chunks()
        of_label = np.array([nodes[label] for label in whole.dictionary.to_pylist()], dtype=np.int32)
        codes[:, j] = of_label.take(whole.indices.to_numpy())
    return Table(original.attributes, original.hierarchies, codes, sensitive=original.sensitive)
