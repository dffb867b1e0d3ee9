"""What every score rests on: a dataset, what the attacker has, the harm if the attacker succeeds and fails.

The one place where stored resources and options become the domain's values, for assessments, searches and
measures alike.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Final

from app.domain.counting.counter import Matching
from app.domain.dictionaries.consistency import under
from app.domain.dictionaries.dictionary import Dictionary
from app.domain.errors import Fault, InvalidInput, NotFound, unknown_reference
from app.domain.risk.attackers import DictionarySet, View
from app.domain.risk.utility import Utility
from app.domain.search.context import SearchContext
from app.domain.sensitivity.sensitivity import Sensitivity
from app.domain.tables.table import Table
from app.services.datasets.tables import TableLoader
from app.services.ports import UnitOfWork
from app.services.resources import JsonObject, Kind, Stored, TenantId, document_of
from app.services.scoring.scoring_options import ScoringOptions

_FIRST_ROLES: Final = ("dataset", "dictionary", "sensitivity")

_FEW_NODES: Final = 100_000

SECONDS_PER_PAIR: Final = 2e-7
"""Comparing two texts by their similarity, measured generously."""


@dataclass(frozen=True)
class SourceRefs:
    """Ids or names of what a score rests on; ``dictionary`` leads to a dictionary or to a dictionary set.

    ``failure`` is the sensitivity profile of the harm where the attacker fails; ``true_dictionary`` what the
    attacker is believed to have, where ``dictionary`` is to bound it.
    """

    dataset: str
    dictionary: str | None = None
    sensitivity: str | None = None
    failure: str | None = None
    true_dictionary: str | None = None


@dataclass(frozen=True)
class Sources:
    """The stored resources that a score rests on.

    ``members`` are the dictionaries: the one, or those of the set with their ``prior``, if it has one.
    """

    dataset: Stored
    dictionary: Stored | None = None
    sensitivity: Stored | None = None
    failure: Stored | None = None
    true_dictionary: Stored | None = None
    members: tuple[Stored, ...] = ()
    prior: tuple[float, ...] | None = None

    @cached_property
    def by_role(self) -> Mapping[str, Stored]:
        """Role → resource, of those that there are, in the order in which their users list them."""
        roles = [(role.name, getattr(self, role.name)) for role in fields(SourceRefs)]
        return {role: stored for role, stored in roles if stored is not None}

    @property
    def ids(self) -> tuple[str, ...]:
        """Their ids."""
        return tuple(stored.id for stored in self.by_role.values())

    @property
    def refs(self) -> JsonObject:
        """Role → id, for the document of what rests on them."""
        return {role: stored.id for role, stored in self.by_role.items()}

    @property
    def names(self) -> JsonObject:
        """Role → name, for summaries."""
        return {role: stored.name for role, stored in self.by_role.items()}

    def shown(self) -> JsonObject:
        """The names for summaries, and those of a set's dictionaries in their order."""
        names = {role: name for role, name in self.names.items() if role != "true_dictionary"}
        members = [member.name for member in self.members] if self.is_set else []
        return {"failure": None, **names, "dictionaries": members}

    @property
    def hashes(self) -> Mapping[str, str]:
        """Role → hash, as they enter the hash of what rests on them."""
        return {role: stored.sha256 for role, stored in self.by_role.items()}

    @property
    def is_set(self) -> bool:
        """Whether the attacker has one of several dictionaries."""
        return self.dictionary is not None and self.dictionary.kind is Kind.DICTIONARY_SET

    def view(self, asked: View | None) -> View:
        """The attacker's view for these dictionaries; InvalidInput if what was asked does not fit them."""
        if not self.is_set:
            _require_view(asked, ("known", "estimated"), "The dictionary is a single one.")
            return asked or "known"
        _require_view(asked, ("bayes", "worst_case", "worst_case_per_record"), "The dictionary is a set.")
        if asked == "bayes" and self.prior is None:
            raise InvalidInput.of(
                "/attacker_view",
                "no-prior",
                "The Bayes risk needs the probability of each dictionary; the set has none.",
                "Create a set with a prior, or choose worst_case or worst_case_per_record.",
            )
        return asked or ("worst_case" if self.prior is None else "bayes")


