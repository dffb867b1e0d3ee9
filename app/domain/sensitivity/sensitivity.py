"""Sensitivity Φ: the harm if a disclosed record is tied to its owner (Definitions: sensitivity).

Every family is a function of the sum of node weights over the disclosed attributes, those that are not ⊥;
``interactions`` adds weights of sets of attributes that are disclosed together. Weights may be +∞; an
attribute that is not disclosed never contributes, whatever its weight. Ψ, the harm if the attacker names the
wrong person, is a :class:`Sensitivity` like Φ.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from app.domain.arrays import Bools, Floats, Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.sensitivity.interactions import (
    GivenInteractions,
    Interaction,
    faults_of_interaction_weights,
    faults_of_interactions,
    interaction_sums,
)
from app.domain.sensitivity.weights import (
    AttributeWeights,
    NodeWeights,
    faults_of_node_weights,
    faults_of_specification,
    node_weights,
    unit_weights,
)
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import TIE_TOLERANCE
from app.domain.tables.table import Table, unknown_attributes

Family = Literal[
    "linear", "linear_personal", "interactions", "multiplicative", "multiplicative_centered", "constant"
]

_ROWS_NAMED = 10


@dataclass(frozen=True, eq=False)
class Overrides:
    """Weights of entities or groups that replace an attribute's own.

    ``group_of_record`` is int32 (n,); ``weights`` is float64 (G, m), NaN where the attribute keeps the
    dataset's weights. Row 0 may be all NaN for the records without any. A weight takes the place of the
    constant, or of every leaf weight with the inner ones derived anew. ``interactions`` is float64 (G, sets),
    the same for the weights of interactions in the order in which they are given; None: none replaced.
    """

    group_of_record: Ints
    weights: Floats
    interactions: Floats | None = None


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """Φ as a function of disclosed nodes and the record's weight group.

    Parameters
    ----------
    family
        ``linear`` (Φ1) and ``linear_personal`` (Φ2) sum the weights, ``interactions`` (Φ3) adds those of sets
        of attributes, ``multiplicative`` (Φ4) is exp of the sum, ``multiplicative_centered`` exp − 1,
        ``constant`` the same for every record.
    shapes
        Per attribute float64 (2, nodes): the dataset's weights, and those that a group's factor multiplies.
    factors
        float64 (G, m): NaN where a group uses the dataset's weights, else what multiplies the second ones.
    groups
        Weight group per record of the table, or None if there is only one.
    constant
        Φ of the family ``constant``.
    interactions
        Sets of attributes whose weight counts only while none of them is ⊥; empty for other families.
    rescaled
        Records whose weights a normalisation multiplied by a factor of their own.
    """

    family: Family
    shapes: tuple[Floats, ...]
    factors: Floats
    groups: Ints | None = None
    constant: float = 1.0
    interactions: tuple[Interaction, ...] = ()
    rescaled: int = 0

    @property
    def n_groups(self) -> int:
        """G, groups of records with weights of their own."""
        return len(self.factors)

    @property
    def is_personal(self) -> bool:
        """Whether records differ in their weights."""
        return self.groups is not None and self.n_groups > 1

    @property
    def personal_groups(self) -> Ints | None:
        """Weight group of each record (n,); None if everybody has the same weights."""
        return self.groups if self.is_personal else None

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays."""
        arrays = [*self.shapes, self.factors, *(one.weights for one in self.interactions)]
        return sum(array.nbytes for array in arrays) + (0 if self.groups is None else self.groups.nbytes)

    @cached_property
    def slack(self) -> Floats:
        """What suppressing an attribute takes from Φ at least, per weight group, float64 (G, m).

        w_j(v) − w_j(⊥) + Σ min(0, w_S) over the sets S that hold j, at the lightest node v below ⊥. For
        pairs of attributes Φ is monotone if and only if none is negative, for greater sets if none is.
        """
        slack = np.empty(self.factors.shape)
        every = np.arange(self.n_groups, dtype=np.int32)
        for j, shape in enumerate(self.shapes):
            least = np.full(self.n_groups, math.inf)
            for row in shape:
                lightest = np.full(self.n_groups, 1 + row[1:].argmin() if len(row) > 1 else TOP, np.int32)
                if len(row) > 1:
                    least = np.minimum(least, self.weights(j, lightest, every))
            top = self.weights(j, np.full(self.n_groups, TOP, np.int32), every)
            slack[:, j] = np.where(np.isinf(least), math.inf, least - np.where(np.isinf(top), 0.0, top))
        for interaction in self.interactions:
            lost = np.minimum(interaction.weights, 0.0)
            slack[:, interaction.attributes] += lost[:, None]
        return slack

    @cached_property
    def is_monotone(self) -> bool:
        """Whether Φ never rises when a record is generalised: weights never do, interactions must not.

        Proved, not sampled: False for sets of three or more attributes may be too strict.
        """
        if all((one.weights >= 0).all() for one in self.interactions):
            return True
        return bool((self.slack >= -TIE_TOLERANCE).all())

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
        if self.interactions:
            total += self.interaction_sums(~shows_nothing(codes), groups)
        return self.of_sum(total)

    def interaction_sums(self, disclosed: Bools, groups: Ints | None = None) -> Floats:
        """What the interactions add to the weights of rows that disclose these attributes (r, m)."""
        return interaction_sums(self.interactions, disclosed, groups)

    @property
    def is_exponential(self) -> bool:
        """Whether Φ is the exponential of a sum of weights, or that minus one."""
        return self.family in ("multiplicative", "multiplicative_centered")

    def of_sum(self, total: Floats) -> Floats:
        """Φ from the sum of the weights of the disclosed attributes and :meth:`interaction_sums`."""
        if self.family == "multiplicative":
            with np.errstate(over="ignore"):
                return np.exp(total)
        if self.family == "multiplicative_centered":
            with np.errstate(over="ignore"):
                return np.expm1(total)
        if self.family == "interactions":
            # Negative interactions that weights outweigh exactly may leave a rounding error below 0.
            return np.maximum(total, 0.0)
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
    interactions: GivenInteractions | None = None,
) -> Sensitivity:
    """Check weights against the hierarchies and build Φ.

    Raises InvalidInput with every offender: unknown or missing attributes and values, negative weights,
    a node that weighs less than its parent, ⊥ with a positive weight (unless ``allow_positive_top``),
    overrides that the family or the kind of weights does not admit, and interactions that make Φ rise under
    generalisation.
    """
    if family not in get_args(Family) or family == "constant":
        raise InvalidInput.of(
            "/family",
            "unknown-choice",
            "The family is not one with weights.",
            f"Choose one of {', '.join(name for name in get_args(Family) if name != 'constant')}.",
        )
    given = interactions or GivenInteractions(())
    faults = _faults_of_attributes(table, weights) + _faults_of_family(family, given)
    faults += faults_of_interactions(table.attributes, given)
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
    sets, interaction_faults = _interactions(table, given, overrides)
    faults += override_faults + interaction_faults
    if faults:
        raise InvalidInput(faults)
    built = Sensitivity(family, tuple(shapes), factors, groups, interactions=sets)
    if not built.is_monotone:
        raise InvalidInput(_faults_of_slack(table, built))
    return built


