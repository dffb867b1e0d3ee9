"""Rules that say which value is shown instead of which: found in the hierarchies, and only ever upwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from app.domain.arrays import Integers, Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table, unknown_attribute

FAULTS_SHOWN = 50
_ROWS_SHOWN = 10


class Ancestors:
    """Finds what a value becomes by the label of what is to be shown; remembers what it found."""

    def __init__(self, hierarchy: Hierarchy) -> None:
        self._hierarchy = hierarchy
        self._labels = frozenset(hierarchy.labels)
        self._found: dict[tuple[int, str], int] = {}

    def knows(self, label: str | None) -> bool:
        """Whether any node has the label; None is ⊥."""
        return label is None or label in self._labels

    def of(self, node: int, label: str | None) -> int:
        """The lowest node with the label that is the node itself or above it, −1 if there is none.

        Of several above each other, as where a label is repeated on the next level, the lowest loses least.
        """
        if label is None:
            return TOP
        key = node, label
        if key not in self._found:
            labels = self._hierarchy.labels
            # Parents precede their children, so that the greatest code is the lowest node.
            self._found[key] = max(
                (code for code in self._hierarchy.up(node) if labels[code] == label), default=UNKNOWN
            )
        return self._found[key]

    def of_all(self, nodes: Ints, labels: Sequence[str | None]) -> Ints:
        """:meth:`of` for many cells."""
        pairs = zip(nodes.tolist(), labels, strict=True)
        return np.array([self.of(node, label) for node, label in pairs], dtype=np.int32)


def generalisation(
    table: Table, values: Mapping[str, Mapping[str, str | None]], pointer: str = "/values"
) -> CellRule:
    """Show other values in the whole table: attribute → {original value: value shown}, None for ⊥.

    Values that are not named stay. InvalidInput names every attribute and value that there is not, and every
    value shown that is not above its original.
    """
    codes = table.codes.copy(order="F")
    faults: list[Fault] = []
    for attribute, shown in values.items():
        place = f"{pointer}/{pointer_step(attribute)}"
        if attribute not in table.attributes:
            faults.append(unknown_attribute(place, attribute, table))
            continue
        j = table.attributes.index(attribute)
        hierarchy = table.hierarchies[j]
        ancestors = Ancestors(hierarchy)
        becomes = np.arange(hierarchy.n_nodes, dtype=np.int32)
        for original, label in shown.items():
            node = hierarchy.node_of(original)
            at = f"{place}/{pointer_step(original)}"
            if node is None or not ancestors.knows(label):
                faults.append(unknown_value(at, attribute, original if node is None else str(label)))
            elif (target := ancestors.of(node, label)) == UNKNOWN:
                faults.append(not_above(at, attribute, str(label), f"the value {original!r}"))
            else:
                becomes[node] = target
        codes[:, j] = becomes[codes[:, j]]
    if faults:
        raise InvalidInput(faults[:FAULTS_SHOWN])
    return CellRule(codes)


def pointer_step(name: str) -> str:
    """A member's name as a step of a JSON pointer."""
    return name.replace("~", "~0").replace("/", "~1")


def unknown_value(pointer: str, attribute: str, label: str) -> Fault:
    """The fault of a label that no node has, or several inner ones, so that it names none."""
    return Fault(
        pointer,
        "unknown-value",
        f"The hierarchy of attribute {attribute!r} has no value {label!r} that could be meant.",
        "Name a value as its hierarchy does, or null for suppressed.",
    )


def not_above(pointer: str, attribute: str, label: str, whom: str) -> Fault:
    """The fault of a value shown that does not generalise the original."""
    return Fault(
        pointer,
        "not-a-generalisation",
        f"The value {label!r} of attribute {attribute!r} is not above {whom} in the hierarchy.",
        "A rule shows the original, something above it, or nothing: name one of its ancestors, or null.",
    )


def in_rows(rows: Integers) -> str:
    """So many rows, counted from 0, and the first of them by number from 1."""
    shown = ", ".join(str(row + 1) for row in rows[:_ROWS_SHOWN].tolist())
    return f"{len(rows)} {'row' if len(rows) == 1 else 'rows'} (first rows: {shown})"
