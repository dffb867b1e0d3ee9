"""Weighed losses of rules: random choices, and every rule tried."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from functools import cache

import pytest
from hypothesis import strategies as st

from app.domain.losses.loss import AGGREGATED, OF_ATTRIBUTES, OF_CELLS, LossChoice
from tests.oracles.trees import ByHand

TIE = 1e-12


@st.composite
def choices(
    draw,
    attributes,
    kinds=tuple(kind for kind in OF_ATTRIBUTES if kind != "squared_error"),
    aggregates=("sum", "mean", "maximum", "rank"),
    factors=(0.0, 0.125, 0.5, 0.75, 1.0),
):
    kind = draw(st.sampled_from(kinds))
    asked = [None, *(own for own in aggregates if own != "rank" or len(attributes) > 1)]
    aggregate = draw(st.sampled_from(asked)) if kind in AGGREGATED else None
    factor = draw(st.sampled_from(factors)) if kind in OF_CELLS else 0.5
    weights = draw(st.dictionaries(st.sampled_from(attributes), st.sampled_from([0.0, 0.5, 2.0, 3.0])))
    if not any(weights.get(name, 1.0) for name in attributes):
        weights = {}
    return LossChoice(kind, weights=weights, aggregate=aggregate, suppression_factor=factor)


def at_or_below(tree, node, records):
    """Records whose original is the node or a descendant."""
    return sum(count for original, count in records.items() if tree.is_below(original, node))


def cost(kind, tree, original, shown, records):
    """What a cell costs, from the definition; ``records`` has the records of each original node."""
    leaves = round(tree.share(shown) * len(tree.leaves))
    match kind:
        case "geometric" | "arithmetic" | "squared_error":
            return leaves
        case "ail":
            return leaves if leaves > 1 else 0
        case "precision":
            return 0 if original == shown else tree.height - tree.depth[shown]
        case _:
            return math.log2(at_or_below(tree, shown, records) / at_or_below(tree, original, records))


def costs_by_hand(kind, tree, originals):
    """(original, shown) → what a cell costs, worked out once: it is the same under every rule."""
    records = Counter(originals)
    return cache(lambda original, shown: cost(kind, tree, original, shown, records))


def loss_of_attribute(choice, tree, costs, cells, level):
    """The loss of one attribute from its cells (original, shown, whether suppressed), in the loss's unit."""
    kind, n = choice.kind, len(cells)
    if kind == "height":
        return float(level)
    kept, gone = min(1.0, 2 - 2 * choice.suppression_factor), min(1.0, 2 * choice.suppression_factor)
    total = 0.0
    for original, shown, suppressed in cells:
        own, most = costs(original, shown), costs(original, 0)
        total += own + gone * (most - own) if suppressed else kept * own
    leaves = len(tree.leaves)
    match kind:
        case "geometric" | "arithmetic" | "squared_error":
            return (total - kept * n) / (n * leaves - kept * n) if leaves > 1 else 0.0
        case "ail":
            return total / (n * leaves)
        case "precision":
            return total / (n * tree.height) if tree.height else 0.0
        case _:
            return total


def errors_by_hand(tree, labels, originals):
    """(original, shown) → squared error of a number's cell, worked out once: the same under every rule."""

    @cache
    def number(node):
        own = [float(labels[leaf]) for leaf in tree.leaves if tree.is_below(leaf, node)]
        return sum(own) / len(own)

    @cache
    def error(original, node):
        if original in (node, 0):
            return 0.0
        alike = [number(own) for own in originals if own and tree.is_below(own, node)]
        return (number(original) - sum(alike) / len(alike)) ** 2

    return error


def squared_loss(choice, error, cells):
    """SSE / SST of a number's cells (original, shown, whether suppressed)."""
    kept, gone = min(1.0, 2 - 2 * choice.suppression_factor), min(1.0, 2 * choice.suppression_factor)
    total = 0.0
    for original, shown, suppressed in cells:
        own, most = error(original, shown), error(original, 0)
        total += own + gone * (most - own) if suppressed else kept * own
    whole = sum(error(original, 0) for original, _, _ in cells)
    return total / whole if whole > 1e-9 else 0.0


def value_of(choice, losses, names):
    """What is compared: a tuple, of one number but for a rank."""
    weights = [choice.weights.get(name, 1.0) for name in names]
    weights = [weight * len(weights) / sum(weights) for weight in weights]
    if choice.kind == "geometric":
        return (math.prod((1 + x) ** (w / len(weights)) for x, w in zip(losses, weights, strict=True)) - 1,)
    weighed = [x * w for x, w in zip(losses, weights, strict=True)]
    sums = choice.kind in ("height", "non_uniform_entropy")
    match choice.aggregate or ("sum" if sums else "mean"):
        case "sum":
            return (sum(weighed),)
        case "mean":
            return (sum(weighed) / len(weighed),)
        case "maximum":
            return (max(weighed),)
        case _:
            return tuple(sorted(weighed, reverse=True))


def rules_by_hand(table, problem, trees=None):
    """(levels, value, suppressed records) of every rule that is allowed."""
    trees = trees or [ByHand(tree) for tree in table.hierarchies]
    codes = table.codes.tolist()
    allowed = int(problem.suppression_limit * len(codes) + 1e-9)
    is_number = [
        problem.loss.kind == "squared_error" and name in problem.loss.numeric for name in table.attributes
    ]
    costs = [
        errors_by_hand(tree, hierarchy.labels, originals)
        if number
        else costs_by_hand(problem.loss.kind, tree, originals)
        for tree, hierarchy, number, originals in zip(
            trees, table.hierarchies, is_number, zip(*codes, strict=True), strict=True
        )
    ]
    for levels in itertools.product(*(tree.levels for tree in trees)):
        rows = [
            tuple(tree.at(code, level) for tree, code, level in zip(trees, row, levels, strict=True))
            for row in codes
        ]
        sizes = Counter(rows)
        if min(sizes.values()) < problem.privacy[0].k:
            sizes.pop((0,) * len(trees), None)
        gone = [sizes[row] < problem.privacy[0].k for row in rows]
        if sum(gone) > allowed:
            continue
        losses = []
        for j, tree in enumerate(trees):
            cells = [(own[j], row[j], lost) for own, row, lost in zip(codes, rows, gone, strict=True)]
            if is_number[j]:
                losses.append(squared_loss(problem.loss, costs[j], cells))
            else:
                losses.append(loss_of_attribute(problem.loss, tree, costs[j], cells, levels[j]))
        yield levels, value_of(problem.loss, losses, table.attributes), sum(gone)


def below(value, other):
    """Whether a value is smaller than another by more than rounding."""
    for own, theirs in zip(value, other, strict=True):
        if abs(own - theirs) > TIE * max(1.0, abs(theirs)):
            return own < theirs
    return False


def best_by_hand(rated):
    least = rated[0]
    for rule in rated:
        if below(rule[1], least[1]):
            least = rule
    return min(rule for rule in rated if not below(least[1], rule[1]))


def check_found(found, rated, problem):
    if not rated:
        assert found.status == "infeasible"
        return
    levels, value, suppressed = best_by_hand(rated)
    assert found.status == "optimal"
    assert found.rule.levels == levels
    assert found.loss == pytest.approx(value[0], abs=1e-11)
    assert found.suppressed_records == suppressed
    assert found.bounds.lower == found.loss
    if problem.loss.is_plain:
        assert found.attribute_losses is None
    elif problem.loss.aggregate == "rank":
        told = sorted((loss for _, loss in found.attribute_losses), reverse=True)
        assert told == pytest.approx(value, abs=1e-11)
