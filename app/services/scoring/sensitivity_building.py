"""From a stored sensitivity profile to the domain's Φ, with the weights of entities or groups as uploaded."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints
from app.domain.errors import Fault, InvalidInput, refuse
from app.domain.sensitivity.interactions import (
    JOIN,
    GivenInteraction,
    GivenInteractions,
    faults_of_interactions,
)
from app.domain.sensitivity.normalisation import Normalisation, normalise
from app.domain.sensitivity.sensitivity import Overrides, Sensitivity, build_sensitivity, constant_sensitivity
from app.domain.sensitivity.weights import AttributeWeights, ConstantWeight, LeafWeights, NodeWeights
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table
from app.services.datasets.dataset_encoding import as_declared
from app.services.datasets.dataset_schema import declarations_of
from app.services.datasets.ingest.faults import ROWS_NAMED, in_rows
from app.services.datasets.text_columns import MISSING, TextColumn, read_columns
from app.services.ports import UnitOfWork
from app.services.resources import JsonObject, Kind, Stored, document_of

_DECIMAL: Final = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,4})?", re.ASCII)
_MOST_CELLS: Final = 100_000_000


@dataclass(frozen=True, eq=False)
class OverrideContent:
    """Rows of (key, attribute, weight), and the group of each record where keys are groups.

    ``labels`` are words that stand for weights, ``pointer`` is where the profile says all this.
    """

    keys: TextColumn
    attributes: TextColumn
    weights: TextColumn
    group_of_record: TextColumn | None
    labels: Mapping[str, float]
    pointer: str


def combined_overrides(
    table: Table, contents: Sequence[OverrideContent], interactions: GivenInteractions
) -> Overrides:
    """The weights of every record; where two contents give one the later counts.

    Records with the same weights share a group. InvalidInput with the rows that make no sense.
    """
    faults = faults_of_interactions(table.attributes, interactions)
    refuse(faults)
    of_attribute = {name: j for j, name in enumerate(table.attributes)}
    taken, of_set = {_names_in(name) for name in of_attribute}, {}
    for i, given in enumerate(interactions.sets):
        names = _names_in(given.label)
        if names in taken:
            raise InvalidInput.of(
                f"/interactions/sets/{i}",
                "ambiguous-interaction",
                f"Overrides would name {given.label!r} like an attribute or another set.",
                "Rename the attribute, or leave the set out.",
            )
        taken.add(names)
        of_set[names] = table.n_attributes + i
    columns = _Columns(of_attribute, of_set, table.n_attributes + len(interactions.sets))
    weights, groups = np.full((1, columns.n_columns), math.nan), np.zeros(table.n_records, np.int32)
    for content in contents:
        rows_of_weights, place = _weights_of_keys(table, content, columns)
        pairs = distinct_rows([groups, place], [len(weights), len(rows_of_weights)], table.n_records)
        _check_size(content, pairs.size, weights.shape[1])
        before, own = weights[pairs.codes[:, 0]], rows_of_weights[pairs.codes[:, 1]]
        weights, groups = np.where(np.isnan(own), before, own), pairs.inverse
    m = table.n_attributes
    return Overrides(groups, weights[:, :m], weights[:, m:])


def rows_ignored(table: Table, contents: Sequence[OverrideContent]) -> int:
    """How many rows are of entities that the table lacks, and therefore count for nothing."""
    found = 0
    for content in contents:
        if content.group_of_record is None:
            _, _, place = _keys_of_records(table, None)
            found += sum((key or "") not in place for key in content.keys.cells())
    return found


@dataclass(frozen=True)
class _Columns:
    """Column of weights by the name of an attribute, or by the names in a set in alphabetical order."""

    of_attribute: Mapping[str, int]
    of_set: Mapping[tuple[str, ...], int]
    n_columns: int

    def of(self, text: str) -> int | None:
        """The column that a cell names: an attribute, or attributes joined in any order."""
        return self.of_attribute.get(text, self.of_set.get(_names_in(text)))

    def is_attribute(self, column: int) -> bool:
        return column < len(self.of_attribute)


def _names_in(text: str) -> tuple[str, ...]:
    return tuple(sorted(text.split(JOIN)))


def _weights_of_keys(table: Table, content: OverrideContent, columns: _Columns) -> tuple[Floats, Ints]:
    """Distinct weights (G, columns), NaN where none is given, and which of them each record has (n,)."""
    record_keys, n_keys, place = _keys_of_records(table, content.group_of_record)
    rows, faults = _rows(table, content, place, columns)
    refuse(faults)
    named = {key: i for i, key in enumerate(dict.fromkeys(key for key, _, _ in rows))}
    width = columns.n_columns
    _check_size(content, len(named) + 1, width)
    matrix = np.full((len(named) + 1, width), -math.inf)
    for key, column, weight in rows:
        matrix[named[key], column] = weight
    # NaN is equal to nothing, −∞ is no weight.
    distinct, group_of_row = np.unique(matrix, axis=0, return_inverse=True)
    row_of_key = np.full(n_keys + 1, len(named))
    row_of_key[list(named)] = list(named.values())
    weights = np.where(np.isneginf(distinct), math.nan, distinct)
    return weights, group_of_row.ravel()[row_of_key[record_keys]].astype(np.int32)


def _check_size(content: OverrideContent, groups: int, width: int) -> None:
    if groups * width > _MOST_CELLS:
        raise InvalidInput.of(
            content.pointer,
            "too-many-overrides",
            f"{groups} entities or groups with {width} weights each are more than the {_MOST_CELLS} weights "
            "that can be held.",
            "Give weights to groups instead of entities, or name fewer sets of attributes.",
        )


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
    table: Table, content: OverrideContent, place: Mapping[str, int], columns: _Columns
) -> tuple[list[tuple[int, int, float]], list[Fault]]:
    """(key, column, weight) of each row, and the faults of rows that have none."""
    bad: dict[str, list[int]] = {}
    seen: set[tuple[int, int]] = set()
    rows = []
    cells = zip(content.keys.cells(), content.attributes.cells(), content.weights.cells(), strict=True)
    for number, (key, name, text) in enumerate(cells, start=1):
        key_number, column = place.get(key or ""), columns.of(name or "")
        weight = content.labels.get(text or "", _weight(text))
        if key_number is None and content.group_of_record is not None:
            bad.setdefault("unknown-key", []).append(number)
        elif column is None:
            bad.setdefault("unknown-attribute", []).append(number)
        elif weight is None or (weight < 0 and columns.is_attribute(column)):
            bad.setdefault("invalid-weight", []).append(number)
        elif key_number is None:
            # One list of entities serves several deliveries, and this one lacks some.
            continue
        elif (key_number, column) in seen:
            bad.setdefault("duplicate-override", []).append(number)
        else:
            seen.add((key_number, column))
            rows.append((key_number, column, weight))
    return rows, [_fault(content, code, numbers, columns) for code, numbers in bad.items()]


def _weight(text: str | None) -> float | None:
    """The weight that a cell says; None if it is no number, or one that a double cannot hold."""
    if text in ("inf", "Infinity"):
        return math.inf
    if _DECIMAL.fullmatch(text or "") is None:
        return None
    weight = float(text or "")
    return weight if math.isfinite(weight) else None


_WORDS: Final = {
    "unknown-key": ("The key names no group of the dataset", "Remove these rows."),
    "duplicate-override": (
        "The same key and attribute were given a weight before",
        "Give each at most one weight.",
    ),
}


def _fault(content: OverrideContent, code: str, rows: Sequence[int], columns: _Columns) -> Fault:
    if code == "unknown-attribute":
        message = "The attribute is neither one that the dataset discloses nor a set with an interaction"
        joined = f", or those of a set joined by {JOIN!r}" if columns.of_set else ""
        remedy = f"Choose among: {', '.join(columns.of_attribute)}{joined}."
    elif code == "invalid-weight":
        known = f", or one of the labels {', '.join(content.labels)}" if content.labels else ""
        message, remedy = "The weight is no number in [0, ∞]", f"Weights are 0 or more, or inf{known}."
    else:
        message, remedy = _WORDS[code]
    return Fault(content.pointer, code, f"{message} {in_rows(rows[:ROWS_NAMED], len(rows))}.", remedy)


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
        groups = as_declared(cells[name], declared[name])
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
