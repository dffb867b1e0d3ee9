"""Policies as they are sent, made of the domain's types: what a release must keep."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Discriminator, Field, StringConstraints, Tag

from app.api.schemas import datasets
from app.api.schemas.common import Hash, Request
from app.api.schemas.derived import one_of, request_of
from app.domain.policies import policy, schema
from app.domain.policies.budget_condition import BudgetCondition
from app.domain.policies.comparison import Value
from app.domain.policies.formats import FORMAT_1, FORMAT_2, Format, format_of
from app.domain.policies.perfect_privacy_condition import Secret
from app.domain.policies.policy import CONDITIONS
from app.services.gates.policy_documents import NAME, names_of

PolicyRef = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._-]{1,100}(@[1-9][0-9]{0,6})?$"),
    Field(description="Id of a policy, its name with the version, `NAME@VERSION`, or its name alone: then "
          "the highest version."),
]  # fmt: skip


class _Sent(Request):
    """Base of all parts of a policy."""

    def document(self) -> dict[str, Any]:
        """What was sent, as the use cases take it."""
        return self.model_dump(by_alias=True, exclude_unset=True)


_MOST: Final = sys.float_info.max
_Threshold = (
    Annotated[bool, Field(strict=True)]
    | Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
    | Annotated[float, Field(strict=True, ge=-_MOST, le=_MOST)]
    | Literal["inf", "-inf", "Infinity", "-Infinity"]
)
_BODIES: Final[dict[Any, Any]] = {
    Value: _Threshold,
    schema.ColumnReading: datasets.ColumnReading,
    schema.FileReading: datasets.FileReading,
}
"""Part of a policy → what stands for it in bodies; those of columns and files name what datasets name."""


def _body(source: type, name: str, form: Format = FORMAT_2, /, about: str = "", **fields: Any) -> Any:  # noqa: ANN401
    """The body of a part, with ``fields`` (type and default) that differ from the domain's."""
    made = request_of(
        source,
        name,
        getattr(source, "kind", None),
        said_of_kind="Kind of requirement.",
        instead=fields,
        parts=_BODIES,
        base=_Sent,
        # The numbers of a budget may be sent as texts.
        strict_numbers=source is not BudgetCondition,
        names=names_of(form),
    )
    made.__doc__ = about or made.__doc__
    _BODIES[source] = made
    return made


_body(policy.Register, "SlotRegister", sha256=(Hash | None, None))
for _source, _name in {
    policy.Slot: "Slot",
    policy.Scope: "RequirementScope",
    policy.Assumptions: "PolicyAssumptions",
    Secret: "SecretQuery",
    policy.Heading: "PolicyHeading",
    schema.PolicySchema: "PolicySchema",
    schema.NotCovered: "NotCovered",
}.items():
    _body(_source, _name)
_CONDITION: Any = one_of(tuple(_body(own, own.__name__) for own in CONDITIONS))


def _policy(form: Format, name: str, requirement: str, about: str = "", about_one: str = "") -> Any:  # noqa: ANN401
    """The body of a policy in a format, where it and its requirements have these names."""
    scope, condition = (_BODIES[policy.Scope] | None, None), (_CONDITION, ...)
    _body(policy.Requirement, requirement, form, about=about_one, scope=scope, condition=condition)
    named = Annotated[str, StringConstraints(pattern=f"^{NAME}$")]
    return _body(policy.Policy, name, form, about=about, name=(named, ...), format=(Literal[form.name], ...))


PolicyInFormat2: Any = _policy(FORMAT_2, "PolicyInFormat2", "PolicyRequirement")
PolicyInFormat1: Any = _policy(
    FORMAT_1,
    "PolicyInFormat1",
    "PolicyCriterion",
    "A policy in the format before: its requirements are called criteria, and what each asks its demand.",
    "One thing that must hold, as format 1 has it.",
)


def _format_name(body: Any) -> str:  # noqa: ANN401 - any JSON value
    return format_of(body).name if isinstance(body, Mapping) else FORMAT_2.name


NewPolicy: Any = Annotated[
    Annotated[PolicyInFormat2, Tag(FORMAT_2.name)] | Annotated[PolicyInFormat1, Tag(FORMAT_1.name)],
    Discriminator(_format_name),
]
