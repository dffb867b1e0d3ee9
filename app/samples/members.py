"""A members table and a census-like dictionary of the same people, at any size.

The attributes, the heights of their hierarchies, their weights and one record with its seven look-alikes
are those of the case study in Lebanon et al. (2009), section 8. The people are drawn from a seeded generator.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

import numpy as np
import numpy.typing as npt

from app.domain.errors import InvalidInput
from app.samples import DEFAULT_ENTITIES, DEFAULT_MEMBERS
from app.samples.places import PLACES

Columns = Mapping[str, npt.NDArray[Any]]

SEED = 1975_05_10

REFERENCE_DATE = date(2020, 4, 1)
"""The day on which the ages of the census hold."""

WEIGHTS: dict[str, float] = {"city": 0.3, "race": 0.4, "birth_date": 0.5, "income": 0.75}
"""Weight of every leaf; inner nodes take the modified harmonic mean."""

CASE_STUDY: dict[str, str] = {
    "city": "West Lafayette",
    "race": "White",
    "birth_date": "1975-05-10",
    "income": "52k",
}
"""The first member's record, at any size and seed; no other member has it."""

CASE_STUDY_ENTITIES = 7
"""People of the census who are consistent with the case study's record as it stands."""

BIRTH_DATES: tuple[date, date] = (date(1929, 1, 1), date(2002, 12, 31))
"""First and last leaf of the hierarchy of birth dates; its levels are day, month, year."""

RACES: dict[str, tuple[str, ...]] = {
    "European or Middle Eastern": ("White", "Middle Eastern"),
    "African or African American": ("Black", "African"),
    "Asian": ("Chinese", "Filipino", "Indian", "Japanese", "Korean", "Vietnamese"),
    "Native American": ("American Indian", "Alaska Native"),
    "Pacific Islander": ("Native Hawaiian", "Samoan", "Guamanian"),
}
"""Race group → races."""

EDUCATION: tuple[str, ...] = (
    "No diploma",
    "High school",
    "Some college",
    "Associate",
    "Bachelor",
    "Master",
    "Doctorate",
)

RACE_LABELS = tuple(race for races in RACES.values() for race in races)
_RACE_SHARES = (0.58, 0.02, 0.14, 0.02, 0.05, 0.03, 0.05, 0.02, 0.02, 0.02, 0.02, 0.005, 0.01, 0.005, 0.01)
_EDUCATION_SHARES = (0.09, 0.27, 0.20, 0.10, 0.22, 0.09, 0.03)
_DAY = np.timedelta64(1, "D")
_YOUNGEST, _OLDEST = 18, 90
_INCOMES = 300


def city_rows() -> list[list[str]]:
    """City, county, state, region: the rows of the hierarchy of cities."""
    return [[place.city, place.county, place.state, place.region] for place in PLACES]


def income_rows() -> list[list[str]]:
    """Bands of 1k, 10k, 20k and 100k: the rows of the hierarchy of incomes."""

    def band(income: int, width: int) -> str:
        low = income - income % width
        return f"{low}k-{low + width}k"

    return [[f"{k}k", band(k, 10), band(k, 20), band(k, 100)] for k in range(_INCOMES)]


def zip_to_city() -> dict[str, str]:
    """The look-up table from zip code to city."""
    return {code: place.city for place in PLACES for code in place.zips}


@dataclass(frozen=True)
class Sample:
    """The two tables, as columns of text.

    ``members``: member_id, city, race, birth_date, income, one row per member.
    ``census``: person_id, age, gender, zip, race, education, one row per person. Every member is one of
    these people and has the same identifier in both tables.
    """

    members: Columns
    census: Columns


@dataclass(frozen=True, eq=False)
class People:
    """Codes of everybody, one element per person; the first ``n_members`` are the members."""

    n_members: int
    number: npt.NDArray[np.int64]
    city: npt.NDArray[np.int64]
    zip_index: npt.NDArray[np.int64]
    race: npt.NDArray[np.int64]
    age: npt.NDArray[np.int64]
    birth: npt.NDArray[np.datetime64]
    income: npt.NDArray[np.int64]
    education: npt.NDArray[np.int64]
    gender: npt.NDArray[np.int64]


def generate(
    n_members: int = DEFAULT_MEMBERS, n_entities: int = DEFAULT_ENTITIES, seed: int = SEED
) -> Sample:
    """Draw the two tables; equal arguments give equal tables.

    Raises
    ------
    InvalidInput
        Unless 1 ≤ n_members ≤ n_entities and 7 ≤ n_entities.
    """
    people = draw(n_members, n_entities, seed)
    return Sample(_members(people), _census(people))


def csv_chunks(columns: Columns, rows_per_chunk: int = 50_000) -> Iterator[bytes]:
    """The table as CSV, header first, in chunks of bytes; no value of the sample needs quoting."""
    yield (",".join(columns) + "\n").encode()
    arrays = list(columns.values())
    for start in range(0, len(arrays[0]), rows_per_chunk):
        part = [array[start : start + rows_per_chunk].tolist() for array in arrays]
        yield ("\n".join(map(",".join, zip(*part, strict=True))) + "\n").encode()


