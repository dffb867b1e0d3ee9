"""That nobody's weights count more, or less, than everybody's (Definitions: normalisation).

What is normalised is, per entity, the sum of the weights of the values that its record holds: attributes that
are missing count 0, infinite weights are left as they are and out of the sum. Interactions are no part of the
sum; where an entity's weights are rescaled, they are rescaled with them, so that Φ keeps its shape.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from app.domain.arrays import Bools, Floats, Ints
from app.domain.errors import Fault, InvalidInput
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import missing_cells
from app.domain.tables.numbers import highest_accepted, lowest_accepted
from app.domain.tables.table import Table

_POINTER = "/normalisation"
_ROWS_NAMED = 10


@dataclass(frozen=True)
class Normalisation:
    """Everybody's weights sum to ``total`` (``equal``) or to no more than that (``at_most``).

    ``validate`` refuses tables in which they do not, ``rescale`` multiplies the weights of those concerned.
    """

    rule: Literal["equal", "at_most"]
    total: float
    mode: Literal["validate", "rescale"]


def held_weights(table: Table, sensitivity: Sensitivity) -> Floats:
    """Sum of the finite weights of the values that each record holds, float64 (n,)."""
    groups = _groups(table, sensitivity)
    rows = table.distinct(extra=[(groups, sensitivity.n_groups)])
    total = np.zeros(rows.size)
    for j in range(table.n_attributes):
        nodes = rows.codes[:, j]
        weights = sensitivity.weights(j, nodes, rows.codes[:, -1])
        total += np.where(np.isinf(weights) | missing_cells(nodes), 0.0, weights)
    return total[rows.inverse]


def normalise(table: Table, sensitivity: Sensitivity, to: Normalisation) -> Sensitivity:
    """The sensitivity with normalised weights; InvalidInput says who is off by how much, by rows."""
    if not 0 < to.total < math.inf:
        raise InvalidInput.of(
            f"{_POINTER}/total",
            "invalid-total",
            "The total is no finite number above 0.",
            "Give what everybody's weights shall sum to.",
        )
    if sensitivity.family == "constant":
        raise InvalidInput.of(
            _POINTER,
            "normalisation-not-used",
            "The family constant has no weights.",
            "Leave the normalisation out, or choose another family.",
        )
    held = held_weights(table, sensitivity)
    above = held > highest_accepted(to.total)
    below = held < lowest_accepted(to.total) if to.rule == "equal" else np.zeros(len(held), dtype=bool)
    if to.mode == "validate":
        _refuse(held, to.total, above, below)
        return sensitivity
    concerned = above | below
    if not concerned.any():
        return sensitivity
    if sensitivity.family == "linear":
        raise InvalidInput.of(
            f"{_POINTER}/mode",
            "not-personal",
            "The family linear has the same weights for everybody, rescaled ones would differ.",
            "Choose another family, or the mode validate.",
        )
    return _rescaled(table, sensitivity, _scales(held, to.total, concerned))


def _refuse(held: Floats, total: float, above: Bools, below: Bools) -> None:
    faults = [
        Fault(
            _POINTER,
            code,
            f"The weights of {_entities(those)} sum to {word} than {total:g}, by up to "
            f"{float(np.abs(held - total)[those].max()):g} ({_rows(those)}).",
            "Change their weights or the total, or let the weights be rescaled.",
        )
        for code, word, those in (
            ("weights-above-total", "more", above),
            ("weights-below-total", "less", below),
        )
        if those.any()
    ]
    if faults:
        raise InvalidInput(faults)


def _scales(held: Floats, total: float, concerned: Bools) -> Floats:
    """What each record's weights are multiplied by (n,), 1 where it is not concerned."""
    with np.errstate(divide="ignore", over="ignore"):
        scales = np.where(concerned, total / held, 1.0)
    impossible = ~((scales > 0) & (scales < math.inf))
    if impossible.any():
        raise InvalidInput.of(
            _POINTER,
            "no-weight-to-rescale",
            f"The weights of {_entities(impossible)} sum to 0, or to next to nothing or infinity, "
            f"which no factor makes {total:g} ({_rows(impossible)}).",
            "Give what their records hold a positive finite weight, or take the rule at_most.",
        )
    return scales


def _rescaled(table: Table, sensitivity: Sensitivity, scales: Floats) -> Sensitivity:
    """The same with the weights of each record multiplied; records of equal group and scale share a group."""
    distinct, number = np.unique(scales, return_inverse=True)
    columns = [_groups(table, sensitivity), number.ravel().astype(np.int32)]
    pairs = distinct_rows(columns, [sensitivity.n_groups, len(distinct)], table.n_records)
    old, scale = pairs.codes[:, 0], distinct[pairs.codes[:, 1]]
    columns_of_factors, shapes, faults = [], [], []
    for j, attribute in enumerate(table.attributes):
        kept = _carrier(table, sensitivity, j)
        if kept is None:
            faults.append(
                Fault(
                    _POINTER,
                    "not-scalable",
                    f"The attribute {attribute!r} has a weight per value and overrides for some entities, "
                    "which are not rescaled together.",
                    "Give its values one weight or its overrides to everybody, or take the mode validate.",
                )
            )
            continue
        shape, factors = kept
        columns_of_factors.append(np.where(scale == 1.0, sensitivity.factors[old, j], factors[old] * scale))
        shapes.append(shape)
    if faults:
        raise InvalidInput(faults)
    return replace(
        sensitivity,
        shapes=tuple(shapes),
        factors=np.stack(columns_of_factors, axis=1),
        groups=pairs.inverse,
        interactions=tuple(
            replace(one, weights=one.weights[old] * scale) for one in sensitivity.interactions
        ),
        rescaled=int((scales != 1.0).sum()),
    )


def _carrier(table: Table, sensitivity: Sensitivity, j: int) -> tuple[Floats, Floats] | None:
    """Shapes (2, nodes) whose second row times a factor per old group (G,) gives that group's weights.

    The attribute's own weights where nobody's differ in it, else the unit weights if the own are a multiple
    of them, else None.
    """
    shape, factors = sensitivity.shapes[j], sensitivity.factors[:, j]
    replaced = ~np.isnan(factors)
    if not replaced.any():
        return np.stack([shape[0], shape[0]]), np.ones(sensitivity.n_groups)
    own = shape[0][table.hierarchies[j].leaves]
    if replaced.all() or (own == own[0]).all():
        return shape, np.where(replaced, factors, own[0])
    return None


def _groups(table: Table, sensitivity: Sensitivity) -> Ints:
    return np.zeros(table.n_records, np.int32) if sensitivity.groups is None else sensitivity.groups


def _entities(those: Bools) -> str:
    n = int(those.sum())
    return "1 entity" if n == 1 else f"{n} entities"


def _rows(those: Bools) -> str:
    rows = np.flatnonzero(those) + 1
    return f"first rows: {', '.join(map(str, rows[:_ROWS_NAMED].tolist()))}"
