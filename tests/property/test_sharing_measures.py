"""Best plans, and answers to invitations, among people with values in uneven trees, against all there are."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from app.domain.analyses.sharing_measures import (
    SHARING_PLAN,
    SHARING_RECOMMENDATION,
    InvitationParameters,
    PlanParameters,
)
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table


def context_of(table: Table, **others: MeasureContext) -> MeasureContext:
    sensitivity = build_sensitivity(table, "linear", {name: LeafWeights(1.0) for name in table.attributes})
    utility = build_utility(table)
    return MeasureContext(table, None, None, sensitivity, None, utility, MODEL_I, "zero", others=others)


def pairs_of(rows: list[tuple[str, str]]) -> MeasureContext:
    names = Hierarchy.from_parents({name: [None] for name in sorted({end for row in rows for end in row})})
    codes = np.array([[names.node_of(end) for end in row] for row in rows], dtype=np.int32)
    return context_of(Table(("a", "b"), (names, names), codes))


def chain(tree: Hierarchy, node: int) -> list[int]:
    """A value and its ancestors up to ⊥."""
    return [node] if node == 0 else [node, *chain(tree, int(tree.parent[node]))]


@pytest.mark.parametrize("seed", range(60))
def test_answers_are_the_best_of_all_for_profiles_in_uneven_trees(seed):
    rng = np.random.default_rng(seed)
    people, cap = int(rng.integers(4, 12)), float(rng.choice([0.0, 0.2, 0.5, 1.0]))
    trees = tuple(
        Hierarchy.from_parents(
            {f"v{i}": [f"v{rng.integers(0, i)}" if i and rng.random() < 0.7 else None] for i in range(8)}
        )
        for _ in range(3)
    )
    codes = np.stack([rng.integers(0, tree.n_nodes, people) for tree in trees], axis=1).astype(np.int32)
    ids = np.array([f"p{i}" for i in range(people)], dtype=object)
    table = Table(("x", "y", "z"), trees, codes, entity_ids=ids)
    # Two more people have edges and no profile.
    friends = {
        frozenset((f"p{a}", f"p{b}"))
        for a, b in rng.integers(0, people + 2, (4 * people, 2)).tolist()
        if a != b
    }
    known = {f"p{i}" for i in range(people)} | {end for pair in friends for end in pair}
    invited = [
        (f"p{a}", f"p{b}") for a in range(people) for b in range(people + 2) if a != b and f"p{b}" in known
    ]
    others = {"edges": pairs_of([tuple(sorted(pair)) for pair in friends]), "pairs": pairs_of(invited)}
    context, ticks = context_of(table, **others), list[int]()
    asked = InvitationParameters(
        source="a", target="b", edges="edges", pairs="pairs", risk_cap=cap, most=1000
    )
    found = SHARING_RECOMMENDATION.compute(context, asked, ticks.append)
    assert (found.invitations, found.unproven) == (len(invited), 0)
    assert sorted((str(own.person), str(own.inviter)) for own in found.answers) == sorted(invited)
    profiles = {f"p{i}": row for i, row in enumerate(codes.tolist())}

    def score(person: str, common: list[str], levels: tuple[int, ...]) -> tuple[float, float]:
        shown = [
            chain(tree, v)[level] for tree, v, level in zip(trees, profiles[person], levels, strict=True)
        ]
        xi = sum(
            all(
                tree.is_above(a, b)
                for tree, a, b in zip(trees, shown, profiles.get(one, [0] * 3), strict=True)
            )
            for one in common
        )
        row = np.array([shown], dtype=np.int32)
        phi = float(context.sensitivity.phi(row)[0])
        return float(context.utility.of(row)[0]), phi / xi if xi else (np.inf if phi else 0.0)

    for answer in found.answers:
        person, inviter, given = str(answer.person), str(answer.inviter), answer.recommendation
        common = [one for one in known if {frozenset((one, person)), frozenset((one, inviter))} <= friends]
        depths = [len(chain(tree, v)) for tree, v in zip(trees, profiles[person], strict=True)]
        scores = {levels: score(person, common, levels) for levels in product(*map(range, depths))}
        utility, risk = scores[given.shown.levels]
        assert given.common_friends == len(common)
        assert (given.shown.utility, given.shown.risk) == pytest.approx((utility, risk))
        if given.accepted:
            assert utility == max(u for u, r in scores.values() if r <= cap + 1e-9)
        else:
            assert not common or min(r for _, r in scores.values()) > cap


@pytest.mark.parametrize("seed", range(60))
def test_plans_are_the_best_of_all_plans(seed):
    """Of two pairs and two attributes; nothing is known of trust, so that f is 1/2."""
    rng = np.random.default_rng(seed)
    trees = tuple(
        Hierarchy.from_parents({f"v{i}": [f"v{i - 1}" if i % height else None] for i in range(2 * height)})
        for height in rng.integers(1, 4, 2)
    )
    codes = np.stack([rng.integers(0, tree.n_nodes, 3) for tree in trees], axis=1).astype(np.int32)
    table = Table(("x", "y"), trees, codes, entity_ids=np.array(["p0", "p1", "p2"], dtype=object))
    pairs = [("p0", "p1"), ("p2", "p0")]
    context = context_of(table, pairs=pairs_of(pairs))
    weights = [
        float(context.sensitivity.weights(k, codes[owner : owner + 1, k])[0])
        for owner in (0, 2)
        for k in range(2)
    ]
    cells = [range(tree.height + 1) for _ in pairs for tree in trees]
    scores = [
        (sum(w * level for w, level in zip(weights, plan, strict=True)) / 2, float(sum(plan)))
        for plan in product(*cells)
    ]
    bound = float(rng.choice([0.2, 0.5, 1.0, 2.0]))
    usual = {"source": "a", "target": "b", "pairs": "pairs", "method": "exact"}
    for aim, best in (
        ("trade_off", min(loss - bound * utility for loss, utility in scores)),
        ("loss_cap", max(utility for loss, utility in scores if loss <= bound + 1e-9)),
        ("utility_floor", min(loss for loss, utility in scores if utility >= bound - 1e-9)),
    ):
        found = SHARING_PLAN.compute(context, PlanParameters(**usual, **{aim: bound}), lambda done: None)
        value = {"trade_off": found.loss - bound * found.utility, "loss_cap": found.utility}.get(
            aim, found.loss
        )
        assert (value, found.is_optimal) == (pytest.approx(best), True)
