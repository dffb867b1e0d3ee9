"""What is marked on the fields of results is what policies and gates read."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated

import pytest
from annotated_types import doc

from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.meanings import (
    ASIDE,
    FAILING,
    FROM_ONE,
    GAIN,
    HIDING,
    HIGH,
    LOW,
    MET,
    NOTHING_KNOWN,
    RISK,
    SHARE,
    Meaning,
    Range,
)
from app.domain.catalogue.result_values import found_in, values_of
from app.domain.models.criteria import CRITERIA
from app.domain.policies.measure_condition import VALUES_OF
from app.domain.policies.objectives import marks_of
from app.domain.policies.score_condition import SCORE_VALUES


@dataclass(frozen=True)
class Part:
    """A part whose size says nothing by itself."""

    size: Annotated[int, doc("How large it is.")]
    share: Annotated[float, SHARE, doc("Its share.")]


@dataclass(frozen=True)
class Found:
    """Two such parts and a number by key."""

    exposed: Annotated[Part, LOW, doc("Exposed.")]
    other: Annotated[Part | None, doc("Not exposed.")]
    by_level: Annotated[Mapping[str, float], RISK, doc("By level.")]


def test_a_mark_on_a_part_holds_for_its_numbers_beside_their_own():
    marks = {value.path: value.marks for value in values_of(Found)}
    assert marks == {
        "exposed.size": LOW,
        "exposed.share": SHARE | LOW,
        "other.size": NOTHING_KNOWN,
        "other.share": SHARE,
        "by_level.<key>": RISK,
    }


def test_whole_numbers_are_never_negative_and_losses_only_where_the_model_says_so():
    values = {value.path: value for value in values_of(Found)}
    assert values["other.size"].range({}) == Range(0.0)
    assert values["by_level.<key>"].range({}).least == 0.0
    assert values["by_level.<key>"].range({"risk_model": "III_raw"}).least == -math.inf


@pytest.mark.parametrize(
    ("measure", "path", "marks"),
    [
        ("anonymity", "k_equivalence", FROM_ONE | HIDING),
        ("anonymity", "is_k_anonymous", MET),
        ("equivalence_classes", "records_below_k", FAILING),
        ("equivalence_classes", "unique_share", SHARE | LOW),
        ("equivalence_classes", "judged.records_suppressed", LOW | ASIDE),
        ("equivalence_classes", "worst.records", NOTHING_KNOWN),
        ("linking_attack", "records_found.records", LOW),
        ("record_linkage", "loss_quantiles_linked.0.95", RISK),
        ("beta_likeness", "worst.gain", Meaning(Range(-1.0)) | GAIN),
        ("delta_presence", "least", SHARE),
        ("parametric_risk", "interval.low", LOW | ASIDE),
        ("posterior_beliefs", "is_private", HIGH),
    ],
)
def test_the_marks_of_results_reach_their_paths(measure: str, path: str, marks: Meaning):
    found = found_in(VALUES_OF[measure], path)
    assert found is not None
    assert found.marks == marks


def test_a_value_that_protects_has_a_direction_and_a_share_its_bounds():
    values = [value for measure in MEASURES for value in VALUES_OF[measure.name]] + [*SCORE_VALUES]
    for value in values:
        if value.marks.if_alone is not None:
            assert value.marks.safer is not None, value.path
        if "share" in value.path.rpartition(".")[2]:
            assert value.range({}) == Range(0.0, 1.0), value.path
    assert {value.path for value in VALUES_OF["k_map"] if value.marks.asked} == {"k"}


def test_every_criterion_says_of_some_parameter_which_way_it_asks_for_more():
    without = {own.kind for own in CRITERIA if not any(map(_is_marked, marks_of(own.kind).values()))}
    # Of an interval of beliefs neither way asks for more of everybody.
    assert without == {"rho_privacy"}


def _is_marked(said: tuple[object, ...]) -> bool:
    return any(type(own).__name__ == "Stricter" for own in said)
