"""Sensitivity Φ: the harm if a disclosed record is tied to its owner (specification 5.1, 5.2).

Every family is a function of the sum of node weights over the disclosed attributes, those that are not ⊥.
Weights may be +∞; an attribute that is not disclosed never contributes, whatever its weight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from app.domain.distinct import Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.tables import Table
from app.domain.weights import (
    AttributeWeights,
    Floats,
    NodeWeights,
    faults_of_node_weights,
    faults_of_specification,
    node_weights,
    unit_weights,
)

Family = Literal["linear", "linear_personal", "multiplicative", "multiplicative_centered", "constant"]


@dataclass(frozen=True, eq=False)
class Overrides:
    """Weights of entities or groups that replace an attribute's own.

    ``group_of_record`` is int32 (n,); ``weights`` is float64 (G, m), NaN where the attribute keeps the
    dataset's weights. Row 0 may be all NaN for the records without any. A weight takes the place of the
    constant, or of every leaf weight with the inner ones derived anew.
    """

    group_of_record: Ints
    weights: Floats


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Φ as a function of disclosed nodes and the record's weight group.

    Parameters
    ----------
    family
        ``linear`` (Φ1) and ``linear_personal`` (Φ2) sum the weights, ``multiplicative`` (Φ4) is exp of the
        sum, ``multiplicative_centered`` exp − 1, ``constant`` the same for every record.
    shapes
        Per attribute float64 (2, nodes): the dataset's weights, and those of unit weight for overrides.
    factors
        float64 (G, m): NaN where a group uses the dataset's weights, else what multiplies the unit weights.
    groups
        Weight group per record of the table, or None if there is only one.
    constant
        Φ of the family ``constant``.
    """

    family: Family
    shapes: tuple[Floats, ...]
    factors: Floats
    groups: Ints | None = None
    constant: float = 1.0

    @property
    def n_groups(self) -> int:
        return len(self.factors)

    @property
    def is_personal(self) -> bool:
        return self.groups is not None and self.n_groups > 1

    def weights(self, attribute: int, nodes: Ints, groups: Ints | None = None) -> Floats:
        """Weight of each node (r,) of one attribute for the given weight groups (default: group 0)."""
        shape = self.shapes[attribute]
        own: Floats = shape[0][nodes]
        factors = self.factors[:, attribute]
        if np.isnan(factors).all():
            return own
        factor = factors[0 if groups is None else groups]
        unit = shape[1][nodes]
        with np.errstate(invalid="ignore"):
            personal = np.where(unit == 0.0, 0.0, factor * unit)
        return np.where(np.isnan(factor), own, personal)

    def phi(self, codes: Ints, groups: Ints | None = None) -> Floats:
        """Φ of each disclosed row, float64 (r,) in [0, +∞].

        ``codes`` are disclosed nodes (r, m); ``groups`` the weight groups (r,) of the rows' entities, needed
        only where :attr:`is_personal`.
        """
        if self.family == "constant":
            return np.full(len(codes), self.constant)
        if self.is_personal and groups is None:
            raise ValueError("personal weights need the weight group of every row")
        total = np.zeros(len(codes))
        for j in range(codes.shape[1]):
            total += self.weights(j, codes[:, j], groups)
        return self.of_sum(total)

    def of_sum(self, total: Floats) -> Floats:
        """Φ from the sum of the weights of the disclosed attributes."""
        if self.family == "multiplicative":
            with np.errstate(over="ignore"):
                return np.exp(total)
        if self.family == "multiplicative_centered":
            with np.errstate(over="ignore"):
                return np.expm1(total)
        return np.full(len(total), self.constant) if self.family == "constant" else total


def constant_sensitivity(table: Table, value: float = 1.0) -> Sensitivity:
    """Φ ≡ value, k-anonymity's implicit choice; value in [0, +∞]."""
    if not value >= 0:
        raise InvalidInput.of("/constant", "negative-weight", "The sensitivity must be 0 or more, or inf.")
    shapes = tuple(np.zeros((2, size)) for size in table.sizes)
    return Sensitivity("constant", shapes, np.full((1, table.n_attributes), math.nan), None, float(value))


