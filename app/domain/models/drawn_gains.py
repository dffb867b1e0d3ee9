"""What is gained on the values of a release whose values were replaced at random, published value by value.

Every published value plays the part of a class, and the belief in a value after it that of the value's share
of the class. The rows tell only how many records are met by a belief: what it is follows from the matrix.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from app.domain.arrays import Floats, Ints, Longs
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.classes.gains import LikenessBound, frequency_bounds
from app.domain.classes.grouping import Grouping
from app.domain.errors import InvalidInput
from app.domain.mechanisms.drawn_release import DrawnRelease, PublishedMatrix, PublishedMatrixAndPrior
from app.domain.mechanisms.posteriors import Pairs, Posteriors
from app.domain.mechanisms.reference import reference_totals
from app.domain.models.entry import MeasureContext, given
from app.domain.models.gains_found import GainFound
from app.domain.models.judged import ROWS_NAMED, ClassRef, JudgedOn
from app.domain.tables.table import no_attribute

TOLERANCE = 1e-9
"""Share of its bound that a belief computed in doubles may be above it, as in the posterior check."""


def other_attribute(context: MeasureContext, attribute: str | None) -> str | None:
    """Why nothing can be told of the attribute; None if it is the one that was drawn, or none is named.

    InvalidInput for an attribute that there is not.
    """
    _, published = matrix_of(context)
    if attribute in (None, published.attribute):
        return None
    if attribute not in context.table.attributes:
        raise InvalidInput([no_attribute("/measure/attribute", str(attribute), context.table.attributes)])
    return (
        f"The release shows {attribute!r} as a rule does: only {published.attribute!r} was drawn. Choose "
        f"that attribute, or measure {attribute!r} of the dataset under that rule."
    )


def matrix_of(context: MeasureContext) -> tuple[DrawnRelease, PublishedMatrix]:
    """The drawn release and what it published of an attribute that a matrix replaced."""
    drawn = given(context.drawn)
    return drawn, given(drawn.replaced)


def matrix_and_prior_of(context: MeasureContext) -> tuple[DrawnRelease, PublishedMatrixAndPrior]:
    """The same where the shares of the values are published, too."""
    drawn = given(context.drawn)
    return drawn, given(drawn.replaced_with_prior)


@dataclass(frozen=True, eq=False)
class DrawnGains:
    """The rows by published value, beside what the matrix and a prior make of it.

    Parameters
    ----------
    prior
        p, (m,), of the published values.
    bounds
        f(p), (m,).
    numbers
        (rows,) the number of the value that each row shows.
    """

    published: PublishedMatrix
    prior: Floats
    bounds: Floats
    numbers: Ints

    @cached_property
    def posteriors(self) -> Posteriors:
        """What is believed after each value."""
        return Posteriors(self.published.matrix, self.prior)

    @cached_property
    def rows(self) -> Longs:
        """(m,) rows that show each value."""
        return np.bincount(self.numbers, minlength=len(self.prior)).astype(np.int64)

    def class_of(self, value: int) -> ClassRef:
        """The rows that show a value."""
        found = np.flatnonzero(self.numbers == value)
        return ClassRef(tuple((found[:ROWS_NAMED] + 1).tolist()), len(found))

    def found(self, pairs: Pairs, top: int) -> tuple[GainFound, ...]:
        """The pairs of greatest ratio, the first of equals first."""
        order = np.argsort(-pairs.ratios, kind="stable")[:top]
        columns = (pairs.published[order], pairs.true[order], pairs.ratios[order])
        return tuple(self._found(*own) for own in zip(*(own.tolist() for own in columns), strict=True))

    def _found(self, published: int, true: int, ratio: float) -> GainFound:
        p, bound = float(self.prior[true]), float(self.bounds[true])
        return GainFound(
            exposed=self.class_of(published),
            value=self.published.values[true],
            with_value=int(self.rows[published]) if published == true else 0,
            in_class=p * ratio,
            in_table=p,
            ratio=ratio,
            gain=ratio - 1,
            bound=bound,
            utilisation=p * ratio / bound,
            breaks_cap=p * ratio > _cap(p) * (1 + TOLERANCE),
        )

    def caps(self) -> Floats:
        """(m,) the ratio from which on enhanced β-likeness holds for no β: 1 − ln p."""
        with np.errstate(divide="ignore"):
            return np.asarray((1 - np.log(self.prior)) * (1 + TOLERANCE))

    def limits(self) -> Floats:
        """(m,) the ratio that the bounds allow."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(self.bounds / self.prior * (1 + TOLERANCE))


def _cap(p: float) -> float:
    return p * (1 - math.log(p))


def numbers_shown(drawn: DrawnRelease, published: PublishedMatrix) -> Ints:
    """(rows,) the number of the value that each row shows."""
    j = drawn.table.position(published.attribute)
    number = published.numbers(drawn.table.hierarchies[j])
    return np.asarray(number.take(drawn.table.codes[:, j]))


@dataclass(frozen=True, eq=False)
class KnownBefore:
    """How often values occur in what a reader knows: the published ones, and others that never are published.

    Parameters
    ----------
    totals, others
        (m,) records of the published values, and of others, those above 0; of published shares, shares of as
        many records as there are rows, which need not be whole.
    nodes
        The nodes of all that are above 0.
    """

    totals: Floats
    others: Floats
    nodes: Ints

    @property
    def all_totals(self) -> Floats:
        """All above 0."""
        return np.concatenate([self.totals[self.totals > 0], self.others])

    @cached_property
    def total(self) -> float:
        """All records together."""
        return math.fsum(self.all_totals)

    @cached_property
    def prior(self) -> Floats:
        """p, (m,), of the published values."""
        return np.asarray(self.totals / self.total)

    def bounds(self, beta: Fraction, bound: LikenessBound) -> Floats:
        """f(p), (m,)."""
        return frequency_bounds(self.totals, self.total, beta, bound)


def known_before(
    context: MeasureContext, published: PublishedMatrixAndPrior, reference: Mapping[CellValue, int] | None
) -> KnownBefore:
    """The published prior, or how often each value occurs elsewhere; InvalidInput for a value unheard of."""
    hierarchy = context.table.hierarchies[context.table.position(published.attribute)]
    nodes = published.nodes(hierarchy)
    if reference is None:
        shares = np.array(published.prior)
        return KnownBefore(shares * given(context.drawn).table.n_records, np.zeros(0), nodes[shares > 0])
    found = reference_totals(reference, hierarchy, published.attribute, "/measure/reference")
    totals, known = found.take(nodes).astype(np.float64), np.flatnonzero(found).astype(np.int32)
    found[nodes] = 0
    if not totals.any():
        raise InvalidInput.of(
            "/measure/reference",
            "reference-out-of-range",
            "The reference has none of the values that the release publishes.",
            "Give how often these occur, or leave the reference out.",
        )
    return KnownBefore(totals, found[found > 0].astype(np.float64), known)


def judged_by_value(grouping: Grouping, gains: DrawnGains) -> JudgedOn:
    """That all rows are judged by what they show: a class for each value that can be published."""
    return JudgedOn(
        quasi_identifiers=(),
        missing=grouping.missing,
        missing_sensitive=grouping.missing_sensitive,
        suppressed=grouping.suppressed,
        records=len(gains.numbers),
        records_judged=len(gains.numbers),
        records_suppressed=0,
        records_missing=0,
        classes=len(gains.prior),
    )
