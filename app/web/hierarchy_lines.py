"""A hierarchy as lines ``value;group;group``: read, checked, and changed by hand.

Rows have equal lengths: the value, then its group on each level above, the top left out. A group is a label
on a level, so that no line can be above itself: a hierarchy of rows has no cycles.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from privacy_risk import Json

Row = tuple[str, ...]
Rows = tuple[Row, ...]

DELIMITER: Final = ";"
MOST_FAULTS: Final = 5


@dataclass(frozen=True)
class Group:
    """A label on a level: its group on the level above, its values and their records, None if not known."""

    label: str
    above: str | None
    values: int
    records: int | None


@dataclass(frozen=True)
class Level:
    """How fine a level is: records are those of its smallest and greatest groups that have any."""

    number: int
    groups: int
    smallest: int | None
    greatest: int | None


def text_of(rows: Rows) -> str:
    """The lines; labels with a semicolon or a quote are quoted."""
    written = io.StringIO()
    csv.writer(written, delimiter=DELIMITER, lineterminator="\n").writerows(rows)
    return written.getvalue().rstrip("\n")


def rows_of(text: str) -> tuple[Rows, list[str]]:
    """The rows of lines, and what is wrong with them; empty lines count for nothing."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=DELIMITER, strict=True)
    try:
        read = [(reader.line_num, tuple(row)) for row in reader if any(map(str.strip, row))]
    except csv.Error:
        return (), [f"Line {reader.line_num}: its quotes do not end, or stand within a label."]
    if not read:
        return (), ["There are no lines. Give one per value."]
    faults = [*_faults_of_labels(read), *_faults_of_groups(read)]
    more = len(faults) - MOST_FAULTS
    if more > 0:
        faults = [*faults[:MOST_FAULTS], f"{more} more things are wrong with the lines."]
    return tuple(row for _, row in read), faults


def _faults_of_labels(read: Sequence[tuple[int, Row]]) -> list[str]:
    first, width = read[0][0], len(read[0][1])
    faults: list[str] = []
    lines: dict[str, int] = {}
    for line, row in read:
        if len(row) != width:
            faults.append(f"Line {line} has {len(row) - 1} groups, line {first} has {width - 1}.")
        if "" in row:
            faults.append(f"Line {line} has an empty label.")
        if lines.setdefault(row[0], line) != line:
            faults.append(f"Line {line} repeats the value of line {lines[row[0]]}.")
    return faults


def _faults_of_groups(read: Sequence[tuple[int, Row]]) -> list[str]:
    """A group that is in two groups at once, told once."""
    faults: dict[tuple[int, str], str] = {}
    above: dict[tuple[int, str], tuple[str, int]] = {}
    for line, row in read:
        for level in range(1, len(row) - 1):
            here = (level, row[level])
            parent, first = above.setdefault(here, (row[level + 1], line))
            if parent != row[level + 1]:
                said = f"Line {line} puts the group {row[level]} into {row[level + 1]}, "
                faults.setdefault(here, said + f"line {first} into {parent}.")
    return list(faults.values())


def rows_of_tree(root: Json, height: int) -> Rows:
    """The rows of a tree that is shown whole; a value that is less deep is a group of its own below that."""
    rows: list[Row] = []
    stack: list[tuple[Json, Row]] = [(child, ()) for child in reversed(root["children"])]
    while stack:
        node, above = stack.pop()
        chain = (node["label"], *above)
        if node["children"]:
            stack.extend((child, chain) for child in reversed(node["children"]))
        else:
            rows.append((node["label"],) * (height - len(chain)) + chain)
    return tuple(rows)


def is_whole(node: Json) -> bool:
    """Whether nothing below the node is left out."""
    stack = [node]
    while stack:
        one = stack.pop()
        if len(one["children"]) != one["n_children"]:
            return False
        stack.extend(one["children"])
    return True


def definition_of(rows: Rows, top_label: str) -> Json:
    """The hierarchy as the interface takes it, with its top."""
    has_top = len(rows[0]) > 1 and {row[-1] for row in rows} == {top_label}
    return {"kind": "rows", "rows": [list(row) if has_top else [*row, top_label] for row in rows]}


# --- changes, all of which keep every group in one group ---------------------------------------------------


def moved(rows: Rows, level: int, chosen: Collection[str], into: str) -> Rows:
    """The labels chosen on a level put into one group of the level above: there already, or a new one.

    A new one is in the same groups as the first of the labels.
    """
    return _changed(rows, level, chosen, level + 1, into)


def merged(rows: Rows, level: int, chosen: Collection[str], name: str) -> Rows:
    """The groups chosen on a level as one of that name; of one group it is a new name."""
    return _changed(rows, level, chosen, level, name)


def _changed(rows: Rows, level: int, chosen: Collection[str], place: int, label: str) -> Rows:
    there = [row for row in rows if row[place] == label and row[level] not in chosen]
    model = next(iter(there or (row for row in rows if row[level] in chosen)), None)
    if model is None:
        return rows
    return tuple((*row[:place], label, *model[place + 1 :]) if row[level] in chosen else row for row in rows)


def with_level(rows: Rows, above: int) -> Rows:
    """A level more above another one: each of its groups is in a group of its own."""
    return tuple((*row[: above + 1], *row[above:]) for row in rows)


def without_level(rows: Rows, level: int) -> Rows:
    """Without a level of groups."""
    return tuple((*row[:level], *row[level + 1 :]) for row in rows)


# --- what it makes of the records --------------------------------------------------------------------------


def groups_of(rows: Rows, level: int, records: Mapping[str, int] | None) -> list[Group]:
    """The groups of a level in the order of the lines; ``records`` are those of each value."""
    below: dict[str, list[Row]] = {}
    for row in rows:
        below.setdefault(row[level], []).append(row)
    return [
        Group(
            label,
            own[0][level + 1] if level + 1 < len(own[0]) else None,
            len(own),
            None if records is None else sum(records.get(row[0], 0) for row in own),
        )
        for label, own in below.items()
    ]


def levels_of(rows: Rows, records: Mapping[str, int] | None) -> list[Level]:
    """Each level with the sizes of its groups."""
    levels = []
    for number in range(len(rows[0])):
        groups = groups_of(rows, number, records)
        sizes = [group.records for group in groups if group.records]
        levels.append(Level(number, len(groups), min(sizes, default=None), max(sizes, default=None)))
    return levels
