"""What changed between two policies, and what of it is certain."""

from __future__ import annotations

import pytest

from app.domain.policies.difference import difference
from app.services.gates.policy_documents import policy_of
from tests.unit.policies.example_policies import criterion, document, measured, model, promised, scored


def changed(old, new, **more) -> tuple[str, str]:
    """Effect of all, and of the criterion."""
    found = difference(policy_of(document(criterion(old))), policy_of(document({**criterion(new), **more})))
    effects = [own.effect for own in found.changes if own.part == "criterion"]
    return found.effect, effects[0] if effects else "same"


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (scored("risk_max", "at_most", 2), scored("risk_max", "at_most", 1), "stricter"),
        (scored("risk_max", "at_most", 1), scored("risk_max", "at_most", 2), "looser"),
        (scored("risk_max", "at_most", 2), scored("risk_max", "below", 2), "stricter"),
        (scored("risk_max", "at_most", 2), scored("risk_max", "at_least", 2), "different"),
        (scored("risk_max", "at_most", 2), scored("risk_average", "at_most", 1), "different"),
        (scored("min_consistent", "above", 4), scored("min_consistent", "at_least", 5), "none"),
        (model("k_anonymity", k=5), model("k_anonymity", k=11), "stricter"),
        (model("t_closeness", t=0.3), model("t_closeness", t=0.4), "looser"),
        (model("k_anonymity", k=5), model("distinct_l_diversity", l=5), "different"),
        ({**model("k_anonymity", k=5), "failing_share": 0.1}, model("k_anonymity", k=5), "stricter"),
        ({**model("k_anonymity", k=5), "failing_share": 0.1}, model("k_anonymity", k=3), "different"),
        ({**model("k_anonymity", k=5), "missing": "excluded"}, model("k_anonymity", k=5), "different"),
        (measured("equivalence_classes", "k", "at_least", 5),
         measured("equivalence_classes", "k", "at_least", 3), "looser"),
        ({"kind": "bound", "dictionary": "register", "may_rest_on_assumptions": True},
         {"kind": "bound", "dictionary": "register"}, "stricter"),
        ({"kind": "privacy_budget", "epsilon": 2, "delta": 1e-5},
         {"kind": "privacy_budget", "epsilon": 1, "delta": 1e-5}, "stricter"),
        ({"kind": "privacy_budget", "epsilon": 2, "delta": 1e-5},
         {"kind": "privacy_budget", "epsilon": 2, "delta": 1e-4}, "looser"),
        ({"kind": "privacy_budget", "epsilon": 2, "delta": 1e-5},
         {"kind": "privacy_budget", "epsilon": 1, "delta": 1e-4}, "different"),
        ({"kind": "privacy_budget", "epsilon": 2, "delta": 1e-5},
         {"kind": "privacy_budget", "epsilon": 2, "delta": 1e-5, "may_rest_on_assumptions": True}, "looser"),
        ({"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": 1}},
         {"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": 1}, "gap": 0.1}, "looser"),
    ],
)  # fmt: skip
def test_stricter_and_looser_are_said_where_they_are_certain(old, new, effect):
    assert changed(old, new) == (effect, effect)


@pytest.mark.parametrize(
    ("more", "effect"),
    [
        ({"severity": "warn"}, "looser"),
        ({"reason": "Another one."}, "none"),
        ({"scope": {"groups": "race"}}, "different"),
    ],
)
def test_severity_scope_and_words_have_effects_of_their_own(more, effect):
    demand = scored("risk_max", "at_most", 1)
    assert changed(demand, demand, **more) == (effect, effect)


def test_changes_against_each_other_are_neither():
    assert changed(scored("risk_max", "at_most", 2), scored("risk_max", "at_most", 1), severity="warn") == (
        "different",
        "different",
    )


def test_equal_policies_have_no_difference_however_they_are_spelt():
    one = measured("equivalence_classes", "k", "at_least", 5)
    other = measured("equivalence_classes", "k", "at_least", 5.0, missing="own_category")
    assert changed(one, other) == ("none", "same")


def test_the_text_names_every_change():
    old = document(
        criterion(scored("risk_max", "at_most", 2)), criterion(model("k_anonymity", k=5), id="gone")
    )
    new = document(
        criterion(scored("risk_max", "at_most", 1)), criterion(model("k_anonymity", k=2), id="come"),
        version=2, dictionaries=[{"name": "register", "required": False}, {"name": "more"}],
    )  # fmt: skip
    assert difference(policy_of(old), policy_of(new)).text().splitlines() == [
        "p@1 -> p@2: different; neither is sure to be the stricter one",
        "  none       policy changed",
        "             version: 1 -> 2",
        "  different  dictionary register changed",
        "             required: true -> false",
        "  different  dictionary more added",
        "  stricter   criterion it changed",
        "             threshold: 2 -> 1",
        "  looser     criterion gone removed",
        "  stricter   criterion come added",
    ]


@pytest.mark.parametrize(
    ("old", "new", "effect"),
    [
        (promised({"at_most": 2}), promised({"at_most": 1}), "stricter"),
        (promised({"at_most": 2}), promised({"below": 2}), "stricter"),
        (promised({"at_most": 2}), promised(), "looser"),
        (promised({"at_most": 2}), promised({"at_most": 2}, bound="enhanced"), "stricter"),
        (promised({"at_most": 2}), promised({"at_most": 3}, bound="enhanced"), "different"),
        (promised({"at_most": 2}), promised({"at_most": 2}, status="heuristic"), "looser"),
        (promised({"at_most": 2}), promised({"at_most": 2}, may=False), "stricter"),
        (promised({"at_most": 2}, may=False), promised({"at_most": 1}), "different"),
        (promised({"at_most": 2}), promised({"at_most": 1}, attribute="ill"), "different"),
        (promised({"at_most": 2}), promised({"at_most": 2.0}, bound="basic"), "none"),
        # What is at most a little less than 2 may, by the tolerance, be more than what is below 2.
        (promised({"below": 2}), promised({"at_most": 2 - 1.5e-9}), "looser"),
        (promised({"at_most": 2}), model("k_anonymity", k=2), "different"),
    ],
)
def test_guarantees_are_compared_by_what_keeps_them(old, new, effect):
    assert changed(old, new) == (effect, "same" if effect == "none" else effect)
