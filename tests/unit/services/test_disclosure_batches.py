"""How the levels of a batch are chosen from those of earlier ones."""

import numpy as np
import pytest

from app.domain.counting.counter import dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.sensitivity import constant_sensitivity
from app.domain.tables.table import Table
from app.services.rules.disclosure_batches import (
    ModalLevels,
    NewRecord,
    OptimalLevels,
    StepsOfRecords,
    score_batch,
    table_of_records,
    tally_of,
)
from app.services.rules.rule_definitions import RecordLevels
from app.services.scoring.scoring_inputs import Scoring
from app.services.scoring.scoring_options import ScoringOptions

TREE = Hierarchy.from_rows([["a", "A"], ["b", "A"], ["c", "C"]])


def scoring():
    codes = np.array([[TREE.node_of(x), TREE.node_of(y)] for x, y in ("aa", "bc", "ca")], dtype=np.int32)
    table = Table(("x", "y"), (TREE, TREE), codes)
    harm = constant_sensitivity(table)
    return Scoring(
        table, (dictionary_of(table),), None, False, harm, None, build_utility(table), ScoringOptions()
    )


@pytest.mark.parametrize(
    ("before", "levels"),
    [
        ({"0,2": 3, "1,0": 2}, (0, 2)),
        ({"1,0": 2, "0,2": 2, "2,1": 1}, (0, 2)),
        ({"2,0": 4, "0,1": 4, "0,2": 4}, (0, 1)),
        ({"10,0": 1, "2,0": 1}, (2, 0)),
    ],
)
def test_the_mode_is_the_most_frequent_levels_and_of_several_the_first_in_order(before, levels):
    """Levels are ordered as numbers, not as the texts that they are kept as."""
    asked = scoring()
    scored = score_batch(asked, asked.table, ModalLevels(1.0), before)
    assert scored.levels.tolist() == [list(levels)] * 3


def test_level_vectors_are_counted():
    assert tally_of(np.array([[0, 1], [2, 0], [0, 1]], dtype=np.int16)) == {"0,1": 2, "2,0": 1}


def test_what_is_no_number_of_steps_is_not_counted():
    assert tally_of(np.array([[0, 1], [-1, 0]], dtype=np.int16)) == {"0,1": 1}


def test_a_record_without_a_tree_is_disclosed_by_its_value():
    """Its values have no steps, so that the answer names what is shown, which can be sent back."""
    dag = Hierarchy.from_parents({"a": ["A", "B"], "b": ["B"], "c": ["A"], "A": [None], "B": [None]})
    table = Table(("x",), (dag,), dag.encode(["a", "b", "b", "c"])[0][:, None])
    asked = Scoring(
        table,
        (dictionary_of(table),),
        None,
        False,
        constant_sensitivity(table),
        None,
        build_utility(table),
        ScoringOptions(),
    )
    batch = table_of_records([NewRecord({"x": "a"}), NewRecord({"x": None})], table, {})
    answer = score_batch(asked, batch, OptimalLevels(0.0), {})
    assert answer.disclosed.tolist() == [[0], [0]]
    assert answer.steps.tolist() == [[-1], [0]]
    back = StepsOfRecords((RecordLevels(values={"x": None}), RecordLevels()))
    again = score_batch(asked, batch, back, {})
    assert again.disclosed.tolist() == answer.disclosed.tolist()
    assert again.score.risk_average == answer.score.risk_average
