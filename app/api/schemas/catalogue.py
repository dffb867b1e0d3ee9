"""The catalogue: what can be measured and chosen, made of what the rooms that do the work accept."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Final, TypeVar

from pydantic import Field, TypeAdapter, create_model

from app.api.schemas.common import Answer, Number, Request
from app.api.schemas.criteria import REQUESTS as CRITERIA_REQUESTS
from app.api.schemas.measurements import REQUESTS, RESULTS
from app.api.schemas.mechanisms import PUBLISHED
from app.api.schemas.mechanisms import REQUESTS as MECHANISM_REQUESTS
from app.api.schemas.objectives import LossFields
from app.api.schemas.rules import Definition
from app.api.schemas.scoring import CustomRiskModel
from app.api.schemas.sensitivity_profiles import NewSensitivityProfile
from app.api.schemas.solvers import REQUESTS as SOLVERS
from app.api.schemas.utility import CustomUtility
from app.domain.analyses.catalogue import MEASURES
from app.domain.catalogue import choices as catalogue
from app.domain.catalogue.catalogue_types import Guarantee, Need, Reads
from app.domain.catalogue.choices import Choice
from app.domain.catalogue.meanings import Safer
from app.domain.catalogue.result_values import Kind, ResultValue, values_of
from app.domain.mechanisms.catalogue import MECHANISMS, AnyMechanism
from app.domain.mechanisms.guarantee_models import MODEL_OF
from app.domain.mechanisms.mechanism import Family
from app.domain.models.criteria import CRITERIA
from app.domain.models.entry import Measure
from app.domain.search.catalogue import SEARCHES, AnySearch

JsonSchema = Annotated[dict[str, Any], Field(description="As JSON Schema (2020-12).")]


class CatalogueEntry(Answer):
    """One thing that can be chosen, and what there is to know for the choice."""

    name: Annotated[str, Field(max_length=100, examples=["anonymity"])]
    """The word for it in requests."""
    version: Annotated[int, Field(description="Grows when a correction changes its meaning.", examples=[1])]
    title: Annotated[str, Field(max_length=200, examples=["k-anonymity in both readings"])]
    """What it is."""
    source: Annotated[str, Field(max_length=400, examples=["Samarati (2001)"])]
    """Where its definition is from."""
    guarantee: Annotated[Guarantee, Field(examples=["exact"])]
    """What a result is worth at best: `exact`; a `bound` that the truth does not exceed; `statistical`, with
    its standard error; `heuristic`, a best effort.
    """
    needs: Annotated[list[Need], Field(examples=[["rule"]])]
    """What a request must name, `comparable_ids`: identifiers that dataset and dictionary share, or `trees`:
    that no value has several parents.
    """
    parameters: Annotated[JsonSchema, Field(description="The parameters that it takes, as JSON Schema.")]


class CatalogueValue(Answer):
    """A number or boolean of a result: what it can be, and which way people are safer."""

    path: Annotated[str, Field(max_length=300, examples=["judged.records"])]
    """Where it is in the result; `<key>` stands for the key of a mapping. Policies name it so."""
    kind: Annotated[Kind, Field(description="What it is.", examples=["whole number"])]
    least: Annotated[Number, Field(description="The least that it can be.", examples=[0])]
    greatest: Annotated[Number, Field(description="The greatest that it can be.", examples=["inf"])]
    safer: Annotated[Safer | None, Field(examples=["low"])]
    """Whether people are safer, or the data more useful, where it is low or high; null: not known."""


class CatalogueMeasure(CatalogueEntry):
    """A measure: `parameters` describes the object `measure` of a request."""

    result: Annotated[JsonSchema, Field(description="The result that it answers, as JSON Schema.")]
    values: Annotated[list[CatalogueValue], Field(max_length=1000)]
    """The numbers and booleans of the result that have one place."""
    reads: Annotated[list[Reads], Field(examples=[["classes", "records"]])]
    """As what it can read a release. `records`: rows of which it is known whose record each is, which every
    rule gives. Of a mechanism's release: `classes`, how many of its rows have the same quasi-identifiers;
    `matrix`, the published matrix by which values were replaced; `rows`, rows of which nobody knows whose
    they are. One of them is enough.
    """


class CatalogueGuarantee(Answer):
    """A privacy model of which a mechanism may promise something."""

    model: Annotated[str, Field(max_length=100, examples=["amplification"])]
    """The word for it in guarantees, and in a policy's requirement on one."""
    title: Annotated[str, Field(max_length=200, description="What it is.", examples=["β-likeness"])]


