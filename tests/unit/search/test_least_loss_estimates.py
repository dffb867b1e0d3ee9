"""How long searches for the least loss are said to take, as far as that does not depend on the machine."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.estimates import rules_at_boundary
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table

TREE = Hierarchy.from_rows([[f"{i}", f"{i // 2}x", f"{i // 4}y", "*"] for i in range(8)])


def table(missing=0.0):
    random = np.random.default_rng(1)
    codes = TREE.leaves[random.integers(0, 8, (2_000, 5))].astype(np.int32)
    codes[random.random(2_000) < missing, 0] = TOP
    return Table(tuple("abcde"), (TREE,) * 5, codes)


def seconds(own, loss="geometric", missing="own_category", limit=0.05):
    return AnonymityPlan(own, AnonymityProblem((KAnonymity(5),), limit, LossChoice(loss), missing)).seconds


@pytest.mark.parametrize("loss", ["discernibility", "average_class_size", "ambiguity", "kl_divergence"])
@pytest.mark.parametrize("limit", [0.0, 0.05])
def test_losses_of_classes_take_several_times_as_long(loss, limit):
    assert seconds(table(), loss, limit=limit) > 2 * seconds(table(), limit=limit)


def test_the_more_may_be_suppressed_the_longer_takes_the_least_average_class_size():
    of_limits = [seconds(table(), "average_class_size", limit=limit) for limit in (0.01, 0.05, 0.3)]
    assert of_limits[0] < of_limits[1] < of_limits[2]
    # Discernibility and ambiguity tell how many suppressed records are too many, whatever is allowed.
    for loss in ("discernibility", "ambiguity"):
        assert seconds(table(), loss, limit=0.3) < 1.5 * seconds(table(), loss, limit=0.01)


def test_few_records_take_little_time_as_far_as_something_must_be_disclosed():
    few = replace(table(), codes=table().codes[:20])
    assert (
        seconds(few, "average_class_size", limit=0.3) < seconds(table(), "average_class_size", limit=0.3) / 5
    )
    # If nothing has to be disclosed, hardly a rule loses much more than all records suppressed.
    assert seconds(few, "average_class_size", limit=1.0) > 3 * seconds(few, "average_class_size", limit=0.3)


def test_rules_at_the_boundary_are_the_most_general_that_are_expected_to_fail():
    kinds = np.prod(np.meshgrid(*[[8, 4, 2, 1]] * 5, indexing="ij"), axis=0)
    found = [rules_at_boundary(table(), crowds) for crowds in (1.0, 20.0, 400.0, 30_000.0, 1e6)]
    assert found[0] == 1 < found[1] < found[2] > found[3] > found[4] == 0
    # Of values that are drawn alike these are the rules of just so many kinds of records.
    assert found[1] == pytest.approx(np.count_nonzero(kinds == 8), rel=0.3)
    assert found[2] == pytest.approx(np.count_nonzero(kinds == 256), rel=0.3)


def test_a_search_among_alike_attributes_takes_longer_between_few_classes_and_many():
    few, some = (replace(table(), codes=table().codes[:n]) for n in (20, 400))
    assert seconds(few, limit=0.0) < seconds(some, limit=0.0) / 3


def test_a_value_missing_here_and_there_makes_a_search_little_longer():
    some = table(0.02)
    matching = seconds(some, missing="matches_everything")
    assert seconds(some) < matching < 4 * seconds(some)


def test_comparing_losses_takes_seconds_on_a_million_rules_and_ranks_longer_than_the_greatest():
    """Measured on 777,600 rules of up to 30,162 records: 0.6 to 1.5 s, and 4 to 37 s."""
    codes = np.concatenate([table().codes, table().codes[::-1]], axis=1)
    large = Table(tuple("abcdefghij"), (TREE,) * 10, codes)
    of = {
        aggregate: AnonymityPlan(
            large, AnonymityProblem((KAnonymity(5),), 0.04, LossChoice("arithmetic", aggregate=aggregate))
        )
        for aggregate in ("maximum", "rank")
    }
    assert of["maximum"].units == 4**10
    assert 0.5 < of["maximum"].seconds < 3
    assert 4 < of["rank"].seconds < 80


def test_attributes_that_are_alike_refute_little():
    alike, codes = table(), table().codes.copy()
    for j in range(5):
        # From all eight leaves down to four of them.
        codes[codes[:, j] > TREE.leaves[7 - j], j] = TREE.leaves[0]
    other = replace(alike, codes=codes)
    for loss in ("geometric", "discernibility"):
        assert seconds(alike, loss, limit=0.0) > 2 * seconds(other, loss, limit=0.0)
