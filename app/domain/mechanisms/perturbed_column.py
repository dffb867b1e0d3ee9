"""What is perturbed, and by which matrix: a perturbation's parameters and the column that they are for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Literal

import numpy as np
from annotated_types import Ge, Gt, Le, Len, Lt, MaxLen, doc

from app.documents import refuse_out_of_bounds
from app.domain.arrays import Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import CellValue, Hypothesis
from app.domain.classes.gains import frequency_bounds
from app.domain.classes.ratios import as_written
from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import TOP
from app.domain.mechanisms.drawing import MOST_VALUES
from app.domain.mechanisms.likeness_matrix import (
    LikenessMatrix,
    Objective,
    excess_amplification,
    published_matrix,
    safe_matrix,
)
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.public_domains import DOMAIN_IS_PUBLIC, domain_is_public
from app.domain.mechanisms.reference import reference_totals
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table


@dataclass(frozen=True)
class Perturbation:
    """How sensitive values are randomised."""

    beta: Annotated[
        float,
        Ge(1e-9),
        Le(1e6),
        doc(
            "Greatest relative gain of a reader on a value, taken as the decimal it is written as: 1 means "
            "twice as likely."
        ),
    ]
    attribute: Annotated[
        str | None, MaxLen(200), doc("The sensitive attribute; null: the only one of that role.")
    ] = None
    mode: Annotated[
        Literal["safe", "paper"],
        doc(
            "`safe`: the published formula where it keeps its promise, and a corrected one where it does "
            "not. `paper`: the published formula, refused where a retention is not above 0."
        ),
    ] = "safe"
    objective: Annotated[
        Objective,
        doc(
            "Which of the safe matrices: the nearest to the published formula (`paper`), or the one that "
            "keeps most values (`retention`)."
        ),
    ] = "paper"
    alpha_floor: Annotated[
        float | None,
        Gt(0),
        Lt(1),
        doc(
            "Least retention of any value: the greater, the better can rare values be counted. null: the "
            "published formula's where that is above 0, otherwise half of the greatest that is possible."
        ),
    ] = None
    reference: Annotated[
        Mapping[CellValue, Annotated[int, Ge(0), Le(10**12)]] | None,
        Len(1, MOST_VALUES),
        doc(
            "How often each value occurs in what readers know before, such as public statistics; it has "
            "every value of the table. null: in the table, of which the shares are published."
        ),
    ] = None

    def __post_init__(self) -> None:
        refuse_out_of_bounds(self)
        if self.mode == "safe":
            return
        for name, default in (("objective", "paper"), ("alpha_floor", None)):
            if getattr(self, name) != default:
                raise InvalidInput.of(
                    f"/{name}",
                    "not-of-mode",
                    f"The published formula has no choice of {name}.",
                    f"Leave {name} out, or choose the mode safe.",
                )


@dataclass(frozen=True, eq=False)
class PerturbedColumn:
    """The sensitive column: its values, and how often each occurs in the table and in the prior."""

    table: Table
    column: int
    nodes: Ints
    totals: Longs
    parameters: Perturbation
    domain: Hypothesis

    @classmethod
    def of(cls, context: MechanismContext, parameters: Perturbation) -> PerturbedColumn:
        """InvalidInput for an attribute or a reference that does not fit the table."""
        table = context.table
        column = table.position(Release(table).sensitive(parameters.attribute, "/mechanism/attribute"))
        size = table.sizes[column]
        records = np.bincount(table.codes[:, column], minlength=size)
        records[shows_nothing(np.arange(size)) & (size > 1)] = 0
        totals = records
        if parameters.reference is not None:
            hierarchy, name = table.hierarchies[column], table.attributes[column]
            totals = reference_totals(parameters.reference, hierarchy, name, "/mechanism/reference")
            _require_known(table, column, records, totals)
        nodes = np.flatnonzero(totals).astype(np.int32)
        domain = _domain_of(context, table.attributes[column], parameters)
        return cls(table, column, nodes, totals[nodes], parameters, domain)

    @property
    def attribute(self) -> str:
        """Its name."""
        return self.table.attributes[self.column]

    @property
    def labels(self) -> tuple[str, ...]:
        """The text of each value."""
        own = self.table.hierarchies[self.column].labels
        return tuple(own[node] for node in self.nodes.tolist())

    @property
    def unused(self) -> int:
        """Leaves of the hierarchy that no value stands for: they take no part."""
        return self.table.hierarchies[self.column].leaves_outside(self.nodes)

    @cached_property
    def prior(self) -> Floats:
        """p, (m,)."""
        return np.asarray(self.totals / int(self.totals.sum()))

    @cached_property
    def excess(self) -> Floats:
        """γ − 1, (m,); 0 for a single value, of which nothing can be learnt."""
        if len(self.nodes) == 1:
            return np.zeros(1)
        return excess_amplification(self.totals, as_written(self.parameters.beta))

    @cached_property
    def found(self) -> LikenessMatrix:
        """The matrix; the identity for a single value."""
        own = self.parameters
        if len(self.nodes) == 1:
            return LikenessMatrix(TransitionMatrix(np.ones(1)), self.excess, 1.0, None)
        if own.mode == "paper":
            return published_matrix(self.excess)
        return safe_matrix(self.excess, self.prior, own.objective, own.alpha_floor)

    @cached_property
    def bounds(self) -> Floats:
        """f(p), (m,)."""
        beta = as_written(self.parameters.beta)
        return frequency_bounds(self.totals, int(self.totals.sum()), beta, "enhanced")

    @cached_property
    def posteriors(self) -> Floats:
        """The greatest posterior of each value, (m,)."""
        return self.found.matrix.greatest_posteriors(self.prior)


def _domain_of(context: MechanismContext, attribute: str, parameters: Perturbation) -> Hypothesis:
    """What is known of where the values come from: without a reference only those that occur are drawn."""
    declared = domain_is_public(context, attribute)
    if parameters.reference is not None or declared.holds != "yes":
        return declared
    return Hypothesis(
        DOMAIN_IS_PUBLIC,
        "assumed",
        f"Which of the declared values of {attribute!r} occur, and how often, is published and taken to be "
        "known before. With a reference it is the reference that is published.",
    )


def _require_known(table: Table, column: int, records: Longs, totals: Longs) -> None:
    """Refuse a reference that lacks a value of the table: nothing bounds the gain on what was impossible.

    Nor may it count what stands for all values: that is what a missing one is shown as.
    """
    if totals[TOP] and len(totals) > 1:
        raise InvalidInput.of(
            "/mechanism/reference",
            "missing-value",
            f"The reference counts {table.hierarchies[column].labels[TOP]!r}, which stands for all values of "
            f"{table.attributes[column]!r} and would be published like a missing one.",
            "Leave it out, or spread its records over the values.",
        )
    unknown = (records > 0) & (totals == 0)
    if unknown.any():
        raise InvalidInput.of(
            "/mechanism/reference",
            "reference-lacks-values",
            f"{np.count_nonzero(unknown)} values of {table.attributes[column]!r} that "
            f"{int(records[unknown].sum()):,} records have are not in the reference, or have a count of 0.",
            "Give every value of the table a count above 0, or leave the reference out.",
        )
