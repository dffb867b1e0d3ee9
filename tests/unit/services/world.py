"""A small world of stored resources for the tests of use cases."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import Any

from app.domain.hierarchies.hierarchy_definitions import (
    DatesDefinition,
    HierarchyDefinition,
    LeafRange,
    RowsDefinition,
)
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, OnUnknown, Role
from app.services.datasets.datasets import DatasetService
from app.services.datasets.dictionaries import CreateDictionary, DictionaryService
from app.services.datasets.hierarchies import CreateHierarchy, HierarchyService
from app.services.datasets.ingest.dialect import Dialect, UploadFormat, UploadLimits
from app.services.datasets.tables import TableLoader
from app.services.datasets.uploads import CreateUpload, UploadService
from app.services.resources import Actor, Created, Stored
from app.services.scoring.sensitivity_profiles import CreateSensitivityProfile, SensitivityProfileService
from tests.unit.services.memory_store import MemoryStore

CITY = RowsDefinition(
    (
        ("Lafayette", "Indiana", "*"),
        ("Dayton", "Indiana", "*"),
        ("Chicago", "Illinois", "*"),
        ("Evanston", "Illinois", "*"),
    )
)
BIRTH_DATE = DatesDefinition(LeafRange("1975-01-01", "1976-12-31"), ("day", "month", "year"))
MEMBERS = """member_id,city,birth_date,income,group,note
m1,Lafayette,1975-05-10,52,a,x
m2,Chicago,1976-01-01,52,b,y
m3,Dayton,,48,a,x
m4,,1975-05-10,52,b,z
"""
CENSUS = """person_id,zip,age
m1,47901,33
p2,47901,34
p3,60601,
m2,60601,32
p5,99999,33
"""
ZIPS = {"47901": "Lafayette", "60601": "Chicago"}


def declare(
    name: str,
    role: Role = Role.QUASI_IDENTIFIER,
    type: AttributeType = AttributeType.CATEGORICAL,
    hierarchy: str | None = None,
    on_unknown: OnUnknown = OnUnknown.REFUSE,
    **rest: Any,
) -> AttributeDeclaration:
    return AttributeDeclaration(name, type, role, hierarchy, on_unknown, **rest)


MEMBERS_SCHEMA = (
    declare("member_id", Role.IDENTIFIER),
    declare("city", hierarchy="city"),
    declare("birth_date", hierarchy="birth-date", type=AttributeType.DATE),
    declare("income", Role.SENSITIVE, AttributeType.NUMBER),
    declare("group", Role.OTHER),
)


class World:
    def __init__(self, store: MemoryStore, actor: Actor) -> None:
        self.store, self.actor = store, actor
        self.loader = TableLoader(store)
        self.uploads = UploadService(store, UploadLimits())
        self.hierarchies = HierarchyService(store)
        self.datasets = DatasetService(store, self.loader)
        self.dictionaries = DictionaryService(store, self.loader)
        self.profiles = SensitivityProfileService(store, self.loader)

    async def upload(self, name: str, text: str, **dialect: Any) -> Stored:
        async def body() -> AsyncIterator[bytes]:
            yield text.encode()

        request = CreateUpload(name, UploadFormat.CSV, Dialect(**dialect))
        return (await self.uploads.create(self.actor, request, body())).resource

    async def hierarchy(self, name: str, definition: HierarchyDefinition) -> Stored:
        return (await self.hierarchies.create(self.actor, CreateHierarchy(name, definition))).resource

    async def dataset(self, name: str, upload: str, *attributes: AttributeDeclaration) -> Created:
        return await self.datasets.create(self.actor, CreateDataset(name, upload, attributes))

    async def dictionary(self, name: str, upload: str | None = None, **rest: Any) -> Created:
        return await self.dictionaries.create(self.actor, CreateDictionary(name, upload, **rest))

    async def profile(self, name: str, **rest: Any) -> Created:
        return await self.profiles.create(self.actor, CreateSensitivityProfile(name, "members", **rest))

    async def members(self, schema: Sequence[AttributeDeclaration] = MEMBERS_SCHEMA) -> Stored:
        await self.hierarchy("city", CITY)
        await self.hierarchy("birth-date", BIRTH_DATE)
        await self.upload("members", MEMBERS)
        return (await self.dataset("members", "members", *schema)).resource
