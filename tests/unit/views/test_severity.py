"""Rows that a view's answer lets anybody derive."""

from __future__ import annotations

import pytest

from app.domain.views.severity import certain_rows, severity_of
from app.domain.views.work import Budget, Work
from tests.unit.views.vectors import VECTORS, queries_of, schema_of


def free_work(nodes=100_000):
    return Work(Budget(nodes=nodes), lambda: False)


@pytest.mark.parametrize("name", [name for name, own in VECTORS.items() if "certain_rows" in own["expect"]])
def test_the_rows_that_can_be_derived_are_those_that_are_stated(name):
    vector, (secret, views) = VECTORS[name], queries_of(VECTORS[name])
    expected = {tuple(row) for row in vector["expect"]["certain_rows"]}
    found = set().union(*(certain_rows(secret, view, schema_of(vector), free_work()) for view in views))
    assert found == expected


def test_severity_is_not_asked_where_keys_tie_rows():
    vector, (secret, (view,)) = VECTORS["QV-22"], queries_of(VECTORS["QV-22"])
    assert severity_of(secret, view, schema_of(vector), free_work()) is None


def test_severity_is_certain_only_if_it_was_found_to_be():
    vector, (secret, (view,)) = VECTORS["QV-01"], queries_of(VECTORS["QV-01"])
    assert severity_of(secret, view, schema_of(vector), free_work()) == "certain"
    assert severity_of(secret, view, schema_of(vector), free_work(nodes=1)) == "statistical"
