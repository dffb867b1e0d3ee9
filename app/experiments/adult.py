"""The Adult table of Machanavajjhala (2008), section 3.6: the reader's own file, or a stand-in of its shape.

Whose hierarchies are not printed there; ours are written out (Definitions: hierarchies of Adult). The table
of UCI (https://archive.ics.uci.edu/dataset/2/adult) is not part of this project.
"""

from __future__ import annotations

import csv
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
from app.experiments.census import by_largest_remainder
from app.experiments.report import Effort

QUASI_IDENTIFIERS: Final = (
    "age", "sex", "race", "marital-status", "education", "native-country", "workclass",
)  # fmt: skip
"""In the order in which experiments take more and more of them."""
OCCUPATION: Final = "occupation"
SALARY: Final = "salary-class"
RECORDS: Final = 45_222
"""Records of the published table without missing values."""
OCCUPATIONS: Final[Mapping[str, int]] = {
    "Handlers-cleaners": 2046, "Farming-fishing": 1480, "Priv-house-serv": 232, "Machine-op-inspct": 2970,
    "Other-service": 4808, "Transport-moving": 2316, "Craft-repair": 6020, "Armed-Forces": 14,
    "Adm-clerical": 5540, "Protective-serv": 976, "Sales": 5408, "Tech-support": 1420,
    "Exec-managerial": 5984, "Prof-specialty": 6008,
}  # fmt: skip
"""Records of each occupation in the published table; the stand-in gives them out in this order."""

_UCI: Final = (
    "age", "workclass", "fnlwgt", "education", "education-num", "marital-status", OCCUPATION, "relationship",
    "race", "sex", "capital-gain", "capital-loss", "hours-per-week", "native-country", SALARY,
)  # fmt: skip
_FILES: Final = ("adult.data", "adult.test")
_OTHER_NAMES: Final = {"gender": "sex", "classification": SALARY, "class": SALARY, "income": SALARY}
_MISSING: Final = frozenset({"?", ""})
_GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "marital-status": (
        "Married-civ-spouse Married-AF-spouse",
        "Never-married Divorced Separated Widowed Married-spouse-absent",
    ),
    "education": (
        "Bachelors Some-college", "9th 10th 11th 12th 7th-8th HS-grad", "Prof-school Assoc-acdm Assoc-voc",
        "Masters Doctorate", "Preschool 1st-4th 5th-6th",
    ),
    "native-country": (
        "United-States Canada Outlying-US(Guam-USVI-etc)",
        "Mexico Puerto-Rico El-Salvador Cuba Jamaica Dominican-Republic Guatemala Columbia Haiti Nicaragua "
        "Peru Ecuador Trinadad&Tobago Honduras",
        "Germany England Italy Poland Portugal Greece France Ireland Yugoslavia Hungary Scotland "
        "Holand-Netherlands",
        "Philippines India South China Vietnam Japan Taiwan Iran Hong Cambodia Thailand Laos",
    ),
    "workclass": (
        "Private", "Self-emp-not-inc Self-emp-inc", "Local-gov State-gov Federal-gov",
        "Without-pay Never-worked",
    ),
}  # fmt: skip
"""What is one value on level 1."""
_EDUCATION: Final = (0, 1, 0, 0, 2)
"""Number on level 2 of each group of education."""
_SCHOOLS: Final = tuple(
    "Preschool 1st-4th 5th-6th 7th-8th 9th 10th 11th 12th HS-grad Some-college Assoc-voc Assoc-acdm "
    "Bachelors Masters Prof-school Doctorate".split()
)
_SHARES: Final = (1, 5, 10, 18, 15, 27, 36, 13, 327, 219, 43, 33, 167, 56, 17, 12)
_MARITAL: Final = (0.72, 0.185, 0.04, 0.04, 0.0145, 0.0005)


