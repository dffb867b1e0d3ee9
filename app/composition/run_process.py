"""The composition root of a process of runs: only the rooms that the work itself needs.

It stands beside ``main`` so that such a process need not import HTTP and the command line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Final

from app.composition.database import Database, processors, utc_now
from app.domain.counting.counter import MEMORY_CEILING
from app.domain.search.budget import Halted
from app.persistence.addresses import create_engine
from app.persistence.store import PostgresStore
from app.services.datasets.tables import TableLoader
from app.services.gates.completion import Completion
from app.services.gates.evaluations import EvaluationPreparation
from app.services.gates.evidence import EvidenceIssuer
from app.services.ports import Clock, Store
from app.services.releases.audit_work import audit_preparation
from app.services.releases.draw_work import DrawPreparation
from app.services.resources import Claim, Kind
from app.services.runs.run_execution import Cluster, Prepare, Report, RunExecution
from app.services.scoring.assessment_work import AssessmentPreparation
from app.services.scoring.measurement_work import MeasurementPreparation
from app.services.searches.frontiers import FrontierPreparation
from app.services.searches.optimisation_work import OptimisationPreparation
from app.services.views.check_work import CheckPreparation
from app.workers.child import Execute
from app.workers.cluster import ClusterOptions

ON_CLUSTER: Final = (Kind.OPTIMISATION, Kind.FRONTIER, Kind.VIEW_CHECK, Kind.MEASUREMENT)
"""Kinds whose work is cut in blocks that share little: the others are computed here."""


def open_runs(database: Database, cluster: ClusterOptions | None) -> Execute:
    """What executes claims, one after the other; its connection and what it has loaded serve them all."""
    clusters: Mapping[Kind, Cluster] = {}
    if cluster is not None:  # imported here: it loads Dask, which nobody else needs
        from app.workers.cluster.blocks import DaskCluster

        clusters = dict.fromkeys(ON_CLUSTER, DaskCluster(cluster))
    store = PostgresStore(create_engine(database.url, connections=2), database.master_key, utc_now)
    # The criteria of an evaluation share what is loaded, whatever the service's own cache may hold.
    own_cache = TableLoader(store, database.table_cache_bytes)
    execution = run_execution(store, own_cache, TableLoader(store), clusters=clusters)
    loop = asyncio.Runner()

    def execute(claim: Claim, report: Report, stopped: Halted) -> None:
        loop.run(execution.execute(claim, report, stopped))

    return execute


def run_execution(
    store: Store,
    loader: TableLoader,
    of_evaluations: TableLoader,
    memory_ceiling: int = MEMORY_CEILING,
    clock: Clock = utc_now,
    clusters: Mapping[Kind, Cluster] | None = None,
) -> RunExecution:
    """Does the work of every kind of run, with counters of ``memory_ceiling`` bytes at most.

    Evaluations have a loader of their own.
    """
    prepare: dict[Kind, Prepare] = {
        Kind.ASSESSMENT: AssessmentPreparation(store, loader, memory_ceiling),
        Kind.MEASUREMENT: MeasurementPreparation(store, loader, memory_ceiling, processors()),
        Kind.OPTIMISATION: OptimisationPreparation(store, loader, processors()),
        Kind.FRONTIER: FrontierPreparation(store, loader, processors()),
        Kind.VIEW_CHECK: CheckPreparation(store),
        Kind.MECHANISM_AUDIT: audit_preparation,
        Kind.EVALUATION: EvaluationPreparation(store, of_evaluations, Completion(EvidenceIssuer(clock))),
    }
    return RunExecution(store, prepare, {Kind.DRAW: DrawPreparation(store, loader)}, clusters or {})
