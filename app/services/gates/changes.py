"""The nearest changes of a rule that pass: for each blocking criterion that failed, and for all together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from app.domain.classes.grouping import Missing, Suppressed
from app.domain.criteria.class_suppression import ClassSuppression
from app.domain.errors import InvalidInput, NotSupported
from app.domain.numbers import highest_accepted, to_json_number
from app.domain.rules.rule import Rule, TableRule
from app.domain.search.budget import Budget, Halted, never
from app.domain.search.changes.change import NOT_FOUND, Asked, Change, Demand, Withholding
from app.domain.search.changes.class_demands import privacy_demand
from app.domain.search.changes.nearest import nearest_change
from app.services.fingerprints import plain
from app.services.gates.bench import Bench
from app.services.gates.class_probe import ClassProbe
from app.services.gates.probe import Probe
from app.services.gates.subject import Subject
from app.services.resources import JsonObject
from app.services.rule_documents import TABLE_LEVEL, suppression_in_short
from app.services.suggested_changes import definition_of_change

FOR_ALL: Final = "all"


class Changes:
    """Searches for changes; ``rules`` are examined at most, shared between the searches."""

    def __init__(self, subject: Subject, bench: Bench, probes: Sequence[Probe], rules: int) -> None:
        self._subject = subject
        self._bench = bench
        self._probes = probes
        self._rules = rules
        self.complete = True

    def find(
        self, failed: Sequence[str], halted: Halted = never, *, unknown: bool = False
    ) -> list[JsonObject]:
        """A document per failed criterion that blocks, then one for all; none of a file without its rule.

        That for all keeps every blocking criterion that is not waived, also those that hold now. It is not
        looked for while one of them is ``unknown``, since nothing can be shown to keep it.
        """
        rule = self._bench.rule
        if rule is None or not failed:
            return []
        by_id = {probe.criterion.id: probe for probe in self._probes}
        asked = [
            probe
            for id_, probe in by_id.items()
            if probe.criterion.severity == "block"
            and not self._subject.waivers.get(id_, {"in_force": False})["in_force"]
        ]
        each = max(1, self._rules // (len(failed) + 1))
        found = [self._document(id_, [by_id[id_]], rule, each, halted) for id_ in failed]
        if unknown:
            return [*found, self._nothing(FOR_ALL)]
        if len(asked) == 1:
            return [*found, {**found[0], "for": FOR_ALL}]
        return [*found, self._document(FOR_ALL, asked, rule, each, halted)]

    def _document(
        self, for_: str, probes: Sequence[Probe], rule: Rule, rules: int, halted: Halted
    ) -> JsonObject:
        try:
            change = self._nearest(probes, rule, rules, halted)
            if self._may_be_withheld and len(_readings(_of_classes(probes))) > 1:
                # Rules that withhold records were not looked at.
                status = NOT_FOUND if change.status == "none_exists" else change.status
                change = replace(change, status=status, proven=False)
        except (InvalidInput, NotSupported):
            return self._nothing(for_)
        self.complete = self.complete and change.complete
        after = change.utility_after
        shown: JsonObject = {
            "for": for_,
            "status": change.status,
            "proven": change.proven,
            "levels": None if change.levels is None else dict(change.levels),
            "suppressed_records": change.suppressed_records,
            "utility_before": to_json_number(change.utility_before),
            "utility_after": None if after is None else to_json_number(after),
            "examined": change.examined,
            "rule": self._definition(change),
        }
        return plain(shown)  # type: ignore[no-any-return]

    @staticmethod
    def _nothing(for_: str) -> JsonObject:
        """Of a change that was not looked for, or could not be."""
        return {
            "for": for_,
            "status": NOT_FOUND,
            "proven": False,
            "levels": None,
            "suppressed_records": 0,
            "utility_before": None,
            "utility_after": None,
            "examined": 0,
            "rule": None,
        }

    def _nearest(self, probes: Sequence[Probe], rule: Rule, rules: int, halted: Halted) -> Change:
        """The nearest change of all attributes, of quasi-identifiers alone where no others can help.

        Where there are too many of all, the better of what was found among them and among the latter.
        """
        table = self._bench.table
        others = len(table.quasi_identifiers) < table.n_attributes
        # What a rule for single records withholds wholly is in no class, whatever attribute was the last.
        can_help = not (isinstance(rule, TableRule) and all(probe.of_quasi_identifiers for probe in probes))
        if not (others and table.quasi_identifiers):
            return self._among(None, probes, rule, rules, halted)
        if not can_help:
            return self._among(table.quasi_identifiers, probes, rule, rules, halted)
        first = self._among(None, probes, rule, (rules + 1) // 2, halted)
        if first.proven or not first.complete or rules == 1:
            return first
        return _better(first, self._among(table.quasi_identifiers, probes, rule, rules // 2, halted))

    def _among(
        self,
        attributes: Sequence[int] | None,
        probes: Sequence[Probe],
        rule: Rule,
        rules: int,
        halted: Halted,
    ) -> Change:
        return nearest_change(
            self._bench.table,
            rule,
            self._bench.base.utility,
            [self._demand(probe, rule) for probe in probes],
            attributes=attributes,
            withholding=self._withholding(probes),
            budget=Budget(rules),
            halted=halted,
        )

    def _demand(self, probe: Probe, rule: Rule) -> Asked:
        def passes(changed: Rule) -> bool | None:
            try:
                return probe.find(changed).passes
            except (InvalidInput, NotSupported):
                return None

        seconds = probe.cost.seconds
        if isinstance(probe, ClassProbe) and probe.is_plain:
            dictionary = None
            if probe.model.needs_population:
                dictionary = self._bench.dictionary(probe.demand.dictionary)
            return privacy_demand(
                self._bench.table,
                rule,
                (probe.model,),
                probe.demand.failing_share,
                passes,
                dictionary,
                seconds,
                probe.demand.missing,
            )
        return Demand(passes, seconds, probe.is_monotone)

    def _withholding(self, probes: Sequence[Probe]) -> Withholding | None:
        """Classes that may be withheld: those that fail the plain criteria of classes among the demands.

        None where these read missing values or withheld records differently: no one rule withholds for all.
        """
        asked, limit = _of_classes(probes), self._may_be_withheld
        readings = _readings(asked)
        if not limit or len(readings) != 1:
            return None
        (reading,) = readings
        return Withholding(ClassSuppression(tuple(probe.model for probe in asked), *reading), limit)

    @property
    def _may_be_withheld(self) -> int:
        """How many records a change may withhold."""
        share = self._subject.policy.suppression_limit
        return math.floor(highest_accepted(share * self._bench.table.n_records))

    def _definition(self, change: Change) -> JsonObject | None:
        """What a request for the changed rule says.

        None without a change, and where the rule itself has no name or definition that a request could say.
        """
        rule, written = self._bench.rule, _written(self._subject)
        if rule is None or (written is None and not isinstance(rule, TableRule)):
            return None
        return definition_of_change(change, self._bench.table, rule, written or {})


def _of_classes(probes: Sequence[Probe]) -> list[ClassProbe]:
    """The plain criteria of classes, of which some can be withheld for them."""
    return [
        probe
        for probe in probes
        if isinstance(probe, ClassProbe) and probe.is_plain and not probe.model.needs_population
    ]


def _readings(probes: Sequence[ClassProbe]) -> set[tuple[Missing, Suppressed]]:
    """How they read missing values and withheld records."""
    return {(probe.demand.missing, probe.demand.suppressed) for probe in probes}


def _better(first: Change, second: Change) -> Change:
    """The change that keeps more of two that were found, not proven: neither search was of everything."""
    found = [own for own in (first, second) if own.utility_after is not None]
    best = max(found, key=lambda own: own.utility_after or 0.0, default=first)
    return replace(
        best,
        proven=False,
        examined=first.examined + second.examined,
        complete=first.complete and second.complete,
    )


def _written(subject: Subject) -> str | JsonObject | None:
    """How requests name or define the rule; None where they cannot."""
    if subject.stored_rule is not None:
        return subject.stored_rule.name
    if subject.rule is None:
        return None
    if subject.rule["kind"] == TABLE_LEVEL:
        withheld = {key: value for key, value in suppression_in_short(subject.rule).items() if value}
        return {"kind": TABLE_LEVEL, "levels": subject.rule["levels"], **withheld}
    definition: JsonObject | None = subject.rule.get("definition")
    return definition
