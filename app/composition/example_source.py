"""The demonstration's generator as the source of the service's example data."""

from __future__ import annotations

from app.samples import members
from app.services.datasets import DatasetService
from app.services.dictionaries import DictionaryService
from app.services.example_data import ExampleDataService, ExampleTables
from app.services.hierarchies import HierarchyService
from app.services.ingest.dialect import UploadLimits
from app.services.ports import Store
from app.services.rules import RuleService
from app.services.sensitivity_profiles import SensitivityProfileService
from app.services.tables import TableLoader
from app.services.uploads import UploadService

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
