"""Thresholds that a table keeps in which every record is alone: they protect nobody, and read no column."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from app.domain.gates.coverage import reading_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.criteria import CRITERIA
from app.domain.models.judging import AloneRecords
from app.domain.models.reconstruction_privacy import ReconstructionPrivacy
from app.domain.policies.reading import Columns, Reading, WorstCase, greatest_loss
from app.domain.risk.models import RiskModel
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.services.gates.policy_documents import policy_of
from tests.unit.measures.diversity_tables import flat, table
from tests.unit.policies.example_policies import criterion, document, measured, model, scored

RECORDS = 10
ROWS = [("abcdefghij"[n], "flu" if n < 6 else "cold" if n < 9 else "gout") for n in range(RECORDS)]
TABLE = table(("qi", "s"), [flat(column) for column in zip(*ROWS, strict=True)], ROWS, {"s"})
"""Ten records, each with a quasi-identifier of its own; the rarest of three diseases has a share of 0.1."""
HARM = 3.0
WORST = WorstCase(AloneRecords(TABLE), HARM)
COLUMNS = Columns(
    frozenset({"qi"}), frozenset({"s"}), {"register": frozenset({"qi"})}, frozenset({"s"}), worst=WORST
)


def read(demand: dict[str, Any], columns: Columns = COLUMNS) -> Reading:
    policy = policy_of(document(criterion(demand)))
    return reading_of(policy, policy.requirements[0], columns)


def share(demand: dict[str, Any], failing: float) -> dict[str, Any]:
    return demand | {"failing_share": failing}


PAIRS = [
    # Whoever has the rarest value is 0.9 away from the whole table, and has it ten times as often.
    (model("t_closeness", t=0.9), model("t_closeness", t=0.89)),
    (model("t_closeness", t=1.0, distance="js"), model("t_closeness", t=0.1, distance="js")),
    (model("beta_likeness", beta=9.0, bound="basic"), model("beta_likeness", beta=8.9, bound="basic")),
    (share(model("t_closeness", t=0.8), 0.1), share(model("t_closeness", t=0.8), 0.09)),
    (model("distinct_l_diversity", l=1), model("distinct_l_diversity", l=2)),
    (model("entropy_l_diversity", l=1.0), model("entropy_l_diversity", l=1.1)),
    (model("recursive_l_diversity", c=1.5, l=1), model("recursive_l_diversity", c=1.5, l=2)),
    (model("pd_recursive_l_diversity", c=2.0, l=1), model("pd_recursive_l_diversity", c=2.0, l=2)),
    (model("alpha_k_anonymity", alpha=1, k=1), model("alpha_k_anonymity", alpha=0.99, k=1)),
    (model("average_risk", threshold=1), model("average_risk", threshold=0.99)),
    (model("sample_uniqueness", threshold=1), model("sample_uniqueness", threshold=0.99)),
    (share(model("k_anonymity", k=5), 1.0), share(model("k_anonymity", k=5), 0.99)),
    (model("k_anonymity", k=1) | {"missing": "excluded"}, model("k_anonymity", k=2)),
    (model("delta_presence", lower=0, upper=1) | {"dictionary": "register"},
     model("delta_presence", lower=0, upper=0.9) | {"dictionary": "register"}),
    (model("rho_privacy", rho_1=1e-9, rho_2=0.5) | {"dictionary": "register"},
     model("rho_privacy", rho_1=0.1, rho_2=0.5) | {"dictionary": "register"}),
    (scored("risk_max", "at_most", HARM), scored("risk_max", "at_most", 2.9)),
    (scored("risk_average", "below", 1e9), scored("risk_average", "below", HARM)),
    (scored("loss_quantiles.0.95", "at_most", 1e9), scored("loss_quantiles.0.95", "at_most", 1)),
    (scored("risk_min", "at_most", 1), scored("risk_max", "at_most", 1)),
    (scored("min_consistent", "at_least", 1), scored("min_consistent", "above", 1)),
    (scored("k_matching", "at_least", 1), scored("k_matching", "at_least", 2)),
    (measured("equivalence_classes", "judged.records_suppressed", "at_most", 1),
     measured("equivalence_classes", "unique_records", "at_most", 1)),
    (measured("equivalence_classes", "unique_records", "at_most", RECORDS),
     measured("equivalence_classes", "unique_records", "below", RECORDS)),
    (measured("equivalence_classes", "records_below_k", "equals", 0, k=1),
     measured("equivalence_classes", "records_below_k", "equals", 0, k=2)),
    (measured("anonymity", "is_k_anonymous", "equals", True, k=1),
     measured("anonymity", "is_k_anonymous", "equals", True, k=2)),
    (measured("attacker_models", "prosecutor.share_at_risk", "at_most", 0, threshold=1),
     measured("attacker_models", "prosecutor.share_at_risk", "at_most", 0, threshold=0.9)),
    (measured("t_closeness", "is_t_close", "equals", True, t=0.9),
     measured("t_closeness", "is_t_close", "equals", True, t=0.5)),
    (measured("beta_likeness", "beta_basic", "at_most", 9.0),
     measured("beta_likeness", "beta_basic", "at_most", 8.0)),
    (measured("skewness_attack", "records_exposed", "at_most", 0, gain=9.0),
     measured("skewness_attack", "records_exposed", "at_most", 0, gain=8.0)),
    (measured("disclosure_diversity", "is_pd_recursive", "equals", True, l=1),
     measured("disclosure_diversity", "is_pd_recursive", "equals", True, l=2)),
    (measured("risk_given_releases", "given.utility", "at_least", 1, "register"),
     measured("risk_given_releases", "given.risk_max", "at_most", 1, "register")),
    ({"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": HARM}, "dictionary": "register"},
     {"kind": "optimum", "objective": {"kind": "max_utility", "risk_cap": 1}, "dictionary": "register"}),
    # The rule of least risk that shows everything is the table as it is.
    ({"kind": "optimum", "objective": {"kind": "min_risk", "loss_cap": 0.0}, "dictionary": "register"},
     {"kind": "optimum", "objective": {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 2}]}}),
]  # fmt: skip


@pytest.mark.parametrize(("kept", "asking"), PAIRS)
def test_a_threshold_that_who_is_alone_keeps_reads_nothing(kept: dict[str, Any], asking: dict[str, Any]):
    assert read(kept) == Reading()
    assert read(asking).read


@pytest.mark.parametrize(("values_in_groups", "greatest"), [("free", 1.5), ("bounded", 9.0)])
def test_the_greatest_gain_is_that_of_what_is_bounded(values_in_groups: str, greatest: float):
    """Colds and gout together are four of ten; the one record of gout alone is one."""
    tree = Hierarchy.from_parents({"flu": [None], "cold": ["rare"], "gout": ["rare"], "rare": [None]})
    nested = table(("qi", "s"), [TABLE.hierarchies[0], tree], ROWS, {"s"})
    columns = replace(COLUMNS, worst=WorstCase(AloneRecords(nested), HARM))
    own = {"groups": ["rare"], "values_in_groups": values_in_groups}
    kept = measured("beta_likeness", "beta_basic", "at_most", greatest, **own)
    assert read(kept, columns) == Reading()
    assert read(measured("beta_likeness", "beta_basic", "at_most", greatest - 0.1, **own), columns).read
    asked = {"beta": greatest, "bound": "basic", **own}
    assert read(model("beta_likeness", **asked), columns) == Reading()
    assert read(model("beta_likeness", **asked, beta_negative=0.5), columns).read


def test_a_share_of_all_leaves_only_the_size_of_classes():
    both = read(model("alpha_k_anonymity", alpha=1, k=5))
    assert (both.read, both.tells_apart) == ({"qi"}, {"qi"})
    assert read(model("alpha_k_anonymity", alpha=0.5, k=5)).read == {"qi", "s"}


def test_every_criterion_can_be_asked_of_records_that_are_alone():
    amounts = {"flu": "60", "cold": "30", "gout": "10"}
    rows = [(place, amounts[value]) for place, value in ROWS]
    numbered = table(("qi", "s"), [flat(column) for column in zip(*rows, strict=True)], rows, {"s"})
    alone = AloneRecords(numbered)
    given = {
        "k": 2, "l": 2, "c": 0.5, "t": 0.1, "threshold": 0.5, "beta": 0.5, "delta": 0.5, "alpha": 0.5,
        "sampling_fraction": 0.5, "e": 1.0, "p": 0.9, "epsilon": 0.9,
    }  # fmt: skip
    for type_ in CRITERIA:
        known = {name: given[name] for name in type_.__dataclass_fields__ if name in given}
        # What is asked of values that are perturbed later protects nobody whose values are shown.
        is_of_later = type_ is ReconstructionPrivacy
        failing = type_(**known).failing_alone(alone)
        assert not failing.any() if is_of_later else failing.all(), type_.kind


def test_what_is_asked_of_values_that_are_perturbed_later_covers_no_column():
    demand = model("reconstruction_privacy", p=0.9, epsilon=0.9, delta=0.9)
    assert ReconstructionPrivacy(0.9, 0.9, 0.9).failing(WORST.alone).all()
    assert read(demand) == Reading()
    asked = {"p": 0.9, "epsilon": 0.9, "delta": 0.9}
    assert read(measured("reconstruction_privacy", "is_met", "equals", True, **asked)) == Reading()


def test_the_greatest_loss_is_that_of_who_is_found():
    harm = constant_sensitivity(TABLE, 2.0)
    assert greatest_loss(TABLE, harm, None, RiskModel(), 7) == 2.0
    assert greatest_loss(TABLE, harm, constant_sensitivity(TABLE, 5.0), RiskModel(), 7) == 5.0
    assert greatest_loss(TABLE, harm, None, RiskModel("II"), 7) == 1.0
    assert greatest_loss(TABLE, constant_sensitivity(TABLE, float("inf")), None, RiskModel(), 7) == 0.0


def test_odds_that_change_as_often_as_there_are_records_single_one_out():
    """Among n records alike each is of one in n; a factor of n makes one of them as likely as the rest."""
    n = TABLE.n_records

    def covers(**bound: Any) -> bool:
        demand = {"kind": "guarantee", "model": {"kind": "amplification", **bound}}
        return read({"may_rest_on_assumptions": True, **demand}) != Reading()

    assert covers(gamma={"at_most": n - 0.5})
    assert not covers(gamma={"at_most": n})
    assert covers(local_epsilon={"at_most": 0.99 * math.log(n)})
    assert not covers(local_epsilon={"at_most": math.log(n)})
    assert not covers()


def test_differential_privacy_singles_nobody_out_if_both_numbers_are_small():
    n = TABLE.n_records

    def covers(**bounds: float) -> bool:
        asked = {name: {"at_most": own} for name, own in bounds.items()}
        demand = {"kind": "guarantee", "model": {"kind": "differential_privacy", **asked}}
        return read({"may_rest_on_assumptions": True, **demand}) != Reading()

    assert covers(epsilon=0.99 * math.log(n), delta=0.99 / n)
    assert not covers(epsilon=math.log(n), delta=0.99 / n)
    assert not covers(epsilon=0.99 * math.log(n), delta=1 / n)
