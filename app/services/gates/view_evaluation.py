"""An evaluation of views: every view against the secrets of every requirement, by the queries alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from time import monotonic
from typing import Any, Final

from app.documents import written
from app.domain.errors import Fault, InvalidInput
from app.domain.gates.verdicts import Outcome, verdict_of
from app.domain.policies.perfect_privacy_condition import PerfectPrivacyCondition
from app.domain.policies.policy import Requirement
from app.domain.search.budget import Halted, never
from app.services.fingerprints import plain
from app.services.gates.documents import VERSION, criterion_of_views
from app.services.gates.evaluation import EvaluationCost
from app.services.gates.evidence_values import TOLERANCE
from app.services.gates.requests import CriterionPlan
from app.services.gates.view_changes import SECONDS_OF_CHANGES, nearest_changes
from app.services.gates.view_subject import DECISION, LIMITS, ViewSubject, condition_of, view_sha256
from app.services.questions import Route
from app.services.resources import JsonObject
from app.services.views.key_readings import MEMBER
from app.services.views.view_checks import PAIR_SECONDS, ReadCheck, decided_of

SECONDS_OF_A_PAIR: Final = 0.004
SECONDS_OF_A_CHARACTER: Final = 4e-5
"""To read and to decide; measured on a warehouse of six tables, with some room."""
BYTES_OF_A_PAIR: Final = 4_000
MOST_NAMED: Final = 5
_KEPT: Final = (
    *("secret", "view", "verdict", MEMBER, "method", "reason_code", "explanation", "witness", "severity"),
    "keys_left_out",
)
_OPEN: Final = ("DISCLOSES", "UNKNOWN")
"""Verdicts on pairs that are not private, with the keys as the requirement has them."""
_NOT_COVERED: Final = (
    "Readers who already hold another answer are not covered, nor are rows that are correlated in other ways "
    "than by the declared keys and dependencies.",
    "Queries that are not among the views are not judged.",
)
_COVERAGE: Final[JsonObject] = {
    "outcome": "covered",
    "explanation": "No table leaves: every view is judged as a whole, by its query.",
    "records": None,
    "allowed_share": None,
    "to_confirm": [],
    "uncovered": [],
    "columns": [],
}


class ViewEvaluation:
    """The requirements of a policy on one set of views: their pairs, outcomes, and the verdict."""

    slots: tuple[str, ...] = ()

    def __init__(self, subject: ViewSubject) -> None:
        self.subject = subject
        self.complete = True
        """False if what was found depends on when the work was halted, or on how fast the machine is."""
        self._requirements = subject.policy.requirements
        self._found: dict[int, JsonObject] = {}
        self._seconds_of_changes = SECONDS_OF_CHANGES

    @property
    def n_criteria(self) -> int:
        """Requirements of the policy."""
        return len(self._requirements)

    @cached_property
    def plans(self) -> tuple[CriterionPlan, ...]:
        """What each requirement would take."""
        return tuple(
            CriterionPlan(
                own.id, own.title, own.severity, "perfect_privacy", self._seconds(own),
                BYTES_OF_A_PAIR * self._pairs(own), "view_checks", None,
            )
            for own in self._requirements
        )  # fmt: skip

    @property
    def cost(self) -> EvaluationCost:
        """The estimate: of a hard pair only the most is known, which the run allows."""
        pairs = sum(map(self._pairs, self._requirements))
        return EvaluationCost(sum(map(self._seconds, self._requirements)), BYTES_OF_A_PAIR * pairs)

    def change_rules(self, route: Route) -> int:
        """None: no generalisation makes a query private."""
        return 0

    def risk(self, number: int) -> JsonObject | None:
        """None: there are no slots."""
        return None

    def changes(self, rules: int, halted: Halted = never) -> tuple[list[JsonObject], bool]:
        """None of a rule; the nearest changes of the views stand with their pairs."""
        return [], True

    def coverage(self, halted: Halted = never) -> JsonObject:
        """That no column leaves beside the views."""
        return dict(_COVERAGE)

    def criterion(self, number: int, halted: Halted = never) -> JsonObject:
        """The document of a requirement with all of its pairs; computed once."""
        if number not in self._found:
            self._found[number] = self._judged(self._requirements[number], halted)
        return self._found[number]

    def stopped(self, number: int) -> JsonObject:
        """The document of a requirement that was not looked at because its user stopped the work."""
        fault = Fault("", "not-supported", "The work was stopped before the requirement was judged.",
                      "Start the evaluation again.")  # fmt: skip
        return self._document(self._requirements[number], "not_computable", (), None, fault)

    def result(
        self,
        criteria: Sequence[JsonObject],
        risks: Sequence[JsonObject | None],
        changes: Sequence[JsonObject],
        coverage: JsonObject,
    ) -> JsonObject:
        """The verdict document; ValueError unless there is a document of every requirement."""
        if len(criteria) != self.n_criteria:
            raise ValueError("a verdict needs every criterion")
        subject = self.subject
        found = verdict_of([(own["severity"], own["outcome"]) for own in criteria])
        return plain(
            {
                "kind": "verdict",
                "version": VERSION,
                "verdict": found if coverage["outcome"] == "covered" else "error",
                "policy": {
                    "name": subject.policy.name,
                    "version": subject.policy.version,
                    "sha256": subject.stored_policy.sha256,
                    "title": subject.policy.title,
                    "attacker": subject.policy.assumes.attacker,
                },
                "subject": _subject(subject),
                "coverage": coverage,
                "earlier_releases": None,
                "criteria": list(criteria),
                "changes": [],
                "risk": None,
                "not_covered": [
                    *_NOT_COVERED,
                    *_left_out(criteria),
                    *_kept_rows(subject.keeping),
                    *_undecided(criteria),
                ],
                "assumptions": _once(criteria, "assumptions"),
                "warnings": [*_once(criteria, "warnings"), *_waived(criteria)],
                "tolerance": TOLERANCE,
            }
        )

    def now(self, rules: int, halted: Halted = never) -> JsonObject | None:
        """Everything at once; None if a requirement was halted before it came to its own end."""
        criteria = []
        for number in range(self.n_criteria):
            criteria.append(self.criterion(number, halted))
            if not self.complete:
                return None
        return self.result(criteria, (), (), self.coverage())

    def _pairs(self, requirement: Requirement) -> int:
        return len(condition_of(requirement).secrets) * len(self.subject.views)

    def _seconds(self, requirement: Requirement) -> float:
        characters = sum(len(own.query) for own in self.subject.views)
        return SECONDS_OF_A_PAIR * self._pairs(requirement) + SECONDS_OF_A_CHARACTER * characters

    def _judged(self, requirement: Requirement, halted: Halted) -> JsonObject:
        end = monotonic() + LIMITS.seconds

        def is_over() -> bool:
            return halted() or monotonic() >= end

        try:
            check = self.subject.read(condition_of(requirement), is_over)
            found = decided_of(check, monotonic, is_over, LIMITS)
        except InvalidInput as error:
            # All was read when it was asked for: what has changed since is the time that was left.
            self.complete = False
            return self._document(requirement, "not_computable", (), None, error.faults[0])
        pairs = found["pairs"]
        hard = any(own["work"]["ms"] >= 1000 * PAIR_SECONDS for own in pairs)
        if hard or is_over():
            self.complete = False
        fault = _fault(pairs, found["constant_secrets"])
        waiver = self.subject.waivers.get(requirement.id)
        outcome = _outcome(pairs, fault, waived=waiver is not None and waiver["in_force"])
        changes = self._nearest_changes(check, pairs, halted) if outcome != "waived" else {}
        shown = [_pair(own, changes.get(number)) for number, own in enumerate(pairs)]
        return self._document(requirement, outcome, shown, found, fault)

    def _nearest_changes(
        self, check: ReadCheck, pairs: Sequence[JsonObject], halted: Halted
    ) -> Mapping[int, JsonObject]:
        """The changes, as far as the evaluation's time for them goes: a verdict never waits for advice."""
        began = monotonic()
        found = nearest_changes(check, pairs, halted, self._seconds_of_changes)
        self._seconds_of_changes -= monotonic() - began
        return found

    def _document(
        self,
        requirement: Requirement,
        outcome: Outcome,
        pairs: Sequence[JsonObject],
        found: JsonObject | None,
        fault: Fault | None,
    ) -> JsonObject:
        shown = outcome == "not_computable"
        return criterion_of_views(
            requirement,
            written(requirement.condition),
            self.subject.waivers.get(requirement.id),
            outcome=outcome,
            open_pairs=None if shown else sum(own["verdict"] in _OPEN for own in pairs),
            what=requirement.condition.quantity,
            error=fault if shown else None,
            explanation=_explanation(pairs, fault if shown else None, condition_of(requirement)),
            pairs=pairs,
            assumptions=[] if found is None else found["assumptions"],
            warnings=[] if found is None else found["warnings"],
        )