class CatalogueMechanism(Answer):
    """A way to make a release: `parameters` describes the object `mechanism` of a request."""

    name: Annotated[str, Field(max_length=100, examples=["perturbation"])]
    """The word for it in requests; `rule` stands for a disclosure rule, which requests name beside it."""
    version: Annotated[int, Field(description="Grows when a correction changes its meaning.", examples=[1])]
    title: Annotated[str, Field(max_length=200, description="What it is.")]
    source: Annotated[str, Field(max_length=400, description="Where its definition is from.")]
    family: Annotated[Family, Field(description="What is done to the records.", examples=["perturb"])]
    randomised: Annotated[bool, Field(description="Whether it draws: such a release is made once.")]
    takes_rule: Annotated[bool, Field(description="Whether a rule may generalise quasi-identifiers first.")]
    needs: Annotated[list[Need], Field(description="What a request must name.", examples=[[]])]
    parameters: Annotated[JsonSchema, Field(description="The parameters that it takes, as JSON Schema.")]
    published: JsonSchema | None
    """What it publishes beside the table, as JSON Schema; null: nothing."""
    guarantees: Annotated[list[CatalogueGuarantee], Field(max_length=20)]
    """Of which models it may promise something; which of them, and how much, a plan says. Empty: it promises
    nothing, whatever its plans state beside the status `none`."""
    constants: Annotated[dict[str, str], Field(examples=[{"values": "Values that can be published."}])]
    """What the numbers of its plans mean, by name."""


class Catalogue(Answer):
    """All that can be measured and chosen."""

    measures: Annotated[list[CatalogueMeasure], Field(description="What can be measured.")]
    searches: list[CatalogueEntry]
    """Kinds of `solver` in optimisations."""
    mechanisms: Annotated[list[CatalogueMechanism], Field(description="How releases can be made.")]
    risk_models: Annotated[list[CatalogueEntry], Field(description="Values of `risk_model`.")]
    sensitivity_families: list[CatalogueEntry]
    """Values of `family` in sensitivity profiles."""
    utility_models: Annotated[list[CatalogueEntry], Field(description="Values of `utility`.")]
    criteria: list[CatalogueEntry]
    """Kinds of `privacy` in the objective `min_loss` and of what rules suppress."""
    losses: list[CatalogueEntry]
    """Values of `loss` in the objective `min_loss`."""


def _value(own: ResultValue) -> CatalogueValue:
    """A value under the usual options."""
    possible = own.range({})
    least, greatest = (0.0, 1.0) if own.kind == "boolean" else (possible.least, possible.greatest)
    return CatalogueValue(path=own.path, kind=own.kind, least=least, greatest=greatest, safer=own.marks.safer)


E = TypeVar("E", bound=CatalogueEntry)


def _entry(answer: type[E], of: Measure[Any, Any] | AnySearch | Choice, **schemas: Any) -> E:  # noqa: ANN401
    return answer(
        name=of.name,
        version=of.version,
        title=of.title,
        source=of.source,
        guarantee=of.guarantee,
        needs=sorted(of.needs),
        **schemas,
    )


def _entries(choices: Sequence[Choice], request: type[Request]) -> list[CatalogueEntry]:
    """The entries of choices whose fields are some of this body's."""
    return [
        _entry(CatalogueEntry, choice, parameters=_schema_of(request, choice.fields)) for choice in choices
    ]


def _schema_of(request: type[Request], fields: Sequence[str]) -> dict[str, Any]:
    chosen: dict[str, Any] = {
        name: (request.model_fields[name].annotation, request.model_fields[name]) for name in fields
    }
    return create_model("Parameters", __base__=Request, **chosen).model_json_schema()


_RULE: Final = CatalogueMechanism(
    name="rule",
    version=1,
    title="Disclosure rule: values generalised or suppressed",
    source="Definitions: disclosure rules",
    family="generalise",
    randomised=False,
    takes_rule=True,
    needs=["rule"],
    parameters=TypeAdapter(Definition).json_schema(),
    published=None,
    guarantees=[],
    constants={},
)


def _mechanism(own: AnyMechanism) -> CatalogueMechanism:
    return CatalogueMechanism(
        name=own.name,
        version=own.version,
        title=own.title,
        source=own.source,
        family=own.family,
        randomised=own.randomised,
        takes_rule=own.takes_rule,
        needs=sorted(own.needs),
        parameters=MECHANISM_REQUESTS[own.name].model_json_schema(),
        published=PUBLISHED[own.name].model_json_schema(mode="serialization"),
        guarantees=[CatalogueGuarantee(model=name, title=MODEL_OF[name].title) for name in own.guarantees],
        constants=dict(own.constants),
    )


CATALOGUE: Final = Catalogue(
    measures=[
        _entry(
            CatalogueMeasure,
            measure,
            parameters=REQUESTS[measure.name].model_json_schema(),
            result=RESULTS[measure.name].model_json_schema(mode="serialization"),
            values=[_value(own) for own in values_of(measure.result)],
            reads=sorted(measure.reads),
        )
        for measure in MEASURES
    ],
    searches=[
        _entry(CatalogueEntry, search, parameters=SOLVERS[search.name].model_json_schema())
        for search in SEARCHES
    ],
    mechanisms=[_RULE, *map(_mechanism, MECHANISMS)],
    risk_models=_entries(catalogue.RISK_MODELS, CustomRiskModel),
    sensitivity_families=_entries(catalogue.SENSITIVITY_FAMILIES, NewSensitivityProfile),
    utility_models=_entries(catalogue.UTILITY_MODELS, CustomUtility),
    criteria=[
        CatalogueEntry(
            name=own.kind,
            version=1,
            title=own.title,
            source=own.source,
            guarantee=own.guarantee,
            needs=["dictionary"] if own.needs_population else [],
            parameters=CRITERIA_REQUESTS[own.kind].model_json_schema(),
        )
        for own in CRITERIA
    ],
    losses=_entries(catalogue.LOSSES, LossFields),
)
