"""Who may not read the data sees no values of cells in what was measured.

Types of the domain mark such values as :data:`~app.domain.models.entry.CellValue`. What was computed keeps
them; they are left out where it is shown to a key without the scope ``data:read``. Nor may such a key name
values in a question: rows and numbers of the answer say who has them, even if it shows no value. Nor may it
single out a record by a question whose answer is about that record alone, or ask what tells exact counts.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Mapping
from typing import Any, Final, Union, get_args

from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.catalogue_types import CellValue, RowInQuestion
from app.domain.catalogue.field_types import field_types
from app.domain.models.entry import Measure
from app.services.resources import Actor, JsonObject, Scope, require
from app.services.scoring.measurement_documents import bare_type, document_of_parameters

_HIDDEN: Final = frozenset({CellValue, RowInQuestion})
_TELLING_COUNTS: Final = frozenset(measure.parameters for measure in MEASURES if measure.tells_counts)
_BY_NAME: Final = {measure.name: measure for measure in MEASURES}


def require_to_name_values(actor: Actor, *questions: object) -> None:
    """Require data:read of whoever names values of cells, or one record, in any of these dataclasses.

    And of whoever asks a measure from whose numbers counts of few records may follow.
    """
    if any(type(own) in _TELLING_COUNTS or _values_named(own) for own in questions):
        require(actor, Scope.DATA_READ)


def _values_named(question: object) -> bool:
    document = document_of_parameters(question)
    return without_cell_values(type(question), document) != document


def shown_parameters(actor: Actor, asked: JsonObject) -> JsonObject:
    """The parameters of a stored question ``{name, version, parameters}`` for this actor."""
    parameters: JsonObject = asked["parameters"]
    if Scope.DATA_READ in actor.scopes:
        return parameters
    measure = _as_it_was(asked["name"], asked["version"])
    return {} if measure is None else without_cell_values(measure.parameters, parameters)


def shown_result(actor: Actor, result: JsonObject) -> JsonObject:
    """A measurement's result for this actor.

    Which values an earlier version of a measure names cannot be told any more: of its results only kind and
    version are shown, unless the measure names none.
    """
    if Scope.DATA_READ in actor.scopes:
        return result
    measure = _as_it_was(result["kind"], result["version"])
    if measure is None:
        return {key: result[key] for key in ("kind", "version")}
    return without_cell_values(measure.result, result)


def _as_it_was(name: str, version: int) -> Measure[Any, Any] | None:
    """The measure, if its types tell what its version of then may name."""
    measure = _BY_NAME.get(name)
    if measure is None or measure.version == version:
        return measure
    names_any = names_cell_values(measure.parameters) or names_cell_values(measure.result)
    return None if names_any else measure


def without_cell_values(type_: type, document: JsonObject) -> JsonObject:
    """The document of a value of a dataclass with null for what are values of cells, at any depth.

    A mapping with such keys becomes null as a whole. Members that the dataclass does not have stay.
    """
    masked: JsonObject = _masked(type_, document)
    return masked


def names_cell_values(type_: type) -> bool:
    """Whether values of cells may occur in a dataclass."""
    return _any_cell_value(type_, set())


def _any_cell_value(hint: Any, seen: set[type]) -> bool:  # noqa: ANN401 - any type
    hint, _ = bare_type(hint)
    if hint in _HIDDEN:
        return True
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        if hint in seen:
            return False
        seen.add(hint)
        return any(_any_cell_value(own, seen) for own in field_types(hint).values())
    return any(_any_cell_value(argument, seen) for argument in get_args(hint))


def _masked(hint: Any, value: Any) -> Any:  # noqa: ANN401 - any type
    """The JSON value of a type without values of cells."""
    hint, origin = bare_type(hint)
    if hint in _HIDDEN or value is None:
        return None
    if origin in (Union, types.UnionType):
        # Whatever may hold a cell's value in one of the types is hidden.
        return functools.reduce(lambda shown, option: _masked(option, shown), get_args(hint), value)
    if isinstance(value, dict):
        return _masked_members(hint, origin, value)
    if isinstance(value, list) and origin is tuple:
        arguments = get_args(hint)
        inner = arguments[:1] * len(value) if Ellipsis in arguments else arguments
        return [_masked(own, item) for own, item in zip(inner, value, strict=True)]
    return value


def _masked_members(hint: Any, origin: Any, value: JsonObject) -> JsonObject | None:  # noqa: ANN401
    if dataclasses.is_dataclass(hint):
        hints = field_types(hint)
        return {key: _masked(hints[key], item) if key in hints else item for key, item in value.items()}
    if origin is not Mapping:
        return value
    keys, items = get_args(hint)
    if bare_type(keys)[0] is CellValue:
        return None
    return {key: _masked(items, item) for key, item in value.items()}