def _outcome(pairs: Sequence[JsonObject], fault: Fault | None, *, waived: bool) -> Outcome:
    """A disclosure fails, whatever else is not decided; but no waiver lets what is not decided pass."""
    verdicts = {own["verdict"] for own in pairs}
    if not pairs or (fault is not None and (waived or "DISCLOSES" not in verdicts)):
        return "not_computable"
    if verdicts.isdisjoint(_OPEN):
        return "passed"
    return "waived" if waived else "failed"


def _fault(pairs: Sequence[JsonObject], constant: Sequence[str]) -> Fault | None:
    """Why not everything is decided; None if it is."""
    if constant:
        return Fault(
            "",
            "constant-secret",
            f"The answer of {_named(constant)} depends on no row of this schema: it keeps nothing secret.",
            "Look at the conditions of the secret: they exclude each other, a column's values, or what a key "
            "or a dependency allows.",
        )
    undecided = [f"{own['view']} beside {own['secret']}" for own in pairs if own["verdict"] == "UNKNOWN"]
    if not undecided:
        return None
    return Fault(
        "",
        "undecided",
        f"Not decided, and hence not allowed: {_named(undecided)}.",
        "The pair says why: write the query with joins and comparisons only, or have it judged by hand.",
    )


def _explanation(pairs: Sequence[JsonObject], fault: Fault | None, condition: PerfectPrivacyCondition) -> str:
    """What was found, and by which reading of keys."""
    if fault is not None:
        return f"It could not be computed: {fault.message}"
    is_ignored = condition.keys == "ignored"
    private = "private if keys are unknown to readers" if is_ignored else "private"
    reading = f"Keys are ignored: {condition.keys_reason}" if is_ignored else "Keys are considered."
    counts = Counter(own["verdict"] for own in pairs)
    open_ = [
        f"{own['view']} beside {own['secret']}"
        for verdict in _OPEN
        for own in pairs
        if own["verdict"] == verdict
    ]
    if not open_:
        all_ = "The only pair" if len(pairs) == 1 else f"All {len(pairs):,} pairs"
        return f"{all_} of a secret and a view {'is' if len(pairs) == 1 else 'are'} {private}. {reading}"
    undecided = f", not decided: {counts['UNKNOWN']:,}" if counts["UNKNOWN"] else ""
    return (
        f"Of {len(pairs):,} pairs of a secret and a view disclose something: {counts['DISCLOSES']:,}"
        f"{undecided}. They are {_named(open_)}. {reading}"
    )


