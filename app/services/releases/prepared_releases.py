"""From a request to what a mechanism will release: all that it rests on, and its plan."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any, Final

from app.domain.classes.released import Release
from app.domain.errors import Fault, InvalidInput, NotSupported, refuse
from app.domain.mechanisms.catalogue import AnyMechanism
from app.domain.mechanisms.mechanism import MechanismContext, Origin
from app.domain.mechanisms.public_domains import why_not_drawn
from app.domain.models.criterion import NEEDS_ONE_ROW, require_persons
from app.services.datasets.dataset_schema import AttributeType, OnUnknown, declarations_of
from app.services.datasets.hierarchies import is_from_data
from app.services.datasets.tables import TableLoader
from app.services.ports import Store, UnitOfWork
from app.services.releases.drawing import Preparation, attributes_drawn
from app.services.releases.mechanism_manifests import BY_NAME
from app.services.releases.people_in_both import people_in_both
from app.services.releases.requests import ChosenMechanism, CreateRelease
from app.services.releases.same_tables import contents_like
from app.services.resources import Kind, Stored, TenantId, document_of
from app.services.rules.rule_documents import may_suppress_records, require_rule_of, rule_of
from app.services.scoring.measurement_documents import references_in, with_references

_MECHANISM: Final = "/mechanism"
_QUESTION: Final = "release question"
"""What the secret is for by which questions are hashed that say nothing of the data."""


async def prepare_release(
    store: Store, loader: TableLoader, tenant: TenantId, request: CreateRelease
) -> Preparation:
    """All that the release rests on, and its plan; NotSupported where the mechanism does not fit."""
    chosen = chosen_in(request)
    async with store.work(tenant) as work:
        dataset = await work.resources.get(Kind.DATASET, request.dataset)
        rule = None if request.rule is None else await work.resources.get(Kind.RULE, request.rule)
        upload = await work.resources.described(Kind.UPLOAD, document_of(dataset)["upload"]["id"])
        mechanism, origins = BY_NAME[chosen.name], await _origins(work, dataset)
        if mechanism.hides_records:
            _require_declared_hierarchies(dataset, origins)
        secret = await work.pieces.secret(upload.id, _QUESTION) if mechanism.hides_records else None
        contents = await contents_like(work, upload.summary["content_sha256"])
        lists = await _lists(work, chosen, contents)
    if lists:
        # A list is named by its name, whatever it was asked for by: that is the same question.
        parameters = with_references(chosen.parameters, lambda own: lists[own.ref].name, _MECHANISM)
        chosen = replace(chosen, parameters=parameters)
    tables = {own.name: await loader.table(tenant, own) for own in lists.values()}
    document = None if rule is None else require_rule_of(rule, dataset)
    table = await loader.table(tenant, dataset)

    def planned() -> Preparation:
        # Hierarchies that declare every value, with none attached that the data have.
        public = frozenset(
            own.name
            for own in declarations_of(dataset)
            if own.hierarchy is not None and own.on_unknown is not OnUnknown.ATTACH
        )
        # Whether it is known that the rule depends on records: a search found it, or it may suppress some.
        is_of_data = (
            rule is not None
            and document is not None
            and (document.get("found_by") is not None or may_suppress_records(rule.summary))
        )
        rule_asked = None if document is None else rule_of(document, table)
        numeric = frozenset(own.name for own in declarations_of(dataset) if own.type is AttributeType.NUMBER)
        context = MechanismContext(
            table, rule_asked, public, is_of_data, origins=origins, numeric=numeric, lists=tables
        )
        _require_supported(mechanism, context, chosen.parameters)
        plan = mechanism.plan(context, chosen.parameters)
        return Preparation(
            request, chosen, mechanism, context, plan, dataset, rule, upload, contents, secret=secret,
            lists=tuple(lists.values()),
        )  # fmt: skip

    prepared = await asyncio.to_thread(planned)
    if mechanism.hides_records:
        people = await people_in_both(store, loader, tenant, dataset, None)
        return replace(prepared, people=people)
    attributes = attributes_drawn(prepared.plan)
    if len(attributes) != 1:  # nothing as it stands
        return prepared
    people = await people_in_both(store, loader, tenant, dataset, *attributes)
    return await _beside_earlier(store, tenant, replace(prepared, people=people))


async def _beside_earlier(store: Store, tenant: TenantId, prepared: Preparation) -> Preparation:
    """Planned for who has the releases that were drawn before of people in it, where there are any."""
    async with store.work(tenant) as work:
        same = await work.draws.of_subject("", prepared.subjects)
    earlier = sum(own.question_sha256 not in prepared.wordings for own in same)
    releases = 1 + earlier + (0 if prepared.people is None else prepared.people.draws)
    if releases == 1:
        return prepared
    context = replace(prepared.context, releases=releases)
    plan = await asyncio.to_thread(prepared.mechanism.plan, context, prepared.chosen.parameters)
    return replace(prepared, context=context, plan=plan)


async def _lists(
    work: UnitOfWork, chosen: ChosenMechanism, contents: Collection[str]
) -> Mapping[str, Stored]:
    """The datasets that the parameters name, by reference; InvalidInput for one that has the same records."""
    found = {}
    for own in references_in(chosen.parameters, _MECHANISM):
        found[own.ref] = await work.resources.get(own.kind, own.ref)
        upload = await work.resources.described(Kind.UPLOAD, found[own.ref].uses[0])
        if upload.summary["content_sha256"] in contents:
            message = "The list has the records that are drawn of: which values these have would be told."
            remedy = "Upload a list that was made from public knowledge, and name a dataset of it."
            raise InvalidInput.of(own.pointer, "list-from-data", message, remedy)
    return found


async def _origins(work: UnitOfWork, dataset: Stored) -> dict[str, Origin]:
    """Where the declared hierarchies of its attributes come from."""
    found = {}
    for own in declarations_of(dataset):
        if own.hierarchy is not None and own.role.is_disclosed:
            stored = await work.resources.described(Kind.HIERARCHY, own.hierarchy)
            found[own.name] = Origin(stored.name, is_from_data(stored), "from_data" in stored.summary)
    return found


def _require_declared_hierarchies(dataset: Stored, origins: Mapping[str, Origin]) -> None:
    """InvalidInput for hierarchies that records decided: one record more would change cells and levels.

    That holds on level 0 and for suppressed columns, too: which values are known, and how many levels there
    are, tell of records.
    """
    faults = []
    for index, own in enumerate(declarations_of(dataset)):
        if own.name in origins and origins[own.name].is_of_data:
            faults.append(
                Fault(
                    f"/dataset/attributes/{index}/hierarchy",
                    "hierarchy-from-data",
                    f"The hierarchy of {own.name!r} was made from an upload's column, or may have been: its "
                    "values or its levels depend on single records, which no noise covers.",
                    "Declare its labels from public knowledge under another name, as parents, rows, or a "
                    "range or list of values, and make a dataset with that hierarchy.",
                )
            )
    refuse(faults)


def chosen_in(request: CreateRelease) -> ChosenMechanism:
    """The mechanism of a request that has one."""
    if request.mechanism is None:
        raise ValueError("the request names no mechanism")
    return request.mechanism


def _require_supported(mechanism: AnyMechanism, context: MechanismContext, parameters: Any) -> None:  # noqa: ANN401
    if context.rule is not None and not mechanism.takes_rule:
        raise InvalidInput.of(
            "/rule",
            "rule-not-taken",
            f"The mechanism {mechanism.name} takes no rule.",
            "Leave the rule out.",
        )
    if context.table.persons is not None:
        require_persons(mechanism.name, NEEDS_ONE_ROW)
    reason = None
    if not mechanism.hides_records:
        drawn = Release(context.table).sensitive(parameters.attribute, "/mechanism/attribute")
        reason = why_not_drawn(context, drawn)
    reason = reason or mechanism.supports(context, parameters)
    if reason is not None:
        raise NotSupported.because(reason)
