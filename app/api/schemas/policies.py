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
from app.domain.policies.formats import FORMAT_1, FORMAT_2, Format, format_of
from app.services.gates.policy_documents import names_of

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


_BODIES: Final[dict[type, Any]] = {
    schema.ColumnReading: datasets.ColumnReading,
    schema.FileReading: datasets.FileReading,
}
"""Part of a policy → its body; those of columns and files name what datasets and uploads name."""

_MOST: Final = sys.float_info.max
_Number = (
    Annotated[int, Field(strict=True, ge=-(2**53), le=2**53)]
    | Annotated[float, Field(strict=True, ge=-_MOST, le=_MOST)]
)
_THRESHOLD: Final = Annotated[
    Annotated[bool, Field(strict=True)] | _Number | Literal["inf", "-inf", "Infinity", "-Infinity"],
    Field(description='A number, "inf", or true or false for a value that is either.', examples=[5]),
]


def _body(
    source: type, name: str, form: Format = FORMAT_2, about: str | None = None, /, **fields: tuple[Any, Any]
) -> Any:  # noqa: ANN401 - a type, in annotations
    """The body of a part, with ``fields`` that differ from the domain's."""
    made = request_of(
        source,
        name,
        getattr(source, "kind", None),
        said_of_kind="Kind of requirement.",
        instead=fields,
        parts=_BODIES,
        base=_Sent,
        strict_numbers=source is not policy.BudgetCondition,
        names=names_of(form),
    )
    made.__doc__ = about or made.__doc__
    _BODIES[source] = made
    return made


_body(
    policy.Register,
    "SlotRegister",
    sha256=(Annotated[Hash | None, Field(description="Its hash, as it and verdicts show it.")], None),
)
for _source, _name in {
    policy.Slot: "Slot",
    policy.Scope: "RequirementScope",
    policy.Assumptions: "PolicyAssumptions",
    policy.Secret: "SecretQuery",
    policy.Heading: "PolicyHeading",
    schema.PolicySchema: "PolicySchema",
    schema.NotCovered: "NotCovered",
}.items():
    _body(_source, _name)

_SCOPE: Any = Annotated[_BODIES[policy.Scope] | None, Field(description="All of the release if left out.")]
_COMPARED: Final = (policy.MeasureCondition, policy.ScoreCondition)
_CONDITION: Any = Annotated[
    one_of(
        tuple(
            _body(own, own.__name__, **({"threshold": (_THRESHOLD, ...)} if own in _COMPARED else {}))
            for own in policy.CONDITIONS
        )
    ),
    Field(description="What is required."),
]


def _policy(
    form: Format, name: str, requirement: str, about: str | None = None, said: str | None = None
) -> Any:  # noqa: ANN401
    """The body of a policy in a format, where its requirements and it have these names."""
    _body(policy.Requirement, requirement, form, said, scope=(_SCOPE, None), condition=(_CONDITION, ...))
    pattern = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,89}$", description="Name that all versions share.")
    format_ = Annotated[Literal[form.name], Field(description="Format of the document.")]  # type: ignore[name-defined]
    return _body(policy.Policy, name, form, about, name=(Annotated[str, pattern], ...), format=(format_, ...))


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
