"""How long a search for levels per record takes beside that for a rule of the whole table, by measurement.

On Adult (all nine attributes, or two, four and five; 20 to 30,162 records; all losses but two that are as
others; k-anonymity alone and with distinct values or closeness) what it took was a third to three times of
the estimate; with 5-anonymity alone on all nine attributes of 100 records or more, the search for a rule
of the table included, 0.4 to 1.2 times.
"""

from __future__ import annotations

import math
from typing import Final

from app.domain.classes.quasi_part import quasi_part
from app.domain.counting.calibration import (
    BYTES_PER_KEPT_RECORD,
    SECONDS_PER_BOUND_CELL,
    SECONDS_PER_BOUND_LEVEL,
    SECONDS_PER_BOUND_LEVEL_AND_CELLS,
    SECONDS_PER_BOUND_LEVEL_AND_RECORD,
    SECONDS_PER_CLASS_AND_ENTITY,
    SECONDS_PER_MOVE_STEP,
    SECONDS_PER_MOVE_STEP_AND_CELL,
)
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.losses.loss import LossKind
from app.domain.search.answers import memory_of_state
from app.domain.search.budget import Budget
from app.domain.search.full_domain.estimates import seconds_of_believing, seconds_of_overlapping
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.local_recoding.bounds import MOST_WORK, ROUNDS
from app.domain.search.local_recoding.cells import MOST_KEPT
from app.domain.search.local_recoding.moves import MOST_JOINS
from app.domain.tables.table import Table

SWEEPS: Final = 3
"""Of moves, until they help no more."""
STEPS_OF_HEIGHTS: Final = 200
"""Batches of moves of a search for the least height, which makes no sweeps."""
STEPS_OF_ROUNDS: Final = 20
"""The same of local recoding."""
MATCHED_PER_STEP: Final = 10
"""How often a step matches all classes where a missing value matches everything, roughly."""
CLASSES_PER_RECORD: Final = 20
"""Classes that a search counts in a population per distinct record, roughly."""

TIMES_JUDGED: Final[dict[LossKind, float]] = {
    "discernibility": 2.5,
    "average_class_size": 2.5,
    "ambiguity": 2.5,
    "kl_divergence": 9.0,
}
"""How much longer a batch takes that has to be judged by a loss of classes, and undone."""
TIMES_VALUES: Final = 2.0
"""The same of criteria on sensitive values."""
LEVELS_OF_HALVES: Final = 400
"""About twice the root of how many levels a group of attributes has at most."""

STATE_PER_RECORD: Final = 12
STATE_PER_CELL: Final = 10
"""Bytes of three recodings' numbers of classes; of their steps, or of one's and bounds of each attribute."""


def bytes_of_recoding(table: Table) -> int:
    """What moves keep of each cell, and bounds of each record at the levels of halves of the attributes."""
    rows, heights = table.reduced.size, [table.heights[j] for j in table.quasi_identifiers]
    halves = min(math.prod(height + 1 for height in heights), LEVELS_OF_HALVES)
    kept = memory_of_state(rows * (STATE_PER_RECORD + STATE_PER_CELL * len(heights)))
    return kept + 120 * rows * len(heights) + BYTES_PER_KEPT_RECORD * min(MOST_KEPT, rows * halves)


def steps_of_moves(table: Table, problem: AnonymityProblem) -> int:
    """Batches of moves, roughly: a sweep has one per pair of attributes, per rule joined and per level."""
    if problem.scope == "table_level":
        return STEPS_OF_ROUNDS
    if problem.loss.kind == "height":
        return STEPS_OF_HEIGHTS
    heights = [table.heights[j] for j in table.quasi_identifiers]
    rules = math.prod(height + 1 for height in heights)
    return SWEEPS * (len(heights) * (len(heights) - 1) + min(rules, MOST_JOINS) + 2 * sum(heights))


def seconds_of_recoding(
    table: Table, problem: AnonymityProblem, budget: Budget, dictionary: Dictionary | None
) -> float:
    """What moves and bounds take, or as much of them as the budget allows."""
    steps = steps_of_moves(table, problem)
    rows = table.reduced.size
    cells = rows * len(table.quasi_identifiers)
    times = TIMES_JUDGED.get(problem.loss.kind, 1.0)
    if table.sensitive:
        times *= TIMES_VALUES
    people = 0
    counts = any(own.needs_population and not own.needs_beliefs for own in problem.privacy)
    if dictionary is not None and counts:
        people = dictionary.reduced.size
    counted = CLASSES_PER_RECORD * rows * SECONDS_PER_CLASS_AND_ENTITY * people
    # What beliefs take per step, and matching classes where a missing value matches everything
    privacy = problem.privacy
    values = max((len(table.used_nodes[table.position(name)]) for name in table.sensitive), default=0)
    told = sum(own.needs_beliefs for own in privacy)
    # A step judges the classes that it touches alone, but for those that overlap.
    seconds = seconds_of_believing(told * table.reduced.size * values, after_k=True)
    if problem.missing == "matches_everything":
        quasi = quasi_part(table)
        if quasi.reduced_missing.any():
            of_values = any(own.is_of_values for own in privacy)
            seconds += MATCHED_PER_STEP * seconds_of_overlapping(quasi, of_values=of_values)
    per_step = times * (SECONDS_PER_MOVE_STEP + SECONDS_PER_MOVE_STEP_AND_CELL * cells) + seconds
    seconds = (steps * per_step + counted) + _seconds_of_bound(table, problem)
    return seconds * min(1.0, (budget.max_nodes or steps) / steps)


def _seconds_of_bound(table: Table, problem: AnonymityProblem) -> float:
    rows, kind = table.reduced.size, problem.loss.kind
    per_record = SECONDS_PER_BOUND_LEVEL_AND_RECORD.get(kind, SECONDS_PER_BOUND_LEVEL_AND_CELLS)
    if not per_record or all(own.needs_population for own in problem.privacy):
        return 0.0
    heights = [table.heights[j] for j in table.quasi_identifiers]
    little = SECONDS_PER_BOUND_CELL * rows * len(heights)
    if problem.scope == "table_level":
        return little
    # Level vectors of all groups of attributes that have so many each at most, roughly
    most = min(ROUNDS["much"], int(MOST_WORK / max(1, rows)))
    found, group = 0, 1
    for height in heights:
        if group * (height + 1) > most:
            found, group = found + group, 1
        group *= height + 1
    levels = found + group
    return little + levels * (SECONDS_PER_BOUND_LEVEL + per_record * rows)
