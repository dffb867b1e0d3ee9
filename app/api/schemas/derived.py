"""Bodies made from the domain's frozen dataclasses, so that a measure is described once.

Bounds (annotated_types), descriptions (``doc``), defaults and docstrings carry over. What is sent is strict:
unknown fields are errors, whole numbers are no texts, references have the form of ids and names. What is
answered writes infinity as "inf". Values of cells are null for keys that may not read the data.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import types
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Final, Literal, NewType, Union, get_args, get_origin, get_type_hints

import annotated_types
from pydantic import BaseModel, Field, TypeAdapter, create_model
from pydantic.fields import FieldInfo

from app.api.schemas.common import Answer, Number, Ref, Request, Text
from app.domain.catalogue_types import CellValue

Model = type[BaseModel]

_SENT: Final[Mapping[Any, Any]] = {
    int: Annotated[int, Field(strict=True)],
    float: Annotated[float, Field(strict=True)],
    bool: Annotated[bool, Field(strict=True)],
}
_ANSWERED: Final[Mapping[Any, Any]] = {float: Number}


def request_of(parameters: type, name: str, kind: str, about: str) -> Model:
    """The body that asks for something: the field ``kind``, then those of the parameters' dataclass."""
    derive = _Derivation(name, Request, _SENT)
    asked = (Literal[kind], Field(description="What is asked for."))
    return derive.model(parameters, name, {"kind": asked}, about)


def answer_of(result: type, name: str, kind: str, about: str, version: int) -> Model:
    """The body that answers: ``kind`` and ``version`` of what was computed, then the result's fields."""
    derive = _Derivation(name, Answer, _ANSWERED)
    said = {
        "kind": (Literal[kind], Field(description="What was computed.")),
        "version": (Literal[version], Field(description="Version of its meaning.")),
    }
    return derive.model(result, name, said, about)


def one_of(models: tuple[Model, ...]) -> Any:  # noqa: ANN401 - an annotation
    """The union of models that their field ``kind`` tells apart."""
    return Annotated[Union[models], Field(discriminator="kind")]  # noqa: UP007 - made of a tuple


class _Derivation:
    """The models of one dataclass and of those inside it; ``prefix`` keeps their names apart from others'."""

    def __init__(self, prefix: str, base: type[BaseModel], plain: Mapping[Any, Any]) -> None:
        self._prefix = prefix
        self._base = base
        self._plain = plain
        self._made: dict[type, Model] = {}

    def model(self, source: type, name: str, first: Mapping[str, Any], about: str = "") -> Model:
        """The model of a dataclass, with more fields before its own and more words before its docstring."""
        hints = get_type_hints(source, include_extras=True)
        fields: dict[str, Any] = dict(first)
        for field in dataclasses.fields(source):
            fields[field.name] = (self._type(hints[field.name]), self._default(field, hints[field.name]))
        said = "\n\n".join(filter(None, [about, inspect.getdoc(source)]))
        return create_model(name, __base__=self._base, __doc__=said, **fields)

    def _default(self, field: dataclasses.Field[Any], hint: Any) -> FieldInfo:  # noqa: ANN401
        if self._base is Answer:
            return Field()  # type: ignore[no-any-return]
        if field.default is not dataclasses.MISSING:
            value = field.default
        elif field.default_factory is not dataclasses.MISSING:
            value = field.default_factory()
        else:
            return Field()  # type: ignore[no-any-return]
        plain = TypeAdapter(hint).dump_python(value, mode="json")
        return Field(default=plain, validate_default=True)  # type: ignore[no-any-return]

    def _type(self, hint: Any) -> Any:  # noqa: ANN401 - types are values here
        if hint is CellValue:
            return Text if self._base is Request else Text | None
        if isinstance(hint, NewType):
            return Ref if hint.__supertype__ is str else self._type(hint.__supertype__)
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if hint not in self._made:
                self._made[hint] = self.model(hint, self._prefix + hint.__name__, {})
            return self._made[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        build = _COMPOSED.get(origin)
        if build is not None:
            return build(self, arguments)
        return self._plain.get(hint, hint)

    def _annotated(self, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        inner, *metadata = arguments
        said = [
            Field(description=item.documentation) if isinstance(item, annotated_types.DocInfo) else item
            for item in metadata
        ]
        return functools.reduce(lambda made, item: Annotated[made, item], said, self._type(inner))

    def _tuple(self, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        if len(arguments) == 2 and arguments[1] is Ellipsis:
            return list[self._type(arguments[0])]  # type: ignore[misc]
        return tuple[tuple(self._type(argument) for argument in arguments)]  # type: ignore[misc]

    def _mapping(self, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        key, item = arguments[0], self._type(arguments[1])
        if key is CellValue and self._base is Answer:
            return dict[Text, item] | None  # type: ignore[valid-type]
        return dict[self._type(key), item]  # type: ignore[misc]

    def _union(self, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        return functools.reduce(operator.or_, (self._type(argument) for argument in arguments))


_COMPOSED: Final[Mapping[Any, Callable[[_Derivation, tuple[Any, ...]], Any]]] = {
    Annotated: _Derivation._annotated,
    tuple: _Derivation._tuple,
    Mapping: _Derivation._mapping,
    dict: _Derivation._mapping,
    types.UnionType: _Derivation._union,
    Union: _Derivation._union,
}
