"""How long searches for the least loss are said to take, as far as that does not depend on the machine."""

from __future__ import annotations

import numpy as np
import pytest

from app.domain.criteria.anonymity import KAnonymity
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.search.anonymity.plan import AnonymityPlan
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.tables import Table

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
def test_losses_of_classes_take_several_times_as_many_rules(loss, limit):
    assert seconds(table(), loss, limit=limit) > 3 * seconds(table(), limit=limit)


def test_a_value_missing_here_and_there_makes_a_search_little_longer():
    some = table(0.02)
    matching = seconds(some, missing="matches_everything")
    assert seconds(some) < matching < 4 * seconds(some)
