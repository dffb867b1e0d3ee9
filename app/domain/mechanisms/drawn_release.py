"""A release that a mechanism made, as whoever has it sees it.

It is all that a reader has: the published rows, in an order that says nothing of the records', what the
hierarchies say of their values, and what the mechanism published beside them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from app.domain.arrays import Ints
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.tables.table import Table


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
    def prior(self) -> tuple[float, ...]:
        """The share of each value before the release."""

    @property
    def matrix(self) -> TransitionMatrix:
        """By which each value was replaced."""

    def numbers(self, labels: Sequence[str]) -> Ints:
        """(nodes,) the number of the value that each label is, else −1."""


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
    """

    table: Table
    mechanism: str
    published: Any
    suppresses: bool = False

    @property
    def replaced(self) -> PublishedMatrix | None:
        """What is known of the attribute whose values a matrix replaced; None: no matrix was published."""
        return self.published if isinstance(self.published, PublishedMatrix) else None
