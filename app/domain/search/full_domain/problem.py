"""The rule of least information loss among those that meet privacy criteria: what is asked and found.

And what criteria say before a rule is looked at: that none can meet them, or how they prune.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.domain.classes.quasi_part import level_of_persons
from app.domain.errors import Fault, InvalidInput, having, joined, pointing_into, refuse
from app.domain.losses.loss import EQUAL, LossChoice
from app.domain.models.criterion import Criterion
from app.domain.models.judging import JudgedClasses
from app.domain.models.k_anonymity import KAnonymity
from app.domain.rules.rule import Rule, TableRule
from app.domain.search.objectives import MOST_CRITERIA, MinLoss
from app.domain.search.outcome import Bounds, Counters, Status
from app.domain.search.problem import Scope
from app.domain.tables.numbers import highest_accepted, to_json_number
from app.domain.tables.table import Table


@dataclass(frozen=True)
class AnonymityProblem(MinLoss):
    """Least loss under privacy criteria with suppression of whole classes.

    Records with equal disclosed quasi-identifiers (⊥ equal to ⊥) are a class. Classes that fail a criterion
    are suppressed whole, then, as far as table-wide criteria ask for it, the smallest classes. As soon as
    anybody is suppressed, so are all records of which nothing would be disclosed. A rule is allowed if that
    takes no more records than the limit. Suppressed records count in the loss as cells of ⊥.

    Raises
    ------
    InvalidInput
        A number out of range, or too few or too many criteria.
    """

    scope: Scope = "table_level"
    shows_every: bool = False
    """Whether no quasi-identifier may be at its highest level, of one level per attribute for the table."""

    def __post_init__(self) -> None:
        if not 1 <= len(self.privacy) <= MOST_CRITERIA:
            raise InvalidInput.of(
                "/objective/privacy", "out-of-range", f"Give 1 to {MOST_CRITERIA} privacy criteria."
            )
        if self.minimal_rules and (self.local_recoding or self.scope == "record_level"):
            raise InvalidInput.of(
                "/objective/minimal_rules",
                "not-applicable",
                "Minimal rules are those with one level per attribute for the table.",
                "Leave it out, or ask for table_level without local_recoding.",
            )
        if self.local_recoding or self.scope == "record_level":
            _require_sum_of_cells(self.loss)
        if not 0 <= self.suppression_limit <= 1:
            raise InvalidInput.of(
                "/objective/suppression_limit", "out-of-range", "suppression_limit must be between 0 and 1."
            )

    @classmethod
    def of(cls, objective: MinLoss, scope: Scope) -> AnonymityProblem:
        """The problem that an objective poses; InvalidInput for what rules of that scope do not have."""
        return cls(
            **{own.name: getattr(objective, own.name) for own in dataclasses.fields(MinLoss)}, scope=scope
        )

    def levels_of_sensitive(self, table: Table) -> dict[str, int]:
        """The levels at which sensitive attributes leave, 0 where none is named."""
        asked, at = self.persons_per_value, "/objective/persons_per_value"
        known = f"Sensitive are: {', '.join(sorted(table.sensitive)) or 'none'}."
        refuse(
            [
                Fault(joined(at, name), "not-sensitive", f"{name!r} is no sensitive attribute.", known)
                for name in asked
                if name not in table.sensitive
            ]
        )
        spare = self.suppression_allowed(table.n_records)
        return {name: level_of_persons(table, name, persons, spare) for name, persons in asked.items()}

    def suppression_allowed(self, n_records: int) -> int:
        """Records that may be suppressed: the limit's share of ``n_records``, rounded down."""
        return min(n_records, math.floor(highest_accepted(self.suppression_limit * n_records)))

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form, for results and hashes; only what is not as usual beside the criteria."""
        options = {name: getattr(self, name) for name in _UNLESS_USUAL}
        # The kind alone where nothing else is unusual
        loss = self.loss
        chosen = {
            "leaf_domain": loss.leaf_domain,
            "numeric": list(loss.numeric) or None,
            "weights": dict(sorted(loss.weights.items())) or None,
            "aggregate": loss.aggregate,
            "suppression_factor": None if loss.suppression_factor == EQUAL else loss.suppression_factor,
        }
        more = {name: value for name, value in chosen.items() if value is not None}
        return {
            "objective": {
                "kind": "min_loss",
                "loss": ({"kind": loss.kind, **more} if more else loss.kind),
                "privacy": [criterion_document(criterion) for criterion in self.privacy],
                "suppression_limit": float(self.suppression_limit),
                **{name: own for name, own in options.items() if own != getattr(MinLoss, name)},
                **({"persons_per_value": dict(self.persons_per_value)} if self.persons_per_value else {}),
            },
            "scope": self.scope,
        }


_UNLESS_USUAL: Final = ("missing", "suppressed", "local_recoding", "minimal_rules")


def _require_sum_of_cells(loss: LossChoice) -> None:
    """Refuse losses that moves of single records are not chosen by."""
    if loss.kind == "squared_error":
        raise InvalidInput.of(
            "/objective/loss/kind",
            "not-applicable",
            "Squared errors are minimised by rules with one level per attribute for the table.",
            "Choose another loss, or ask for table_level without local_recoding.",
        )
    if loss.is_ranked:
        option, why = "aggregate", "The greatest loss of an attribute, and ranks, are minimised by"
    elif loss.suppression_factor != EQUAL:
        option, why = "suppression_factor", "Suppressed cells count otherwise than generalised ones only for"
    else:
        return
    raise InvalidInput.of(
        f"/objective/loss/{option}",
        "not-applicable",
        f"{why} rules with one level per attribute for the table.",
        "Leave it out, or ask for table_level without local_recoding.",
    )


def criterion_document(criterion: Criterion) -> dict[str, Any]:
    """Plain JSON-able form of a criterion, every field spelled out that its version has."""
    fields: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(criterion)))
    if fields.get("version") == 1:
        fields = {name: own for name, own in fields.items() if name not in ("version", "missing_sensitive")}
    return {"kind": criterion.kind, **fields}


@dataclass(frozen=True)
class Attained:
    """What the disclosed classes attain of a criterion; ``value`` is None if there is no class."""

    criterion: Criterion
    value: float | None

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form."""
        shown = None if self.value is None else to_json_number(self.value)
        return {
            "criterion": criterion_document(self.criterion),
            "attained": shown,
            "guarantee": self.criterion.guarantee,
        }


