"""Which classes are suppressed for criteria of the whole table, and what is claimed of the others."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice, LossKind
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.population_uniqueness import PopulationUniqueness, SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.models.suppression import Order
from app.domain.rules.rule import TableRule
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.tables.table import Table


def of_classes(sizes: list[int]) -> Table:
    """One attribute without levels between, with so many records of each value."""
    tree = Hierarchy.from_parents({f"v{i:03}": [None] for i in range(len(sizes))})
    codes = np.repeat(tree.leaves, sizes).astype(np.int32).reshape(-1, 1)
    return Table(("q",), (tree,), codes)


PAIRS_AND_UNIQUES = of_classes([2] * 98 + [1] * 4)


def solved(table: Table, problem: AnonymityProblem) -> AnonymityOutcome:
    plan = least_loss_plan(table, problem)
    return plan.combine({0: plan.run_block(0, lambda _: None)})


@pytest.mark.parametrize(
    "how", [{}, {"local_recoding": True}, {"scope": "record_level"}], ids=["table", "local", "records"]
)
def test_three_of_four_unique_records_go_and_not_the_fourth(how: dict[str, Any]) -> None:
    problem = AnonymityProblem((SampleUniqueness(0.01),), 0.015, **how)
    found = solved(PAIRS_AND_UNIQUES, problem)
    assert (found.loss, found.suppressed_records) == (pytest.approx(0.015), 3)
    assert found.bounds is not None
    assert found.bounds.lower <= 0.015 + 1e-12
    assert found.status == ("heuristic" if how else "optimal")


@pytest.mark.parametrize("loss", ["geometric", "discernibility", "average_class_size"])
def test_the_smallest_classes_are_proved_to_be_the_best_for_an_average(loss: LossKind) -> None:
    # 6 classes of 16 records: without the class of 1 and one of 2 there are 4 of 13, 0.308.
    table = of_classes([1, 2, 2, 3, 4, 4])
    found = solved(table, AnonymityProblem((AverageRisk(0.31),), 0.5, LossChoice(loss)))
    assert (found.status, found.suppressed_records, found.classes) == ("optimal", 3, 4)


@pytest.mark.parametrize(
    "loss",
    [
        LossChoice("arithmetic", aggregate="maximum"),
        LossChoice("arithmetic", aggregate="rank"),
        LossChoice("squared_error", numeric=("x",)),
    ],
    ids=["maximum", "rank", "squared error"],
)
def test_a_loss_that_is_not_bounded_over_all_choices_is_refused_where_there_is_one(loss: LossChoice) -> None:
    tree = Hierarchy.from_parents({str(i): [None] for i in range(4)})
    codes = np.repeat(tree.leaves, [1, 1, 2, 2]).astype(np.int32)
    table = Table(("x", "y"), (tree, tree), np.stack([codes, codes[::-1]], axis=1))
    with pytest.raises(NotSupported, match="best suppressed") as refused:
        solved(table, AnonymityProblem((SampleUniqueness(0.2),), 0.5, loss))
    assert "limit of 0" in (refused.value.remedy or "")
    assert solved(table, AnonymityProblem((SampleUniqueness(0.2),), 0.0, loss)).status == "optimal"


def test_an_estimate_that_is_no_quotient_of_sums_is_never_called_optimal_for_what_it_suppresses() -> None:
    problem = AnonymityProblem((PopulationUniqueness(0.0, 0.5, estimator="zayatz"),), 0.02)
    found = solved(PAIRS_AND_UNIQUES, problem)
    assert found.rule is not None
    assert found.bounds is not None
    assert found.suppressed_records
    assert (found.status, found.bounds.lower) == ("heuristic", 0.0)


@pytest.mark.parametrize("limit", [0.0, 0.004])
def test_where_no_class_may_be_suppressed_every_rule_is_judged_and_the_best_is_proved(limit: float) -> None:
    """A limit of less than a record leaves the rule nothing to choose, however little is known of choices."""
    problem = AnonymityProblem((PopulationUniqueness(0.0, 0.5, estimator="zayatz"),), limit)
    found = solved(PAIRS_AND_UNIQUES, problem)
    assert found.rule is not None
    assert (found.status, found.rule.levels, found.suppressed_records) == ("optimal", (1,), 0)


@pytest.mark.parametrize(("order", "gone"), [("size_by_size", 4), ("class_by_class", 3)])
def test_a_rule_that_does_not_name_the_order_suppresses_size_by_size(order: Order, gone: int) -> None:
    rule = TableRule((0,))
    _, records = suppress_failing(
        PAIRS_AND_UNIQUES, rule, ClassSuppression((SampleUniqueness(0.01),), order=order)
    )
    assert np.count_nonzero(records) == gone
    assert ClassSuppression((SampleUniqueness(0.01),)).order == "size_by_size"


def test_of_equally_large_classes_those_that_disclose_least_go_first() -> None:
    """A record that is shown as a group loses less than one that is shown as it is."""
    tree = Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*"), ("d", "y", "*")])
    code = dict(zip(tree.labels, range(tree.n_nodes), strict=True))
    codes = np.array([[code[label]] for label in ("a", "y", *["b"] * 8)], dtype=np.int32)
    table = Table(("q",), (tree,), codes)
    _, records = suppress_failing(
        table, TableRule((0,)), ClassSuppression((SampleUniqueness(0.12),), order="class_by_class")
    )
    assert np.flatnonzero(records).tolist() == [1]
