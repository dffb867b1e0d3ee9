"""What can be said of the queries of a policy's secrets, before there is a schema and with one."""

from __future__ import annotations

from app.domain.errors import Fault, InvalidInput
from app.domain.policies.findings import Findings, Lint
from app.domain.policies.lint import lint
from app.domain.policies.perfect_privacy_condition import PerfectPrivacyCondition
from app.domain.policies.policy import Policy
from app.domain.views.datalog import parse_query
from app.domain.views.relational_schema import RelationalSchema
from app.domain.views.work import Budget
from app.services.views.pair_verdicts import is_constant
from app.services.views.reading import WrittenQuery, read_schema, reader

_NO_RELATIONS = RelationalSchema({})
_UNKNOWN_RELATION = "unknown-relation"


def lint_with_queries(policy: Policy) -> Lint:
    """What is wrong with a policy, and what is unusual; queries of secrets are read as well."""
    found = Findings()
    for number, own in enumerate(policy.requirements):
        if isinstance(own.condition, PerfectPrivacyCondition):
            _check_queries(own.condition, f"/requirements/{number}/condition", found)
    of_texts, of_queries = lint(policy), found.lint(policy.format)
    return Lint((*of_texts.errors, *of_queries.errors), of_texts.warnings)


def _check_queries(condition: PerfectPrivacyCondition, pointer: str, found: Findings) -> None:
    for number, own in enumerate(condition.secrets):
        at = f"{pointer}/secrets/{number}/query"
        fault, is_constant = _read(own.query, condition)
        if fault is not None:
            found.error(at, fault.code, fault.message, fault.remedy)
        elif is_constant:
            found.error(
                at, "constant-secret",
                "The secret reads no relation: its answer is always the same, and every view is private "
                "beside it.",
                "Write the query whose answer is to stay secret.",
            )  # fmt: skip


def lint_over(policy: Policy, tables: str) -> tuple[Fault, ...]:
    """What is wrong with the secrets of a policy over the tables of CREATE TABLE statements.

    What the tables do not have, and secrets that are proved to depend on no row of theirs. InvalidInput for
    statements that cannot be read.
    """
    found = Findings()
    for number, own in enumerate(policy.requirements):
        if isinstance(own.condition, PerfectPrivacyCondition):
            _check_over(own.condition, f"/requirements/{number}/condition", tables, found)
    return found.lint(policy.format).errors


def _check_over(condition: PerfectPrivacyCondition, pointer: str, tables: str, found: Findings) -> None:
    schema = read_schema({}, (), tables, condition.dialect)
    read = reader(condition.language, condition.dialect, schema)
    for number, own in enumerate(condition.secrets):
        at = f"{pointer}/secrets/{number}/query"
        try:
            query = read(WrittenQuery(own.id, own.query))
        except InvalidInput as error:
            found.error(at, error.faults[0].code, error.faults[0].message, error.faults[0].remedy)
            continue
        if is_constant(query, schema.relational, Budget(), lambda: False):
            found.error(
                at, "constant-secret",
                "The secret depends on no row of this schema: every view is private beside it.",
                "Look at its conditions: they exclude each other, a column's values, or what a key or a "
                "dependency allows.",
            )  # fmt: skip


def _read(query: str, condition: PerfectPrivacyCondition) -> tuple[Fault | None, bool]:
    """What is wrong with the query as a text of its language, and whether it reads no relation."""
    try:
        if condition.language == "sql":
            from app.services.views.sql.queries import reads_tables

            return None, not reads_tables(query, condition.dialect)
        parse_query(query, _NO_RELATIONS)
    except InvalidInput as error:
        # Of a query that is well written, all that can be wrong without a schema is that it needs one.
        fault = error.faults[0]
        return (None if fault.code == _UNKNOWN_RELATION else fault), False
    return None, True
