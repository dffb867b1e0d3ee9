"""The composition root of a run's own process: only the rooms that the work itself needs.

It stands beside ``main`` so that the process of a run need not import HTTP and the command line.
"""

from __future__ import annotations

from app.composition.database import Database, processors, utc_now
from app.domain.search.budget import Halted
from app.persistence.addresses import create_engine
from app.persistence.store import PostgresStore
from app.services.datasets.tables import TableLoader
from app.services.gates.completion import Completion
from app.services.gates.evaluations import EvaluationPreparation
from app.services.gates.evidence import EvidenceIssuer
from app.services.resources import Claim, Kind
from app.services.runs.run_execution import Prepare, Report, RunExecution
from app.services.scoring.assessment_work import AssessmentPreparation
from app.services.scoring.measurement_work import MeasurementPreparation
from app.services.searches.frontiers import FrontierPreparation
from app.services.searches.optimisation_work import OptimisationPreparation


async def execute(database: Database, claim: Claim, report: Report, stopped: Halted) -> None:
    """Do one run's work to its end in the store."""
    engine = create_engine(database.url, pool_size=1)
    try:
        store = PostgresStore(engine, database.master_key, utc_now)
        loader = TableLoader(store, database.table_cache_bytes)
        prepare: dict[Kind, Prepare] = {
            Kind.ASSESSMENT: AssessmentPreparation(store, loader),
            Kind.MEASUREMENT: MeasurementPreparation(store, loader),
            Kind.OPTIMISATION: OptimisationPreparation(store, loader, processors()),
            Kind.FRONTIER: FrontierPreparation(store, loader, processors()),
            # Its criteria share what is loaded, whatever the service's own cache may hold.
            Kind.EVALUATION: EvaluationPreparation(
                store, TableLoader(store), Completion(EvidenceIssuer(utc_now))
            ),
        }
        await RunExecution(store, prepare).execute(claim, report, stopped)
    finally:
        await engine.dispose()
