"""Micro reconstruction: the shares of sensitive values in the group of a person, from replaced values.

Whoever knows all quasi-identifiers of a person looks at the rows with these and estimates how frequent each
value is among them, undoing on average what uniform replacement did (Wang et al. (2012), section 1.1 and
example 1). What one row may tell bounds nothing of this. A person who is known by fewer attributes is looked
for in an aggregate, unless its rows are those of one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Lt, doc

from app.domain.arrays import Bools, Floats, Longs
from app.domain.attacks.micro_found import (
    AggregateReconstructed,
    GroupReconstructed,
    MicroReconstruction,
    PersonsSought,
    ValueTold,
)
from app.domain.attacks.population_inference import QuasiIdentifiers
from app.domain.attacks.shown_groups import ShownGroups, generalised_values, shown_groups
from app.domain.attacks.sought_groups import PAIRS_AT_ONCE, SoughtGroups
from app.domain.classes.grouping import SensitiveName, positions_of
from app.domain.classes.reconstructed_shares import (
    beliefs_of_own_row,
    estimated_shares,
    likeliest_shares,
    standard_errors,
    standard_errors_of_copies,
    variances,
)
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.sensitive_counts import SensitiveCounts, greatest_by_class
from app.domain.errors import InvalidInput
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.numbers import highest_accepted

SECONDS_PER_CELL: Final = 6e-8
SECONDS_PER_GROUP: Final = 2e-6
SECONDS_PER_PAIR: Final = 2e-8
"""Of a kind of person and a group."""

OF_RELEASE: Final = (
    "Standard errors are over draws: of the estimate, from the release alone, for rows drawn independently."
)
OF_RECORDS: Final = (
    "Standard errors are those that estimates would have over draws of a plain perturbation; the estimates "
    "are their means, which are the shares themselves."
)
OF_SAMPLES: Final = (
    "Standard errors are over draws: of the estimate, from the release alone, for copies of samples whose "
    "size is published."
)
OF_COPIES: Final = (
    "There is no standard error: values are published in copies of samples whose sizes are not told. What a "
    "reader would compute as if they were independent draws is too small."
)


@dataclass(frozen=True, kw_only=True)
class MicroParameters:
    """Of what attribute, from what, and what counts as exposed."""

    quasi_identifiers: QuasiIdentifiers = None
    attribute: SensitiveName = None
    p: Annotated[
        float | None,
        Ge(1e-9),
        Lt(1),
        doc(
            "Of records: with this probability a plain perturbation would keep a value. null for a release "
            "that was drawn, which publishes it."
        ),
    ] = None
    share: Annotated[
        float,
        Ge(0),
        Lt(1),
        doc("A group is exposed if more than this share of it is told to have its most frequent value."),
    ] = 0.5
    errors: Annotated[
        float, Ge(0), Le(100), doc("Standard errors that are taken off an estimate before it counts.")
    ] = 2.0
    least_records: Annotated[int, Ge(1), Le(10**9), doc("Groups of fewer rows are not looked at.")] = 1
    top: Annotated[int, Ge(1), Le(200), doc("Most groups, aggregates, and values of each to list.")] = 10


class _Estimates:
    """What is told of groups and aggregates."""

    def __init__(self, context: MeasureContext, parameters: MicroParameters) -> None:
        own = parameters
        self.shown = shown_groups(context, own.attribute, own.quasi_identifiers)
        drawn = None if context.drawn is None else context.drawn.retained
        self._is_drawn = drawn is not None
        self._is_sampled = isinstance(drawn, PublishedSamples)
        self._sample_size = drawn.sample_size if isinstance(drawn, PublishedSamples) else None
        p = _retention(own) if drawn is None else drawn.p
        self.replacement = UniformReplacement(p, len(self.shown.labels))
        self._errors, self._top = own.errors, own.top

    @property
    def has_errors(self) -> bool:
        """Whether a reader can tell standard errors."""
        return self._sample_size is not None or not self._is_sampled

    @property
    def standard_errors(self) -> str:
        """What they are of."""
        if self._is_sampled:
            return OF_SAMPLES if self.has_errors else OF_COPIES
        return OF_RELEASE if self._is_drawn else OF_RECORDS

    @cached_property
    def told(self) -> Floats:
        """(G,) the estimate of each group's most frequent value less the standard errors asked for."""
        counts = self.shown.counts
        tops = greatest_by_class(counts, counts.counts, 0)
        shares, errors = self._estimated(tops, counts.sizes), self._deviations(tops, counts.sizes)
        return np.asarray(shares - self._errors * errors)

    @cached_property
    def _of_all(self) -> Floats:
        """(m,) the likeliest shares of all rows together."""
        whole = self.shown.of(np.arange(self.shown.counts.n_classes))
        found = np.zeros(len(self.shown.labels))
        found[whole.values] = self._likeliest(whole)
        return found

    def values(self, groups: Longs) -> tuple[ValueTold, ...]:
        """What is told of the values of some groups together."""
        counts = self.shown.of(groups)
        amounts, sizes = counts.counts, np.repeat(counts.sizes, len(counts.counts))
        order = np.argsort(-amounts, kind="stable")[: self._top]
        likeliest, estimated = self._likeliest(counts), self._estimated(amounts, sizes)
        errors = self._deviations(amounts, sizes)
        believed = beliefs_of_own_row(likeliest, self.replacement)
        before = beliefs_of_own_row(self._of_all[counts.values], self.replacement)
        return tuple(
            ValueTold(
                value=self.shown.labels[counts.values[i]],
                shown=int(amounts[i]),
                estimated=float(estimated[i]),
                likeliest=float(likeliest[i]),
                standard_error=float(errors[i]) if self.has_errors else None,
                believed=float(believed[i]),
                believed_without_group=float(before[i]),
            )
            for i in order.tolist()
        )

    def _estimated(self, shown: Longs, sizes: Longs) -> Floats:
        if self._is_drawn:
            return estimated_shares(shown, sizes, self.replacement)
        return np.asarray(shown / sizes)

    def _likeliest(self, counts: SensitiveCounts) -> Floats:
        if self._is_drawn:
            return likeliest_shares(counts, self.replacement)
        return np.asarray(counts.counts / counts.sizes[counts.of_entry])

    def _deviations(self, shown: Longs, sizes: Longs) -> Floats:
        if self._sample_size is not None:
            return standard_errors_of_copies(shown, sizes, self._sample_size, self.replacement)
        if self._is_drawn:
            return standard_errors(shown, sizes, self.replacement)
        return np.asarray(np.sqrt(variances(shown.astype(np.float64), sizes, self.replacement)) / sizes)