def _named(names: Sequence[str]) -> str:
    rest = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + rest


def _pair(found: JsonObject, change: JsonObject | None) -> JsonObject:
    """A pair without what depends on the machine, and if it fails with the change that would pass."""
    advice = {} if change is None else {"nearest_change": change}
    return {**{name: found[name] for name in _KEPT}, "not_exact": found["not_exact"], **advice}


def _subject(subject: ViewSubject) -> JsonObject:
    return {
        "dataset": None,
        "rule": None,
        "release": None,
        "dictionaries": {},
        "sensitivity": None,
        "failure": None,
        "views_sha256": subject.sha256,
        "relational_schema_sha256": subject.schema.sha256,
        "views": [{"id": own.id, "sha256": view_sha256(own)} for own in subject.views],
        "decision": DECISION,
    }


def _once(criteria: Sequence[JsonObject], name: str) -> list[str]:
    """The sentences of all requirements, each once."""
    return list(dict.fromkeys(said for own in criteria for said in own[name]))


def _left_out(criteria: Sequence[JsonObject]) -> Iterator[str]:
    """What keys add where they are ignored, which no requirement is about."""
    for own in criteria:
        if own["demand"].get("keys") == "ignored":
            added = Counter((pair["keys_left_out"] or {}).get("keys_add") for pair in own["pairs"])
            counts = (f"{kind.replace('_', ' ')} {number:,}" for kind, number in added.items() if kind)
            yield (
                f"The requirement {own['id']!r} ignores keys: what they tell a reader is not judged. Keys "
                f"add to its pairs: {', '.join(counts) or 'it is not known what'}."
            )


def _kept_rows(keeping: Sequence[str]) -> Iterator[str]:
    if keeping:
        yield (
            f"Tables that keep rows which their queries no longer return ({', '.join(keeping)}) are judged "
            "by their present queries: rows that are kept from before are not covered, there and in what "
            "reads them."
        )


def _undecided(criteria: Sequence[JsonObject]) -> Iterator[str]:
    for own in criteria:
        if own["outcome"] == "not_computable":
            yield f"The criterion {own['id']!r} could not be computed."


def _waived(criteria: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    for own in criteria:
        if own["outcome"] == "waived":
            yield f"The requirement {own['id']!r} fails and is waived: the views disclose what it names."
        elif own["waiver"] is not None and not own["waiver"]["in_force"]:
            yield f"The waiver {own['waiver']['name']!r} of the criterion {own['id']!r} does not count."
