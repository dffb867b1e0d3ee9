"""Signs of several rows per person: on tables of visits they show, on tables of people they do not."""

from __future__ import annotations

import csv
import math
import os
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
import pytest

from app.samples.members import generate
from app.samples.patients import csv_of_patients
from app.services.datasets.person_signs import BY_ACCIDENT, PersonSigns, signs_of
from app.services.datasets.text_columns import TextColumn

DATA = os.environ.get("PRIVACY_RISK_DATA")
real_data = pytest.mark.real_data
needs_data = pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")


def column(cells: Iterable[str | None]) -> TextColumn:
    place: dict[str, int] = {}
    positions = [-1 if cell is None else place.setdefault(cell, len(place)) for cell in cells]
    return TextColumn(tuple(place), np.array(positions, dtype=np.int32))


def signs(**columns: Sequence[object]) -> PersonSigns:
    return signs_of({
        name: column(None if cell is None else str(cell) for cell in own) for name, own in columns.items()
    })  # fmt: skip


def kinds(found: PersonSigns) -> list[str]:
    return [own.kind for own in found.signs]


VISITS = [
    ("p1", "N", "m", "d0"), ("p1", "N", "m", "d1"), ("p1", "N", "m", "d2"), ("p1", "N", "m", "d0"),
    ("p1", "N", "m", "d1"), ("p2", "S", "f", "d0"), ("p2", "S", "f", "d1"), ("p2", "S", "f", "d2"),
    ("p3", "S", "f", "d0"), ("p3", "S", "f", "d1"), *((f"p{n}", "E", "m", "d0") for n in range(4, 9)),
]  # fmt: skip


def test_visits_name_the_persons_and_no_cell() -> None:
    found = signs(**dict(zip(("pid", "region", "sex", "dx"), zip(*VISITS, strict=True), strict=True)))
    (sign,) = found.signs
    assert (sign.kind, sign.columns, found.person, found.persons) == ("fixes_others", ("pid",), "pid", 8)
    assert sign.sentence == (
        "Each of the 8 values of 'pid' has one value in 'region', 'sex': it seems to say whom a row is about."
    )


def hospital(seed: int = 1, patients: int = 150, visits: int = 4) -> dict[str, list[object]]:
    draw = random.Random(seed)
    people = [(f"19{draw.randrange(30, 99)}-0{draw.randrange(1, 9)}-{draw.randrange(10, 28)}",
               draw.choice("mf"), draw.randrange(200)) for _ in range(patients)]  # fmt: skip
    rows = [
        (f"v{n}", n % patients, *people[n % patients], draw.choice("abcde")) for n in range(visits * patients)
    ]
    draw.shuffle(rows)
    names = ("visit", "kind_of_key", "birth_date", "sex", "town", "diagnosis")
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_a_column_of_another_name_is_proposed_for_its_many_values() -> None:
    found = signs(**hospital())
    assert kinds(found) == ["fixes_others"]
    assert (found.person, found.persons) == ("kind_of_key", 150)


@pytest.mark.parametrize(
    ("name", "other"),
    [("patient", "zz_id"), ("CustomerId", "zz_nr"), ("Patientennummer", "code"), ("zz_id", "code")],
)
def test_a_column_that_is_called_so_is_proposed_before_others(name: str, other: str) -> None:
    table = hospital()
    keys = table.pop("kind_of_key")
    found = signs(**{other: [f"k{key}" for key in keys]}, **table, **{name: keys})
    assert found.person == name


def test_of_equally_many_values_the_one_that_is_no_date_place_or_amount_is_proposed() -> None:
    table = hospital()
    keys = table.pop("kind_of_key")
    days = [f"2001-{1 + key // 28:02}-{1 + key % 28:02}" for key in keys]
    found = signs(day=days, cost=[f"{key}.5" for key in keys], wohnort=keys, zz=keys, **table)
    assert found.person == "zz"


