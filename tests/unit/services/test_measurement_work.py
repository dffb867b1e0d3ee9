"""What stands in the way of a measure is said before anything is computed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated

import pytest
from annotated_types import doc

from app.domain.counting.counter import dictionary_of
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import Cost, Example, Measure, MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import identity
from app.domain.tables.table import Table
from app.services.runs.run_execution import OneBlock
from app.services.scoring.measurement_work import Measurement, measure_of
from tests.unit.services.scoring_world import members, people


@dataclass(frozen=True)
class Nothing:
    """Nothing to choose."""


@dataclass(frozen=True)
class Found:
    """What is found."""

    rows: Annotated[int, doc("Records.")]


def _compute(context, parameters, tick):
    for done in range(1, 4):
        tick(done)
    return Found(context.table.n_records)


MEASURE = Measure(
    name="tried",
    version=1,
    title="Tried",
    source="Here",
    guarantee="exact",
    parameters=Nothing,
    result=Found,
    needs=frozenset(),
    supports=lambda context, parameters: None,
    cost=lambda context, parameters: Cost(0.25, 100, 3, "loop"),
    compute=_compute,
    example=Example("tried?", "tried"),
)


def context_of(table=None, **given):
    table = table or members()
    plain = {"rule": None, "dictionary": None, "sensitivity": None, "failure": None}
    return MeasureContext(
        table=table, utility=build_utility(table, "depth_sum"), model=MODEL_I, absent_policy="zero",
        **(plain | given),
    )  # fmt: skip


def measurement(context, needs=(), **changed):
    measure = replace(MEASURE, needs=frozenset(needs), **changed)
    return Measurement(measure, Nothing(), context, lambda: context, 0.5)


def test_what_is_needed_and_not_named_is_listed_at_once():
    with pytest.raises(InvalidInput) as caught:
        measurement(context_of(rule=identity(2)), ["rule", "dictionary", "sensitivity"]).cost  # noqa: B018
    assert [(fault.pointer, fault.code) for fault in caught.value.faults] == [
        ("/dictionary", "missing"),
        ("/sensitivity", "missing"),
    ]


def test_values_with_several_parents_are_named_where_trees_are_needed():
    several = Hierarchy.from_parents({"a": ["p", "q"], "p": [None], "q": [None]})
    codes = several.encode(["a", "a"])[0].reshape(2, 1)
    dag = Table(("diagnosis",), (several,), codes)
    with pytest.raises(NotSupported, match="hierarchies of diagnosis are no trees"):
        measurement(context_of(dag), ["trees"]).refuse_unless_supported()
    measurement(context_of(), ["trees"]).refuse_unless_supported()


def test_identifiers_that_cannot_be_compared_are_a_reason():
    context = context_of(dictionary=people())
    with pytest.raises(NotSupported, match="cannot be told to be those of the dataset"):
        measurement(context, ["comparable_ids"]).refuse_unless_supported()
    comparable = context_of(dictionary=dictionary_of(members()))
    measurement(comparable, ["comparable_ids"]).refuse_unless_supported()


def test_the_measures_own_reason_is_given_with_its_remedy():
    refused = measurement(context_of(), supports=lambda context, parameters: "Only on Sundays; wait.")
    with pytest.raises(NotSupported, match=r"^Only on Sundays\.$") as found:
        refused.result()
    assert found.value.remedy == "Wait."


def test_the_estimate_counts_what_prepares_the_dictionaries():
    assert measurement(context_of()).cost == Cost(0.75, 100, 3, "loop")


def test_a_run_ticks_off_the_units_of_the_estimate():
    own = measurement(context_of())
    work = OneBlock(own.cost.units, own.cost.seconds, own.result)
    told = []
    conclusion = work.conclude({0: work.run_block(0, told.append)})
    assert conclusion.result == {"kind": "tried", "version": 1, "rows": 4}
    assert (told[-1], work.units, work.n_blocks) == (3, 3, 1)


def test_a_measure_whose_meaning_has_changed_is_not_computed_for_an_old_question():
    assert measure_of("anonymity", 1).name == "anonymity"
    with pytest.raises(NotSupported, match="corrected since"):
        measure_of("anonymity", 99)
    with pytest.raises(InvalidInput, match="no such measure"):
        measure_of("unheard_of")