def _retention(parameters: MicroParameters) -> float:
    if parameters.p is None:
        raise InvalidInput.of(
            "/measure/p",
            "missing",
            "Records are as they are: nothing says with which probability values would be kept.",
            "Give p, or measure a release that uniform_perturbation or sample_perturb_scale has drawn.",
        )
    return parameters.p


def _checked(context: MeasureContext, parameters: MicroParameters) -> None:
    if context.drawn is None:
        _retention(parameters)
    elif parameters.p is not None:
        raise InvalidInput.of(
            "/measure/p",
            "published",
            "The release says itself with which probability values were kept.",
            "Leave it out.",
        )


@dataclass(frozen=True, eq=False)
class _Persons:
    """Kinds of person with the groups that they may be in."""

    sought: SoughtGroups
    number: Longs
    first: Longs

    @classmethod
    def of(cls, context: MeasureContext, shown: ShownGroups) -> _Persons | None:
        """None without a dictionary."""
        if context.dictionary is None:
            return None
        sought = SoughtGroups(context.table, context.dictionary, shown.attributes, shown.nodes)
        return cls(sought, *sought.found)

    def in_group(self, n_groups: int, *, exact: bool) -> Longs:
        """(G,) persons whom only that group fits, of those known exactly or of the others."""
        chosen = (self.number == 1) & (self.sought.is_exact == exact)
        persons = self.sought.persons[chosen]
        return np.bincount(self.first[chosen], persons, n_groups).astype(np.int64)

    def count(self, chosen: Bools) -> int:
        """Persons of some kinds (T,)."""
        return int(self.sought.persons[chosen].sum())


