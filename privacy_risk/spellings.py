"""What a file writes in ways that are read as one value, in words."""

from __future__ import annotations

from collections.abc import Sequence

from privacy_risk.client import Client
from privacy_risk.values import Json


def spellings_text(spellings: Sequence[Json]) -> str:
    """The texts, each with what it is read as and its rows; the rarest ones of many."""
    said = [
        f"{own['text']!r} for {'a missing value' if own['value'] is None else repr(own['value'])} "
        f"({own['rows']:,} {'row' if own['rows'] == 1 else 'rows'})"
        for own in spellings[:20]
    ]
    return ", ".join(said if len(said) == len(spellings) else [*said, "…"])


def spellings_notes(client: Client, dataset: Json) -> tuple[str, ...]:
    """A note for each column of a dataset that takes several texts of its file for one value, or for none."""
    if not any(own.get("spellings") for own in dataset.get("attributes", ())):
        return ()
    return tuple(
        f"Read as one value, or as missing, in {own['name']}: {spellings_text(own['spellings'])}."
        for own in client.datasets.profile(dataset["name"], limit=1)["attributes"]
        if own["spellings"]
    )
