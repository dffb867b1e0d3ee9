"""The case study of Lebanon et al. (2009), section 8, up to its full size: people of the sample, as codes."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

import numpy as np

from app.domain.dictionaries.dictionary import Dictionary, link_age, link_nodes
from app.domain.hierarchies.builders import dates, leaf_range
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.context import SearchContext
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from app.samples import members as sample

MEMBERS: Final = 5_667_004
ENTITIES: Final = 9_857_623


@lru_cache(maxsize=1)
def case_study(seed: int, n_members: int, n_entities: int) -> SearchContext:
    """Members, the paper's first, against a census with everybody's city, race and age; multiplicative."""
    people = sample.draw(n_members, n_entities, sample.SEED + seed)
    days = leaf_range(*(day.isoformat() for day in sample.BIRTH_DATES))
    races = [[race, group] for group, own in sample.RACES.items() for race in own]
    incomes = sample.income_rows()
    city, race, income = map(Hierarchy.from_rows, (sample.city_rows(), races, incomes))
    trees = city, race, dates(days), income
    labels = [row[0] for row in sample.city_rows()], sample.RACE_LABELS, days, [own[0] for own in incomes]
    born = (people.birth - people.birth.dtype.type(days[0])).astype(np.int64)
    codes = people.city, people.race, born, people.income
    nodes = [tree.encode(own)[0][code] for tree, own, code in zip(trees, labels, codes, strict=True)]
    table = Table(tuple(sample.WEIGHTS), trees, np.stack([own[:n_members] for own in nodes], axis=1))
    ages = list(map(str, range(int(people.age.max()) + 1)))
    links = (
        link_nodes("city", trees[0], nodes[0]),
        link_nodes("race", trees[1], nodes[1]),
        link_age("birth_date", trees[2], ages, sample.REFERENCE_DATE, people.age),
    )
    return context_of_members(table, Dictionary(n_entities, links))


def context_of_members(table: Table, dictionary: Dictionary) -> SearchContext:
    """The paper's weights, and the depth sum as utility."""
    weights = {name: LeafWeights(weight) for name, weight in sample.WEIGHTS.items()}
    sensitivity = build_sensitivity(table, "multiplicative", weights)
    return SearchContext(table, dictionary, sensitivity, build_utility(table))