def _compute(context: MeasureContext, parameters: MicroParameters, tick: Tick) -> MicroReconstruction:
    own = _Estimates(context, parameters)
    shown, sizes, found = own.shown, own.shown.counts.sizes, _Persons.of(context, own.shown)
    looked_at = sizes >= parameters.least_records
    mine = others = None
    if found is not None:
        mine, others = (found.in_group(len(sizes), exact=exact) for exact in (True, False))
        looked_at &= mine + others > 0
    exposed = looked_at & (own.told > highest_accepted(parameters.share))
    groups = np.flatnonzero(looked_at)
    scores = own.told if own.has_errors else sizes.astype(np.float64)
    worst = groups[np.lexsort((-sizes[groups], -scores[groups]))[: parameters.top]]

    def told(group: int) -> GroupReconstructed:
        return GroupReconstructed(
            shows=shown.shows(group),
            records=int(sizes[group]),
            told=float(own.told[group]) if own.has_errors else None,
            values=own.values(np.array([group])),
            persons=None if mine is None else int(mine[group]),
            persons_coinciding=None if others is None else int(others[group]),
        )

    tick(1)
    return MicroReconstruction(
        attribute=shown.name,
        quasi_identifiers=shown.names,
        values=len(shown.labels),
        p=own.replacement.p,
        standard_errors=own.standard_errors,
        groups=len(groups),
        records=int(sizes[groups].sum()),
        groups_exposed=int(np.count_nonzero(exposed)) if own.has_errors else None,
        records_exposed=int(sizes[exposed].sum()) if own.has_errors else None,
        worst=tuple(map(told, worst.tolist())),
        sought=None if found is None else _sought(found, exposed if own.has_errors else None),
        aggregates=() if found is None else _aggregates(own, found, parameters.top),
    )


def _sought(found: _Persons, exposed: Bools | None) -> PersonsSought:
    alone, exact = found.number == 1, found.sought.is_exact
    return PersonsSought(
        persons=int(found.sought.persons.sum()),
        without_group=found.count(found.number == 0),
        of_own_group=found.count(alone & exact),
        coinciding=found.count(alone & ~exact),
        of_aggregates=found.count(found.number > 1),
        exposed=None if exposed is None else found.count(alone & exposed[found.first]),
    )


def _aggregates(own: _Estimates, found: _Persons, top: int) -> tuple[AggregateReconstructed, ...]:
    kinds = np.flatnonzero(found.number > 1)
    listed = kinds[np.argsort(found.number[kinds], kind="stable")[:top]]

    def told(kind: int) -> AggregateReconstructed:
        groups = found.sought.groups(kind)
        return AggregateReconstructed(
            known=tuple(own.shown.names[place] for place in found.sought.known),
            groups=len(groups),
            records=int(own.shown.counts.sizes[groups].sum()),
            persons=int(found.sought.persons[kind]),
            values=own.values(groups),
        )

    return tuple(map(told, listed.tolist()))


def _supports(context: MeasureContext, parameters: MicroParameters) -> str | None:
    _checked(context, parameters)
    reason, known = generalised_values(context, parameters.attribute), context.dictionary
    if reason is not None or known is None:
        return reason
    attributes = positions_of(context.table, parameters.quasi_identifiers)
    if any(context.table.attributes[j] in known.attributes for j in attributes):
        return None
    return "The dictionary carries none of the quasi-identifiers. Use one that is linked to some of them."


def _cost(context: MeasureContext, parameters: MicroParameters) -> Cost:
    table = context.table if context.drawn is None else context.drawn.table
    rows, known = table.n_records, len(positions_of(context.table, parameters.quasi_identifiers))
    seconds = SECONDS_PER_CELL * rows * (known + 4) + SECONDS_PER_GROUP * table.reduced.size
    size = 60 * rows
    if context.dictionary is not None:
        pairs = context.dictionary.reduced.size * table.reduced.size
        seconds += SECONDS_PER_PAIR * pairs
        size += 40 * min(pairs, PAIRS_AT_ONCE)
    return Cost(seconds, size, 1, "classes")


MICRO_RECONSTRUCTION: Final = Measure(
    name="micro_reconstruction",
    title="Micro reconstruction: shares of values in a person's group",
    source="Wang et al. (2012), sections 1.1 and 4.1, example 1",
    guarantee="statistical",
    parameters=MicroParameters,
    result=MicroReconstruction,
    cost=_cost,
    compute=_compute,
    supports=_supports,
    example=Example(
        "which incomes would perturbed values still tell of a group?",
        "proposal-micro-groups",
        parameters={"p": 0.5, "quasi_identifiers": ("race",), "top": 3},
    ),
    protects=False,
    reads=frozenset({"records", "retention"}),
)
