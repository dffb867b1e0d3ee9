"""The Adult table of Machanavajjhala (2008), section 3.6: the reader's own file, or a stand-in of its shape.

Its hierarchies are not printed there; ours are in ``adult.json``, with the shares of values per 10,000 that
the stand-in has, and what the published table comes to. The table itself is not part of this project.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from app.domain.arrays import Ints, Longs
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from app.experiments.report import Effort

PUBLISHED: Final = json.loads(Path(__file__).with_name("adult.json").read_text(encoding="utf-8"))
QUASI_IDENTIFIERS: Final[tuple[str, ...]] = tuple(PUBLISHED["quasi_identifiers"])
OCCUPATION, SALARY = "occupation", "salary-class"
ATTRIBUTES: Final = (*QUASI_IDENTIFIERS, OCCUPATION, SALARY)
RECORDS: Final = 45_222
FILES: Final = ("adult.data", "adult.test")


@dataclass(frozen=True, eq=False)
class Adult:
    """The records; ``is_published`` says that a file has as many as the published table, ``RECORDS``."""

    trees: Mapping[str, Hierarchy]
    codes: Mapping[str, Ints]
    n_records: int
    name: str
    is_published: bool

    def table(self, n_attributes: int, sensitive: str, rows: Longs | slice = slice(None)) -> Table:
        """The first so many quasi-identifiers and a sensitive attribute, of some of the records."""
        names = (*QUASI_IDENTIFIERS[:n_attributes], sensitive)
        codes = np.stack([self.codes[name][rows] for name in names], axis=1)
        trees = tuple(self.trees[name] for name in names)
        return Table(names, trees, codes, sensitive=frozenset({sensitive}))


def adult(effort: Effort, least: int) -> Adult:
    """The reader's table, or a stand-in of 45,222 records for 4,000 entities; InvalidInput if below least."""
    is_own, generated = effort.adult is not None, round(RECORDS * effort.entities / 4000)
    read = _stand_in(generated) if effort.adult is None else [*_read(effort.adult)]
    lines = [cells for cells in read if not {"?", ""} & set(cells)]
    if len(lines) < least:
        raise InvalidInput.of(
            "--adult" if is_own else "--entities", "too-few-records",
            f"There are {len(lines):,} records without missing values, and the experiment needs {least:,}, "
            "so that there is a table as anonymous as it asks for.", "Give more records.",
        )  # fmt: skip
    trees, codes = {}, {}
    for attribute, values in zip(ATTRIBUTES, zip(*lines, strict=True), strict=True):
        trees[attribute] = Hierarchy.from_rows([_chain(attribute, value) for value in sorted({*values})])
        codes[attribute] = trees[attribute].encode(values)[0]
    name = f"{'Adult' if is_own else 'generated stand-in of Adult'}, {len(lines):,} records"
    name += f", {len(read) - len(lines):,} with missing values left out" if is_own else ""
    return Adult(trees, codes, len(lines), name, is_own and len(lines) == RECORDS)


def _chain(attribute: str, value: str) -> list[str]:
    """A value and what it becomes on each level; InvalidInput for one that the hierarchy does not have."""
    groups = PUBLISHED["groups"].get(attribute, [])
    if attribute == "age" and re.fullmatch(r"[1-9][0-9]{0,2}", value):
        return [value, *(f"{(int(value) - 1) // width} of {width}" for width in (5, 10, 20)), "*"]
    if attribute != "age" and not groups:
        return [value, "*"]
    for number, values in enumerate(groups):
        if value in values:
            more = [f"level 2, {PUBLISHED['education'][number]}"] if attribute == "education" else []
            return [value, f"level 1, {number}", *more, "*"]
    known = ", ".join(value for values in groups for value in values) or "whole numbers from 1 to 999"
    raise InvalidInput.of(
        "--adult", "unknown-value", f"The column {attribute} has a value that its hierarchy does not have.",
        f"Its values are: {known}; and ? where one is missing.",
    )  # fmt: skip


def _read(path: Path) -> Iterator[tuple[str, ...]]:
    """The nine attributes of each record, as they are written."""
    for own in [path / name for name in FILES] if path.is_dir() else [path]:
        try:
            with own.open(encoding="utf-8-sig", newline="") as text:
                yield from _rows(text)
        except (OSError, UnicodeDecodeError, IndexError, csv.Error) as error:
            raise InvalidInput.of(
                "--adult", "unreadable", f"{own.name} cannot be read as a table of full lines.",
                f"Give a CSV in UTF-8, or the folder of {' and '.join(FILES)}.",
            ) from error  # fmt: skip


def _rows(text: Iterator[str]) -> Iterator[tuple[str, ...]]:
    """UCI's test file begins with a remark behind a bar, and its classes end with a point."""
    first = next((line for line in text if line.strip() and not line.startswith("|")), "")
    separator, uci = ";" if ";" in first else ",", PUBLISHED["columns"]
    cells = [cell.strip().strip('"') for cell in first.split(separator)]
    names = [re.sub("[ _.]", "-", cell.lower()) for cell in cells]
    names = [PUBLISHED["other_names"].get(name, name) for name in names]
    lines = [row for row in csv.reader(text, delimiter=separator, skipinitialspace=True) if row]
    if len(cells) == len(uci) and not {*names} & {*ATTRIBUTES}:
        names, lines = uci, [cells, *lines]
    if missing := [name for name in ATTRIBUTES if names.count(name) != 1]:
        raise InvalidInput.of(
            "--adult", "missing-columns",
            f"The first line does not name each of these columns once: {', '.join(missing)}.",
            f"Name the columns there: {', '.join(ATTRIBUTES)}, or {', '.join(PUBLISHED['other_names'])}. "
            f"Without names they are the {len(uci)} of UCI's adult.data, in its order.",
        )  # fmt: skip
    places = [names.index(name) for name in ATTRIBUTES]
    yield from (tuple(row[place].strip().rstrip(".") for place in places) for row in lines)


def _stand_in(records: int) -> list[tuple[str, ...]]:
    """Records with the published numbers of each occupation; how attributes hang together is ours."""
    rng, published = np.random.Generator(np.random.PCG64(1)), PUBLISHED["shares"]
    shares = {name: np.array([*own.values()]) / sum(own.values()) for name, own in published.items()}
    age = np.floor(17 + 74 * rng.beta(1.6, 3.8, records)).astype(np.int64)
    drawn = {name: rng.choice(len(own), records, p=own) for name, own in shares.items()}
    single = 1 / (1 + np.exp((age - 29) / 5))
    drawn["marital-status"][rng.random(records) < single] = 0
    is_married, is_woman = drawn["marital-status"] == 1, drawn["sex"]
    skill = (drawn["education"] - 9.1) / 2.6 + 0.3 * is_woman
    order = np.argsort(0.8 * skill + rng.standard_normal(records), kind="stable")
    quantiles = (np.arange(records) + 0.5) / records
    drawn[OCCUPATION][order] = np.searchsorted(np.cumsum(shares[OCCUPATION]), quantiles)
    chance = 1 / (1 + np.exp(1.8 - 1.1 * skill - 2.2 * is_married + 4 * single + 0.7 * is_woman))
    drawn[SALARY] = (rng.random(records) < chance).astype(np.int64)
    words = {name: np.array([*own])[drawn[name]].tolist() for name, own in published.items()}
    words["age"] = list(map(str, age.tolist()))
    return list(zip(*(words[name] for name in ATTRIBUTES), strict=True))
