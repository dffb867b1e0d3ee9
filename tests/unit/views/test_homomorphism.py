"""Searching for a row in patterns takes little memory."""

from __future__ import annotations

import tracemalloc

from app.domain.views.datalog import parse_query
from app.domain.views.homomorphism import finds
from app.domain.views.normal_form import normalised
from app.domain.views.relational_schema import RelationDefinition, built
from tests.unit.views.vectors import free_work


def test_ways_that_are_still_to_be_tried_are_kept_as_what_they_add():
    schema = built({"R": RelationDefinition([f"c{i}" for i in range(20)])})
    rows = (f"R({', '.join(f'x{i}_{j}' for j in range(20))})" for i in range(20))
    query = normalised(parse_query(f"Q() :- {', '.join(rows)}.", schema), schema, "q", free_work())
    (own,) = query.disjuncts
    tracemalloc.start()
    try:
        assert finds(
            own, own.body, own.goal, free_work(), may_be_null=lambda _: False, follows=lambda _: True
        )
        assert tracemalloc.get_traced_memory()[1] < 1.5 * 2**20
    finally:
        tracemalloc.stop()
