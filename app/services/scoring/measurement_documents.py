"""Parameters and results of measures as plain documents, and the references inside parameters."""

from __future__ import annotations

import dataclasses
import json
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

from app.domain.catalogue.catalogue_types import ADDED_LATER, DatasetRef, DictionaryRef, RuleRef
from app.domain.catalogue.field_types import field_types
from app.domain.models.entry import Measure
from app.services.fingerprints import canonical_json
from app.services.readers import reader_of
from app.services.resources import JsonObject, Kind

P = TypeVar("P")

_KINDS: Final[Mapping[Any, Kind]] = {
    DatasetRef: Kind.DATASET,
    DictionaryRef: Kind.DICTIONARY,
    RuleRef: Kind.RULE,
}


@dataclass(frozen=True)
class Reference:
    """A resource that parameters name: where (JSON pointer into the request), its kind, its id or name."""

    pointer: str
    kind: Kind
    ref: str


Visit = Callable[[Reference], str]


def document_of_parameters(parameters: object) -> JsonObject:
    """The parameters as JSON types, infinities as "inf"; what was added later only if it says something."""
    document, hints = _document(parameters), field_types(type(parameters))
    for own in dataclasses.fields(parameters):  # type: ignore[arg-type]
        added = ADDED_LATER in getattr(hints[own.name], "__metadata__", ())
        if added and getattr(parameters, own.name) == own.default:
            del document[own.name]
    return document


def parameters_of(measure: Measure[P, Any], document: Mapping[str, Any]) -> P:
    """The parameters of a document, missing ones as is usual in the measure's version."""
    usual = measure.earlier.get(measure.version, {})
    return reader_of(measure.parameters).validate_python({**usual, **document})


def document_of_result(measure: Measure[Any, Any], result: object) -> JsonObject:
    """The result document: kind and version of the measure, then what it found; no ids, no times, no NaN."""
    return {"kind": measure.name, "version": measure.version, **_document(result)}


def references_in(parameters: object, pointer: str = "/measure") -> tuple[Reference, ...]:
    """All resources that the parameters at ``pointer`` name, in the order of the fields."""
    found: list[Reference] = []

    def note(reference: Reference) -> str:
        found.append(reference)
        return reference.ref

    _map_references(type(parameters), parameters, pointer, note)
    return tuple(found)


def with_references(parameters: P, replace: Visit, pointer: str = "/measure") -> P:
    """The parameters at ``pointer`` with the text of every reference replaced."""
    replaced: P = _map_references(type(parameters), parameters, pointer, replace)
    return replaced


def _document(value: object) -> JsonObject:
    document: JsonObject = json.loads(canonical_json(dataclasses.asdict(value)))  # type: ignore[call-overload]
    return document


def _map_references(hint: Any, value: Any, pointer: str, visit: Visit) -> Any:  # noqa: ANN401 - any type
    """The value of a type with what ``visit`` answers in the place of each reference inside."""
    hint, origin = bare_type(hint)
    if hint in _KINDS:
        return visit(Reference(pointer, _KINDS[hint], value))
    if dataclasses.is_dataclass(hint):
        hints = field_types(hint)
        fields = {
            field.name: _map_references(
                hints[field.name], getattr(value, field.name), f"{pointer}/{field.name}", visit
            )
            for field in dataclasses.fields(hint)
        }
        return dataclasses.replace(value, **fields)
    arguments = get_args(hint)
    if origin in (Union, types.UnionType):
        chosen = next((option for option in arguments if _is_of(value, option)), None)
        return value if chosen is None else _map_references(chosen, value, pointer, visit)
    if origin is tuple:
        inner = arguments[:1] * len(value) if Ellipsis in arguments else arguments
        return tuple(
            _map_references(own, item, f"{pointer}/{number}", visit)
            for number, (own, item) in enumerate(zip(inner, value, strict=True))
        )
    if origin is Mapping:
        return {
            key: _map_references(arguments[1], item, f"{pointer}/{key}", visit) for key, item in value.items()
        }
    return value


def bare_type(hint: Any) -> tuple[Any, Any]:  # noqa: ANN401
    """A type without its annotations, and its origin."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    return hint, get_origin(hint)


def _is_of(value: object, hint: Any) -> bool:  # noqa: ANN401
    """Whether the value is of a type that may hold references."""
    bare, origin = bare_type(hint)
    if bare in _KINDS:
        return isinstance(value, str)
    kind = origin or bare
    return isinstance(kind, type) and isinstance(value, kind)
