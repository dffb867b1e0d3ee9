"""Small tables of the founding works, read from the file beside this one, to follow their examples on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

PublishedName = Literal["inpatients", "likeness", "teachers", "hospital"]
Rows = tuple[tuple[str, ...], ...]
_READ: Final = json.loads(Path(__file__).with_name("published_tables.json").read_text(encoding="utf-8"))


@dataclass(frozen=True)
class PublishedTable:
    """The last column is sensitive, the others are quasi-identifiers, with rows of a hierarchy or a flat one.

    ``rules`` are levels by the number of the printed table; ``persons`` are those whom an attacker knows by
    their quasi-identifiers, the empty cell for what is not known.
    """

    columns: tuple[str, ...]
    rows: Rows
    hierarchies: Mapping[str, Rows]
    rules: Mapping[str, Mapping[str, int]]
    persons: Rows


def table(name: PublishedName) -> PublishedTable:
    """The table of that name, of those with records."""
    own = _READ[name]
    times = own.get("times") or [1] * len(own["rows"])
    return PublishedTable(
        tuple(own["columns"]),
        tuple(tuple(row) for row, n in zip(own["rows"], times, strict=True) for _ in range(n)),
        {column: _rows(rows) for column, rows in own["hierarchies"].items()},
        own["rules"],
        _rows(own["persons"]),
    )


def _rows(read: list[list[str]]) -> Rows:
    return tuple(map(tuple, read))


HOSPITAL: Final[Mapping[str, Any]] = _READ["hospital"]
"""``relations`` with their attributes, the ``secret``, and ``views``: name, query, and the right verdict."""
