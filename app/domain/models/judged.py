"""What every measure of equivalence classes says beside its numbers: which records were judged, and how."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.catalogue.meanings import LOW_ASIDE
from app.domain.classes.grouping import EquivalenceClasses, Grouping, Missing, MissingSensitive, Suppressed
from app.domain.tables.table import Table

ROWS_NAMED: Final = 20


@dataclass(frozen=True)
class JudgedOn:
    """Which records the numbers are of, and how they were grouped."""

    quasi_identifiers: Annotated[tuple[str, ...], doc("Attributes that records were grouped by.")]
    missing: Annotated[Missing, doc("What a missing quasi-identifier was taken to be like.")]
    missing_sensitive: Annotated[MissingSensitive, doc("What a missing sensitive value was taken for.")]
    suppressed: Annotated[Suppressed, doc("How records were judged that are suppressed altogether.")]
    records: Annotated[int, doc("Records of the dataset.")]
    records_judged: Annotated[int, doc("Records that are in a class.")]
    records_suppressed: Annotated[
        int, LOW_ASIDE, doc("Records left out because they are suppressed altogether.")
    ]
    records_missing: Annotated[int, doc("Records left out for a missing quasi-identifier.")]
    classes: Annotated[int, doc("Number of classes that were judged.")]
    persons: Annotated[
        int | None,
        doc(
            "Persons of the dataset, where a column names them: then sizes of classes count persons. null: "
            "each record counts as one person."
        ),
    ] = None
    persons_suppressed: Annotated[
        int | None, LOW_ASIDE, doc("Persons none of whose records is in a class; null as above.")
    ] = None


@dataclass(frozen=True)
class ClassRef:
    """A class, named by its records."""

    rows: Annotated[
        tuple[int, ...],
        doc("The first 20 of its records, as rows of the dataset from 1; of the release if it was drawn."),
    ]
    records: Annotated[int, doc("How many records it has.")]


def judged_on(table: Table, grouping: Grouping, classes: EquivalenceClasses) -> JudgedOn:
    """What was judged."""
    return JudgedOn(
        quasi_identifiers=tuple(table.attributes[j] for j in classes.attributes),
        missing=grouping.missing,
        missing_sensitive=grouping.missing_sensitive,
        suppressed=grouping.suppressed,
        records=len(classes.of_record),
        records_judged=classes.n_judged,
        records_suppressed=classes.n_suppressed,
        records_missing=classes.n_missing,
        classes=classes.n_classes,
        **_persons(table, classes),
    )


def _persons(table: Table, classes: EquivalenceClasses) -> dict[str, int]:
    """How many persons there are, and how many lose all records; nothing where no column names them."""
    if table.persons is None:
        return {}
    judged = np.zeros(table.n_persons, dtype=bool)
    judged[table.persons[classes.of_record >= 0]] = True
    return {"persons": table.n_persons, "persons_suppressed": int(np.count_nonzero(~judged))}


def class_ref(classes: EquivalenceClasses, class_: int) -> ClassRef:
    """A class by its first records."""
    rows = classes.rows_of(class_)
    return ClassRef(tuple((rows[:ROWS_NAMED] + 1).tolist()), int(classes.records[class_]))


def worst_class(
    classes: EquivalenceClasses, scores: np.ndarray[tuple[int], np.dtype[np.float64]]
) -> ClassRef | None:
    """The class of the highest score, the first of equals; None if there is no class."""
    return class_ref(classes, int(np.argmax(scores))) if classes.n_classes else None