def _require_view(asked: View | None, allowed: Sequence[str], what: str) -> None:
    if asked is not None and asked not in allowed:
        raise InvalidInput.of(
            "/attacker_view",
            "view-does-not-fit",
            f"{what} The view {asked} is not one of it.",
            f"Choose {' or '.join(allowed)}, or leave the view out.",
        )


def refs_of(stored: Stored) -> SourceRefs:
    """What a stored assessment or optimisation rests on.

    The first ones named no roles: they list dataset, dictionary and sensitivity profile in this order.
    """
    named = document_of(stored).get("sources")
    return SourceRefs(**(named or dict(zip(_FIRST_ROLES, stored.uses, strict=False))))


async def find_sources(work: UnitOfWork, refs: SourceRefs) -> Sources:
    """The sources by ids or names; NotFound for the first absent one."""
    resources = work.resources
    dictionary = None if refs.dictionary is None else await _find_dictionary(work, refs.dictionary)
    members: tuple[Stored, ...] = () if dictionary is None else (dictionary,)
    prior = None
    if dictionary is not None and dictionary.kind is Kind.DICTIONARY_SET:
        entries = document_of(dictionary)["members"]
        members = tuple([await resources.get(Kind.DICTIONARY, e["dictionary"]["id"]) for e in entries])
        if entries[0]["prior"] is not None:
            prior = tuple(float(entry["prior"]) for entry in entries)
    return Sources(
        dataset=await resources.get(Kind.DATASET, refs.dataset),
        dictionary=dictionary,
        sensitivity=await _optional(work, Kind.SENSITIVITY_PROFILE, refs.sensitivity),
        failure=await _optional(work, Kind.SENSITIVITY_PROFILE, refs.failure),
        true_dictionary=await _optional(work, Kind.DICTIONARY, refs.true_dictionary),
        members=members,
        prior=prior,
    )


async def _optional(work: UnitOfWork, kind: Kind, ref: str | None) -> Stored | None:
    return None if ref is None else await work.resources.get(kind, ref)


async def _find_dictionary(work: UnitOfWork, ref: str) -> Stored:
    """The dictionary or the dictionary set of this id or name; InvalidInput if there are both."""
    found = []
    for kind in (Kind.DICTIONARY, Kind.DICTIONARY_SET):
        with contextlib.suppress(NotFound):
            found.append(await work.resources.get(kind, ref))
    if not found:
        raise NotFound(Kind.DICTIONARY.value, ref)
    if len(found) > 1:
        raise InvalidInput.of(
            "/dictionary",
            "ambiguous-name",
            f"A dictionary and a dictionary set are both named {ref!r}.",
            "Give the id of the one that you mean.",
        )
    return found[0]


@dataclass(frozen=True, eq=False)
class Scoring:
    """The sources in the domain's types.

    ``linked`` are the dictionaries as their links stand; :attr:`members` as the consistency options rewrite
    them, which may take a while the first time. ``true_dictionary`` is linked as it stands too.
    ``matchings`` are those of linked dictionaries with the table, as far as they are kept.
    """

    table: Table
    linked: tuple[Dictionary, ...]
    prior: tuple[float, ...] | None
    is_set: bool
    sensitivity: Sensitivity | None
    failure: Sensitivity | None
    utility: Utility
    options: ScoringOptions
    true_dictionary: Dictionary | None = None
    matchings: Mapping[Dictionary, Matching] = field(default_factory=dict)

    @cached_property
    def members(self) -> tuple[Dictionary, ...]:
        """The dictionaries under the consistency options."""
        return tuple(self.consistent(dictionary) for dictionary in self.linked)

    def consistent(self, dictionary: Dictionary) -> Dictionary:
        """A dictionary of this table under the consistency options."""
        return under(dictionary, self.options.consistency.default, self.options.consistency.attributes)

    @property
    def dictionary(self) -> Dictionary | None:
        """The only dictionary; None without one or with a set."""
        return self.members[0] if self.linked and not self.is_set else None

    @cached_property
    def dictionaries(self) -> DictionarySet | None:
        """The set of dictionaries; None if there is none."""
        return DictionarySet(self.members, self.prior) if self.is_set else None

    @property
    def preparing_seconds(self) -> float:
        """Estimated time of :attr:`members`."""
        chosen = self.options.consistency
        pairs = 0
        for dictionary in self.linked:
            for link in dictionary.links:
                if chosen.attributes.get(link.attribute, chosen.default).mode == "jaro":
                    outside = 0 if link.outside is None else len(link.outside.labels)
                    texts = min(link.hierarchy.n_leaves, len(link.leaves)) + outside
                    pairs += link.hierarchy.n_leaves * texts
        return pairs * SECONDS_PER_PAIR

    @cached_property
    def context(self) -> SearchContext:
        """The instance of a search; ValueError without dictionary or sensitivity."""
        if not self.linked or self.sensitivity is None:
            raise ValueError("a search needs what the attacker has and the harm of a disclosure")
        return SearchContext(
            self.table,
            self.members[0],
            self.sensitivity,
            self.utility,
            failure=self.failure,
            model=self.options.risk_model,
            dictionaries=self.dictionaries,
        )


