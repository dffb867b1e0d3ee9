"""The use cases over HTTP, made when the first of them is asked for: they load all that computes."""

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
from app.services.datasets.tables import TableLoader
from app.services.datasets.uploads import UploadService
from app.services.gates.completion import Completion
from app.services.gates.evaluations import EvaluationService
from app.services.gates.evidence import EvidenceIssuer
from app.services.gates.evidence_service import EvidenceService
from app.services.gates.policies import PolicyService
from app.services.gates.waivers import WaiverService
from app.services.ports import Registry, RunSignals, Store
from app.services.questions import Claimant, DirectBudget
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
from app.settings import Settings


def use_cases(
    settings: Settings,
    store: Store,
    registry: Registry,
    signals: RunSignals,
    loader: TableLoader,
) -> Services:
    """All use cases on a store."""
    limits = UploadLimits(
        max_bytes=settings.upload_max_bytes,
        max_decompressed_bytes=settings.upload_max_bytes,
        max_rows=settings.upload_max_rows,
        max_columns=settings.upload_max_columns,
        max_cell_bytes=settings.upload_max_cell_bytes,
        processor_seconds=settings.upload_processor_seconds,
        processor_seconds_per_mib=settings.upload_processor_seconds_per_mib,
    )
    budget = DirectBudget(settings.direct_seconds, settings.direct_mib * MIB)
    run_bytes = settings.run_memory_mib * MIB
    claimant = Claimant(budget, f"{socket.gethostname()}:{os.getpid()}")
    completion = Completion(EvidenceIssuer(utc_now))
    return Services(
        tenants=TenantService(store, registry, utc_now),
        hierarchies=HierarchyService(store),
        uploads=UploadService(store, limits),
        datasets=DatasetService(store, loader),
        dictionaries=DictionaryService(store, loader),
        dictionary_sets=DictionarySetService(store),
        dictionary_orders=DictionaryOrderService(store, loader),
        sensitivity_profiles=SensitivityProfileService(store, loader),
        rules=RuleService(store, loader),
        assessments=AssessmentService(store, loader, budget),
        measurements=MeasurementService(store, loader, budget),
        optimisations=OptimisationService(store, loader, run_bytes, processors()),
        frontiers=FrontierService(store, loader, run_bytes, processors()),
        runs=RunService(store, signals),
        direct_runs=DirectRuns(store, run_execution(store, loader, loader, budget.bytes), claimant),
        releases=ReleaseService(store, loader),
        sequential_disclosures=SequentialDisclosureService(store, loader),
        policies=PolicyService(store),
        evaluations=EvaluationService(store, loader, budget, utc_now, completion),
        waivers=WaiverService(store, utc_now),
        example_data=example_data_service(store, loader, limits),
        evidence=EvidenceService(store, utc_now),
        webhooks=WebhookService(store, utc_now),
        audit_trail=AuditTrailService(store),
    )
