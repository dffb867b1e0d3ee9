"""What the criteria of one evaluation share: tables, dictionaries, rules, class groupings and scores.

Everything is loaded once and prepared when it is first needed. Releases and scores are kept for the rule that
is evaluated; those of rules that are only tried for a change are kept until the next one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from app.domain.arrays import Bools
from app.domain.classes.released import Release
from app.domain.counting.counter import MEMORY_CEILING, Counter
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import Fault, InvalidInput, pointing_into
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.models.entry import MeasureContext
from app.domain.rules.rule import Rule
from app.domain.tables.table import Table
from app.services.datasets.spellings import Spelling
from app.services.datasets.tables import TableLoader
from app.services.gates.registers import doubt_about_registers
from app.services.gates.rows import doubt_about_rows
from app.services.gates.subject import Subject
from app.services.ports import Store
from app.services.releases.aligned_release import AlignedRelease
from app.services.releases.drawn_tables import read_drawn_release
from app.services.releases.release_alignment import align_release
from app.services.resources import TenantId
from app.services.scoring.assessment_work import RuleScore
from app.services.scoring.measurement_work import Measurement, MeasurementPreparation, Question
from app.services.scoring.scoring_inputs import Scoring, Sources, load_scoring
from app.services.scoring.scoring_options import ScoringOptions


@dataclass(eq=False)
class EvaluationContext:
    """The loaded sources of an evaluation.

    ``measure`` prepares a measurement. ``base`` is the scoring without dictionaries, ``scorings`` those of
    the filled slots. ``rule`` is what the release is by, None for a finished file that could not be aligned
    with the dataset: then ``alone`` is that file. It is None, too, where a mechanism made the release: then
    ``drawn`` is that.
    ``spellings`` are what the file that leaves writes in ways that are read as one value, by column.
    ``doubt`` says why nothing can be judged: see :func:`~app.services.gates.rows.doubt_about_rows` and
    :func:`~app.services.gates.registers.doubt_about_registers`.
    """

    subject: Subject
    measure: Callable[[Question], Awaitable[Measurement]]
    base: Scoring
    scorings: Mapping[str, Scoring]
    rule: Rule | None
    aligned: AlignedRelease | None
    drawn: DrawnRelease | None = None
    doubt: Fault | None = None
    memory_ceiling: int = MEMORY_CEILING
    spellings: Mapping[str, Sequence[Spelling]] = field(default_factory=dict)
    _counters: dict[Dictionary, Counter] = field(default_factory=dict)
    _releases: dict[Rule, Release] = field(default_factory=dict)
    _scores: dict[tuple[str, Rule], RuleScore] = field(default_factory=dict)

    @property
    def table(self) -> Table:
        """The dataset's table."""
        return self.base.table

    @property
    def alone(self) -> AlignedRelease | None:
        """The finished release if it could not be aligned with the dataset."""
        return self.aligned if self.rule is None else None

    @property
    def absent(self) -> Bools | None:
        """(n,) records of what is judged that a finished release does not have at all."""
        return None if self.aligned is None else self.aligned.absent

    def scoring(self, slot: str | None) -> Scoring:
        """The scoring of a slot, or that without a dictionary; InvalidInput for a slot that is not filled."""
        if slot is None:
            return self.base
        if slot not in self.scorings:
            raise InvalidInput.of(
                f"/dictionaries/{slot}",
                "missing",
                f"The dictionary {slot!r} is not given.",
                "Name a dictionary for it.",
            )
        return self.scorings[slot]

    def dictionary(self, slot: str | None) -> Dictionary | None:
        """The one dictionary of a slot, None without a slot; InvalidInput where it is a set."""
        if slot is None:
            return None
        scoring = self.scoring(slot)
        if scoring.is_set:
            raise InvalidInput.of(
                f"/dictionaries/{slot}",
                "dictionary-set",
                "The criterion looks at one dictionary; this is a set of them.",
                "Name one of its dictionaries for the slot.",
            )
        return scoring.members[0]

    def counter(self, dictionary: Dictionary) -> Counter:
        """The counter of a dictionary, which keeps what it prepared."""
        if dictionary not in self._counters:
            self._counters[dictionary] = Counter(self.table, dictionary, self.memory_ceiling)
        return self._counters[dictionary]

    def release(self, rule: Rule) -> Release:
        """The table under a rule, with its groupings."""
        if rule not in self._releases:
            self._forget_tried()
            self._releases[rule] = Release(self.table, rule)
        return self._releases[rule]

    def score(self, slot: str, rule: Rule) -> RuleScore:
        """The score of a rule under a slot."""
        key = slot, rule
        if key not in self._scores:
            self.release(rule)  # forgets the scores of the rule that was tried before
            self._scores[key] = RuleScore(
                self.scoring(slot), rule, self.memory_ceiling, counters=self._counters
            )
        return self._scores[key]

    def shared(self, context: MeasureContext, rule: Rule) -> MeasureContext:
        """The context under a rule, with what others have prepared for that and for its dictionary."""
        return replace(
            context,
            rule=rule,
            make_release=lambda table, own: self.release(rule),
            make_counter=lambda table, dictionary, ceiling: self.counter(dictionary),
        )

    def _forget_tried(self) -> None:
        self._releases = {rule: kept for rule, kept in self._releases.items() if rule == self.rule}
        self._scores = {key: kept for key, kept in self._scores.items() if key[1] == self.rule}


async def load_context(
    store: Store, loader: TableLoader, tenant: TenantId, subject: Subject
) -> EvaluationContext:
    """Load what an evaluation rests on; InvalidInput where it does not fit together."""
    base = await load_scoring(loader, tenant, subject.base, _fitting(subject.options, subject.base))
    scorings = {}
    for slot, sources in subject.slots.items():
        with pointing_into(f"/dictionaries/{slot}"):
            scorings[slot] = await load_scoring(loader, tenant, sources, _fitting(subject.options, sources))
    aligned, drawn = None, None
    rule: Rule | None = None
    if subject.upload is not None:
        aligned = await align_release(
            loader, store, tenant, subject.dataset, subject.upload, subject.key, subject.order
        )
        rule = aligned.rule
    elif subject.rule is not None:
        rule = await asyncio.to_thread(subject.rule.on, base.table)
    elif subject.released is not None:
        drawn = await read_drawn_release(store, loader, tenant, subject.released.stored)
    else:
        raise ValueError("an evaluation is of a rule or of a release")
    doubt = doubt_about_registers(subject)
    for dataset in (subject.dataset, *subject.compared.values()):
        doubt = doubt or await doubt_about_rows(
            store, loader, tenant, subject.policy, dataset,
            in_order="records" in (subject.order, aligned and aligned.order),
        )  # fmt: skip
    if doubt is None and aligned is not None:
        doubt = aligned.doubt
    spellings = loader.spellings if aligned is None else aligned.spellings(base.table)
    preparation = MeasurementPreparation(store, loader, MEMORY_CEILING)
    measure = partial(preparation.measurement, tenant)
    return EvaluationContext(
        subject, measure, base, scorings, rule, aligned, drawn, doubt, spellings=spellings
    )


def _fitting(options: ScoringOptions, sources: Sources) -> ScoringOptions:
    """The options with the policy's view of the attacker where the dictionary of a slot has such a view."""
    of_one = options.attacker_view in ("known", "estimated")
    return options if of_one != sources.is_set else replace(options, attacker_view=None)
