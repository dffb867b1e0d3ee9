"""Releases held against a population: instances, and loops over records and people."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.tables.table import Table

PARENTS = {
    "city": {"a": ["n"], "b": ["n"], "c": ["s"], "d": ["s"], "n": [None], "s": [None]},
    "sex": {"f": [None], "m": [None]},
    "job": {"x": ["u"], "y": ["u"], "z": ["v"], "u": [None], "v": [None]},
}


HIERARCHIES = {name: Hierarchy.from_parents(parents) for name, parents in PARENTS.items()}


NAMES = tuple(PARENTS)


LEAVES = {"city": "abcd", "sex": "fm", "job": "xyz"}


def leaves_below(name, node):
    """The leaves that a node may mean; None may be any, a label from elsewhere none."""
    if node is None:
        return set(LEAVES[name])
    below = {leaf for leaf in LEAVES[name] if node in (leaf, *PARENTS[name][leaf])}
    return below


def shown_at(name, cell, level):
    """A cell at a level of the whole table: 0 as it is, 1 its parent, at the height nothing."""
    for _ in range(level):
        cell = None if cell is None else PARENTS[name][cell][0]
    return cell


def fits(shown, person, known):
    """Whether a person, of whom only ``known`` attributes are listed, may be whom the shown cells are of."""
    return all(
        shown[name] is None
        or person[name] is None
        or leaves_below(name, shown[name]) & leaves_below(name, person[name])
        for name in known
    )


def cells(missing, elsewhere=False):
    more = ([None] if missing else []) + (["?"] if elsewhere else [])
    return st.fixed_dictionaries({name: st.sampled_from([*LEAVES[name], *more]) for name in NAMES})


@st.composite
def worlds(draw, missing=True):
    """Rows, people, what is known of people, levels, and which rows are suppressed."""
    rows = draw(st.lists(cells(missing), min_size=1, max_size=9))
    people = draw(st.lists(cells(missing, elsewhere=missing), min_size=1, max_size=12))
    known = draw(st.lists(st.sampled_from(NAMES), unique=True, max_size=3)) if missing else list(NAMES)
    levels = {name: draw(st.integers(0, HIERARCHIES[name].height)) for name in NAMES}
    return rows, people, known, levels, draw(st.integers(0, 3))


def table_of(rows):
    columns = [HIERARCHIES[name].encode([row[name] for row in rows])[0] for name in NAMES]
    return Table(NAMES, tuple(HIERARCHIES.values()), np.stack(columns, axis=1))


def dictionary_of(people, known):
    links = tuple(
        link_identity(name, HIERARCHIES[name], [person[name] for person in people]) for name in known
    )
    return Dictionary(len(people), links)


def context_of(table, rule, dictionary):
    return MeasureContext(
        table, rule, dictionary, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )


def computed(measure, context, **parameters):
    return measure.compute(context, measure.parameters(**parameters), lambda done: None)


def classes_of(shown, kept):
    groups = defaultdict(list)
    for row, cells_ in enumerate(shown):
        if kept[row]:
            groups[tuple(cells_[name] for name in NAMES)].append(row)
    return groups
