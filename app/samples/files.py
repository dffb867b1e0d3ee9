"""The sample as files: two tables, their hierarchies, a look-up table, and the journey that joins them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from app.samples import JOURNEY, PATIENTS, members
from app.samples.patients import csv_of_patients

_JOURNEY_TOML = f"""\
# What `python -m app demo --journey journey.toml` does with the files beside it.

[dataset]
name = "members"
file = "members.csv"
identifier = "member_id"

[dataset.attributes.city]
hierarchy = "city.csv"
weight = {members.WEIGHTS["city"]}
proposed_level = 1

[dataset.attributes.race]
hierarchy = "race.csv"
weight = {members.WEIGHTS["race"]}
proposed_level = 0

[dataset.attributes.birth_date]
type = "date"
hierarchy = {{ kind = "dates", levels = ["day", "month", "year"], range = {{ \
first = "{members.BIRTH_DATES[0]}", last = "{members.BIRTH_DATES[1]}" }} }}
weight = {members.WEIGHTS["birth_date"]}
proposed_level = 1

[dataset.attributes.income]
role = "sensitive"
hierarchy = "income.csv"
weight = {members.WEIGHTS["income"]}
proposed_level = 1

[dictionary]
name = "census"
file = "census.csv"
identifier = "person_id"

[dictionary.links.race]
column = "race"

[dictionary.links.city]
column = "zip"
lookup = {{ file = "zip-city.csv", key = "zip", value = "city" }}

[dictionary.links.birth_date]
column = "age"
reference_date = "{members.REFERENCE_DATE}"

[sensitivity]
family = "multiplicative"

[optimisation]
# One less than the proposal's: at 10, the least mean risk leaves somebody worse off than the proposal does.
utility_floor = 9
"""


def write_sample(folder: Path, n_members: int, n_entities: int, seed: int = members.SEED) -> None:
    """Write everything that the demonstration reads into the folder, which is made if need be.

    The hierarchies are in the common CSV form, separated by semicolons.
    """
    sample = members.generate(n_members, n_entities, seed)
    races = [[race, group] for group, group_races in members.RACES.items() for race in group_races]
    zips = [["zip", "city"], *([code, city] for code, city in members.zip_to_city().items())]
    contents = {
        "members.csv": members.csv_chunks(sample.members),
        "census.csv": members.csv_chunks(sample.census),
        "city.csv": _lines(members.city_rows(), ";"),
        "race.csv": _lines(races, ";"),
        "income.csv": _lines(members.income_rows(), ";"),
        "zip-city.csv": _lines(zips, ","),
        JOURNEY: iter([_JOURNEY_TOML.encode()]),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for name, chunks in contents.items():
        with (folder / name).open("wb") as file:
            file.writelines(chunks)


def write_patients(folder: Path, n_patients: int) -> Path:
    """Write the table of patients into the folder, which is made if need be; answers the file."""
    content = csv_of_patients(n_patients)
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / PATIENTS
    file.write_bytes(content)
    return file


def _lines(rows: Iterable[list[str]], delimiter: str) -> Iterator[bytes]:
    yield "".join(delimiter.join(row) + "\n" for row in rows).encode()
