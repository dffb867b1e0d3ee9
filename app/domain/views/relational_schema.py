"""The relations that queries read: columns, what they may hold, and which rows exclude each other."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from app.domain.errors import Fault, joined, refuse
from app.domain.views.ranges import MOST_DIGITS, Kind, Range, exact, is_short

MOST_LISTED: Final = 20_000
"""Values in the lists of all domains together."""
NAME: Final = re.compile(r"[^\W\d]\w*")
"""A relation's name, as queries write it."""

Positions = tuple[int, ...]
Domain = Kind | tuple[str | int | float, ...]
"""What a column may hold: all of a kind, or the values that are listed."""


@dataclass(frozen=True)
class RelationDefinition:
    """A relation as it is declared, by the names of its attributes."""

    attributes: Sequence[str]
    domains: Mapping[str, Domain] = field(default_factory=dict)
    keys: Sequence[Sequence[str]] = ()
    dependencies: Sequence[tuple[Sequence[str], Sequence[str]]] = ()
    nullable: Sequence[str] = ()


@dataclass(frozen=True)
class Relation:
    """A relation whose declaration makes sense; columns are told by their position."""

    name: str
    attributes: tuple[str, ...]
    ranges: tuple[Range, ...]
    dependencies: tuple[tuple[Positions, Positions], ...]
    """Rows that agree on the first columns agree on the second; a key determines all columns.

    A row that is NULL in one of the first columns agrees with no other.
    """
    nullable: frozenset[int]
    ties: tuple[Positions, ...] | None = None
    """The only columns by which rows that say something of each other are sought; None: all that may."""

    @cached_property
    def keys(self) -> tuple[Positions, ...]:
        """The columns that determine all others, whether declared as a key or as a dependency."""
        return tuple(dict.fromkeys(x for x, y in self.dependencies if self._are_all(x, y)))

    def without_keys(self) -> Relation:
        """The relation as readers see it who know its dependencies but not its keys."""
        return replace(self, dependencies=tuple(own for own in self.dependencies if not self._are_all(*own)))

    def _are_all(self, *sides: Positions) -> bool:
        return len(set().union(*sides)) == len(self.attributes)

    @cached_property
    def block(self) -> Positions:
        """The columns on which two rows must agree for one to say something about the other.

        All of them without dependencies, else those that every key and dependency starts from: rows that
        differ there can neither exclude each other nor be linked by a chain of rows that do.
        """
        left = set(range(len(self.attributes)))
        for determining, _ in self.dependencies:
            left &= set(determining)
        return tuple(sorted(left))

    @cached_property
    def certain_dependencies(self) -> tuple[tuple[Positions, Positions], ...]:
        """Those that apply to all rows, since no column that they start from can be NULL."""
        return tuple(own for own in self.dependencies if not self.nullable.intersection(own[0]))

    @cached_property
    def links(self) -> tuple[Positions, ...]:
        """On which columns two rows may agree, so that one says something about the other.

        The block; and all columns, where a row can be NULL in the columns that every dependency starts from:
        no other row says anything about it.
        """
        if self.ties is not None:
            return self.ties
        everything = tuple(range(len(self.attributes)))
        may_be_free = bool(self.dependencies) and not self.certain_dependencies
        return (self.block, everything) if may_be_free else (self.block,)

    def is_tied(self, cells: Sequence[object]) -> bool:
        """Whether a dependency can tie a row to others: where it starts from, the row is not NULL."""
        starts = self.ties or [determining for determining, _ in self.dependencies]
        return any(all(cells[i] is not None for i in start) for start in starts)


@dataclass(frozen=True)
class ForeignKey:
    """Every row of ``source`` needs a row of ``target``."""

    source: str
    target: str


@dataclass(frozen=True)
class RelationalSchema:
    """Relations by name, and which of them are tied by foreign keys."""

    relations: Mapping[str, Relation]
    foreign_keys: tuple[ForeignKey, ...] = ()

    def are_tied(self, some: frozenset[str], others: frozenset[str]) -> bool:
        """Whether foreign keys tie one of these relations to one of those, directly or by others."""
        groups = {self._groups[name] for name in some if name in self._groups}
        return any(self._groups.get(name) in groups for name in others)

    def has_keys(self, names: Iterable[str]) -> bool:
        """Whether one of these relations has a key."""
        return any(self.relations[name].keys for name in names)

    def without_keys(self) -> RelationalSchema:
        """The schema as readers know it who do not know the keys."""
        return replace(self, relations={name: own.without_keys() for name, own in self.relations.items()})

    def tied_by_one_key(self, names: Iterable[str]) -> Iterator[RelationalSchema]:
        """For each key of these relations, these alone, in which rows are sought that share this key."""
        apart = {name: replace(self.relations[name], ties=()) for name in sorted(names)}
        for name, own in apart.items():
            for key in own.keys:
                yield RelationalSchema({**apart, name: replace(own, ties=(key,))})

    @cached_property
    def _groups(self) -> Mapping[str, str]:
        """For each relation with a foreign key, one of those that it is tied to, the same for all of them."""
        neighbours: dict[str, set[str]] = {}
        for own in self.foreign_keys:
            neighbours.setdefault(own.source, set()).add(own.target)
            neighbours.setdefault(own.target, set()).add(own.source)
        groups: dict[str, str] = {}
        for first in neighbours:
            reached = [] if first in groups else [first]
            while reached:
                name = reached.pop()
                groups[name] = first
                reached += [other for other in neighbours[name] if other not in groups]
        return groups


