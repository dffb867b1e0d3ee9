"""What of a policy's schema a dataset does not keep: other roles, and columns that it does not name."""

from __future__ import annotations

from collections.abc import Iterator

from app.domain.errors import Fault
from app.domain.policies.policy import Policy
from app.domain.policies.schema import DISCLOSED_ROLES, PolicySchema
from app.services.datasets.dataset_schema import AttributeDeclaration, declarations_of
from app.services.resources import Stored

_REMEDY = "Name a dataset with that schema, or a policy for this one."


def schema_faults(policy: Policy, dataset: Stored, key: str | None) -> list[Fault]:
    """A fault for every column that the policy's schema does not allow as it is.

    ``key`` is the key column of a release file. A schema that names no column yet is a draft, of which the
    verdict says that it is one.
    """
    schema = policy.schema
    if schema is None or not schema.attributes:
        return []
    declared = {own.name: own for own in declarations_of(dataset)}
    said = [
        *_of_names(schema, declared, dataset.name),
        *_of_others(schema, declared, dataset.name),
    ]
    faults = [
        Fault("/dataset", "other-schema", f"The policy {policy.name!r} is for another schema: {own}", _REMEDY)
        for own in said
    ]
    given = None if key is None else schema.role_of(key)
    if given is not None and given[0] == "dropped":
        faults.append(
            Fault(
                "/release/key",
                "other-schema",
                f"The policy {policy.name!r} is for another schema: it drops the column {key!r}, and the "
                "release file has it.",
                "Give the file without it, in the order of the records or with another key.",
            )
        )
    return faults


def _of_names(schema: PolicySchema, declared: dict[str, AttributeDeclaration], dataset: str) -> Iterator[str]:
    """Columns that the schema names and that the dataset lacks or has in another role."""
    for name, role in schema.attributes.items():
        own = declared.get(name)
        if role == "dropped":
            if own is not None and own.role.is_disclosed:
                yield f"it drops {name!r}, and the dataset {dataset!r} discloses it as {own.role.value}."
        elif "person" in (role, None if own is None else own.role.value):
            continue  # what a row is, a verdict says
        elif own is None:
            yield f"it asks for {name!r} in the role {role}, and the dataset {dataset!r} has no such column."
        elif own.role.value != role:
            yield (
                f"it asks for {name!r} in the role {role}, and the dataset {dataset!r} has {name!r} in the "
                f"role {own.role.value}."
            )


def _of_others(
    schema: PolicySchema, declared: dict[str, AttributeDeclaration], dataset: str
) -> Iterator[str]:
    """Columns that the dataset discloses and to which the schema gives no role in which they may be."""
    for name, own in declared.items():
        if name in schema.attributes or not own.role.is_disclosed:
            continue
        given = schema.role_of(name)
        if given is None:
            yield f"it gives no role to {name!r}, which the dataset {dataset!r} discloses."
        elif given[0] not in DISCLOSED_ROLES:
            yield f"by a pattern it has {name!r} as {given[0]}, and the dataset {dataset!r} discloses it."
