"""A hierarchy that would suit a column, judged by its name, its type and how often each value occurs."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cached_property
from typing import Final, Literal, get_args

from app.domain.hierarchies.code_tables.postcodes import Country
from app.domain.hierarchies.code_tables.vocabularies import (
    SAID,
    VOCABULARIES,
    Language,
    VocabularyName,
    vocabulary,
)
from app.domain.hierarchies.coded import (
    Ancestors,
    country_ancestors,
    diagnosis_ancestors,
    postcode_ancestors,
    time_ancestors,
    us_state_ancestors,
)
from app.domain.hierarchies.hierarchy_definitions import (
    CodePrefixesDefinition,
    CountriesDefinition,
    DatesDefinition,
    DiagnosesDefinition,
    FlatDefinition,
    FreeBoundsDefinition,
    IntervalsDefinition,
    LeafColumn,
    LeafRange,
    MadeOfLeaves,
    PostcodesDefinition,
    RareValuesDefinition,
    TimesDefinition,
    Unit,
    UsStatesDefinition,
    VocabularyDefinition,
)
from app.domain.hierarchies.periods import period_of

SHARE_OF_CODES: Final = 0.9
"""Share of the rows that must be such codes for a kind to be proposed; the others get a label."""
SHARE_OF_WORDS: Final = 0.75
"""Share of the rows whose values a vocabulary must know."""
FEWEST_GROUPED: Final = 4
"""Different values below which the rare ones are not put together: hardly any would be left."""
FEW_NUMBERS: Final = 5
LEAST_CODES: Final = 5
"""Different codes of places without a hint in the name: two letters alone may mean anything."""
BANDS: Final = 20
"""Parts that sensitive amounts are cut into, at most and beside amounts that are frequent themselves."""
MOST_DIGITS: Final = 18
MOST_LEVELS: Final = 4
MOST_OF_RANGE: Final = 100_000
LEAST_ROWS_KEPT: Final = 5
FEW_VALUES: Final = 20

_POSTCODE_NAME: Final = re.compile(r"(?:^|[_\W])(?:zip|post_?code|postal|plz)", re.IGNORECASE)
_CODE_NAME: Final = re.compile(r"(?:^|[_\W])(?:isco|soc|naics|nace|isic|sic)(?:$|[_\W\d])", re.IGNORECASE)
_WHOLE: Final = re.compile(r"-?[1-9]\d{0,17}|0", re.ASCII)
_DIGITS: Final = re.compile(r"\d{2,8}", re.ASCII)
_OF_WORDS: Final[Mapping[VocabularyName, re.Pattern[str]]] = {
    "occupations": re.compile(
        r"job|occ|profession|position|title|role|work|beruf|taetigkeit|tätigkeit|stelle"
    ),
    "departments": re.compile(r"dept|department|division|unit|team|abteilung|bereich|station"),
    "industries": re.compile(r"industry|sector|trade|branch|wirtschaft|organi[sz]ation"),
}
"""What the name of a column must say for single words in its values to tell what they are."""
_SHAPED: Final[tuple[Country, ...]] = ("GB", "CA", "NL")
"""Countries whose postcodes look like no other values."""


@dataclass(frozen=True)
class ColumnCounts:
    """What is known of a column: rows per value that is not missing, and whether that is all of its rows."""

    name: str
    type: Literal["categorical", "text", "number", "date"]
    counts: Mapping[str, int]
    leaves: LeafColumn
    is_whole: bool

    @cached_property
    def rows(self) -> int:
        """Rows that are not missing."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class HierarchyProposal:
    """A definition that would suit a column, or None, and why; the reason repeats no value."""

    definition: MadeOfLeaves | None
    reason: str


def propose_hierarchy(column: ColumnCounts) -> HierarchyProposal:
    """The first kind that suits: dates, codes of a known structure, known words, numbers, frequent values.

    Ranges of dates and whole numbers reach a little beyond the values; where only some of the rows are
    known, the leaves are the upload's column instead.
    """
    if not column.counts:
        return HierarchyProposal(None, "It has no values.")
    for judge in (_dates, _codes, _words, _numbers, _categories):
        found = judge(column)
        if found is not None:
            return found
    return HierarchyProposal(
        None, "Nearly every row has another value, of no structure that is known: nothing to group by."
    )


