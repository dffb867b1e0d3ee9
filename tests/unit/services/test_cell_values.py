"""Values of cells leave the service for nobody who may not read the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest
from annotated_types import MaxLen, doc
from pydantic import ValidationError

from app.api.schemas.derived import answer_of, request_of
from app.domain.catalogue.catalogue_types import CellValue
from app.services.datasets.cell_values import (
    names_cell_values,
    shown_parameters,
    shown_result,
    without_cell_values,
)
from app.services.releases.mechanism_manifests import BY_NAME
from app.services.resources import Actor, Scope, TenantId


@dataclass(frozen=True)
class Worst:
    """One value."""

    value: Annotated[CellValue | None, doc("Which value.")]
    share: Annotated[float, doc("Its share.")]


@dataclass(frozen=True)
class Found:
    """What was found."""

    worst: Annotated[Worst, doc("The worst.")]
    all: Annotated[tuple[Worst, ...], doc("All of them.")]
    named: Annotated[tuple[CellValue, ...], doc("Values.")]
    counts: Annotated[Mapping[CellValue, int], doc("By value.")]
    by_attribute: Annotated[Mapping[str, Worst], doc("By attribute.")]
    either: Annotated[Worst | tuple[CellValue, ...] | str, doc("One or the other.")]
    k: Annotated[int, doc("A number.")]


@dataclass(frozen=True)
class Numbers:
    """Nothing of the data."""

    sizes: Annotated[Mapping[str, int], doc("Sizes.")]


@dataclass(frozen=True)
class Asked:
    """Values in a question."""

    harmless: Annotated[tuple[CellValue, ...], MaxLen(5), doc("Harmless values.")] = ()


FLU = {"value": "flu", "share": 0.5}
DOCUMENT = {
    "kind": "tried",
    "worst": FLU,
    "all": [FLU, {"value": None, "share": 0.1}],
    "named": ["flu"],
    "counts": {"flu": 3},
    "by_attribute": {"disease": FLU},
    "either": FLU,
    "k": 2,
}


def actor(*scopes):
    return Actor(TenantId("t"), "key", frozenset(scopes))


def test_values_become_null_wherever_they_are_and_nothing_else_does():
    hidden = {"value": None, "share": 0.5}
    assert without_cell_values(Found, DOCUMENT) == {
        "kind": "tried",
        "worst": hidden,
        "all": [hidden, {"value": None, "share": 0.1}],
        "named": [None],
        "counts": None,
        "by_attribute": {"disease": hidden},
        "either": hidden,
        "k": 2,
    }
    assert without_cell_values(Found, DOCUMENT | {"either": ["flu"]})["either"] == [None]
    assert without_cell_values(Found, DOCUMENT | {"either": "text"})["either"] == "text"
    assert DOCUMENT["worst"]["value"] == "flu"


def test_types_tell_whether_they_may_name_values():
    assert names_cell_values(Found)
    assert names_cell_values(Asked)
    assert not names_cell_values(Numbers)


def test_both_what_is_shown_and_what_is_hidden_fit_the_answer():
    answer = answer_of(Found, "TriedResult", "tried", "Tried.", 1)
    for document in (DOCUMENT, without_cell_values(Found, DOCUMENT)):
        whole = document | {"version": 1}
        assert answer.model_validate(whole).model_dump() == whole


def test_a_question_names_values_of_any_text():
    asked = request_of(Asked, "AskedMeasure", "asked", "Asked.")
    assert asked(kind="asked", harmless=["no / none"]).harmless == ["no / none"]
    with pytest.raises(ValidationError):
        asked(kind="asked", harmless=[None])


def test_results_of_measures_without_values_are_the_same_for_everybody():
    result = {"kind": "anonymity", "version": 1, "k_equivalence": 2}
    assert shown_result(actor(), result) == shown_result(actor(Scope.DATA_READ), result) == result
    earlier = result | {"version": 0}
    assert shown_result(actor(), earlier) == earlier


def test_of_results_that_nothing_tells_the_types_of_only_the_kind_is_shown():
    result = {"kind": "forgotten", "version": 3, "worst": "flu"}
    assert shown_result(actor(), result) == {"kind": "forgotten", "version": 3}
    assert shown_result(actor(Scope.DATA_READ), result) == result
    asked = {"name": "forgotten", "version": 3, "parameters": {"harmless": ["flu"]}}
    assert shown_parameters(actor(), asked) == {}
    assert shown_parameters(actor(Scope.DATA_READ), asked) == {"harmless": ["flu"]}


def test_parameters_of_what_can_be_audited_name_no_values():
    """They are shown with an audit to every key of the tenant."""
    hiding = [own for own in BY_NAME.values() if own.hides_records]
    assert len(hiding) >= 4
    assert not any(names_cell_values(own.parameters) for own in hiding)
