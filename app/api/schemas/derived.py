"""Bodies made from the domain's frozen dataclasses, so that a measure is described once.

Bounds (annotated_types), descriptions (``doc``, or a text below the field), defaults and docstrings carry
over. What is sent is strict: unknown fields are errors, whole numbers are no texts, references have the form
of ids and names. What is answered writes infinity as "inf". Values of cells are null for keys that may not
read the data. What was sent becomes the dataclass again by :func:`value_of`.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import operator
import types
from collections.abc import Callable, Mapping
from typing import (
    Annotated,
    Any,
    ClassVar,
    Final,
    Generic,
    Literal,
    NewType,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

import annotated_types
from pydantic import BaseModel, Field, TypeAdapter, create_model, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError

from app.api.addresses import PREFIX
from app.api.schemas import common
from app.api.schemas.common import Answer, Number, Ref, Request, Text
from app.api.schemas.described import texts_below_fields
from app.documents import Names, fields_of_kinds, usual, written
from app.domain.catalogue.catalogue_types import ADDED_LATER, CellValue, Column, Decimal, Example, Label
from app.domain.catalogue.field_types import field_types
from app.domain.errors import InvalidInput, pointing_into
from app.domain.policies.comparison import Value

Model = type[BaseModel]

T = TypeVar("T")


class Asked(Request):
    """Base of bodies that ask for a value of the domain."""

    _source: ClassVar[type] = object

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        """Tell what is wrong with the whole beside faults elsewhere; of single fields that is told on use."""
        if hasattr(self._source, "__post_init__"):
            try:
                self._made()
            except InvalidInput as error:
                for fault in error.faults:
                    if not fault.pointer:
                        raise PydanticCustomError(fault.code.replace("-", "_"), fault.message) from None
        return self

    def _made(self) -> Any:  # noqa: ANN401 - an instance of the source
        hints = _bare_types(self._source)
        return self._source(
            **{
                own.name: _value(hints[own.name], getattr(self, own.name), f"/{own.name}")
                for own in dataclasses.fields(self._source)
                if hasattr(self, own.name)
            }
        )


class Asking(Asked, Generic[T]):
    """Base of bodies written by hand that ask for a value of the use cases, field by field of the same name.

    A property of the body stands for a field that it has in another form; what it lacks has its default.
    """

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:  # noqa: ANN401 - as the base has it
        """Note the type of the value, where it is stated."""
        for source in cls.__pydantic_generic_metadata__["args"]:
            cls._source = source

    def request(self) -> T:
        """The value that the use case takes; InvalidInput for what does not fit."""
        made: T = self._made()
        return made


def value_of(sent: Asked, pointer: str = "") -> Any:  # noqa: ANN401 - an instance of the body's dataclass
    """The value that a body at ``pointer`` asks for; InvalidInput for what does not fit."""
    with pointing_into(pointer):
        return sent._made()


_bare_types: Final = functools.cache(get_type_hints)
"""Name → type of each field of a class, without what ``Annotated`` says of it."""


def _value(hint: Any, sent: Any, pointer: str) -> Any:  # noqa: ANN401
    if isinstance(sent, Asked):
        return value_of(sent, pointer)
    if isinstance(sent, list) and any(isinstance(item, Asked) for item in sent):
        return tuple(value_of(item, f"{pointer}/{number}") for number, item in enumerate(sent))
    if isinstance(sent, dict) and any(isinstance(item, Asked) for item in sent.values()):
        steps = {key: str(key).replace("~", "~0").replace("/", "~1") for key in sent}
        return {key: value_of(item, f"{pointer}/{steps[key]}") for key, item in sent.items()}
    # Where all but its kind has defaults, the kind alone stands for a value.
    if isinstance(sent, str) and hasattr(hint, "__dataclass_fields__"):
        with pointing_into(pointer):
            return hint(sent)
    return _frozen(sent)


def _frozen(sent: Any) -> Any:  # noqa: ANN401
    """What was sent with tuples for lists; there may be millions, all of one kind."""
    if isinstance(sent, list):
        return tuple(map(_frozen, sent)) if sent and isinstance(sent[0], list) else tuple(sent)
    if isinstance(sent, dict) and any(isinstance(item, list) for item in sent.values()):
        return {key: _frozen(item) for key, item in sent.items()}
    return sent


_WHOLE: Final[Mapping[Any, Any]] = {
    int: Annotated[int, Field(strict=True)],
    bool: Annotated[bool, Field(strict=True)],
}
_SENT: Final[Mapping[Any, Any]] = {**_WHOLE, float: Annotated[float, Field(strict=True)]}
_ANSWERED: Final[Mapping[Any, Any]] = {float: Number}


def request_of(
    parameters: type,
    name: str,
    kind: str | None,
    about: str = "",
    said_of_kind: str = "What is asked for.",
    fields: Mapping[str, Any] = types.MappingProxyType({}),
    parts: Mapping[type, Any] = types.MappingProxyType({}),
    *,
    base: type[Request] = Asked,
    strict_numbers: bool = True,
    instead: Mapping[str, Any] = types.MappingProxyType({}),
    names: Names = types.MappingProxyType({}),
) -> type[Asked]:
    """The body that asks for something: the field ``kind``, unless it is None, then those of the dataclass.

    ``fields`` are those that are not made of the dataclass's own: annotation and default. ``parts`` are
    bodies made before, by the type that they ask for. Numbers that are no whole ones may be sent as texts
    unless ``strict_numbers``. What ``base`` has as a field or a property stays. ``instead`` are
    fields that differ from the dataclass's and stand in their place; ``names`` are of fields that documents
    call otherwise.
    """
    derive = _Derivation(name, base, {**(_SENT if strict_numbers else _WHOLE), **parts}, instead, names)
    asked = {} if kind is None else {"kind": (Literal[kind], Field(description=said_of_kind))}
    return derive.model(parameters, name, {**asked, **fields}, about)  # type: ignore[return-value]


def model_of(
    result: type,
    name: str,
    fields: Mapping[str, Any] = types.MappingProxyType({}),
    parts: Mapping[type, Any] = types.MappingProxyType({}),
) -> Any:  # noqa: ANN401 - a class of which type checkers know no more
    """The body that answers with a dataclass, ``fields`` in the place of its own of these names.

    ``parts`` are bodies made before, by the type that they answer with.
    """
    return _Derivation("", Answer, {**_ANSWERED, **parts}).model(result, name, fields)


def answer_of(result: type, name: str, kind: str, about: str, *versions: int) -> Model:
    """The body that answers: ``kind`` and ``version`` of what was computed, then the result's fields."""
    derive = _Derivation(name, Answer, _ANSWERED)
    said = {
        "kind": (Literal[kind], Field(description="What was computed.")),
        "version": (Literal[versions], Field(description="Version of its meaning.")),
    }
    return derive.model(result, name, said, about)


