"""Utility of disclosed records: a sum of node values over attributes (specification 9)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from app.domain.distinct import Ints
from app.domain.errors import InvalidInput
from app.domain.hierarchies import TOP, Hierarchy
from app.domain.tables import Table
from app.domain.weights import Floats

Model = Literal["depth_sum", "inverse_leaves", "log_leaves", "info_loss_xt", "info_loss_lm"]


@dataclass(frozen=True, eq=False)
class Utility:
    """u(y) = Σ values[j][y_j], non-negative and non-increasing under generalisation.

    The two loss models are turned into utilities by subtracting them from the loss of full suppression,
    ``loss_at_top`` (D-11); it is None for the others.
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

    def information_loss(self, utility: Floats) -> Floats:
        """The loss that a loss model reports, from its utility; ValueError for the other models."""
        if self.loss_at_top is None:
            raise ValueError(f"{self.model} is not a loss")
        return self.loss_at_top - utility


def _depth(hierarchy: Hierarchy) -> Floats:
    return hierarchy.depth.astype(np.float64)


def _inverse_leaves(hierarchy: Hierarchy) -> Floats:
    return 1.0 / hierarchy.leaf_count


def _log_leaves(hierarchy: Hierarchy) -> Floats:
    values: Floats = np.log(hierarchy.n_leaves / hierarchy.leaf_count)
    return values


def _kept_xt(hierarchy: Hierarchy) -> Floats:
    values: Floats = (hierarchy.n_leaves - hierarchy.leaf_count) / hierarchy.n_leaves
    return values


def _kept_lm(hierarchy: Hierarchy) -> Floats:
    values: Floats = (hierarchy.n_leaves - hierarchy.leaf_count) / max(1, hierarchy.n_leaves - 1)
    return values


_NODE_VALUES: dict[Model, Callable[[Hierarchy], Floats]] = {
    "depth_sum": _depth,
    "inverse_leaves": _inverse_leaves,
    "log_leaves": _log_leaves,
    "info_loss_xt": _kept_xt,
    "info_loss_lm": _kept_lm,
}


def build_utility(table: Table, model: Model = "depth_sum") -> Utility:
    """Build the utility of a model for a table; InvalidInput for an unknown model."""
    if model not in get_args(Model):
        raise InvalidInput.of(
            "/utility",
            "unknown-choice",
            "The utility model is unknown.",
            f"Choose one of {', '.join(get_args(Model))}.",
        )
    values = tuple(_NODE_VALUES[model](hierarchy) for hierarchy in table.hierarchies)
    if not model.startswith("info_loss"):
        return Utility(model, values)
    return Utility(model, values, float(sum(v.max() - v[TOP] for v in values)))
