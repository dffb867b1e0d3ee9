"""What is replaced uniformly: the sensitive column, and the groups of records alike in all others."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Protocol

import numpy as np
from annotated_types import Ge, Gt, Le, Lt, MaxLen, doc

from app.documents import refuse_out_of_bounds
from app.domain.arrays import Ints, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.reconstruction import UniformReplacement, greatest_p, greatest_posterior
from app.domain.classes.released import Release
from app.domain.classes.sensitive_counts import SensitiveCounts, count_values
from app.domain.errors import Fault, InvalidInput
from app.domain.hierarchies.numbers import alike_in_number
from app.domain.mechanisms.drawing import MOST_VALUES, require_values
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.rule_before import changes, disclosed, touched
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table

WITHIN: Final = 1e-12
"""Share of a cap that p may be above it: what rounding makes of an equality."""

Belief = Annotated[float | None, Gt(0), Lt(1)]


class Capped(Protocol):
    """Parameters that cap p: by itself, or by what may be believed after one record."""

    @property
    def p_cap(self) -> float | None:
        """The cap itself."""

    @property
    def rho_1(self) -> float | None:
        """What was at most so likely..."""

    @property
    def rho_2(self) -> float | None:
        """...is at most so likely after one record."""


def require_cap(asked: Capped) -> None:
    """InvalidInput unless a cap is given in exactly one of the two ways."""
    beliefs = (asked.rho_1, asked.rho_2)
    if (asked.p_cap is None) == (beliefs == (None, None)) or (None in beliefs and beliefs != (None, None)):
        raise InvalidInput.of(
            "/p_cap",
            "cap-missing",
            "A cap on p is given either by p_cap, or by rho_1 and rho_2 together. Without one, records "
            "that are published practically unchanged would pass the criteria.",
            "Give p_cap, or both rho_1 and rho_2.",
        )
    if asked.rho_1 is not None and asked.rho_2 is not None and asked.rho_1 >= asked.rho_2:
        raise InvalidInput.of(
            "/rho_1",
            "out-of-range",
            f"rho_1 is {asked.rho_1}, not below rho_2, which is {asked.rho_2}.",
            "Choose 0 < rho_1 < rho_2 < 1.",
        )


def cap_on_p(asked: Capped, m: int) -> float:
    """The greatest p that is allowed, of m values."""
    if asked.rho_1 is not None and asked.rho_2 is not None:
        return greatest_p(asked.rho_1, asked.rho_2, m)
    return 1.0 if asked.p_cap is None else asked.p_cap


def is_within_cap(asked: Capped, p: float, m: int) -> bool:
    """Whether p is at most the cap, to within what rounding makes of an equality."""
    return p <= cap_on_p(asked, m) * (1 + WITHIN)


@dataclass(frozen=True, kw_only=True)
class UniformReplacementParameters:
    """How values are replaced, under which cap, and how bad estimates of a group's shares have to be."""

    p: Annotated[
        float,
        Ge(1e-9),
        Lt(1),
        doc("With this probability a record keeps its value; else any of all m is drawn, its own included."),
    ]
    p_cap: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        doc("p may not be above it. null: the cap follows from rho_1 and rho_2. One of both is needed."),
    ] = None
    rho_1: Annotated[
        Belief,
        doc("What a reader believed at most so strongly before is believed at most rho_2 after one record."),
    ] = None
    rho_2: Annotated[Belief, doc("Above rho_1; see there.")] = None
    epsilon: Annotated[
        float,
        Ge(1e-9),
        Le(1000),
        doc("From which error on, as a part of the share, the estimate of a share in a group counts as bad."),
    ] = 0.3
    delta: Annotated[float, Gt(0), Lt(1), doc("What the criterion compares with.")] = 0.3
    attribute: Annotated[
        str | None, MaxLen(200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None

    def __post_init__(self) -> None:
        refuse_out_of_bounds(self)
        require_cap(self)

    def cap(self, m: int) -> float:
        """The greatest p that is allowed, of m values."""
        return cap_on_p(self, m)


@dataclass(frozen=True, eq=False)
class UniformColumn:
    """The sensitive column and the rest of the records, as a rule leaves them."""

    table: Table
    column: int
    shown: Ints
    parameters: UniformReplacementParameters
    context: MechanismContext

    @classmethod
    def of(cls, context: MechanismContext, parameters: UniformReplacementParameters) -> UniformColumn:
        """InvalidInput for an attribute that does not fit the table."""
        table = context.table
        column = table.position(Release(table).sensitive(parameters.attribute, "/mechanism/attribute"))
        return cls(table, column, disclosed(context), parameters, context)

    @property
    def attribute(self) -> str:
        """Its name."""
        return self.table.attributes[self.column]

    @property
    def leaves(self) -> Ints:
        """(m,) the nodes that may be drawn: the leaves of the attribute's hierarchy."""
        return self.table.hierarchies[self.column].leaves

    @property
    def m(self) -> int:
        """How many values may be drawn, whether they occur or not."""
        return len(self.leaves)

    @property
    def replacement(self) -> UniformReplacement:
        """With which probability values are kept, of how many."""
        return UniformReplacement(self.parameters.p, self.m)

    @property
    def values(self) -> tuple[CellValue, ...]:
        """The text of each value that may be drawn."""
        labels = self.table.hierarchies[self.column].labels
        return tuple(CellValue(labels[node]) for node in self.leaves.tolist())

    @cached_property
    def numbers(self) -> Ints:
        """(n,) which leaf each record's value is."""
        number = np.zeros(self.table.sizes[self.column], dtype=np.int32)
        number[self.leaves] = np.arange(self.m, dtype=np.int32)
        return np.asarray(number.take(self.table.codes[:, self.column]))

    @cached_property
    def known(self) -> tuple[int, ...]:
        """The attributes by which records are found: all but the sensitive ones."""
        return tuple(j for j in self.table.quasi_identifiers if j != self.column)

    @cached_property
    def of_record(self) -> Ints:
        """(n,) the group of each record: all are one where there is no quasi-identifier.

        Numbers are grouped by value: who knows a person's 1 finds it written as 1.0, too.
        """
        if not self.known:
            return np.zeros(self.table.n_records, dtype=np.int32)
        columns = [
            alike_in_number(self.table.hierarchies[j], self.shown[:, j])
            if self.table.attributes[j] in self.context.numeric
            else self.shown[:, j]
            for j in self.known
        ]
        sizes = [self.table.sizes[j] for j in self.known]
        return distinct_rows(columns, sizes, self.table.n_records).inverse

    @cached_property
    def counts(self) -> SensitiveCounts:
        """How often each value occurs in each group; values are numbered as the leaves are."""
        n_groups = int(self.of_record.max()) + 1
        ones: Longs = np.ones(self.table.n_records, dtype=np.int64)
        found = count_values(self.of_record.astype(np.int64), self.numbers, ones, n_groups, self.m)
        totals = np.bincount(self.numbers, minlength=self.m).astype(np.int64)
        return SensitiveCounts(*found, totals, self.leaves.astype(np.int32))

    @property
    def constants(self) -> dict[str, float]:
        """What plans tell of p, the cap and the groups, whatever is drawn for them."""
        own, replacement = self.parameters, self.replacement
        found: dict[str, float] = {
            "values": self.m,
            "p_cap": own.cap(self.m),
            "gamma": replacement.amplification,
            "groups": self.counts.n_classes,
        }
        if own.rho_1 is not None:
            found["rho_2_reached"] = greatest_posterior(replacement, own.rho_1)
        return found

    def above_cap(self) -> tuple[Fault, ...]:
        """That p is above its cap, if it is."""
        cap, p = self.parameters.cap(self.m), self.parameters.p
        if is_within_cap(self.parameters, p, self.m):
            return ()
        fault = Fault(
            "/mechanism/p",
            "p-above-cap",
            f"p is {p:.9g}; with {self.m:,} values the cap is {cap:.9g}.",
            f"Give p of at most {cap:.9g}, or raise the cap and say so to who is protected by it.",
        )
        return (fault,)


def unfit(context: MechanismContext, parameters: UniformReplacementParameters) -> str | None:
    """Why the values of the attribute cannot be replaced; None if they can.

    InvalidInput for an attribute that does not fit the table, or of which records have no value.
    """
    table = context.table
    column = table.position(Release(table).sensitive(parameters.attribute, "/mechanism/attribute"))
    name, hierarchy = table.attributes[column], table.hierarchies[column]
    if hierarchy.n_leaves < 2:
        return f"{name!r} has a single value. Declare a hierarchy with the values that it might have."
    if hierarchy.n_leaves > MOST_VALUES:
        return f"{name!r} has {hierarchy.n_leaves:,} values. Group them into at most {MOST_VALUES:,}."
    require_values(table, column)
    if not hierarchy.is_leaf[table.codes[:, column]].all():
        return (
            f"Some records have a generalised value of {name!r}, and only leaves of its hierarchy are drawn. "
            "Give each record a value, or let the hierarchy end where the data do."
        )
    return touched(name, "replaced") if changes(context, column) else None
