"""Losses on random tables: bounds that searches prune by, and every number against loops over records."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.information_loss import INFORMATION_LOSS, InformationLossParameters
from app.domain.classes.released import Release
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice, SummedLoss
from app.domain.losses.released import ReleaseDivergence, ambiguity, shown_cells
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.losses_by_hand import KINDS, TREES, classes_of, divergence_by_hand, tables, value


def check_bounds(table: Table, kind: str, domain: str, seed: int) -> None:
    loss = loss_of(table, LossChoice(kind, domain))
    generator = np.random.default_rng(seed)
    lattice = list(itertools.product(range(3), range(4)))
    is_sum = isinstance(loss, SummedLoss)
    least = {v: loss.of(v) if is_sum else loss.least(v, classes_of(table, v)) for v in lattice}
    for levels in lattice:
        suppressed = generator.random(len(classes_of(table, levels).sizes)) < 0.4
        reached = value(loss, table, levels, suppressed)
        margin = 1e-9 * max(1.0, abs(reached))
        for below in lattice:
            if all(a <= b for a, b in zip(below, levels, strict=True)):
                assert least[below] <= least[levels] + margin
                assert least[below] <= reached + margin, (below, levels)


@pytest.mark.spec("LD-D10", "FM-2")
@settings(max_examples=examples(60))
@given(tables(), st.sampled_from(KINDS), st.sampled_from(["declared", "active"]), st.integers(0, 99))
def test_losses_without_suppression_bound_all_rules_above_whatever_they_suppress(table, kind, domain, seed):
    check_bounds(table, kind, domain, seed)


@pytest.mark.deep
@pytest.mark.parametrize("kind", KINDS)
def test_bounds_of_losses_on_many_tables(kind):
    @settings(max_examples=examples(100), deadline=None)
    @given(tables(), st.sampled_from(["declared", "active"]), st.integers(0, 99))
    def holds(table, domain, seed):
        check_bounds(table, kind, domain, seed)

    holds()


def shown_at_random(table: Table, seed: int) -> np.ndarray:
    """Every cell raised by its own number of steps."""
    generator = np.random.default_rng(seed)
    shown = table.codes.copy()
    for j in range(2):
        tree = table.hierarchies[j]
        for row in range(table.n_records):
            for _ in range(generator.integers(tree.height + 1)):
                shown[row, j] = tree.parent[shown[row, j]]
    return shown


def check_release(table: Table, seed: int, domain: str) -> None:
    shown = shown_at_random(table, seed)
    release = Release(table, CellRule(shown))
    found = ReleaseDivergence(release, (0, 1), (2,), domain).divergences()
    spread, dropped = divergence_by_hand(table, shown, domain == "declared")
    assert found.spread == pytest.approx(spread, abs=1e-12)
    assert found.dropped == pytest.approx(dropped, abs=1e-12)
    leaves = [[len(tree.leaves_of(int(node))) for node in shown[:, j]] for j, tree in enumerate(TREES[:2])]
    assert ambiguity(release.table, release.codes, (0, 1), "declared") == sum(
        map(math.prod, zip(*leaves, strict=True))
    )
    for j in range(2):
        cells = shown_cells(release, j)
        assert cells.cells.sum() == table.n_records
        pairs = Counter(zip(table.codes[:, j].tolist(), shown[:, j].tolist(), strict=True))
        found_pairs = zip(cells.original.tolist(), cells.shown.tolist(), strict=True)
        assert dict(zip(found_pairs, cells.cells.tolist(), strict=True)) == pairs


@pytest.mark.spec("LD-E26")
@settings(max_examples=examples(60))
@given(tables(), st.integers(0, 10**6), st.sampled_from(["declared", "active"]))
def test_releases_of_any_rule_are_reconstructed_from_all_boxes(table, seed, domain):
    check_release(table, seed, domain)


@pytest.mark.deep
@settings(max_examples=examples(1000), deadline=None)
@given(tables(), st.integers(0, 10**6), st.sampled_from(["declared", "active"]))
def test_many_releases_of_any_rule(table, seed, domain):
    check_release(table, seed, domain)


def measured(table: Table, levels: tuple[int, ...]):
    context = MeasureContext(
        table,
        TableRule((*levels, 0)),
        None,
        None,
        None,
        build_utility(table, "depth_sum"),
        MODEL_I,
        "zero",
    )
    return INFORMATION_LOSS.compute(context, InformationLossParameters(), lambda _: None)


@settings(max_examples=examples(40))
@given(tables(), st.integers(0, 2), st.integers(0, 3))
def test_the_measure_of_a_rule_is_the_loss_that_searches_minimise(table, first, second):
    levels = (first, second)
    found = measured(table, levels)
    classes = classes_of(table, levels)
    for kind, own in (
        ("geometric", found.geometric),
        ("arithmetic", found.arithmetic),
        ("precision", found.precision_loss),
        ("ail", found.ail),
        ("height", found.generalisation_height),
        ("non_uniform_entropy", found.non_uniform_entropy),
        ("discernibility", found.discernibility),
        ("average_class_size", found.average_class_size),
        ("ambiguity", found.ambiguity),
        ("kl_divergence", found.kl_divergence),
    ):
        loss = loss_of(table, LossChoice(kind))
        expected = loss.of(levels) if isinstance(loss, SummedLoss) else loss.of(levels, classes)
        assert own == pytest.approx(expected, abs=1e-9), kind
    assert found.ail_of_classes <= found.ail + 1e-12, "what is shown of a class covers its values"