def _dates(column: ColumnCounts) -> HierarchyProposal | None:
    if column.type != "date":
        return None
    periods = [own for own in map(period_of, column.counts) if own is not None and own.first == own.last]
    if len(periods) < len(column.counts):
        return HierarchyProposal(None, "Its dates are not written like 1975-05-10.")
    low, high = min(own.first for own in periods).year, max(own.first for own in periods).year
    decades = high - low >= 20
    is_of_times = any(own.unit != "day" for own in periods)
    clock: tuple[Unit, ...] = ("second", "minute", "hour") if is_of_times else ()
    levels = (*clock, "day", "month", "year")
    leaves = LeafRange(date(low, 1, 1).isoformat(), date(high, 12, 31).isoformat())
    is_short = (date(high, 12, 31) - date(low, 1, 1)).days < MOST_OF_RANGE
    return HierarchyProposal(
        DatesDefinition(
            leaves if column.is_whole and is_short and not is_of_times else column.leaves,
            (*levels, "decade") if decades else levels,
        ),
        f"{'Times of days' if is_of_times else 'Dates'} over {_number_of(high - low + 1, 'year')}: by "
        f"{', '.join(levels)}{' and decade' if decades else ''}.",
    )


def _number_of(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _codes(column: ColumnCounts) -> HierarchyProposal | None:
    for said, is_one, definition in _code_kinds(column):
        known = _rows_known(column, is_one)
        if known is None:
            continue
        others = None if known == column.rows and column.is_whole else "other"
        share = "All" if known == column.rows else f"{100 * known / column.rows:.0f} % of"
        rest = "" if others is None else "; any other values are put below one label"
        return HierarchyProposal(
            definition(column.leaves, others=others), f"{share} its rows hold {said}{rest}."
        )
    if _CODE_NAME.search(column.name) and all(map(_DIGITS.fullmatch, column.counts)):
        lengths = tuple(range(max(map(len, column.counts)) - 1, 0, -1))
        return HierarchyProposal(
            CodePrefixesDefinition(column.leaves, lengths),
            "Its name is that of a classification whose codes stand below their first digits.",
        )
    return None


def _code_kinds(
    column: ColumnCounts,
) -> Iterator[tuple[str, Callable[[str], Ancestors], Callable[..., MadeOfLeaves]]]:
    """What the values may be: in words, how one is known, how it is defined."""
    name = column.name.casefold()
    several = len(column.counts) >= LEAST_CODES
    countries = _country_of_postcodes(column)
    if countries is not None:
        yield (
            f"postcodes of {countries}",
            lambda value: postcode_ancestors(value, countries),
            lambda leaves, others: PostcodesDefinition(leaves, countries, others),
        )
    if column.type in ("number", "date"):
        return
    if any(":" in value for value in column.counts):
        yield "times of day", time_ancestors, TimesDefinition
    if "state" in name or (several and "country" not in name and "nation" not in name):
        yield "states of the United States", us_state_ancestors, UsStatesDefinition
    if several or "country" in name or "nation" in name:
        yield "countries", country_ancestors, CountriesDefinition
    if "icd" in name or "diag" in name or any("." in value for value in column.counts):
        yield (
            "codes of ICD-10",
            diagnosis_ancestors,
            lambda leaves, others: DiagnosesDefinition(leaves, "icd-10", others),
        )


def _country_of_postcodes(column: ColumnCounts) -> Country | None:
    """The country whose postcodes these may be: by their shape, or by the name where several share it."""
    name = column.name.casefold()
    if column.type == "date":
        return None
    if not _POSTCODE_NAME.search(name):
        shaped = (own for own in _SHAPED if _all_postcodes(column, own))
        return next(shaped, None)
    hinted: Country = "DE" if "plz" in name else "US"
    rest = [own for own in get_args(Country) if own != hinted]
    possible = [own for own in (hinted, *rest) if _all_postcodes(column, own)]
    if "zip" in name or "plz" in name or len(possible) == 1:
        return next(iter(possible), None)
    return None


def _all_postcodes(column: ColumnCounts, country: Country) -> bool:
    return _rows_known(column, lambda value: postcode_ancestors(value, country)) is not None


def _rows_known(
    column: ColumnCounts, is_one: Callable[[str], Ancestors], share: float = SHARE_OF_CODES
) -> int | None:
    """Rows whose values are of a kind; None, as soon as it is certain, if they are too few."""
    known = column.rows
    for value, rows in column.counts.items():
        if is_one(value) is None:
            known -= rows
            if known < share * column.rows:
                return None
    return known


def _words(column: ColumnCounts) -> HierarchyProposal | None:
    """The vocabulary that knows the most rows, if it groups the values."""
    if column.type in ("number", "date"):
        return None
    best: tuple[int, VocabularyName, Language] | None = None
    for name, language in VOCABULARIES:
        words = vocabulary(name, language)
        is_hinted = name not in _OF_WORDS or _OF_WORDS[name].search(column.name.casefold())
        if words is None or not is_hinted:
            continue
        rows = _rows_known(column, words.ancestors, SHARE_OF_WORDS)
        if rows is None or (best is not None and rows <= best[0]):
            continue
        above = {words.ancestors(value) or ("", "") for value in column.counts}
        if len(above) > 1 and len({broader for _, broader in above}) < len(column.counts):
            best = (rows, name, language)
    if best is None:
        return None
    rows, name, language = best
    share = "All" if rows == column.rows else f"{100 * rows / column.rows:.0f} % of"
    return HierarchyProposal(
        VocabularyDefinition(column.leaves, name, language, {"en": "other", "de": "andere"}[language]),
        f"{share} its rows hold {SAID[name]} that are known: in groups; any other values are put below one "
        "label.",
    )


def propose_bands(column: ColumnCounts) -> HierarchyProposal | None:
    """Bands of sensitive amounts between round bounds, open at both ends; per level twice as many rows.

    None for what is no amount, or has too few different ones.
    """
    if column.type != "number" or len(column.counts) <= FEW_NUMBERS:
        return None
    rows_of: Counter[Decimal] = Counter()
    for value, rows in column.counts.items():
        rows_of[Decimal(value)] += rows
    if _have_many_digits(rows_of):
        return None
    numbers = sorted(rows_of.items())
    often = column.rows / BANDS
    least = max(LEAST_ROWS_KEPT, math.ceil(sum(rows for _, rows in numbers if rows < often) / BANDS))
    levels: list[tuple[Decimal, ...]] = []
    bounds: tuple[Decimal, ...] | None = None
    while bounds is None or len(bounds) > 1:
        bounds = _round_bounds(numbers, least, bounds)
        if bounds and (not levels or len(bounds) < len(levels[-1])):
            levels.append(bounds)
        least *= 2
    if not levels:
        return None
    return HierarchyProposal(
        FreeBoundsDefinition(column.leaves, tuple(tuple(f"{own:f}" for own in level) for level in levels)),
        f"Sensitive numbers: in up to {len(levels[0]) + 1} bands between round bounds, the lowest and the "
        "highest open, so that no amount singles anybody out.",
    )


def _round_bounds(
    numbers: list[tuple[Decimal, int]], least: int, among: Sequence[Decimal] | None
) -> tuple[Decimal, ...]:
    """Bounds, of the given ones, between parts of at least so many rows, and of not many more where round.

    ``numbers`` ascend, each with its rows.
    """
    bounds: list[Decimal] = []
    inside, after, first = 0, sum(rows for _, rows in numbers), None
    for place, (number, rows) in enumerate(numbers):
        inside, after = inside + rows, after - rows
        if inside < least or after < least:
            continue
        first = number if first is None else first
        upper, beyond = numbers[place + 1]
        if inside + beyond <= 2 * least and after - beyond >= least:
            continue
        within = None if among is None else [own for own in among if first < own <= upper]
        if within is None or within:
            bounds.append(_roundest(first, upper) if within is None else min(within, key=_digits_of))
            # The bound may lie before numbers that were counted into this part.
            inside = sum(own for value, own in numbers[: place + 1] if value >= bounds[-1])
            first = None
    return tuple(bounds)


def _have_many_digits(numbers: Iterable[Decimal]) -> bool:
    return any(
        own.adjusted() >= MOST_DIGITS or int(own.as_tuple().exponent) < -MOST_DIGITS for own in numbers
    )


def _digits_of(number: Decimal) -> tuple[int, Decimal]:
    return len(number.normalize().as_tuple().digits), number


def _roundest(above: Decimal, most: Decimal) -> Decimal:
    """The number of fewest digits in (above, most], of those the multiple of the widest step 1, 2 or 5."""
    exponent = max(abs(above), abs(most), most - above).adjusted() + 1
    while True:
        for lead in (5, 2, 1):
            step = Decimal(lead).scaleb(exponent)
            found = (math.floor(above / step) + 1) * step
            if found <= most:
                return found
        exponent -= 1


def _numbers(column: ColumnCounts) -> HierarchyProposal | None:
    if column.type != "number" or len(column.counts) <= FEW_NUMBERS:
        return None
    numbers = {value: Decimal(value) for value in column.counts}
    if _have_many_digits(numbers.values()):
        return HierarchyProposal(None, f"Some of its numbers have more than {MOST_DIGITS} digits.")
    low, high = min(numbers.values()), max(numbers.values())
    quantiles = _quantiles(column, numbers)
    if quantiles[len(quantiles) // 2] - low < (high - low) / 10 and len(set(quantiles)) > 3:
        return _equal_counts(column, quantiles)
    is_integral = all(map(_WHOLE.fullmatch, column.counts))
    widths = _round_widths(high - low, Decimal(2 if is_integral else 0))
    leaves: LeafRange | LeafColumn = column.leaves
    if column.is_whole and is_integral and high - low < MOST_OF_RANGE:
        leaves = _whole_range(low, high, widths[-1])
    said = ", ".join(f"{width:f}" for width in widths)
    return HierarchyProposal(
        IntervalsDefinition(leaves, tuple(f"{width:f}" for width in widths)),
        f"Numbers: in intervals of the round widths {said}.",
    )


def _round_widths(span: Decimal, least: Decimal) -> list[Decimal]:
    """Widths 1, 2 or 5 times a power of ten, each a multiple of the one before, from about 20 parts to 2."""
    exponent = (span / 20).adjusted()
    candidates = [
        Decimal(lead).scaleb(power) for power in range(exponent, exponent + 4) for lead in (1, 2, 5)
    ]
    widths = [next(width for width in candidates if span / width <= 20 and width >= least)]
    for width in candidates:
        if width > widths[-1] and width % widths[-1] == 0 and span >= width and len(widths) < MOST_LEVELS:
            widths.append(width)
    return widths


def _whole_range(low: Decimal, high: Decimal, width: Decimal) -> LeafRange:
    """All whole numbers of the widest intervals that hold values."""
    start = math.floor(low / width) * width
    end = (math.floor(high / width) + 1) * width - 1
    return LeafRange(f"{start:f}", f"{end:f}")


def _quantiles(column: ColumnCounts, numbers: Mapping[str, Decimal]) -> list[Decimal]:
    """The seven numbers that cut the rows into eighths."""
    ordered = sorted((number, column.counts[value]) for value, number in numbers.items())
    cuts: list[Decimal] = []
    seen = 0
    for number, rows in ordered:
        seen += rows
        while len(cuts) < 7 and 8 * seen > (len(cuts) + 1) * column.rows:
            cuts.append(number)
    return cuts


def _equal_counts(column: ColumnCounts, quantiles: list[Decimal]) -> HierarchyProposal:
    """Parts of about as many rows each, halved in number on every level."""
    levels: list[tuple[str, ...]] = []
    for step in (1, 2, 4):
        bounds = tuple(f"{bound:f}" for bound in sorted(set(quantiles[step - 1 :: step])))
        if not levels or len(bounds) < len(levels[-1]):
            levels.append(bounds)
    return HierarchyProposal(
        FreeBoundsDefinition(column.leaves, tuple(levels)),
        "Numbers that crowd at one end: bounds between about equally many rows.",
    )


def _digits(column: ColumnCounts) -> HierarchyProposal | None:
    """Codes of equally many digits below their first ones."""
    lengths = {len(value) if _DIGITS.fullmatch(value) else 0 for value in column.counts}
    if len(lengths) > 1 or lengths <= {0, 2}:
        return None
    (length,) = lengths
    return HierarchyProposal(
        CodePrefixesDefinition(column.leaves, tuple(range(length - 1, 0, -1))[:MOST_LEVELS]),
        "Codes of digits, none of them in many rows: by their first digits.",
    )


def _categories(column: ColumnCounts) -> HierarchyProposal | None:
    if column.type == "number":
        few = "It has few different numbers: each as it is, then nothing."
        return HierarchyProposal(FlatDefinition(column.leaves), few)
    number = len(column.counts)
    for at_least in (max(LEAST_ROWS_KEPT, column.rows // 100), column.rows // max(1, number)):
        rare = sum(rows < at_least for rows in column.counts.values())
        if number >= FEWEST_GROUPED and 2 <= rare < number:
            other = "other values" if "other" in column.counts else "other"
            return HierarchyProposal(
                RareValuesDefinition(column.leaves, at_least, other),
                f"{rare} of {number} different values have fewer than {at_least} rows: they become one.",
            )
        if number > FEW_VALUES and rare == number:
            return _digits(column)
    return HierarchyProposal(
        FlatDefinition(column.leaves),
        f"{_number_of(number, 'different value')} of no structure that is known: "
        "each as it is, then nothing. Group them by parents or rows where you know how.",
    )
