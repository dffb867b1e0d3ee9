"""What results say of the shares of values that the groups of a release tell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from annotated_types import doc

from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_ZERO, LOW, SHARE


@dataclass(frozen=True)
class ValueTold:
    """What is told of one value in some rows."""

    value: Annotated[CellValue, doc("The value.")]
    shown: Annotated[int, doc("Rows that show it; of records, those that have it.")]
    estimated: Annotated[
        float, doc("F': the unbiased estimate of its share; may be below 0 or above 1, and is not clipped.")
    ]
    likeliest: Annotated[float, SHARE, doc("Its share in the likeliest distribution.")]
    standard_error: Annotated[float | None, FROM_ZERO, doc("Of `estimated`; null: see `standard_errors`.")]
    believed: Annotated[
        float | None,
        SHARE,
        doc(
            "How probable it is of a person whose own row shows it, for who knows the likeliest shares here; "
            "null where rows are or may be copies of samples: most persons then have no row of their own."
        ),
    ]
    believed_without_group: Annotated[
        float | None,
        SHARE,
        doc("The same given the likeliest shares of all rows together, and nothing of these; null as there."),
    ]


@dataclass(frozen=True)
class GroupReconstructed:
    """One micro group: all rows that agree in every quasi-identifier."""

    shows: Annotated[tuple[CellValue, ...], doc("What its rows show, in the order of `quasi_identifiers`.")]
    records: Annotated[int, doc("Its rows.")]
    told: Annotated[
        float | None, doc("Estimate of the most frequent value less the standard errors; null without one.")
    ]
    values: Annotated[tuple[ValueTold, ...], doc("Values that it shows, the most frequent first.")]
    persons: Annotated[
        int | None, doc("Persons of the dictionary whose own group it is; null without a dictionary.")
    ]
    persons_coinciding: Annotated[
        int | None, doc("Persons known by less, whom no other group fits; null without a dictionary.")
    ]


@dataclass(frozen=True)
class AggregateReconstructed:
    """The rows of several groups together, where persons known by less may be: information, no exposure."""

    known: Annotated[tuple[str, ...], doc("Quasi-identifiers that the dictionary carries.")]
    groups: Annotated[int, doc("Groups that it is made of.")]
    records: Annotated[int, doc("Their rows.")]
    persons: Annotated[int, doc("Persons of the dictionary who may be in any of them.")]
    values: Annotated[tuple[ValueTold, ...], doc("Values that it shows, the most frequent first.")]


@dataclass(frozen=True)
class PersonsSought:
    """What of a dictionary's persons is found."""

    persons: Annotated[int, doc("Persons of the dictionary.")]
    without_group: Annotated[int, doc("Of whom no row shows all that is known.")]
    of_own_group: Annotated[int, doc("Known by all quasi-identifiers exactly, whom one group fits.")]
    coinciding: Annotated[
        int, doc("Known by less, and yet only one group fits: an aggregate that is a micro group.")
    ]
    of_aggregates: Annotated[int, doc("Whom several groups fit.")]
    exposed: Annotated[int | None, LOW, doc("Persons of exposed groups; null without standard errors.")]


@dataclass(frozen=True)
class MicroReconstruction:
    """What the groups of a release tell of the shares of values in them."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    quasi_identifiers: Annotated[tuple[str, ...], doc("Attributes that rows were grouped by.")]
    values: Annotated[int, doc("m: values that may be published.")]
    p: Annotated[float, SHARE, doc("With this probability a value is kept.")]
    standard_errors: Annotated[str, doc("What standard errors are of, or why there are none.")]
    groups: Annotated[int, doc("Groups looked at: those of persons of the dictionary, if there is one.")]
    records: Annotated[int, doc("Their rows.")]
    groups_exposed: Annotated[
        int | None,
        LOW,
        doc("Groups of whose most frequent value more than `share` is told; null without standard errors."),
    ]
    records_exposed: Annotated[int | None, LOW, doc("Rows in these groups.")]
    worst: Annotated[
        tuple[GroupReconstructed, ...],
        doc("Groups of which most is told, the most first; without standard errors the largest."),
    ]
    sought: Annotated[PersonsSought | None, doc("The persons of the dictionary; null without one.")]
    aggregates: Annotated[
        tuple[AggregateReconstructed, ...], doc("Aggregates of fewest groups; none without a dictionary.")
    ]
