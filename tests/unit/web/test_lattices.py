"""Which rules the picture of a lattice shows, and the way to the chosen one."""

from __future__ import annotations

import itertools

import pytest

from app.web.lattices import MOST_NEAR, MOST_WHOLE, neighbours, part_of, way_to


def test_a_small_lattice_is_shown_whole():
    part = part_of((4, 2, 3, 4), (0, 0, 3, 0))
    assert (len(part.rules), part.of, part.within) == (300, 300, None)
    assert len(set(part.rules)) == 300


def test_of_a_large_lattice_all_rules_within_some_steps_are_shown():
    heights, chosen = (5, 5, 5, 5, 5), (2, 0, 5, 1, 3)
    part = part_of(heights, chosen)
    every = itertools.product(*(range(height + 1) for height in heights))
    near = {
        levels
        for levels in every
        if sum(abs(a - b) for a, b in zip(levels, chosen, strict=True)) <= part.within
    }
    assert set(part.rules) == near
    assert part.of == 6**5 > MOST_WHOLE
    assert 1 < len(near) <= MOST_NEAR


@pytest.mark.deep
def test_of_very_many_attributes_the_next_rules_are_shown_however_many():
    part = part_of((1,) * 400, (0,) * 400)
    assert (len(part.rules), part.within) == (401, 1)


def test_the_way_raises_one_level_at_a_time_to_where_the_risk_is_least():
    heights, chosen = (2, 2), (2, 1)
    risks = {levels: 10.0 - sum(levels) for levels in itertools.product(range(3), range(3))}
    risks[0, 1] = 1.0
    assert way_to(chosen, risks) == [(0, 0), (0, 1), (1, 1), (2, 1)]
    assert way_to((0, 0), risks) == [(0, 0)]
    for one, other in itertools.pairwise(way_to(chosen, {})):
        assert other in neighbours(one, heights)
