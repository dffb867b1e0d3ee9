"""The use cases that the routes call, as one value that the composition root fills."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from fastapi import Depends, Request

if TYPE_CHECKING:
    # For types alone: what a use case needs is loaded with it.
    from app.services.access.tenants import AuditTrailService, TenantService
    from app.services.datasets.datasets import DatasetService
    from app.services.datasets.dictionaries import DictionaryService
    from app.services.datasets.dictionary_orders import DictionaryOrderService
    from app.services.datasets.dictionary_sets import DictionarySetService
    from app.services.datasets.example_data import ExampleDataService
    from app.services.datasets.hierarchies import HierarchyService
    from app.services.datasets.proposed_datasets import ProposedDatasetService
    from app.services.datasets.uploads import UploadService
    from app.services.erasure import Erasure
    from app.services.gates.evaluations import EvaluationService
    from app.services.gates.evidence_service import EvidenceService
    from app.services.gates.policies import PolicyService
    from app.services.gates.waivers import WaiverService
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


@dataclass(frozen=True)
class Services:
    """One object per room of the interface."""

    tenants: TenantService
    hierarchies: HierarchyService
    uploads: UploadService
    datasets: DatasetService
    proposed_datasets: ProposedDatasetService
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
    direct_runs: DirectRuns
    releases: ReleaseService
    budgets: BudgetService
    mechanism_audits: MechanismAuditService
    sequential_disclosures: SequentialDisclosureService
    relational_schemas: RelationalSchemaService
    view_checks: ViewCheckService
    policies: PolicyService
    evaluations: EvaluationService
    waivers: WaiverService
    example_data: ExampleDataService
    evidence: EvidenceService
    webhooks: WebhookService
    audit_trail: AuditTrailService
    erasure: Erasure


# Asynchronous, for the framework calls any other in a thread.
async def _services(request: Request) -> Services:
    services: Services = request.app.state.services
    return services


UseCases = Annotated[Services, Depends(_services)]
"""The services of the application, for a route's parameter."""