@dataclass(frozen=True, kw_only=True)
class BlockFound:
    """What a block found: the loss of the best rule or recoding, and the classes that it discloses.

    ``smallest_class`` is None if all records are suppressed; ``attained`` is per criterion; ``visited`` are
    steps of the budget.
    """

    loss: float = math.inf
    suppressed: int = 0
    classes: int = 0
    smallest_class: int | None = None
    attained: Sequence[float | None] = ()
    complete: bool = True
    visited: int = 0

    def encoded(self) -> bytes:
        """As JSON."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True).encode()


def told_of(remaining: JudgedClasses, privacy: Sequence[Criterion]) -> dict[str, Any]:
    """The fields of :class:`BlockFound` that tell of the disclosed classes."""
    return {
        "classes": remaining.n_classes,
        "smallest_class": int(remaining.sizes.min()) if remaining.n_classes else None,
        "attained": [own.attained(remaining) for own in privacy],
    }


@dataclass(frozen=True)
class Refusal:
    """Why a criterion cannot be met; ``criterion`` is None if each could be met alone."""

    criterion: Criterion | None
    reason: str

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form."""
        document = None if self.criterion is None else criterion_document(self.criterion)
        return {"criterion": document, "reason": self.reason}


@dataclass(frozen=True)
class Partitioned:
    """Into how many classes records were partitioned; of BUREL by how many buckets, and with which margin.

    Of ``silent_records`` no quasi-identifier is shown.
    """

    parts: int
    silent_records: int
    buckets: int | None = None
    slack_margin: float | None = None


