"""Use cases on sensitivity profiles: how much harm the disclosure of each value does."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar, Literal

from app.domain.errors import Fault, InvalidInput
from app.services.access import require
from app.services.dataset_schema import OnUnknown, declarations_of
from app.services.fingerprints import plain, resource_sha256
from app.services.named import NamedResources
from app.services.naming import check_name
from app.services.ports import Store
from app.services.references import reference, without_names
from app.services.resources import Actor, Created, JsonObject, Kind, NewResource, Scope, Stored
from app.services.sensitivity_building import build_profile, read_overrides
from app.services.tables import TableLoader

SensitivityFamily = Literal[
    "linear", "linear_personal", "multiplicative", "multiplicative_centered", "constant"
]


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
    """A weight for every node by its label; ⊥ weighs 0."""

    nodes: Mapping[str, float]


Weights = ConstantWeight | LeafWeights | NodeWeights


@dataclass(frozen=True)
class Overrides:
    """Weights per entity or group from an upload of (key, attribute, weight) rows.

    ``by`` group: the key is a value of the dataset's column ``group_attribute``. A weight takes the place
    of the attribute's constant, or of every leaf weight with the inner ones derived anew.
    """

    upload: str
    by: Literal["entity", "group"]
    key_column: str
    attribute_column: str
    weight_column: str
    group_attribute: str | None = None


@dataclass(frozen=True)
class CreateSensitivityProfile:
    """A sensitivity profile for a dataset; ``constant`` is the value of the family of that name."""

    name: str
    dataset: str
    family: SensitivityFamily
    attributes: Mapping[str, Weights]
    constant: float | None = None
    overrides: Overrides | None = None


@dataclass(frozen=True)
class SensitivityProfileSummary:
    """The keys of a sensitivity profile's ``summary``; ``attributes`` name → {kind, min, max} of weights."""

    dataset: str
    family: str
    attributes: JsonObject
    overrides: JsonObject | None
    warnings: tuple[str, ...]


class SensitivityProfileService(NamedResources):
    """Create and read sensitivity profiles."""

    kind: ClassVar[Kind] = Kind.SENSITIVITY_PROFILE

    def __init__(self, store: Store, loader: TableLoader) -> None:
        super().__init__(store)
        self._loader = loader

    async def create(self, actor: Actor, request: CreateSensitivityProfile) -> Created:
        """Validate the weights against the dataset's hierarchies and store."""
        require(actor, Scope.DATA_WRITE)
        check_name(request.name)
        _check_family(request)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            upload = None
            if request.overrides is not None:
                upload = await work.resources.get(Kind.UPLOAD, request.overrides.upload)
            document = _document(request, dataset, upload)
            overrides = await read_overrides(work, document["overrides"], dataset)
        table = await self._loader.table(actor.tenant, dataset)
        try:
            await asyncio.to_thread(build_profile, table, document, overrides)
        except InvalidInput as error:
            raise InvalidInput(_discreet(error.faults, dataset)) from None
        return await self._add(actor, _resource(request, document, dataset, upload))


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


def _check_family(request: CreateSensitivityProfile) -> None:
    """A constant needs no weights, and every other family no constant."""
    faults = []
    if request.family == "constant":
        if request.attributes or request.overrides is not None:
            faults.append(
                Fault(
                    "/attributes",
                    "weights-not-used",
                    "The family constant has no weights.",
                    "Leave attributes and overrides out, or choose another family.",
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
    if request.overrides is not None and (request.overrides.by == "group") != (
        request.overrides.group_attribute is not None
    ):
        faults.append(
            Fault(
                "/overrides/group_attribute",
                "wrong-group-attribute",
                "Overrides by group need the column whose values are the groups, those by entity none.",
                "Name group_attribute if and only if by is group.",
            )
        )
    if faults:
        raise InvalidInput(faults)


def _document(request: CreateSensitivityProfile, dataset: Stored, upload: Stored | None) -> JsonObject:
    overrides = None
    if request.overrides is not None and upload is not None:
        overrides = {**asdict(request.overrides), "upload": reference(upload)}
    constant = 1.0 if request.constant is None else request.constant
    document: JsonObject = plain(
        {
            "dataset": reference(dataset),
            "family": request.family,
            "attributes": {name: _weights(given) for name, given in request.attributes.items()},
            "constant": constant if request.family == "constant" else None,
            "overrides": overrides,
        }
    )
    return document


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
    request: CreateSensitivityProfile, document: JsonObject, dataset: Stored, upload: Stored | None
) -> NewResource:
    overrides = None
    if request.overrides is not None and upload is not None:
        overrides = {"upload": upload.name, "by": request.overrides.by, "rows": upload.summary["rows"]}
    summary = SensitivityProfileSummary(
        dataset=dataset.name,
        family=request.family,
        attributes={name: _range(given) for name, given in request.attributes.items()},
        overrides=overrides,
        warnings=_warnings(request),
    )
    return NewResource(
        Kind.SENSITIVITY_PROFILE,
        request.name,
        resource_sha256(Kind.SENSITIVITY_PROFILE, without_names(document), {}),
        plain(asdict(summary)),
        document,
        (dataset.id,) if upload is None else (dataset.id, upload.id),
    )


def _warnings(request: CreateSensitivityProfile) -> tuple[str, ...]:
    if request.family != "multiplicative":
        return ()
    return ("A fully withheld record has the sensitivity 1; multiplicative_centered makes it 0.",)
