"""Which uploaded contents are the same table: the same file read twice, or the same cells in another file.

Every upload notes the hash of its bytes beside those of its cells: in the order of its rows and in none, with
the names of its columns, and without them and without constant columns.
Contents are alike that share any of these, also by way of others; what was noted outlives the uploads, so
that who uploads a table again in another form, even after everything of it was erased, is known to have had
it before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Protocol


class SameTables(Protocol):
    """What the tenant's uploads have noted. Nothing of it is ever taken away."""

    async def note(
        self, content_sha256: str, table_hashes: Collection[str], nameless: str | None = None
    ) -> None:
        """Keep that a content was read as a table with these hashes; a second time changes nothing.

        ``nameless`` is the one among them that leaves out the names of columns.
        """

    async def are_nameless(self) -> bool:
        """Whether of each content a hash without names was noted, so that others add nothing to it."""

    async def noted(self) -> Sequence[tuple[str, str]]:
        """All contents with what tells the tables apart that they were read as."""


class _Work(Protocol):
    same_tables: SameTables


async def contents_like(work: _Work, content_sha256: str) -> tuple[str, ...]:
    """The content itself, and then all others that are the same table."""
    found = (await contents_alike(work)).get(content_sha256, frozenset())
    return (content_sha256, *sorted(found - {content_sha256}))


async def contents_alike(work: _Work) -> Mapping[str, frozenset[str]]:
    """By content all that are the same table, itself among them; not those of which nothing was noted."""
    return joined(await work.same_tables.noted())


def joined(noted: Iterable[tuple[str, str]]) -> Mapping[str, frozenset[str]]:
    """By the first of each pair all that share the second of theirs, also by way of others."""
    groups: dict[str, set[str]] = {}
    of_tables: dict[str, set[str]] = {}
    for content, table in noted:
        one = groups.setdefault(content, {content})
        other = of_tables.setdefault(table, one)
        if one is not other:
            one |= other
            groups |= dict.fromkeys(other, one)
            of_tables |= {key: one for key, own in of_tables.items() if own is other}
    return {content: frozenset(own) for content, own in groups.items()}
