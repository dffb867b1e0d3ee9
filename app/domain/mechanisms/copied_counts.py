"""How far counts are off in groups of which a sample was perturbed and published in copies.

Of n records of a group n1 are drawn and published β = n / n1 times on average: n div n1 times, and r = n mod
n1 of them once more. Where n1 follows from n alone, and is told, whoever has the release can estimate the
variance of a count from it (Definitions: errors of counts in copies), and this is done here, from nothing
else. The variance that follows from the original records would tell these: of a group that is not sampled it
is a known linear function of how many have the value.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, Protocol, runtime_checkable

import numpy as np

from app.domain.arrays import Floats, Ints
from app.domain.classes.reconstructed_shares import copies_of, variances_of_copies
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.mechanisms.count_intervals import Spread
from app.domain.mechanisms.published_records import PublishedRecords

SIZES_UNTOLD: Final = (
    "Values are published in copies of samples whose sizes are not told, and groups may be suppressed, so "
    "that no standard error follows from the release. One that was computed from the original records would "
    "tell these."
)
ONE_RECORD: Final = (
    "Of each larger group a single record was drawn, and published in copies: how far such counts are off "
    "does not follow from the release."
)


@runtime_checkable
class PublishedCopies(Protocol):
    """What mechanisms publish that replace values of samples and publish them in copies."""

    @property
    def sample_size(self) -> int | None:
        """How many records of each larger group were drawn; None if that is not told."""

    @property
    def keeps_sizes(self) -> bool:
        """Whether as many records are published of each group as it has."""

    @property
    def p(self) -> float:
        """With which probability a sampled value was kept, else replaced by any, each as likely."""


def why_untold(copies: PublishedCopies) -> str:
    """Why no standard errors of counts are told, where none are."""
    return SIZES_UNTOLD if copies.sample_size is None else ONE_RECORD


class CopiedRecords:
    """What is needed of the records of a release to tell the variance of its counts.

    Of every group, with O_x records that show x and κ = k / (β² − k), k = r·(n1 − r) / ((n1 − 1)·n1²), sums
    over groups of β·O_x, of κ·O_x·(n − O_x), and of β² and ⌈β⌉² where the group was sampled.

    Parameters
    ----------
    records, of_group
        Of the release, one for each group and value, and the group of each.
    p
        Of the replacement.
    sample_size
        n1 of larger groups.
    """

    @classmethod
    def told(cls, records: PublishedRecords, copies: PublishedCopies) -> CopiedRecords | None:
        """Of records with groups, drawn as was published; None where sizes of samples are not told.

        And where a single record is drawn of each: how copies vary follows from no single one.
        """
        if copies.sample_size is None or copies.sample_size < 2 or records.of_group is None:
            return None
        return cls(records, records.of_group, copies.p, copies.sample_size)

    def __init__(self, records: PublishedRecords, of_group: Ints, p: float, sample_size: int) -> None:
        self._p, self._m = p, records.n_values
        n = np.bincount(of_group, records.counts)
        n1 = np.minimum(n, sample_size)
        beta, of_pairs = copies_of(n, n1)
        kappa = of_pairs[of_group]
        firsts = np.zeros(len(n), dtype=np.int64)
        firsts[of_group] = np.arange(len(of_group))
        sampled = firsts[n1 < n]
        shown = records.counts
        places = np.concatenate([np.arange(len(of_group)), np.arange(len(of_group)), sampled, sampled])
        values = [records.values, records.values + self._m]
        values += [np.full(len(sampled), 2 * self._m + place) for place in (0, 1)]
        most = np.ceil(beta)
        self._most = float(most.max()) if len(most) else 1.0
        self._sums = PublishedRecords(
            {j: column[places] for j, column in records.columns.items()},
            records.sizes,
            np.concatenate(values).astype(np.int32),
            2 * self._m + 2,
            np.concatenate(
                [
                    beta[of_group] * shown,
                    kappa * shown * (n[of_group] - shown),
                    beta[of_group[sampled]] ** 2,
                    most[of_group[sampled]] ** 2,
                ]
            ),
        )

    @property
    def n_bytes(self) -> int:
        """Memory that the sums take."""
        return self._sums.n_bytes

    def on(self, attributes: Sequence[int]) -> CopiedSums:
        """The sums by some attributes."""
        return CopiedSums(self._sums, attributes, self._p, self._m, self._most)


class CopiedSums:
    """The sums, reduced to what queries on the same attributes ask of them."""

    def __init__(
        self, sums: PublishedRecords, attributes: Sequence[int], p: float, m: int, most: float
    ) -> None:
        self._p, self._m, self._most, self._total = p, m, most, sums.total()
        self._reduced = sums.on(attributes) if attributes else None

    def variances(self, shares: Sequence[Mapping[int, Floats]], chosen: Floats) -> Floats:
        """(q,) of queries with these shares by attribute that count the values chosen (q, m), 0 or 1.

        At least the variance in expectation, but for estimates that are moved into their bounds.
        """
        sums = self._of_all(shares)
        weighted, crossed, squares = sums[:, : self._m], sums[:, self._m : -2], sums[:, -2]
        # How the copies are spread: the pairs of an asked and another value are at most those of either side.
        inside = np.einsum("qm,qm->q", crossed, chosen)
        pairs = np.minimum(inside, crossed.sum(axis=1) - inside)
        whole, shown = weighted.sum(axis=1), np.einsum("qm,qm->q", weighted, chosen)
        own, asked = UniformReplacement(self._p, self._m), chosen.sum(axis=1)
        return variances_of_copies(shown, whole, pairs, squares, own, asked, _stretches(chosen))

    def spread(self, shares: Sequence[Mapping[int, Floats]], chosen: Floats, records: Floats) -> Spread:
        """(q,) what bounds the estimates of these queries, whatever the records have.

        In three steps, of which each knows those before: how samples are rounded, which of their records are
        published once more, and what is drawn for each. See Definitions: errors of counts in copies.
        """
        sums, stretches, p = self._of_all(shares), _stretches(chosen), self._p
        whole, squares, of_most = sums[:, : self._m].sum(axis=1), sums[:, -2], sums[:, -1]
        elsewhere = chosen.sum(axis=1) * (1 - p) / self._m
        lacking, having = (own * (1 - own) for own in (elsewhere, elsewhere + p))
        more = np.maximum(having - lacking, 0.0)
        most = np.clip(np.sqrt(of_most), 1.0, self._most)
        # A record of the sample is published most times at most, and n1·N / n + stretches of these count.
        drawn, copied = np.minimum(2 * most, most + 3) * more, p**2 / 4
        beside = (whole + records) * lacking + stretches * of_most * (more + p**2 / 16)
        beside += stretches**2 * squares * p**2 / 4
        nothing = np.zeros(len(most))
        return Spread(
            most * np.maximum(1.0, stretches * p) / p,
            nothing,
            (drawn + copied) / p**2,
            beside / p**2,
            np.zeros(len(most), dtype=bool),
        )

    def _of_all(self, shares: Sequence[Mapping[int, Floats]]) -> Floats:
        return np.array([self._of(own) for own in shares])

    def _of(self, shares: Mapping[int, Floats]) -> Floats:
        if self._reduced is None:
            return self._total
        return self._reduced.counts.totals(self._reduced.rows.runs(shares), squared=True)


def _stretches(chosen: Floats) -> Floats:
    """(q,) stretches of neighbouring values chosen, each of which is rounded up or down in samples."""
    return np.asarray(np.count_nonzero(chosen != np.roll(chosen, 1, axis=1), axis=1) / 2)
