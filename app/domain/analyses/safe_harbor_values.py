"""Which disclosed cells say more of dates, ages and ZIP codes than HIPAA's Safe Harbor lets leave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.analyses.direct_identifiers import texts_and_counts
from app.domain.catalogue.catalogue_types import ColumnName
from app.domain.catalogue.meanings import LOW
from app.domain.direct_identifiers.safe_harbor import (
    RESTRICTED_ZIP_CODES,
    is_finer_than_a_year,
    is_finer_than_three_digits,
    tells_ages_above_89,
    tells_years_of_ages_above_89,
)
from app.domain.errors import InvalidInput, joined
from app.domain.models.criterion import BY_ROWS
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.table import unknown_attribute

SECONDS_PER_TEXT: Final = 1e-5
SECONDS_PER_CELL: Final = 4e-9
BYTES_PER_NODE: Final = 200

Columns = Annotated[tuple[ColumnName, ...], MaxLen(100)]
ZipCode = Annotated[str, Len(3, 3)]
Kind = Literal["date", "age", "birth_year", "zip_code"]


@dataclass(frozen=True)
class SafeHarborParameters:
    """Which attributes hold ages, years of birth and ZIP codes: no text says so itself."""

    ages: Annotated[Columns, doc("Attributes that hold ages.")] = ()
    birth_years: Annotated[Columns, doc("Attributes that hold dates or years of birth.")] = ()
    as_of: Annotated[
        int | None, Ge(1900), Le(2200), doc("Year in which nobody above 89 may be told by these.")
    ] = None
    zip_codes: Annotated[Columns, doc("Attributes that hold ZIP codes.")] = ()
    restricted: Annotated[
        tuple[ZipCode, ...],
        MaxLen(1000),
        doc(
            "First three digits of ZIP codes that at most 20,000 people share; if left out, "
            "those of the census of 2000."
        ),
    ] = RESTRICTED_ZIP_CODES

    def __post_init__(self) -> None:
        """InvalidInput for years of birth without the year that ages are counted to."""
        if self.birth_years and self.as_of is None:
            raise InvalidInput.of(
                "/as_of",
                "missing",
                "Whether a year of birth tells an age above 89 depends on the year.",
                "Give as_of, the year of the release.",
            )


@dataclass(frozen=True)
class FinerCells:
    """What was found in one attribute."""

    attribute: Annotated[str, doc("Name of the attribute.")]
    kind: Annotated[Kind, doc("What its cells say too much of.")]
    cells: Annotated[int, LOW, doc("How many of its cells do.")]


@dataclass(frozen=True)
class SafeHarborValues:
    """Cells that say too much, all and by what they say; never one of them."""

    cells: Annotated[int, LOW, doc("Findings of all four kinds together.")]
    dates: Annotated[int, LOW, doc("Cells with a day, week, month or quarter, of all disclosed attributes.")]
    ages: Annotated[int, LOW, doc("Cells that tell apart ages above 89, of the attributes named.")]
    birth_years: Annotated[int, LOW, doc("Cells with a year of birth that tells such an age.")]
    zip_codes: Annotated[int, LOW, doc("Cells with more than three digits, or with three that few share.")]
    attributes: Annotated[tuple[FinerCells, ...], doc("Attributes with such cells, in schema order.")]


def _tests(name: str, parameters: SafeHarborParameters) -> Iterator[tuple[Kind, Callable[[str], bool]]]:
    """What is looked for in the texts of an attribute."""
    yield "date", is_finer_than_a_year
    if name in parameters.ages:
        yield "age", tells_ages_above_89
    if name in parameters.birth_years and parameters.as_of is not None:
        as_of = parameters.as_of
        yield "birth_year", lambda text: tells_years_of_ages_above_89(text, as_of)
    if name in parameters.zip_codes:
        restricted = frozenset(parameters.restricted)
        yield "zip_code", lambda text: is_finer_than_three_digits(text, restricted)


def _cost(context: MeasureContext, parameters: SafeHarborParameters) -> Cost:
    table = context.table
    n_cells = table.n_records * table.n_attributes
    texts = sum(len(used) for used in table.used_nodes)
    seconds = texts * SECONDS_PER_TEXT + n_cells * SECONDS_PER_CELL
    size = 8 * n_cells + BYTES_PER_NODE * max(table.sizes, default=0)
    return Cost(seconds, size, table.n_attributes, "texts")


def _compute(context: MeasureContext, parameters: SafeHarborParameters, tick: Tick) -> SafeHarborValues:
    table, codes = context.table, context.release.codes
    # Nothing would be found in attributes that the table does not have.
    faults = [
        unknown_attribute(joined(f"/measure/{field}", place), name, table)
        for field in ("ages", "birth_years", "zip_codes")
        for place, name in enumerate(getattr(parameters, field))
        if name not in table.attributes
    ]
    if faults:
        raise InvalidInput(faults)
    found: list[FinerCells] = []
    for j, (name, hierarchy) in enumerate(zip(table.attributes, table.hierarchies, strict=True)):
        texts, counts = texts_and_counts(hierarchy.labels, codes[:, j])
        for kind, says_too_much in _tests(name, parameters):
            cells = sum(n for text, n in zip(texts, counts.tolist(), strict=True) if says_too_much(text))
            if cells:
                found.append(FinerCells(name, kind, cells))
        tick(j + 1)
    of_kind = {kind: sum(own.cells for own in found if own.kind == kind) for kind in _KINDS}
    return SafeHarborValues(
        sum(of_kind.values()),
        of_kind["date"],
        of_kind["age"],
        of_kind["birth_year"],
        of_kind["zip_code"],
        tuple(found),
    )


_KINDS: Final[tuple[Kind, ...]] = ("date", "age", "birth_year", "zip_code")

SAFE_HARBOR_VALUES: Final = Measure(
    name="safe_harbor_values",
    title="Dates, ages and ZIP codes finer than Safe Harbor lets leave",
    source="HIPAA Privacy Rule, 45 CFR 164.514(b)(2)(i)(B), (C); HHS (2012)",
    guarantee="heuristic",
    parameters=SafeHarborParameters,
    result=SafeHarborValues,
    cost=_cost,
    compute=_compute,
    protects=False,
    example=Example(
        "does what the rule discloses say more of dates than the year?",
        "proposal-safe-harbor-values",
        rule="proposal",
    ),
    by_persons=BY_ROWS,
)
