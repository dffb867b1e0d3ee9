"""What an evaluation of views is of: a policy, a relational schema and queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from time import monotonic
from typing import Final

from app.domain.errors import Fault, InvalidInput, pointing_into, refuse
from app.domain.policies.perfect_privacy_condition import PerfectPrivacyCondition
from app.domain.policies.policy import Policy, Requirement
from app.domain.search.budget import Halted
from app.domain.views.decision import VERSION
from app.services.fingerprints import new_resource, sha256_of
from app.services.gates.policies import find_policy
from app.services.gates.policy_documents import policy_of
from app.services.gates.requests import CreateEvaluation, ViewsAsked
from app.services.gates.tombstones import judged_sha256
from app.services.gates.waivers import Waivable, waivers_for
from app.services.ports import UnitOfWork
from app.services.questions import Route
from app.services.resources import JsonObject, Kind, NewResource, Stored, document_of
from app.services.views.reading import ReadSchema, WrittenQuery
from app.services.views.view_checks import Limits, ReadCheck, ViewCheck, read_check
from app.services.views.written_schema import WrittenSchema

LIMITS: Final = Limits(seconds=600.0, pairs=20_000, characters=4_000_000, witness_characters=1_000_000)
"""Of what one requirement of a policy asks about all views."""
MOST_VIEWS: Final = 1_000
DECISION: Final = f"views/{VERSION}"
"""The version of what decides: verdicts of another one do not answer for this one's."""


@dataclass(frozen=True)
class ViewSubject:
    """Views to be judged by a policy; ``waivers`` by requirement.

    ``keeping`` are the ids of the views whose tables may keep rows that their queries no longer return.
    """

    stored_policy: Stored
    policy: Policy
    schema: WrittenSchema
    views: tuple[WrittenQuery, ...]
    waivers: Mapping[str, JsonObject]
    keeping: Sequence[str] = ()

    @cached_property
    def sha256(self) -> str:
        """Hash of the schema and of all views: what a waiver for them is known by.

        InvalidInput for a schema that cannot be read.
        """
        with pointing_into("/relational_schema"):
            return views_sha256(self.schema, self.views)

    def check_of(self, condition: PerfectPrivacyCondition) -> ViewCheck:
        """What a requirement asks: every view against every secret."""
        return ViewCheck(
            {},
            (),
            [WrittenQuery(own.id, own.query) for own in condition.secrets],
            self.views,
            condition.ignore_foreign_keys,
            # Policies are read with none but these.
            condition.language,
            condition.dialect,
            keys=condition.keys,
        )

    def read_schema(self, condition: PerfectPrivacyCondition) -> ReadSchema:
        """The schema as a requirement's queries are read by it; InvalidInput lists what is wrong with it."""
        with pointing_into("/relational_schema"):
            return self.schema.read(condition.dialect)

    def read(self, condition: PerfectPrivacyCondition, is_late: Halted) -> ReadCheck:
        """What a requirement asks, read; InvalidInput lists all faults of the schema, or of the queries."""
        return read_check(self.check_of(condition), self.read_schema(condition), is_late, LIMITS)


def views_sha256(schema: WrittenSchema, views: Sequence[WrittenQuery]) -> str:
    """Hash of a schema and of views, in whatever order they are given."""
    return sha256_of([schema.sha256, sorted(map(view_sha256, views))])


def view_sha256(view: WrittenQuery) -> str:
    """Hash of a view: its id and its query."""
    return sha256_of(asdict(view))


def condition_of(requirement: Requirement) -> PerfectPrivacyCondition:
    """What a requirement of a policy about views asks; ValueError for any other."""
    if not isinstance(requirement.condition, PerfectPrivacyCondition):
        raise ValueError("the requirement is not about views")
    return requirement.condition


async def find_views(work: UnitOfWork, request: CreateEvaluation, asked: ViewsAsked) -> ViewSubject:
    """The subject without its waivers; InvalidInput for a policy that is about releases of data."""
    stored = await find_policy(work, request.policy)
    policy = policy_of(document_of(stored))
    if not policy.judges_views:
        raise InvalidInput.of(
            "/views",
            "other-subject",
            f"The policy {policy.name!r} is about releases of data: it requires nothing of views.",
            "Name a policy with a requirement perfect_privacy.",
        )
    schema = asked.schema
    if isinstance(schema, str):
        schema = WrittenSchema(stored=document_of(await work.resources.get(Kind.RELATIONAL_SCHEMA, schema)))
    return ViewSubject(stored, policy, schema, tuple(asked.views), {}, tuple(asked.keeping))


