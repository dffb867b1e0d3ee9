"""Policies over HTTP."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Body, Path, Query, Response
from pydantic import BeforeValidator

from app.api.authentication import AnyKey, Governor
from app.api.bodies.reading import TextBody
from app.api.examples.form import names
from app.api.examples.policies import LINTED, POLICIES, YAML_BODY
from app.api.examples.release_contexts import CONTEXTS
from app.api.routers.answers import COMMON, MADE, located, problems
from app.api.routers.collection import Collection
from app.api.routes import PREFIX, Route
from app.api.schemas.common import shown
from app.api.schemas.policies import NewPolicy, PolicyRef
from app.api.schemas.policy_answers import (
    Policy,
    PolicyCheck,
    PolicyDifference,
    PolicySummary,
    PolicyTemplates,
    PolicyVersions,
    shown_policy,
)
from app.api.schemas.release_contexts import ReleaseContextAnswer, ReleaseContextQuestion
from app.api.services import UseCases
from app.services.datasets.structured_text import read_yaml
from app.services.gates.policies import NEWEST, TemplateVersion, checked_policy, templates
from app.services.gates.release_contexts import context_document
from app.services.resources import Created, Scope

COLLECTION = Collection(
    "policy",
    PolicySummary,
    ("members-release@1", "hospital-views@1", "internal-analytics@4"),
    write_scope=Scope.GOVERN,
    reference=PolicyRef,
    irregular="policies",
)

router = COLLECTION.router()
beginnings = APIRouter(prefix=PREFIX, tags=[COLLECTION.plural], route_class=Route, responses=COMMON)

OnePolicy = Annotated[PolicyRef, Path(openapi_examples=names("members-release"))]


@beginnings.get("/policy-templates")
async def list_policy_templates(
    actor: AnyKey,
    version: Annotated[
        TemplateVersion,
        # In a query a number is text, which a literal does not match.
        BeforeValidator(lambda text: int(text) if str(text).isdecimal() else text),
        Query(description="Which version of the templates; version 1 is in the format of policies before."),
    ] = NEWEST,
) -> PolicyTemplates:
    """List policies to start from.

    Each with a reason for every number: which are conventions and whose, and which are this product's own.
    Some ask what a regulator asks, and say of each source whether its text was read.
    Take one as it stands, or change it and give it a name of its own.
    """
    return PolicyTemplates.of(templates(version))


@beginnings.post("/release-contexts")
async def assess_release_context(
    actor: AnyKey,
    body: Annotated[ReleaseContextQuestion, Body(openapi_examples=CONTEXTS)],
) -> ReleaseContextAnswer:
    """Work out what the context of a release leaves to the risk of its data.

    By the guidelines of Ontario's Information and Privacy Commissioner of June 2016: how likely is it that a
    recipient attempts to identify somebody, recognises an acquaintance, or loses the data? The answer has
    each number with its source, and the policy that asks for what follows. Nothing is stored.
    """
    return ReleaseContextAnswer.model_validate(context_document(body.question()))


@router.post("/lint")
async def lint_policy(
    actor: AnyKey,
    body: Annotated[dict[str, Any], Body(openapi_examples=LINTED)],
) -> PolicyCheck:
    """Check a policy without storing it.

    Everything that can be said of it without data: what is unknown, of the wrong kind or out of range, what
    contradicts or follows from another requirement, what everything passes. Errors would be refused when it
    is stored; warnings are kept with it.
    """
    return PolicyCheck.of(checked_policy(body))


@router.post("", status_code=201, responses=MADE)
async def create_policy(
    actor: Governor,
    services: UseCases,
    response: Response,
    body: Annotated[NewPolicy, Body(openapi_examples=POLICIES)],
) -> Policy:
    """Store a policy.

    A version never changes: another document under the same name and version is refused with 409. Measures
    are pinned to their versions. Needs the scope `govern`, and `data:read` if a requirement names values of
    cells.
    """
    return _made(await services.policies.create(actor, body.document()), response)


@router.post("/yaml", status_code=201, responses=MADE, openapi_extra=YAML_BODY)
async def create_policy_from_yaml(
    actor: Governor, services: UseCases, response: Response, text: TextBody
) -> Policy:
    """Store a policy from YAML.

    The same document in its file's form. Anchors, aliases, tags and repeated keys are refused. Needs the
    scope `govern`, and `data:read` if a requirement names values of cells.
    """
    read = await asyncio.to_thread(read_yaml, text)
    return _made(await services.policies.create(actor, read.value), response)


COLLECTION.add_list(router)


@router.get("/{ref}", responses=problems("not-found"))
async def get_policy(actor: AnyKey, services: UseCases, ref: OnePolicy) -> Policy:
    """Get a policy.

    The version that is named (`NAME@VERSION`), or the highest one of the name.
    """
    return shown_policy(await services.policies.get(actor, ref))


@router.get("/{ref}/versions", responses=problems("not-found"))
async def list_policy_versions(actor: AnyKey, services: UseCases, ref: OnePolicy) -> PolicyVersions:
    """List the versions of a policy.

    The highest first, at most 200.
    """
    found = await services.policies.versions(actor, ref)
    return PolicyVersions(items=[shown(PolicySummary, stored) for stored in found])


@router.get("/{ref}/diff", responses=problems("not-found"))
async def compare_policies(
    actor: AnyKey,
    services: UseCases,
    ref: OnePolicy,
    against: Annotated[
        PolicyRef | None,
        Query(
            description="The policy to compare with, the old one; the version before if left out.",
            openapi_examples=names("internal-analytics"),
        ),
    ] = None,
) -> PolicyDifference:
    """Compare two policies.

    Requirements by their ids: which were added, removed or changed, and whether that is stricter or looser,
    said only where it is certain.
    """
    return PolicyDifference.of(await services.policies.compare(actor, against, ref))


def _made(created: Created, response: Response) -> Policy:
    located(response, f"/policies/{created.resource.id}", created.created)
    return shown_policy(created.resource)
