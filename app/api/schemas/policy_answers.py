"""Policies as they are answered: stored versions, what lint says, differences and templates."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field

from app.api.schemas.common import Answer, Count, Resource, shown
from app.domain.policies.difference import Difference, Effect
from app.domain.policies.policy import MOST_SLOTS
from app.services.gates.policies import MOST_VERSIONS_SHOWN, Checked, Template
from app.services.gates.policy_documents import document_of_policy
from app.services.resources import Stored, document_of


class PolicyFinding(Answer):
    """One thing that lint says."""

    pointer: Annotated[str, Field(max_length=2000, description="Where in the document (JSON pointer).")]
    code: Annotated[str, Field(max_length=100, description="Kind of mistake.", examples=["implied"])]
    message: Annotated[str, Field(max_length=10_000, description="What is wrong or unusual.")]
    remedy: Annotated[str, Field(max_length=20_000, description="What would be right; may be empty.")]


class PolicySummary(Resource):
    """A version of a policy without its criteria; `name` is `NAME@VERSION`."""

    policy: Annotated[str, Field(max_length=100, description="Name that all versions share.")]
    version: Annotated[int, Field(description="Version of the policy.", examples=[1])]
    title: Annotated[str, Field(max_length=200, description="What it is for.")]
    attacker: Annotated[str, Field(max_length=2000, description="The attacker that it assumes.")]
    criteria: Annotated[Count, Field(description="How many criteria it has.", examples=[4])]
    blocking: Annotated[Count, Field(description="How many of them block.", examples=[3])]
    dictionaries: Annotated[list[str], Field(max_length=MOST_SLOTS)]
    """Names of its dictionary slots."""
    warnings: Annotated[list[PolicyFinding], Field(max_length=1000)]
    """What is allowed but unusual."""


class Policy(PolicySummary):
    """A version of a policy."""

    document: dict[str, Any]
    """The whole policy in its canonical form, measures at their versions. Values of cells are null for keys
    that may not read the data.
    """


class PolicyVersions(Answer):
    """The versions of one policy."""

    items: Annotated[list[PolicySummary], Field(max_length=MOST_VERSIONS_SHOWN)]
    """The versions, the highest first."""


class PolicyCheck(Answer):
    """What lint says of a policy that is not stored."""

    usable: Annotated[bool, Field(description="Whether it would be stored: there are no errors.")]
    errors: Annotated[list[PolicyFinding], Field(max_length=10_000, description="What must be changed.")]
    warnings: Annotated[list[PolicyFinding], Field(max_length=10_000, description="What is unusual.")]
    document: dict[str, Any] | None
    """The policy in its canonical form; null if it cannot be read."""

    @classmethod
    def of(cls, checked: Checked) -> PolicyCheck:
        """The answer to a check."""
        document = None if checked.policy is None else document_of_policy(checked.policy)
        found = {**vars(checked.lint), "usable": not checked.lint.errors, "document": document}
        return cls.model_validate(found)


class FieldChange(Answer):
    """One field that is not what it was."""

    field: Annotated[str, Field(max_length=2000, description="Its name.", examples=["threshold"])]
    before: Annotated[Any, Field(description="What it was; null if it was not there.", examples=[5])]
    after: Annotated[Any, Field(description="What it is; null if it is not there.", examples=[10])]


EffectWord = Annotated[
    Effect,
    Field(
        description="`stricter` or `looser` where that is certain, `different` where it cannot be told, "
        "`none` where nothing that is judged has changed."
    ),
]


class PartChange(Answer):
    """A part of the policy that was added, removed or changed."""

    part: Literal["policy", "dictionary", "criterion"]
    """What kind of part it is."""
    id: Annotated[str, Field(max_length=100, description="Its name; empty for the policy itself.")]
    kind: Annotated[Literal["added", "removed", "changed"], Field(description="What became of it.")]
    effect: EffectWord
    fields: Annotated[list[FieldChange], Field(max_length=10_000, description="What changed in it.")]


class PolicyDifference(Answer):
    """What changed from one policy to another."""

    old: Annotated[str, Field(max_length=100, description="The policy compared with.", examples=["a@1"])]
    new: Annotated[str, Field(max_length=100, description="The policy asked for.", examples=["a@2"])]
    effect: EffectWord
    changes: Annotated[list[PartChange], Field(max_length=10_000, description="All changes.")]
    text: Annotated[str, Field(description="The same in words, line by line.")]

    @classmethod
    def of(cls, found: Difference) -> PolicyDifference:
        """The answer to a comparison."""
        old, new = (f"{name}@{version}" for name, version in (found.old, found.new))
        return cls.model_validate({**vars(found), "old": old, "new": new, "text": found.text()})


class PolicyTemplate(Answer):
    """A policy to start from."""

    name: Annotated[str, Field(max_length=100, description="Its name.", examples=["public-release"])]
    title: Annotated[str, Field(max_length=200, description="What it is for.")]
    description: Annotated[str, Field(max_length=5000, description="What it assumes and where it is from.")]
    document: Annotated[dict[str, Any], Field(description="The policy, to be sent to `POST /v1/policies`.")]
    yaml: Annotated[str, Field(description="The same as a file, with its comments.")]


class PolicyTemplates(Answer):
    """The policies that there are to start from."""

    items: Annotated[list[PolicyTemplate], Field(max_length=100, description="The templates.")]

    @classmethod
    def of(cls, templates: tuple[Template, ...]) -> PolicyTemplates:
        """The answer that lists templates."""
        return cls(
            items=[
                PolicyTemplate(
                    name=own.policy.name,
                    title=own.policy.title,
                    description=own.policy.description,
                    document=document_of_policy(own.policy),
                    yaml=own.text,
                )
                for own in templates
            ]
        )


def shown_policy(stored: Stored) -> Policy:
    """A stored policy with its document."""
    return shown(Policy, stored, document=document_of(stored))
