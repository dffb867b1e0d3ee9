"""What an attacker can look up: entities, attributes linked to the dataset's (Definitions: dictionaries).

A dictionary cell stands for the set of dataset leaves that it may mean: one leaf, the leaves of an inner
node, the dates on which somebody of an age may be born, all leaves (⊥), or none that the dataset knows
("elsewhere", consistent with ⊥ alone). A disclosed node is consistent with it iff it covers one of them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from sys import getsizeof
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Bools, Integers, Ints, Longs, concatenated_ranges
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP, UNKNOWN, Hierarchy
from app.domain.hierarchies.periods import age_at, period_of
from app.domain.tables.distinct import DistinctRows, distinct_rows, starts_of_runs
from app.domain.tables.masks import missing_cells
from app.domain.tables.table import Table, require_unique_ids

MissingEntry = Literal["error", "missing", "elsewhere"]
Mode = Literal["compatible", "subsumed", "jaro"]


@dataclass(frozen=True, eq=False)
class Outside:
    """Values that the dataset's hierarchy does not have.

    ``column`` is int32 (N,): the position in ``labels`` of each entity's value, −1 where the hierarchy has
    it or its text is not in the dataset's vocabulary.
    """

    labels: tuple[str, ...]
    column: Ints


@dataclass(frozen=True, eq=False)
class LinkedAttribute:
    """One dataset attribute as the dictionary carries it.

    Parameters
    ----------
    attribute
        Name of the dataset's attribute.
    hierarchy
        The dataset's hierarchy of it.
    column
        int32 (N,): a code per entity.
    starts, leaves
        The dataset leaves of code c are ``leaves[starts[c]:starts[c + 1]]``, ascending.
    everything
        bool per code: consistent with every node, as ⊥ is, which may be any leaf (its list is empty).
    nodes
        int32 per code: the node that the cell was written as, −1 for sets that are not one; None if no code
        has one.
    outside
        The texts of the values outside the hierarchy, None if there are none.
    mode
        The consistency mode that the lists are written for.
    seeds
        Nodes in place of leaves, in the same lists: a disclosed node is consistent with a code iff it is ⪰
        one of its seeds. None: the seeds are the leaves.
    before
        The link as it was before a mode other than ``compatible`` rewrote it, else None.
    """

    attribute: str
    hierarchy: Hierarchy
    column: Ints
    starts: Longs
    leaves: Ints
    everything: Bools
    nodes: Ints | None = None
    outside: Outside | None = None
    mode: Mode = "compatible"
    seeds: Ints | None = None
    before: LinkedAttribute | None = None

    @property
    def n_codes(self) -> int:
        """Codes that the column may hold: distinct cells of the dictionary."""
        return len(self.everything)

    @property
    def n_bytes(self) -> int:
        """Bytes of its arrays and of the texts outside the hierarchy, without what it was before."""
        arrays: list[npt.NDArray[Any] | None] = [
            self.column,
            self.starts,
            self.leaves,
            self.everything,
            self.nodes,
            self.seeds,
        ]
        total = sum(array.nbytes for array in arrays if array is not None)
        if self.outside is None:
            return total
        return total + self.outside.column.nbytes + sum(map(getsizeof, self.outside.labels))

    @property
    def meaning(self) -> LinkedAttribute:
        """The link whose lists say what the cells mean, whatever the mode."""
        return self.before or self

    @cached_property
    def seed_nodes(self) -> Ints:
        """The nodes whose ancestors are consistent with a code, in the lists of :attr:`starts`."""
        return self.hierarchy.leaves[self.leaves] if self.seeds is None else self.seeds

    @cached_property
    def pairs(self) -> tuple[Ints, Ints]:
        """All (node, code) that are consistent, ⊥ excepted on both sides, ordered by node and then by code.

        At most as many as :attr:`leaves` times the hierarchy's height.
        """
        place = np.zeros(self.hierarchy.n_nodes, dtype=np.int32)
        place[self.seed_nodes] = 1
        seeds = np.flatnonzero(place).astype(np.int32)
        place[seeds] = np.arange(len(seeds), dtype=np.int32)
        index, above = self.hierarchy.ancestors(seeds)
        inner = above != TOP
        index, above = index[inner], above[inner]
        above = above[np.argsort(index, kind="stable")]
        n_above = np.bincount(index, minlength=len(seeds))
        first = np.cumsum(n_above) - n_above
        codes = np.repeat(np.arange(self.n_codes), np.diff(self.starts))
        own = place[self.seed_nodes]
        repeats = n_above[own]
        radix = max(1, self.n_codes)
        keys = above[concatenated_ranges(first[own], repeats)].astype(np.int64) * radix
        keys += np.repeat(codes, repeats)
        keys.sort()
        keys = keys[starts_of_runs(keys)]
        return (keys // radix).astype(np.int32), (keys % radix).astype(np.int32)

    @cached_property
    def elsewhere(self) -> Bools:
        """Per code of the :attr:`meaning`: whether it stands for no leaf of the hierarchy."""
        empty: Bools = np.diff(self.meaning.starts) == 0
        return empty & ~self.meaning.everything

    @cached_property
    def n_elsewhere(self) -> int:
        """Entities whose value lies outside the dataset's hierarchy."""
        return int(self.elsewhere[self.meaning.column].sum())