@dataclass(frozen=True)
class AnonymityOutcome:
    """The answer to an :class:`AnonymityProblem`.

    Attributes
    ----------
    status
        ``infeasible`` if no rule is allowed; ``heuristic`` without a rule if a search ended before it found
        one.
    smallest_class, classes
        Of the records that remain; no smallest class if none remains.
    privacy
        What the classes attain of each criterion.
    refusals
        Why no rule is allowed; known before any is looked at where a criterion is named.
    withheld_for_missing
        Of the suppressed records those with a missing quasi-identifier, where that is the reason.
    rounds
        Of local recoding the levels of each round, and how many records it disclosed.
    table_level_loss
        Where records have levels of their own, the loss of the best rule for the whole table, None if none is
        allowed.
    minimal
        All allowed rules below which none is allowed; None if they were not asked for, or the search ended.
    attribute_losses
        Where attributes or suppressed cells count otherwise than the loss is defined, or a rank is asked for:
        what each quasi-identifier loses under a table-level rule, times its weight of mean 1. The loss of a
        rank is the greatest of them.
    partition
        Of a solver that partitions the records what it made, before classes that show the same were joined.
    bounds
        Of the loss of the best rule there is.
    complete
        False if the search was halted: stopped elsewhere, it may answer differently.
    counters
        ``visited_nodes`` and ``risk_evaluations`` are rules whose classes were counted,
        ``utility_evaluations`` those whose loss with suppression was computed.
    """

    problem: AnonymityProblem
    solver: str
    status: Status
    rule: Rule | None
    loss: float | None
    suppressed_records: int | None
    suppression_allowed: int
    smallest_class: int | None
    classes: int | None
    bounds: Bounds | None
    complete: bool
    n_rules: int
    counters: Counters
    attributes: tuple[str, ...]
    privacy: tuple[Attained, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    withheld_for_missing: int = 0
    rounds: tuple[tuple[TableRule, int], ...] = ()
    table_level_loss: float | None = None
    minimal: tuple[TableRule, ...] | None = None
    attribute_losses: tuple[tuple[str, float], ...] | None = None
    partition: Partitioned | None = None

    @property
    def relative_gap(self) -> float | None:
        """Gap as a share of the loss: 0 when proven."""
        if self.bounds is None or self.loss is None:
            return None
        return self.bounds.gap / self.loss if self.bounds.gap else 0.0

    def to_document(self) -> dict[str, Any]:
        """Plain JSON-able form without ids and times."""
        levels = self._levels(self.rule) if isinstance(self.rule, TableRule) else None
        losses = self.attribute_losses
        return {
            **self.problem.to_document(),
            "solver": self.solver,
            "status": self.status,
            "levels": levels,
            "loss": self.loss,
            "suppressed_records": self.suppressed_records,
            "suppression_allowed": self.suppression_allowed,
            "smallest_class": self.smallest_class,
            "classes": self.classes,
            "privacy": [attained.to_document() for attained in self.privacy],
            "infeasible_because": [refusal.to_document() for refusal in self.refusals],
            "withheld_for_missing": self.withheld_for_missing,
            "rounds": [{"levels": self._levels(rule), "records": records} for rule, records in self.rounds],
            "table_level_loss": self.table_level_loss,
            **({} if losses is None else {"attribute_losses": dict(losses)}),
            **({} if self.partition is None else {"partition": dataclasses.asdict(self.partition)}),
            "minimal_rules": None if self.minimal is None else [self._levels(own) for own in self.minimal],
            "lower_bound": None if self.bounds is None else to_json_number(self.bounds.lower),
            "gap": None if self.bounds is None else to_json_number(self.bounds.gap),
            "relative_gap": self.relative_gap,
            "complete": self.complete,
            "n_rules": self.n_rules,
            "visited_nodes": self.counters.visited_nodes,
            "risk_evaluations": self.counters.risk_evaluations,
            "utility_evaluations": self.counters.utility_evaluations,
        }

    def _levels(self, rule: TableRule) -> dict[str, int]:
        return dict(zip(self.attributes, rule.levels, strict=True))


def refusals_of(
    problem: AnonymityProblem, whole: JudgedClasses | None, allowed: int, left_out: int, *, overlaps: bool
) -> tuple[Refusal, ...]:
    """Why no rule is allowed, if that is known.

    Parameters
    ----------
    whole
        The records that are not left out as the classes of the most general rule; None: there are none.
    allowed, left_out
        Records that may be suppressed, and that every rule suppresses for a missing value.
    overlaps
        Whether a missing value matches everything, and there is one.
    """
    found = []
    for criterion in problem.privacy:
        if whole is None:
            break
        own, reason = _lost_as_one_class(criterion, whole, overlaps=overlaps)
        least = left_out + own
        if own and criterion.table_wide and problem.suppressed == "own_block":
            # Who is suppressed has to meet it with the others, and all of them are no better than one.
            found.append(Refusal(criterion, reason))
        elif own and least > allowed:
            said = f"{reason} {_of_the_limit(least, allowed)} {criterion.alternative(whole)}"
            found.append(Refusal(criterion, said.rstrip()))
    if not found and left_out > allowed:
        reason = f"{having(left_out, 'record')} a missing quasi-identifier and would be suppressed."
        found.append(Refusal(None, f"{reason} {_of_the_limit(left_out, allowed)}"))
    return tuple(found)


def _lost_as_one_class(criterion: Criterion, whole: JudgedClasses, *, overlaps: bool) -> tuple[int, str]:
    """Records that no rule keeps, known from all of them as one class, and why."""
    cannot = "The criterion cannot be met."
    everybody = int(whole.records.sum())
    if criterion.table_wide:
        reason = criterion.impossible(whole)
        return (0, "") if reason is None else (everybody, reason)
    if not overlaps:
        return int(criterion.unavoidable(whole).sum()), criterion.impossible(whole) or cannot
    # Classes that overlap may all meet what their records as one class do not.
    for own in (criterion, *criterion.implied(whole)):
        if own.merging == "fewer_fail" and own.failing(whole).any():
            return everybody, own.impossible(whole) or cannot
    return 0, ""


def _of_the_limit(least: int, allowed: int) -> str:
    return f"At least {least} records would have to be suppressed, and {allowed} may be."


def sorted_criteria(
    privacy: Sequence[Criterion], whole: JudgedClasses | None
) -> tuple[list[Criterion], list[Criterion]]:
    """Criteria that generalising never breaks for a record, implied ones included, and the others.

    ``whole`` are the records as one class, None if there are none. What is wrong with a criterion for this
    table is raised.
    """
    given = [own for own in privacy if own.merging == "fewer_fail" and not own.table_wide]
    others = [own for own in privacy if own not in given]
    implied: list[Criterion] = []
    for i, own in enumerate(privacy):
        with pointing_into(f"/objective/privacy/{i}"):
            if whole is None:
                break
            implied += own.implied(whole)
            # What is wrong with a criterion for this table shows when it is asked.
            own.failing(whole)
    k = max(own.least_class_size or 1 for own in (KAnonymity(1), *given, *implied))
    rest = [own for own in dict.fromkeys((*given, *implied)) if own.least_class_size is None]
    return [KAnonymity(k), *rest], others
