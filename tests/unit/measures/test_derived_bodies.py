"""Bodies made of dataclasses say all that the dataclasses say, and hold what is sent to it."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import pytest
from annotated_types import Ge, Le, Len, MaxLen, doc
from pydantic import ValidationError

from app.api.schemas.derived import answer_of, one_of, request_of
from app.domain.catalogue.catalogue_types import DatasetRef


@dataclass(frozen=True)
class Part:
    """A part of it."""

    share: Annotated[float, Ge(0), Le(1), doc("Its share.")] = 0.5


@dataclass(frozen=True)
class Parameters:
    """What to choose."""

    k: Annotated[int, Ge(1), doc("How many.")]
    source: Annotated[DatasetRef | None, doc("Where from.")] = None
    parts: Annotated[tuple[Part, ...], Len(1, 3), doc("Its parts.")] = (Part(),)
    way: Annotated[Literal["a", "b"], doc("Which way.")] = "a"
    strict: Annotated[bool, doc("Whether strictly.")] = False
    shares: Annotated[Mapping[str, float] | None, MaxLen(5), doc("Shares.")] = None


@dataclass(frozen=True)
class Result:
    """What was found."""

    risk: Annotated[float, doc("The risk.")]
    parts: Annotated[tuple[Part, ...], doc("Its parts.")]
    by_name: Annotated[Mapping[str, float | None], doc("By name.")]


ASKED = request_of(Parameters, "TriedMeasure", "tried", "Tried. Needs: rule.")
FOUND = answer_of(Result, "TriedResult", "tried", "Tried.", 2)


def test_bounds_descriptions_and_defaults_carry_over():
    schema = ASKED.model_json_schema()
    assert schema["description"] == "Tried. Needs: rule.\n\nWhat to choose."
    assert schema["required"] == ["kind", "k"]
    assert schema["additionalProperties"] is False
    k, parts = schema["properties"]["k"], schema["properties"]["parts"]
    assert (k["minimum"], k["description"]) == (1, "How many.")
    assert (parts["minItems"], parts["maxItems"], parts["default"]) == (1, 3, [{"share": 0.5}])
    assert schema["$defs"]["TriedMeasurePart"]["properties"]["share"]["maximum"] == 1
    assert "pattern" in schema["properties"]["source"]["anyOf"][0]


def test_what_is_left_out_has_the_dataclass_default():
    assert ASKED.model_validate({"kind": "tried", "k": 2}).model_dump() == {
        "kind": "tried",
        "k": 2,
        "source": None,
        "parts": [{"share": 0.5}],
        "way": "a",
        "strict": False,
        "shares": None,
    }


@pytest.mark.parametrize(
    "sent",
    [
        {"k": 0},
        {"k": "2"},
        {"k": 2.0},
        {"k": True},
        {"k": 2, "other": 1},
        {"k": 2, "source": "no/name"},
        {"k": 2, "parts": []},
        {"k": 2, "parts": [{"share": 2}]},
        {"k": 2, "parts": [{"share": "0.5"}]},
        {"k": 2, "parts": [{"share": 0.5, "more": 1}]},
        {"k": 2, "parts": [{"share": math.inf}]},
        {"k": 2, "parts": [{"share": math.nan}]},
        {"k": 2, "way": "c"},
        {"k": 2, "strict": "yes"},
        {"k": 2, "shares": {str(i): 0.1 for i in range(6)}},
        {"kind": "other", "k": 2},
        {},
    ],
)
def test_what_does_not_fit_is_refused(sent):
    with pytest.raises(ValidationError):
        ASKED.model_validate({"kind": "tried"} | sent)


def test_infinity_is_answered_as_text():
    found = FOUND.model_validate(
        {"kind": "tried", "version": 2, "risk": "inf", "parts": [{"share": 1.0}], "by_name": {"x": None}}
    )
    assert '"risk":"inf"' in found.model_dump_json()
    assert FOUND.model_json_schema()["$defs"]["TriedResultPart"]["description"] == "A part of it."


def test_an_answer_of_another_version_is_not_taken_for_this_one():
    with pytest.raises(ValidationError):
        FOUND.model_validate({"kind": "tried", "version": 1, "risk": 0.0, "parts": [], "by_name": {}})


def test_the_kind_tells_the_members_of_a_union_apart():
    other = request_of(Part, "OtherMeasure", "other", "Other.")

    class Body(ASKED.__base__):  # type: ignore[misc,name-defined]
        measure: one_of((ASKED, other))  # type: ignore[valid-type]

    assert type(Body.model_validate({"measure": {"kind": "other"}}).measure) is other
    with pytest.raises(ValidationError, match="union_tag_invalid"):
        Body.model_validate({"measure": {"kind": "third"}})
