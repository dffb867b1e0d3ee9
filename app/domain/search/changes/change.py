"""What a change of a rule is asked to meet, and what is found."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from app.domain.criteria.class_suppression import ClassSuppression
from app.domain.rules.rule import Rule

Levels = tuple[int, ...]

FOUND: Final = "found"
NONE_EXISTS: Final = "none_exists"
NOT_FOUND: Final = "not_found"

ChangeStatus = Literal["found", "none_exists", "not_found"]


class Candidate(Protocol):
    """A rule that a demand is asked about."""

    @property
    def levels(self) -> Levels:
        """One per attribute of the table: every record is generalised at least so far."""

    @property
    def withholds(self) -> bool:
        """Whether records are withheld beside it."""

    @property
    def rule(self) -> Rule:
        """The rule itself, made when it is first asked for."""


@dataclass(frozen=True)
class Answer:
    """What a demand says of a candidate.

    Attributes
    ----------
    holds
        The candidate meets it.
    refutes_below
        Neither the candidate nor any with no greater level anywhere meets it; never of one that withholds.
    """

    holds: bool
    refutes_below: bool = False


class Asked(Protocol):
    """A demand."""

    @property
    def cost(self) -> float:
        """Of an answer, in any unit that all demands share: the cheapest is asked first."""

    @property
    def monotone(self) -> bool:
        """Whether a rule that passes still does when it is raised further."""

    @property
    def refutes(self) -> bool:
        """Whether an answer may refute what is below a candidate."""

    def answer(self, candidate: Candidate) -> Answer:
        """Whether a candidate meets the demand, and what that refutes."""


@dataclass(frozen=True)
class Demand:
    """A demand of which nothing is known but whether rules meet it.

    ``passes`` says so of a rule; None is that it cannot be known: the rule is none that passes, and nothing
    follows for others. ``cost`` and ``monotone`` are as of any demand.
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
        return Answer(holds is True, self.monotone and holds is False and not candidate.withholds)


@dataclass(frozen=True)
class Withholding:
    """What a change may withhold beside generalising: classes that fail, with at most ``limit`` records.

    Records that the rule withholds wholly by itself are not counted.
    """

    classes: ClassSuppression
    limit: int


@dataclass(frozen=True, eq=False)
class Change:
    """The change of least loss of utility with which a rule meets all demands.

    Attributes
    ----------
    status
        ``none_exists`` only if that is proven; ``not_found`` if the search ended before it found any.
    proven
        Whether no other change loses less, or that there is none.
    levels
        Attributes that are raised: every record is generalised at least so far. Empty if nothing has to be.
    rule
        The changed rule; what it withholds beside the levels is in it.
    withholding
        What is withheld after generalising, None if nothing.
    suppressed_records
        Records that are withheld by it.
    utility_before, utility_after
        Means over the records, by their weights.
    examined
        Rules of which at least one demand was asked.
    complete
        False if the search was halted: stopped elsewhere, it may answer differently.
    """

    status: ChangeStatus
    proven: bool
    levels: Mapping[str, int] | None
    rule: Rule | None
    withholding: ClassSuppression | None
    suppressed_records: int
    utility_before: float
    utility_after: float | None
    examined: int
    complete: bool
