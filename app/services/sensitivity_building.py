"""From a stored sensitivity profile to the domain's Φ, with the weights of entities or groups."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.errors import Fault, InvalidInput
from app.domain.sensitivity import Overrides, Sensitivity, build_sensitivity, constant_sensitivity
from app.domain.tables import Table
from app.domain.weights import AttributeWeights, ConstantWeight, LeafWeights, NodeWeights
from app.services.dataset_encoding import mapped
from app.services.dataset_schema import declarations_of
from app.services.ingest.faults import ROWS_NAMED, in_rows
from app.services.ports import UnitOfWork
from app.services.references import document_of
from app.services.resources import JsonObject, Kind, Stored
from app.services.text_columns import MISSING, TextColumn, read_columns

_POINTER: Final = "/overrides"
_DECIMAL: Final = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)


@dataclass(frozen=True, eq=False)
class OverrideContent:
    """Rows of (key, attribute, weight), and the group of each record where keys are groups."""

    keys: TextColumn
    attributes: TextColumn
    weights: TextColumn
    group_of_record: TextColumn | None


async def read_overrides(
    work: UnitOfWork, overrides: JsonObject | None, dataset: Stored
) -> OverrideContent | None:
    """Read the columns that a profile's overrides name."""
    if overrides is None:
        return None
    upload = await work.resources.get(Kind.UPLOAD, overrides["upload"]["id"])
    names = [overrides["key_column"], overrides["attribute_column"], overrides["weight_column"]]
    columns = await read_columns(work, upload, names, _POINTER)
    groups = None
    if overrides["by"] == "group":
        name = overrides["group_attribute"]
        declared = {d.name: d for d in declarations_of(dataset)}
        if name not in declared:
            raise InvalidInput.of(
                f"{_POINTER}/group_attribute",
                "unknown-attribute",
                f"The dataset {dataset.name!r} has no attribute {name!r}.",
                "Its attributes are: " + ", ".join(declared) + ".",
            )
        source = await work.resources.get(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
        cells = await read_columns(work, source, [name], f"{_POINTER}/group_attribute")
        groups = mapped(cells[name], declared[name].map)
    keys, attributes, weights = (columns[name] for name in names)
    return OverrideContent(keys, attributes, weights, groups)


def build_profile(table: Table, document: JsonObject, overrides: OverrideContent | None) -> Sensitivity:
    """Φ of a profile's document for a table; InvalidInput with every fault of the weights."""
    if document["family"] == "constant":
        return constant_sensitivity(table, _number(document["constant"]))
    weights = {name: _weights(given) for name, given in document["attributes"].items()}
    personal = None if overrides is None else _personal(table, overrides)
    return build_sensitivity(table, document["family"], weights, personal)


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


def _personal(table: Table, content: OverrideContent) -> Overrides:
    """Records with the same weights share a group; group 0 is that of records without overrides."""
    record_keys, n_keys, place = _keys_of_records(table, content.group_of_record)
    rows, faults = _rows(table, content, place)
    if faults:
        raise InvalidInput(faults)
    matrix = np.full((n_keys + 1, table.n_attributes), math.nan)
    for key, attribute, weight in rows:
        matrix[key, attribute] = weight
    # NaN is equal to nothing, −1 is no weight.
    distinct, group_of_key = np.unique(
        np.nan_to_num(matrix, nan=-1.0, posinf=math.inf), axis=0, return_inverse=True
    )
    weights = np.where(distinct < 0, math.nan, distinct)
    return Overrides(group_of_key.ravel()[record_keys].astype(np.int32), weights)


def _keys_of_records(
    table: Table, groups: TextColumn | None
) -> tuple[npt.NDArray[np.int64], int, dict[str, int]]:
    """Key number of each record (the last one: none), the number of keys, and the number of each text."""
    if groups is not None:
        n_keys = len(groups.values)
        numbers = np.where(groups.positions == MISSING, n_keys, groups.positions).astype(np.int64)
        return numbers, n_keys, {value: i for i, value in enumerate(groups.values)}
    n = table.n_records
    texts = map(str, range(1, n + 1)) if table.entity_ids is None else table.entity_ids.tolist()
    return np.arange(n), n, {text: i for i, text in enumerate(texts)}


def _rows(
    table: Table, content: OverrideContent, place: Mapping[str, int]
) -> tuple[list[tuple[int, int, float]], list[Fault]]:
    """(key, attribute, weight) of each row, and the faults of rows that have none."""
    attributes = {name: j for j, name in enumerate(table.attributes)}
    bad: dict[str, list[int]] = {}
    seen: set[tuple[int, int]] = set()
    rows = []
    cells = zip(content.keys.cells(), content.attributes.cells(), content.weights.cells(), strict=True)
    for number, (key, name, text) in enumerate(cells, start=1):
        key_number, attribute = place.get(key or ""), attributes.get(name or "")
        weight = _weight(text)
        if key_number is None:
            bad.setdefault("unknown-key", []).append(number)
        elif attribute is None:
            bad.setdefault("unknown-attribute", []).append(number)
        elif weight is None:
            bad.setdefault("invalid-weight", []).append(number)
        elif (key_number, attribute) in seen:
            bad.setdefault("duplicate-override", []).append(number)
        else:
            seen.add((key_number, attribute))
            rows.append((key_number, attribute, weight))
    return rows, [_fault(code, numbers, table.attributes) for code, numbers in bad.items()]


def _weight(text: str | None) -> float | None:
    """The weight that a cell says; None if it is no number in [0, ∞], or one that a double cannot hold."""
    if text in ("inf", "Infinity"):
        return math.inf
    if _DECIMAL.fullmatch(text or "") is None:
        return None
    weight = float(text or "")
    return weight if math.isfinite(weight) else None


_WORDS: Final = {
    "unknown-key": ("The key names no entity or group of the dataset", "Remove these rows."),
    "invalid-weight": ("The weight is no number in [0, ∞]", "Weights are 0 or more, or inf."),
    "duplicate-override": (
        "The same key and attribute were given a weight before",
        "Give each at most one weight.",
    ),
}


def _fault(code: str, rows: Sequence[int], attributes: Sequence[str]) -> Fault:
    message, remedy = _WORDS.get(
        code,
        ("The attribute is not one that the dataset discloses", f"Choose among: {', '.join(attributes)}."),
    )
    return Fault(_POINTER, code, f"{message} {in_rows(rows[:ROWS_NAMED], len(rows))}.", remedy)
