"""What can be said without data of the columns that a policy is about."""

from __future__ import annotations

from app.domain.errors import joined
from app.domain.policies.findings import Findings
from app.domain.policies.policy import Policy
from app.domain.policies.schema import PolicySchema


def check_schema(policy: Policy, found: Findings) -> None:
    """Note what is wrong or unusual in a policy's schema and in the columns that it lets pass unjudged."""
    schema = policy.schema
    if schema is None:
        found.warn(
            "/schema", "no-schema",
            "The policy has no schema: it takes the word of whoever describes the dataset for the role of "
            "every column.",
            "Write one: python -m app policy schema POLICY TABLE proposes a role for every column.",
        )  # fmt: skip
    else:
        _check_draft(schema, found)
    if policy.singled_out_share >= 1:
        found.warn(
            "/singled_out_share", "singles-out-everybody",
            "Columns that no requirement judges may single out every record.", "Give a share below 1.",
        )  # fmt: skip
    _check_exemptions(policy, found)


def _check_draft(schema: PolicySchema, found: Findings) -> None:
    if not schema.attributes:
        found.warn(
            "/schema/attributes", "draft-schema",
            "The schema names no column yet: every verdict is an error until it does.",
            "Fill it: python -m app policy schema POLICY TABLE proposes a role for every column.",
        )  # fmt: skip
    elif schema.to_confirm:
        found.warn(
            "/schema/to_confirm", "draft-schema",
            f"Nobody has confirmed the roles of: {', '.join(schema.to_confirm)}. Every verdict is an error "
            "until somebody does.",
            "Look at each column, put its role right and take its name off this list.",
        )  # fmt: skip
    for number, name in enumerate(schema.to_confirm):
        if name not in schema.attributes:
            found.error(
                f"/schema/to_confirm/{number}", "unknown-column",
                f"The schema gives {name!r} no role that could be confirmed.",
                "Give it one under attributes.",
            )  # fmt: skip


def _check_exemptions(policy: Policy, found: Findings) -> None:
    schema, seen = policy.schema, set[str]()
    for number, exemption in enumerate(policy.not_covered):
        at = f"/not_covered/{number}"
        if not exemption.reason.strip():
            found.error(
                f"{at}/reason", "missing-reason", "The reason is empty.",
                "Say why the column may leave although no requirement judges it.",
            )  # fmt: skip
        for place, column in enumerate(exemption.columns):
            pointer = joined(f"{at}/columns", place)
            if column in seen:
                found.error(
                    pointer, "duplicate", f"The column {column!r} has a reason before it.", "Give one reason."
                )
            seen.add(column)
            given = None if schema is None else schema.role_of(column)
            if schema is not None and not schema.is_draft and (given is None or given[0] == "dropped"):
                found.error(
                    pointer, "wrong-role", f"By the policy's schema {column!r} is never released.",
                    "Leave it out, or give it a role.",
                )  # fmt: skip