async def load_scoring(
    loader: TableLoader, tenant: TenantId, sources: Sources, options: ScoringOptions
) -> Scoring:
    """The sources under the options; InvalidInput where they do not fit each other."""
    options = replace(options, attacker_view=sources.view(options.attacker_view))
    if sources.failure is not None and not options.risk_model.takes_failure:
        raise InvalidInput.of(
            "/failure",
            "no-failure-in-model",
            f"The risk model {options.risk_model.name} knows no harm of an attack that fails.",
            "Leave failure out, or choose the risk model I.",
        )
    table = await loader.table(tenant, sources.dataset)
    options.consistency.check(table)
    linked = [await loader.dictionary(tenant, member, sources.dataset) for member in sources.members]
    sensitivity = failure = true = None
    if sources.true_dictionary is not None:
        true = await loader.dictionary(
            tenant, sources.true_dictionary, sources.dataset, "/bounds/true_dictionary"
        )
    if sources.sensitivity is not None:
        sensitivity = await loader.sensitivity(tenant, sources.sensitivity, sources.dataset)
    if sources.failure is not None:
        failure = await loader.sensitivity(tenant, sources.failure, sources.dataset, "/failure")
    return Scoring(
        table,
        tuple(linked),
        sources.prior,
        sources.is_set,
        sensitivity,
        failure,
        await _utility(options, table),
        options,
        true,
        {
            own: await loader.matching(tenant, member, sources.dataset)
            for own, member in zip(linked, sources.members, strict=True)
        },
    )


async def _utility(options: ScoringOptions, table: Table) -> Utility:
    if not options.utility.values and sum(table.sizes) <= _FEW_NODES:
        return options.utility.on(table)  # a number per node: no work for a thread
    return await asyncio.to_thread(options.utility.on, table)


async def missing_sources(work: UnitOfWork, refs: SourceRefs) -> tuple[Fault, ...]:
    """A fault for every source that leads nowhere."""
    faults = [*await missing_inputs(work, [("/dataset", Kind.DATASET, refs.dataset)])]
    if refs.dictionary is not None:
        try:
            await _find_dictionary(work, refs.dictionary)
        except NotFound as error:
            faults.append(unknown_reference("/dictionary", error))
    named = [
        ("/sensitivity", Kind.SENSITIVITY_PROFILE, refs.sensitivity),
        ("/failure", Kind.SENSITIVITY_PROFILE, refs.failure),
        ("/bounds/true_dictionary", Kind.DICTIONARY, refs.true_dictionary),
    ]
    found = await missing_inputs(work, [(p, kind, ref) for p, kind, ref in named if ref is not None])
    return (*faults, *found)


async def missing_inputs(work: UnitOfWork, named: Sequence[tuple[str, Kind, str]]) -> tuple[Fault, ...]:
    """A fault for every (pointer, kind, id or name) that leads nowhere."""
    faults = []
    for pointer, kind, ref in named:
        try:
            await work.resources.get(kind, ref)
        except NotFound as error:
            faults.append(unknown_reference(pointer, error))
    return tuple(faults)
