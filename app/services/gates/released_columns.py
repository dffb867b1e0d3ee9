"""The columns of a release as they leave, whatever it was made by, and those that no requirement can read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from app.domain.arrays import Ints
from app.domain.gates.coverage import KEY, NOTHING_SHOWN, Levels, ReleasedColumn
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.policies.schema import Giver
from app.domain.rules.release_alignment import Readings
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from app.services.datasets.text_columns import TextColumn
from app.services.gates.context import EvaluationContext
from app.services.gates.subject import Subject
from app.services.releases.aligned_release import AlignedRelease
from app.services.releases.readings import ASTERISK


def released_columns(subject: Subject, context: EvaluationContext) -> list[ReleasedColumn]:
    """The disclosed columns in the schema's order; of a file those that it has, its key column last."""
    table, aligned, drawn = context.table, context.aligned, context.drawn
    if drawn is not None:
        return [_of_drawn(subject, context, drawn, j) for j in range(table.n_attributes)]
    if aligned is None:
        return [_of_rule(subject, context, j) for j in range(table.n_attributes)]
    found = [_of_file(subject, context, aligned, name) for name in table.attributes if name in aligned.texts]
    return found if subject.key is None else [*found, _key_column(subject, subject.key, aligned)]


def unreadable(table: Table, aligned: AlignedRelease | None) -> frozenset[str]:
    """Columns of a file in which different texts stand for one value, so that requirements do not see them.

    A dataset may replace texts by others before it looks them up. What it takes for alike need not look alike
    to a reader of the file. Quasi-identifiers of a file that is judged by itself are judged by their texts.
    """
    if aligned is None:
        return frozenset()
    return frozenset(
        name
        for name, column in aligned.texts.items()
        if (aligned.rule is not None or name in table.sensitive)
        and (
            are_alike(aligned.columns[name].readings)
            or _says_nothing_in_several_ways(column, aligned.columns[name].readings, table, name)
        )
    )


def _says_nothing_in_several_ways(
    column: TextColumn, readings: Sequence[Readings], table: Table, name: str
) -> bool:
    """Whether cells that show nothing are written differently, so that they can be told apart."""
    top = table.hierarchies[table.position(name)].labels[TOP]
    return sum(None in own or top in own for own in readings) + (column.n_missing > 0) > 1


def are_alike(texts: Iterable[Readings]) -> bool:
    """Whether two of these different texts, by what they may stand for, can stand for one value."""
    seen: set[str | None] = set()
    for readings in texts:
        own = {reading for reading in readings if reading is not None}
        if own & seen:
            return True
        seen |= own
    return False


def _of_rule(subject: Subject, context: EvaluationContext, j: int) -> ReleasedColumn:
    if context.rule is None:
        raise ValueError("without a file there is a rule")
    shown = context.release(context.rule).codes[:, j]
    return _of_nodes(subject, context, j, shown, _levels(context, j, context.table.hierarchies[j]))


def _of_drawn(subject: Subject, context: EvaluationContext, drawn: DrawnRelease, j: int) -> ReleasedColumn:
    """A column of what a mechanism made; its levels are those of a rule that came first, where one did."""
    name, height = context.table.attributes[j], context.table.hierarchies[j].height
    levels, own = None, drawn.drawn_attribute
    is_as_ruled = own is not None and own != name and not drawn.suppresses
    if subject.released is not None and is_as_ruled:
        level = (subject.released.stored.summary["rule"]["levels"] or {}).get(name)
        levels = None if level is None else Levels(level, level, height)
    return _of_nodes(subject, context, j, drawn.table.codes[:, j], levels)


def _of_nodes(
    subject: Subject, context: EvaluationContext, j: int, shown: Ints, levels: Levels | None
) -> ReleasedColumn:
    """The column of which each record shows the label of its node."""
    table, hierarchy = context.table, context.table.hierarchies[j]
    texts = tuple(dict.fromkeys(hierarchy.labels))
    number = {text: code for code, text in enumerate(texts)}
    of_node = np.array([number[label] for label in hierarchy.labels], dtype=np.int32)
    of_node[TOP] = NOTHING_SHOWN
    name = table.attributes[j]
    return ReleasedColumn(name, _role(table, name), _giver(subject, name), texts, of_node[shown], levels)


def _of_file(
    subject: Subject, context: EvaluationContext, aligned: AlignedRelease, name: str
) -> ReleasedColumn:
    """The column as it is written, rows in the file's order."""
    table, column = context.table, aligned.texts[name]
    j = table.position(name)
    hierarchy = table.hierarchies[j]
    nothing, texts = {"", ASTERISK, hierarchy.labels[TOP]}, column.values
    code = [NOTHING_SHOWN if text in nothing else place for place, text in enumerate(texts)]
    missing = NOTHING_SHOWN
    if _says_nothing_in_several_ways(column, aligned.columns[name].readings, table, name):
        # Whoever gets the file tells them apart: each way of writing it is a value.
        code, missing, texts = list(range(len(texts))), len(texts), (*texts, "")
    codes: Ints = np.array([*code, missing], dtype=np.int32)[column.positions]
    levels = None if context.rule is None else _levels(context, j, hierarchy)
    return ReleasedColumn(name, _role(table, name), _giver(subject, name), texts, codes, levels)


def _key_column(subject: Subject, key: str, aligned: AlignedRelease) -> ReleasedColumn:
    """The column that says whose row is whose; its texts are all different, and nobody looks at them."""
    rows = np.arange(aligned.records, dtype=np.int32)
    return ReleasedColumn(key, KEY, _giver(subject, key), ("",) * aligned.records, rows)


def _levels(context: EvaluationContext, j: int, hierarchy: Hierarchy) -> Levels:
    """How far values are generalised, by the table's rule or else by what became of each cell."""
    rule = context.rule
    if isinstance(rule, TableRule):
        return Levels(rule.levels[j], rule.levels[j], hierarchy.height)
    if rule is None:
        raise ValueError("without a rule nobody knows what the values were")
    original, shown = context.table.codes[:, j], context.release(rule).codes[:, j]
    had = ~context.table.is_missing(j)
    if context.absent is not None:
        had = had & ~context.absent
    steps = (hierarchy.depth[original] - hierarchy.depth[shown])[had]
    if not len(steps):
        return Levels(0, 0, hierarchy.height)
    return Levels(int(steps.min()), int(steps.max()), hierarchy.height)


def _role(table: Table, name: str) -> str:
    return "sensitive" if name in table.sensitive else "quasi_identifier"


def _giver(subject: Subject, name: str) -> Giver:
    schema = subject.policy.schema
    given = None if schema is None else schema.role_of(name)
    return "dataset" if given is None else given[1]
