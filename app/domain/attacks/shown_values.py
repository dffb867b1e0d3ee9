"""What a reader of a release sees of one sensitive attribute, and estimates of it in groups of records.

Of a release that a mechanism drew, the published values and the matrix by which they were replaced; under a
rule, the values themselves, as if the matrix were the identity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Literal

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.grouping import positions_of
from app.domain.errors import InvalidInput
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.models.entry import MeasureContext
from app.domain.tables.masks import shows_nothing

Method = Literal["inverse", "expectation_maximisation"]

CONVERGED: Final = 1e-9
"""Expectation-maximisation has ended if no count changes by more than this share of all."""


@dataclass(frozen=True, eq=False)
class ShownValues:
    """A release as its reader sees it.

    Parameters
    ----------
    attribute, name
        The sensitive attribute: its place and name.
    quasi_identifiers
        Places of the attributes that the reader may know of a person.
    codes
        (rows, attributes) the nodes that the rows show.
    numbers
        (rows,) the number of the value that each row shows, −1 without one.
    labels
        The m values.
    prior
        (m,) their shares, known to everybody; they sum to 1.
    matrix
        By which values were replaced.
    truths
        (n,) the number of each record's own value, −1 without one.
    """

    attribute: int
    name: str
    quasi_identifiers: tuple[int, ...]
    codes: Ints
    numbers: Ints
    labels: tuple[CellValue, ...]
    prior: Floats
    matrix: TransitionMatrix
    truths: Ints

    @property
    def n_values(self) -> int:
        """M."""
        return len(self.labels)

    @cached_property
    def inverse(self) -> InverseMatrix:
        """The inverse of the matrix; NotSupported if it has none."""
        return InverseMatrix(self.matrix)

    def reconstructed(self, published: Floats, method: Method, rounds: int) -> Reconstructed:
        """How many records have each value, of published counts (…, m)."""
        if method == "inverse":
            return Reconstructed(self.inverse.applied(published), 0, True)
        return expectation_maximisation(published, self.matrix, self.prior, rounds)


@dataclass(frozen=True, eq=False)
class Reconstructed:
    """Counts (…, m), the rounds that they took, and whether further ones would change nothing."""

    counts: Floats
    rounds: int
    is_converged: bool


def expectation_maximisation(
    published: Floats, matrix: TransitionMatrix, prior: Floats, rounds: int
) -> Reconstructed:
    """The likeliest counts that are not negative, from at most so many rounds n ← n∘PMᵀ(e / PM·n).

    ``published`` are the counts e, (…, m); the rounds begin with the prior. Where nothing is published all
    are 0.
    """
    total = published.sum(axis=-1, keepdims=True)
    found = total * prior
    for done in range(1, rounds + 1):
        expected = found * matrix.retention + (found @ matrix.elsewhere)[..., None]
        ratio = np.divide(published, expected, out=np.zeros_like(expected), where=expected > 0)
        back = ratio * matrix.retention + ratio.sum(axis=-1)[..., None] * matrix.elsewhere
        before, found = found, found * back
        if (np.abs(found - before) <= CONVERGED * total).all():
            return Reconstructed(found, done, True)
    return Reconstructed(found, rounds, False)


def shown_values(
    context: MeasureContext, attribute: str | None, quasi_identifiers: Sequence[str] | None
) -> ShownValues:
    """What the release shows of the attribute; InvalidInput for one that it cannot be asked about."""
    table = context.table
    known = positions_of(table, None if quasi_identifiers is None else tuple(quasi_identifiers))
    replaced = None if context.drawn is None else context.drawn.replaced_with_prior
    if context.drawn is None or replaced is None:
        shown = _under_rule(context, attribute, known)
    else:
        own = table.position(replaced.attribute)
        require_attribute(
            attribute in (None, replaced.attribute), f"The release has drawn {replaced.attribute!r}."
        )
        rows = context.drawn.table
        numbers = replaced.numbers(table.hierarchies[own])
        shown = ShownValues(
            own, replaced.attribute, known, rows.codes, numbers.take(rows.codes[:, own]), replaced.values,
            np.array(replaced.prior), replaced.matrix, numbers.take(table.codes[:, own]),
        )  # fmt: skip
    require_attribute(shown.attribute not in known, f"{shown.name!r} is among the quasi-identifiers.")
    return shown


def require_attribute(holds: bool, why: str) -> None:
    """InvalidInput, for this reason, unless the attribute can be asked about."""
    if not holds:
        raise InvalidInput.of(
            "/measure/attribute",
            "not-the-sensitive-attribute",
            why,
            "Leave the attribute out, or name another.",
        )


def _under_rule(context: MeasureContext, attribute: str | None, known: tuple[int, ...]) -> ShownValues:
    release, table = context.release, context.table
    name = release.sensitive(attribute)
    own = table.position(name)
    hierarchy, column = table.hierarchies[own], release.codes[:, own]
    has_value = ~release.is_suppressed & ~(shows_nothing(column) & (hierarchy.n_nodes > 1))
    nodes = np.unique(column[has_value])
    if not len(nodes):
        raise InvalidInput.of(
            "/measure/attribute",
            "no-values",
            f"The release shows no value of {name!r}.",
            "Give a rule that does not suppress all of it.",
        )
    place = np.full(hierarchy.n_nodes, -1, dtype=np.int32)
    place[nodes] = np.arange(len(nodes), dtype=np.int32)
    numbers = np.where(has_value, place.take(column), -1).astype(np.int32)
    shares = np.bincount(numbers[has_value], minlength=len(nodes)) / np.count_nonzero(has_value)
    labels = tuple(CellValue(hierarchy.labels[node]) for node in nodes.tolist())
    kept = TransitionMatrix(np.ones(len(nodes)))
    return ShownValues(own, name, known, release.codes, numbers, labels, shares, kept, numbers)
