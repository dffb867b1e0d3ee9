"""Use cases on dictionary sets: what the attacker may have, where one does not know which of it he has."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

from app.domain.errors import Fault, InvalidInput, refuse
from app.services.fingerprints import new_resource
from app.services.named import NamedResources
from app.services.resources import (
    Actor,
    Created,
    JsonObject,
    Kind,
    NewResource,
    Stored,
    reference,
    without_names,
)

MOST_MEMBERS: Final = 100
"""Most dictionaries of one set: each is counted against for every score."""

PRIOR_TOLERANCE: Final = 1e-9
"""How far the sum of a prior may be from 1 (Definitions: dictionaries)."""


@dataclass(frozen=True)
class Member:
    """One dictionary, by id or name, and the probability that it is the attacker's."""

    dictionary: str
    prior: float | None = None


@dataclass(frozen=True)
class CreateDictionarySet:
    """A set of dictionaries; either all of its members have a prior or none."""

    name: str
    members: tuple[Member, ...]


class DictionarySetService(NamedResources):
    """Create and read dictionary sets."""

    kind: ClassVar[Kind] = Kind.DICTIONARY_SET

    async def create(self, actor: Actor, request: CreateDictionarySet) -> Created:
        """Check the prior and store; NotFound for a dictionary that there is not."""
        self._admit(actor, request.name)
        _check(request.members)
        async with self._store.work(actor.tenant) as work:
            found = [await work.resources.get(Kind.DICTIONARY, m.dictionary) for m in request.members]
        return await self._add(actor, _resource(request, found))


def _check(members: Sequence[Member]) -> None:
    """Raise InvalidInput for a prior that is none (Definitions: dictionaries)."""
    if not 1 <= len(members) <= MOST_MEMBERS:
        raise InvalidInput.of(
            "/dictionaries",
            "wrong-number",
            f"A set has 1 to {MOST_MEMBERS} dictionaries, not {len(members)}.",
            "List the dictionaries that the attacker may have.",
        )
    given = [member.prior for member in members if member.prior is not None]
    if not given:
        return
    if len(given) < len(members):
        raise InvalidInput.of(
            "/dictionaries",
            "incomplete-prior",
            f"{len(given)} of {len(members)} dictionaries have a prior.",
            "Give every dictionary of the set a prior, or none of them.",
        )
    if any(not (math.isfinite(prior) and prior >= 0) for prior in given):
        raise InvalidInput.of(
            "/dictionaries", "not-a-prior", "A prior is a probability: 0 to 1.", "Correct it."
        )
    total = math.fsum(given)
    if abs(total - 1) > PRIOR_TOLERANCE:
        raise InvalidInput.of(
            "/dictionaries",
            "prior-not-one",
            f"The priors sum to {total:.12g}, not to 1.",
            "Give probabilities that sum to 1, or no prior at all.",
        )


def _resource(request: CreateDictionarySet, found: Sequence[Stored]) -> NewResource:
    first: dict[str, int] = {}
    faults = [
        Fault(
            f"/dictionaries/{index}/dictionary",
            "duplicate-dictionary",
            f"The dictionary {stored.name!r} is in the set already.",
            "List each dictionary once, with its whole prior.",
        )
        for index, stored in enumerate(found)
        if first.setdefault(stored.id, index) != index
    ]
    refuse(faults)
    members = [
        {"dictionary": reference(stored), "prior": None if member.prior is None else float(member.prior)}
        for member, stored in zip(request.members, found, strict=True)
    ]
    shown = [
        {"dictionary": stored.name, "entities": stored.summary["entities"], "prior": member["prior"]}
        for member, stored in zip(members, found, strict=True)
    ]
    document: JsonObject = {"members": members}
    warnings = [
        f"The dictionary {stored.name!r} has no entities: every identification probability under it is 0."
        for stored in found
        if not stored.summary["entities"]
    ]
    warnings += [
        f"The dictionary {stored.name!r} has the prior 0: the Bayes risk ignores it."
        for stored, member in zip(found, members, strict=True)
        if member["prior"] == 0
    ]
    return new_resource(
        Kind.DICTIONARY_SET,
        request.name,
        without_names(document),
        {},
        {"dictionaries": shown, "warnings": tuple(warnings)},
        document,
        [stored.id for stored in found],
    )
