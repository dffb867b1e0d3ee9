"""Counts at every combination of levels, against a loop over all pairs of rows."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.counting import ordered_rows, roll_ups
from app.domain.counting.roll_ups import Ladder, RollUps
from tests.oracles.effort import examples


@st.composite
def instances(draw):
    """Levels that need not be nested, classes that no entity is of, codes of no class, parts anywhere."""
    q = draw(st.integers(1, 3))
    sizes = [draw(st.integers(1, 5)) for _ in range(q)]
    levels = []
    for size in sizes:
        n = draw(st.integers(1, 4))
        rungs = [[draw(st.integers(-1, size - 1)) for _ in range(size)] for _ in range(n)]
        if draw(st.booleans()):
            rungs = [sorted(rung) for rung in rungs]
        levels.append([np.array(rung, dtype=np.int32) for rung in rungs])
    entities = [[draw(st.integers(0, size - 1)) for size in sizes] for _ in range(draw(st.integers(0, 8)))]
    weights = [draw(st.integers(1, 3)) for _ in entities]
    parts = [[draw(st.integers(0, size - 1)) for size in sizes] for _ in range(draw(st.integers(1, 6)))]
    return levels, entities, weights, parts


def by_hand(levels, entities, weights, parts, node):
    def classes(row):
        return [int(rungs[level][code]) for rungs, level, code in zip(levels, node, row, strict=True)]

    return [
        sum(w for row, w in zip(entities, weights, strict=True) if classes(row) == classes(part))
        for part in parts
    ]


@pytest.mark.parametrize("cells", [0, 6, 10**6])
@given(instance=instances(), asked_one_by_one=st.booleans(), are_packed=st.booleans())
@settings(max_examples=examples(120), deadline=None)
def test_every_way_of_counting_gives_the_counts_of_a_loop(cells, instance, asked_one_by_one, are_packed):
    levels, entities, weights, parts = instance
    q = len(levels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(roll_ups, "FEW_CELLS", cells)
        patch.setattr(roll_ups, "CELLS_PER_ROW", 0)
        patch.setattr(ordered_rows, "ROWS_AT_ONCE", 3)
        if not are_packed:
            patch.setattr(ordered_rows, "KEY_LIMIT", 0)
        columns = np.array(entities, dtype=np.int32).reshape(len(entities), q)
        held = [np.isin(np.arange(len(rungs[0])), columns[:, j]) for j, rungs in enumerate(levels)]
        rolled = RollUps(
            [Ladder.of(rungs, here) for rungs, here in zip(levels, held, strict=True)],
            list(columns.T),
            np.array(weights, dtype=np.int64),
            list(np.array(parts, dtype=np.int32).T),
        )
        nodes = list(itertools.product(*(range(len(rungs)) for rungs in levels)))
        if asked_one_by_one:
            found = [rolled.at(node).tolist() for node in reversed(nodes)][::-1]
        else:
            rolled.prepare(lambda: None)
            order = np.arange(len(parts))[::-1]
            some = rolled.of(order)
            found = [some.counts(node)[::-1].tolist() for node in nodes]
        assert found == [by_hand(levels, entities, weights, parts, node) for node in nodes]
