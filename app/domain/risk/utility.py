"""Utility of disclosed records: a sum of node values over attributes (Definitions: utility).

Utilities are compared as they are; rounding a mean is for display, and for repeating published results that
rounded it before comparing (Definitions: rounded utility).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.definitions import MAX_FAULTS
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.hierarchies.node_values import DERIVED_VALUES
from app.domain.sensitivity.weights import values_by_label
from app.domain.tables.table import Table, unknown_attributes

Model = Literal["depth_sum", "inverse_leaves", "log_leaves", "info_loss_xt", "info_loss_lm", "custom"]


def _faults_of_custom_values(table: Table, given: Mapping[str, Mapping[str, float]]) -> list[Fault]:
    """Attributes without values or unknown, and in each the values that are not valid, by name."""
    faults = unknown_attributes("/utility/values", given, table)
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
    values = values_by_label(hierarchy, given)
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
    values, labels = values_by_label(hierarchy, given), hierarchy.labels
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


@dataclass(frozen=True, eq=False)
class Utility:
    """u(y) = Σ values[j][y_j], non-negative and non-increasing under generalisation.

    The two loss models are turned into utilities by subtracting them from the loss of full suppression,
    ``loss_at_top`` (Definitions: losses as utilities); it is None for the others.
    """

    model: Model
    values: tuple[Floats, ...]
    loss_at_top: float | None = None

    def of(self, codes: Ints) -> Floats:
        """Utility of each disclosed row (r, m), float64 (r,)."""
        total = np.zeros(len(codes))
        for j, values in enumerate(self.values):
            total += values[codes[:, j]]
        return total

    @property
    def is_loss(self) -> bool:
        """Whether the model is a loss: less is better, and it rises under generalisation."""
        return self.loss_at_top is not None

    def information_loss(self, utility: Floats) -> Floats:
        """The loss that a loss model reports, from its utility; ValueError for the other models."""
        return self._top - utility

    def floor_of_loss(self, cap: float) -> float:
        """The utility that is reached if and only if the loss is at most ``cap``; ValueError as above."""
        return self._top - cap

    @property
    def _top(self) -> float:
        if self.loss_at_top is None:
            raise ValueError(f"{self.model} is not a loss")
        return self.loss_at_top


def rounded_half_away(value: float) -> float:
    """The nearest whole number, halves away from zero: 2.5 → 3, −2.5 → −3, 0.49999999999999994 → 0."""
    whole = math.floor(abs(value))
    return math.copysign(whole + (abs(value) - whole >= 0.5), value)


_NODE_VALUES: Mapping[str, Callable[[Hierarchy], Floats]] = {
    **DERIVED_VALUES,
    "info_loss_xt": lambda own: (own.n_leaves - own.leaf_count) / own.n_leaves,
    "info_loss_lm": lambda own: (own.n_leaves - own.leaf_count) / max(1, own.n_leaves - 1),
}


def build_utility(
    table: Table,
    model: Model = "depth_sum",
    weights: Mapping[str, float] | None = None,
    node_values: Mapping[str, Mapping[str, float]] | None = None,
) -> Utility:
    """Build the utility of a model for a table.

    Parameters
    ----------
    weights
        What an attribute's values count, by name, in [0, ∞); 1 where not named.
    node_values
        For ``custom``: attribute → label of a node → value d in [0, ∞), non-increasing towards ⊥, whose own
        value is 0 unless it is named.

    Raises InvalidInput for an unknown model, and with every offending attribute, weight and value.
    """
    if model not in get_args(Model):
        raise InvalidInput.of(
            "/utility",
            "unknown-choice",
            "The utility model is unknown.",
            f"Choose one of {', '.join(get_args(Model))}.",
        )
    factors, faults = _factors(table, weights or {})
    if model == "custom":
        faults += _faults_of_custom_values(table, node_values or {})
    elif node_values:
        faults.append(
            Fault(
                "/utility/values",
                "values-not-used",
                f"The utility model {model} derives its values from the hierarchies.",
                "Leave the values out, or choose the model custom.",
            )
        )
    if faults:
        raise InvalidInput(faults)
    values = tuple(
        factor
        * (values_by_label(hierarchy, node_values[name]) if node_values else _NODE_VALUES[model](hierarchy))
        for name, hierarchy, factor in zip(table.attributes, table.hierarchies, factors, strict=True)
    )
    if not model.startswith("info_loss"):
        return Utility(model, values)
    return Utility(model, values, float(sum(v.max() - v[TOP] for v in values)))


def _factors(table: Table, weights: Mapping[str, float]) -> tuple[list[float], list[Fault]]:
    """What each attribute's values are multiplied by, and the faults of the weights given."""
    faults = unknown_attributes("/utility/weights", weights, table)
    faults += [
        Fault(
            f"/utility/weights/{name}",
            "invalid-weight",
            f"The weight of {name!r} is no finite number of 0 or more.",
            "Give it one; 0 if its values are of no use.",
        )
        for name, weight in weights.items()
        if not 0 <= weight < math.inf
    ]
    return [float(weights.get(name, 1.0)) for name in table.attributes], faults
