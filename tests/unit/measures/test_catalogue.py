"""The catalogue keeps its promises: whoever adds a measure has said, shown and tested all that it needs."""

from __future__ import annotations

import ast
import dataclasses
import re
from pathlib import Path
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import annotated_types
import pytest
from pydantic import BaseModel

from app.api.examples.measurements import BY_MEASURE, MEASUREMENTS
from app.api.schemas.catalogue import CATALOGUE
from app.api.schemas.measurements import REQUESTS, RESULTS, NewMeasurement
from app.api.schemas.solvers import NAMES
from app.api.schemas.solvers import REQUESTS as SOLVER_REQUESTS
from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue import choices as catalogue
from app.domain.catalogue.catalogue_types import Guarantee, Need
from app.domain.losses.loss import LossKind
from app.domain.models.criteria import CRITERIA
from app.domain.risk.models import ModelName
from app.domain.risk.utility import Model
from app.domain.search.catalogue import SEARCHES
from app.domain.search.solvers import SOLVERS
from app.domain.sensitivity.sensitivity import Family
from app.services.scoring.measurement_documents import document_of_parameters, parameters_of
from app.services.searches.objectives import solver_of

ROOT = Path(__file__).parents[3]
DOMAIN = ROOT / "app" / "domain"

each_measure = pytest.mark.parametrize("measure", MEASURES, ids=lambda measure: measure.name)


def dataclasses_in(hint: Any) -> set[type]:
    """The dataclasses that a type is made of, from the outside in."""
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        inner = [dataclasses_in(own) for own in get_type_hints(hint, include_extras=True).values()]
        return {hint}.union(*inner)
    return set().union(*(dataclasses_in(argument) for argument in get_args(hint)))


def models_in(model: type[BaseModel]) -> list[dict[str, Any]]:
    schema = model.model_json_schema()
    return [schema, *schema.get("$defs", {}).values()]


def test_every_measure_of_the_domain_is_in_the_catalogue():
    """A file that makes a Measure has its line in the tuple."""
    made = set()
    texts = (path.read_text() for path in DOMAIN.rglob("*.py"))
    # Only files that have the words are parsed: most have not.
    for text in (text for text in texts if re.search(r"\bMeasure\s*\(", text)):
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Measure":
                made |= {word.value.value for word in node.keywords if word.arg == "name"}
    assert made == {measure.name for measure in MEASURES}
    assert len(made) == len(MEASURES)


@each_measure
def test_a_measure_says_what_it_is(measure):
    assert re.fullmatch(r"[a-z][a-z0-9_]{2,60}", measure.name)
    assert measure.version >= 1
    assert measure.title
    assert not measure.title.endswith(".")
    assert measure.source
    assert measure.guarantee in get_args(Guarantee)
    assert measure.needs <= set(get_args(Need))


@each_measure
def test_types_are_frozen_and_every_field_is_described(measure):
    for kind in dataclasses_in(measure.parameters) | dataclasses_in(measure.result):
        assert kind.__dataclass_params__.frozen, kind
        assert kind.__doc__
        assert not kind.__doc__.startswith(f"{kind.__name__}("), f"{kind} has no docstring of its own"
        for name, hint in get_type_hints(kind, include_extras=True).items():
            said = get_args(hint)[1:] if get_origin(hint) is Annotated else ()
            assert any(isinstance(item, annotated_types.DocInfo) for item in said), f"{kind.__name__}.{name}"


@each_measure
def test_the_fields_that_the_edge_adds_are_free(measure):
    for kind in (measure.parameters, measure.result):
        assert not {"kind", "version"} & {field.name for field in dataclasses.fields(kind)}


@each_measure
def test_every_parameter_is_bounded(measure):
    for schema in models_in(REQUESTS[measure.name]):
        for name, definition in schema.get("properties", {}).items():
            for part in _leaves(definition):
                assert _is_bounded(part), f"{measure.name}: {name}"


def _leaves(definition: dict[str, Any]) -> list[dict[str, Any]]:
    inner = [*definition.get("anyOf", ()), *definition.get("prefixItems", ())]
    if "items" in definition and definition["items"] is not False:
        inner.append(definition["items"])
    if isinstance(definition.get("additionalProperties"), dict):
        inner.append(definition["additionalProperties"])
    own = [] if "anyOf" in definition else [definition]
    return own + [leaf for part in inner for leaf in _leaves(part)]


