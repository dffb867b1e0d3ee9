"""A release that a mechanism drew: how it was made, what its matrix says, and its values before and after."""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from markupsafe import Markup

from app.charts.curves import Curve, draw_curves
from app.charts.drawing import Caption
from app.charts.matrix import draw_matrix
from app.charts.rows import Amount, draw_amounts
from app.web.measured import measured
from app.web.visits import Visit, found
from app.web.words import letter, number, words
from privacy_risk import Json

MOST_CELLS: Final = 20
"""Values up to which the whole matrix is drawn."""

MOST_BARS: Final = 40
"""Values up to which bars of all are drawn."""

MOST_LISTED: Final = 200
"""Values that a table lists."""

MOST_READ: Final = 50_000
"""Rows up to which a released table is read to count its values."""

SHOWN_ROWS: Final = 12
_LINES_READ: Final = 1_000
"""Of a large table so many are read: cells may hold line breaks, and the last one may be cut."""

GROUPS_TOLD: Final = {"kind": "micro_reconstruction", "top": 5}
_RETAINING: Final = ("uniform_perturbation", "sample_perturb_scale")
_LEAST_GROUP: Final = 10
_ROUND_SHARES: Final = {"half": 0.5, "one in a hundred": 0.01}


@dataclass(frozen=True)
class Matrix:
    """What is published of a matrix whose columns each have one number off the diagonal.

    Parameters
    ----------
    names
        Of the values; numbered for who may not read them.
    prior
        How often each occurs in what readers know; None: the mechanism publishes nothing of it.
    retention, elsewhere
        α and Y: the probability of r for a true c is Y_c, and α_c more where r is c.
    """

    names: tuple[str, ...]
    prior: tuple[float, ...] | None
    retention: tuple[float, ...]
    elsewhere: tuple[float, ...]

    @classmethod
    def of(cls, published: Json | None) -> Matrix | None:
        """The matrix, if the mechanism publishes one of this form."""
        if published is None:
            return None
        if {"values", "p"} <= published.keys() and published["values"]:
            names, p = tuple(map(str, published["values"])), float(published["p"])
            return cls(names, None, (p,) * len(names), ((1 - p) / len(names),) * len(names))
        if not {"values", "prior", "retention", "elsewhere"} <= published.keys():
            return None
        values = published["values"] or [None] * len(published["prior"])
        names = tuple(f"value {i + 1}" if own is None else str(own) for i, own in enumerate(values))
        numbers = (tuple(map(float, published[key])) for key in ("prior", "retention", "elsewhere"))
        return cls(names, *numbers)

    @cached_property
    def kept(self) -> list[float]:
        """The probability of each value to stay."""
        return [own + other for own, other in zip(self.retention, self.elsewhere, strict=True)]

    def entries(self) -> list[list[float]]:
        """The probability of each published value, by row, for each true one."""
        size = range(len(self.names))
        return [[self.elsewhere[c] + (self.retention[c] if r == c else 0.0) for c in size] for r in size]

    def expected(self, before: Sequence[float]) -> list[float]:
        """How often each value is published, in expectation, if they are as frequent before."""
        anything = math.fsum(own * y for own, y in zip(before, self.elsewhere, strict=True))
        return [anything + own * a for own, a in zip(before, self.retention, strict=True)]

    def deviation(self, value: int, shares: Sequence[float]) -> float:
        """The standard error of a count of one value among n records of these shares, divided by √n.

        By the inverse of the matrix (Sherman and Morrison) and the variance of an estimate (Definitions:
        perturbation). Every retention is above 0, else nothing was drawn.
        """
        rest = 1 + math.fsum(y / a for y, a in zip(self.elsewhere, self.retention, strict=True))
        weights = [
            ((i == value) - y / a / rest) / self.retention[value]
            for i, (y, a) in enumerate(zip(self.elsewhere, self.retention, strict=True))
        ]
        squares = [own**2 for own in weights]
        every = math.fsum(squares)
        total = math.fsum(
            p * (a * square + y * every)
            for p, a, y, square in zip(shares, self.retention, self.elsewhere, squares, strict=True)
        )
        return math.sqrt(max(total - shares[value], 0.0))


async def drawn_facts(visit: Visit, release: Json) -> dict[str, Any]:
    """What the page of the release tells beside its manifest."""
    attribute = (release["mechanism"]["published"] or {}).get("attribute")
    before, (rows, after), groups = await asyncio.gather(
        _before(visit, release["dataset"], attribute),
        _released(visit, release, attribute),
        _groups_told(visit, release),
    )
    # Of 100,000 values that takes a while, in which others are answered.
    told = await asyncio.to_thread(_facts_of_matrix, release, before, after)
    is_tested = visit.reads_data and release["mechanism"]["name"] in _RETAINING
    return {**told, "rows": rows, "groups": groups, "is_tested": is_tested}


