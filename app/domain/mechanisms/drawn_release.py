"""A release that a mechanism made, as whoever has it sees it.

It is all that a reader has: the published rows, in an order that says nothing of the records', what the
hierarchies say of their values, and what the mechanism published beside them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Protocol, runtime_checkable

import numpy as np
from annotated_types import doc

from app.domain.arrays import Ints
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.copied_counts import PublishedCopies
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table


@dataclass(frozen=True, eq=False)
class PublishedValues:
    """What is told of the values that may have been drawn, whatever they were drawn by."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[
        tuple[CellValue, ...],
        doc("All values that can be published; what is told of each is in their order."),
    ]

    def nodes(self, hierarchy: Hierarchy) -> Ints:
        """(m,) the node of each value, as a cell of the dataset is read: a leaf before what stands above."""
        return np.array([hierarchy.node_of(value) for value in self.values], dtype=np.int32)

    def numbers(self, hierarchy: Hierarchy) -> Ints:
        """(nodes,) the number of the value that each node of the hierarchy is, else −1."""
        found: Ints = np.full(hierarchy.n_nodes, -1, dtype=np.int32)
        found[self.nodes(hierarchy)] = np.arange(len(self.values), dtype=np.int32)
        return found


@dataclass(frozen=True, eq=False)
class PublishedRetention(PublishedValues):
    """The same where every value was kept with one probability, else replaced by any, each as likely."""

    p: Annotated[
        float,
        doc(
            "With this probability a value is kept by the coin; else each of the values is as likely, "
            "whether a record has it or not."
        ),
    ]

    @property
    def uniform(self) -> UniformReplacement:
        """What was done to a value."""
        return UniformReplacement(self.p, len(self.values))


@runtime_checkable
class PublishedMatrix(Protocol):
    """What mechanisms publish that replace each value of one attribute by itself, as a matrix says."""

    @property
    def attribute(self) -> str:
        """The attribute."""

    @property
    def values(self) -> tuple[CellValue, ...]:
        """The values that can be published, in the order of the matrix."""

    @property
    def matrix(self) -> TransitionMatrix:
        """By which each value was replaced."""

    def nodes(self, hierarchy: Hierarchy) -> Ints:
        """(m,) the node of each value."""

    def numbers(self, hierarchy: Hierarchy) -> Ints:
        """(nodes,) the number of the value that each node is, else −1."""


@runtime_checkable
class PublishedMatrixAndPrior(PublishedMatrix, Protocol):
    """The same where it is published, too, how frequent the values are."""

    @property
    def prior(self) -> tuple[float, ...]:
        """The share of each value before the release."""


@dataclass(frozen=True, eq=False)
class CountedValues(PublishedValues):
    """Values with the matrix through which counts of them are undone."""

    matrix: TransitionMatrix


@runtime_checkable
class PublishedPriors(Protocol):
    """What mechanisms publish that draw people of partitions and of a prior."""

    @property
    def partition(self) -> tuple[str, ...]:
        """The attributes whose combinations are the partitions, published as they are."""

    @property
    def sizes(self) -> tuple[int, ...]:
        """How many people partitions have, ascending."""

    @property
    def totals(self) -> tuple[float, ...]:
        """|α| of the prior in partitions of each size, or more."""


@dataclass(frozen=True, eq=False)
class DrawnRelease:
    """Published rows, and what a reader needs to count them.

    Parameters
    ----------
    table
        A row per published record: the nodes that it shows, of the hierarchies of the dataset. Nobody knows
        which record of the dataset it is of.
    mechanism
        The mechanism's name.
    published
        What it published, of the mechanism's own type.
    suppresses
        Whether a rule for single records came first: a row that shows no quasi-identifier is then suppressed.
    levels
        The level at which the rows show an attribute; one without a level may show any node.
    """

    table: Table
    mechanism: str
    published: Any
    suppresses: bool = False
    levels: Mapping[str, int] = field(default_factory=dict)

    @property
    def replaced(self) -> PublishedMatrix | None:
        """What is known of the attribute whose values a matrix replaced; None: no matrix was published."""
        return self.published if isinstance(self.published, PublishedMatrix) else None

    @property
    def replaced_with_prior(self) -> PublishedMatrixAndPrior | None:
        """The same, if the shares of the values before the release are published, too."""
        return self.published if isinstance(self.published, PublishedMatrixAndPrior) else None

    @property
    def retained(self) -> PublishedRetention | None:
        """What is known of uniformly replaced values, be their rows independent draws or copies."""
        return self.published if isinstance(self.published, PublishedRetention) else None

    @property
    def copied(self) -> PublishedCopies | None:
        """What is known of rows that are copies of fewer drawn ones; None: each was drawn by itself."""
        return self.published if isinstance(self.published, PublishedCopies) else None

    @property
    def counted_through(self) -> PublishedMatrix | None:
        """By what counts are undone, be the rows independent draws or copies of such; None: by nothing."""
        own = self.retained
        if self.replaced is not None or own is None:
            return self.replaced
        matrix = TransitionMatrix(np.full(len(own.values), own.p))
        return CountedValues(own.attribute, own.values, matrix)

    @property
    def drawn_attribute(self) -> str | None:
        """The one attribute of which the rows show drawn values, be a matrix published or not."""
        own = getattr(self.published, "attribute", None)
        return own if isinstance(own, str) else None

    @property
    def noise_share(self) -> float | None:
        """The share of people expected to be of a prior and to stand for nobody, at most; None: not known.

        That is the mean over people of |α| / (n + |α|), n being the people of their partition
        (Machanavajjhala (2008), section 4.6).
        """
        if not isinstance(self.published, PublishedPriors):
            return None
        own, table = self.published, self.table
        places = [table.position(name) for name in own.partition]
        columns = [table.codes[:, j] for j in places] or [np.zeros(table.n_records, dtype=np.int32)]
        people = distinct_rows(columns, [table.sizes[j] for j in places] or [1], table.n_records).counts
        totals = np.array(own.totals)[np.searchsorted(own.sizes, people)]
        return float(np.average(totals / (people + totals), weights=people))

    @property
    def expected_retention(self) -> float | None:
        """The share of drawn values that stay, in expectation; None where nothing published tells it."""
        if self.replaced_with_prior is not None:
            known = self.replaced_with_prior
            return math.fsum(np.array(known.prior) * known.matrix.kept)
        kept = np.empty(0) if self.replaced is None else self.replaced.matrix.kept
        # Where all values stay alike it is of no importance how frequent they are.
        return float(kept[0]) if len(kept) and bool((kept == kept[0]).all()) else None
