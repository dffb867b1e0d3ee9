"""Example tables as resources of a tenant, ready to be asked about: one call instead of eleven.

The demonstration's, or small ones of the founding works by name.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.hierarchies.hierarchy_definitions import (
    DatesDefinition,
    HierarchyDefinition,
    LeafRange,
    RowsDefinition,
)
from app.domain.views.relational_schema import RelationDefinition
from app.samples.published_tables import HOSPITAL, PublishedName, table
from app.services.datasets.dataset_making import CreateDataset
from app.services.datasets.dataset_schema import AttributeDeclaration, AttributeType, Role
from app.services.datasets.datasets import DatasetService
from app.services.datasets.dictionaries import (
    AgeTransform,
    CreateDictionary,
    DictionaryService,
    Link,
    LookupTransform,
)
from app.services.datasets.hierarchies import CreateHierarchy, HierarchyService
from app.services.datasets.uploads import CreateUpload, UploadService
from app.services.resources import Actor, Created, Scope, require
from app.services.rules.rule_definitions import TableLevelDefinition
from app.services.rules.rules import CreateRule, RuleService
from app.services.scoring.sensitivity_profiles import (
    CreateSensitivityProfile,
    LeafWeights,
    SensitivityProfileService,
)
from app.services.views.relational_schemas import CreateRelationalSchema, RelationalSchemaService

ENTITIES_PER_MEMBER: Final = 2.5
"""People of the census for each member, as in the demonstration."""


@dataclass(frozen=True)
class ExampleTables:
    """What the example is made of; tables are CSV files, hierarchies rows from the leaf upwards."""

    members: bytes
    census: bytes
    zip_to_city: bytes
    cities: Sequence[Sequence[str]]
    races: Sequence[Sequence[str]]
    incomes: Sequence[Sequence[str]]
    birth_dates: tuple[str, str]
    reference_date: str
    weights: Mapping[str, float]
    proposed_levels: Mapping[str, int]


ExampleSource = Callable[[int, int], ExampleTables]
"""Makes the tables for a number of members and of people; the same for the same numbers."""


@dataclass(frozen=True)
class CreateExampleData:
    """How many members, or which published tables, and what the names of all resources begin with."""

    prefix: str
    members: int
    tables: tuple[PublishedName, ...] = ()


@dataclass(frozen=True)
class ExampleData:
    """Names of what is there now, by kind, and whether any of it is new."""

    names: Mapping[str, tuple[str, ...]]
    created: bool


@dataclass(frozen=True)
class ExampleDataService:
    """Makes the example out of the use cases that anybody would call one by one."""

    source: ExampleSource
    hierarchies: HierarchyService
    uploads: UploadService
    datasets: DatasetService
    dictionaries: DictionaryService
    sensitivity_profiles: SensitivityProfileService
    rules: RuleService
    relational_schemas: RelationalSchemaService

    async def create(self, actor: Actor, request: CreateExampleData) -> ExampleData:
        """Create what is not there yet; Conflict at a name that something else has.

        What was created before a conflict stays, and is found again by the next call.
        """
        require(actor, Scope.DATA_WRITE)
        own = _Names(request.prefix)
        if request.tables:
            steps = (self._published(actor, own, each) for each in dict.fromkeys(request.tables))
            made = [created for step in steps async for created in step]
        else:
            entities = max(round(request.members * ENTITIES_PER_MEMBER), 10)
            tables = await asyncio.to_thread(self.source, request.members, entities)
            made = [created async for created in self._steps(actor, own, tables)]
        names: dict[str, tuple[str, ...]] = {}
        for kind in dict.fromkeys(created.resource.kind for created in made):
            names[kind.value] = tuple(one.resource.name for one in made if one.resource.kind is kind)
        return ExampleData(names, any(created.created for created in made))

    async def _published(self, actor: Actor, name: _Names, title: PublishedName) -> AsyncIterator[Created]:
        """A table of a founding work with its hierarchies, persons who are known, and releases."""
        if title == "hospital":
            relations = {own: RelationDefinition(columns) for own, columns in HOSPITAL["relations"].items()}
            request = CreateRelationalSchema(name(title), relations)
            yield await self.relational_schemas.create(actor, request)
            return
        own, dataset, persons = table(title), name(title), name(f"{title}-persons")
        known = own.columns[:-1]
        links = {column: name(f"{title}-{column}") for column in known}
        for column, values in zip(known, zip(*own.rows, strict=True), strict=False):
            rows = own.hierarchies.get(column) or tuple((value,) for value in sorted(set(values)))
            yield await self.hierarchies.create(actor, CreateHierarchy(links[column], RowsDefinition(rows)))
        yield await self.uploads.create(actor, CreateUpload(dataset), _csv(own.columns, *own.rows))
        roles = dict.fromkeys(known, Role.QUASI_IDENTIFIER) | {own.columns[-1]: Role.SENSITIVE}
        attributes = tuple(
            AttributeDeclaration(column, AttributeType.CATEGORICAL, role, links.get(column))
            for column, role in roles.items()
        )
        yield await self.datasets.create(actor, CreateDataset(dataset, dataset, attributes))
        if own.persons:
            yield await self.uploads.create(actor, CreateUpload(persons), _csv(known, *own.persons))
            linked = tuple(Link(column, column, hierarchy) for column, hierarchy in links.items())
            yield await self.dictionaries.create(actor, CreateDictionary(persons, persons, linked))
        for release, levels in own.rules.items():
            rule = CreateRule(name(f"{title}-table-{release}"), dataset, TableLevelDefinition(levels))
            yield await self.rules.create(actor, rule)

    async def _steps(self, actor: Actor, name: _Names, tables: ExampleTables) -> AsyncIterator[Created]:
        """The journey up to the rule, each step on those before."""
        for own, definition in _hierarchies(tables).items():
            yield await self.hierarchies.create(actor, CreateHierarchy(name(own), definition))
        files = {"members": tables.members, "census": tables.census, "zip-city": tables.zip_to_city}
        for own, content in files.items():
            yield await self.uploads.create(actor, CreateUpload(name(own)), _once(content))
        yield await self.datasets.create(actor, _dataset(name))
        yield await self.dictionaries.create(actor, _dictionary(name, tables))
        yield await self.sensitivity_profiles.create(
            actor,
            CreateSensitivityProfile(
                name("harm"),
                name("members"),
                "multiplicative",
                {attribute: LeafWeights(weight) for attribute, weight in tables.weights.items()},
            ),
        )
        yield await self.rules.create(
            actor,
            CreateRule(name("proposal"), name("members"), TableLevelDefinition(tables.proposed_levels)),
        )


@dataclass(frozen=True)
class _Names:
    prefix: str

    def __call__(self, own: str) -> str:
        return f"{self.prefix}-{own}"


async def _once(content: bytes) -> AsyncIterator[bytes]:
    yield content


def _csv(*rows: Sequence[str]) -> AsyncIterator[bytes]:
    return _once("".join(",".join(row) + "\n" for row in rows).encode())


def _hierarchies(tables: ExampleTables) -> dict[str, HierarchyDefinition]:
    first, last = tables.birth_dates
    return {
        "city": RowsDefinition(tuple(map(tuple, tables.cities))),
        "race": RowsDefinition(tuple(map(tuple, tables.races))),
        "birth-date": DatesDefinition(LeafRange(first, last), ("day", "month", "year")),
        "income": RowsDefinition(tuple(map(tuple, tables.incomes))),
    }


def _dataset(name: _Names) -> CreateDataset:
    categorical, quasi_identifier = AttributeType.CATEGORICAL, Role.QUASI_IDENTIFIER
    return CreateDataset(
        name("members"),
        name("members"),
        (
            AttributeDeclaration("member_id", AttributeType.TEXT, Role.IDENTIFIER),
            AttributeDeclaration("city", categorical, quasi_identifier, name("city")),
            AttributeDeclaration("race", categorical, quasi_identifier, name("race")),
            AttributeDeclaration("birth_date", AttributeType.DATE, quasi_identifier, name("birth-date")),
            AttributeDeclaration("income", categorical, Role.SENSITIVE, name("income")),
        ),
    )


def _dictionary(name: _Names, tables: ExampleTables) -> CreateDictionary:
    zip_to_city = LookupTransform(upload=name("zip-city"), key="zip", value="city")
    return CreateDictionary(
        name("census"),
        name("census"),
        (
            Link("race", "race", name("race")),
            Link("city", "zip", name("city"), zip_to_city),
            Link("birth_date", "age", name("birth-date"), AgeTransform(tables.reference_date)),
        ),
        "person_id",
    )
