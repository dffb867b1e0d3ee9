"""What a change of a rule is asked to meet, and what privacy criteria say of table-level changes.

Classes of neighbouring rules are counted from one another, which is far quicker than judging each release.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

from app.domain.arrays import Bools, Levels
from app.domain.classes.grouping import Missing, Suppressed
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.models.class_suppression import ClassSuppression
from app.domain.models.criterion import Criterion, merging_of
from app.domain.rules.rule import Rule, TableRule, apply
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.table import Table

ChangeStatus = Literal["found", "none_exists", "not_found"]


class Candidate(Protocol):
    """A rule of which it is asked whether it meets a requirement."""

    @property
    def levels(self) -> Levels:
        """One per attribute of the table: every record is generalised at least so far."""

    @property
    def suppresses(self) -> bool:
        """Whether it suppresses records besides."""

    @property
    def rule(self) -> Rule:
        """The rule itself, made when it is first asked for."""


@dataclass(frozen=True)
class Answer:
    """What a requirement says of a candidate.

    Attributes
    ----------
    holds
        The candidate meets it.
    refutes_below
        Neither the candidate nor any with no greater level anywhere meets it; never of one that suppresses
        records.
    """

    holds: bool
    refutes_below: bool = False


class ChangeRequirement(Protocol):
    """What the changed rule has to meet."""

    @property
    def cost(self) -> float:
        """Of an answer, in any unit that all requirements share: the cheapest is asked first."""

    @property
    def monotone(self) -> bool:
        """Whether a rule that passes still does when it is raised further."""

    @property
    def refutes(self) -> bool:
        """Whether an answer may refute what is below a candidate."""

    def answer(self, candidate: Candidate) -> Answer:
        """Whether a candidate meets the requirement, and what that refutes."""


@dataclass(frozen=True)
class OpaqueRequirement:
    """A requirement of which nothing is known but whether rules meet it.

    ``passes`` says so of a rule; None is that it cannot be known: the rule is none that passes, and nothing
    follows for others. ``cost`` and ``monotone`` are as of any requirement.
    """

    passes: Callable[[Rule], bool | None]
    cost: float = 1.0
    monotone: bool = False

    @property
    def refutes(self) -> bool:
        """A monotone one that fails refutes all that is more specific."""
        return self.monotone

    def answer(self, candidate: Candidate) -> Answer:
        """Whether the candidate meets it."""
        holds = self.passes(candidate.rule)
        return Answer(holds is True, self.monotone and holds is False and not candidate.suppresses)


@dataclass(frozen=True)
class AllowedSuppression:
    """What a change may suppress besides generalising: classes that fail, with at most ``limit`` records.

    Records that the rule itself suppresses wholly are not counted.
    """

    classes: ClassSuppression
    limit: int


@dataclass(frozen=True, eq=False)
class Change:
    """The change of least loss of utility with which a rule meets all requirements.

    Attributes
    ----------
    status
        ``none_exists`` only if that is proven; ``not_found`` if the search ended before it found any.
    proven
        Whether no other change loses less, or that there is none.
    levels
        Attributes that are raised: every record is generalised at least so far. Empty if nothing has to be.
    rule
        The changed rule, with what it suppresses besides the levels.
    suppression
        What is suppressed after generalising, None if nothing.
    suppressed_records
        Records that it suppresses.
    utility_before, utility_after
        Means over the records, by their weights.
    examined
        Rules on which at least one requirement was evaluated.
    complete
        False if the search was halted: stopped elsewhere, it may answer differently.
    """

    status: ChangeStatus
    proven: bool
    levels: Mapping[str, int] | None
    rule: Rule | None
    suppression: ClassSuppression | None
    suppressed_records: int
    utility_before: float
    utility_after: float | None
    examined: int
    complete: bool


@dataclass(frozen=True)
class ClassVerdict:
    """What is known of one level vector.

    Attributes
    ----------
    refutes_below
        Neither here nor at any vector with no greater level anywhere.
    suppressed
        (n,) records in classes that have to be; None if these are more than the limit.
    """

    refutes_below: bool
    suppressed: Bools | None


class ClassJudge:
    """Judges the classes that a table-level rule makes when it is raised.

    Parameters
    ----------
    rule
        The rule before it is raised.
    limit
        Share of the records that may be in classes that fail.
    suppresses
        Whether these classes are suppressed, with the records that show nothing, and count together.
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
        suppresses: bool = False,
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
        self._judge = Judge(shown, problem, dictionary, suppresses=suppresses, order="size_by_size")

    def knows(self, levels: Levels) -> bool:
        """Whether it judges a vector: sensitive values, if they matter, are as the rule shows them."""
        return all(levels[j] <= self._rule.levels[j] for j in self._sensitive)

    def of(self, levels: Levels) -> ClassVerdict:
        """The verdict on the rule raised to the levels; they must be known."""
        own = tuple(max(self._rule.levels[j], levels[j]) for j in self._quasi)
        verdict = self._judge.judge(own)
        if not verdict.allowed:
            return ClassVerdict(verdict.unavoidable > self._judge.allowed, None)
        rows = self._judge.suppressed_rows(own, verdict)
        return ClassVerdict(False, rows[self._judge.table.reduced.inverse])


