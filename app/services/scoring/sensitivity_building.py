"""From a stored sensitivity profile to the domain's Φ, with the weights of entities or groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from app.domain.errors import InvalidInput
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.normalisation import Normalisation, normalise
from app.domain.sensitivity.sensitivity import Sensitivity, build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import AttributeWeights, ConstantWeight, LeafWeights, NodeWeights
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import mapped
from app.services.datasets.dataset_schema import declarations_of
from app.services.datasets.text_columns import read_columns
from app.services.ports import UnitOfWork
from app.services.references import document_of
from app.services.resources import JsonObject, Kind, Stored
from app.services.scoring.sensitivity_overrides import OverrideContent, combined_overrides

_POINTER: Final = "/overrides"


async def read_overrides(
    work: UnitOfWork, overrides: JsonObject | Sequence[JsonObject] | None, dataset: Stored
) -> tuple[OverrideContent, ...]:
    """Read the columns that a profile's overrides name, those of groups before those of entities."""
    if overrides is None:
        return ()
    if isinstance(overrides, Mapping):
        return (await _read(work, overrides, dataset, _POINTER),)
    found = [
        (given["by"] == "entity", await _read(work, given, dataset, f"{_POINTER}/{i}"))
        for i, given in enumerate(overrides)
    ]
    return tuple(content for _, content in sorted(found, key=lambda pair: pair[0]))


async def _read(work: UnitOfWork, given: JsonObject, dataset: Stored, pointer: str) -> OverrideContent:
    upload = await work.resources.get(Kind.UPLOAD, given["upload"]["id"])
    names = [given["key_column"], given["attribute_column"], given["weight_column"]]
    columns = await read_columns(work, upload, names, pointer)
    groups = None
    if given["by"] == "group":
        name = given["group_attribute"]
        declared = {d.name: d for d in declarations_of(dataset)}
        if name not in declared:
            raise InvalidInput.of(
                f"{pointer}/group_attribute",
                "unknown-attribute",
                f"The dataset {dataset.name!r} has no attribute {name!r}.",
                "Its attributes are: " + ", ".join(declared) + ".",
            )
        source = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
        cells = await read_columns(work, source, [name], f"{pointer}/group_attribute")
        groups = mapped(cells[name], declared[name].map)
    labels = {label: _number(weight) for label, weight in given.get("labels", {}).items()}
    keys, attributes, weights = (columns[name] for name in names)
    return OverrideContent(keys, attributes, weights, groups, labels, pointer)


def build_profile(table: Table, document: JsonObject, overrides: Sequence[OverrideContent]) -> Sensitivity:
    """Φ of a profile's document for a table; InvalidInput with every fault of the weights."""
    if document["family"] == "constant":
        return constant_sensitivity(table, _number(document["constant"]))
    weights = {name: _weights(given) for name, given in document["attributes"].items()}
    interactions = _interactions(document.get("interactions"))
    built = build_sensitivity(
        table,
        document["family"],
        weights,
        combined_overrides(table, overrides, interactions) if overrides else None,
        document.get("allow_positive_top", False),
        interactions,
    )
    given = document.get("normalisation")
    if given is None:
        return built
    return normalise(table, built, Normalisation(given["rule"], _number(given["total"]), given["mode"]))


def _interactions(given: JsonObject | None) -> GivenInteractions:
    if given is None:
        return GivenInteractions(())
    sets = tuple(GivenInteraction(tuple(one["attributes"]), _number(one["weight"])) for one in given["sets"])
    return GivenInteractions(sets, given["order"], given["allow_negative"])


def _number(value: Any) -> float:  # noqa: ANN401 - a JSON number or "inf"
    return math.inf if value in ("inf", "Infinity") else float(value)


def _weights(given: JsonObject) -> AttributeWeights:
    if "constant" in given:
        return ConstantWeight(_number(given["constant"]))
    if "nodes" in given:
        return NodeWeights({label: _number(weight) for label, weight in given["nodes"].items()})
    leaves = given["leaves"]
    if isinstance(leaves, Mapping):
        return LeafWeights(None, {label: _number(weight) for label, weight in leaves.items()})
    return LeafWeights(_number(leaves))
