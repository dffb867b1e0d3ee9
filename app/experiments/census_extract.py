"""A census extract of the reader's own, with the columns that experiments need, as IPUMS delivers it.

IPUMS (https://usa.ipums.org) may not be passed on, so that nothing of it is here. An extract is a text in
columns of fixed width, whose positions its codebook lists, or a CSV; either may be compressed by gzip.
"""

from __future__ import annotations

import csv
import gzip
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints
from app.domain.errors import InvalidInput
from app.experiments import stand_in_census
from app.experiments.census import ATTRIBUTES, Census

VARIABLES: Final[Mapping[str, str]] = dict(
    zip(ATTRIBUTES, ("AGE", "SEX", "EDUC", "MARST", "CLASSWKR", "INCWAGE"), strict=True)
)
"""The columns of a CSV by the names that IPUMS USA gives them: those of Cao and Karras (2012)."""

SEVEN_VARIABLES: Final[Mapping[str, str]] = dict(
    zip(
        stand_in_census.ATTRIBUTES,
        ("AGE", "SEX", "EDUC", "MARST", "RACE", "CLASSWKR", "OCC"),
        strict=True,
    )
)
"""Those of Wang et al. (2012)."""

MOST_CLASSES: Final = 1_000
"""Values of an attribute that the experiments count in."""

_COLUMN: Final = re.compile(r"(?P<attribute>[a-z]+)=(?P<where>[^=]+)")
_POSITIONS: Final = re.compile(r"([1-9][0-9]{0,5})(?:-([1-9][0-9]{0,5}))?")


_MISSING: Final = frozenset({"", "N", "NA", "?"})
_WHY: Final = {UnicodeDecodeError: "it is no text in UTF-8", csv.Error: "it is no CSV"}


@dataclass(frozen=True)
class _Positions:
    """Characters of a line, from 0 on, up to but without the last."""

    start: int
    end: int


def read_extract(
    path: Path,
    columns: tuple[str, ...] = (),
    variables: Mapping[str, str] = VARIABLES,
    *,
    published: bool = False,
) -> Census:
    """The records of an extract.

    Parameters
    ----------
    path
        The file; its name ends in ``.gz`` if it is compressed.
    columns
        ``age=AGE`` names a column of a CSV with a header, ``age=12-14`` the characters of a line, counted
        from 1 as codebooks do; of all attributes, or of none: then it is a CSV with IPUMS's names.
    variables
        The attributes, with these names.
    published
        Records with a missing value are left out, and texts numbered in the order of the alphabet.

    The values are whole numbers: codes as they are delivered, in their order. InvalidInput naming the
    attribute and the line for what is none, for too many values, and for columns that are not there.
    """
    places = _places(columns, variables)
    is_fixed = all(_POSITIONS.fullmatch(where) for where in places.values())
    try:
        lines = _fields(path, places) if is_fixed else _cells(path, places)
        return _census(tuple(variables), _coded(lines) if published else lines)
    except (UnicodeDecodeError, EOFError, zlib.error, csv.Error) as error:
        raise InvalidInput.of(
            "/census",
            "unreadable",
            f"The extract cannot be read to its end: {_WHY.get(type(error), 'it is damaged')}.",
            "Give it as IPUMS delivers it: text in UTF-8, whole, compressed only if its name ends in .gz.",
        ) from error


def _census(attributes: tuple[str, ...], lines: Iterator[tuple[int, list[str]]]) -> Census:
    values: list[list[int]] = [[] for _ in attributes]
    for number, cells in lines:
        for attribute, cell, own in zip(attributes, cells, values, strict=True):
            text = cell.strip()
            if not re.fullmatch(r"-?[0-9]{1,15}", text):
                raise InvalidInput.of(
                    f"/census/{attribute}",
                    "not-a-number",
                    f"In line {number:,} the {attribute} is no whole number.",
                    "Leave such records out, or give codes in their place.",
                )
            own.append(int(text))
    if not values[0]:
        raise InvalidInput.of("/census", "empty", "The extract has no records.", "Give one that has some.")
    numbered = [_numbered(np.array(own, dtype=np.int64)) for own in values]
    sizes = tuple(int(own.max()) for own in numbered)
    for attribute, size in zip(attributes, sizes, strict=True):
        if size > MOST_CLASSES:
            raise InvalidInput.of(
                f"/census/{attribute}",
                "too-many-values",
                f"The {attribute} has {size:,} values; it is counted in up to {MOST_CLASSES:,} classes.",
                "Put the values into classes first, and give the column of the classes.",
            )
    return Census(tuple(numbered), sizes)