@dataclass(frozen=True, eq=False)
class Dictionary:
    """N entities with q linked attributes; attributes of the dataset that are not linked are ⊥ everywhere.

    ``comparable_ids`` says that ``entity_ids`` mean the same entities as the dataset's; only then can a
    record's own row be recognised.
    """

    n_entities: int
    links: tuple[LinkedAttribute, ...]
    entity_ids: npt.NDArray[Any] | None = None
    comparable_ids: bool = False

    def __post_init__(self) -> None:
        if any(len(link.column) != self.n_entities for link in self.links):
            raise ValueError("a dictionary has one code per entity and linked attribute")
        if self.entity_ids is not None:
            require_unique_ids(self.entity_ids, self.n_entities, "dictionary")
        elif self.comparable_ids:
            raise ValueError("comparable identifiers need identifiers")

    @cached_property
    def attributes(self) -> tuple[str, ...]:
        """Names of the q linked attributes, in the order of the links."""
        return tuple(link.attribute for link in self.links)

    @cached_property
    def reduced(self) -> DistinctRows:
        """Distinct rows of codes with the number of entities of each, computed once."""
        columns = [link.column for link in self.links]
        return distinct_rows(columns, [link.n_codes for link in self.links], self.n_entities)

    @property
    def elsewhere(self) -> dict[str, int]:
        """Per linked attribute, entities whose value is outside the dataset's hierarchy."""
        return {link.attribute: link.n_elsewhere for link in self.links}

    def warnings_under(self, absent_policy: str) -> tuple[str, ...]:
        """What whoever reads a risk against the dictionary must know; one sentence each."""
        if self.n_entities:
            return ()
        if absent_policy == "add_self":
            return (
                "The dictionary has no entities: only the record's own is counted, so that every "
                "identification probability is 1.",
            )
        return ("The dictionary has no entities: every identification probability is 0.",)


def codes_with_texts(link: LinkedAttribute) -> tuple[Ints, Ints, Ints]:
    """Codes that tell the texts outside the hierarchy apart.

    Returns the code of each entity, and for each code the link's own code and the position of its text in
    ``link.outside.labels``, −1 if it has none.
    """
    if link.outside is None:
        codes = np.arange(link.n_codes, dtype=np.int32)
        return link.column, codes, np.full(link.n_codes, -1, dtype=np.int32)
    columns = [link.column, link.outside.column + 1]
    rows = distinct_rows(columns, [link.n_codes, len(link.outside.labels) + 1], len(link.column))
    return rows.inverse, rows.codes[:, 0], rows.codes[:, 1] - 1


