"""Least loss under k-anonymity: tables of random trees, and every rule tried."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.budget import UNLIMITED
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.search_instances import hierarchies
from tests.oracles.trees import ByHand


@st.composite
def tables(draw, most_attributes=4, most_records=14):
    """Missing, inner and leaf values; unbalanced trees; hierarchies of ⊥ alone."""
    trees = [
        Hierarchy(("*",), ((),)) if draw(st.integers(0, 9)) == 0 else draw(hierarchies())
        for _ in range(draw(st.integers(1, most_attributes)))
    ]
    n = draw(st.integers(1, most_records))
    codes = [[draw(st.integers(0, tree.n_nodes - 1)) for tree in trees] for _ in range(n)]
    names = tuple(f"a{j}" for j in range(len(trees)))
    return Table(names, tuple(trees), np.array(codes, dtype=np.int32).reshape(n, len(trees)))


@st.composite
def problems(draw):
    limit = draw(st.sampled_from([0.0, 0.0, 0.1, 0.29, 0.5, 1.0]))
    kind = draw(st.sampled_from(["geometric", "arithmetic"]))
    return AnonymityProblem((KAnonymity(draw(st.integers(1, 6))),), limit, LossChoice(kind))


def rules_by_hand(table, problem):
    """(levels, loss, suppressed records, sizes of the remaining classes) of every rule.

    A rule that suppresses anybody suppresses whoever shows nothing, too.
    """
    trees = [ByHand(tree) for tree in table.hierarchies]
    n = len(table.codes)
    for levels in itertools.product(*(range(tree.height + 1) for tree in trees)):
        rows = [
            tuple(tree.at(code, level) for tree, code, level in zip(trees, row, levels, strict=True))
            for row in table.codes.tolist()
        ]
        sizes = Counter(rows)
        k = problem.privacy[0].k
        if min(sizes.values()) < k:
            sizes.pop((0,) * len(trees), None)
        kept = [row for row in rows if sizes[row] >= k]
        losses = []
        for j, tree in enumerate(trees):
            leaves = len(tree.leaves)
            shares = sum(tree.share(row[j]) for row in kept) + (n - len(kept))
            losses.append((shares - n / leaves) / (n - n / leaves) if leaves > 1 else 0.0)
        if problem.loss.kind == "geometric":
            loss = math.prod(1 + x for x in losses) ** (1 / len(losses)) - 1
        else:
            loss = sum(losses) / len(losses)
        yield levels, loss, n - len(kept), [size for size in sizes.values() if size >= k]


def best_by_hand(table, problem):
    """The least loss, smallest levels first among what differs by rounding only; None if none is allowed."""
    allowed = int(problem.suppression_limit * len(table.codes) + 1e-9)
    rated = [rule for rule in rules_by_hand(table, problem) if rule[2] <= allowed]
    if not rated:
        return None
    least = min(loss for _, loss, _, _ in rated)
    return min(rule for rule in rated if rule[1] <= least + 1e-12)


def solved(table, problem, budget=UNLIMITED, halted=lambda: False):
    plan = AnonymityPlan(table, problem, budget)
    return plan.combine({0: plan.run_block(0, lambda _: None, halted)})
