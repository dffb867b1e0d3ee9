"""One file per resource; here they stand in the order of the journey down the page."""

from typing import Final

from fastapi import APIRouter

from app.api.routers import (
    access,
    assessments,
    audit_events,
    catalogue,
    datasets,
    dictionaries,
    dictionary_sets,
    evaluations,
    evidence,
    example_data,
    frontiers,
    hierarchies,
    measurements,
    optimisations,
    policies,
    releases,
    rules,
    runs,
    sensitivity_profiles,
    sequential_disclosures,
    uploads,
    waivers,
    webhooks,
)

_COLLECTIONS: Final = (
    hierarchies.COLLECTION,
    uploads.COLLECTION,
    datasets.COLLECTION,
    dictionaries.COLLECTION,
    dictionary_sets.COLLECTION,
    sensitivity_profiles.COLLECTION,
    rules.COLLECTION,
    assessments.COLLECTION,
    optimisations.COLLECTION,
    frontiers.COLLECTION,
    releases.COLLECTION,
    measurements.COLLECTION,
    sequential_disclosures.COLLECTION,
    policies.COLLECTION,
    evaluations.COLLECTION,
    waivers.COLLECTION,
)

ROUTERS: Final[tuple[APIRouter, ...]] = (
    example_data.router,
    hierarchies.router,
    uploads.proposals,
    uploads.streams,
    uploads.router,
    datasets.router,
    dictionaries.router,
    dictionary_sets.router,
    dictionary_sets.orders,
    sensitivity_profiles.router,
    rules.router,
    rules.previews,
    assessments.router,
    optimisations.router,
    frontiers.router,
    runs.router,
    releases.router,
    releases.ledgers,
    catalogue.router,
    measurements.router,
    sequential_disclosures.router,
    policies.beginnings,
    policies.router,
    evaluations.gates,
    evaluations.router,
    waivers.router,
    evidence.verdicts,
    evidence.router,
    webhooks.router,
    audit_events.router,
    access.router,
    webhooks.clean_up,
    # What is built on others goes first, for nothing in use can be deleted.
    *(collection.clean_up_router() for collection in reversed(_COLLECTIONS)),
)

UPLOAD_PATHS: Final = frozenset({"/v1/uploads", "/v1/uploads/form"})
"""Addresses whose bodies are streamed and may be as large as an upload."""