def own_rows(table: Table, dictionary: Dictionary) -> Longs:
    """The dictionary row of each record's own entity, int64 (n,), −1 where it has none.

    Raises InvalidInput unless the identifiers of the two mean the same entities (``add_self`` needs that).
    """
    if not dictionary.comparable_ids or dictionary.entity_ids is None:
        raise InvalidInput.of(
            "/absent_policy",
            "ids-not-comparable",
            "add_self needs identifiers that mean the same entities in the dataset and the dictionary.",
            "Declare an identifier in both and same_entities_as, or choose another absent_policy.",
        )
    row_of = {entity: row for row, entity in enumerate(dictionary.entity_ids.tolist())}
    return np.array([row_of.get(entity, -1) for entity in table.own_ids.tolist()], dtype=np.int64)


def link_nodes(
    attribute: str, hierarchy: Hierarchy, nodes: Ints, used: Ints | None = None
) -> LinkedAttribute:
    """Link entities whose values are already nodes (N,) of the hierarchy; −1 marks elsewhere.

    ``used`` are the distinct ones among them, ascending, where these are known.
    """
    place = np.zeros(hierarchy.n_nodes + 1, dtype=np.int32)
    if used is None:
        place[nodes] = 1
        used = np.flatnonzero(np.roll(place, 1)).astype(np.int32) - 1
    # The last place is that of −1.
    place[used] = np.arange(len(used), dtype=np.int32)
    column = place[nodes]
    listed, leaves = hierarchy.leaves_below(used[used > TOP])
    starts = np.concatenate([np.zeros(int((used <= TOP).sum()), dtype=np.int64), listed])
    return LinkedAttribute(attribute, hierarchy, column, starts, leaves, missing_cells(used), used)


def _link_labels(
    attribute: str,
    hierarchy: Hierarchy,
    nodes: Ints,
    labels: Sequence[str | None],
    positions: Integers | None,
) -> LinkedAttribute:
    """Link cells by their nodes; those outside the hierarchy keep their labels (None: no text).

    With ``positions`` the cells are distinct, each that of some entity.
    """
    link = link_nodes(attribute, hierarchy, nodes)
    if positions is not None:
        link = replace(link, column=link.column[positions])
    place: dict[str, int] = {}
    outside = np.full(len(nodes), -1, dtype=np.int32)
    for i in np.flatnonzero(nodes == UNKNOWN).tolist():
        label = labels[i]
        if label is not None:
            outside[i] = place.setdefault(label, len(place))
    if not place:
        return link
    return replace(link, outside=Outside(tuple(place), outside if positions is None else outside[positions]))


def link_identity(
    attribute: str,
    hierarchy: Hierarchy,
    values: Sequence[str | None],
    positions: Integers | None = None,
) -> LinkedAttribute:
    """Link values that are labels of the dataset's hierarchy; None is ⊥, an unknown label is elsewhere.

    ``values`` has one entry per entity, or, with ``positions`` (N,), one per distinct value.
    """
    return _link_labels(attribute, hierarchy, _nodes_of_cells(hierarchy, values), values, positions)


def _nodes_of_cells(hierarchy: Hierarchy, values: Sequence[str | None]) -> Ints:
    """Node per value, also of a label that several nodes share if all of them cover the same leaves."""
    nodes, unknown = hierarchy.encode(values)
    shared: dict[str, list[int]] = {}
    for code, label in enumerate(hierarchy.labels if unknown else ()):
        if label in unknown:
            shared.setdefault(label, []).append(code)
    for label, codes in shared.items():
        covered = {hierarchy.leaves_of(code).tobytes() for code in codes}
        if len(covered) == 1:
            nodes[[value == label for value in values]] = codes[-1]
    return nodes