def _is_bounded(part: dict[str, Any]) -> bool:
    if {"$ref", "enum", "const", "oneOf"} & part.keys():
        return True
    needed = {
        "string": {"maxLength", "pattern"},
        "integer": {"minimum", "exclusiveMinimum"},
        "number": {"minimum", "exclusiveMinimum"},
        "array": {"maxItems"},
        "object": {"maxProperties"},
    }.get(part["type"])
    return needed is None or bool(needed & part.keys())


@each_measure
def test_parameters_survive_being_written_down(measure):
    asked = NewMeasurement.model_validate(BY_MEASURE[measure.name]["value"]).request()
    assert type(asked.parameters) is measure.parameters
    assert parameters_of(measure, document_of_parameters(asked.parameters)) == asked.parameters


@each_measure
def test_a_measure_has_a_section_of_what_it_means_assumes_and_does_not_cover(measure):
    text = (ROOT / "docs" / "measures.md").read_text()
    sections = dict(re.findall(r"^## (.+?)\n\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL))
    heading = f"`{measure.name}`: {measure.title}"
    assert heading in sections
    for lead in ("**What it means.**", "**What it assumes.**", "**What it does not cover.**"):
        assert lead in sections[heading], lead


@each_measure
def test_a_measure_has_tests_of_its_own(measure):
    assert list((ROOT / "tests").rglob(f"test_{measure.name}.py"))


def test_the_examples_are_those_of_the_measures_each_under_a_name_of_its_own():
    assert set(BY_MEASURE) == {measure.name for measure in MEASURES}
    assert {name: example["value"]["measure"]["kind"] for name, example in BY_MEASURE.items()} == {
        name: name for name in BY_MEASURE
    }
    assert MEASUREMENTS.keys() >= {own["value"]["name"] for own in BY_MEASURE.values()}
    assert len({own["value"]["name"] for own in BY_MEASURE.values()}) == len(MEASURES)


def test_the_catalogue_lists_what_the_rooms_accept():
    """No name is made up, none is left out."""
    assert [entry.name for entry in CATALOGUE.measures] == [measure.name for measure in MEASURES]
    assert [entry.name for entry in CATALOGUE.searches] == [search.name for search in SEARCHES]
    assert [entry.name for entry in CATALOGUE.criteria] == [criterion.kind for criterion in CRITERIA]
    assert tuple(own for measure in MEASURES for own in measure.criteria) == CRITERIA
    for choices, listed, accepted in (
        (catalogue.RISK_MODELS, CATALOGUE.risk_models, ModelName),
        (catalogue.SENSITIVITY_FAMILIES, CATALOGUE.sensitivity_families, Family),
        (catalogue.UTILITY_MODELS, CATALOGUE.utility_models, Model),
        (catalogue.LOSSES, CATALOGUE.losses, LossKind),
    ):
        assert {choice.name for choice in choices} == set(get_args(accepted))
        assert [entry.name for entry in listed] == [choice.name for choice in choices]
        for choice, shown in zip(choices, listed, strict=True):
            assert set(shown.parameters.get("properties", {})) == set(choice.fields)
            assert set(shown.needs) == choice.needs


def test_the_catalogue_shows_the_parameters_that_solvers_are_asked_with():
    for search, shown in zip(SEARCHES, CATALOGUE.searches, strict=True):
        assert SOLVERS[search.name] is search.parameters
        assert shown.parameters == SOLVER_REQUESTS[search.name].model_json_schema()
        assert (shown.version, shown.guarantee) == (search.version, search.guarantee)
        asked = {own.name for own in dataclasses.fields(search.parameters)}
        assert set(shown.parameters["properties"]) == {"kind", *asked}
        if search.name in NAMES:
            assert solver_of(search.name) == solver_of({"kind": search.name})


def test_the_catalogue_shows_the_parameters_and_results_that_requests_and_answers_have():
    for shown in CATALOGUE.measures:
        assert shown.parameters == REQUESTS[shown.name].model_json_schema()
        assert shown.result == RESULTS[shown.name].model_json_schema(mode="serialization")
        assert shown.parameters["properties"]["kind"]["const"] == shown.name
