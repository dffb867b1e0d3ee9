"""Datasets whose schema is proposed: roles, types and hierarchies, but for what is declared."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.domain.errors import Fault, refuse
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_schema import (
    AttributeDeclaration,
    AttributeType,
    OnUnreadable,
    Role,
)
from app.services.datasets.datasets import DatasetService
from app.services.datasets.hierarchies import CreateHierarchy, HierarchyService
from app.services.datasets.ingest.proposals import AttributeProposal, SchemaProposal
from app.services.datasets.uploads import UploadService
from app.services.resources import Actor, Created, Scope, check_name, require

_UNFIT: Final = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST: Final = 48
"""Characters of a dataset's and of a column's name in that of a hierarchy."""


@dataclass(frozen=True)
class ProposedDataset:
    """A dataset with the proposal that it follows, and what is unsure of that, in sentences."""

    created: Created
    proposal: SchemaProposal
    unsure: tuple[str, ...]


@dataclass(frozen=True)
class ProposedDatasetService:
    """Makes datasets as they are proposed, of the use cases that anybody would call one by one."""

    uploads: UploadService
    hierarchies: HierarchyService
    datasets: DatasetService

    async def create(self, actor: Actor, request: CreateDataset) -> ProposedDataset:
        """What is declared holds; InvalidInput names every doubt that has to be settled by a declaration.

        Nothing is left of a dataset that is refused. Needs data:read, too, as proposals do.
        """
        require(actor, Scope.DATA_READ)
        check_name(request.name)
        asked = request.upload, request.attributes, request.rows_are
        proposal = await self.uploads.propose_schema(actor, *asked)
        said = {own.name for own in request.attributes}
        others = [own for own in proposal.attributes if own.name not in said]
        refuse(list(_in_doubt(proposal, others)))
        declared = (*request.attributes, *map(_declared, others))
        made: list[Created] = []
        try:
            hierarchies = await self._made(actor, request.name, proposal, declared, made)
            whole = tuple(
                replace(own, hierarchy=hierarchies.get(own.name, own.hierarchy)) for own in declared
            )
            created = await self.datasets.create(actor, replace(request, attributes=whole))
        except BaseException:  # one that is cancelled leaves nothing, either
            for own in made:
                if own.created:
                    await self.hierarchies.delete(actor, own.resource.id)
            raise
        unsure = tuple(f"{own.name!r}: {own.reason}" for own in others if own.is_unsure)
        return ProposedDataset(created, proposal, (*proposal.notes, *unsure))

    async def _made(
        self,
        actor: Actor,
        dataset: str,
        proposal: SchemaProposal,
        declared: Sequence[AttributeDeclaration],
        made: list[Created],
    ) -> dict[str, str]:
        """Column → its hierarchy, made as it is proposed where none is declared; ``made`` notes each."""
        given = {own.name for own in declared if own.hierarchy is not None or own.map}
        names: dict[str, str] = {}
        for place, own in enumerate(proposal.attributes, start=1):
            if own.definition is None or own.name in given:
                continue
            name = f"{dataset[:_LONGEST]}-{_UNFIT.sub('-', own.name)[:_LONGEST]}"
            name = f"{name}-{place}" if name in names.values() else name
            made.append(await self.hierarchies.create(actor, CreateHierarchy(name, own.definition)))
            names[own.name] = name
        return names


def _in_doubt(proposal: SchemaProposal, others: Sequence[AttributeProposal]) -> Iterator[Fault]:
    """What only somebody who knows the table can say of it."""
    released = {own.name for own in others if Role(own.role).is_disclosed}
    for doubt in proposal.doubts:
        if doubt.column in released:
            choices = " or ".join(doubt.choices)
            remedy = f"Declare {doubt.column!r} among the attributes, as a date of the format {choices}."
            yield Fault("/attributes", "in-doubt", doubt.sentence, remedy)
    for own in others:
        if own.role == Role.PERSON:
            remedy = (
                f"Declare {own.name!r} among the attributes with the role person, or say rows_are persons if "
                "each row is a person."
            )
            yield Fault("/attributes", "in-doubt", f"{own.name}: {own.reason}", remedy)


def _declared(own: AttributeProposal) -> AttributeDeclaration:
    """The column as it is proposed, without its hierarchy."""
    return AttributeDeclaration(
        own.name,
        AttributeType(own.type),
        Role(own.role),
        format=own.format,
        on_unreadable=own.on_unreadable or OnUnreadable.REFUSE,
    )
