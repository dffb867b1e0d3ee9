"""The papers' case study (Lebanon et al. (2009), section 8) at any size, up to theirs, as codes.

The heights of the hierarchies, the weights and the numbers of members and entities are the published ones:
300 ways to disclose a record, of which the dictionary can tell 60 apart where it holds full birth dates and
30 where it holds years of birth. The people are drawn from a seeded generator; nothing passes through text,
so that tables of millions of records are made in seconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Ints
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from app.samples.members import BIRTH_DATES, RACES, WEIGHTS, income_rows

N_MEMBERS = 5_667_004
N_ENTITIES = 9_857_623
N_CITIES = 19_500
CITIES_PER_COUNTY, STATES, REGIONS = 8, 49, 7
SEED = 1975_05_10
LINKED = ("city", "race", "birth_date")

_RACE_SHARES = (0.60, 0.02, 0.13, 0.02, 0.05, 0.03, 0.04, 0.01, 0.02, 0.02, 0.02, 0.01, 0.01, 0.01, 0.01)


@dataclass(frozen=True, eq=False)
class CaseStudy:
    """The members' table, and what is known of everybody: with full birth dates or with years.

    ``weights`` are those of the leaves per attribute; inner nodes take the modified harmonic mean.
    """

    table: Table
    dates: Dictionary
    years: Dictionary
    weights: dict[str, float]


def case_study(
    n_members: int = N_MEMBERS, n_entities: int = N_ENTITIES, n_cities: int = N_CITIES, seed: int = SEED
) -> CaseStudy:
    """Draw it; equal arguments give equal people. The members are among the entities, 9 cities or more."""
    trees = hierarchies(n_cities)
    city, race, birth, income = trees
    rng = np.random.default_rng(seed)
    # Places by Zipf–Mandelbrot: a few big cities, many villages of a few dozen entities.
    sizes = 1.0 / (np.arange(n_cities, dtype=np.float64) + 20.0)
    place = rng.permutation(n_cities)
    columns = {
        "city": city.leaves[place[_drawn(rng, sizes, n_entities)]],
        "race": race.leaves[_drawn(rng, np.array(_RACE_SHARES), n_entities)],
        "birth_date": birth.leaves[_drawn(rng, _ages(birth.n_leaves), n_entities)],
    }
    earned = np.exp(3.95 + 0.5 * rng.standard_normal(n_members))
    of_income = income.leaves[np.minimum(earned, income.n_leaves - 1).astype(np.int64)]
    codes = np.empty((n_members, 4), dtype=np.int32, order="F")
    for j, name in enumerate(LINKED):
        codes[:, j] = columns[name][:n_members]
    codes[:, 3] = of_income
    # Who is a member has nothing to do with the order in which the dictionary lists people.
    order = rng.permutation(n_entities)
    columns = {name: column[order] for name, column in columns.items()}
    table = Table(tuple(WEIGHTS), trees, codes)
    year = birth.ancestors_at(2)[columns["birth_date"]]
    return CaseStudy(
        table,
        _dictionary(trees, columns),
        _dictionary(trees, {**columns, "birth_date": year}),
        dict(WEIGHTS),
    )


def hierarchies(n_cities: int = N_CITIES) -> tuple[Hierarchy, Hierarchy, Hierarchy, Hierarchy]:
    """City, race, birth date and income, of heights 4, 2, 3 and 4."""
    first, last = BIRTH_DATES
    days = (first + timedelta(days=i) for i in range((last - first).days + 1))
    return (
        Hierarchy.from_rows([_place(i, n_cities) for i in range(n_cities)]),
        Hierarchy.from_parents(race_parents()),
        Hierarchy.from_rows([_periods(day) for day in days]),
        Hierarchy.from_rows(income_rows()),
    )


def race_parents() -> dict[str, list[str | None]]:
    """Each race and race group with its parent; a group's parent is the top."""
    parents: dict[str, list[str | None]] = {}
    for group, races in RACES.items():
        parents[group] = [None]
        parents.update({race: [group] for race in races})
    return parents


def _place(number: int, n_cities: int) -> list[str]:
    counties = -(-n_cities // CITIES_PER_COUNTY)
    states = min(STATES, counties)
    county = number // CITIES_PER_COUNTY
    state = county * states // counties
    region = state * min(REGIONS, states) // states
    return [f"city {number}", f"county {county}", f"state {state}", f"region {region}"]


def _periods(day: date) -> list[str]:
    return [f"{day:%Y-%m-%d}", f"{day:%Y-%m}", f"{day:%Y}"]


def _ages(n_days: int) -> npt.NDArray[np.float64]:
    """Shares of days of birth, oldest first: the old are fewer."""
    shares: npt.NDArray[np.float64] = np.minimum(1.0, np.linspace(0.1, 2.0, n_days))
    return shares


def _drawn(rng: np.random.Generator, shares: npt.NDArray[np.float64], n: int) -> npt.NDArray[np.int64]:
    below = np.cumsum(shares)
    return np.searchsorted(below / below[-1], rng.random(n), side="right")


def _dictionary(trees: tuple[Hierarchy, ...], columns: dict[str, Ints]) -> Dictionary:
    links = [link_nodes(name, tree, columns[name]) for name, tree in zip(LINKED, trees, strict=False)]
    return Dictionary(len(columns["city"]), tuple(links))
