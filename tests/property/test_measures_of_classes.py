"""No measure of classes breaks off: one record, one column, one value, nothing but missing cells."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.catalogue import MEASURES
from app.domain.classes.grouping import Grouping
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.tables.table import Table
from app.services.scoring.measurement_documents import document_of_result
from tests.oracles.effort import examples

TREE = Hierarchy.from_parents({"1": ["12"], "2": ["12"], "3": ["34"], "12": [None], "34": [None]})
DISEASE = Hierarchy.from_parents({"flu": ["viral"], "hiv": ["viral"], "cancer": [None], "viral": [None]})
MEASURED = [own for own in MEASURES if issubclass(own.parameters, Grouping) and not own.needs]
REQUIRED = {
    "population_uniqueness": {"sampling_fraction": 0.1},
    "expected_count_errors": {"p_cap": 0.5, "queries": 100, "least_count": 1, "most_draws": 1_000},
}

cells = st.sampled_from([0, *np.flatnonzero(TREE.is_leaf).tolist()])
diseases = st.sampled_from([0, *np.flatnonzero(DISEASE.is_leaf).tolist()])
groupings = st.fixed_dictionaries(
    {
        "missing": st.sampled_from(["own_category", "matches_everything", "excluded"]),
        "missing_sensitive": st.sampled_from(["own_category", "excluded"]),
        "suppressed": st.sampled_from(["excluded", "own_block"]),
    }
)


@st.composite
def contexts(draw, n_most=8):
    """A small table, as it is, generalised or with records suppressed, with one or two sensitive columns."""
    n, width = draw(st.integers(1, n_most)), draw(st.integers(1, 3))
    row = st.tuples(*[cells] * width, diseases, diseases)
    codes = np.array(draw(st.lists(row, min_size=n, max_size=n)), dtype=np.int32)
    sensitive = frozenset(draw(st.sampled_from([("a",), ("a", "b")])))
    names = (*(f"q{j}" for j in range(width)), "a", "b")
    table = Table(names, (TREE,) * width + (DISEASE, DISEASE), codes, sensitive=sensitive)
    levels = draw(st.tuples(*[st.integers(0, 2)] * width))
    rule = TableRule((*levels, 0, 0))
    suppressed = np.array(draw(st.lists(st.booleans(), min_size=n, max_size=n)))
    if draw(st.booleans()):
        shown = apply(rule, table).copy(order="F")
        shown[suppressed, : len(table.quasi_identifiers)] = 0
        rule = CellRule(shown)
    return MeasureContext(table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero")


def assert_answers_or_says_why(measure, context, grouping):
    asked = dict(REQUIRED.get(measure.name, {}))
    if any(own.name == "attribute" for own in dataclasses.fields(measure.parameters)):
        asked["attribute"] = "a"
    parameters = measure.parameters(**grouping, **asked)
    try:
        if measure.supports(context, parameters) is not None:
            return
        assert measure.cost(context, parameters).seconds >= 0
        found = measure.compute(context, parameters, lambda done: None)
    except (InvalidInput, NotSupported):
        return
    # Writing it down refuses what is no number.
    document = document_of_result(measure, found)
    assert document["judged"]["records"] == context.table.n_records
    left_out = document["judged"]["records_suppressed"] + document["judged"]["records_missing"]
    assert document["judged"]["records_judged"] + left_out == context.table.n_records


@pytest.mark.deep
@pytest.mark.spec("FM-5.7")
@pytest.mark.parametrize("measure", MEASURED, ids=lambda measure: measure.name)
@given(contexts(), groupings)
@settings(max_examples=examples(12))
def test_every_table_has_an_answer_or_a_reason_why_not(measure, context, grouping):
    assert_answers_or_says_why(measure, context, grouping)


@pytest.mark.deep
@pytest.mark.parametrize("measure", MEASURED, ids=lambda measure: measure.name)
@given(contexts(20), groupings)
@settings(max_examples=150)
def test_many_tables_have_an_answer_or_a_reason_why_not(measure, context, grouping):
    assert_answers_or_says_why(measure, context, grouping)
