"""Measurements: computed measures. What measures take and find is made of their types."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from app.api.schemas.common import Answer, Name, Ref, Resource
from app.api.schemas.derived import answer_of, one_of, request_of, value_of
from app.api.schemas.rules import Definition, rule_asked
from app.api.schemas.runs import WithRun
from app.api.schemas.scoring import ScoringFields, ShownScoring
from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue.catalogue_types import Guarantee
from app.domain.models.entry import Measure
from app.services.scoring.measurements import CreateMeasurement


def _model_name(measure: str) -> str:
    return "".join(part.capitalize() for part in measure.split("_"))


def _about(measure: Measure[Any, Any]) -> str:
    """What it is, and what a request must name for it."""
    needs = f" Needs: {', '.join(sorted(measure.needs))}." if measure.needs else ""
    return f"{measure.title}.{needs}"


REQUESTS = {
    m.name: request_of(m.parameters, f"{_model_name(m.name)}Measure", m.name, _about(m)) for m in MEASURES
}
"""Name of the measure → the body that asks for it."""

RESULTS = {
    m.name: answer_of(m.result, f"{_model_name(m.name)}Result", m.name, f"{m.title}.", *m.earlier, m.version)
    for m in MEASURES
}
"""Name of the measure → what it answers."""

AskedMeasure = one_of(tuple(REQUESTS.values()))
FoundResult = one_of(tuple(RESULTS.values()))


class EarlierResult(Answer):
    """What an earlier version of a measure has found: its fields are those of that version."""

    model_config = ConfigDict(extra="allow")

    kind: Annotated[str, Field(max_length=100, description="What was computed.", examples=[MEASURES[0].name])]
    version: Annotated[int, Field(description="Version of its meaning.", examples=[1])]


class NewMeasurement(ScoringFields):
    """A measure to be computed."""

    name: Name | None = None
    """Its name; without one it is made of the content's hash."""
    dataset: Annotated[Ref | None, Field(examples=["members"])] = None
    """Dataset that is disclosed; may be left out if a release is named."""
    rule: Annotated[Ref | Definition | None, Field(examples=["proposal"])] = None
    """A rule's id or name, or a rule; where the measure needs one."""
    release: Annotated[Ref | None, Field(examples=["partner-2026"])] = None
    """A stored release in place of the rule: the dataset under the rule that made it, or what is stored of
    one that a mechanism made, which a measure can read that has `classes`, `matrix`, `retention` or `rows`
    in `reads` of the catalogue.
    """
    dictionary: Annotated[Ref | None, Field(examples=["census"])] = None
    """What the attacker has; where the measure needs it."""
    sensitivity: Annotated[Ref | None, Field(examples=["members-harm"])] = None
    """What harm disclosure does; where the measure needs it."""
    measure: Annotated[
        AskedMeasure,  # type: ignore[valid-type]
        Field(description="Which measure, with its parameters; `GET /v1/catalogue` lists them."),
    ]

    def request(self) -> CreateMeasurement:
        """The value that the use case takes."""
        return CreateMeasurement(
            dataset=self.dataset,
            measure=self.measure.kind,  # type: ignore[attr-defined]
            parameters=value_of(self.measure, "/measure"),
            rule=rule_asked(self.rule),
            dictionary=self.dictionary,
            sensitivity=self.sensitivity,
            failure=self.failure,
            name=self.name,
            options=self.options,
            release=self.release,
        )


class MeasurementSummary(Resource, ShownScoring):
    """A measurement without its result."""

    dataset: Annotated[str, Field(max_length=100, description="Name of the dataset.", examples=["members"])]
    rule: dict[str, Any] | None
    """The rule: its name or its definition in short; null if none."""
    dictionary: Annotated[str | None, Field(max_length=100, examples=["census"])]
    """Name of the dictionary."""
    sensitivity: Annotated[str | None, Field(max_length=100, examples=["members-harm"])]
    """Name of the sensitivity profile."""
    release: Annotated[str | None, Field(max_length=100, examples=["partner-2026"])] = None
    """Name of the release that was measured; null if none was named."""
    measure: Annotated[str, Field(max_length=100, examples=[MEASURES[0].name])]
    """What is measured."""
    version: Annotated[int, Field(description="Version of the measure's meaning.", examples=[1])]
    guarantee: Annotated[Guarantee, Field(examples=["exact"])]
    """What the result is worth at best."""


class Measurement(WithRun, MeasurementSummary):
    """A measurement with its parameters and its result."""

    parameters: Annotated[dict[str, Any], Field(examples=[{"k": 2}])]
    """The measure's parameters, defaults filled in."""
    result: Annotated[
        FoundResult | EarlierResult | None,  # type: ignore[valid-type]
        Field(description='Null until a run has brought it. Infinity is "inf".'),
    ]
