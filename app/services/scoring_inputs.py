"""What every score rests on: a dataset, an attacker's dictionary and a sensitivity profile."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.errors import Fault, InvalidInput, NotFound, NotSupported
from app.domain.search.context import SearchContext
from app.domain.utility import Model, build_utility
from app.services.plans import Plan
from app.services.ports import UnitOfWork
from app.services.resources import Kind, Stored, TenantId
from app.services.tables import TableLoader

_KINDS: Final = (Kind.DATASET, Kind.DICTIONARY, Kind.SENSITIVITY_PROFILE)


@dataclass(frozen=True)
class Sources:
    """The stored resources that a score rests on."""

    dataset: Stored
    dictionary: Stored
    sensitivity: Stored

    @property
    def ids(self) -> tuple[str, str, str]:
        """Their ids, in the order in which users of them list what they use."""
        return self.dataset.id, self.dictionary.id, self.sensitivity.id

    @property
    def hashes(self) -> Mapping[str, str]:
        """Role → hash, as they enter the hash of what rests on them."""
        return {
            "dataset": self.dataset.sha256,
            "dictionary": self.dictionary.sha256,
            "sensitivity": self.sensitivity.sha256,
        }


async def find_sources(work: UnitOfWork, refs: Sequence[str]) -> Sources:
    """The sources by ids or names, in the order of :attr:`Sources.ids`; NotFound for the first absent one."""
    found = [await work.resources.get(kind, ref) for kind, ref in zip(_KINDS, refs, strict=True)]
    return Sources(*found)


async def load_context(
    loader: TableLoader, tenant: TenantId, sources: Sources, utility: Model
) -> SearchContext:
    """The sources in the domain's types; InvalidInput where they do not fit each other."""
    table = await loader.table(tenant, sources.dataset)
    dictionary = await loader.dictionary(tenant, sources.dictionary, sources.dataset)
    sensitivity = await loader.sensitivity(tenant, sources.sensitivity, sources.dataset)
    return SearchContext(
        table, dictionary, sensitivity, await asyncio.to_thread(build_utility, table, utility)
    )


async def missing_inputs(work: UnitOfWork, named: Sequence[tuple[str, Kind, str]]) -> tuple[Fault, ...]:
    """A fault for every (pointer, kind, id or name) that leads nowhere."""
    faults = []
    for pointer, kind, ref in named:
        try:
            await work.resources.get(kind, ref)
        except NotFound as error:
            faults.append(Fault(pointer, error.code, error.message, "Create it first, or name another."))
    return tuple(faults)


async def plan_or_missing(estimate: Callable[[], Awaitable[Plan]]) -> Plan:
    """The plan, or the one that lists why there can be none."""
    try:
        return await estimate()
    except InvalidInput as error:
        missing = error.faults
    except NotSupported as error:
        missing = (Fault("", error.code, error.message, error.remedy),)
    return Plan(None, None, None, None, None, missing)
