"""Rows that a view's answer lets anybody derive."""

from __future__ import annotations

import pytest

from app.domain.views.datalog import parse_query
from app.domain.views.relational_schema import RelationDefinition, built
from app.domain.views.severity import certain_rows, severity_of
from tests.unit.views.vectors import VECTORS, branches_of, free_work, queries_of, schema_of


def single_branches(name):
    vector, (secret, views) = VECTORS[name], queries_of(VECTORS[name])
    (one,) = branches_of(secret, schema_of(vector), "s")
    return one, [own for view in views for own in branches_of(view, schema_of(vector), "v")]


@pytest.mark.parametrize("name", [name for name, own in VECTORS.items() if "certain_rows" in own["expect"]])
def test_the_rows_that_can_be_derived_are_those_that_are_stated(name):
    vector, (secret, views) = VECTORS[name], single_branches(name)
    expected = {tuple(row) for row in vector["expect"]["certain_rows"]}
    found = set().union(*(certain_rows(secret, view, schema_of(vector), free_work()) for view in views))
    assert found == expected


def test_severity_is_not_asked_where_keys_tie_rows():
    vector, (secret, (view,)) = VECTORS["QV-22"], single_branches("QV-22")
    assert severity_of(secret, view, schema_of(vector), free_work()) is None


def test_severity_is_certain_only_if_it_was_found_to_be():
    vector, (secret, (view,)) = VECTORS["QV-01"], single_branches("QV-01")
    assert severity_of(secret, view, schema_of(vector), free_work()) == "certain"
    assert severity_of(secret, view, schema_of(vector), free_work(steps=1)) == "statistical"


def test_severity_is_not_looked_for_among_too_many_answers():
    schema = built({"R": RelationDefinition(["a"])})
    names = [f"x{i}" for i in range(60)]
    view = f"V({', '.join(names)}) :- {', '.join(f'R({name})' for name in names)}."
    (one,), (other,) = (
        branches_of(parse_query(text, schema), schema, side)
        for text, side in (("S(x) :- R(x), R(1).", "s"), (view, "v"))
    )
    assert severity_of(one, other, schema, free_work()) == "statistical"