def draw(n_members: int, n_entities: int, seed: int) -> People:
    """Draw the people without their texts; arguments and errors as for :func:`generate`."""
    if n_entities < CASE_STUDY_ENTITIES:
        raise InvalidInput.of(
            "/n_entities",
            "too-small",
            f"The sample needs at least {CASE_STUDY_ENTITIES} census entities, got {n_entities}.",
            f"Ask for {CASE_STUDY_ENTITIES} or more.",
        )
    if not 1 <= n_members <= n_entities:
        raise InvalidInput.of(
            "/n_members",
            "out-of-range",
            f"The members are among the census entities: from 1 to {n_entities}, got {n_members}.",
            "Ask for fewer members or for more entities.",
        )
    rng = np.random.default_rng(seed)
    sizes = np.array([place.size for place in PLACES])
    city = rng.choice(len(PLACES), n_entities, p=sizes / sizes.sum())
    race = rng.choice(len(RACE_LABELS), n_entities, p=_RACE_SHARES)
    ages = np.arange(_YOUNGEST, _OLDEST + 1)
    shares = np.interp(ages, [18, 60, 90], [1.0, 0.9, 0.1])
    age = rng.choice(ages, n_entities, p=shares / shares.sum())
    standing = rng.standard_normal(n_entities)
    _place_case_study(rng, city, race, age)
    birth = _birth_dates(rng, age)
    income = np.exp(3.95 + 0.35 * standing + 0.35 * rng.standard_normal(n_entities)).astype(np.int64)
    income = np.minimum(income, _INCOMES - 1)
    birth[0], income[0] = np.datetime64(CASE_STUDY["birth_date"]), int(CASE_STUDY["income"].rstrip("k"))
    number = rng.permutation(n_entities) + 1
    number[np.argmin(number)], number[0] = number[0], 1
    return People(
        n_members=n_members,
        number=number,
        city=city,
        zip_index=_zip_indices(rng, city),
        race=race,
        age=age,
        birth=birth,
        income=income,
        education=_education(rng, standing),
        gender=rng.integers(0, 2, n_entities),
    )


def _place_case_study(
    rng: np.random.Generator,
    city: npt.NDArray[np.int64],
    race: npt.NDArray[np.int64],
    age: npt.NDArray[np.int64],
) -> None:
    """Make person 0 and the last six the only people of the case study's city, race and age.

    The last six are not members unless nearly everybody is.
    """
    case_city = [place.city for place in PLACES].index(CASE_STUDY["city"])
    case_race = RACE_LABELS.index(CASE_STUDY["race"])
    birth = date.fromisoformat(CASE_STUDY["birth_date"])
    had_birthday = (REFERENCE_DATE.month, REFERENCE_DATE.day) >= (birth.month, birth.day)
    case_age = REFERENCE_DATE.year - birth.year - (not had_birthday)
    alike = np.flatnonzero((city == case_city) & (race == case_race) & (age == case_age))
    age[alike] += rng.choice([-1, 1], len(alike))
    chosen = np.r_[0, np.arange(len(city) - CASE_STUDY_ENTITIES + 1, len(city))]
    city[chosen], race[chosen], age[chosen] = case_city, case_race, case_age


def _birth_dates(rng: np.random.Generator, age: npt.NDArray[np.int64]) -> npt.NDArray[np.datetime64]:
    """A day on which somebody who has this age on the reference date may have been born."""
    birthdays = np.array(
        [REFERENCE_DATE.replace(year=REFERENCE_DATE.year - years) for years in range(_OLDEST + 2)],
        dtype="datetime64[D]",
    )
    earliest, latest = birthdays[age + 1] + _DAY, birthdays[age]
    span = (latest - earliest).astype(np.int64) + 1
    born: npt.NDArray[np.datetime64] = earliest + (rng.random(len(age)) * span).astype("timedelta64[D]")
    return born


def _zip_indices(rng: np.random.Generator, city: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    counts = np.array([len(place.zips) for place in PLACES])
    first = np.cumsum(counts) - counts
    index: npt.NDArray[np.int64] = first[city] + (rng.random(len(city)) * counts[city]).astype(np.int64)
    return index


def _education(rng: np.random.Generator, standing: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Ranks by social standing and chance, cut at the shares of the attainments."""
    score = standing + 0.8 * rng.standard_normal(len(standing))
    rank = np.empty(len(score), dtype=np.int64)
    rank[np.argsort(score)] = np.arange(len(score))
    return np.searchsorted(np.cumsum(_EDUCATION_SHARES) * len(score), rank, side="right").clip(
        max=len(EDUCATION) - 1
    )


def _labels(labels: list[str] | tuple[str, ...]) -> npt.NDArray[Any]:
    return np.array(labels, dtype=object)


def _identifiers(number: npt.NDArray[np.int64]) -> npt.NDArray[Any]:
    return np.array([f"P{n:07d}" for n in number.tolist()], dtype=object)


def _members(people: People) -> dict[str, npt.NDArray[Any]]:
    order = np.argsort(people.number[: people.n_members])
    days, day_codes = np.unique(people.birth[: people.n_members][order], return_inverse=True)
    return {
        "member_id": _identifiers(people.number[: people.n_members][order]),
        "city": _labels([place.city for place in PLACES])[people.city[order]],
        "race": _labels(RACE_LABELS)[people.race[order]],
        "birth_date": days.astype(str).astype(object)[day_codes],
        "income": _labels([f"{k}k" for k in range(_INCOMES)])[people.income[order]],
    }


def _census(people: People) -> dict[str, npt.NDArray[Any]]:
    order = np.argsort(people.number)
    return {
        "person_id": _identifiers(people.number[order]),
        "age": _labels([str(age) for age in range(_OLDEST + 1)])[people.age[order]],
        "gender": _labels(("Female", "Male"))[people.gender[order]],
        "zip": _labels(list(zip_to_city()))[people.zip_index[order]],
        "race": _labels(RACE_LABELS)[people.race[order]],
        "education": _labels(EDUCATION)[people.education[order]],
    }
