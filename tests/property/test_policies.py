"""Comparisons, contradictions, implications and differences of policies against every value there is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.api.examples.measurements import BY_MEASURE
from app.documents import built
from app.domain.analyses.catalogue import MEASURES
from app.domain.errors import InvalidInput
from app.domain.policies.comparison import WORDS, holds, margin
from app.domain.policies.difference import difference
from app.domain.policies.intervals import Interval
from app.domain.policies.lint import lint
from app.domain.policies.policy import pinned
from app.services.gates.policy_documents import document_of_policy, policy_of
from app.services.scoring.measurement_documents import parameters_of
from tests.oracles.comparison_by_hand import by_hand
from tests.oracles.effort import examples
from tests.unit.policies.example_policies import criterion, document, measured, model, scored

COMPARISONS = st.sampled_from(sorted(WORDS))
REALS = st.floats(allow_nan=False)
WHOLE = st.integers(-10, 10)


@settings(max_examples=examples(150))
@given(REALS, COMPARISONS, REALS, st.integers(-3, 3))
def test_reals_pass_as_the_definition_says(value, comparison, threshold, steps):
    tolerance = max(1e-9, 1e-12 * abs(threshold)) if math.isfinite(threshold) else 0.0
    for own in (value, threshold, threshold + 0.4 * steps * tolerance):
        passes = holds(own, comparison, threshold)
        assert passes is by_hand(own, comparison, threshold, tolerance)
        room = margin(own, comparison, threshold)
        assert not math.isnan(room)
        assert (room >= 0) is passes


@settings(max_examples=examples(200))
@given(WHOLE, COMPARISONS, st.one_of(WHOLE, st.floats(-10, 10)))
def test_whole_numbers_are_compared_exactly_and_their_room_is_counted(value, comparison, threshold):
    passes = holds(value, comparison, threshold)
    assert passes is by_hand(value, comparison, threshold, 0.0)
    room = margin(value, comparison, threshold)
    assert (room >= 0) is passes
    if comparison in ("above", "below"):
        # So many steps for the worse still pass, and one more does not.
        worse = -1 if comparison == "above" else 1
        steps = math.floor(room) if room >= 0 else math.ceil(room)
        assert holds(value + worse * steps, comparison, threshold)
        assert not holds(value + worse * (steps + 1), comparison, threshold)


@settings(max_examples=examples(150))
@given(COMPARISONS, st.floats(-4, 4).map(lambda own: round(own * 2) / 2), COMPARISONS,
       st.floats(-4, 4).map(lambda own: round(own * 2) / 2), st.booleans())  # fmt: skip
def test_intervals_meet_and_imply_exactly_where_values_do(one, first, other, second, whole):
    values = np.arange(-7, 8) if whole else np.arange(-28, 29) / 4
    mine = Interval.of(one, first, whole=whole)
    theirs = Interval.of(other, second, whole=whole)
    kept = [
        {float(v) for v in values if by_hand(float(v), comparison, threshold, 0.0)}
        for comparison, threshold in ((one, first), (other, second))
    ]
    if whole and not all(kept):
        return
    assert mine.meets(theirs) is bool(kept[0] & kept[1])
    assert mine.within(theirs) is (kept[0] <= kept[1])


DEMANDS = st.one_of(
    st.builds(scored, st.sampled_from(["risk_max", "min_consistent", "loss_quantiles.0.95"]), COMPARISONS,
              st.sampled_from([0, 1, 2, 2.5, "inf"])),
    st.builds(lambda k, share: {**model("k_anonymity", k=k), "failing_share": share},
              st.integers(1, 6), st.sampled_from([0.0, 0.1])),
    st.builds(lambda c, t, k: measured("equivalence_classes", "records_below_k", c, t, k=k), COMPARISONS,
              st.integers(0, 4), st.sampled_from([2, 3])),
)  # fmt: skip
POLICIES = st.lists(DEMANDS, min_size=1, max_size=4).flatmap(
    lambda demands: st.tuples(
        *(
            st.builds(
                lambda severity, demand=demand, number=number: criterion(
                    demand, id=str(number), severity=severity
                ),
                st.sampled_from(["block", "warn"]),
            )
            for number, demand in enumerate(demands)
        )
    )
).map(lambda criteria: policy_of(document(*criteria)))  # fmt: skip


@settings(max_examples=examples(40))
@given(POLICIES)
def test_a_policy_is_read_back_as_it_was_written_and_pinned_once(policy):
    # A policy of before has the limit 0 where it names none.
    policy = replace(policy, suppression_limit=policy.suppression_limit or 0.0)
    assert policy_of(document_of_policy(policy)) == policy
    kept = pinned(policy)
    assert policy_of(document_of_policy(kept)) == kept
    assert pinned(kept) == kept
    assert lint(kept) == lint(policy)
    assert difference(policy, kept).effect == "none"


def outcomes(policy, world) -> tuple[bool, ...]:
    """What criteria say of a release whose every number is drawn; only those that block."""
    said = []
    for own in policy.requirements:
        demand = own.condition
        if own.severity == "warn":
            continue
        if hasattr(demand, "model"):
            share = sum(size for size in world["classes"] if size < demand.parameters["k"])
            said.append(share / sum(world["classes"]) <= demand.failing_share)
        elif hasattr(demand, "measure"):
            below = sum(size for size in world["classes"] if size < demand.parameters["k"])
            said.append(holds(below, demand.comparison, demand.threshold))
        else:
            said.append(holds(world[demand.value], demand.comparison, demand.threshold))
    return tuple(said)


WORLDS = st.fixed_dictionaries(
    {
        "risk_max": st.sampled_from([0.0, 0.5, 1.0, 2.0, 2.5, 3.0, math.inf]),
        "loss_quantiles.0.95": st.sampled_from([0.0, 1.0, 2.0, 2.5, 7.0]),
        "min_consistent": st.integers(0, 4),
        "classes": st.lists(st.integers(1, 7), min_size=1, max_size=6),
    }
)


@settings(max_examples=examples(60))
@given(POLICIES, POLICIES, st.lists(WORLDS, min_size=5, max_size=5))
def test_no_release_breaks_what_a_difference_promises(old, new, worlds):
    effect = difference(old, new).effect
    for world in worlds:
        before, after = all(outcomes(old, world)), all(outcomes(new, world))
        if effect in ("stricter", "none"):
            assert before or not after
        if effect in ("looser", "none"):
            assert after or not before


@settings(max_examples=examples(60))
@given(POLICIES, st.lists(WORLDS, min_size=5, max_size=5))
def test_what_lint_calls_contradictory_is_never_met(policy, worlds):
    if any(own.code == "contradictory" for own in lint(policy).errors):
        assert not any(all(outcomes(policy, world)) for world in worlds)


@pytest.mark.parametrize("measure", MEASURES, ids=lambda own: own.name)
def test_parameters_are_read_as_the_interface_reads_them(measure):
    """Every example of a measure, and the same with each field made wrong."""
    asked = BY_MEASURE[measure.name]["value"]["measure"]
    fields = {name: own for name, own in asked.items() if name != "kind"}
    assert built(measure.parameters, fields) == parameters_of(measure, fields)
    for name in fields:
        wrong = {**fields, name: object()}
        with pytest.raises(InvalidInput) as caught:
            built(measure.parameters, wrong)
        assert caught.value.faults[0].pointer.startswith(f"/{name}")
