"""What a database's driver gives as cells, as texts that say the same."""

from __future__ import annotations

import datetime as dt
import ipaddress
import uuid
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final

from privacy_risk.arguments import InvalidArgument

_WHOLE_BELOW: Final = 2**53
"""Whole numbers below this are floats exactly."""


def texts_of(column: str, cells: Sequence[object]) -> list[str | None]:
    """The cells as texts, None where they are; InvalidArgument for cells that are no single values."""
    kinds = set(map(type, cells))
    if kinds <= {str, type(None)}:
        return list(cells)  # type: ignore[arg-type]  # as has just been seen
    writers = {kind: _writer(column, kind) for kind in kinds}
    return [writers[type(cell)](cell) for cell in cells]


def _writer(column: str, kind: type) -> Callable[[Any], str | None]:
    for own in kind.__mro__:
        if own in _WRITERS:
            return _WRITERS[own]
    raise InvalidArgument(
        "sql",
        f"The cells of {column!r} are of the type {kind.__name__}, which is no single value.",
        "Cast the column to text in the query, or leave it out.",
    )


def _float(number: float) -> str:
    return str(int(number)) if number.is_integer() and abs(number) < _WHOLE_BELOW else repr(float(number))


def _moment(moment: dt.datetime) -> str:
    """The day alone at midnight, which is how databases write days in columns of moments."""
    is_day = moment.tzinfo is None and moment.time() == dt.time()
    return moment.date().isoformat() if is_day else moment.isoformat(" ")


_WRITERS: Final[Mapping[type, Callable[[Any], str | None]]] = {
    type(None): lambda nothing: None,
    str: str,
    bool: lambda truth: "true" if truth else "false",
    int: str,
    float: _float,
    Decimal: lambda number: format(number, "f"),
    dt.datetime: _moment,
    dt.date: dt.date.isoformat,
    dt.time: dt.time.isoformat,
    uuid.UUID: str,
    ipaddress.IPv4Address: str,
    ipaddress.IPv6Address: str,
}
