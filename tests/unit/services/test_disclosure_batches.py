"""How the levels of a batch are chosen from those of earlier ones."""

import numpy as np
import pytest

from app.domain.counting.counter import dictionary_of
from app.domain.harm.sensitivity import constant_sensitivity
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables import Table
from app.domain.utility import build_utility
from app.services.disclosure_batches import ModalLevels, score_batch, tally_of
from app.services.scoring_inputs import Scoring
from app.services.scoring_options import ScoringOptions

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
