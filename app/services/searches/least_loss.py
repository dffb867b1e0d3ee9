"""What a search for the least loss tells: the document of its result, and of the rule that it found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app.domain.models.class_suppression import ClassSuppression, SmallClasses
from app.domain.models.suppression import Order
from app.domain.rules.rule import Rule, TableRule, apply
from app.domain.search.full_domain.problem import AnonymityOutcome, AnonymityProblem
from app.domain.search.least_loss import LeastLossPlan
from app.domain.tables.masks import rows_without_values
from app.domain.tables.table import Table
from app.services.resources import JsonObject
from app.services.rules.rule_definitions import LEAST_SUPPRESS_CLASSES_BELOW
from app.services.rules.rule_documents import population_suppressing_rule, rule_document, suppressing_rule

if TYPE_CHECKING:
    from app.domain.search.alternatives.plan import AlternativesPlan


def result_of_anonymity(
    outcome: AnonymityOutcome, table: Table, search: LeastLossPlan, dictionary_sha256: str | None = None
) -> JsonObject:
    """The result document of a search for the least loss: no ids, no times.

    ``dictionary_sha256`` is of the population, where criteria compare with one.
    """
    rule = None
    if outcome.rule is not None:
        rule = rule_of_least_loss(outcome, outcome.rule, table, search, dictionary_sha256)
    left_out = ("levels", "n_rules", "complete")
    return {
        **{key: value for key, value in outcome.to_document().items() if key not in left_out},
        "rule": rule,
        "rules": outcome.n_rules,
    }


def rule_of_least_loss(
    outcome: AnonymityOutcome,
    rule: Rule,
    table: Table,
    search: LeastLossPlan | AlternativesPlan,
    dictionary_sha256: str | None,
) -> JsonObject:
    """The document of the rule, with what it suppresses beside its levels."""
    problem = outcome.problem
    if not isinstance(rule, TableRule) or not (outcome.suppression_allowed or outcome.suppressed_records):
        return rule_document(rule, outcome.attributes)
    is_any_silent = rows_without_values(apply(rule, table)[:, table.quasi_identifiers]).any()
    if is_any_silent and not outcome.suppressed_records:
        # Readers of a rule that suppresses classes take whoever shows nothing for suppressed.
        return rule_document(rule, outcome.attributes)
    order: Order = "class_by_class" if any(own.table_wide for own in problem.privacy) else "size_by_size"
    failing = ClassSuppression(problem.privacy, problem.missing, problem.suppressed, order)
    if failing.needs_population and dictionary_sha256 is not None:
        records = search.suppressed_records(rule.levels)
        return population_suppressing_rule(table, rule, failing, records, dictionary_sha256).document
    # Small classes alone would say nothing of those who are suppressed with them.
    below = None if is_any_silent else suppression_below(table, problem)
    if below is None:
        return suppressing_rule(table, rule, failing).document
    return (
        rule_document(rule, outcome.attributes)
        if below < LEAST_SUPPRESS_CLASSES_BELOW
        else suppressing_rule(table, rule, SmallClasses(below)).document
    )


def suppression_below(table: Table, problem: AnonymityProblem) -> int | None:
    """The least size of classes where that is all that suppression looks at."""
    sizes = [own.least_class_size for own in problem.privacy if own.least_class_size is not None]
    is_plain = (problem.missing, problem.suppressed) == ("own_category", "excluded")
    return max(sizes) if is_plain and len(sizes) == len(problem.privacy) and not table.sensitive else None
