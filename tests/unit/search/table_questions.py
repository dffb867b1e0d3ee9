"""Questions about rules for tables, and their answers."""

from __future__ import annotations

import numpy as np

from app.domain.dictionaries.dictionary import Dictionary
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.search.blocks import carry_out
from app.domain.search.budget import Budget
from app.domain.search.context import SearchContext
from app.domain.search.plans import plan
from app.domain.search.solvers import SOLVERS
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from app.domain.tables.table import Table
from tests.unit.domain.fixture_f import DICTIONARIES, T, personal

D1 = SearchContext(T, DICTIONARIES["D1"], personal(), build_utility(T))


def first_records(n):
    """Records 1..n of the fixture under D1."""
    table = Table(T.attributes, T.hierarchies, T.codes[:n], T.entity_ids[:n])
    sensitivity = personal()
    part = type(sensitivity)(
        sensitivity.family, sensitivity.shapes, sensitivity.factors, sensitivity.groups[:n]
    )
    return SearchContext(table, DICTIONARIES["D1"], part, build_utility(table))


def answer(context, problem, solver="auto", max_nodes=None):
    chosen = plan(context, problem, SOLVERS[solver](), Budget(max_nodes))
    return carry_out(chosen)


def dag_context(code=3):
    dag = Hierarchy.from_parents({"p": [None], "q": [None], "a": ["p", "q"]})
    table = Table(("x",), (dag,), np.array([[code]]))
    weights = {"x": ConstantWeight(1.0)}
    return SearchContext(
        table, Dictionary(2, ()), build_sensitivity(table, "linear", weights), build_utility(table)
    )
