"""What the one reader and writer of documents does with the marks that types bear."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar, Literal

import pytest
from annotated_types import Ge, Gt, Le, Len, Lt
from hypothesis import given
from hypothesis import strategies as st

from app.api.schemas.derived import request_of
from app.documents import SHORT, WithKind, built, read_as, refuse_out_of_bounds, written
from app.domain.catalogue.catalogue_types import ADDED_LATER
from app.domain.errors import InvalidInput


@dataclass(frozen=True)
class Round:
    kind: ClassVar[str] = "round"
    radius: Annotated[float, Gt(0), Le(10), SHORT]


@dataclass(frozen=True)
class Named:
    kind: ClassVar[str] = "named"
    shape: str
    parameters: Annotated[Mapping[str, Any], WithKind("shape")]
    colour: Annotated[Literal["red", "blue"], ADDED_LATER] = "red"
    limit: bool | int | float = 1


@dataclass(frozen=True)
class Size:
    width: Annotated[float, Ge(0)]


@dataclass(frozen=True)
class Drawing:
    figures: Annotated[tuple[Round | Named, ...], Len(1, 3)]
    schema: str | None = None
    by_name: Mapping[str, Size] = field(default_factory=dict)


NAMES = {Drawing: {"figures": "shapes"}}
ROUND = st.builds(Round, st.floats(0, 10, exclude_min=True))
NAMED = st.builds(
    Named,
    st.text(st.characters(codec="ascii", categories=["L"])),
    st.dictionaries(st.sampled_from("abc"), st.integers()),
    st.sampled_from(["red", "blue"]),
    st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False).filter(lambda own: own % 1 != 0)),
)
DRAWINGS = st.builds(
    Drawing,
    st.lists(ROUND | NAMED, min_size=1, max_size=3).map(tuple),
    st.none() | st.just("x"),
    st.dictionaries(st.sampled_from("abc"), st.builds(Size, st.floats(0, 10))),
)


def faults_of(document: object) -> dict[str, str]:
    with pytest.raises(InvalidInput) as caught:
        built(Drawing, document, "/at", names=NAMES)
    return {own.pointer: own.code for own in caught.value.faults}


@given(DRAWINGS)
def test_what_is_written_is_read_as_the_same_value(drawing):
    assert built(Drawing, written(drawing, NAMES), names=NAMES) == drawing


def test_documents_say_what_is_not_as_usual_and_numbers_in_short():
    drawing = Drawing((Round(2.0), Named("star", {"points": (5,)}, limit=math.inf), Named("dot", {}, "blue")))
    assert written(drawing, NAMES) == {
        "shapes": [
            {"kind": "round", "radius": 2},
            {"kind": "named", "shape": {"kind": "star", "points": [5]}, "limit": "inf"},
            {"kind": "named", "shape": {"kind": "dot"}, "colour": "blue", "limit": 1},
        ],
        "by_name": {},
    }


def test_every_fault_is_named_where_documents_have_it():
    assert faults_of({"figures": []}) == {"/at/figures": "unknown-field", "/at/shapes": "missing"}
    assert faults_of({"shapes": []}) == {"/at/shapes": "wrong-length"}
    shapes = [{"kind": "rund"}, {"kind": "round", "radius": 0}, {"kind": "named", "colour": 1}]
    assert faults_of({"shapes": shapes, "by_name": {"a/b": None}}) == {
        "/at/shapes/0/kind": "unknown-kind",
        "/at/shapes/1/radius": "out-of-range",
        "/at/shapes/2/shape": "wrong-type",
        "/at/shapes/2/colour": "wrong-type",
        "/at/by_name/a~1b": "wrong-type",
    }


def test_single_values_are_read_by_their_type():
    assert read_as(Annotated[str, Len(1, 2)], "ab") == "ab"
    with pytest.raises(InvalidInput) as caught:
        read_as(Annotated[str, Len(1, 2)], "abc", "/name")
    assert [(own.pointer, own.code) for own in caught.value.faults] == [("/name", "wrong-length")]


@pytest.mark.parametrize(
    ("bound", "inside", "outside"),
    [
        (Ge(1), 1, 0.5),
        (Gt(1), 1.5, 1),
        (Le(1), 1, 1.5),
        (Lt(1), 0.5, 1),
        (Ge(1), math.inf, math.nan),
        (Lt(1), -math.inf, math.nan),
    ],
)
def test_numbers_of_what_is_made_without_a_document_are_held_to_the_same_bounds(bound, inside, outside):
    def made(value):
        made_of = dataclass(frozen=True)(type("Made", (), {"__annotations__": {"size": hint}}))
        return made_of(value)

    hint = Annotated[float | None, bound]
    for value in (inside, None):
        refuse_out_of_bounds(made(value))
    with pytest.raises(InvalidInput, match="size must be") as caught:
        refuse_out_of_bounds(made(outside))
    assert [(own.pointer, own.code) for own in caught.value.faults] == [("/size", "out-of-range")]


def test_bodies_have_the_names_and_bounds_that_the_reader_holds_documents_to():
    parts: dict[type, Any] = {own: request_of(own, own.__name__, own.kind) for own in (Round, Named)}
    schema = request_of(Drawing, "Drawn", None, parts=parts, names=NAMES).model_json_schema()
    assert list(schema["properties"]) == ["shapes", "schema", "by_name"]
    assert (schema["properties"]["shapes"]["minItems"], schema["properties"]["shapes"]["maxItems"]) == (1, 3)
    assert schema["required"] == ["shapes"]
    shape = schema["$defs"]["Named"]["properties"]
    assert list(shape) == ["kind", "shape", "colour", "limit"]
    assert shape["shape"]["type"] == "object"
    radius = schema["$defs"]["Round"]["properties"]["radius"]
    assert (radius["exclusiveMinimum"], radius["maximum"]) == (0, 10)
