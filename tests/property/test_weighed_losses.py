"""Least loss with weights, aggregates and a suppression factor against every rule tried by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.released import Release
from app.domain.criteria.anonymity import KAnonymity
from app.domain.errors import NotSupported
from app.domain.gates.optima import gap_of_loss, loss_of_release
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import AGGREGATED, OF_ATTRIBUTES, OF_CELLS, RANKED, LossChoice
from app.domain.rules.rule import TableRule
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.budget import Budget
from app.domain.search.recoding.plan import RecodingPlan
from app.domain.tables import Table
from app.domain.utility import build_utility
from tests.property.effort import examples
from tests.property.test_anonymity_search import ENGINES, ByHand, searched_by, solved, tables
from tests.property.test_gate_of_found_rules import released

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


NUMBERS = ("0", "10", "11", "-7", "2.5", "100", "3", "20")


@st.composite
def numeric_questions(draw, most_attributes=3, most_records=10):
    """Squared errors of some attributes; trees of numbers, unbalanced, with missing and inner originals."""
    trees = []
    for _ in range(draw(st.integers(1, most_attributes))):
        above = [draw(st.integers(-1, i - 1)) for i in range(draw(st.integers(2, 8)))]
        trees.append(
            Hierarchy.from_parents(
                {NUMBERS[i]: [None if own < 0 else NUMBERS[own]] for i, own in enumerate(above)}
            )
        )
    codes = [
        [draw(st.integers(0, tree.n_nodes - 1)) for tree in trees]
        for _ in range(draw(st.integers(1, most_records)))
    ]
    names = tuple(f"a{j}" for j in range(len(trees)))
    table = Table(names, tuple(trees), np.array(codes, dtype=np.int32))
    numeric = draw(st.lists(st.sampled_from(names), min_size=1, unique=True))
    choice = replace(
        draw(choices(list(names), kinds=("arithmetic",))), kind="squared_error", numeric=tuple(numeric)
    )
    limit = draw(st.sampled_from([0.0, 0.29, 0.5, 1.0]))
    return table, AnonymityProblem((KAnonymity(draw(st.integers(1, 4))),), limit, choice)


@st.composite
def questions(draw, most_attributes=4, most_records=14, **options):
    table = draw(tables(most_attributes, most_records))
    limit = draw(st.sampled_from([0.0, 0.29, 0.5, 1.0]))
    choice = draw(choices(list(table.attributes), **options))
    return table, AnonymityProblem((KAnonymity(draw(st.integers(1, 5))),), limit, choice)


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


def check_optimum(table, problem):
    check_found(solved(table, problem), list(rules_by_hand(table, problem)), problem)


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


@given(questions())
@settings(deadline=None, max_examples=examples(200))
def test_the_optimum_is_that_of_trying_all_rules_whatever_counts_how(question):
    check_optimum(*question)


@pytest.mark.parametrize("engine", ENGINES)
@given(questions(aggregates=("sum", "mean")))
@settings(deadline=None, max_examples=examples(60))
def test_every_search_for_a_sum_finds_the_optimum_with_weights_and_a_factor(engine, question):
    with searched_by(engine):
        check_optimum(*question)


@pytest.mark.parametrize("engine", ENGINES)
@given(numeric_questions())
@settings(deadline=None, max_examples=examples(100))
def test_the_optimum_of_squared_errors_is_that_of_trying_all_rules(engine, question):
    table, problem = question
    with searched_by("lattice" if problem.loss.is_ranked else engine):
        check_optimum(table, problem)


def line_table(records, *groups):
    """Records of numbers; per attribute which numbers are under a and which under b."""
    trees = tuple(
        Hierarchy.from_rows(
            [[number, name, "*"] for name, own in zip("ab", group, strict=True) for number in own]
        )
        for group in groups
    )
    codes = [
        tree.encode(list(column))[0] for tree, column in zip(trees, zip(*records, strict=True), strict=True)
    ]
    return Table(("a", "b"), trees, np.stack(codes, axis=1))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "table",
    [
        line_table(
            [("49", "0"), ("50", "50"), ("100", "48"), ("90", "90")],
            (("49",), ("90", "100", "0", "50")),
            (("48", "90"), ("50", "0")),
        ),
        line_table(
            [("49", "48"), ("90", "48"), ("90", "50"), ("51", "50"), ("0", "10")],
            (("90", "0", "49"), ("10", "51")),
            (("10", "49", "50"), ("51", "48")),
        ),
    ],
)
def test_an_optimum_is_found_that_loses_less_because_it_suppresses(engine, table):
    """The rule loses more as long as nobody is suppressed than another one does that is allowed."""
    choice = LossChoice("squared_error", numeric=("a", "b"))
    with searched_by(engine):
        check_optimum(table, AnonymityProblem((KAnonymity(2),), 0.5, choice))


@pytest.mark.deep
@given(numeric_questions(4, 30))
@settings(deadline=None, max_examples=examples(600))
def test_the_optimum_of_squared_errors_is_that_of_trying_all_rules_at_length(question):
    check_optimum(*question)


@given(numeric_questions())
@settings(deadline=None, max_examples=examples(60))
def test_squared_errors_are_the_same_at_the_gate(question):
    table, problem = question
    if problem.loss.aggregate == "rank":
        return
    problem = replace(problem, loss=replace(problem.loss, suppression_factor=0.5))
    release, outcome = released(table, problem)
    if release is not None:
        told = loss_of_release(release, problem.loss, build_utility(table, "depth_sum", {}, {}))
        assert told == pytest.approx(outcome.loss, abs=1e-9)


@pytest.mark.deep
@given(questions(5, 40))
@settings(deadline=None, max_examples=examples(600))
def test_the_optimum_is_that_of_trying_all_rules_at_length(question):
    check_optimum(*question)


@given(questions(kinds=("arithmetic", "height", "precision"), aggregates=tuple(RANKED)), st.integers(1, 30))
@settings(deadline=None, max_examples=examples(100))
def test_a_ranked_search_that_is_stopped_gives_an_allowed_rule_and_a_true_bound(question, most_nodes):
    table, problem = question
    rated = {levels: value for levels, value, _ in rules_by_hand(table, problem)}
    found = solved(table, problem, Budget(max_nodes=most_nodes))
    if not rated:
        assert found.status in ("infeasible", "heuristic")
        return
    least = min(value[0] for value in rated.values())
    assert found.bounds.lower <= least + 1e-11
    if found.rule is not None:
        assert found.loss == pytest.approx(rated[found.rule.levels][0], abs=1e-11)
        assert found.loss == pytest.approx(found.bounds.lower + found.bounds.gap, abs=1e-12)


@given(questions(aggregates=("sum", "mean", "maximum"), factors=(0.5,)))
@settings(deadline=None, max_examples=examples(100))
def test_a_rule_for_the_table_loses_at_the_gate_what_its_search_said(question):
    table, problem = question
    release, outcome = released(table, problem)
    if release is None:
        return
    utility = build_utility(table, "depth_sum", {}, {})
    assert gap_of_loss(release, problem, utility, outcome.bounds.lower) <= 1e-9
    if problem.loss.kind != "height":
        assert loss_of_release(release, problem.loss, utility) == pytest.approx(outcome.loss, abs=1e-9)


@given(questions(aggregates=("sum", "mean"), factors=(0.5,)))
@settings(deadline=None, max_examples=examples(100))
def test_a_rule_of_single_records_loses_at_the_gate_what_its_search_said(question):
    table, problem = question
    asked = replace(problem, scope="record_level")
    plan = RecodingPlan(table, asked)
    found = plan.combine({0: plan.run_block(0, lambda _: None)})
    if found.loss is None:
        return
    assert found.bounds.lower <= found.loss
    best = min((value[0] for _, value, _ in rules_by_hand(table, problem)), default=math.inf)
    assert found.loss <= best + 1e-9
    if not isinstance(found.rule, TableRule):
        assert found.attribute_losses is None
        told = loss_of_release(
            Release(table, found.rule), problem.loss, build_utility(table, "depth_sum", {}, {})
        )
        assert found.loss == pytest.approx(told, abs=1e-9)


@pytest.mark.parametrize("option", [{"aggregate": "rank"}, {"suppression_factor": 0.4}])
def test_what_is_no_figure_of_a_release_is_not_judged_at_the_gate(option):
    tree = Hierarchy.from_parents({"x": [None], "y": [None]})
    table = Table(("a", "b"), (tree, tree), np.array([[1, 1], [2, 2]], dtype=np.int32))
    with pytest.raises(NotSupported):
        loss_of_release(
            Release(table, TableRule((0, 0))),
            LossChoice("precision", **option),
            build_utility(table, "depth_sum", {}, {}),
        )
