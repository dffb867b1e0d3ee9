"""What a row of a dataset is: about a person whom a column names, a person itself, or what nobody said."""

from __future__ import annotations

from typing import Final

from privacy_risk.arguments import InvalidArgument
from privacy_risk.client import Client
from privacy_risk.values import Json

IN_PYTHON: Final = "person='COLUMN', rows_are='persons'"
"""How it is said; commands and pages say it in another way."""


def doubt_of(profile: Json) -> str:
    """Why one person seems to have several rows of a dataset that does not say what a row is; "" if not."""
    signs = profile.get("person_signs")  # services of before do not tell them
    if not signs or not signs["signs"]:
        return ""
    by = "" if signs["person"] is None else f" By {signs['person']!r} there are {signs['persons']:,} persons."
    found = " ".join(own["sentence"] for own in signs["signs"])
    return f"One person seems to have several rows, and nobody said what a row is. {found}{by}"


def rows_told(dataset: Json, profile: Json, ways: str = IN_PYTHON) -> str:
    """What a row is and who said so, or the doubt: the first line of an answer."""
    if doubt := doubt_of(profile):
        return f"{doubt} Each row is counted as one; to say what it is: {ways}."
    if dataset.get("person"):
        persons, rows = dataset["persons"], dataset["rows"]
        return f"Persons are counted, by the column {dataset['person']}: {persons:,} have {rows:,} rows."
    if dataset.get("rows_are"):
        return "Each row counts as one person, as was said."
    return f"Each row counts as one person: assumed, nobody said so ({ways})."


def rows_note(client: Client, dataset: Json, *, is_doubt_refused: bool) -> str:
    """The same, of a dataset whose profile is asked for; InvalidArgument for a doubt that is refused."""
    profile = client.datasets.profile(dataset["name"], limit=1)
    doubt = doubt_of(profile)
    if doubt and is_doubt_refused:
        column = profile["person_signs"]["person"] or "COLUMN"
        remedy = (
            f"Name the column of persons: person={column!r} (--person {column}). If each row is another "
            "person, say so: rows_are='persons' (--rows-are persons)."
        )
        raise InvalidArgument("person", doubt, remedy)
    return rows_told(dataset, profile)
