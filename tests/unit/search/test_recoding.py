"""Levels of its own for every record: published tables, and what is asked and answered at the edges."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.errors import InvalidInput, NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.cells import CellLoss
from app.domain.losses.loss import LossChoice
from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import KMap
from app.domain.models.population_uniqueness import PopulationUniqueness
from app.domain.models.rho_privacy import RhoPrivacy
from app.domain.rules.rule import CellRule, RecordRule, TableRule, apply
from app.domain.search.budget import Budget
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.local_recoding.cells import Cells, cell_loss_of
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.class_losses import recoding_loss_of
from app.domain.search.local_recoding.plan import RecodingPlan
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.tables.table import Table
from tests.unit.search.least_loss_tables import read

DATA = os.environ.get("PRIVACY_RISK_DATA")
TREE = Hierarchy.from_rows([[f"{i}", f"by two {i // 2}", f"by four {i // 4}", "*"] for i in range(8)])
FLAT = Hierarchy.from_parents({"flu": [None], "cold": [None]})
ILLNESS = Hierarchy.from_parents({"p": [None], "q": [None], "flu": ["p", "q"], "cold": ["p"]})


def solved(
    table: Table,
    problem: AnonymityProblem,
    budget: Budget | None = None,
    dictionary: Dictionary | None = None,
) -> AnonymityOutcome:
    plan = least_loss_plan(table, problem, budget or Budget(), dictionary)
    return plan.combine({0: plan.run_block(0, lambda _: None)})


def table_of(*rows: tuple[str, str], sensitive: Hierarchy = ILLNESS) -> Table:
    codes = [[TREE.node_of(x), sensitive.node_of(y)] for x, y in rows]
    names = ("x", "illness")
    return Table(names, (TREE, sensitive), np.array(codes, dtype=np.int32), sensitive=frozenset({"illness"}))


def shown(outcome: AnonymityOutcome, table: Table) -> list[str]:
    assert outcome.rule is not None
    return [TREE.labels[node] for node in apply(outcome.rule, table)[:, 0].tolist()]


def test_records_that_share_a_value_keep_it_whatever_others_need():
    table = table_of(("0", "flu"), ("0", "cold"), ("1", "flu"), ("4", "cold"), ("5", "flu"), ("5", "flu"))
    problem = AnonymityProblem((KAnonymity(2),), scope="record_level", loss=LossChoice("arithmetic"))
    found = solved(table, problem)
    # Who has 1 shares a class only with somebody who could have kept 0, or has 4.
    assert sorted(Counter(shown(found, table)).values()) in ([2, 2, 2], [3, 3], [2, 4])
    assert found.table_level_loss == pytest.approx(1 / 7)
    assert found.loss is not None
    assert found.bounds is not None
    # 1 and 4 need two leaves each, and so does somebody with each who would need none.
    assert found.bounds.lower == pytest.approx(4 / 7 / 6, abs=1e-9)
    assert found.loss <= 1 / 7


def test_local_recoding_gives_suppressed_records_a_rule_of_their_own():
    rows = [("0", "flu")] * 4 + [("1", "cold")] * 4 + [("4", "flu"), ("6", "cold")]
    table = table_of(*rows)
    problem = AnonymityProblem((KAnonymity(2),), 0.2, local_recoding=True)
    found = solved(table, problem)
    assert isinstance(found.rule, RecordRule)
    assert shown(found, table) == ["0"] * 4 + ["1"] * 4 + ["by four 1"] * 2
    assert found.rounds == ((TableRule((2, 0)), 2),)
    assert (found.suppressed_records, found.classes, found.smallest_class) == (0, 3, 2)


def test_local_recoding_that_changes_nothing_is_not_called_optimal_where_recodings_lose_less():
    table = table_of(("0", "flu"), ("1", "cold"), ("4", "flu"), ("4", "cold"))
    whole = solved(table, AnonymityProblem((KAnonymity(2),), scope="record_level"))
    found = solved(table, AnonymityProblem((KAnonymity(2),), local_recoding=True))
    assert isinstance(found.rule, TableRule)
    assert found.loss == found.table_level_loss
    assert whole.loss is not None
    assert found.loss is not None
    assert whole.loss < found.loss
    assert found.status == "heuristic"
    assert found.bounds is not None
    assert found.bounds.lower <= whole.loss


@pytest.mark.parametrize("hidden", [True, False])
@pytest.mark.parametrize("sensitive", [ILLNESS, Hierarchy.from_parents({"flu": [None], "cold": [None]})])
def test_suppressed_records_hide_their_sensitive_values_if_asked_to(hidden, sensitive):
    table = table_of(("0", "flu"), ("0", "cold"), ("7", "cold"), sensitive=sensitive)
    loss = loss_of(table, LossChoice())
    assert isinstance(loss, CellLoss)
    cells = Cells(table, loss)
    steps = np.zeros_like(cells.most)
    steps[table.reduced.inverse[-1]] = TREE.height
    rule = cells.rule(steps, np.full(cells.size, hidden))
    assert isinstance(rule, RecordRule if sensitive.is_tree or not hidden else CellRule)
    codes = apply(rule, table)
    assert (codes[:, 0] == 0).tolist() == [False, False, True]
    assert (codes[:, 1] == 0).tolist() == [False, False, hidden]
    assert (codes[:2] == table.codes[:2]).all()


def test_a_criterion_that_no_recoding_meets_is_refused_before_searching():
    table = table_of(("0", "flu"), ("1", "flu"), ("2", "flu"))
    found = solved(table, AnonymityProblem((DistinctLDiversity(l=2),), 0.5, scope="record_level"))
    assert (found.status, found.rule, found.counters.visited_nodes) == ("infeasible", None, 0)
    assert found.refusals[0].criterion == DistinctLDiversity(l=2)


def test_nothing_is_recoded_where_every_record_may_stay():
    table = table_of(("0", "flu"), ("0", "cold"))
    found = solved(table, AnonymityProblem((KAnonymity(2),), scope="record_level"))
    assert (found.status, found.rule, found.loss) == ("optimal", TableRule((0, 0)), 0.0)
    assert (found.table_level_loss, found.relative_gap) == (0.0, 0.0)


def test_a_search_that_is_halted_at_once_answers_with_a_rule_for_the_table():
    table = table_of(*((str(i % 8), "flu") for i in range(40)))
    plan = RecodingPlan(table, AnonymityProblem((KAnonymity(3),), scope="record_level"))
    found = plan.combine({})
    assert not found.complete
    assert isinstance(found.rule, TableRule)
    assert found.bounds is not None
    assert 0 <= found.bounds.lower <= (found.loss or 0.0)


def test_people_that_a_class_could_be_count_for_k_map_beside_its_own_records():
    table = table_of(("0", "flu"), ("1", "flu"), ("4", "flu"))
    cells = TREE.encode(["0", "0", "1", "2", "4", "5", "6"])[0]
    people = Dictionary(7, (link_nodes("x", TREE, cells),))
    problem = AnonymityProblem((KMap(k=2),), loss=LossChoice("arithmetic"), scope="record_level")
    found = solved(table, problem, dictionary=people)
    # Two people have 0 as the first record does; 1 and 4 have company by twos.
    assert shown(found, table) == ["0", "by two 0", "by two 2"]
    assert found.privacy[0].value == 2
    assert found.loss == pytest.approx(2 / 7 / 3)


def test_presence_suppresses_single_records_of_a_class_and_not_all_of_it():
    table = table_of(*[("0", "flu")] * 2, ("0", "cold"), ("4", "flu"))
    cells = TREE.encode(["0"] * 4 + ["4"] * 4)[0]
    people = Dictionary(8, (link_nodes("x", TREE, cells),))
    problem = AnonymityProblem((DeltaPresence(0, 0.5),), 0.5, scope="record_level")
    found = solved(table, problem, dictionary=people)
    assert found.suppressed_records == 1
    assert sorted(shown(found, table)) == ["*", "0", "0", "4"]
    # The best rule suppresses all three who have 0: two of them are disclosed again.
    more = table_of(*[("0", "flu")] * 2, ("0", "cold"), *[("4", "flu")] * 5)
    cells = TREE.encode(["0"] * 4 + ["4"] * 20 + ["6"] * 4)[0]
    people = Dictionary(28, (link_nodes("x", TREE, cells),))
    recoded = solved(more, replace(problem, scope="table_level", local_recoding=True), dictionary=people)
    assert recoded.suppressed_records == 1
    assert recoded.rounds == ((TableRule((0, 0)), 2),)


def test_people_whose_tuple_no_record_has_break_a_lower_bound_of_presence():
    table = table_of(("0", "flu"), ("0", "cold"), ("4", "flu"))
    cells = TREE.encode(["0", "0", "0", "2", "4", "4"])[0]
    people = Dictionary(6, (link_nodes("x", TREE, cells),))
    problem = AnonymityProblem((DeltaPresence(0.3, 0.8),), 0.4, scope="record_level")
    found = solved(table, problem, dictionary=people)
    # Nobody of the table has 2, which must not be seen: by fours they are among those who have 0.
    assert shown(found, table) == ["by four 0", "by four 0", "by four 1"]


def test_what_a_population_does_not_tell_is_refused_as_for_a_rule_of_the_whole_table():
    table = table_of(("0", "flu"), ("1", "cold"))
    problem = AnonymityProblem((RhoPrivacy(),), scope="record_level")
    people = Dictionary(2, (link_nodes("x", TREE, TREE.encode(["0", "1"])[0]),))
    for asked in (problem, replace(problem, scope="table_level")):
        with pytest.raises(InvalidInput, match="none is given"):
            least_loss_plan(table, asked)
        with pytest.raises(NotSupported, match="does not say the 'illness'"):
            least_loss_plan(table, asked, Budget(), people)


def test_who_is_left_out_for_a_missing_value_is_no_company_for_suppressed_records():
    table = table_of(("0", "flu"), ("0", "flu"), ("0", "cold"), ("*", "flu"), ("7", "flu"))
    asked = AnonymityProblem((KAnonymity(2),), 0.4, missing="excluded", suppressed="own_block")
    cells = Cells(table, cell_loss_of(table, asked.loss))
    steps = np.where(cells.raw == TREE.node_of("7"), cells.most, 0)
    for problem, allowed in ((asked, False), (replace(asked, suppressed="excluded"), True)):
        recoding = Recoding(cells, ClassCriteria(table, problem), recoding_loss_of(cells, asked.loss), steps)
        assert (recoding.is_valid, recoding.suppressed_records) == (allowed, 2)


def test_estimates_of_uniqueness_are_refused_where_missing_values_match_everything():
    table = table_of(("0", "flu"), ("*", "cold"))
    asked = AnonymityProblem(
        (PopulationUniqueness(0.1, 0.5),), missing="matches_everything", scope="record_level"
    )
    with pytest.raises(NotSupported, match="no record shares with another class"):
        least_loss_plan(table, asked)


def test_presence_is_refused_of_records_that_lack_a_value_and_met_beside_beliefs():
    links = [
        link_nodes("x", TREE, TREE.encode(["0", "0", "0", "0", "4", "4"])[0]),
        link_nodes("illness", FLAT, FLAT.encode(["flu", "cold"] * 3)[0]),
    ]
    people = Dictionary(6, tuple(links))
    privacy = (DeltaPresence(0, 0.5), RhoPrivacy(0.6, 0.8))
    asked = AnonymityProblem(privacy, 0.5, missing="matches_everything", scope="record_level")
    lacking = table_of(("0", "flu"), ("*", "cold"), sensitive=FLAT)
    for scope in ("record_level", "table_level"):
        with pytest.raises(NotSupported, match="no value of 'x'"):
            least_loss_plan(lacking, replace(asked, scope=scope), Budget(), people)
    table = table_of(("0", "flu"), ("0", "cold"), ("4", "flu"), sensitive=FLAT)
    found = solved(table, asked, dictionary=people)
    # Two of the four people who have 0 are in the release; of who has 4 the illness would be told.
    assert (found.suppressed_records, found.classes) == (1, 1)
    assert [own.value for own in found.privacy] == [0.5, 0.5]
    present = solved(table, replace(asked, privacy=privacy[:1]), dictionary=people)
    assert (present.suppressed_records, present.classes) == (0, 2)


@pytest.mark.parametrize(
    ("kind", "loss", "bound"),
    [("discernibility", 13.0, 13.0), ("average_class_size", 2.5, 2.5), ("height", 1.0, 1.0)],
)
def test_losses_of_classes_are_least_where_these_are_as_small_as_may_be(kind, loss, bound):
    table = table_of(("0", "flu"), ("0", "cold"), ("1", "flu"), ("4", "cold"), ("5", "flu"))
    problem = AnonymityProblem((KAnonymity(2),), loss=LossChoice(kind), scope="record_level")
    found = solved(table, problem)
    assert found.bounds is not None
    assert (found.loss, found.bounds.lower) == (loss, bound)


@pytest.mark.parametrize("kind", ["geometric", "discernibility", "kl_divergence", "height"])
def test_few_records_of_few_levels_are_answered_at_once_and_more_levels_are_expected_to_take_longer(kind):
    def seconds(n, width, **more):
        codes = np.array(
            [[TREE.leaves[(i * (j + 3)) % 8] for j in range(width)] for i in range(n)], dtype=np.int32
        )
        table = Table(tuple(f"a{j}" for j in range(width)), (TREE,) * width, codes)
        problem = AnonymityProblem((KAnonymity(2),), loss=LossChoice(kind), **more)
        return RecodingPlan(table, problem).seconds

    assert seconds(8, 2, scope="record_level") < 0.2
    assert seconds(8, 7, scope="record_level") > seconds(8, 2, scope="record_level")
    assert seconds(8, 7, scope="record_level") > seconds(8, 7, scope="table_level", local_recoding=True)


@pytest.mark.deep
@pytest.mark.real_data
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
def test_adult_loses_less_than_an_eighth_of_what_a_rule_for_the_table_does():
    adult = read("arx-adult", "adult.csv", "adult_hierarchy_")
    problem = AnonymityProblem((KAnonymity(5),), scope="record_level")
    found = solved(adult, problem, Budget(max_nodes=150))
    assert found.table_level_loss == pytest.approx(0.5731509656, abs=1e-9)
    assert found.loss is not None
    assert found.loss < 0.075
    sizes = Counter(map(tuple, apply(found.rule, adult).tolist()))
    n_suppressed = sizes.pop((0,) * 9, 0)
    assert n_suppressed == found.suppressed_records
    assert min(sizes.values()) == found.smallest_class == 5
    assert math.isclose(found.bounds.lower + found.bounds.gap, found.loss)


def test_who_leaves_a_block_that_fails_may_break_it_no_more_once_it_passes():
    kept = [("0", "flu"), ("0", "cold"), ("1", "cold")]
    block = [("1", "flu"), ("2", "flu"), ("3", "flu"), ("2", "cold")]
    table = table_of(*kept, *block, sensitive=FLAT)
    problem = AnonymityProblem(
        (AlphaKAnonymity(0.67, 2),), suppression_limit=1.0, suppressed="own_block", scope="record_level"
    )
    cells = Cells(table, cell_loss_of(table, problem.loss))
    rows = dict(zip([*kept, *block], table.reduced.inverse.tolist(), strict=True))
    steps = cells.most.copy(order="F")
    steps[[rows[own] for own in kept]] = 2
    recoding = Recoding(cells, ClassCriteria(table, problem), recoding_loss_of(cells, problem.loss), steps)
    assert not recoding.is_valid, "3 of the 4 suppressed have flu"

    def discloses(record: tuple[str, str]) -> bool:
        one = np.array([rows[record]])
        return len(recoding.move(one, np.full((1, 1), 2, dtype=np.int16))) == 1

    assert discloses(("1", "flu")), "a block that fails is no worse without one of its records"
    assert recoding.is_valid
    assert not discloses(("2", "cold")), "it would leave the others of the block alike"
    assert recoding.is_valid
