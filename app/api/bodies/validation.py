"""Checks large bodies against their schemas in slices, and stops before errors pile up.

A schema is checked in one go, during which no other thread may run, and every fault of a body becomes an
object before the first is looked at. Here the same schema stops at the first fault of each list and each
object, and lets others run at every value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import TypeAdapter
from pydantic_core import PydanticCustomError, SchemaValidator, core_schema

MOST_FIELDS: Final = 200
"""More fields than any schema has: whoever sends more is told so, instead of each field's name."""

_COLLECTIONS: Final = frozenset({"list", "tuple", "set", "frozenset", "dict"})
_INNER: Final = frozenset(
    {
        "schema", "items_schema", "keys_schema", "values_schema", "fields", "choices", "definitions", "steps",
        "lax_schema", "strict_schema", "json_schema", "python_schema",
    }
)  # fmt: skip
"""Where the parts of a schema are."""


class SlicedValidator:
    """Checks bodies of one type."""

    def __init__(self, annotation: Any) -> None:  # noqa: ANN401 - any type
        schema = _sliced(TypeAdapter(annotation).core_schema)
        # Without its last argument it would take the ready-made validators of the models inside.
        self._validator = SchemaValidator(schema, None, False)

    def validate(self, body: Any) -> Any:  # noqa: ANN401 - any JSON value
        """The body as a value of the type; ValidationError with the first faults if it is none."""
        return self._validator.validate_python(body, from_attributes=True)


def _sliced(node: Any) -> Any:  # noqa: ANN401 - schemas are nested dictionaries
    if isinstance(node, list):
        return [_sliced(part) for part in node]
    if isinstance(node, tuple):  # a choice with its label
        return tuple(_sliced(part) for part in node)
    if not isinstance(node, dict):
        return node
    kind = node.get("type")
    if not isinstance(kind, str):  # names with their fields or choices
        return {name: _sliced(part) for name, part in node.items()}
    made = {name: _sliced(part) if name in _INNER else part for name, part in node.items()}
    if kind in _COLLECTIONS:
        made["fail_fast"] = True
        for part in ("items_schema", "keys_schema"):
            if isinstance(made.get(part), dict):
                made[part] = core_schema.no_info_before_validator_function(_pause, made[part])
    elif kind == "model":
        ref = made.pop("ref", None)
        return core_schema.no_info_before_validator_function(_with_few_fields, made, ref=ref)
    return made


def _pause(value: Any) -> Any:  # noqa: ANN401
    # Whenever a function of Python begins, another thread that waits may run.
    return value


def _with_few_fields(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, Mapping) and len(value) > MOST_FIELDS:
        raise PydanticCustomError("too_many_fields", "The object has more fields than any that is known.")
    return value
