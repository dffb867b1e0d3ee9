"""Micro reconstruction: the shares of sensitive values in the group of a person, from replaced values.

Whoever knows all quasi-identifiers of a person looks at the rows with these and estimates how frequent each
value is among them, undoing on average what uniform replacement did (Wang et al. (2012), section 1.1 and
example 1). What one row may tell bounds nothing of this. A person who is known by fewer attributes is looked
for in an aggregate, unless its rows are those of one group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Lt, doc

from app.domain.arrays import Bools, Longs
from app.domain.attacks.micro_found import (
    AggregateReconstructed,
    GroupReconstructed,
    MicroReconstruction,
    PersonsSought,
)
from app.domain.attacks.shown_groups import (
    KnownAttributes,
    ShownGroups,
    generalised_values,
    known_attributes,
    shown_groups,
)
from app.domain.attacks.sought_groups import PAIRS_AT_ONCE, SoughtGroups, are_exact
from app.domain.attacks.told_shares import ToldShares
from app.domain.classes.grouping import SensitiveName
from app.domain.errors import InvalidInput
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.masks import shows_nothing
from app.domain.tables.numbers import highest_accepted

SECONDS_PER_CELL: Final = 6e-8
SECONDS_PER_GROUP: Final = 2e-6
SECONDS_PER_PAIR: Final = 7e-8
SECONDS_PER_PERSON: Final = 1e-6
"""Of a kind of person and a group."""


@dataclass(frozen=True, kw_only=True)
class MicroParameters:
    """Of what attribute, from what, and what counts as exposed."""

    quasi_identifiers: KnownAttributes = None
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


@dataclass(frozen=True, eq=False)
class _Persons:
    """Kinds of person with the groups that they may be in."""

    sought: SoughtGroups

    @classmethod
    def of(cls, context: MeasureContext, shown: ShownGroups, tick: Tick) -> _Persons | None:
        """None without a dictionary."""
        if context.dictionary is None:
            return None
        return cls(SoughtGroups(context.table, context.dictionary, shown.attributes, shown.nodes, tick))

    def in_group(self, n_groups: int, *, exact: bool) -> Longs:
        """(G,) persons whom only that group fits, of those known exactly or of the others."""
        own = self.sought
        chosen = (own.number == 1) & (own.is_exact == exact)
        return np.bincount(own.first[chosen], own.persons[chosen], n_groups).astype(np.int64)

    def count(self, chosen: Bools) -> int:
        """Persons of some kinds (T,)."""
        return int(self.sought.persons[chosen].sum())


def _compute(context: MeasureContext, parameters: MicroParameters, tick: Tick) -> MicroReconstruction:
    shown = shown_groups(context, parameters.attribute, parameters.quasi_identifiers)
    own = ToldShares(context, shown, parameters.p)
    sizes, told_of, found = shown.counts.sizes, own.told(parameters.errors), _Persons.of(context, shown, tick)
    looked_at = sizes >= parameters.least_records
    mine = others = None
    if found is not None:
        mine, others = (found.in_group(len(sizes), exact=exact) for exact in (True, False))
        looked_at &= mine + others > 0
    exposed = looked_at & (told_of > highest_accepted(parameters.share))
    groups = np.flatnonzero(looked_at)
    scores = told_of if own.has_errors else sizes.astype(np.float64)
    worst = groups[np.lexsort((-sizes[groups], -scores[groups]))[: parameters.top]]

    def told(group: int) -> GroupReconstructed:
        return GroupReconstructed(
            shows=shown.shows(group),
            records=int(sizes[group]),
            told=float(told_of[group]) if own.has_errors else None,
            values=own.values(np.array([group]), parameters.top),
            persons=None if mine is None else int(mine[group]),
            persons_coinciding=None if others is None else int(others[group]),
        )

    tick(_units(context))
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
    number, exact = found.sought.number, found.sought.is_exact
    alone = number == 1
    return PersonsSought(
        persons=int(found.sought.persons.sum()),
        without_group=found.count(number == 0),
        of_own_group=found.count(alone & exact),
        coinciding=found.count(alone & ~exact),
        of_aggregates=found.count(number > 1),
        exposed=None if exposed is None else found.count(alone & exposed[found.sought.first]),
    )


def _aggregates(own: ToldShares, found: _Persons, top: int) -> tuple[AggregateReconstructed, ...]:
    kinds = np.flatnonzero(found.sought.number > 1)
    listed = kinds[np.argsort(found.sought.number[kinds], kind="stable")[:top]]

    def told(kind: int) -> AggregateReconstructed:
        groups = found.sought.groups(kind)
        return AggregateReconstructed(
            known=tuple(own.shown.names[place] for place in found.sought.known),
            groups=len(groups),
            records=int(own.shown.counts.sizes[groups].sum()),
            persons=int(found.sought.persons[kind]),
            values=own.values(groups, top),
        )

    return tuple(map(told, listed.tolist()))


def _supports(context: MeasureContext, parameters: MicroParameters) -> str | None:
    if context.drawn is None and parameters.p is None:
        raise InvalidInput.of(
            "/measure/p",
            "missing",
            "Records are as they are: nothing says with which probability values would be kept.",
            "Give p, or measure a release that uniform_perturbation or sample_perturb_scale has drawn.",
        )
    if context.drawn is not None and parameters.p is not None:
        raise InvalidInput.of(
            "/measure/p",
            "published",
            "The release says itself with which probability values were kept.",
            "Leave it out.",
        )
    reason, known = generalised_values(context, parameters.attribute), context.dictionary
    if reason is not None or known is None:
        return reason
    attributes = known_attributes(context.table, parameters.quasi_identifiers)
    if any(context.table.attributes[j] in known.attributes for j in attributes):
        return None
    return "The dictionary carries none of the quasi-identifiers. Use one that is linked to some of them."


def _units(context: MeasureContext) -> int:
    """Kinds of person, and one more."""
    return 1 if context.dictionary is None else 1 + context.dictionary.reduced.size


def _cost(context: MeasureContext, parameters: MicroParameters) -> Cost:
    table = context.table if context.drawn is None else context.drawn.table
    rows, known = table.n_records, known_attributes(context.table, parameters.quasi_identifiers)
    seconds = SECONDS_PER_CELL * rows * (len(known) + 4) + SECONDS_PER_GROUP * table.reduced.size
    size = 60 * rows
    if context.dictionary is not None:
        links = [link for link in context.dictionary.links if table.position(link.attribute) in known]
        are_vague = np.full(context.dictionary.n_entities, len(links) < len(known))
        for link in links:
            are_vague |= ~are_exact(link)
        kinds, groups = context.dictionary.reduced.size, table.reduced.codes[:, list(known)]
        vague = min(kinds, int(np.count_nonzero(are_vague)))
        is_nothing = shows_nothing(groups)
        blank = int(np.count_nonzero((is_nothing & ~is_nothing.all(axis=0)).any(axis=1)))
        pairs = vague * len(groups) + (kinds - vague) * blank
        seconds += SECONDS_PER_PAIR * pairs + SECONDS_PER_PERSON * context.dictionary.n_entities
        size += 40 * min(pairs, PAIRS_AT_ONCE) + 100 * context.dictionary.n_entities
    return Cost(seconds, size, _units(context), "classes")


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
