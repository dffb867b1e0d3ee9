"""Use cases on policies: kept in versions that never change, checked before they are kept, compared.

Some to start from come with the product as files; earlier versions of these stay as they were.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, ClassVar, Final, Literal, get_args

from app.domain.errors import Conflict, InvalidInput, NotFound
from app.domain.policies.difference import Difference, difference
from app.domain.policies.findings import Lint
from app.domain.policies.objectives import criterion_of
from app.domain.policies.policy import NEWEST_COVERAGE, Policy, pinned, with_coverage
from app.services.datasets.cell_values import require_to_name_values, shown_parameters, without_cell_values
from app.services.datasets.structured_text import read_yaml
from app.services.fingerprints import new_resource
from app.services.gates.evidence_masking import shown_resource
from app.services.gates.policy_documents import document_of_policy, policy_of
from app.services.gates.secret_queries import lint_with_queries
from app.services.named import NamedResources, add_resource, all_resources
from app.services.ports import UnitOfWork
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Scope,
    Stored,
    document_of,
    require,
)

MOST_VERSIONS_SHOWN: Final = 200


@dataclass(frozen=True)
class Checked:
    """A document that was read and checked: what is wrong, and the policy if it can be read at all."""

    policy: Policy | None
    lint: Lint


class PolicyService(NamedResources):
    """Keep, find and compare policies; each version is a resource of its own, ``NAME@VERSION``."""

    kind: ClassVar[Kind] = Kind.POLICY
    write_scope: ClassVar[Scope] = Scope.GOVERN

    async def create(self, actor: Actor, document: object) -> Created:
        """Check a document and store it with its measures' versions.

        InvalidInput with everything that lint calls an error; Conflict if this version is or was there with
        other content. A document that leaves versions open is the one of before there were others.
        """
        require(actor, Scope.GOVERN)
        policy = policy_of(document)
        checked = lint_with_queries(policy)
        if checked.errors:
            raise InvalidInput(checked.errors)
        given, policy = policy, with_coverage(pinned(policy))
        asked = itertools.chain.from_iterable(own.condition.questions for own in policy.requirements)
        require_to_name_values(actor, *asked)
        new = _resource(policy, checked)
        async with self._store.work(actor.tenant) as work:
            used = await work.tombstones.use_name(new.name, new.sha256)
            coverages = (
                (policy.coverage_version,) if given.coverage_version else range(1, NEWEST_COVERAGE + 1)
            )
            before = (
                _resource(dataclasses.replace(own, coverage_version=coverage), checked)
                for own, coverage in itertools.product((policy, pinned(given, as_before=True)), coverages)
            )
            new = next((own for own in before if own.sha256 == used), new)
            if used != new.sha256:
                raise Conflict(
                    f"Version {policy.version} of the policy {policy.name!r} is or was of other content.",
                    "Raise the version: verdicts name the one that they were reached by.",
                )
            stored, created = await add_resource(work, actor, new)
            await work.commit()
        return Created(shown_resource(actor, stored), created)

    async def get(self, actor: Actor, ref: str) -> Stored:
        """The policy of this id, name and version, or name alone (its highest version).

        Values of cells that it names are left out for keys that may not read the data.
        """
        async with self._store.work(actor.tenant) as work:
            return shown_to(actor, await find_policy(work, ref))

    async def versions(self, actor: Actor, ref: str) -> Sequence[Stored]:
        """All versions of the policy that a reference names, the highest first; at most 200."""
        async with self._store.work(actor.tenant) as work:
            found = await find_policy(work, ref)
            versions = await _versions(work, found.summary["policy"])
        return versions[:MOST_VERSIONS_SHOWN]

    async def compare(self, actor: Actor, old: str | None, new: str) -> Difference:
        """What changed from one stored policy to another, as far as this key may see it.

        Without an old one, from the version before; InvalidInput if there is none.
        """
        async with self._store.work(actor.tenant) as work:
            after = await find_policy(work, new)
            before = await find_policy(work, await _version_before(work, after) if old is None else old)
        policies = (
            dataclasses.replace(own, coverage_version=own.coverage_version or 1)
            for own in (policy_of(document_of(before)), policy_of(document_of(after)))
        )
        return _shown_difference(actor, *policies)

    async def to_delete(self, work: UnitOfWork, ref: str) -> Stored:
        """One version, which has to be named; Conflict otherwise."""
        found = await find_policy(work, ref)
        if ref not in (found.id, found.name):
            raise Conflict(
                f"{ref!r} stands for the highest version, {found.name!r}.",
                "Name the version that is to be deleted.",
            )
        return found


async def find_policy(work: UnitOfWork, ref: str) -> Stored:
    """The policy with its whole document: by id, ``NAME@VERSION``, or the highest version of a name."""
    try:
        return await work.resources.get(Kind.POLICY, ref)
    except NotFound:
        versions = await _versions(work, ref)
        if not versions:
            raise
    return await work.resources.get(Kind.POLICY, versions[0].id)


def checked_policy(document: object) -> Checked:
    """What lint says of a document, be it that it is none of a policy."""
    try:
        policy = policy_of(document)
    except InvalidInput as error:
        return Checked(None, Lint(error.faults, ()))
    return Checked(policy, lint_with_queries(policy))


def shown_to(actor: Actor, stored: Stored) -> Stored:
    """A policy with null in the place of values of cells, for keys that may not read the data."""
    if Scope.DATA_READ in actor.scopes:
        return stored
    document = document_of_policy(_without_values(actor, policy_of(document_of(stored))))
    return dataclasses.replace(stored, document=document)


async def _versions(work: UnitOfWork, name: str) -> list[Stored]:
    """The versions of exactly this name without documents, the highest first."""
    found = await all_resources(work, Kind.POLICY, name=f"{name}@")
    own = [policy for policy in found if policy.summary["policy"] == name]
    return sorted(own, key=lambda policy: -int(policy.summary["version"]))


async def _version_before(work: UnitOfWork, stored: Stored) -> str:
    """The id of the next lower version."""
    versions = await _versions(work, stored.summary["policy"])
    lower = [own.id for own in versions if own.summary["version"] < stored.summary["version"]]
    if not lower:
        raise InvalidInput.of(
            "query/against",
            "no-earlier-version",
            f"There is no version before {stored.name!r} to compare it with.",
            "Name the policy to compare with.",
        )
    return lower[0]


def _resource(policy: Policy, checked: Lint) -> NewResource:
    document = document_of_policy(policy)
    summary = {
        "policy": policy.name,
        "version": policy.version,
        "title": policy.title,
        "attacker": policy.assumes.attacker,
        "criteria": len(policy.requirements),
        "blocking": sum(own.severity == "block" for own in policy.requirements),
        "dictionaries": [slot.name for slot in policy.dictionaries],
        "warnings": [dataclasses.asdict(own) for own in checked.warnings],
    }
    meaning = {key: value for key, value in document.items() if key != "name"}
    name = f"{policy.name}@{policy.version}"
    return new_resource(Kind.POLICY, name, meaning, {}, summary, document, ())


def _shown_difference(actor: Actor, old: Policy, new: Policy) -> Difference:
    """The difference with null in the place of values of cells; what it amounts to is that of all."""
    found = difference(old, new)
    if Scope.DATA_READ in actor.scopes:
        return found
    shown = difference(_without_values(actor, old), _without_values(actor, new))
    fields = {(own.part, own.id): own.fields for own in shown.changes}
    changes = tuple(
        dataclasses.replace(own, fields=fields.get((own.part, own.id), ())) for own in found.changes
    )
    return dataclasses.replace(found, changes=changes)


def _without_values(actor: Actor, policy: Policy) -> Policy:
    hiding = _Hiding(actor)
    requirements = tuple(
        dataclasses.replace(own, condition=own.condition.without_values(hiding))
        for own in policy.requirements
    )
    return dataclasses.replace(policy, requirements=requirements)


@dataclass(frozen=True)
class _Hiding:
    """What an actor who may not read the data sees of parameters."""

    actor: Actor

    def measure(self, name: str, version: int | None, parameters: Mapping[str, Any]) -> JsonObject:
        asked = {"name": name, "version": version, "parameters": dict(parameters)}
        return shown_parameters(self.actor, asked)

    def model(self, document: Mapping[str, Any]) -> JsonObject:
        parameters = {name: own for name, own in document.items() if name != "kind"}
        model = criterion_of(document["kind"], parameters)
        return {"kind": model.kind, **without_cell_values(type(model), parameters)}


OWN: Final = ("public-release", "trusted-partner", "internal-analytics")
"""This product's own templates, the strictest first."""

