"""Values of nodes that a user gives for the utility ``custom`` (Definitions: utility)."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from app.domain.arrays import Floats
from app.domain.errors import Fault
from app.domain.hierarchies.definitions import MAX_FAULTS
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.sensitivity.weights import shares_label_of_top
from app.domain.tables.table import Table, unknown_attribute


def custom_values(hierarchy: Hierarchy, given: Mapping[str, float]) -> Floats:
    """The value of every node (nodes,): NaN where none is given, 0 for ⊥ unless its label is its own."""
    values = np.array([given.get(label, math.nan) for label in hierarchy.labels], dtype=float)
    if math.isnan(values[TOP]) or shares_label_of_top(hierarchy):
        values[TOP] = 0.0
    return values


def faults_of_custom_values(table: Table, given: Mapping[str, Mapping[str, float]]) -> list[Fault]:
    """Attributes without values or unknown, and in each the values that are not valid, by name."""
    faults = [
        unknown_attribute(f"/utility/values/{name}", name, table)
        for name in given
        if name not in table.attributes
    ]
    for attribute, hierarchy in zip(table.attributes, table.hierarchies, strict=True):
        if attribute in given:
            faults += _faults_of_attribute(attribute, hierarchy, given[attribute])
            continue
        faults.append(
            Fault(
                f"/utility/values/{attribute}",
                "missing-attribute",
                f"The attribute {attribute!r} has no values.",
                "Give every disclosed attribute its values; 0 for those of no use.",
            )
        )
    return faults


def _faults_of_attribute(attribute: str, hierarchy: Hierarchy, given: Mapping[str, float]) -> list[Fault]:
    pointer = f"/utility/values/{attribute}"
    known = set(hierarchy.labels)
    faults = [
        Fault(
            f"{pointer}/{label}",
            "unknown-value",
            f"{label!r} is no value of the hierarchy of {attribute!r}.",
            "Name values of the hierarchy.",
        )
        for label in given
        if label not in known
    ]
    faults += [
        Fault(
            f"{pointer}/{label}",
            "invalid-value",
            f"The utility of {label!r} of {attribute!r} is no finite number of 0 or more.",
            "Give it one; 0 if it is of no use.",
        )
        for label, value in given.items()
        if not 0 <= value < math.inf
    ]
    faults += _faults_of_missing(attribute, hierarchy, given)
    return (faults or _faults_of_order(attribute, hierarchy, given))[:MAX_FAULTS]


def _faults_of_missing(attribute: str, hierarchy: Hierarchy, given: Mapping[str, float]) -> list[Fault]:
    """Nodes without a value. A leaf directly below ⊥ may be a cell of the data, so those are only counted."""
    values = custom_values(hierarchy, given)
    missing = np.flatnonzero(np.isnan(values)).tolist()
    from_data = {v for v in missing if hierarchy.is_leaf[v] and hierarchy.parents[v] == (TOP,)}
    pointer, remedy = f"/utility/values/{attribute}", "Give every value but the top a number, 0 or more."
    faults = [
        Fault(
            f"{pointer}/{hierarchy.labels[v]}",
            "missing-value",
            f"The value {hierarchy.labels[v]!r} of {attribute!r} has no utility.",
            remedy,
        )
        for v in missing
        if v not in from_data
    ]
    if from_data:
        faults.append(
            Fault(
                pointer,
                "missing-value",
                f"{len(from_data)} values of {attribute!r} that lie directly below the top have no utility.",
                f"{remedy} The dataset's profile shows the values.",
            )
        )
    return faults


def _faults_of_order(attribute: str, hierarchy: Hierarchy, given: Mapping[str, float]) -> list[Fault]:
    """Edges on which the more general value would be of more use."""
    values, labels = custom_values(hierarchy, given), hierarchy.labels
    child, parent = hierarchy.edges
    return [
        Fault(
            f"/utility/values/{attribute}/{labels[p]}",
            "not-monotone",
            f"In attribute {attribute!r} {labels[p]!r} is of more use than {labels[c]!r} below it.",
            "A more general value must not be of more use.",
        )
        for c, p in zip(child.tolist(), parent.tolist(), strict=True)
        if values[c] < values[p]
    ]