def _coded(lines: Iterator[tuple[int, list[str]]]) -> Iterator[tuple[int, list[str]]]:
    """Whole records, with the place of each text in place of it."""
    cells = ((number, [cell.strip() for cell in own]) for number, own in lines)
    whole = [(number, own) for number, own in cells if not _MISSING & set(own)]
    for j, values in enumerate(map(set, zip(*(own for _, own in whole), strict=True))):
        if not all(value.isdecimal() for value in values):
            place = {value: str(i) for i, value in enumerate(sorted(values))}
            for _, own in whole:
                own[j] = place[own[j]]
    return iter(whole)


def _places(columns: tuple[str, ...], variables: Mapping[str, str]) -> Mapping[str, str]:
    """Attribute → column or positions, as they were given, in the order of the variables."""
    if not columns:
        return variables
    found = {}
    for text in columns:
        match = _COLUMN.fullmatch(text)
        if match is None or match["attribute"] not in variables:
            raise InvalidInput.of(
                "/columns",
                "unknown-choice",
                f"{text!r} gives no attribute its column.",
                f"Give one for each of {', '.join(variables)}, such as age=AGE or age=12-14.",
            )
        found[match["attribute"]] = match["where"]
    missing = [name for name in variables if name not in found]
    if missing:
        raise InvalidInput.of(
            "/columns",
            "missing",
            f"Nothing says where {', '.join(missing)} is.",
            "Give the columns of all attributes.",
        )
    if len({_POSITIONS.fullmatch(where) is None for where in found.values()}) > 1:
        raise InvalidInput.of(
            "/columns",
            "mixed",
            "Some columns are names and some are positions.",
            "Give names of a CSV, or positions in lines of fixed width.",
        )
    return {name: found[name] for name in variables}


def _text(path: Path) -> Iterator[str]:
    if path.suffix == ".gz":
        with gzip.open(path, "rt", encoding="utf-8-sig", newline="") as text:
            yield from text
    else:
        with path.open(encoding="utf-8-sig", newline="") as text:
            yield from text


def _fields(path: Path, places: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Per line its number and the characters of each attribute."""
    positions = [_positions(where, name) for name, where in places.items()]
    width = max(own.end for own in positions)
    for number, line in enumerate(_text(path), 1):
        text = line.rstrip("\r\n")
        if len(text) < width:
            raise InvalidInput.of(
                "/census",
                "short-line",
                f"Line {number:,} has {len(text):,} characters; the columns reach to {width:,}.",
                "Look up the positions in the extract's codebook.",
            )
        yield number, [text[own.start : own.end] for own in positions]


def _positions(where: str, attribute: str) -> _Positions:
    match = _POSITIONS.fullmatch(where)
    assert match is not None  # noqa: S101 - asked before
    first, last = int(match[1]), int(match[2] or match[1])
    if last < first:
        raise InvalidInput.of(
            "/columns",
            "reversed",
            f"The positions {where} of {attribute} end before they begin.",
            "Give the first position first.",
        )
    return _Positions(first - 1, last)


def _cells(path: Path, places: Mapping[str, str]) -> Iterator[tuple[int, list[str]]]:
    """Per record of a CSV the number of its line and its cells."""
    reader = csv.reader(_text(path))
    header = [name.strip() for name in next(reader, [])]
    missing = [where for where in places.values() if header.count(where) != 1]
    if missing:
        raise InvalidInput.of(
            "/census",
            "missing-columns",
            f"The header does not have each of {', '.join(missing)} once.",
            f"Give --census FILE with --census-columns {' '.join(f'{own}=…' for own in places)}.",
        )
    order = [header.index(where) for where in places.values()]
    for cells in reader:
        if len(cells) != len(header):
            raise InvalidInput.of(
                "/census",
                "ragged",
                f"Line {reader.line_num:,} has {len(cells):,} cells; the header has {len(header):,}.",
                "Give a CSV whose lines all have the same columns.",
            )
        yield reader.line_num, [cells[place] for place in order]


def _numbered(values: npt.NDArray[np.int64]) -> Ints:
    """The place of each value among those that occur, from 1 on."""
    places: Ints = np.unique(values, return_inverse=True)[1].astype(np.int32)
    return places + np.int32(1)