async def with_waivers(work: UnitOfWork, subject: ViewSubject, judged: Waivable) -> ViewSubject:
    """The subject with the waivers of the day."""
    known = {own.id for own in subject.policy.requirements}
    found = await waivers_for(work, judged)
    return replace(subject, waivers={id_: own for id_, own in found.items() if id_ in known})


def require_readable(subject: ViewSubject) -> None:
    """InvalidInput, with every fault, unless every query can be read over the schema.

    Without a view nothing is judged, and a view that is called like a table may be read in its place by
    others: both are refused.
    """
    if not subject.views:
        raise InvalidInput.of(
            "/views", "no-views", "There is no view: nothing would be judged.", "Give at least one."
        )
    for number, requirement in enumerate(subject.policy.requirements):
        condition = condition_of(requirement)
        try:
            _require_read(subject, condition)
        except InvalidInput as error:
            raise InvalidInput([_of_policy(own, number, requirement) for own in error.faults]) from None
    _require_other_names(subject, condition)


def _require_read(subject: ViewSubject, condition: PerfectPrivacyCondition) -> None:
    end = monotonic() + LIMITS.seconds
    subject.read(condition, lambda: monotonic() >= end)


def _of_policy(fault: Fault, number: int, requirement: Requirement) -> Fault:
    """The fault of a secret, by its place in the policy's terms; any other as it is."""
    if not fault.pointer.startswith("/secrets/"):
        return fault
    secret = condition_of(requirement).secrets[int(fault.pointer.split("/")[2])]
    message = f"The secret {secret.id!r} of the requirement {requirement.id!r}: {fault.message}"
    return replace(fault, pointer="path/policy", message=message)


def _require_other_names(subject: ViewSubject, condition: PerfectPrivacyCondition) -> None:
    """Refuse views that are called like tables: whether others read the one or the other is not said."""
    schema = subject.read_schema(condition)
    tables = {name.casefold(): name for name in schema.relational.relations}
    refuse(
        [
            Fault(
                f"/views/{number}/id",
                "named-as-table",
                f"The view {own.id!r} is called like the table {table!r} of the schema.",
                "If the table holds what the view shows, take it out of the schema; else rename the view.",
            )
            for number, own in enumerate(subject.views)
            if (table := tables.get(own.id.casefold())) is not None
        ]
    )


def new_view_evaluation(subject: ViewSubject, name: str | None, route: Route) -> NewResource:
    """The evaluation as it will be stored; the waivers of the day are part of its meaning."""
    meaning: JsonObject = {
        "relational_schema": subject.schema.document(),
        "views": [asdict(own) for own in subject.views],
        "waivers": dict(sorted(subject.waivers.items())),
        "checks": [DECISION],
        **({"keeping": list(subject.keeping)} if subject.keeping else {}),
    }
    kept = {"policy": subject.stored_policy.id, "route": route, "change_rules": 0}
    hashes = {"policy": subject.stored_policy.sha256}
    summary: JsonObject = {
        "policy": {"name": subject.policy.name, "version": subject.policy.version},
        "dataset": None,
        "views": len(subject.views),
        "rule": None,
        "release": None,
        "dictionaries": {},
        "sensitivity": None,
        "failure": None,
        "judged_sha256": judged_sha256(meaning, hashes),
    }
    return new_resource(Kind.EVALUATION, name, meaning, hashes, summary, kept, (subject.stored_policy.id,))


async def view_subject_of(work: UnitOfWork, stored: Stored) -> ViewSubject | None:
    """The subject of a stored evaluation of views; None if it is of a release."""
    document = document_of(stored)
    if "views" not in document:
        return None
    policy = await work.resources.get(Kind.POLICY, document["policy"])
    return ViewSubject(
        policy,
        policy_of(document_of(policy)),
        WrittenSchema.of(document["relational_schema"]),
        tuple(WrittenQuery(**own) for own in document["views"]),
        document["waivers"],
        tuple(document.get("keeping", ())),
    )
