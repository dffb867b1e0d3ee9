"""Requirements that ask for a guarantee: judged as by hand, and no difference promises what does not hold."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.gates.guarantees import finding_of_guarantees
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.policies.difference import difference
from app.domain.policies.lint import lint
from app.services.gates.policy_documents import policy_of
from tests.oracles.comparison_by_hand import by_hand
from tests.oracles.effort import examples
from tests.unit.policies.example_policies import criterion, document, promised

WORTH = ["none", "heuristic", "as_published", "certified"]
# Thresholds a little less and more apart than the tolerance, so that what is nearly equal is met too.
NUMBERS = st.sampled_from([0.5, 1, 2 - 1.5e-9, 2 - 7e-10, 2, 2 + 5e-10, 2 + 3e-9, 3])
BOUNDS = st.dictionaries(
    st.sampled_from(["at_least", "at_most", "above", "below", "equals"]), NUMBERS, min_size=1, max_size=2
)
DEMANDS = st.builds(
    lambda beta, bound, attribute, may, status: promised(
        beta,
        may=may,
        status=status,
        **({} if bound is None else {"bound": bound}),
        **({} if attribute is None else {"attribute": attribute}),
    ),
    st.none() | BOUNDS,
    st.sampled_from([None, "basic", "enhanced"]),
    st.sampled_from([None, "ill"]),
    st.booleans(),
    st.sampled_from(WORTH[1:]),
)
GUARANTEES = st.lists(
    st.builds(
        lambda beta, bound, attribute, status, holds: PrivacyGuarantee(
            "beta_likeness",
            {"beta": float(beta), "bound": bound, "attribute": attribute},
            "It is so.",
            status,
            tuple(Hypothesis(str(at), own, "Because.") for at, own in enumerate(holds)),
        ),
        NUMBERS,
        st.sampled_from(["basic", "enhanced"]),
        st.sampled_from(["ill", "ill", "job"]),
        st.sampled_from(WORTH),
        st.lists(st.sampled_from(["yes", "yes", "assumed", "no"]), max_size=2),
    ),
    max_size=3,
)


def policy(demand):
    return policy_of(document(criterion(demand), dictionaries=[]))


def passes(demand, guarantees) -> bool:
    return finding_of_guarantees(policy(demand).requirements[0].condition, guarantees, {"ill"}).passes


def is_kept(demand, own: PrivacyGuarantee) -> bool:
    """The definition, word by word."""
    model, holds = demand["model"], [found.holds for found in own.hypotheses]
    standing = "none" if "no" in holds else own.status
    return (
        own.parameters["attribute"] == "ill"
        and all(
            by_hand(own.parameters["beta"], comparison, threshold, 1e-9)
            for comparison, threshold in model.get("beta", {}).items()
        )
        and (model.get("bound") != "enhanced" or own.parameters["bound"] == "enhanced")
        and WORTH.index(standing) >= WORTH.index(demand["status"])
        and (demand["may_rest_on_assumptions"] or "assumed" not in holds)
    )


@settings(max_examples=examples(300))
@given(DEMANDS, GUARANTEES)
def test_a_release_passes_exactly_if_one_guarantee_keeps_everything(demand, guarantees):
    assert passes(demand, guarantees) is any(is_kept(demand, own) for own in guarantees)


@pytest.mark.deep
@settings(max_examples=examples(250))
@given(DEMANDS, DEMANDS, st.lists(GUARANTEES, min_size=4, max_size=4))
def test_a_stricter_guarantee_never_passes_where_the_looser_one_fails(old, new, releases):
    effect = difference(policy(old), policy(new)).effect
    for guarantees in releases:
        before, after = passes(old, guarantees), passes(new, guarantees)
        if effect in ("stricter", "none"):
            assert before or not after
        if effect in ("looser", "none"):
            assert after or not before


@settings(max_examples=examples(200))
@given(DEMANDS, GUARANTEES)
def test_what_lint_says_never_passes_does_not(demand, guarantees):
    if any(own.code == "never-passes" for own in lint(policy(demand)).errors):
        assert not passes(demand, guarantees)