def built(
    relations: Mapping[str, RelationDefinition], foreign_keys: Sequence[ForeignKey] = ()
) -> RelationalSchema:
    """The schema of the declarations; InvalidInput lists all that is wrong with them."""
    faults = [fault for name, own in relations.items() for fault in _faults(name, own)]
    if not relations:
        faults.append(Fault("/relations", "no-relation", "The schema has no relation.", "Declare one."))
    lists = (own for one in relations.values() for own in one.domains.values() if not isinstance(own, str))
    if sum(map(len, lists)) > MOST_LISTED:
        faults.append(
            Fault(
                "/relations",
                "too-many-values",
                f"The domains list more than {MOST_LISTED:,} values together.",
                "Declare those with long lists as any, number or integer: a domain larger than the true one "
                "makes no disclosure private.",
            )
        )
    for number, key in enumerate(foreign_keys):
        for end, named in (("from", key.source), ("to", key.target)):
            if named not in relations:
                faults.append(
                    Fault(
                        f"/foreign_keys/{number}/{end}",
                        "unknown-relation",
                        f"The schema has no relation {named!r}.",
                        f"Name one of {', '.join(sorted(relations)[:10])}.",
                    )
                )
    refuse(faults)
    return RelationalSchema(
        {name: _relation(name, own) for name, own in relations.items()}, tuple(foreign_keys)
    )


def _faults(name: str, own: RelationDefinition) -> Iterator[Fault]:
    place = joined("/relations", name)
    if not NAME.fullmatch(name):
        yield Fault(
            place,
            "relation-name",
            f"A query cannot write the relation {name!r}.",
            "Use letters, digits and underscores, beginning with a letter.",
        )
    if not own.attributes:
        yield Fault(f"{place}/attributes", "no-attribute", "The relation has no attribute.", "Name one.")
    for attribute, times in Counter(own.attributes).items():
        if times > 1:
            yield Fault(
                f"{place}/attributes", "duplicate-attribute", f"The attribute {attribute!r} stands twice."
            )
    for where, named in _named(own):
        if named not in own.attributes:
            yield Fault(
                place + where,
                "unknown-attribute",
                f"The relation has no attribute {named!r}.",
                f"Name one of {', '.join(list(own.attributes)[:10])}.",
            )
    for attribute, domain in own.domains.items():
        if not isinstance(domain, str):
            yield from _faults_of_list(joined(f"{place}/domains", attribute), domain)
    yield from _sets_of_attributes(place, own)


def _faults_of_list(place: str, values: Sequence[str | int | float]) -> Iterator[Fault]:
    if not values:
        yield Fault(
            place,
            "empty-domain",
            "The list has no value.",
            "List all values that the column may have, or leave the domain out.",
        )
    for number, value in enumerate(values):
        if not isinstance(value, str) and not is_short(value):
            yield Fault(
                f"{place}/{number}",
                "number-too-long",
                f"A number of a list has at most {MOST_DIGITS} digits, written without an exponent.",
                "Write so long a number as a text, here and in the queries, or leave the domain out.",
            )


def _named(own: RelationDefinition) -> Iterator[tuple[str, str]]:
    for attribute in own.domains:
        yield joined("/domains", attribute), attribute
    for number, key in enumerate(own.keys):
        yield from ((f"/keys/{number}/{i}", attribute) for i, attribute in enumerate(key))
    for number, sides in enumerate(own.dependencies):
        for side, attributes in enumerate(sides):
            yield from ((f"/fds/{number}/{side}/{i}", name) for i, name in enumerate(attributes))
    yield from ((f"/nullable/{i}", attribute) for i, attribute in enumerate(own.nullable))


def _sets_of_attributes(place: str, own: RelationDefinition) -> Iterator[Fault]:
    for number, key in enumerate(own.keys):
        if not key:
            yield Fault(f"{place}/keys/{number}", "empty-key", "A key has at least one attribute.")
    for number, (determining, determined) in enumerate(own.dependencies):
        if not determining or not determined:
            yield Fault(
                f"{place}/fds/{number}", "empty-dependency", "A dependency has attributes on both sides."
            )
        if null := {*determining, *determined} & set(own.nullable):
            yield Fault(
                f"{place}/fds/{number}",
                "nullable-dependency",
                f"The dependency has the nullable attribute {min(null)!r}, and what it says of NULL is open.",
                "Take the attribute out of nullable only if it is never NULL. Otherwise views of this "
                "relation cannot be checked: without the dependency, or without NULL, a disclosure could "
                "seem private.",
            )


def _relation(name: str, own: RelationDefinition) -> Relation:
    place = {attribute: i for i, attribute in enumerate(own.attributes)}
    everything = tuple(range(len(place)))
    dependencies = [(_positions(key, place), everything) for key in own.keys]
    dependencies += [(_positions(x, place), _positions(y, place)) for x, y in own.dependencies]
    # Columns of the same list have one range in common: others would be compared value by value each time.
    ranges: dict[Range, Range] = {}
    of_columns = [_range(own.domains.get(attribute, "any")) for attribute in own.attributes]
    return Relation(
        name,
        tuple(own.attributes),
        tuple(ranges.setdefault(range_, range_) for range_ in of_columns),
        tuple((x, y) for x, y in dependencies if not set(y) <= set(x)),
        frozenset(place[attribute] for attribute in own.nullable),
    )


def _positions(attributes: Sequence[str], place: Mapping[str, int]) -> Positions:
    return tuple(sorted({place[attribute] for attribute in attributes}))


def _range(domain: Domain) -> Range:
    match domain:
        case "any" | "number" | "integer":
            return Range(domain)
    return Range("any", frozenset(own if isinstance(own, str) else exact(own) for own in domain))
