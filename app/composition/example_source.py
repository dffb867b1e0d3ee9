"""The demonstration's generator as the source of the service's example data."""

from __future__ import annotations

from app.samples import members
from app.services.datasets.datasets import DatasetService
from app.services.datasets.dictionaries import DictionaryService
from app.services.datasets.example_data import ExampleDataService, ExampleTables
from app.services.datasets.hierarchies import HierarchyService
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.tables import TableLoader
from app.services.datasets.uploads import UploadService
from app.services.ports import Store
from app.services.rules.rules import RuleService
from app.services.scoring.sensitivity_profiles import SensitivityProfileService
from app.services.views.relational_schemas import RelationalSchemaService

_PROPOSED_LEVELS = {"city": 1, "race": 0, "birth_date": 1, "income": 1}


def example_data_service(store: Store, loader: TableLoader, limits: UploadLimits) -> ExampleDataService:
    """The use case with the demonstration's tables."""
    return ExampleDataService(
        example_tables,
        HierarchyService(store),
        UploadService(store, limits),
        DatasetService(store, loader),
        DictionaryService(store, loader),
        SensitivityProfileService(store, loader),
        RuleService(store, loader),
        RelationalSchemaService(store),
    )


def example_tables(n_members: int, n_entities: int) -> ExampleTables:
    """The tables, hierarchies and weights of the demonstration at a size."""
    sample = members.generate(n_members, n_entities)
    zips = "".join(f"{code},{city}\n" for code, city in members.zip_to_city().items())
    return ExampleTables(
        members=b"".join(members.csv_chunks(sample.members)),
        census=b"".join(members.csv_chunks(sample.census)),
        zip_to_city=f"zip,city\n{zips}".encode(),
        cities=members.city_rows(),
        races=[[race, group] for group, races in members.RACES.items() for race in races],
        incomes=members.income_rows(),
        birth_dates=(members.BIRTH_DATES[0].isoformat(), members.BIRTH_DATES[1].isoformat()),
        reference_date=members.REFERENCE_DATE.isoformat(),
        weights=members.WEIGHTS,
        proposed_levels=_PROPOSED_LEVELS,
    )
