"""From what a request says about utility to the domain's, and to what is stored and reported of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

import numpy as np

from app.domain.risk.utility import Model, Utility, build_utility, rounded_half_away
from app.domain.tables.numbers import to_json_number
from app.domain.tables.table import Table
from app.services.fingerprints import plain
from app.services.resources import JsonObject

DisplayRounding = Literal["none", "nearest"]


@dataclass(frozen=True)
class UtilitySpec:
    """How the use of a disclosed table is measured.

    ``weights`` are what attributes count, 1 where not named; ``values`` belong to ``custom``: attribute →
    label → value. ``round_before_constraint`` lets a search compare the mean of the table rounded to the
    nearest whole number with its threshold, as published results did; ``display_rounding`` adds rounded
    means to results and changes no comparison (Definitions: rounded utility).
    """

    kind: Model = "depth_sum"
    weights: Mapping[str, float] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    round_before_constraint: bool = False
    display_rounding: DisplayRounding = "none"


DEPTH_SUM: Final = UtilitySpec()


def build(table: Table, spec: UtilitySpec) -> Utility:
    """The utility for a table; InvalidInput with every offending attribute, weight and value."""
    return build_utility(table, spec.kind, spec.weights, spec.values)


def to_document(spec: UtilitySpec) -> str | JsonObject:
    """The canonical form that is stored and hashed: the kind alone, or an object without the defaults.

    A weight of 1 is a default too.
    """
    weights = {name: float(weight) for name, weight in spec.weights.items() if weight != 1}
    values = {
        name: {label: float(value) for label, value in given.items()} for name, given in spec.values.items()
    }
    given: JsonObject = {
        "weights": weights,
        "values": values,
        "round_before_constraint": spec.round_before_constraint,
        "display_rounding": "" if spec.display_rounding == "none" else spec.display_rounding,
    }
    more = {key: value for key, value in given.items() if value}
    return plain({"kind": spec.kind, **more}) if more else spec.kind


def from_document(document: str | Mapping[str, Any]) -> UtilitySpec:
    """Inverse of :func:`to_document`."""
    if isinstance(document, str):
        return UtilitySpec(document)  # type: ignore[arg-type]
    return UtilitySpec(**document)


def to_summary(spec: UtilitySpec) -> str | JsonObject:
    """The canonical form for lists: of custom values only how many each attribute has."""
    document = to_document(spec)
    if isinstance(document, str) or "values" not in document:
        return document
    return {**document, "values": {name: len(given) for name, given in document["values"].items()}}


def more_results(spec: UtilitySpec, utility: Utility, average: float, minimum: float) -> JsonObject:
    """What a result says beside ``utility_average`` and ``utility_min``.

    ``information_loss_average`` and ``information_loss_max`` of the loss models (the least utility is the
    greatest loss), and with ``display_rounding`` the average as it is displayed.
    """
    found: dict[str, float] = {}
    if utility.is_loss:
        losses = utility.information_loss(np.array([average, minimum]))
        found |= {"information_loss_average": float(losses[0]), "information_loss_max": float(losses[1])}
    if spec.display_rounding == "nearest":
        shown = {"utility_average": average, **{k: v for k, v in found.items() if k.endswith("average")}}
        found |= {f"{key}_displayed": rounded_half_away(value) for key, value in shown.items()}
    return {key: to_json_number(value) for key, value in found.items()}
