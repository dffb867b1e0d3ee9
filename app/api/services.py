"""The use cases that the routes call, as one value that the composition root fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from app.services.assessments import AssessmentService
from app.services.audit_trail import AuditTrailService
from app.services.datasets import DatasetService
from app.services.dictionaries import DictionaryService
from app.services.dictionary_orders import DictionaryOrderService
from app.services.dictionary_sets import DictionarySetService
from app.services.evidence_service import EvidenceService
from app.services.example_data import ExampleDataService
from app.services.frontiers import FrontierService
from app.services.gates.evaluations import EvaluationService
from app.services.gates.waivers import WaiverService
from app.services.hierarchies import HierarchyService
from app.services.measurements import MeasurementService
from app.services.optimisations import OptimisationService
from app.services.policies import PolicyService
from app.services.releases import ReleaseService
from app.services.rules import RuleService
from app.services.runs import RunService
from app.services.sensitivity_profiles import SensitivityProfileService
from app.services.sequential_disclosures import SequentialDisclosureService
from app.services.tenants import TenantService
from app.services.uploads import UploadService
from app.services.webhooks import WebhookService


@dataclass(frozen=True)
class Services:
    """One object per room of the interface."""

    tenants: TenantService
    hierarchies: HierarchyService
    uploads: UploadService
    datasets: DatasetService
    dictionaries: DictionaryService
    dictionary_sets: DictionarySetService
    dictionary_orders: DictionaryOrderService
    sensitivity_profiles: SensitivityProfileService
    rules: RuleService
    assessments: AssessmentService
    measurements: MeasurementService
    optimisations: OptimisationService
    frontiers: FrontierService
    runs: RunService
    releases: ReleaseService
    sequential_disclosures: SequentialDisclosureService
    policies: PolicyService
    evaluations: EvaluationService
    waivers: WaiverService
    example_data: ExampleDataService
    evidence: EvidenceService
    webhooks: WebhookService
    audit_trail: AuditTrailService


def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


UseCases = Annotated[Services, Depends(_services)]
"""The services of the application, for a route's parameter."""
