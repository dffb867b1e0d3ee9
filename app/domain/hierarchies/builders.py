"""Hierarchies made from their leaves: intervals, groups of an order, masking, dates, flat.

Each builder takes the leaves as text and puts ⊥ above the levels asked for. Leaves come out in the order of
their kind: numbers and dates ascending, others as given.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Context, Decimal, InvalidOperation, localcontext
from typing import get_args

from app.domain.errors import InvalidInput, TooLarge
from app.domain.hierarchies.definitions import nodes_of_levels, nodes_of_parts
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.hierarchy_definitions import Side, Unit
from app.domain.hierarchies.periods import Period, period_of

MAX_LEAVES = 2_000_000
MAX_MASKED_CHARACTERS = 200_000_000
MAX_DIGITS = 30
EXACT = Context(prec=4 * MAX_DIGITS)
"""Holds sums, products and quotients of numbers of ``MAX_DIGITS`` digits on both sides of the point."""

PADDING = " "


def flat(values: Sequence[str]) -> Hierarchy:
    """Every value directly below ⊥."""
    return Hierarchy(*nodes_of_levels([[value] for value in distinct_leaves(values)]))


def intervals(
    values: Sequence[str], widths: Sequence[str | int | Decimal], origin: str | int | Decimal = 0
) -> Hierarchy:
    """Numbers below half-open intervals ``[50000, 60000[`` of the widths given, each a multiple of the last.

    Bounds are ``origin`` plus whole multiples of the width. InvalidInput if a value is no number, a width is
    not positive or not a multiple of the one before.
    """
    with localcontext(EXACT):
        start, steps = number_of("/origin", str(origin)), _checked_widths(widths)
        leaves, numbers = ascending(values)
        return Hierarchy(*nodes_of_parts(leaves, [_intervals_of(numbers, step, start) for step in steps]))


def _checked_widths(widths: Sequence[str | int | Decimal]) -> list[Decimal]:
    steps = [number_of(f"/widths/{i}", str(width)) for i, width in enumerate(widths)]
    for i, step in enumerate(steps):
        if step <= 0:
            raise InvalidInput.of(f"/widths/{i}", "not-positive", "A width must be greater than 0.")
        if i and (step % steps[i - 1] or step == steps[i - 1]):
            raise InvalidInput.of(
                f"/widths/{i}",
                "not-nested",
                f"The width {step} is not a multiple of {steps[i - 1]}.",
                "Each width must be a greater multiple of the one before, so that intervals nest.",
            )
    return steps


def _intervals_of(numbers: Sequence[Decimal], step: Decimal, start: Decimal) -> list[tuple[str, int, int]]:
    """The intervals of a width that hold some of the ascending numbers: name, first place and end."""
    found, first = [], 0
    while first < len(numbers):
        low = start + (numbers[first] - start) // step * step
        if low > numbers[first]:  # Decimal's // truncates towards zero
            low -= step
        end = bisect_left(numbers, low + step, first)
        found.append((f"[{plain(low)}, {plain(low + step)}[", first, end))
        first = end
    return found


def ordered_groups(order: Sequence[str], group_sizes: Sequence[int]) -> Hierarchy:
    """Neighbours in the order given, ``[first, last]``; each size is in groups of the level below.

    The last group of a level may be smaller.
    """
    leaves = distinct_leaves(order)
    if any(size < 2 for size in group_sizes):
        raise InvalidInput.of(
            "/group_sizes", "too-small", "A group must hold at least two of the level below."
        )
    rows = [[value] for value in leaves]
    width = 1
    for size in group_sizes:
        width *= size
        for first in range(0, len(leaves), width):
            members = leaves[first : first + width]
            for row in rows[first : first + width]:
                row.append(f"[{members[0]}, {members[-1]}]")
    return Hierarchy(*nodes_of_levels(rows))


def masking(values: Sequence[str], side: Side = "right", char: str = "*", pad: Side = "right") -> Hierarchy:
    """One more character masked per level, from ``side``; ⊥ is the value with all of them masked.

    Values shorter than the longest are filled up with spaces on the side ``pad`` before they are masked.
    """
    if len(char) != 1:
        raise InvalidInput.of("/char", "not-a-character", "The masking character must be one character.")
    leaves = distinct_leaves(values)
    length = max(len(value) for value in leaves)
    if len(leaves) * length * length > MAX_MASKED_CHARACTERS:
        raise TooLarge(
            f"{len(leaves)} values of up to {length} characters have too many masked forms.",
            "Mask shorter values, or fewer.",
            MAX_MASKED_CHARACTERS,
        )
    rows = []
    for value in leaves:
        full = value.ljust(length, PADDING) if pad == "right" else value.rjust(length, PADDING)
        masked = [
            full[: length - n] + char * n if side == "right" else char * n + full[n:]
            for n in range(1, length)
        ]
        rows.append([value, *masked])
    return Hierarchy(*nodes_of_levels(rows, char * length))


def dates(values: Sequence[str], levels: Sequence[Unit] = ("day", "month", "year")) -> Hierarchy:
    """Dates truncated to the levels given, finest first; leaves are written as the first level is.

    Those that are finer stand below it, and days among times are midnights.
    Labels: 2024-05-01 08:07:30, 2024-05-01 08:07, 2024-05-01 08, 1975-05-10, 1975-05, 1975-Q2, 1975, 1970s;
    those of less than a day end with the zone that is written, so that no two clocks are mixed.
    """
    known: tuple[Unit, ...] = get_args(Unit)
    places = [known.index(level) if level in known else -1 for level in levels]
    if not levels or -1 in places or places != sorted(set(places)) or levels[0] == "decade":
        raise InvalidInput.of(
            "/levels",
            "wrong-levels",
            "The levels are not an ascending list of units of time.",
            f"Choose from {', '.join(known)}, finest first; decade cannot be the finest.",
        )
    periods: list[tuple[str, str, Period]] = []
    rank: dict[str, int] = {"part of a second": -1, **{unit: i for i, unit in enumerate(known)}}
    for value in distinct_leaves(values):
        period = period_of(value)
        if period is None or rank[period.unit] > max(places[0], rank["day"]):
            raise InvalidInput.of(
                "/values",
                "not-a-date",
                f"The value {value!r} is not a {levels[0]}.",
                "Write times 1975-05-10 14:35:00, days 1975-05-10, months 1975-05, quarters 1975-Q2, "
                "years 1975.",
            )
        is_midnight = period.unit == "day" and places[0] < rank["day"]
        clock = f"{value} 00:00:00" if is_midnight else value
        periods.append((value, clock, period_of(clock) or period))
    periods.sort(key=lambda own: (own[2].span, own[0]))
    above = levels if any(rank[own.unit] < places[0] for _, _, own in periods) else levels[1:]
    rows = [
        [
            value,
            *(clock if rank[own.unit] >= rank[level] else _truncated(clock, own, level) for level in above),
        ]
        for value, clock, own in periods
    ]
    return Hierarchy(*nodes_of_levels(rows))


def _truncated(value: str, period: Period, level: Unit) -> str:
    length = _LENGTHS.get(level)
    return _TRUNCATED[level](period.first) if length is None else f"{value[:length]}{period.zone}"


def leaf_range(first: str, last: str, step: str = "1") -> list[str]:
    """Numbers, or dates with ``step`` in days, from ``first`` to ``last`` inclusive."""
    low, high = period_of(first), period_of(last)
    if low is not None and high is not None and low.unit == high.unit == "day":
        return _date_range(low.first, high.first, step)
    with localcontext(EXACT):
        return _number_range(first, last, step)


def _number_range(first: str, last: str, step: str) -> list[str]:
    start, end = number_of("/range/first", first), number_of("/range/last", last)
    width = number_of("/range/step", step)
    if width <= 0 or end < start:
        raise InvalidInput.of(
            "/range",
            "empty-range",
            "The range is empty.",
            "last must be at least first, step greater than 0.",
        )
    size = int((end - start) // width) + 1
    _require_few(size)
    return [plain(start + i * width) for i in range(size)]


def _date_range(first: date, last: date, step: str) -> list[str]:
    if not (step.isascii() and step.isdigit() and int(step)) or last < first:
        raise InvalidInput.of(
            "/range", "empty-range", "The range is empty.", "last must be at least first, step 1 day or more."
        )
    size = (last - first).days // int(step) + 1
    _require_few(size)
    return [(first + timedelta(days=i * int(step))).isoformat() for i in range(size)]


def _require_few(size: int) -> None:
    if size > MAX_LEAVES:
        raise TooLarge(
            f"The range has {size} leaves; at most {MAX_LEAVES} are allowed.",
            "Use a greater step.",
            MAX_LEAVES,
        )


_LENGTHS: dict[Unit, int] = {"second": 19, "minute": 16, "hour": 13}
_TRUNCATED: dict[Unit, Callable[[date], str]] = {
    "day": date.isoformat,
    "month": lambda day: f"{day.year:04d}-{day.month:02d}",
    "quarter": lambda day: f"{day.year:04d}-Q{(day.month + 2) // 3}",
    "year": lambda day: f"{day.year:04d}",
    "decade": lambda day: f"{day.year // 10 * 10:04d}s",
}


def distinct_leaves(values: Sequence[str]) -> list[str]:
    """The distinct values; at least one, none empty."""
    leaves = list(dict.fromkeys(values))
    if not leaves:
        raise InvalidInput.of("/values", "empty", "There are no values.", "Give at least one.")
    if "" in leaves:
        raise InvalidInput.of(
            "/values", "empty-label", "A value is empty.", "An empty cell is missing, no leaf."
        )
    _require_few(len(leaves))
    return leaves


def ascending(values: Sequence[str]) -> tuple[list[str], list[Decimal]]:
    """The distinct values by number, of equal ones by text, and the numbers; InvalidInput if one is none."""
    leaves = distinct_leaves(values)
    numbers = {value: number_of("/values", value) for value in leaves}
    leaves = sorted(sorted(leaves), key=numbers.__getitem__)
    return leaves, [numbers[value] for value in leaves]


def number_of(pointer: str, text: str) -> Decimal:
    """The number that a text writes; InvalidInput at the pointer if none, or one of too many digits."""
    try:
        number = Decimal(text.strip())
    except InvalidOperation:
        number = Decimal("NaN")
    if not number.is_finite():
        raise InvalidInput.of(
            pointer, "not-a-number", f"{text!r} is not a number.", "Write it like 1200 or 0.5."
        )
    if len(text) <= MAX_DIGITS and "e" not in text and "E" not in text:
        return number
    if number and not (number.adjusted() < MAX_DIGITS and int(number.as_tuple().exponent) >= -MAX_DIGITS):
        raise InvalidInput.of(
            pointer,
            "number-out-of-range",
            f"{text!r} has more than {MAX_DIGITS} digits before or after the point.",
            "Write the numbers in a greater or smaller unit.",
        )
    return number


def plain(number: Decimal) -> str:
    """The number without exponent and trailing zeros."""
    text = format(number, "f")
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"