def _facts_of_matrix(
    release: Json, before: Mapping[str, int], after: Mapping[str, int] | None
) -> dict[str, Any]:
    shown = report_facts(release)
    matrix = Matrix.of(release["mechanism"]["published"])
    if matrix is None:
        return {**shown, "counts": [], "matrix": None, "errors_picture": None}
    return {
        **shown,
        "counts": list(_counts(matrix, before, after)),
        "is_counted": after is not None,
        "matrix": Markup(_picture(matrix)),  # noqa: S704 - made here, every text in it escaped
        "is_whole_matrix": len(matrix.names) <= MOST_CELLS,
        "errors_picture": _errors_picture(_told(matrix, release["mechanism"]), release["rows"]),
    }


def report_facts(release: Json) -> dict[str, Any]:
    """What is told of how the release was made, and of counts in it, without its rows."""
    mechanism = release["mechanism"]
    matrix = Matrix.of(mechanism["published"])
    return {
        "attribute": (mechanism["published"] or {}).get("attribute"),
        "asked": _asked(mechanism["parameters"] or {}),
        "drawn_values": [] if matrix is None else list(_values(matrix)),
        "values": 0 if matrix is None else len(matrix.names),
        "prior_is_known": matrix is not None and matrix.prior is not None,
        "errors": None if matrix is None else _errors(_told(matrix, mechanism), release["rows"]),
    }


def _asked(parameters: Json) -> list[tuple[str, str]]:
    """The parameters in words; of frequencies that were given only how many."""
    told = []
    for name, value in parameters.items():
        if isinstance(value, Mapping | list):
            told.append((words(name), f"given, for {number(len(value))} values"))
        elif value is not None:
            told.append((letter(words(name)), number(value)))
    return told


def _values(matrix: Matrix) -> Iterator[Json]:
    told = [
        {"name": name, "kept": kept, "elsewhere": elsewhere}
        for name, kept, elsewhere in zip(matrix.names, matrix.kept, matrix.elsewhere, strict=True)
    ]
    if matrix.prior is not None:
        shares = zip(matrix.prior, matrix.expected(matrix.prior), strict=True)
        for own, (prior, expected) in zip(told, shares, strict=True):
            own |= {"prior": prior, "expected": expected}
    yield from told[:MOST_LISTED]


def _counts(matrix: Matrix, before: Mapping[str, int], after: Mapping[str, int] | None) -> Iterator[Json]:
    """How many records have each value; after the draw as counted, or as expected where it was not.

    Expected of the counts before, not of what readers know, which may be another reference; none where there
    are more values than were read.
    """
    if after is None:
        if not before.keys() >= set(matrix.names):
            return
        expected = matrix.expected([before[name] for name in matrix.names])
        after = {name: round(own) for name, own in zip(matrix.names, expected, strict=True)}
    for name in matrix.names[:MOST_LISTED]:
        yield {"name": name, "before": before.get(name), "after": after.get(name, 0)}


async def _before(visit: Visit, dataset: str, attribute: str | None) -> Mapping[str, int]:
    """Records by value in the dataset, of its most frequent values; nothing for who may not read data."""
    if attribute is None or not visit.reads_data:
        return {}
    profile = await found(visit.client.datasets.profile(dataset, limit=MOST_LISTED))
    columns = [] if profile is None else profile["attributes"]
    own = next((column for column in columns if column["name"] == attribute), None)
    frequent = None if own is None else own["frequent"]
    return {one["value"]: one["rows"] for one in frequent or ()}


async def _groups_told(visit: Visit, release: Json) -> Json | None:
    """What the groups of a table that is not large tell; None where that is not asked, or not to be had."""
    is_told = visit.reads_data and release["rows"] <= MOST_READ and not release.get("withdrawn_at")
    if not is_told or release["mechanism"]["name"] not in _RETAINING:
        return None
    asked = {"dataset": release["dataset"], "release": release["name"], "measure": GROUPS_TOLD}
    return await measured(visit, asked, release["sha256"])


