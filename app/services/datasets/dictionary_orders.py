"""Whether one dictionary is ≪ another: contained in it or vaguer (Definitions: order of dictionaries)."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from annotated_types import Ge

from app.domain.catalogue.catalogue_types import Example
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import Fault, refuse
from app.domain.risk.dictionary_order import Breach, OrderAnswer, dictionary_order, own_rows_consistent
from app.domain.tables.table import Table
from app.services.datasets.tables import TableLoader
from app.services.ports import Store
from app.services.resources import Actor, Kind, Scope, require


@dataclass(frozen=True)
class CompareDictionaries:
    """Two dictionaries, by id or name, and the dataset to whose hierarchies both are linked."""

    dataset: str
    smaller: str
    larger: str


@dataclass(frozen=True)
class FirstBreach:
    """The first entity of the smaller dictionary that breaks the order."""

    kind: Annotated[Breach, Example("entity_missing")]
    """The larger dictionary lacks the entity, or has a value of it that is neither the same nor more
    general.
    """
    row: Annotated[int, Ge(1), Example(4)]
    """Row of the smaller dictionary, from 1."""
    entity: str | None
    """The entity's identifier; null without the scope `data:read`."""
    attribute: str | None
    """The attribute whose value breaks it; null if the entity is missing."""


@dataclass(frozen=True)
class DictionaryOrder:
    """Whether all that the smaller dictionary holds is in the larger one, as precisely or vaguer."""

    holds: Annotated[bool, Example(True)]
    """Whether it is."""
    first_breach: FirstBreach | None
    """Null if the order holds."""
    own_rows_consistent: Annotated[bool | None, Example(True)]
    """Whether every record's own entity is in the smaller dictionary and consistent with the record as
    it is: hypothesis (iii) of the upper bound. Null where identifiers do not tell.
    """


class DictionaryOrderService:
    """Compare dictionaries; nothing is stored."""

    def __init__(self, store: Store, loader: TableLoader) -> None:
        self._store = store
        self._loader = loader

    async def compare(self, actor: Actor, request: CompareDictionaries) -> DictionaryOrder:
        """Compare them entity by entity; InvalidInput for one whose entities have no identifiers."""
        require(actor, Scope.ASSESS)
        async with self._store.work(actor.tenant) as work:
            dataset = await work.resources.get(Kind.DATASET, request.dataset)
            stored = [
                await work.resources.get(Kind.DICTIONARY, ref) for ref in (request.smaller, request.larger)
            ]
        table = await self._loader.table(actor.tenant, dataset)
        smaller, larger = [
            await self._loader.dictionary(actor.tenant, own, dataset, f"/{role}")
            for role, own in zip(("smaller", "larger"), stored, strict=True)
        ]
        refuse(
            [
                Fault(
                    f"/{role}",
                    "no-identifier",
                    "The entities of this dictionary have no identifiers, so they cannot be found in another "
                    "one.",
                    "Declare the dictionary's identifier, or same_entities_as.",
                )
                for role, dictionary in (("smaller", smaller), ("larger", larger))
                if dictionary.entity_ids is None
            ]
        )
        shows_values = Scope.DATA_READ in actor.scopes
        return await asyncio.to_thread(_compare, table, smaller, larger, shows_values)


def _compare(table: Table, smaller: Dictionary, larger: Dictionary, shows_values: bool) -> DictionaryOrder:
    own = own_rows_consistent(table, smaller) if smaller.comparable_ids else None
    answer = dictionary_order(smaller, larger, table)
    return DictionaryOrder(answer.holds, _first_breach(answer, smaller.entity_ids, shows_values), own)


def _first_breach(
    answer: OrderAnswer,
    ids: np.ndarray[Any, Any] | None,
    shows_values: bool,
) -> FirstBreach | None:
    if answer.breach is None or ids is None:
        return None
    row = int(np.flatnonzero(ids == answer.entity)[0]) + 1
    entity = str(answer.entity) if shows_values else None
    return FirstBreach(answer.breach, row, entity, answer.attribute)
