"""Levels per record under every reading of missing values, and with beliefs, against pairs of records."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.information_loss import INFORMATION_LOSS
from app.domain.attacks.posterior_beliefs import POSTERIOR_BELIEFS
from app.domain.classes.grouping import Grouping
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.gates.class_shares import failing_records
from app.domain.losses.loss import LossChoice
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.journalist_risk import AverageJournalistRisk
from app.domain.models.k_anonymity import EQUIVALENCE_CLASSES, KAnonymity
from app.domain.models.k_map import KMap
from app.domain.models.population_uniqueness import SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk
from app.domain.models.rho_privacy import RhoPrivacy
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import CellRule, TableRule, apply
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.class_losses import recoding_loss_of
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.tables.table import Table
from tests.oracles.beliefs_by_hand import Believed, with_values
from tests.oracles.effort import examples
from tests.oracles.pairs_of_records import dictionary_of
from tests.oracles.populations import computed, context_of
from tests.oracles.recodings import CHAIN, ILLNESS, SMALL, above

MEASURED = {
    "geometric": "geometric",
    "precision": "precision_loss",
    "discernibility": "discernibility",
    "average_class_size": "average_class_size",
    "ambiguity": "ambiguity",
    "kl_divergence": "kl_divergence",
    "height": "generalisation_height",
}
READINGS = ("own_category", "matches_everything", "excluded")
SUPPRESSED = ("excluded", "own_block")


@dataclass
class Recoded(Believed):
    """Records that show something of their own, ``levels`` being the rows that are shown."""

    def __post_init__(self):
        super_levels, self.levels = self.levels, tuple(0 for _ in self.table.quasi_identifiers)
        super().__post_init__()
        self.rows, self.levels = list(super_levels), super_levels
        shown = [self.rows[record] for record in self.judged]
        self.told = [any(row[j] for row in shown) for j in range(len(self.table.quasi_identifiers))]

    def own(self, record):
        """Who shows the same, and where what is missing tells anybody apart, misses the same."""
        if record in self.block:
            return sorted(self.block)
        return [
            other
            for other in sorted(self.kept)
            if self.rows[other] == self.rows[record]
            and (self.missing != "matches_everything" or self.misses(other) == self.misses(record))
        ]

    def misses(self, record):
        return [lacks and told for lacks, told in zip(self.lacks[record], self.told, strict=True)]


def judged_by_hand(table, problem, people, shown):
    """The records kept and judged; None if more are suppressed than may be, or some that must be are not."""
    lacks = [any(table.codes[i, j] == 0 for j in table.quasi_identifiers) for i in range(len(shown))]
    left_out = {i for i, lack in enumerate(lacks) if lack and problem.missing == "excluded"}
    kept = frozenset(i for i, row in enumerate(shown) if any(row))
    gone = frozenset(range(len(shown))) - kept
    if left_out & kept or len(gone) > math.floor(problem.suppression_limit * len(shown) + 1e-9):
        return None
    block = gone - left_out if problem.suppressed == "own_block" else frozenset()
    return Recoded(table, shown, people, kept, block, problem.missing)


def is_valid(table, problem, people, shown):
    """Whether what is shown meets what was asked, with suppressed records and without, as searches judge."""
    judged = judged_by_hand(table, problem, people, shown)
    if judged is None or not judged.is_met(problem.privacy):
        return False
    table_wide = [own for own in problem.privacy if own.table_wide]
    if not table_wide:
        return True
    disclosed = Recoded(table, shown, people, judged.kept, missing=problem.missing)
    return all(map(disclosed.meets_together, table_wide))


TREES = (SMALL, CHAIN)
CRITERIA = (
    KAnonymity(1),
    KAnonymity(2),
    KAnonymity(2),
    DistinctLDiversity(2, "illness"),
    EntropyLDiversity(2, "illness"),
    TCloseness(0.5, attribute="illness"),
    AverageRisk(0.6),
    SampleUniqueness(0.3),
    KMap(2),
    AverageJournalistRisk(0.6),
)
BELIEFS = tuple(
    RhoPrivacy(*own, attribute="illness") for own in ((0.2, 0.8), (0.34, 0.7), (0.5, 0.9), (0.6, 0.75))
)


@st.composite
def questions(draw, records=(6, 12), scope=None, readings=READINGS, suppressed=SUPPRESSED):
    """A table that lacks some values, a problem on it and people whose illness is known."""
    trees = (SMALL, draw(st.sampled_from(TREES)))
    lacking = draw(st.sampled_from([[], [0], [0]]))
    values = [st.sampled_from([*tree.leaves.tolist(), *lacking]) for tree in trees]
    n = draw(st.integers(*records))
    codes = [[*(draw(own) for own in values), draw(st.integers(1, 2))] for _ in range(n)]
    names, array = ("a0", "a1", "illness"), np.array(codes, dtype=np.int32)
    table = Table(names, (*trees, ILLNESS), array, sensitive=frozenset({"illness"}))
    privacy = draw(st.lists(st.sampled_from(CRITERIA), min_size=1, max_size=2, unique=True))
    privacy += draw(st.lists(st.sampled_from(BELIEFS), max_size=1))
    scope = draw(st.sampled_from(["record_level", "record_level", "table_level"])) if scope is None else scope
    problem = AnonymityProblem(
        tuple(privacy),
        draw(st.sampled_from([0.0, 0.2, 0.4, 0.6])),
        LossChoice(draw(st.sampled_from(tuple(MEASURED)))),
        draw(st.sampled_from(readings)),
        draw(st.sampled_from(suppressed)),
        scope=scope,
        local_recoding=scope == "table_level",
    )
    leaves = [tree.leaves.tolist() for tree in (*trees, ILLNESS)]
    people = [
        tuple(code or draw(st.sampled_from(own)) for code, own in zip(row, leaves, strict=True))
        for row in codes
    ]
    return table, problem, people + draw(st.lists(st.tuples(*map(st.sampled_from, leaves)), max_size=6))


def solved(question, budget=UNLIMITED, plan_type=least_loss_plan):
    table, problem, people = question
    plan = plan_type(table, problem, budget, dictionary_of(table, people, with_values(table)))
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def shown_by(rule, table):
    return [tuple(row) for row in apply(rule, table)[:, list(table.quasi_identifiers)].tolist()]


def is_sound(question, budget=UNLIMITED):
    """The answer, which meets what was asked and is what measures say of its rule."""
    table, problem, people = question
    found = solved(question, budget)
    if budget is UNLIMITED:
        asked = replace(problem, scope="table_level", local_recoding=False)
        for_table = solved((table, asked, people), plan_type=AnonymityPlan)
        if for_table.loss is not None:
            assert found.loss <= for_table.loss
    if found.rule is None or isinstance(found.rule, TableRule):
        return found
    shown = shown_by(found.rule, table)
    assert is_valid(table, problem, people, shown)
    dictionary = dictionary_of(table, people, with_values(table))
    context = context_of(table, found.rule, dictionary)
    classes = computed(EQUIVALENCE_CLASSES, context, missing=problem.missing)
    assert classes.judged.records_suppressed == found.suppressed_records
    assert classes.judged.classes == found.classes
    assert (classes.k or None) == found.smallest_class
    missing = "matches_everything" if problem.missing == "matches_everything" else "own_category"
    measured = getattr(computed(INFORMATION_LOSS, context, missing=missing), MEASURED[problem.loss.kind])
    assert found.loss == pytest.approx(measured, rel=1e-12, abs=1e-12)
    assert found.bounds.lower <= found.loss
    for own in problem.privacy:
        if isinstance(own, RhoPrivacy):
            reading = {"missing": problem.missing, "suppressed": problem.suppressed}
            asked = {"rho_1": own.rho_1, "rho_2": own.rho_2, "attribute": own.attribute}
            assert computed(POSTERIOR_BELIEFS, context, **reading, **asked).is_private
        release, counter = Release(table, found.rule), Counter(table, dictionary)
        grouping = Grouping(missing=problem.missing, suppressed=problem.suppressed)
        for asked in (grouping, *([Grouping()] if problem.missing != "matches_everything" else [])):
            assert not failing_records(release, own, asked, counter).any()
    # What is left out is judged by nothing: nothing of it may be shown.
    lacking = np.array(
        [any(table.codes[i, j] == 0 for j in table.quasi_identifiers) for i in range(len(shown))]
    )
    hides = ~np.array([any(row) for row in shown]) & (
        (problem.suppressed == "excluded") | (lacking & (problem.missing == "excluded"))
    )
    assert not apply(found.rule, table)[hides].any()
    return found


UNUSUAL = st.one_of(
    questions(readings=READINGS[1:2]), questions(readings=READINGS[2:], suppressed=SUPPRESSED[1:])
)


@given(st.one_of(questions(), UNUSUAL))
@settings(deadline=None, max_examples=examples(90))
def test_recodings_meet_every_conjunction_as_the_measures_judge_it(question):
    is_sound(question)


@pytest.mark.deep
@given(questions(records=(6, 24)))
@settings(deadline=None, max_examples=examples(1500))
def test_recodings_meet_every_conjunction_as_the_measures_judge_it_at_length(question):
    is_sound(question)


def recoded(question, steps):
    table, problem, people = question
    criteria = ClassCriteria(table, problem, dictionary_of(table, people, with_values(table)))
    cells = Cells(table, cell_loss_of(table, problem.loss), overlapping=criteria.overlaps)
    return Recoding(cells, criteria, recoding_loss_of(cells, problem.loss), steps(cells))


def rows_shown(recoding):
    return [tuple(row) for row in recoding.codes[recoding.cells.table.reduced.inverse].tolist()]


@pytest.mark.deep
@given(UNUSUAL, st.data())
@settings(deadline=None, max_examples=examples(240))
def test_any_recoding_is_judged_by_pairs_of_records_and_moves_leave_a_valid_one_valid(question, data):
    table, problem, people = question
    draw = data.draw

    def some_steps(cells):
        found = np.array([[draw(st.integers(0, most)) for most in row] for row in cells.most.tolist()])
        suppressed_attribute = draw(st.sampled_from([None, None, *range(cells.n_attributes)]))
        if suppressed_attribute is not None:
            # An attribute of which nobody shows anything tells nobody apart.
            found[:, suppressed_attribute] = cells.most[:, suppressed_attribute]
        return found

    found = recoded(question, some_steps)
    remaining = found.criteria.judged(found.placed.without_suppressed())
    classes = computed(
        EQUIVALENCE_CLASSES,
        context_of(table, rule_showing(table, rows_shown(found)), None),
        missing=problem.missing,
    )
    if problem.missing != "excluded":
        assert (remaining.n_classes, classes.k) == (classes.judged.classes, min(remaining.sizes, default=0))
    rule = rule_showing(table, rows_shown(found))
    missing = "matches_everything" if problem.missing == "matches_everything" else "own_category"
    measured = computed(INFORMATION_LOSS, context_of(table, rule, None), missing=missing)
    assert found.losses.of(found) == pytest.approx(getattr(measured, MEASURED[problem.loss.kind]), rel=1e-12)
    levels = tuple(draw(st.integers(0, table.heights[j])) for j in found.cells.attributes)
    for one in (found, kept_at(question, levels)):
        assert one.is_valid == is_valid(table, problem, people, rows_shown(one))
        for _ in range(4 if one.is_valid else 0):
            rows = np.flatnonzero(
                draw(st.lists(st.booleans(), min_size=one.cells.size, max_size=one.cells.size))
            )
            moved = one.move(rows, some_steps(one.cells)[rows].astype(np.int16))
            assert set(moved) <= set(rows)
            assert one.is_valid
            assert is_valid(table, problem, people, rows_shown(one))


def kept_at(question, levels):
    """The records that the levels of a rule for the table may show."""
    shown = recoded(question, lambda cells: cells.at_levels(levels))
    gone = shown.criteria.to_suppress(shown.placed)
    return recoded(question, lambda cells: np.where(gone[:, None], cells.most, cells.at_levels(levels)))


def least_by_hand(table, problem, people):
    """The least loss of all recodings that are valid, as it is measured; None if there is none."""
    trees = [table.hierarchies[j] for j in table.quasi_identifiers]
    own = [
        list(itertools.product(*(above(tree, node) for tree, node in zip(trees, row, strict=True))))
        for row in table.codes[:, list(table.quasi_identifiers)].tolist()
    ]
    least = math.inf
    missing = "matches_everything" if problem.missing == "matches_everything" else "own_category"
    originals, seen = table.codes.tolist(), set()
    for shown in itertools.product(*own):
        # Which of equal records shows what makes no difference.
        pairs = tuple(sorted(zip(map(tuple, originals), shown, strict=True)))
        if pairs in seen:
            continue
        seen.add(pairs)
        if is_valid(table, problem, people, list(shown)):
            context = context_of(table, rule_showing(table, shown), None)
            measured = computed(INFORMATION_LOSS, context, missing=missing)
            least = min(least, getattr(measured, MEASURED[problem.loss.kind]))
    return None if math.isinf(least) else least


def rule_showing(table, shown):
    codes = table.codes.copy(order="F")
    codes[:, list(table.quasi_identifiers)] = shown
    return CellRule(codes)


def is_bounded(question):
    found, least = is_sound(question), least_by_hand(*question)
    if least is None:
        return
    assert found.status != "infeasible" or question[1].local_recoding
    if found.bounds is not None:
        assert found.bounds.lower <= least + 1e-9
    if found.status == "optimal":
        assert found.loss <= least + 1e-9


@pytest.mark.deep
@given(questions((2, 3)))
@settings(deadline=None, max_examples=examples(20))
def test_no_recoding_tried_by_hand_is_below_the_bound(question):
    is_bounded(question)


@pytest.mark.deep
@given(questions((3, 4)))
@settings(deadline=None, max_examples=examples(150))
def test_no_recoding_tried_by_hand_is_below_the_bound_at_length(question):
    is_bounded(question)


@given(questions(scope="record_level"), st.integers(1, 40))
@settings(deadline=None, max_examples=examples(30))
def test_a_search_that_is_cut_short_is_sound_and_ends_at_the_same_place(question, steps):
    found = is_sound(question, Budget(max_nodes=steps))
    assert found.to_document() == solved(question, Budget(max_nodes=steps)).to_document()