async def _released(
    visit: Visit, release: Json, attribute: str | None
) -> tuple[list[list[str]], Mapping[str, int] | None]:
    """The first rows of the table and, of one that is not large, its records by value of the attribute."""
    if not visit.reads_data or release.get("withdrawn_at"):
        return [], None
    whole = release["rows"] <= MOST_READ
    read = bytearray()
    async with aclosing(visit.client.releases.data(release["name"])) as table:  # type: ignore[type-var]
        async for piece in table:
            read += piece
            if not whole and read.count(b"\n") > _LINES_READ:
                break
    place = release["columns"].index(attribute) if whole and attribute in release["columns"] else None
    return await asyncio.to_thread(_counted, read.decode("utf-8", errors="ignore"), place, release)


def _counted(text: str, place: int | None, release: Json) -> tuple[list[list[str]], Mapping[str, int] | None]:
    """The first rows of a table and, of the column at ``place``, its rows by value."""
    lines = csv.reader(io.StringIO(text, newline=""))
    _, *rows = itertools.islice(lines, 1 + SHOWN_ROWS)
    if place is None:
        return rows, None
    of_all = itertools.chain(rows, lines)
    return rows, Counter(as_it_was(line[place], release["neutralise_formulas"]) for line in of_all)


def as_it_was(text: str, neutralised: bool) -> str:
    """The text without the apostrophe that keeps spreadsheets from computing."""
    return text[1:] if neutralised and text.startswith("'") else text


def _picture(matrix: Matrix) -> str:
    if len(matrix.names) <= MOST_CELLS:
        caption = Caption(
            "matrix",
            "Transition matrix",
            "A column per true value, a row per published one, in the same order: the darker, the likelier. "
            "The table below has the numbers.",
        )
        return draw_matrix(caption, matrix.names, matrix.entries())
    kept = matrix.kept
    order = sorted(range(len(kept)), key=lambda i: (-kept[i], i))
    picked = order if len(order) <= MOST_BARS else [*order[: MOST_BARS // 2], *order[-MOST_BARS // 2 :]]
    caption = Caption(
        "matrix", "How often values stay", "A bar per value: the probability that it is published as itself."
    )
    return draw_amounts(caption, [Amount(matrix.names[i], kept[i], number(kept[i])) for i in picked])


def _sizes(rows: int) -> list[int]:
    """Sizes of groups: powers of ten, and all records."""
    powers = [10**i for i in range(1, len(str(rows)) + 1) if _LEAST_GROUP <= 10**i < rows]
    return [*powers, rows]


def _told(matrix: Matrix, mechanism: Json) -> list[tuple[str, float]]:
    """Values, each with the standard error of its count divided by √n.

    The most and the least frequent one or, where readers know no frequencies, values of round shares. None of
    a release whose rows are copies of fewer drawn ones: these are no independent draws.
    """
    if mechanism["family"] == "sample":
        return []
    prior = matrix.prior
    if prior is None:
        # It treats all values alike, by which the others' shares make no difference.
        others = len(matrix.names) - 1
        return [
            (f"a value that {words} have", matrix.deviation(0, (share, *[(1 - share) / others] * others)))
            for words, share in _ROUND_SHARES.items()
        ]
    by_frequency = sorted(range(len(matrix.names)), key=lambda i: (-prior[i], i))
    found = []
    for what, value in (("most frequent", by_frequency[0]), ("least frequent", by_frequency[-1])):
        deviation = matrix.deviation(value, prior)
        if deviation:  # one value alone has no error
            found.append((f"{what}: {matrix.names[value]}", deviation))
    return found


def _errors(told: Sequence[tuple[str, float]], rows: int) -> Json | None:
    """Standard errors of counts as shares of their groups; None if nothing is estimated."""
    if not told:
        return None
    return {
        "names": [name for name, _ in told],
        "rows": [
            {"size": size, "shares": [own / math.sqrt(size) for _, own in told]} for size in _sizes(rows)
        ],
    }


def _errors_picture(told: Sequence[tuple[str, float]], rows: int) -> Markup | None:
    sizes: Sequence[int] = _sizes(rows)
    if not told or len(sizes) < 2:
        return None
    curves = [
        Curve(name, tuple(map(float, sizes)), tuple(own / math.sqrt(size) for size in sizes))
        for name, own in sorted(
            ((name.partition(":")[0], own) for name, own in told), key=lambda own: -own[1]
        )
    ]
    caption = Caption(
        "errors",
        "Error of a count by the size of its group",
        "The standard error of the count of one value, as a share of the group that is counted in: it falls "
        "with the square root of the group's size. The table below has the numbers.",
    )
    drawn = draw_curves(caption, curves, "Records in the group", "Standard error / group")
    return Markup(drawn)  # noqa: S704 - made here, every text in it escaped
