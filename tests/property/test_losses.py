"""Losses on random tables: bounds that searches prune by, and every number against loops over records."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass
from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.released import Release
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.kl_release import ReleaseDivergence
from app.domain.losses.loss import LossChoice, LossKind
from app.domain.losses.released import ambiguity, shown_cells
from app.domain.measures.entry import MeasureContext
from app.domain.measures.information_loss import INFORMATION_LOSS, InformationLossParameters
from app.domain.risk.models import MODEL_I
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.tables import Table
from app.domain.utility import build_utility
from tests.property.effort import examples

BALANCED = Hierarchy.from_parents(
    {"u": [None], "v": [None], "a": ["u"], "b": ["u"], "c": ["v"], "d": ["v"], "e": ["v"]}
)
SHALLOW = Hierarchy.from_parents({"w": [None], "x": ["w"], "p": ["x"], "q": ["x"], "r": ["w"], "s": [None]})
ILLNESS = Hierarchy.from_parents({"1": [None], "2": [None], "3": ["2"], "4": ["2"]})
TREES = (BALANCED, SHALLOW, ILLNESS)


@dataclass(frozen=True)
class Classes:
    sizes: np.ndarray
    of_row: np.ndarray


@st.composite
def tables(draw):
    """Records over three trees, the last attribute sensitive: leaves, nodes above them and missing values."""
    rows = draw(st.integers(1, 14))
    columns = []
    for tree in TREES:
        # Most tables have leaves alone in some of their attributes.
        values = draw(st.sampled_from([tree.leaves.tolist(), [TOP, *tree.leaves], range(tree.n_nodes)]))
        columns.append(draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows)))
    codes = np.array(columns, dtype=np.int32).T
    return Table(("x", "y", "s"), TREES, codes, sensitive=frozenset({"s"}))


def classes_of(table: Table, levels: tuple[int, ...]) -> Classes:
    shown = apply(TableRule((*levels, 0)), table)[:, :2]
    _, of_record = np.unique(shown, axis=0, return_inverse=True)
    of_row = np.empty(table.reduced.size, dtype=np.intp)
    of_row[table.reduced.inverse] = of_record.reshape(-1)
    return Classes(np.bincount(of_record.reshape(-1)).astype(np.int64), of_row)


def value(loss, table: Table, levels: tuple[int, ...], suppressed: np.ndarray | None) -> float:
    """Loss of a rule that suppresses some of its classes."""
    classes = classes_of(table, levels)
    if not loss.separable:
        return loss.of(levels, classes, suppressed)
    if suppressed is None:
        return loss.of(levels)
    out, reduced = suppressed[classes.of_row], table.reduced
    per_node = [
        [int(reduced.counts[out & (reduced.codes[:, j] == node)].sum()) for node in nodes]
        for j, nodes in enumerate(loss.nodes)
    ]
    added = loss.added([np.array(counts, dtype=np.int64) for counts in per_node])
    terms = [float(loss.terms(j, a)[v]) for j, (a, v) in enumerate(zip(added, levels, strict=True))]
    assert loss.of(levels, added) == pytest.approx(loss.of_sum(math.fsum(terms)), abs=1e-9)
    return loss.of(levels, added)


def check_bounds(table: Table, kind: str, domain: str, seed: int) -> None:
    loss = loss_of(table, LossChoice(kind, domain))
    generator = np.random.default_rng(seed)
    lattice = list(itertools.product(range(3), range(4)))
    least = {v: loss.of(v) if loss.separable else loss.least(v, classes_of(table, v)) for v in lattice}
    for levels in lattice:
        suppressed = generator.random(len(classes_of(table, levels).sizes)) < 0.4
        reached = value(loss, table, levels, suppressed)
        margin = 1e-9 * max(1.0, abs(reached))
        for below in lattice:
            if all(a <= b for a, b in zip(below, levels, strict=True)):
                assert least[below] <= least[levels] + margin
                assert least[below] <= reached + margin, (below, levels)


# Squared errors may fall by suppression; the searches that minimise them allow for it.
KINDS = tuple(kind for kind in get_args(LossKind) if kind != "squared_error")


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


def divergence_by_hand(table: Table, shown: np.ndarray, declared: bool) -> tuple[float, float]:
    """Spread and dropped, from the sets of values that every box holds; ⊥ of an original is a category.

    The sensitive values of who is withheld are known.
    """
    withheld = [not (row[:2]).any() for row in shown]
    kept_rows = [row for row, out in enumerate(withheld) if not out]
    everywhere = [bool(kept_rows) and not shown[kept_rows, j].any() for j in range(3)]

    def categories(j):
        leaves = set(table.hierarchies[j].leaves.tolist()) if declared else set()
        return leaves | set(table.codes[:, j].tolist())

    def holds(row, j):
        if everywhere[j]:
            return categories(j)
        tree, own = table.hierarchies[j], int(table.codes[row, j])
        hides = withheld[row] and j < 2
        cell = own if withheld[row] and not hides else int(shown[row, j])
        if cell == own == TOP and not hides:
            return {TOP}
        return {v for v in categories(j) if tree.is_above(cell, v)}

    boxes = [[holds(row, j) for j in range(3)] for row in range(len(shown))]
    n, kept = len(shown), len(shown) - sum(withheld)
    spread = dropped = 0.0
    for x, count in Counter(map(tuple, table.codes.tolist())).items():
        inside = [row for row in range(n) if all(x[j] in boxes[row][j] for j in range(3))]
        masses = {row: 1 / math.prod(len(own) for own in boxes[row]) for row in inside}
        spread += count / n * math.log(count / sum(masses.values()))
        left = sum(mass for row, mass in masses.items() if not withheld[row])
        dropped += count / n * math.log(count / n / (left / kept)) if left else math.inf
    return spread, dropped


def check_release(table: Table, seed: int, domain: str) -> None:
    shown = shown_at_random(table, seed)
    release = Release(table, CellRule(shown))
    found = ReleaseDivergence(release, (0, 1), (2,), domain).divergences()
    spread, dropped = divergence_by_hand(table, shown, domain == "declared")
    assert found.spread == pytest.approx(spread, abs=1e-12)
    assert found.dropped == pytest.approx(dropped, abs=1e-12)
    leaves = [[len(tree.leaves_of(int(node))) for node in shown[:, j]] for j, tree in enumerate(TREES[:2])]
    assert ambiguity(release, (0, 1), "declared") == sum(map(math.prod, zip(*leaves, strict=True)))
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
        expected = loss.of(levels) if loss.separable else loss.of(levels, classes)
        assert own == pytest.approx(expected, abs=1e-9), kind
    assert found.ail_of_classes <= found.ail + 1e-12, "what is shown of a class covers its values"