def one_of(models: tuple[Model, ...]) -> Any:  # noqa: ANN401 - an annotation
    """The union of models that their field ``kind`` tells apart."""
    return Annotated[Union[models], Field(discriminator="kind")]  # noqa: UP007 - made of a tuple


def _made_from(source: type, body: Any) -> Model:  # noqa: ANN401 - a class of which the base is not known
    body._source = source
    return body  # type: ignore[no-any-return]


class _Derivation:
    """The models of one dataclass and of those inside it; ``prefix`` keeps their names apart from others'."""

    def __init__(
        self,
        prefix: str,
        base: type[BaseModel],
        plain: Mapping[Any, Any],
        instead: Mapping[str, Any] = types.MappingProxyType({}),
        names: Names = types.MappingProxyType({}),
    ) -> None:
        self._prefix = prefix
        self._base = base
        self._plain = plain
        self._instead = instead
        self._names = names
        self._made: dict[type, Model] = {}

    def model(self, source: type, name: str, first: Mapping[str, Any], about: str = "") -> Model:
        """The model of a dataclass, with more fields before its own and more words before its docstring."""
        hints, parameters, called = field_types(source), fields_of_kinds(source), self._names.get(source, {})
        fields: dict[str, Any] = dict(first)
        for stated in dataclasses.fields(source):
            field = stated.name
            if field in first or field in parameters.values():
                continue
            if field in self._base.model_fields or isinstance(getattr(self._base, field, None), property):
                continue
            described = parameters.get(field, field)
            hint = hints[described]
            type_, default = self._instead.get(field) or (self._type(hint), self._default(stated, hint))
            # To look for texts takes long, so not where all fields have them in their types.
            marks = getattr(hint, "__metadata__", ())
            has_text = any(isinstance(own, annotated_types.DocInfo) for own in marks)
            if not has_text and described in (texts := texts_below_fields(source)):
                # The domain names resources, of which the interface alone knows the addresses.
                text = texts[described].replace("`POST ", f"`POST {PREFIX}/")
                type_ = Annotated[type_, Field(description=text)]
            name_sent = called.get(field, field)
            if hasattr(self._base, name_sent):  # as "schema" is a method of every model
                fields[f"{name_sent}_"] = (Annotated[type_, Field(alias=name_sent)], default)
            else:
                fields[name_sent] = (type_, default)
        said = "\n\n".join(filter(None, [about, inspect.getdoc(source)]))
        made: Model = create_model(name, __base__=self._base, __doc__=said, **fields)
        return _made_from(source, made)

    def _default(self, field: dataclasses.Field[Any], hint: Any) -> FieldInfo:  # noqa: ANN401
        value = usual(field)
        # What is answered is whole, but for what results from before did not have.
        added = ADDED_LATER in getattr(hint, "__metadata__", ())
        if value is dataclasses.MISSING or (self._base is Answer and not added):
            return Field()  # type: ignore[no-any-return]
        is_one = dataclasses.is_dataclass(value)
        plain = written(value) if is_one else TypeAdapter(hint).dump_python(value, mode="json")
        return Field(default=plain, validate_default=True)  # type: ignore[no-any-return]

    def _type(self, hint: Any) -> Any:  # noqa: ANN401 - types are values here
        if hint is CellValue:
            return Text | None if self._base is Answer else Text
        if isinstance(hint, NewType):
            return Ref if hint.__supertype__ is str else self._type(hint.__supertype__)
        if hint in self._plain if isinstance(hint, type) else hint == Value and Value in self._plain:
            return self._plain[hint]
        if isinstance(hint, type) and dataclasses.is_dataclass(hint):
            if hint not in self._made:
                self._made[hint] = self.model(hint, self._prefix + hint.__name__, {})
            return self._made[hint]
        origin, arguments = get_origin(hint), get_args(hint)
        build = _COMPOSED.get(origin)
        if build is not None:
            return build(self, arguments)
        return hint

    def _annotated(self, arguments: tuple[Any, ...]) -> Any:  # noqa: ANN401
        inner, *metadata = arguments
        made = self._type(inner)
        for item in metadata:
            match item:
                case Column():
                    made = common.Column
                case Decimal():
                    made = common.Decimal
                case Label():
                    made = Text
                case annotated_types.DocInfo():
                    made = Annotated[made, Field(description=item.documentation)]
                case Example(value):
                    made = Annotated[made, Field(examples=[value])]
                case _:
                    made = Annotated[made, item]
        return made

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
