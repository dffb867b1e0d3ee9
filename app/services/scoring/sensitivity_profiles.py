"""Use cases on sensitivity profiles: how much harm the disclosure of each value does."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import ClassVar, Final, Literal

from app.domain.errors import Fault, InvalidInput, counted, refuse
from app.domain.sensitivity.interactions import GivenInteractions
from app.domain.sensitivity.normalisation import Normalisation
from app.domain.sensitivity.sensitivity import Family, Sensitivity
from app.services.datasets.dataset_schema import OnUnknown, declarations_of
from app.services.datasets.tables import TableResources
from app.services.fingerprints import new_resource, plain
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Stored,
    reference,
    without_names,
)
from app.services.scoring.sensitivity_building import build_profile, read_overrides, rows_ignored

GREATEST_EXPONENT: Final = 709
"""Of greater whole numbers exp is no double any more."""

Viewpoint = Literal["data_subject", "organisation"]


@dataclass(frozen=True)
class ConstantWeight:
    """The same weight for every value but ⊥; may be infinite."""

    weight: float


@dataclass(frozen=True)
class LeafWeights:
    """Weights of leaves: one for all, or by value; inner nodes by the modified harmonic mean."""

    leaves: float | Mapping[str, float]
    inner: Literal["harmonic"] = "harmonic"


@dataclass(frozen=True)
class NodeWeights:
    """A weight for every node by its label; ⊥ weighs 0 unless it is named and that is allowed."""

    nodes: Mapping[str, float]


Weights = ConstantWeight | LeafWeights | NodeWeights


@dataclass(frozen=True)
class Overrides:
    """Weights per entity or group from an upload of (key, attribute, weight) rows.

    ``by`` group: the key is a value of the dataset's column ``group_attribute``. A weight takes the place
    of the attribute's constant, or of every leaf weight with the inner ones derived anew. Attributes joined
    by " & " name a set with an interaction. ``labels`` are words that stand for weights.
    """

    upload: str
    by: Literal["entity", "group"]
    key_column: str
    attribute_column: str
    weight_column: str
    group_attribute: str | None = None
    labels: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class CreateSensitivityProfile:
    """A sensitivity profile for a dataset, to serve as Φ or as Ψ.

    ``constant`` is the value of the family of that name. Of ``overrides`` there is at most one by group and
    one by entity, which counts where both give a weight. ``unit`` and ``viewpoint`` say what a harm of 1 is,
    and to whom it is done.
    """

    name: str
    dataset: str
    family: Family
    attributes: Mapping[str, Weights]
    constant: float | None = None
    overrides: Overrides | Sequence[Overrides] = ()
    interactions: GivenInteractions | None = None
    normalisation: Normalisation | None = None
    allow_positive_top: bool = False
    unit: str | None = None
    viewpoint: Viewpoint | None = None


class SensitivityProfileService(TableResources):
    """Create and read sensitivity profiles."""

    kind: ClassVar[Kind] = Kind.SENSITIVITY_PROFILE

    async def create(self, actor: Actor, request: CreateSensitivityProfile) -> Created:
        """Validate the weights against the dataset's hierarchies and store."""
        self._admit(actor, request.name)
        _check_family(request)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            uploads = [
                await work.resources.get(Kind.UPLOAD, overrides.upload) for overrides in _each(request)
            ]
            document = _document(request, dataset, uploads)
            overrides = await read_overrides(work, document["overrides"], dataset)
        table = await self._loader.table(actor.tenant, dataset)
        try:
            built = await asyncio.to_thread(build_profile, table, document, overrides)
            ignored = await asyncio.to_thread(rows_ignored, table, overrides)
        except InvalidInput as error:
            raise InvalidInput(_discreet(error.faults, dataset)) from None
        return await self._add(actor, _resource(request, document, dataset, uploads, built, ignored))


def _discreet(faults: Sequence[Fault], dataset: Stored) -> list[Fault]:
    """The faults; values that lack a weight are not named if they are cells and no labels of a hierarchy."""
    of_cells = [
        d.name for d in declarations_of(dataset) if d.hierarchy is None or d.on_unknown is OnUnknown.ATTACH
    ]
    found: dict[Fault, None] = {}
    for fault in faults:
        name = next((name for name in of_cells if fault.pointer.startswith(f"/attributes/{name}/")), None)
        if fault.code == "missing-weight" and name is not None:
            fault = Fault(
                f"/attributes/{name}",
                fault.code,
                f"Values of {name!r} have no weight.",
                f"{fault.remedy} The dataset's profile shows the values.",
            )
        found[fault] = None
    return list(found)


def _each(request: CreateSensitivityProfile) -> Sequence[Overrides]:
    return (request.overrides,) if isinstance(request.overrides, Overrides) else request.overrides


def _check_family(request: CreateSensitivityProfile) -> None:
    """A constant needs no weights, and every other family no constant."""
    faults = []
    if request.family == "constant":
        if request.attributes or _each(request) or request.interactions or request.normalisation:
            faults.append(
                Fault(
                    "/attributes",
                    "weights-not-used",
                    "The family constant has no weights.",
                    "Leave attributes, overrides, interactions and normalisation out, or choose another "
                    "family.",
                )
            )
    elif request.constant is not None:
        faults.append(
            Fault(
                "/constant",
                "constant-not-used",
                f"The family {request.family} has no constant.",
                "Leave it out, or choose the family constant.",
            )
        )
    if request.family == "interactions" and (request.interactions is None or not request.interactions.sets):
        faults.append(
            Fault(
                "/interactions",
                "missing-interactions",
                "The family interactions needs sets of attributes with a weight.",
                "Name at least one set, or choose linear_personal.",
            )
        )
    faults += _faults_of_overrides(_each(request))
    refuse(faults)


