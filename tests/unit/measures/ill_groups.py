"""Hierarchies of places, ages and illnesses with groups of unequal size."""

from __future__ import annotations

from app.domain.hierarchies.hierarchy import Hierarchy

PLACES = Hierarchy.from_parents({"n": [None], "s": [None], "a": ["n"], "b": ["n"], "c": ["s"], "d": ["s"]})
AGES = Hierarchy.from_parents(
    {"10..19": [None], "20..29": [None], "12": ["10..19"], "17": ["10..19"], "25": ["20..29"]}
)
ILLS = Hierarchy.from_parents({name: [None] for name in ("flu", "cold", "ache")})
