"""The use cases over HTTP, which load all that computes; made when the first of them is asked for."""

from __future__ import annotations

import os
import socket

from app.api.services import Services
from app.composition.configured import MIB
from app.composition.database import processors, utc_now
from app.composition.example_source import example_data_service
from app.composition.run_process import run_execution
from app.services.access.tenants import AuditTrailService, TenantService
from app.services.datasets.datasets import DatasetService
from app.services.datasets.dictionaries import DictionaryService
from app.services.datasets.dictionary_orders import DictionaryOrderService
from app.services.datasets.dictionary_sets import DictionarySetService
from app.services.datasets.hierarchies import HierarchyService
from app.services.datasets.ingest.dialect import UploadLimits
from app.services.datasets.proposed_datasets import ProposedDatasetService
from app.services.datasets.tables import TableLoader
from app.services.datasets.uploads import UploadService
from app.services.erasure import Erasure
from app.services.gates.completion import Completion
from app.services.gates.evaluations import EvaluationService
from app.services.gates.evidence import EvidenceIssuer
from app.services.gates.evidence_service import EvidenceService
from app.services.gates.policies import PolicyService
from app.services.gates.waivers import WaiverService
from app.services.ports import Clock, Registry, RunSignals, Store
from app.services.questions import RUN_BYTES, Claimant, DirectBudget
from app.services.releases.budget_service import BudgetService
from app.services.releases.mechanism_audits import MechanismAuditService
from app.services.releases.releases import ReleaseService
from app.services.rules.rules import RuleService
from app.services.rules.sequential_disclosures import SequentialDisclosureService
from app.services.runs.direct_runs import DirectRuns
from app.services.runs.runs import RunService
from app.services.runs.webhooks import WebhookService
from app.services.scoring.assessments import AssessmentService
from app.services.scoring.measurements import MeasurementService
from app.services.scoring.sensitivity_profiles import SensitivityProfileService
from app.services.searches.frontiers import FrontierService
from app.services.searches.optimisations import OptimisationService
from app.services.views.relational_schemas import RelationalSchemaService
from app.services.views.stored_checks import ViewCheckService
from app.settings import Settings


def use_cases(
    settings: Settings,
    store: Store,
    registry: Registry,
    signals: RunSignals,
    loader: TableLoader,
) -> Services:
    """All use cases on a store, within the limits of the settings."""
    limits = UploadLimits(
        max_bytes=settings.upload_max_bytes,
        max_decompressed_bytes=settings.upload_max_bytes,
        max_rows=settings.upload_max_rows,
        max_columns=settings.upload_max_columns,
        max_cell_bytes=settings.upload_max_cell_bytes,
        processor_seconds=settings.upload_processor_seconds,
        processor_seconds_per_mib=settings.upload_processor_seconds_per_mib,
    )
    return use_cases_within(
        limits,
        Claimant(
            DirectBudget(settings.direct_seconds, settings.direct_mib * MIB),
            f"{socket.gethostname()}:{os.getpid()}",
        ),
        store,
        registry,
        signals,
        loader,
        utc_now,
        run_bytes=settings.run_memory_mib * MIB,
        threads=processors(),
    )


def use_cases_within(
    limits: UploadLimits,
    claimant: Claimant,
    store: Store,
    registry: Registry,
    signals: RunSignals,
    loader: TableLoader,
    clock: Clock,
    *,
    run_bytes: int = RUN_BYTES,
    threads: int = 1,
) -> Services:
    """All use cases on a store, within these limits.

    The claimant's budget is that of every direct answer; searches are planned for so many threads.
    """
    budget = claimant.budget
    execution = run_execution(store, loader, loader, budget.bytes, clock)
    completion = Completion(EvidenceIssuer(clock))
    hierarchies, uploads = HierarchyService(store), UploadService(store, limits)
    datasets = DatasetService(store, loader)
    return Services(
        tenants=TenantService(store, registry, clock),
        hierarchies=hierarchies,
        uploads=uploads,
        datasets=datasets,
        proposed_datasets=ProposedDatasetService(uploads, hierarchies, datasets),
        dictionaries=DictionaryService(store, loader),
        dictionary_sets=DictionarySetService(store),
        dictionary_orders=DictionaryOrderService(store, loader),
        sensitivity_profiles=SensitivityProfileService(store, loader),
        rules=RuleService(store, loader),
        assessments=AssessmentService(store, loader, budget),
        measurements=MeasurementService(store, loader, budget),
        optimisations=OptimisationService(store, loader, run_bytes, threads),
        frontiers=FrontierService(store, loader, run_bytes, threads),
        runs=RunService(store, signals),
        direct_runs=DirectRuns(store, execution, claimant),
        releases=ReleaseService(store, loader, budget, run_bytes),
        budgets=BudgetService(store, loader),
        mechanism_audits=MechanismAuditService(store, loader, budget, run_bytes),
        sequential_disclosures=SequentialDisclosureService(store, loader),
        relational_schemas=RelationalSchemaService(store),
        view_checks=ViewCheckService(store, loader, budget),
        policies=PolicyService(store),
        evaluations=EvaluationService(store, loader, budget, clock, completion),
        waivers=WaiverService(store, clock),
        example_data=example_data_service(store, loader, limits),
        evidence=EvidenceService(store, clock),
        webhooks=WebhookService(store, clock),
        audit_trail=AuditTrailService(store),
        erasure=Erasure(store),
    )
