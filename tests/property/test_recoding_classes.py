"""Levels per record for losses of classes and criteria of populations, against all recodings by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.losses.loss import LossChoice
from app.domain.models.delta_presence import DELTA_PRESENCE, DeltaPresence
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.journalist_risk import AverageJournalistRisk, HighestJournalistRisk, MarketerRisk
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import K_MAP, KMap
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import TableRule
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.bounds import bound_of
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.class_losses import recoding_loss_of
from app.domain.search.local_recoding.course import Course
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.populations import computed, context_of
from tests.oracles.recodings import CHAIN, ILLNESS, SMALL, above, leaves_under, passes, shown_by, tables

MEASURED = {
    "geometric": "geometric",
    "height": "generalisation_height",
    "discernibility": "discernibility",
    "average_class_size": "average_class_size",
    "ambiguity": "ambiguity",
    "kl_divergence": "kl_divergence",
}
CLASS_LOSSES = tuple(MEASURED)[1:]
POPULATIONS = (
    KMap(2),
    KMap(3),
    KMap(6),
    DeltaPresence(0, 0.5),
    DeltaPresence(0.3, 0.8),
    DeltaPresence(0, 0.75),
    HighestJournalistRisk(0.4),
    AverageJournalistRisk(0.35),
    MarketerRisk(0.4),
)
OTHERS = (
    KAnonymity(1),
    KAnonymity(2),
    DistinctLDiversity(l=2),
    TCloseness(t=0.4),
    AverageRisk(threshold=0.5),
)


@st.composite
def worlds(draw, tree, most_records, most_people=9):
    """A table of leaves of two trees with a sensitive attribute, and a population."""
    leaves = [SMALL.leaves.tolist(), tree.leaves.tolist()]
    n = draw(st.integers(1, most_records))
    codes = [[*(draw(st.sampled_from(own)) for own in leaves), draw(st.integers(1, 2))] for _ in range(n)]
    names = ("a0", "a1", "illness")
    array = np.array(codes, dtype=np.int32)
    table = Table(names, (SMALL, tree, ILLNESS), array, sensitive=frozenset({"illness"}))
    # Mostly the people of the table are among them.
    people = [row[:2] for row in codes[: draw(st.integers(0, n))]]
    people += [
        [draw(st.sampled_from(own)) for own in leaves]
        for _ in range(draw(st.integers(0 if people else 1, most_people)))
    ]
    links = tuple(
        link_nodes(name, own, np.array([person[j] for person in people], dtype=np.int32))
        for j, (name, own) in enumerate(zip(names[:2], (SMALL, tree), strict=True))
    )
    return table, Dictionary(len(people), links), people


@st.composite
def problems(draw, scope="record_level", local=False):
    of_people = draw(st.lists(st.sampled_from(POPULATIONS), max_size=2, unique=True))
    others = draw(st.lists(st.sampled_from(OTHERS), min_size=not of_people, max_size=2, unique=True))
    return AnonymityProblem(
        (*of_people, *others),
        draw(st.sampled_from([0.0, 0.25, 0.5, 1.0])),
        LossChoice(draw(st.sampled_from(tuple(MEASURED)))),
        suppressed=draw(st.sampled_from(["excluded", "own_block"])),
        scope=scope,
        local_recoding=local,
    )


def solved(plan_type, table, problem, dictionary, budget=UNLIMITED):
    plan = plan_type(table, problem, budget, dictionary)
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def level_of(tree, node):
    return tree.height - (len(above(tree, node)) - 1)


def shown_at(tree, node, level):
    return next(
        own for own in above(tree, node) if level_of(tree, own) >= level or level_of(tree, own) == tree.height
    )


def people_of(table, people, row):
    """People who may be disclosed as a row is."""
    trees = table.hierarchies[:2]
    return sum(
        all(node in above(tree, own) for tree, node, own in zip(trees, row, person, strict=True))
        for person in people
    )


def is_present(table, people, shown, criterion, judged):
    """Whether shares of the people of each tuple are in bounds, which takes one rule for all disclosed."""
    levels, trees = [], table.hierarchies[:2]
    for j, tree in enumerate(trees):
        of_all = [
            level
            for level in range(tree.height + 1)
            if all(
                shown_at(tree, own, level) == row[j]
                for row, own in zip(shown, table.codes[:, j].tolist(), strict=True)
                if any(row)
            )
        ]
        if not of_all:
            return False
        levels.append(of_all[0])

    def tuple_of(row):
        return tuple(
            shown_at(tree, node, level) for tree, node, level in zip(trees, row, levels, strict=True)
        )

    if criterion.lower > 0:
        found = {tuple_of(row) for row in table.codes[:, :2].tolist()}
        if any(tuple_of(person) not in found for person in people):
            return False
    return all(
        criterion.lower - 1e-9
        <= len(own) / max(len(own), people_of(table, people, row))
        <= criterion.upper + 1e-9
        for row, own in judged.items()
    )


def is_hidden(table, people, criterion, classes):
    """Whether records of classes are found among the people with no higher probability."""
    among = {row: max(len(own), people_of(table, people, row)) for row, own in classes.items()}
    if not among:
        return True
    risks = [1 / among[row] for row, own in classes.items() for _ in own]
    mean = sum(risks) / len(risks)
    match criterion:
        case HighestJournalistRisk():
            risk = max(risks)
        case AverageJournalistRisk():
            risk = max(mean, len(among) / sum(among.values()))
        case _:
            risk = mean
    return risk <= criterion.threshold + 1e-9


def meets(problem, table, people, shown):
    """Whether disclosed quasi-identifiers, a tuple per record, meet all criteria and the limit."""
    values = table.codes[:, -1].tolist()
    whole = Counter(values)
    suppressed = [not any(row) for row in shown]
    if sum(suppressed) > math.floor(problem.suppression_limit * len(shown) + 1e-9):
        return False
    classes: dict[tuple[int, ...], list[int]] = {}
    for i, row in enumerate(shown):
        if any(row) or problem.suppressed == "own_block":
            classes.setdefault(row, []).append(values[i])
    disclosed = {row: own for row, own in classes.items() if any(row)}
    for criterion in problem.privacy:
        match criterion:
            case KMap():
                if any(
                    max(len(own), people_of(table, people, row)) < criterion.k for row, own in classes.items()
                ):
                    return False
            case HighestJournalistRisk() | AverageJournalistRisk() | MarketerRisk():
                if not all(is_hidden(table, people, criterion, kept) for kept in (disclosed, classes)):
                    return False
            case DeltaPresence():
                if not is_present(table, people, shown, criterion, classes):
                    return False
            case AverageRisk():
                for kept in (disclosed, classes):
                    if kept and len(kept) / sum(map(len, kept.values())) > criterion.threshold + 1e-9:
                        return False
            case _:
                if not all(passes(criterion, own, whole) for own in classes.values()):
                    return False
    return True


def loss_by_hand(table, shown, kind):
    """The loss of a release, by its definition."""
    trees, n = table.hierarchies[:2], len(shown)
    kept = [row for row in shown if any(row)]
    sizes = Counter(kept)
    suppressed = n - len(kept)
    raw = [tuple(row) for row in table.codes[:, :2].tolist()]
    match kind:
        case "discernibility":
            return sum(size**2 for size in sizes.values()) + n * suppressed
        case "average_class_size":
            return n / (len(sizes) + (suppressed > 0))
        case "height":
            changed = [
                [
                    level_of(tree, row[j])
                    for row, own in zip(shown, raw, strict=True)
                    if any(row) and row[j] != own[j]
                ]
                for j, tree in enumerate(trees)
            ]
            return sum(max(own, default=0) for own in changed)
        case "ambiguity":
            return sum(math.prod(leaves_under(tree, row[j]) for j, tree in enumerate(trees)) for row in shown)
        case "geometric":
            return (
                math.prod(
                    1
                    + (sum(leaves_under(tree, row[j]) for row in shown) / n - 1) / (leaves_under(tree, 0) - 1)
                    for j, tree in enumerate(trees)
                )
                ** 0.5
                - 1
            )
    values = [sorted({own[j] for own in raw}) for j in range(2)]

    def inside(j, node):
        return [value for value in values[j] if node in above(trees[j], value)]

    illness, density = table.codes[:, -1].tolist(), Counter()
    for row, own in zip(shown, illness, strict=True):
        box = list(itertools.product(*(inside(j, row[j]) for j in range(2))))
        for x in box:
            density[*x, own] += 1 / len(box) / n
    counts = Counter((*x, own) for x, own in zip(raw, illness, strict=True))
    return sum(count / n * math.log(count / n / density[x]) for x, count in counts.items())


def least_by_hand(table, problem, people):
    """The least loss of all recodings that are valid; None if there is none."""
    choices = [
        list(
            itertools.product(
                *(above(tree, node) for tree, node in zip(table.hierarchies[:2], row, strict=True))
            )
        )
        for row in table.codes[:, :2].tolist()
    ]
    losses = [
        loss_by_hand(table, shown, problem.loss.kind)
        for shown in itertools.product(*choices)
        if meets(problem, table, people, shown)
    ]
    return min(losses, default=None)


def is_sound(world, problem, budget=UNLIMITED):
    """What is found meets what was asked as measures judge it, and loses what they say; the outcome."""
    table, dictionary, people = world
    found = solved(RecodingPlan, table, problem, dictionary, budget)
    for_table = solved(AnonymityPlan, table, problem, dictionary)
    if for_table.loss is not None and found.complete and budget is UNLIMITED:
        assert found.loss is not None
        assert found.loss <= for_table.loss
    if found.rule is None or isinstance(found.rule, TableRule):
        return found
    shown = shown_by(found.rule, table)
    assert meets(problem, table, people, shown)
    assert found.suppressed_records == sum(not any(row) for row in shown)
    context = context_of(table, found.rule, dictionary)
    measured = getattr(computed(INFORMATION_LOSS, context), MEASURED[problem.loss.kind])
    assert found.loss == pytest.approx(measured, rel=1e-12, abs=1e-12)
    assert found.loss == pytest.approx(loss_by_hand(table, shown, problem.loss.kind), rel=1e-9, abs=1e-9)
    assert found.bounds.lower <= found.loss
    for criterion in problem.privacy:
        reading = {"suppressed": problem.suppressed}
        if isinstance(criterion, KMap):
            assert computed(K_MAP, context, k=criterion.k, **reading).is_k_map
        if isinstance(criterion, DeltaPresence):
            bounds = {"lower": criterion.lower, "upper": criterion.upper}
            assert computed(DELTA_PRESENCE, context, **bounds, **reading).is_delta_present
    return found


def is_bounded(world, problem):
    """No recoding is below the bound, and none better than an answer that is called optimal."""
    table, dictionary, people = world
    found, least = is_sound(world, problem), least_by_hand(table, problem, people)
    if least is None:
        assert found.rule is None or isinstance(found.rule, TableRule)
        return
    assert found.status != "infeasible"
    assert found.bounds.lower <= least + 1e-9
    # Whatever is known beforehand, the bound is none of the best loss known.
    cells = Cells(table, cell_loss_of(table, problem.loss))
    criteria = ClassCriteria(table, problem, dictionary)
    bound = bound_of(cells, criteria, problem.loss, lambda: 0.0)
    for work in ("little", "some", "much"):
        bound.raise_by(work, math.inf, Course())
    assert bound.least <= least + 1e-9
    if found.rule is not None and not isinstance(found.rule, TableRule):
        assert found.loss >= least - 1e-9
    if found.status == "optimal":
        assert found.loss <= least + 1e-9


TREES = (SMALL, CHAIN)


@given(st.sampled_from(TREES).flatmap(lambda tree: worlds(tree, 3)), problems())
@settings(deadline=None, max_examples=examples(50))
def test_no_recoding_tried_by_hand_is_below_the_bound_or_better_than_the_optimum(world, problem):
    is_bounded(world, problem)


@pytest.mark.deep
@given(st.sampled_from(TREES).flatmap(lambda tree: worlds(tree, 4)), problems())
@settings(deadline=None, max_examples=examples(120))
def test_no_recoding_tried_by_hand_is_below_the_bound_or_better_than_the_optimum_at_length(world, problem):
    is_bounded(world, problem)


@given(st.sampled_from(TREES).flatmap(lambda tree: worlds(tree, 12, 20)), problems())
@settings(deadline=None, max_examples=examples(60))
def test_what_is_found_meets_the_criteria_and_loses_what_the_measures_say(world, problem):
    is_sound(world, problem)


@given(st.sampled_from(TREES).flatmap(lambda tree: worlds(tree, 12, 20)), problems("table_level", True))
@settings(deadline=None, max_examples=examples(30))
def test_what_is_locally_recoded_meets_the_criteria_and_loses_what_the_measures_say(world, problem):
    is_sound(world, problem)


@pytest.mark.deep
@given(
    st.sampled_from(TREES).flatmap(lambda tree: worlds(tree, 30, 40)),
    st.one_of(problems(), problems("table_level", True)),
)
@settings(deadline=None, max_examples=examples(600))
def test_what_is_found_meets_the_criteria_and_loses_what_the_measures_say_at_length(world, problem):
    is_sound(world, problem)


@given(st.sampled_from(TREES).flatmap(lambda tree: worlds(tree, 12, 20)), problems(), st.integers(1, 40))
@settings(deadline=None, max_examples=examples(30))
def test_a_search_that_is_cut_short_is_sound_and_ends_at_the_same_place(world, problem, steps):
    found = is_sound(world, problem, Budget(max_nodes=steps))
    again = solved(RecodingPlan, world[0], problem, world[1], Budget(max_nodes=steps))
    assert found.to_document() == again.to_document()


@st.composite
def untidy(draw):
    """Missing and inner values in unbalanced trees, for losses that need no population."""
    kind = draw(st.sampled_from(CLASS_LOSSES))
    privacy = draw(st.lists(st.sampled_from(OTHERS), min_size=1, max_size=2, unique=True))
    limit = draw(st.sampled_from([0.0, 0.25, 0.5, 1.0]))
    missing = draw(st.sampled_from(["own_category", "excluded"]))
    problem = AnonymityProblem(tuple(privacy), limit, LossChoice(kind), missing, scope="record_level")
    return draw(tables()), problem


def loses_what_is_measured(table, problem):
    found, for_table = solved(RecodingPlan, table, problem, None), solved(AnonymityPlan, table, problem, None)
    if for_table.loss is not None:
        assert found.loss <= for_table.loss
    if found.rule is not None and not isinstance(found.rule, TableRule):
        measured = computed(INFORMATION_LOSS, context_of(table, found.rule, None))
        assert found.loss == pytest.approx(
            getattr(measured, MEASURED[problem.loss.kind]), rel=1e-12, abs=1e-12
        )
    if found.bounds is not None and found.loss is not None:
        assert found.bounds.lower <= found.loss


def recodings(table):
    """Steps for each distinct record, drawn for a table."""
    cells = Cells(table, cell_loss_of(table, LossChoice()))
    heights = [st.tuples(*(st.integers(0, int(most)) for most in row)) for row in cells.most]
    return st.tuples(*heights).map(lambda rows: np.array(rows, dtype=np.int16, order="F"))


@given(tables().flatmap(lambda table: st.tuples(st.just(table), recodings(table))))
@settings(deadline=None, max_examples=examples(100))
def test_the_loss_of_any_recoding_is_what_is_measured_and_never_above_what_guides_moves(asked):
    table, steps = asked
    for kind in CLASS_LOSSES:
        choice = LossChoice(kind)
        cells = Cells(table, cell_loss_of(table, choice))
        losses = recoding_loss_of(cells, choice)
        criteria = ClassCriteria(table, AnonymityProblem((KAnonymity(1),), 1.0, choice))
        recoded = Recoding(cells, criteria, losses, steps)
        rule = cells.rule(recoded.steps, np.ones(cells.size, dtype=bool))
        measured = getattr(computed(INFORMATION_LOSS, context_of(table, rule, None)), MEASURED[kind])
        found = losses.of(recoded)
        assert found == pytest.approx(measured, rel=1e-12, abs=1e-12)
        assert losses.weighed(recoded) >= found - 1e-9


@given(untidy())
@settings(deadline=None, max_examples=examples(40))
def test_losses_of_untidy_tables_are_those_that_are_measured(asked):
    loses_what_is_measured(*asked)


@pytest.mark.deep
@given(untidy())
@settings(deadline=None, max_examples=examples(600))
def test_losses_of_untidy_tables_are_those_that_are_measured_at_length(asked):
    loses_what_is_measured(*asked)
