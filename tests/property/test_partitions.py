"""BUREL and median cuts against row-wise listings, enumeration and what the paper proves of them."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from app.domain.arrays import Longs
from app.domain.classes.gains import LikenessBound
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.criterion import Criterion
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.judging import JudgedRecords
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import apply
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.partitions.burel import Buckets, bucketise, class_sizes, retrieve
from app.domain.search.partitions.mondrian import Axis, median_cuts
from app.domain.search.solvers import Burel, Mondrian, Solver
from app.domain.tables.table import Table
from tests.oracles import burel_by_hand as by_hand
from tests.oracles.effort import examples

BETAS = ("0.3", "0.5", "1", "1.5", "2", "3", "7", "100")
BOUNDS: tuple[LikenessBound, ...] = ("enhanced", "basic")


def counts_of(rng: np.random.Generator, most: int) -> Longs:
    """Counts of values, with ties as a rule."""
    return np.asarray(rng.integers(1, int(rng.choice([2, 4, 40])), int(rng.integers(1, most + 1))))


def check_buckets(wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        counts = counts_of(rng, 9)
        beta, bound = Fraction(str(rng.choice(BETAS))), BOUNDS[int(rng.integers(2))]
        found = bucketise(counts, beta, bound)
        ours = [np.flatnonzero(found.of_value == own).tolist() for own in range(len(found.sizes))]
        feasible = list(by_hand.all_partitions(counts.tolist(), beta, bound))
        assert sorted(map(sorted, ours)) in [sorted(map(sorted, own)) for own in feasible]
        assert len(ours) == min(map(len, feasible))
        assert found.sizes.tolist() == [int(counts[own].sum()) for own in ours]
        assert found.least.tolist() == [int(counts[own].min()) for own in ours]
        # L7: how many values share a bucket
        gain = float(beta) if bound == "basic" else min(float(beta), -math.log(counts.min() / counts.sum()))
        assert max(map(len, ours)) <= max(1, math.floor(1 + gain + 1e-9))


@pytest.mark.spec("BL-L7")
def test_buckets_are_as_few_as_runs_allow() -> None:
    check_buckets(examples(150), 1)


@pytest.mark.deep
def test_buckets_are_as_few_as_runs_allow_thousands_of_times() -> None:
    check_buckets(3000, 2)


def check_sizes(wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        counts = counts_of(rng, 12) * int(rng.choice([1, 5]))
        beta, bound = Fraction(str(rng.choice(BETAS))), BOUNDS[int(rng.integers(2))]
        k_min = int(rng.choice([1, 1, 3]))
        buckets = bucketise(counts, beta, bound)
        fits = by_hand.within(beta, int(counts.sum()), bound)
        ours = class_sizes(buckets, beta, bound, k_min=k_min).tolist()
        assert ours == by_hand.class_sizes(buckets.sizes.tolist(), buckets.least.tolist(), fits, k_min)
        for rounding in ("half_up", "half_even"):
            other = class_sizes(buckets, beta, bound, rounding, k_min)
            assert other.sum(axis=0).tolist() == buckets.sizes.tolist()
        # Theorem 1: whatever rows of a bucket are taken, be they of one value, no bound is broken.
        for leaf in ours:
            for bucket, taken in enumerate(leaf):
                for value in np.flatnonzero(buckets.of_value == bucket):
                    assert fits(min(taken, int(counts[value])), sum(leaf), int(counts[value]))


@pytest.mark.spec("BL-L2")
def test_sizes_of_classes_are_those_of_the_tree() -> None:
    check_sizes(examples(100), 3)


@pytest.mark.spec("BL-L3")
def test_proportional_draws_from_feasible_buckets_are_eligible() -> None:
    # Lemma 2: the whole table in halves, quarters and so on, where sizes allow.
    for beta in map(Fraction, BETAS):
        buckets = bucketise(np.array([3, 5, 8, 8, 13]) * 64, beta)
        leaves = class_sizes(buckets, beta)
        assert len(leaves) >= 64
        fits = by_hand.within(beta, 37 * 64)
        assert all(
            fits(x, int(leaf.sum()), int(own))
            for leaf in leaves
            for x, own in zip(leaf, buckets.least, strict=True)
        )


def drawn_rows(rng: np.random.Generator) -> tuple[Longs, Longs, Longs]:
    """Buckets of rows, their positions, and the sizes of classes."""
    n, k = int(rng.integers(1, 40)), int(rng.integers(1, 4))
    bucket_of = np.concatenate([np.arange(k), rng.integers(0, k, n)])
    positions = rng.integers(0, int(rng.choice([2, 10, 100])), n + k)
    sizes = np.bincount(bucket_of, minlength=k)
    leaves = class_sizes(Buckets(np.arange(k), sizes, sizes), Fraction(2))
    return bucket_of, positions, leaves


def check_retrieval(wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        bucket_of, positions, leaves = drawn_rows(rng)
        known, ranks = np.unique(positions, return_inverse=True)
        asked = bucket_of, ranks.reshape(-1), known.tolist(), leaves
        first = retrieve(*asked)
        assert first.tolist() == by_hand.retrieved(bucket_of.tolist(), positions.tolist(), leaves.tolist())
        found = retrieve(*asked, np.random.default_rng(int(rng.integers(99))))
        left = set(range(len(positions)))
        for number, leaf in enumerate(leaves.tolist()):
            own = set(np.flatnonzero(found == number).tolist())
            assert own <= left
            made_by = [
                seed
                for seed in sorted(left)
                if leaf[bucket_of[seed]] and own == around(seed, left, leaf, asked)
            ]
            assert made_by, "a class is made around one of the rows that are left"
            left -= own
        assert not left


def around(seed: int, left: set[int], leaf: list[int], asked: tuple[Any, ...]) -> set[int]:
    bucket_of, ranks, known, _ = asked
    found: set[int] = set()
    for bucket, amount in enumerate(leaf):
        rows = [(known[ranks[i]], i) for i in left if bucket_of[i] == bucket]
        found |= {i for _, i in by_hand.nearest(rows, known[ranks[seed]], amount)}
    return found


def test_rows_are_taken_around_one_that_is_left() -> None:
    check_retrieval(examples(60), 4)


@pytest.mark.deep
def test_rows_are_taken_around_one_that_is_left_thousands_of_times() -> None:
    check_retrieval(1500, 5)


def test_each_row_that_is_left_is_as_likely_to_begin_a_class() -> None:
    # Five rows at five places, taken one by one by 400 fixed seeds: the first taken is each in turn.
    leaves = np.ones((5, 1), dtype=np.int64)
    firsts = Counter(
        tuple(
            retrieve(
                np.zeros(5, dtype=np.int64), np.arange(5), [0, 1, 2, 3, 4], leaves, np.random.default_rng(s)
            )
        )
        for s in range(400)
    )
    taken_first = Counter(order.index(0) for order, n in firsts.items() for _ in range(n))
    assert set(taken_first) == set(range(5))
    assert min(taken_first.values()) > 50
    assert len(firsts) > 80


def check_cuts(wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        n, q = int(rng.integers(1, 40)), int(rng.integers(1, 4))
        rows = rng.integers(0, int(rng.choice([2, 5, 30])), (n, q))
        k = int(rng.integers(1, 4))
        spans = [(0.0, float(rng.choice([rows.max() + 1, 100]))) for _ in range(q)]
        expected = by_hand.cut(rows.tolist(), spans, lambda own, k=k: len(own) >= k)
        distinct, inverse, amounts = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        axes = []
        for column, (low, high) in zip(distinct.T, spans, strict=True):
            places, ranks = np.unique(column, return_inverse=True)
            axes.append(Axis(ranks.reshape(-1), places.astype(float), low, high))

        def passes(of: Longs, size: int, amounts: Longs = amounts, k: int = k) -> Any:
            inside = of >= 0
            return np.bincount(of[inside], amounts[inside], size) >= k

        of = median_cuts(axes, amounts, passes)[inverse.reshape(-1)]
        assert [np.flatnonzero(of == own).tolist() for own in range(of.max() + 1)] == expected


def test_median_cuts_are_those_of_the_recursion() -> None:
    check_cuts(examples(100), 6)


TREE = Hierarchy.from_rows(
    [(str(v), f"{v - v % 2}+", f"{v - v % 4}++") for v in range(8)]
)  # two levels of pairs below ⊥
GROUPS = Hierarchy.from_rows([("a", "x"), ("b", "x"), ("c", "y"), ("d", "y"), ("e", "z")])


def random_table(rng: np.random.Generator) -> Table:
    n, m = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    codes = np.empty((n, 3), dtype=np.int32, order="F")
    for j, tree in enumerate((TREE, GROUPS)):
        codes[:, j] = tree.leaves[rng.integers(0, tree.n_leaves, n)]
    values = Hierarchy.from_rows([(f"v{i}",) for i in range(5)])
    codes[:, 2] = values.leaves[rng.integers(0, m, n) if m < 6 else 0]
    return Table(("number", "group", "value"), (TREE, GROUPS, values), codes, sensitive=frozenset({"value"}))


def found(table: Table, privacy: tuple[Criterion, ...], solver: Solver) -> AnonymityOutcome:
    problem = AnonymityProblem(privacy, loss=LossChoice("ail"), scope="record_level")
    plan = least_loss_plan(table, problem, solver=solver)
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def check_rule(table: Table, privacy: tuple[Criterion, ...], outcome: AnonymityOutcome) -> None:
    """The rule generalises, keeps sensitive values, and its classes meet the criteria, ⊥ as one included."""
    assert outcome.rule is not None
    assert outcome.loss is not None
    assert outcome.bounds is not None
    shown = apply(outcome.rule, table)
    for j, tree in enumerate(table.hierarchies):
        assert tree.are_above(shown[:, j], table.codes[:, j]).all()
    assert (shown[:, 2] == table.codes[:, 2]).all()
    classes, of = np.unique(shown[:, :2], axis=0, return_inverse=True)
    judged = JudgedRecords(table, of.reshape(-1).astype(np.int32)).judged(
        np.arange(len(classes)), len(classes)
    )
    assert outcome.classes == len(classes)
    for own in privacy:
        assert own.satisfied(judged)
    assert [own.value for own in outcome.privacy] == [own.attained(judged) for own in privacy]
    assert 0 <= outcome.bounds.lower <= outcome.loss <= 1


def check_plans(wanted: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    for _ in range(wanted):
        table = random_table(rng)
        beta = float(str(rng.choice(BETAS)))
        like = BetaLikeness(beta, BOUNDS[int(rng.integers(2))])
        k = KAnonymity(int(rng.integers(1, table.n_records + 1)))
        solver = Burel(int(rng.integers(9)), slack_margin=[0.0, 0.2, "auto"][int(rng.integers(3))])  # type: ignore[arg-type]
        privacy = (like, k)
        check_rule(table, privacy, found(table, privacy, solver))
        others = (like, k, TCloseness(0.9, "equal"), DistinctLDiversity(1))
        check_rule(table, others, found(table, others, Mondrian()))
        # L5: a class of enough records is β-like, so the whole table always is.
        assert BetaLikeness(0.001).satisfied(
            JudgedRecords(table, np.zeros(table.n_records, dtype=np.int32)).whole
        )


def test_every_rule_meets_its_criteria() -> None:
    check_plans(examples(60), 7)


@pytest.mark.deep
def test_every_rule_meets_its_criteria_thousands_of_times() -> None:
    check_plans(2000, 8)


def test_the_bound_is_below_what_splits_equal_records() -> None:
    # Two pairs of equal records with different values: BUREL may part equals, which recodings do not.
    codes = np.asfortranarray(
        [[TREE.leaves[0], GROUPS.leaves[0], 1 + i % 2] for i in range(8)], dtype=np.int32
    )
    values = Hierarchy.from_rows([("u",), ("v",)])
    table = Table(("number", "group", "value"), (TREE, GROUPS, values), codes, sensitive=frozenset({"value"}))
    outcome = found(table, (BetaLikeness(1.0),), Burel())
    assert (outcome.status, outcome.loss, outcome.classes) == ("optimal", 0.0, 1)


def test_a_halted_search_leaves_all_records_in_one_class() -> None:
    table = random_table(np.random.default_rng(1))
    problem = AnonymityProblem((BetaLikeness(2.0),), scope="record_level")
    for solver in (Burel(), Mondrian()):
        plan = least_loss_plan(table, problem, solver=solver)
        outcome = plan.combine({0: plan.run_block(0, lambda _: None, lambda: True)})
        assert (outcome.status, outcome.classes, outcome.complete) == ("heuristic", 1, False)
        assert (outcome.privacy[0].value, outcome.bounds.lower) == (0, 0)
