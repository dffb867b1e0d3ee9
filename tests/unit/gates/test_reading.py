"""Which columns a requirement reads, and which it only seems to."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from app.domain.analyses.catalogue import MEASURES
from app.domain.errors import InvalidInput
from app.domain.gates.coverage import reading_of
from app.domain.policies.reading import Columns, Reading
from app.services.gates.policy_documents import policy_of
from tests.unit.policies.example_policies import criterion, document, measured, model, promised, scored

COLUMNS = Columns(
    quasi_identifiers=frozenset({"zip", "sex"}),
    sensitive=frozenset({"ill"}),
    carried={"register": frozenset({"sex"})},
    weighed=frozenset({"ill"}),
)


def read(demand: dict[str, Any], columns: Columns = COLUMNS, **more: Any) -> Reading:
    policy = policy_of(document(criterion(demand, **more)))
    return reading_of(policy, policy.requirements[0], columns)


def reading(columns: str, apart: str = "") -> Reading:
    return Reading(frozenset(columns.split()), frozenset(apart.split()))


@pytest.mark.parametrize(
    ("demand", "expected"),
    [
        (model("k_anonymity", k=5), reading("zip sex", "zip sex")),
        (model("k_map", k=5) | {"dictionary": "register"}, reading("sex", "sex")),
        (model("t_closeness", t=0.2), reading("zip sex ill")),
        (model("t_closeness", t=2.0, distance="kl"), reading("zip sex ill")),
        (model("alpha_k_anonymity", alpha=0.5, k=3), reading("zip sex ill", "zip sex")),
        (measured("equivalence_classes", "k", "at_least", 5), reading("zip sex", "zip sex")),
        (measured("equivalence_classes", "k", "at_least", 5, quasi_identifiers=["sex"]),
         reading("sex", "sex")),
        (measured("t_closeness", "is_t_close", "equals", True, t=0.2), reading("zip sex ill")),
        (measured("k_map", "k", "at_least", 5, "register", by="dictionary"), reading("sex", "sex")),
        (measured("anonymity", "k_equivalence", "at_least", 5), reading("zip sex ill", "zip sex ill")),
        (scored("risk_average", "at_most", 1), reading("sex ill", "sex")),
        (scored("min_consistent", "at_least", 2), reading("sex", "sex")),
    ],
)  # fmt: skip
def test_a_requirement_reads_what_its_threshold_protects(demand, expected):
    assert read(demand) == expected


@pytest.mark.parametrize(
    "demand",
    [
        model("k_anonymity", k=1),
        model("k_anonymity", k=5) | {"failing_share": 1.0},
        model("estimated_k_map", k=1, sampling_fraction=0.1),
        model("corrected_entropy_l_diversity", l=1),
        model("t_closeness", t=1.0),
        model("t_closeness", t=1.5, distance="js"),
        measured("information_loss", "precision_loss", "at_most", 0.5),
        measured("equivalence_classes", "k", "at_most", 5),
        measured("equivalence_classes", "k", "at_least", 1),
        measured("equivalence_classes", "k", "equals", 1),
        measured("attacker_models", "prosecutor.highest", "at_most", 1),
        measured("t_closeness", "is_t_close", "equals", False, t=0.2),
        scored("utility_average", "at_least", 1),
        scored("infinite", "at_most", 0),
        scored("risk_average", "at_least", 1),
        {"kind": "bound", "dictionary": "register"},
    ],
)
def test_what_protects_nobody_reads_nothing(demand):
    assert read(demand) == Reading()


def test_a_scope_of_attributes_reads_only_these():
    assert read(model("k_anonymity", k=5), scope={"attributes": ["sex"]}) == reading("sex", "sex")


def test_of_several_sensitive_columns_a_model_reads_the_one_that_it_names():
    columns = Columns(frozenset({"sex"}), frozenset({"ill", "remark"}))
    assert read(model("t_closeness", t=0.2, attribute="ill"), columns) == reading("sex ill")
    assert read(model("t_closeness", t=0.2), columns) == reading("sex")


def test_measures_of_usefulness_and_of_other_releases_protect_nobody():
    assert {own.name for own in MEASURES if not own.protects} == {
        "information_loss", "query_accuracy", "k_anonymity_comparison", "independence_estimate",
        "cheapest_generalisation", "optimum_explanation", "rule_reuse", "direct_identifiers",
        "safe_harbor_values", "distinction_and_separation", "singling_out", "mergeable_values",
        "consistent_entities", "synthetic_distances", "synthetic_utility",
        "diffusion_risk", "sharing_loss", "sharing_plan", "sharing_recommendation",
        "population_inference", "group_inference", "definetti_attack",
        "reconstruction_privacy", "expected_count_errors",
        "micro_reconstruction", "ratio_attack", "scale_attack",
    }  # fmt: skip


def test_a_guarantee_reads_the_attribute_whose_values_are_drawn():
    drawn = frozenset({"ill"})
    assert read(promised({"at_most": 2})) == Reading(drawn, not_their_own=drawn)
    assert read(promised({"at_most": 1e6}, bound="enhanced")) == Reading(drawn, not_their_own=drawn)
    assert read(promised({"at_most": 2}, attribute="sex")) == Reading(
        frozenset({"sex"}), not_their_own=frozenset({"sex"})
    )
    two = replace(COLUMNS, sensitive=frozenset({"ill", "job"}))
    assert read(promised({"at_most": 2}), two) == Reading()


def test_a_guarantee_about_groups_covers_nothing_and_one_about_single_records_does():
    def about(**model: Any) -> Reading:
        return read({**promised(), "model": model})

    drawn = frozenset({"ill"})
    groups = {"delta": {"at_least": 0.3}, "epsilon": {"at_least": 0.3}, "p": {"at_most": 0.4}}
    assert about(kind="reconstruction_privacy", **groups) == Reading()
    assert about(kind="reconstruction_bound", **groups) == Reading()
    assert about(kind="amplification", gamma={"at_most": 5}) == Reading(drawn, not_their_own=drawn)
    assert about(kind="amplification") == Reading()


def test_a_guarantee_of_whole_records_covers_every_column_if_both_numbers_are_bounded():
    def about(**bounds: Any) -> Reading:
        return read({**promised(), "model": {"kind": "differential_privacy", **bounds}})

    whole, small = COLUMNS.disclosed, {"at_most": 0.01}
    assert about(epsilon={"at_most": 1}, delta=small) == Reading(whole, not_their_own=whole)
    assert about(epsilon={"at_most": 1}) == about(delta=small) == about() == Reading()


def test_a_budget_covers_every_column_as_the_guarantee_does_that_it_implies():
    whole = COLUMNS.disclosed
    budget = {"kind": "privacy_budget", "epsilon": 1, "delta": 0.01}
    assert read(budget) == Reading(whole, not_their_own=whole)
    with pytest.raises(InvalidInput, match="below 1"):
        read({**budget, "delta": 1})
    condition = policy_of(document(criterion(budget))).requirements[0].condition
    assert condition.as_released(read(budget), None) == Reading()


def test_of_a_drawn_release_classes_are_read_and_else_only_what_was_drawn():
    drawn = frozenset({"ill"})
    guarantee = read(promised({"at_most": 2}))

    def left(demand: dict[str, Any], drawn: frozenset[str] | None = drawn) -> Reading:
        condition = policy_of(document(criterion(demand))).requirements[0].condition
        return condition.as_released(read(demand), drawn)

    assert left(promised({"at_most": 2})) == guarantee
    assert left(measured("equivalence_classes", "k", "at_least", 5)) == reading("zip sex", "zip sex")
    assert left(measured("t_closeness", "is_t_close", "equals", True, t=0.2)) == reading("ill")
    assert left(model("k_anonymity", k=5)) == Reading()
    # Of a release that no mechanism made nothing is promised, and all else is read.
    assert left(promised({"at_most": 2}), None) == Reading()
    assert left(model("k_anonymity", k=5), None) == read(model("k_anonymity", k=5))