def _with_sensitive_shown(table: Table, rule: TableRule, sensitive: Sequence[int]) -> Table:
    """The table with sensitive values as the rule shows them."""
    if not any(rule.levels[j] for j in sensitive):
        return table
    codes = table.codes.copy(order="F")
    codes[:, sensitive] = apply(rule, table)[:, sensitive]
    return replace(table, codes=codes)


@dataclass(frozen=True, eq=False)
class ClassRequirement:
    """A requirement on classes: asked of the judge first, and of ``passes`` where the judge says yes."""

    judge: ClassJudge
    passes: Callable[[Rule], bool | None]
    cost: float = 1.0
    monotone: bool = False
    refutes: ClassVar[bool] = True

    def answer(self, candidate: Candidate) -> Answer:
        """Whether the candidate meets it."""
        if candidate.suppresses or not self.judge.knows(candidate.levels):
            return Answer(bool(self.passes(candidate.rule)))
        verdict = self.judge.of(candidate.levels)
        holds = verdict.suppressed is not None and bool(self.passes(candidate.rule))
        return Answer(holds, verdict.refutes_below)


def privacy_requirement(
    table: Table,
    rule: Rule,
    criteria: Sequence[Criterion],
    failing_share: float,
    passes: Callable[[Rule], bool | None],
    dictionary: Dictionary | None = None,
    cost: float = 1.0,
    missing: Missing = "own_category",
) -> ChangeRequirement:
    """The requirement that at most a share of the records is in classes that fail one of the criteria.

    With ``missing: excluded`` records with a missing quasi-identifier fail, as long as the rule shows
    anything.

    ``passes`` has the last word on a rule that is raised from ``rule``, where the classes do not say no.
    InvalidInput where a criterion does not fit the table.
    """
    persons = table.persons is not None
    plain = all(merging_of(own, persons=persons) == "fewer_fail" and not own.table_wide for own in criteria)
    # Raising a sensitive attribute may merge the values that a criterion wants to differ; of classes that
    # overlap little is known.
    monotone = plain and not table.sensitive and missing != "matches_everything"
    is_unknown = persons and any(own.merging_by_persons is None for own in criteria)
    if is_unknown or not isinstance(rule, TableRule):
        return OpaqueRequirement(passes, cost, monotone)
    # A table-level rule suppresses no record, so that there is no block of suppressed ones.
    judge = ClassJudge(table, rule, criteria, failing_share, missing=missing, dictionary=dictionary)
    return ClassRequirement(judge, passes, cost, monotone)
