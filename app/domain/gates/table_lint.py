"""What can be said of a policy beside a table: roles that its columns do not bear out.

By the functions of the check that every verdict begins with, on the table as it is. Columns are named, kinds
and shares told; never a value.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from app.domain.direct_identifiers.recognition import RecognisedKind
from app.domain.errors import joined
from app.domain.gates.coverage import Recognise, ReleasedColumn, coverage_of, reading_of
from app.domain.policies.findings import Findings
from app.domain.policies.policy import Policy, with_coverage
from app.domain.policies.reading import Columns
from app.domain.policies.schema import DISCLOSED_ROLES

Identifiers = Mapping[str, Iterable[RecognisedKind]]
"""Column → the kinds of direct identifiers that it looks like."""

_SHUT_OUT: Final = ("identifier", "person", "dropped")
_AT: Final = "/schema/attributes"


def check_columns(
    policy: Policy, columns: Collection[str], identifiers: Identifiers, found: Findings
) -> None:
    """Note columns that only the table or only the schema has, and roles that their texts contradict.

    A policy without a schema gives no column a role; then only identifiers are noted.
    """
    schema = policy.schema
    for name, role in ({} if schema is None else schema.attributes).items():
        if name not in columns and role != "dropped":
            found.warn(
                joined(_AT, name), "absent-column", f"The table has no column {name!r}.",
                "Take the name as the table writes it, upper and lower case included, or leave it out.",
            )  # fmt: skip
    for name in columns:
        given = None if schema is None else schema.role_of(name)
        if schema is not None and given is None:
            found.warn(
                _AT, "unnamed-column",
                f"The schema gives no role to {name!r}: a dataset that discloses it is refused.",
                "Give it a role; dropped if it is never released.",
            )  # fmt: skip
        if given is None or given[0] not in _SHUT_OUT:
            _check_identifiers(name, None if given is None else given[0], identifiers.get(name, ()), found)


def check_singled_out(
    policy: Policy, columns: Sequence[ReleasedColumn], recognise: Recognise, found: Findings
) -> None:
    """Note disclosed columns that single out too many as they are, and by which nothing bounds telling apart.

    It is supposed that dictionaries carry every quasi-identifier, and that the sensitivity profile weighs
    every column: of both a policy knows nothing.
    """
    disclosed = [own for own in columns if own.role in DISCLOSED_ROLES]
    if not disclosed:
        return
    roles = {
        role: frozenset(own.name for own in disclosed if own.role == role) for role in sorted(DISCLOSED_ROLES)
    }
    quasi = roles["quasi_identifier"]
    known = Columns(
        quasi_identifiers=quasi,
        sensitive=roles["sensitive"],
        carried={slot.name: quasi for slot in policy.dictionaries},
        weighed=quasi | roles["sensitive"],
    )
    policy = with_coverage(policy)
    readings = {own.id: reading_of(policy, own, known) for own in policy.requirements}
    coverage = coverage_of(policy, disclosed, readings, recognise)
    for own in coverage.uncovered:
        if own.why not in ("singles_out", "single_out_together"):
            continue
        named = ", ".join(map(repr, own.columns))
        together = " together" if len(own.columns) > 1 else ""
        found.warn(
            joined(_AT, own.columns[0]), "singles-out",
            f"No blocking requirement bounds telling records apart by {named}{together}, which in this table "
            f"single out {own.singled_out / coverage.records:.2%} of the records; "
            f"{coverage.allowed_share:.4g} may be.",
            "Have it generalised or dropped, let k-anonymity or the like judge it, or name it under "
            "not_covered with the reason why it may leave.",
        )  # fmt: skip


def _check_identifiers(
    name: str, role: str | None, identifiers: Iterable[RecognisedKind], found: Findings
) -> None:
    likely = [own for own in identifiers if own.is_direct_identifier]
    if not likely:
        return
    kinds = ", ".join(f"{own.share:.1%} {own.kind.replace('_', ' ')}" for own in likely)
    has = "has no role" if role is None else f"has the role {role}"
    found.warn(
        _AT if role is None else joined(_AT, name), "looks-like-identifier",
        f"The column {name!r} looks like a direct identifier ({kinds}) and {has}.",
        "Give it the role identifier, or dropped, unless it is none.",
    )  # fmt: skip