OF_REGULATORS: Final = (
    "hipaa-safe-harbor",
    "hipaa-expert-determination",
    "clinical-reports",
    "article-29",
    "ontario-release",
    "cell-sizes",
)
"""Templates that ask what a regulator or an office asks; there were none in version 1."""

TemplateVersion = Literal[1, 2, 3, 4]
NEWEST: Final = 4

ALL: Final = OWN + OF_REGULATORS
SINCE_4: Final = (*OWN, "little-gain", "synthetic-release", *OF_REGULATORS)
"""With the templates of β-likeness and of synthetic tables, of which there were none before version 4."""

NAMES: Final[Mapping[TemplateVersion, tuple[str, ...]]] = {1: OWN, 2: ALL, 3: ALL, 4: SINCE_4}
"""The names of the templates of each version, in their order."""


@dataclass(frozen=True)
class Template:
    """A policy and the file that it is from."""

    policy: Policy
    text: str


@functools.cache
def templates(version: TemplateVersion = NEWEST) -> tuple[Template, ...]:
    """All templates of a version in the order of their names: this product's own first."""
    folder = files("app.services.gates") / "policy_files"
    texts = [(folder / f"{name}@{version}.yaml").read_text(encoding="utf-8") for name in NAMES[version]]
    return tuple(Template(policy_of(read_yaml(text).value), text) for text in texts)


def template(ref: str) -> Template:
    """The template ``NAME@VERSION``, or the newest one of a name; NotFound otherwise."""
    for version in reversed(get_args(TemplateVersion)):
        for name, own in zip(NAMES[version], templates(version), strict=True):
            if ref in (name, f"{name}@{version}"):
                return own
    raise NotFound("policy template", ref)
