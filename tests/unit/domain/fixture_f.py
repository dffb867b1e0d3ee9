"""Fixture F of the specification: three hierarchies, the table T and the dictionaries D1, D2, D3."""

from __future__ import annotations

import math

import numpy as np

from app.domain.counting.counter import dictionary_of
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.sensitivity.sensitivity import Family, Overrides, Sensitivity, build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table

CITY = Hierarchy.from_parents(
    {
        "Midwest": [None],
        "West": [None],
        "Indiana": ["Midwest"],
        "Illinois": ["Midwest"],
        "California": ["West"],
        "Tippecanoe": ["Indiana"],
        "Marion": ["Indiana"],
        "Cook": ["Illinois"],
        "LA County": ["California"],
        "Greater Lafayette": ["Tippecanoe"],
        "Dayton": ["Tippecanoe"],
        "Indianapolis": ["Marion"],
        "Chicago": ["Cook"],
        "Evanston": ["Cook"],
        "Los Angeles": ["LA County"],
        "Lafayette": ["Greater Lafayette"],
        "West Lafayette": ["Greater Lafayette"],
    }
)
RACE = Hierarchy.from_parents(
    {
        "Asian": [None],
        "European": [None],
        "African": [None],
        "Chinese": ["Asian"],
        "Japanese": ["Asian"],
        "Indian": ["Asian"],
        "White": ["European"],
        "Black": ["African"],
    }
)
INCOME = Hierarchy.from_parents(
    {
        "Low": [None],
        "High": [None],
        "20-39": ["Low"],
        "40-59": ["Low"],
        "60-79": ["High"],
        "80-99": ["High"],
    }
)
HIERARCHIES = {"city": CITY, "race": RACE, "income": INCOME}

T_ROWS = [
    ("1", "Lafayette", "Chinese", "20-39"),
    ("2", "West Lafayette", "White", "40-59"),
    ("3", "Dayton", "Japanese", "60-79"),
    ("4", "Chicago", "Black", "80-99"),
    ("5", "Indianapolis", "White", "20-39"),
    ("6", "Lafayette", None, "40-59"),
]
D1_ROWS = [
    ("1", "Greater Lafayette", "Asian", None),
    ("2", "West Lafayette", None, None),
    ("3", "Tippecanoe", "Japanese", "High"),
    ("4", "Chicago", "Black", None),
    ("5", "Indiana", "White", "Low"),
    ("6", "Lafayette", None, None),
    ("7", "Lafayette", "White", None),
    ("8", "Chicago", "White", "High"),
    ("9", "Evanston", "Black", None),
    ("10", "Los Angeles", "Chinese", "Low"),
    ("11", "Dayton", None, "60-79"),
    ("12", None, "Asian", None),
]
D2_ROWS = [
    ("1", "Lafayette"),
    ("2", "West Lafayette"),
    ("3", "Dayton"),
    ("4", "Chicago"),
    ("5", "Indianapolis"),
    ("6", "Lafayette"),
    ("13", "Lafayette"),
    ("14", "Lafayette"),
    ("15", "West Lafayette"),
    ("16", "Dayton"),
    ("17", "Chicago"),
    ("18", "Indianapolis"),
]
D3_ROWS = [
    ("1", "Chinese"),
    ("2", "White"),
    ("3", "Japanese"),
    ("5", "White"),
    ("7", "White"),
    ("19", "Indian"),
]


def nodes(*rows: tuple[str | None, ...]) -> np.ndarray:
    """Node codes of (city, race, income) rows."""
    return np.stack(
        [h.encode([row[j] for row in rows])[0] for j, h in enumerate(HIERARCHIES.values())], axis=1
    )


def _dictionary(rows: list[tuple], attributes: tuple[str, ...]) -> Dictionary:
    links = tuple(
        link_identity(name, HIERARCHIES[name], [row[1 + i] for row in rows])
        for i, name in enumerate(attributes)
    )
    return Dictionary(len(rows), links, np.array([row[0] for row in rows], dtype=object), comparable_ids=True)


T = Table(
    tuple(HIERARCHIES),
    tuple(HIERARCHIES.values()),
    nodes(*(row[1:] for row in T_ROWS)),
    np.array([row[0] for row in T_ROWS], dtype=object),
)
DICTIONARIES = {
    "T": dictionary_of(T),
    "D1": _dictionary(D1_ROWS, ("city", "race", "income")),
    "D2": _dictionary(D2_ROWS, ("city",)),
    "D3": _dictionary(D3_ROWS, ("race",)),
}
CUTS = {"identity": (5, 2, 2), "G1": (4, 2, 0), "G2": (3, 1, 1), "G3": (2, 1, 0), "suppress": (0, 0, 0)}


def levels_of(cut: tuple[int, ...]) -> tuple[int, ...]:
    """Levels from the depth cuts in which the specification quotes rules."""
    return tuple(h.height - d for h, d in zip(HIERARCHIES.values(), cut, strict=True))


def personal(family: Family = "linear_personal", scale: float = 1.0) -> Sensitivity:
    """The leaf weights of F: a default, and those of entities 3 and 4; all times ``scale``."""
    overrides = np.array([[math.nan] * 3, [0.5, 0.2, 1.0], [0.1, 0.9, 0.6]]) * scale
    groups = np.array([0, 0, 1, 2, 0, 0], dtype=np.int32)
    weights = {
        "city": LeafWeights(0.3 * scale),
        "race": LeafWeights(0.4 * scale),
        "income": LeafWeights(0.75 * scale),
    }
    return build_sensitivity(T, family, weights, Overrides(groups, overrides))
