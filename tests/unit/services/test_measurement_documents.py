"""Parameters and results as documents, and what inside them refers to other resources."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

import numpy as np
import pytest
from annotated_types import Ge, Len, MaxLen, doc

from app.domain.analyses.linkage_units import GivenLink
from app.domain.analyses.record_linkage import RECORD_LINKAGE, LinkageParameters
from app.domain.catalogue.catalogue_types import DatasetRef, DictionaryRef, RowInQuestion, RuleRef
from app.domain.models.entry import Example, Measure
from app.services.resources import Kind
from app.services.scoring.measurement_documents import (
    Reference,
    document_of_parameters,
    document_of_result,
    parameters_of,
    references_in,
    with_references,
)


@dataclass(frozen=True)
class Inner:
    """What is inside."""

    rule: Annotated[RuleRef, doc("A rule.")]
    text: Annotated[str, MaxLen(10), doc("No reference, though a text.")] = "nobody"


@dataclass(frozen=True)
class Parameters:
    """References in every place where one can be."""

    one: Annotated[DatasetRef, doc("One.")]
    perhaps: Annotated[DictionaryRef | None, doc("Perhaps one.")] = None
    many: Annotated[tuple[Annotated[RuleRef, doc("A rule.")], ...] | None, MaxLen(9), doc("Many.")] = None
    pair: Annotated[tuple[int, DatasetRef], doc("A number and one.")] = (1, DatasetRef("p"))
    by_name: Annotated[Mapping[str, DictionaryRef], MaxLen(9), doc("By name.")] = field(default_factory=dict)
    inner: Annotated[Inner | None, doc("Inside.")] = None
    cap: Annotated[float, Ge(0), doc("A number.")] = 1.0
    names: Annotated[tuple[str, ...], Len(0, 9), doc("Texts.")] = ("nobody",)


FULL = Parameters(
    DatasetRef("d"),
    DictionaryRef("c"),
    (RuleRef("r1"), RuleRef("r2")),
    (7, DatasetRef("e")),
    {"first": DictionaryRef("x")},
    Inner(RuleRef("r3")),
    math.inf,
)

MEASURE = Measure(
    "tried", "Tried", "Here", "exact", Parameters, Inner, None, None, Example("tried?", "tried"), version=3
)


def test_references_are_found_wherever_they_are():
    assert references_in(FULL) == (
        Reference("/measure/one", Kind.DATASET, "d"),
        Reference("/measure/perhaps", Kind.DICTIONARY, "c"),
        Reference("/measure/many/0", Kind.RULE, "r1"),
        Reference("/measure/many/1", Kind.RULE, "r2"),
        Reference("/measure/pair/1", Kind.DATASET, "e"),
        Reference("/measure/by_name/first", Kind.DICTIONARY, "x"),
        Reference("/measure/inner/rule", Kind.RULE, "r3"),
    )


def test_what_is_left_out_refers_to_nothing():
    assert references_in(Parameters(DatasetRef("d"))) == (
        Reference("/measure/one", Kind.DATASET, "d"),
        Reference("/measure/pair/1", Kind.DATASET, "p"),
    )


def test_references_are_replaced_and_nothing_else_is():
    replaced = with_references(FULL, lambda reference: reference.ref.upper())
    assert [reference.ref for reference in references_in(replaced)] == ["D", "C", "R1", "R2", "E", "X", "R3"]
    assert (replaced.names, replaced.inner.text, replaced.cap) == (FULL.names, "nobody", math.inf)
    assert with_references(replaced, lambda reference: reference.ref.lower()) == FULL


def test_parameters_survive_being_written_down():
    document = document_of_parameters(FULL)
    assert document["cap"] == "inf"
    assert parameters_of(MEASURE, document) == FULL
    assert parameters_of(MEASURE, {"one": "d"}) == Parameters(DatasetRef("d"))


@dataclass(frozen=True)
class Found:
    """A result."""

    risk: Annotated[float, doc("A number.")]
    by_row: Annotated[Mapping[float, tuple[Inner, ...]], doc("More.")]


def test_a_result_names_its_measure_and_writes_infinity_as_text():
    found = Found(math.inf, {0.5: (Inner(RuleRef("r")),)})
    assert document_of_result(MEASURE, found) == {
        "kind": "tried",
        "version": 3,
        "risk": "inf",
        "by_row": {"0.5": [{"rule": "r", "text": "nobody"}]},
    }
    assert document_of_result(MEASURE, Found(np.float64(2.5), {}))["risk"] == 2.5


def test_a_result_is_never_not_a_number():
    with pytest.raises(ValueError, match="not JSON compliant"):
        document_of_result(MEASURE, Found(math.nan, {}))


def test_fields_added_later_leave_the_text_of_earlier_questions_as_it_was():
    before = document_of_parameters(LinkageParameters("register"))
    assert set(before) == {
        "auxiliary", "estimator", "mode", "threshold", "probability_correct", "on_failed_link", "on_conflict",
    }  # fmt: skip
    assert parameters_of(RECORD_LINKAGE, before) == LinkageParameters("register")
    asked = LinkageParameters("register", "given", links=(GivenLink(RowInQuestion(1), 2, 0.5),))
    after = document_of_parameters(asked)
    assert set(after) - set(before) == {"links"}
    assert parameters_of(RECORD_LINKAGE, after) == asked