def link_lookup(
    attribute: str,
    hierarchy: Hierarchy,
    values: Sequence[str | None],
    table: Mapping[str, str | None],
    missing_entry: MissingEntry = "error",
    positions: Integers | None = None,
) -> LinkedAttribute:
    """Link values through a lookup (zip → city); ``missing_entry`` says what a value without entry is."""
    without = {value for value in values if value is not None and value not in table}
    if without and missing_entry == "error":
        raise InvalidInput.of(
            f"/links/{attribute}",
            "missing-entry",
            f"{len(without)} distinct values linked to {attribute!r} have no entry in the lookup.",
            "Add them to the lookup, or choose missing_entry 'missing' or 'elsewhere'.",
        )
    images = [None if value is None else table.get(value) for value in values]
    nodes = _nodes_of_cells(hierarchy, images)
    if missing_entry == "elsewhere":
        nodes[[value in without for value in values]] = UNKNOWN
    return _link_labels(attribute, hierarchy, nodes, images, positions)


def link_age(
    attribute: str,
    hierarchy: Hierarchy,
    values: Sequence[str | None],
    reference_date: date,
    positions: Integers | None = None,
) -> LinkedAttribute:
    """Link ages to the dates, months, quarters or years of birth that are possible at ``reference_date``.

    Age is completed years; 29 February counts as 1 March in other years. Ages that no leaf can have are
    elsewhere. Leaves must be written 1975-05-10, 1975-05, 1975-Q2 or 1975.
    """
    youngest, oldest = _ages_of_leaves(attribute, hierarchy, reference_date)
    ages, column = _distinct_ages(attribute, values)
    sets = [
        np.empty(0, np.int32)
        if age is None
        else np.flatnonzero((youngest <= age) & (age <= oldest)).astype(np.int32)
        for age in ages
    ]
    everything = np.array([age is None for age in ages], dtype=bool)
    chosen = column if positions is None else column[positions]
    starts = np.zeros(len(sets) + 1, dtype=np.int64)
    np.cumsum([len(leaves) for leaves in sets], out=starts[1:])
    leaves = np.concatenate([np.empty(0, np.int32), *sets])
    return LinkedAttribute(attribute, hierarchy, chosen, starts, leaves, everything)


def _ages_of_leaves(attribute: str, hierarchy: Hierarchy, reference: date) -> tuple[Ints, Ints]:
    """Least and greatest age at the reference date that a birth in each leaf allows."""
    youngest, oldest = [], []
    bad = 0
    for leaf in hierarchy.leaves.tolist():
        period = period_of(hierarchy.labels[leaf])
        if period is None:
            bad += 1
            continue
        youngest.append(age_at(period.last, reference))
        oldest.append(age_at(period.first, reference))
    if bad:
        raise InvalidInput.of(
            f"/links/{attribute}",
            "not-a-date",
            f"{bad} of {hierarchy.n_leaves} leaves of the hierarchy of {attribute!r} are not dates.",
            "An age can be linked to values written 1975-05-10, 1975-05, 1975-Q2 or 1975.",
        )
    return np.array(youngest, dtype=np.int32), np.array(oldest, dtype=np.int32)


def _distinct_ages(attribute: str, values: Sequence[str | None]) -> tuple[list[int | None], Ints]:
    """Distinct ages in ascending order, ⊥ first, and the position of each value's age among them."""
    ages: list[int | None] = []
    bad = 0
    for value in values:
        text = None if value is None else value.strip()
        if text is not None and not re.fullmatch(r"\d{1,4}", text, re.ASCII):
            bad += 1
        else:
            ages.append(None if text is None else int(text))
    if bad:
        raise InvalidInput.of(
            f"/links/{attribute}",
            "not-an-age",
            f"{bad} values of the column linked to {attribute!r} are not ages.",
            "Ages are whole numbers of completed years, 0 or more.",
        )
    distinct = sorted(set(ages), key=lambda age: -1 if age is None else age)
    place = {age: i for i, age in enumerate(distinct)}
    return distinct, np.array([place[age] for age in ages], dtype=np.int32)