@dataclass(frozen=True, eq=False)
class Adult:
    """Records of nine attributes; ``is_published`` says that a file has as many as the published table."""

    trees: Mapping[str, Hierarchy]
    codes: Mapping[str, Ints]
    name: str
    is_published: bool

    @property
    def n_records(self) -> int:
        """Records without missing values."""
        return len(self.codes[SALARY])

    def table(self, n_attributes: int, sensitive: str, rows: Longs | slice = slice(None)) -> Table:
        """The first so many quasi-identifiers and a sensitive attribute, of some of the records."""
        names = (*QUASI_IDENTIFIERS[:n_attributes], sensitive)
        codes = np.stack([self.codes[name][rows] for name in names], axis=1)
        return Table(names, tuple(self.trees[name] for name in names), codes, sensitive=frozenset({sensitive}))


def adult(effort: Effort, least: int) -> Adult:
    """The reader's table, or a stand-in of 45,222 records for 4,000 entities; InvalidInput below ``least``."""
    if effort.adult is None:
        lines, left_out = list(_stand_in(round(RECORDS * effort.entities / 4000))), 0
        option, name = "--entities", "generated stand-in of Adult"
    else:
        read = list(_records(effort.adult))
        lines = [cells for cells in read if not _MISSING & set(cells)]
        left_out, option, name = len(read) - len(lines), "--adult", "the reader's table"
    if len(lines) < least:
        raise InvalidInput.of(
            option,
            "too-few-records",
            f"There are {len(lines):,} records without missing values, and the experiment needs {least:,}: "
            "with fewer no generalisation is as anonymous or diverse as is asked.",
            "Give a greater table.",
        )
    columns = dict(zip((*QUASI_IDENTIFIERS, OCCUPATION, SALARY), zip(*lines, strict=True), strict=True))
    trees = {
        attribute: Hierarchy.from_rows([_chain(attribute, value) for value in sorted(set(values))])
        for attribute, values in columns.items()
    }
    codes = {attribute: trees[attribute].encode(values)[0] for attribute, values in columns.items()}
    missing = f", {left_out:,} more with missing values left out" if left_out else ""
    is_published = effort.adult is not None and len(lines) == RECORDS
    return Adult(trees, codes, f"{name}, {len(lines):,} records{missing}", is_published)


def _chain(attribute: str, value: str) -> list[str]:
    """A value and what it becomes on each level; InvalidInput for one that the hierarchy does not have."""
    if attribute == "age" and re.fullmatch(r"[1-9][0-9]{0,2}", value):
        return [value, *(f"{(int(value) - 1) // width} of {width}" for width in (5, 10, 20)), "*"]
    if attribute != "age" and attribute not in _GROUPS:
        return [value, "*"]
    groups = [values.split() for values in _GROUPS.get(attribute, ())]
    for number, values in enumerate(groups):
        if value in values:
            more = [f"level 2, {_EDUCATION[number]}"] if attribute == "education" else []
            return [value, f"level 1, {number}", *more, "*"]
    known = ", ".join(value for values in groups for value in values) or "whole numbers from 1 to 999"
    raise InvalidInput.of(
        "--adult",
        "unknown-value",
        f"The column {attribute} has a value that its hierarchy does not have.",
        f"Its values are: {known}; and ? where one is missing.",
    )


def _records(path: Path) -> Iterator[tuple[str, ...]]:
    """The nine attributes of each record, as they are written."""
    paths = [path / name for name in _FILES] if path.is_dir() else [path]
    for own in paths:
        try:
            with own.open(encoding="utf-8-sig", newline="") as text:
                yield from _rows_of(text)
        except (OSError, UnicodeDecodeError, csv.Error) as error:
            raise InvalidInput.of(
                "--adult",
                "unreadable",
                f"{own.name} cannot be read as a table.",
                f"Give a CSV in UTF-8, or the folder of {' and '.join(_FILES)}.",
            ) from error


