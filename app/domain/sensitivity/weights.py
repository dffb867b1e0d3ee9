"""Weights on the nodes of a hierarchy: given, derived and checked (Definitions: weights)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from app.domain.arrays import Floats
from app.domain.errors import Fault
from app.domain.hierarchies.definitions import MAX_FAULTS
from app.domain.hierarchies.hierarchy import TOP, Hierarchy


@dataclass(frozen=True)
class ConstantWeight:
    """The same weight for every node but ⊥."""

    value: float


@dataclass(frozen=True)
class LeafWeights:
    """A weight per leaf, ``default`` for leaves not named; inner nodes by the modified harmonic mean."""

    default: float | None = None
    values: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class NodeWeights:
    """A weight per label of a node; every node but ⊥ needs one.

    ⊥ has 0 unless its label is given and is its own: where a value below shares it, it means that value.
    """

    values: Mapping[str, float]


AttributeWeights = ConstantWeight | LeafWeights | NodeWeights


def harmonic_weights(hierarchy: Hierarchy, leaf_weights: Floats) -> Floats:
    """Node weights (nodes,) from leaf weights (leaves,): w(parent) = 1 / Σ 1/w(child), w(⊥) = 0.

    1/0 = ∞ and 1/∞ = 0: a child of weight 0 makes the parent 0, children of weight ∞ are ignored. The result
    is never above a child's weight, also in the last digit.
    """
    weights = np.zeros(hierarchy.n_nodes)
    weights[hierarchy.leaves] = leaf_weights
    child, parent = hierarchy.edges
    for depth in range(hierarchy.height - 1, 0, -1):
        here = hierarchy.depth[parent] == depth
        children, parents = child[here], parent[here]
        with np.errstate(divide="ignore", over="ignore"):
            reciprocals = np.bincount(parents, 1.0 / weights[children], minlength=hierarchy.n_nodes)
            nodes = np.unique(parents)
            weights[nodes] = 1.0 / reciprocals[nodes]
        np.minimum.at(weights, parents, weights[children])
    weights[TOP] = 0.0
    return weights


def node_weights(hierarchy: Hierarchy, given: AttributeWeights) -> Floats:
    """The weight of every node (nodes,)."""
    if isinstance(given, ConstantWeight):
        weights = np.full(hierarchy.n_nodes, float(given.value))
        weights[TOP] = 0.0
        return weights
    if isinstance(given, LeafWeights):
        default = math.nan if given.default is None else given.default
        labels = [hierarchy.labels[leaf] for leaf in hierarchy.leaves.tolist()]
        return harmonic_weights(
            hierarchy, np.array([given.values.get(v, default) for v in labels], dtype=float)
        )
    return values_by_label(hierarchy, given.values)


def values_by_label(hierarchy: Hierarchy, given: Mapping[str, float]) -> Floats:
    """The value of every node (nodes,): NaN where none is given, 0 for ⊥ unless its label is its own."""
    values = np.array([given.get(label, math.nan) for label in hierarchy.labels], dtype=float)
    if math.isnan(values[TOP]) or shares_label_of_top(hierarchy):
        values[TOP] = 0.0
    return values


def shares_label_of_top(hierarchy: Hierarchy) -> bool:
    """Whether a value below ⊥ has its label, which then means that value."""
    return hierarchy.labels[TOP] in hierarchy.labels[TOP + 1 :]


def unit_weights(hierarchy: Hierarchy, given: AttributeWeights) -> Floats:
    """The shape that a personal weight multiplies: the same kind of weights with every given number 1."""
    if isinstance(given, LeafWeights):
        return harmonic_weights(hierarchy, np.ones(hierarchy.n_leaves))
    return node_weights(hierarchy, ConstantWeight(1.0))


def faults_of_specification(attribute: str, hierarchy: Hierarchy, given: AttributeWeights) -> list[Fault]:
    """Negative numbers, NaN, unknown labels and nodes without a weight."""
    pointer = f"/attributes/{attribute}"
    numbers = dict(given.values) if not isinstance(given, ConstantWeight) else {}
    if isinstance(given, ConstantWeight):
        numbers["constant"] = given.value
    elif isinstance(given, LeafWeights) and given.default is not None:
        numbers["default"] = given.default
    faults = [
        Fault(
            f"{pointer}/{label}",
            "negative-weight",
            f"The weight of {label!r} of {attribute!r} is not in [0, ∞].",
            "Weights are 0 or more, or inf.",
        )
        for label, value in numbers.items()
        if not value >= 0
    ]
    if isinstance(given, ConstantWeight):
        return faults[:MAX_FAULTS]
    leaves_only = isinstance(given, LeafWeights)
    wanted = {
        hierarchy.labels[v] for v in range(hierarchy.n_nodes) if hierarchy.is_leaf[v] or not leaves_only
    }
    faults += [
        Fault(
            f"{pointer}/{label}",
            "unknown-value",
            f"{label!r} is no {'leaf' if leaves_only else 'value'} of the hierarchy of {attribute!r}.",
            "Name values of the hierarchy.",
        )
        for label in given.values
        if label not in wanted
    ]
    if not leaves_only and not shares_label_of_top(hierarchy):
        wanted.discard(hierarchy.labels[TOP])
    if not (isinstance(given, LeafWeights) and given.default is not None):
        missing = sorted(wanted - set(given.values))
        faults += [
            Fault(
                f"{pointer}/{label}",
                "missing-weight",
                f"The value {label!r} of {attribute!r} has no weight.",
                "Give every value a weight, or one number for all.",
            )
            for label in missing
        ]
    return faults[:MAX_FAULTS]


def faults_of_node_weights(
    attribute: str, hierarchy: Hierarchy, weights: Floats, allow_positive_top: bool
) -> list[Fault]:
    """Violations of monotone weights and of w(⊥) = 0, with nodes (Definitions: direction of weights)."""
    labels = hierarchy.labels
    child, parent = hierarchy.edges
    faults = [
        Fault(
            f"/attributes/{attribute}/{labels[p]}",
            "not-monotone",
            f"In attribute {attribute!r} {labels[c]!r} weighs less than its generalisation {labels[p]!r}.",
            "A more general value must not be more sensitive.",
        )
        for c, p in zip(child.tolist(), parent.tolist(), strict=True)
        if weights[c] < weights[p]
    ]
    if weights[TOP] > 0 and not allow_positive_top:
        faults.append(
            Fault(
                f"/attributes/{attribute}/{labels[TOP]}",
                "positive-top",
                f"The top of {attribute!r} has a positive weight: suppressing it would still do harm.",
                "Give ⊥ the weight 0, or allow it explicitly.",
            )
        )
    return faults[:MAX_FAULTS]
