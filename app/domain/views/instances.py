"""Rows of instances, and the pair of instances that shows a disclosure."""

from __future__ import annotations

from dataclasses import dataclass

from app.domain.views.ranges import Cell


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a relation."""

    relation: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Side:
    """Of one query: beside ``others``, ``answer`` is found exactly if ``deciding`` is in the instance."""

    deciding: Row
    others: frozenset[Row]
    answer: tuple[Cell, ...]


@dataclass(frozen=True)
class Witness:
    """What proves a disclosure: rows of one block, most often one row, that decide both answers."""

    secret: Side
    view: Side