def build_sensitivity(
    table: Table,
    family: Family,
    weights: Mapping[str, AttributeWeights],
    overrides: Overrides | None = None,
    allow_positive_top: bool = False,
) -> Sensitivity:
    """Check weights against the hierarchies and build Φ.

    Raises InvalidInput with every offender: unknown or missing attributes and values, negative weights,
    a node that weighs less than its parent, ⊥ with a positive weight (unless ``allow_positive_top``), and
    overrides that the family or the kind of weights does not admit.
    """
    if family not in get_args(Family) or family == "constant":
        raise InvalidInput.of(
            "/family",
            "unknown-choice",
            "The family is not one with weights.",
            "Choose linear, linear_personal, multiplicative or multiplicative_centered.",
        )
    faults = _faults_of_attributes(table, weights)
    for attribute, hierarchy in zip(table.attributes, table.hierarchies, strict=True):
        if attribute in weights:
            faults += faults_of_specification(attribute, hierarchy, weights[attribute])
    if faults:
        raise InvalidInput(faults)
    shapes = []
    for attribute, hierarchy in zip(table.attributes, table.hierarchies, strict=True):
        own = node_weights(hierarchy, weights[attribute])
        faults += faults_of_node_weights(attribute, hierarchy, own, allow_positive_top)
        shapes.append(np.stack([own, unit_weights(hierarchy, weights[attribute])]))
    factors, groups, override_faults = _factors(table, family, weights, overrides)
    if faults + override_faults:
        raise InvalidInput(faults + override_faults)
    return Sensitivity(family, tuple(shapes), factors, groups)


def _faults_of_attributes(table: Table, weights: Mapping[str, AttributeWeights]) -> list[Fault]:
    known = ", ".join(table.attributes)
    faults = [
        Fault(
            f"/attributes/{name}",
            "unknown-attribute",
            f"There is no disclosed attribute {name!r}.",
            f"The attributes are: {known}.",
        )
        for name in weights
        if name not in table.attributes
    ]
    faults += [
        Fault(
            f"/attributes/{name}",
            "missing-attribute",
            f"The attribute {name!r} has no weight.",
            "Give every disclosed attribute a weight; 0 if its disclosure does no harm.",
        )
        for name in table.attributes
        if name not in weights
    ]
    return faults


def _factors(
    table: Table, family: Family, weights: Mapping[str, AttributeWeights], overrides: Overrides | None
) -> tuple[Floats, Ints | None, list[Fault]]:
    if overrides is None:
        return np.full((1, table.n_attributes), math.nan), None, []
    faults = []
    if family == "linear":
        faults.append(
            Fault(
                "/overrides",
                "not-personal",
                "The family linear has the same weights for everybody.",
                "Choose linear_personal or multiplicative for weights per entity or group.",
            )
        )
    if overrides.group_of_record.shape != (table.n_records,):
        raise ValueError("one weight group per record")
    for j, attribute in enumerate(table.attributes):
        column = overrides.weights[:, j]
        given = ~np.isnan(column)
        if given.any() and isinstance(weights[attribute], NodeWeights):
            faults.append(
                Fault(
                    f"/overrides/{attribute}",
                    "not-scalable",
                    f"The attribute {attribute!r} has a weight per node, which one number cannot replace.",
                    "Give it a constant or leaf weights.",
                )
            )
        if (column[given] < 0).any():
            rows = ", ".join(str(g + 1) for g in np.flatnonzero(given & (column < 0))[:10])
            faults.append(
                Fault(
                    f"/overrides/{attribute}",
                    "negative-weight",
                    f"Overrides of {attribute!r} are negative (rows {rows}).",
                    "Weights are 0 or more, or inf.",
                )
            )
    return np.asarray(overrides.weights, dtype=np.float64), overrides.group_of_record, faults