def _faults_of_attributes(table: Table, weights: Mapping[str, AttributeWeights]) -> list[Fault]:
    faults = unknown_attributes("/attributes", weights, table)
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


def _faults_of_family(family: Family, given: GivenInteractions) -> list[Fault]:
    if family == "interactions" or not given.sets:
        return []
    return [
        Fault(
            "/interactions",
            "interactions-not-used",
            f"The family {family} has no interactions.",
            "Leave them out, or choose the family interactions.",
        )
    ]


def _interactions(
    table: Table, given: GivenInteractions, overrides: Overrides | None
) -> tuple[tuple[Interaction, ...], list[Fault]]:
    """The sets with a weight per group, ordered by size and attributes."""
    sets, faults = [], []
    for i, one in enumerate(given.sets):
        weights = np.array([one.weight])
        if overrides is not None:
            own = math.nan if overrides.interactions is None else overrides.interactions[:, i]
            weights = np.where(np.isnan(own), one.weight, own) + np.zeros(len(overrides.weights))
            faults += faults_of_interaction_weights(
                f"/overrides/{one.label}", one.label, weights, given.allow_negative
            )
        sets.append(Interaction(tuple(sorted(table.position(name) for name in one.attributes)), weights))
    return tuple(sorted(sets, key=lambda one: (len(one.attributes), one.attributes))), faults


def _faults_of_slack(table: Table, built: Sensitivity) -> list[Fault]:
    """Attributes whose disclosure would lower Φ because negative interactions outweigh their own weight."""
    faults = []
    for j, attribute in enumerate(table.attributes):
        bad = np.flatnonzero(built.slack[:, j] < -TIE_TOLERANCE)
        if not len(bad):
            continue
        who = ""
        if built.groups is not None:
            rows = np.flatnonzero(np.isin(built.groups, bad)) + 1
            shown = ", ".join(map(str, rows[:_ROWS_NAMED].tolist()))
            who = f", for the weights of {len(rows)} records (first rows: {shown})" if len(rows) else ""
        faults.append(
            Fault(
                f"/interactions/{attribute}",
                "not-monotone",
                f"The negative interactions of {attribute!r} outweigh its lightest value by "
                f"{-float(built.slack[:, j].min()):g}{who}: disclosing more would do less harm.",
                "For every attribute its least weight and the negative interactions that it is part of must "
                "together be 0 or more.",
            )
        )
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
