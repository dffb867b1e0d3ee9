"""What a proposal leaves to people who know the table, and how it is stated."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Final

from privacy_risk.arguments import InvalidArgument
from privacy_risk.values import Json

_WAYS: Final = {
    "delimiter": ("delimiter", "Say which it is (--delimiter CHARACTER), or mend the file."),
    "header": ("header", "Say whether it does (--header true, --header false), or mend the first line."),
    "missing": (
        "missing_markers",
        "Say which texts mean that a value is missing: missing_markers=['TEXT'] (--missing-marker TEXT); ''"
        " is the empty cell.",
    ),
    "format": (
        "date_formats",
        "Say which comes first: date_formats={{{0!r}: {1!r}}} (--date-format {0}={1}).",
    ),
}
"""The argument that settles a doubt, and what is to be done."""


def require_decided(doubts: Iterable[Json]) -> None:
    """InvalidArgument that lists the doubts, if there are any, and what settles each."""
    found = list(doubts)
    if found:
        remedies = dict.fromkeys(map(_remedy, found))
        fault = " ".join(own["sentence"] for own in found)
        raise InvalidArgument(_WAYS[found[0]["decides"]][0], fault, " ".join(remedies))


def _remedy(doubt: Json) -> str:
    return _WAYS[doubt["decides"]][1].format(doubt.get("column"), *doubt.get("choices", ()))


def as_said(
    proposal: Json, formats: Mapping[str, str], readings: Mapping[str, Json] = MappingProxyType({})
) -> tuple[list[dict[str, Any]], list[Json]]:
    """What is proposed for each column, read as a policy has it or is said; and the doubts that remain."""
    unread = {"format": None, "on_unreadable": None, "hierarchy": None}
    said = {name: {**unread, **own, "hierarchy": None} for name, own in readings.items()}
    said |= {name: {**unread, "type": "date", "format": own} for name, own in formats.items()}
    columns = [{**own, **said.get(own["name"], {})} for own in proposal["attributes"]]
    doubts = proposal.get("doubts", ())  # services of before do not tell them
    return columns, [own for own in doubts if own["column"] not in said]


def formats_told(columns: Iterable[Json]) -> Iterator[str]:
    """How cells are read that are not written as datasets have them."""
    for own in columns:
        if own.get("format"):
            yield f"{own['name']} is read as {own['type']}s written {own['format']}."