@pytest.mark.parametrize(
    "facts",
    [
        {"zip": lambda place: place, "city": lambda place: place // 3, "state": lambda place: place % 7 // 4},
        {"occupation": lambda place: place, "industry": lambda place: place // 4},
        {
            "icd": lambda place: place,
            "icd_chapter": lambda place: place // 9,
            "diagnosis": lambda place: place,
        },
        {"key": lambda place: place, "group": lambda place: place // 4},
    ],
    ids=["places", "occupations", "diagnoses", "one fixed column"],
)
def test_one_fact_written_twice_is_no_sign(facts) -> None:
    draw = random.Random(5)
    drawn = [draw.randrange(60) for _ in range(1500)]
    # The state follows from the city.
    if "city" in facts:
        drawn = [place - place % 3 for place in drawn]
    table = {name: [of(place) for place in drawn] for name, of in facts.items()}
    found = signs(
        **table, age=[draw.randrange(20, 80) for _ in drawn], sex=[draw.choice("mf") for _ in drawn]
    )
    assert not found.signs


@pytest.mark.parametrize("size", [40, 300, pytest.param(2000, marks=pytest.mark.deep)])
def test_columns_that_chance_fixes_are_no_sign(size: int) -> None:
    draw = random.Random(size)
    alarms = 0
    for _ in range(30):
        amounts = [draw.randrange(size * 4) for _ in range(size)]
        marks = {f"m{n}": [draw.random() < 0.03 for _ in range(size)] for n in range(20)}
        alarms += bool(signs(amount=amounts, **marks).signs)
    assert alarms <= 1


def test_constant_and_unique_columns_are_not_counted() -> None:
    table = hospital()
    few = {name: table[name] for name in ("visit", "kind_of_key", "sex", "diagnosis")}
    assert not signs(**few, country=["DE"] * 600, number=range(600)).signs
    assert signs(**few, town=table["town"]).person == "kind_of_key"


@pytest.mark.parametrize(("rows_per_value", "is_sign"), [(50, True), (51, False)])
def test_a_column_with_more_than_50_rows_per_value_names_groups(rows_per_value: int, is_sign: bool) -> None:
    n = rows_per_value * 12
    values = [row % 12 for row in range(n)]
    found = signs(
        key=values, a=[v // 2 for v in values], b=[v % 5 for v in values],
        c=[row // 13 % 7 for row in range(n)], d=[row * 31 % 17 for row in range(n)],
    )  # fmt: skip
    assert ("fixes_others" in kinds(found)) is is_sign


@pytest.mark.parametrize(("repeated", "is_sign"), [(2, False), (3, True)])
def test_at_least_three_values_repeat(repeated: int, is_sign: bool) -> None:
    keys = [*range(400), *(n for n in range(repeated) for _ in range(9))]
    found = signs(
        key=keys, a=[k % 97 for k in keys], b=[k % 89 for k in keys], c=[r % 7 for r in range(len(keys))]
    )
    assert bool(found.signs) is is_sign


@pytest.mark.parametrize(
    ("copies", "visits", "is_sign"), [(20, 0, False), (20, 2, False), (20, 3, True), (200, 0, True)]
)
def test_a_few_copies_of_whole_rows_are_no_sign(copies: int, visits: int, is_sign: bool) -> None:
    draw = random.Random(copies)
    people = [(n, draw.randrange(60), draw.choice("mf"), draw.randrange(9)) for n in range(1000)]
    again = [(*person[:3], 10) for person in people[:visits]]
    rows = [*people, *people[500 : 500 + copies], *again]
    found = signs(**dict(zip(("key", "age", "sex", "dx"), map(list, zip(*rows, strict=True)), strict=True)))
    assert bool(found.signs) is is_sign


@pytest.mark.parametrize("seed", range(60))
def test_the_first_sign_is_what_loops_over_the_rows_find(seed: int) -> None:
    draw = random.Random(seed)
    n, people = draw.randrange(6, 40), draw.randrange(2, 12)
    facts = [[draw.choice("abcdefg"[: draw.choice((2, 4, 7))]) for _ in range(people)] for _ in range(3)]
    who = [draw.randrange(people) for _ in range(n)]
    noise = draw.choice((0, 0, 0.05))
    cells = {"key": [None if draw.random() < 0.05 else str(p) for p in who]}
    for at, fact in enumerate(facts):
        cells[f"f{at}"] = [draw.choice("ab") if draw.random() < noise else fact[p] for p in who]
    expected = set()
    for name, own in cells.items():
        counts = Counter(cell for cell in own if cell is not None)
        groups = [size for size in counts.values() if size > 1]
        if len(groups) < 3 or sum(counts.values()) > 50 * len(counts):
            continue
        varied = [other for other in cells if other != name and 1 < len(set(cells[other])) < n]
        fixed = 0
        for other in varied:
            seen = defaultdict(set)
            for cell, value in zip(own, cells[other], strict=True):
                seen[cell].add(value)
            shares = [count / n for count in Counter(cells[other]).values()]
            chance = math.prod(sum(share**size for share in shares) for size in groups)
            is_fixed = all(len(values) == 1 for cell, values in seen.items() if cell is not None)
            fixed += is_fixed and chance * len(varied) <= BY_ACCIDENT
        if fixed >= 2:
            expected.add(name)
    found = signs_of({name: column(own) for name, own in cells.items()})
    assert {name for own in found.signs if own.kind == "fixes_others" for name in own.columns} == expected


def phone(number: int) -> str:
    return f"+49 151 {11_000_000 + 7919 * number}"


@pytest.mark.parametrize(
    ("make", "is_sign"),
    [(lambda n: f"person{n}@example.org", True), (phone, True), (lambda n: f"Name{n} Miller", False)],
    ids=["e-mail", "telephone", "name"],
)
@pytest.mark.parametrize(("twice", "is_enough"), [(60, True), (4, False)])
def test_numbers_that_stand_in_several_rows_are_a_sign_and_names_are_none(
    make, is_sign: bool, twice: int, is_enough: bool
) -> None:
    cells = [make(n) for n in [*range(900), *range(twice)]]
    found = signs(contact=cells, a=[n % 7 for n in range(len(cells))])
    assert kinds(found) == (["number_repeats"] if is_sign and is_enough else [])
    if found.signs:
        assert (found.person, found.persons) == ("contact", 900)
        assert "'contact' stand in more than one row, in 120 rows" in found.signs[0].sentence
        assert cells[0] not in str(found)


def test_rows_that_all_occur_a_multiple_of_times_are_a_sign_that_does_not_stop() -> None:
    draw = random.Random(3)
    rows = [(n % 6, n // 6) for n in range(24)]
    many = [row for row in rows for _ in range(11 * draw.choice((1, 2)))]
    found = signs(a=[a for a, _ in many], b=[b for _, b in many])
    assert kinds(found) == ["common_divisor"]
    assert "11 times" in found.signs[0].sentence
    assert (found.person, found.persons) == (None, None)
    once_more = [*many, (0, 0)]
    assert not signs(a=[a for a, _ in once_more], b=[b for _, b in once_more]).signs
    few = [row for row in rows[:19] for _ in range(11)]
    assert not signs(a=[a for a, _ in few], b=[b for _, b in few]).signs


def test_multiplicities_are_counted_over_many_columns_of_many_values() -> None:
    draw = random.Random(8)
    columns = {f"c{n}": [draw.randrange(1_000) for _ in range(3_000)] for n in range(12)}
    assert kinds(signs(**{name: own * 3 for name, own in columns.items()})) == ["common_divisor"]
    # Each column has every value a multiple of three times, and the rows have not.
    moved = {name: own * 3 for name, own in columns.items()}
    moved["c0"] = moved["c0"][1:] + moved["c0"][:1]
    moved["c0"][-1], moved["c0"][5] = moved["c0"][5], moved["c0"][-1]
    assert not kinds(signs(**moved))


def test_tables_without_rows_or_columns_have_no_signs() -> None:
    assert signs() == signs(a=[], b=[]) == signs(a=[None, None], b=[None, None]) == PersonSigns()


@pytest.mark.parametrize("n", [7, 60, 500, pytest.param(20_000, marks=pytest.mark.deep)])
def test_the_samples_of_the_product_have_no_signs(n: int) -> None:
    tables = generate(n, 3 * n)
    for table in (tables.members, tables.census):
        assert not signs(**{name: own.tolist() for name, own in table.items()}).signs
    header, *rows = csv.reader(csv_of_patients(min(n, 5_000)).decode("latin-1").splitlines(), delimiter=";")
    found = signs(**{name: [row[j] or None for row in rows] for j, name in enumerate(header)})
    assert found.person is None


@pytest.mark.deep
def test_a_million_rows_are_looked_at() -> None:
    draw, n = np.random.default_rng(0), 1_000_000
    person = draw.integers(0, 250_000, n)
    numbers = {
        "key": person, "sex": person % 2, "town": person * 7919 % 30_011, "row": np.arange(n),
        **{f"c{k}": draw.integers(0, k, n) for k in (3, 40, 900, 3_000, 40_000, 1_000_000)},
    }  # fmt: skip
    given = {}
    for name, own in numbers.items():
        values, positions = np.unique(own, return_inverse=True)
        given[name] = TextColumn(tuple(map(str, values.tolist())), positions.astype(np.int32))
    assert signs_of(given).person == "key"


def read(path: Path) -> dict[str, list[str]]:
    text = path.read_text(encoding="utf-8", errors="replace")
    first = text.split("\n", 1)[0]
    header, *rows = csv.reader(text.splitlines(), delimiter=max(",;", key=first.count), skipinitialspace=True)
    if path.suffix in (".data", ".test"):
        header = [f"c{j}" for j in range(15)]
        header[2] = "fnlwgt"
    missing = ("", "NA", "?")
    kept = [row for row in rows if len(row) == len(header)]
    return {
        name: [None if row[j].strip() in missing else row[j].strip() for row in kept]
        for j, name in enumerate(header)
    }


REAL = () if not DATA else tuple(
    path for folder in (DATA, str(Path(DATA).parent / "cases")) for path in sorted(Path(folder).rglob("*"))
    if path.suffix in (".csv", ".data", ".test") and "hierarchy_" not in path.name
)  # fmt: skip
SHOWN = {
    "visits.csv": ("pid", 8), "hospital-visits.csv": ("patient", 150), "eusilc.csv": ("db030", 6000),
}  # fmt: skip
IN_EVERY_RUN = {*SHOWN, "adult.csv", "cpssw8.csv"}
PARTS_IN_EVERY_RUN = {("sd2011.csv", 300), ("ma2019.csv", 1000), ("sd2011.csv", 5000)}


@real_data
@needs_data
@pytest.mark.parametrize(
    "path",
    [
        pytest.param(path, id=path.name, marks=[] if path.name in IN_EVERY_RUN else pytest.mark.deep)
        for path in REAL
    ],
)
def test_of_the_public_tables_only_visits_and_households_show_signs(path: Path) -> None:
    found = signs(**read(path))
    assert (found.person, found.persons) == SHOWN.get(path.name, (None, None))


@real_data
@needs_data
@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(name, size, marks=[] if (name, size) in PARTS_IN_EVERY_RUN else pytest.mark.deep)
        for name in ("gss_wages.csv", "adult.data", "ma2019.csv", "creditcard_int.csv", "sd2011.csv")
        for size in (300, 1000, 5000)
    ],
)
def test_a_part_of_a_table_of_people_shows_no_signs_either(name: str, size: int) -> None:
    (path,) = (own for own in REAL if own.name == name)
    table = read(path)
    draw = random.Random(size)
    rows = draw.sample(range(len(next(iter(table.values())))), size)
    found = signs(**{key: [own[row] for row in rows] for key, own in table.items()})
    assert found.person is None


@real_data
@needs_data
def test_the_real_tables_are_there() -> None:
    assert {path.name for path in REAL} >= {*SHOWN, "adult.csv", "cpssw8.csv", "PUMS.csv", "national2019.csv"}
