"""What guarantees of several mechanisms rest on alike."""

from __future__ import annotations

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.tables.table import Table


def one_record_per_person(table: Table) -> Hypothesis:
    """Whether identifiers say that nobody has two records."""
    identified = table.entity_ids is not None
    return Hypothesis(
        "one_record_per_person",
        "yes" if identified else "assumed",
        "The identifiers of the dataset are all different."
        if identified
        else "The dataset has no identifier that would tell records of the same person.",
    )


def of_other_releases(attribute: str) -> tuple[Hypothesis, Hypothesis]:
    """What is assumed of everything else that is ever released of the attribute."""
    return (
        Hypothesis(
            "not_shown_otherwise",
            "assumed",
            f"No other release is taken to show {attribute!r} of these records as it is.",
        ),
        Hypothesis(
            "drawn_once",
            "assumed",
            "A second draw of the same values adds to the first; it depends on all that is ever released.",
        ),
    )
