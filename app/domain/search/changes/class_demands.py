"""What privacy criteria say of table-level changes, whom no more specific rule can keep included.

Classes of neighbouring rules are counted from one another, which is far quicker than judging each release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from app.domain.classes.grouping import Bools, Missing, Suppressed
from app.domain.criteria.criterion import Criterion
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.rules.rule import Rule, TableRule, apply
from app.domain.search.anonymity.problem import AnonymityProblem
from app.domain.search.anonymity.verdicts import Judge
from app.domain.search.changes.change import Answer, Asked, Candidate, Demand, Levels
from app.domain.tables import Table


@dataclass(frozen=True)
class ClassVerdict:
    """What is known of one level vector.

    Attributes
    ----------
    allowed
        At most the limit's records are in classes that have to be withheld.
    refutes_below
        Neither here nor at any vector with no greater level anywhere.
    withheld
        (n,) these records; None if it is not allowed.
    """

    allowed: bool
    refutes_below: bool
    withheld: Bools | None


class ClassJudge:
    """Judges the classes that a table-level rule makes when it is raised.

    Parameters
    ----------
    rule
        The rule before it is raised.
    limit
        Share of the records that may be in classes that fail.
    withholds
        Whether these classes are withheld, with whoever shows nothing, and count together.
    """

    def __init__(
        self,
        table: Table,
        rule: TableRule,
        criteria: Sequence[Criterion],
        limit: float,
        *,
        missing: Missing = "own_category",
        suppressed: Suppressed = "excluded",
        dictionary: Dictionary | None = None,
        withholds: bool = False,
    ) -> None:
        self._table = table
        self._rule = rule
        self._quasi = table.quasi_identifiers
        of_values = any(criterion.is_of_values for criterion in criteria)
        self._sensitive = [table.position(name) for name in table.sensitive] if of_values else []
        problem = AnonymityProblem(
            tuple(criteria), suppression_limit=limit, missing=missing, suppressed=suppressed
        )
        shown = _with_sensitive_shown(table, rule, self._sensitive)
        self._judge = Judge(shown, problem, dictionary, withholds=withholds, order="size_by_size")

    def knows(self, levels: Levels) -> bool:
        """Whether it judges a vector: sensitive values, if they matter, are as the rule shows them."""
        return all(levels[j] <= self._rule.levels[j] for j in self._sensitive)

    def of(self, levels: Levels) -> ClassVerdict:
        """The verdict on the rule raised to the levels; they must be known."""
        own = tuple(max(self._rule.levels[j], levels[j]) for j in self._quasi)
        verdict = self._judge.judge(own)
        if verdict.unavoidable > self._judge.allowed:
            return ClassVerdict(False, True, None)
        if not verdict.allowed:
            return ClassVerdict(False, False, None)
        rows = self._judge.withheld_rows(own, verdict)
        return ClassVerdict(True, False, rows[self._judge.table.reduced.inverse])


def _with_sensitive_shown(table: Table, rule: TableRule, sensitive: Sequence[int]) -> Table:
    """The table with sensitive values as the rule shows them."""
    if not any(rule.levels[j] for j in sensitive):
        return table
    codes = table.codes.copy(order="F")
    codes[:, sensitive] = apply(rule, table)[:, sensitive]
    return Table(table.attributes, table.hierarchies, codes, table.entity_ids, table.weights, table.sensitive)


@dataclass(frozen=True, eq=False)
class ClassDemand:
    """A demand on classes: asked of the judge first, and of whoever has the last word where it says yes."""

    judge: ClassJudge
    passes: Callable[[Rule], bool | None]
    cost: float = 1.0
    monotone: bool = False
    refutes: ClassVar[bool] = True

    def answer(self, candidate: Candidate) -> Answer:
        """Whether the candidate meets it."""
        if candidate.withholds or not self.judge.knows(candidate.levels):
            return Answer(bool(self.passes(candidate.rule)))
        verdict = self.judge.of(candidate.levels)
        return Answer(verdict.allowed and bool(self.passes(candidate.rule)), verdict.refutes_below)


def privacy_demand(
    table: Table,
    rule: Rule,
    criteria: Sequence[Criterion],
    failing_share: float,
    passes: Callable[[Rule], bool | None],
    dictionary: Dictionary | None = None,
    cost: float = 1.0,
    missing: Missing = "own_category",
) -> Asked:
    """The demand that at most a share of the records is in classes that fail one of the criteria.

    With ``missing: excluded`` whoever lacks a quasi-identifier fails, as long as the rule shows anything.

    ``passes`` has the last word on a rule that is raised from ``rule``, where the classes do not say no.
    InvalidInput where a criterion does not fit the table.
    """
    plain = all(own.merging == "fewer_fail" and not own.table_wide for own in criteria)
    # Raising a sensitive attribute may merge the values that a criterion wants to differ; of classes that
    # overlap little is known.
    monotone = plain and not table.sensitive and missing != "matches_everything"
    if not isinstance(rule, TableRule):
        return Demand(passes, cost, monotone)
    # A table-level rule withholds nobody, so that there is no block of whom it withholds.
    judge = ClassJudge(table, rule, criteria, failing_share, missing=missing, dictionary=dictionary)
    return ClassDemand(judge, passes, cost, monotone)