def _faults_of_overrides(given: Sequence[Overrides]) -> list[Fault]:
    faults = []
    if len({overrides.by for overrides in given}) < len(given):
        faults.append(
            Fault(
                "/overrides",
                "duplicate-overrides",
                "There are two overrides of the same kind, and none of them would come first.",
                "Give at most one by group and one by entity.",
            )
        )
    for i, overrides in enumerate(given):
        if (overrides.by == "group") != (overrides.group_attribute is not None):
            faults.append(
                Fault(
                    f"/overrides/{i}/group_attribute" if len(given) > 1 else "/overrides/group_attribute",
                    "wrong-group-attribute",
                    "Overrides by group need the column whose values are the groups, those by entity none.",
                    "Name group_attribute if and only if by is group.",
                )
            )
    return faults


def _document(request: CreateSensitivityProfile, dataset: Stored, uploads: Sequence[Stored]) -> JsonObject:
    """What is stored and hashed; options that were not used are left out."""
    overrides = []
    for given, upload in zip(_each(request), uploads, strict=True):
        entry = {**asdict(given), "upload": reference(upload)}
        overrides.append(entry if given.labels else {k: v for k, v in entry.items() if k != "labels"})
    constant = 1.0 if request.constant is None else request.constant
    interactions, normalisation = request.interactions, request.normalisation
    options = {
        "interactions": None if interactions is None else asdict(interactions),
        "normalisation": None if normalisation is None else asdict(normalisation),
        "allow_positive_top": request.allow_positive_top,
        "unit": request.unit,
        "viewpoint": request.viewpoint,
    }
    document: JsonObject = plain(
        {
            "dataset": reference(dataset),
            "family": request.family,
            "attributes": {name: _weights(given) for name, given in request.attributes.items()},
            "constant": constant if request.family == "constant" else None,
            "overrides": _one_or_list(overrides),
            **{key: value for key, value in options.items() if value},
        }
    )
    return document


def _one_or_list(entries: list[JsonObject]) -> JsonObject | list[JsonObject] | None:
    return None if not entries else entries[0] if len(entries) == 1 else entries


def _weights(given: Weights) -> JsonObject:
    if isinstance(given, ConstantWeight):
        return {"constant": given.weight}
    if isinstance(given, NodeWeights):
        return {"nodes": dict(given.nodes)}
    leaves = dict(given.leaves) if isinstance(given.leaves, Mapping) else given.leaves
    return {"leaves": leaves, "inner": given.inner}


def _range(given: Weights) -> JsonObject:
    """What a list may show of the weights: their kind and range, no values of the data."""
    if isinstance(given, ConstantWeight):
        return {"kind": "constant", "min": given.weight, "max": given.weight}
    kind, weights = ("nodes", given.nodes) if isinstance(given, NodeWeights) else ("leaves", given.leaves)
    numbers = list(weights.values()) if isinstance(weights, Mapping) else [weights]
    return {"kind": kind, "min": min(numbers, default=0.0), "max": max(numbers, default=0.0)}


def _resource(
    request: CreateSensitivityProfile,
    document: JsonObject,
    dataset: Stored,
    uploads: Sequence[Stored],
    built: Sensitivity,
    ignored: int,
) -> NewResource:
    overrides = [
        {"upload": upload.name, "by": given.by, "rows": upload.summary["rows"]}
        for given, upload in zip(_each(request), uploads, strict=True)
    ]
    interactions, normalisation = None, None
    if request.interactions is not None and request.interactions.sets:
        weights = [one.weight for one in request.interactions.sets]
        interactions = {
            "sets": len(weights),
            "order": max(len(one.attributes) for one in request.interactions.sets),
            "min": min(weights),
            "max": max(weights),
        }
    if request.normalisation is not None:
        normalisation = {**asdict(request.normalisation), "rescaled": built.rescaled}
    summary = {
        "dataset": dataset.name,
        "family": request.family,
        "attributes": {name: _range(given) for name, given in request.attributes.items()},
        "overrides": _one_or_list(overrides),
        "interactions": interactions,
        "normalisation": normalisation,
        "unit": request.unit,
        "viewpoint": request.viewpoint,
        "warnings": _warnings(request, ignored),
    }
    return new_resource(
        Kind.SENSITIVITY_PROFILE,
        request.name,
        without_names(document),
        {},
        summary,
        document,
        [dataset.id, *(upload.id for upload in uploads)],
    )


def _warnings(request: CreateSensitivityProfile, ignored: int) -> tuple[str, ...]:
    found = []
    if ignored:
        found.append(
            f"Ignored for entities that the dataset lacks: {counted(ignored, 'row')} of overrides. If these "
            "should be here, look at the key column."
        )
    if request.family == "multiplicative":
        found.append("A fully suppressed record has the sensitivity 1; multiplicative_centered makes it 0.")
    greatest = [_range(given)["max"] for given in request.attributes.values()]
    finite = sum(weight for weight in greatest if weight < math.inf)
    if request.family.startswith("multiplicative") and finite > GREATEST_EXPONENT:
        found.append(
            f"Weights that sum to more than {GREATEST_EXPONENT} count as infinite: their exp is no number."
        )
    if request.allow_positive_top:
        found.append("A suppressed value may have a weight above 0, and does harm then.")
    return tuple(found)