def _rows_of(text: Iterator[str]) -> Iterator[tuple[str, ...]]:
    first = next((line for line in text if line.strip() and not line.startswith("|")), "")
    separator = ";" if ";" in first else ","
    cells = [cell.strip() for cell in first.split(separator)]
    named = [re.sub(r"[ _.]", "-", cell.strip('"').lower()) for cell in cells]
    names = [_OTHER_NAMES.get(name, name) for name in named]
    wanted = (*QUASI_IDENTIFIERS, OCCUPATION, SALARY)
    has_header = bool(set(names) & set(wanted))
    if not has_header and len(cells) == len(_UCI):
        names = list(_UCI)
    missing = [name for name in wanted if names.count(name) != 1]
    if missing:
        raise InvalidInput.of(
            "--adult",
            "missing-columns",
            f"The first line does not name each of these columns once: {', '.join(missing)}.",
            f"Name the columns in the first line: {', '.join(wanted)}; also {', '.join(_OTHER_NAMES)} are "
            f"known. Without such a line they are the {len(_UCI)} of UCI's adult.data, in its order.",
        )
    places = [names.index(name) for name in wanted]
    lines = csv.reader(text, delimiter=separator, skipinitialspace=True)
    for row in ([*([] if has_header else [cells]), *lines]):
        if not row:
            continue
        if len(row) != len(names):
            raise InvalidInput.of(
                "--adult",
                "ragged",
                f"A line has {len(row):,} cells, and the first one {len(names):,}.",
                "Give a CSV whose lines all have the same columns.",
            )
        yield tuple(row[place].strip().rstrip(".") for place in places)


def _stand_in(records: int) -> Iterator[tuple[str, ...]]:
    """Records with the published numbers of each occupation; how attributes hang together is ours."""
    rng = np.random.Generator(np.random.PCG64(1))
    age = np.floor(17 + 74 * rng.beta(1.6, 3.8, records)).astype(np.int64)
    sex = rng.choice(2, records, p=(0.675, 0.325))
    race = rng.choice(5, records, p=(0.86, 0.094, 0.029, 0.0095, 0.0075))
    education = np.searchsorted(np.cumsum(_SHARES), rng.random(records) * sum(_SHARES))
    single = 1 / (1 + np.exp((age - 29) / 5))
    marital = np.where(rng.random(records) < single, 0, 1 + rng.choice(6, records, p=_MARITAL))
    workclass = rng.choice(7, records, p=(0.737, 0.084, 0.036, 0.069, 0.043, 0.03, 0.001))
    countries = " ".join(_GROUPS["native-country"]).split()
    rare = 1 + np.floor((len(countries) - 1) * rng.random(records) ** 3).astype(np.int64)
    country = np.where(rng.random(records) < 0.915, 0, rare)
    skill = (education - 9.1) / 2.6 + 0.3 * sex
    occupation = np.empty(records, dtype=np.int64)
    order = np.argsort(0.8 * skill + rng.standard_normal(records), kind="stable")
    shares = np.array([*OCCUPATIONS.values()]) / RECORDS
    occupation[order] = np.repeat(np.arange(len(shares)), by_largest_remainder(shares, records))
    chance = 1 / (1 + np.exp(1.8 - 1.1 * skill - 2.2 * (marital == 1) + 4 * single + 0.7 * sex))
    salary = (rng.random(records) < chance).astype(np.int64)
    words = (
        ("Male", "Female"),
        ("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
        ("Never-married", "Married-civ-spouse", "Divorced", "Separated", "Widowed", "Married-spouse-absent",
         "Married-AF-spouse"),
        _SCHOOLS,
        countries,
        " ".join(_GROUPS["workclass"]).split(),
        tuple(OCCUPATIONS),
        ("<=50K", ">50K"),
    )  # fmt: skip
    numbers = (sex, race, marital, education, country, workclass, occupation, salary)
    columns = [np.array(own)[at].tolist() for own, at in zip(words, numbers, strict=True)]
    yield from zip(map(str, age.tolist()), *columns, strict=True)
