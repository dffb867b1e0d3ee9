"""What guarantees of several mechanisms rest on alike, and what none of them protects."""

from __future__ import annotations

from typing import Final

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.classes.released import Release
from app.domain.tables.table import Table

ONE_RECORD_PER_PERSON: Final = "one_record_per_person"
NOT_SHOWN_OTHERWISE: Final = "not_shown_otherwise"


def found_by_the_rest(attribute: str) -> str:
    """A sentence on what is released beside the attribute that is drawn."""
    return (
        "Every record is released with its other attributes: who finds a person's record by them knows that "
        f"it is there, and reads them. Only {attribute!r} is protected."
    )


def shown_unperturbed(table: Table, attribute: str) -> tuple[str, ...]:
    """A sentence on the sensitive attributes beside the one that is drawn, if there are any."""
    others = Release(table).other_sensitive(attribute)
    return (f"Sensitive attributes that are released unperturbed: {', '.join(others)}.",) if others else ()


def one_record_per_person(table: Table) -> Hypothesis:
    """Whether identifiers say that nobody has two records."""
    identified = table.entity_ids is not None
    return Hypothesis(
        ONE_RECORD_PER_PERSON,
        "yes" if identified else "assumed",
        "The identifiers of the dataset are all different."
        if identified
        else "The dataset has no identifier that would tell records of the same person.",
    )


def not_shown_otherwise(attribute: str) -> Hypothesis:
    """What is assumed of releases that do not draw the attribute."""
    return Hypothesis(
        NOT_SHOWN_OTHERWISE,
        "assumed",
        f"No other release is taken to show {attribute!r} of these records as it is.",
    )


def of_other_releases(attribute: str) -> tuple[Hypothesis, Hypothesis]:
    """What is assumed of everything else that is ever released of the attribute."""
    return (
        not_shown_otherwise(attribute),
        Hypothesis(
            "drawn_once",
            "assumed",
            "A second draw of the same values adds to the first; it depends on all that is ever released.",
        ),
    )
