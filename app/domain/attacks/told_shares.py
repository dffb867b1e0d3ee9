"""What a reader computes of the shares of values in groups of rows, and how far off it may be.

Of rows that are copies of samples whose size is published each group of the release is a sample of its own:
rows that agree in fewer quasi-identifiers, and aggregates, are several samples together.
"""

from __future__ import annotations

from functools import cached_property
from typing import Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.attacks.micro_found import ValueTold
from app.domain.attacks.shown_groups import ShownGroups, shown_groups
from app.domain.classes.reconstructed_shares import (
    CopiedRows,
    beliefs_of_own_row,
    copies_of,
    estimated_shares,
    likeliest_shares,
    standard_errors,
    variances,
)
from app.domain.classes.reconstruction import UniformReplacement
from app.domain.classes.reconstruction_groups import ReconstructionQuestion
from app.domain.classes.sensitive_counts import SensitiveCounts, greatest_by_class
from app.domain.mechanisms.balanced_samples import fixed_size
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.models.entry import MeasureContext
from app.domain.tables.distinct import distinct_rows

OF_RELEASE: Final = (
    "Standard errors are over draws: of the estimate, from the release alone, for rows drawn independently."
)
OF_RECORDS: Final = (
    "Standard errors are those that estimates would have over draws of a plain perturbation; the estimates "
    "are their means, which are the shares themselves."
)
OF_SAMPLES: Final = (
    "Standard errors are over draws: of the estimate, from the release alone, for copies of a sample of each "
    "group whose size is published."
)
OF_COPIES: Final = (
    "There is no standard error: values are published in copies of samples whose sizes are not told, or of a "
    "single record each. What a reader would compute as if they were independent draws is too small."
)


class ToldShares:
    """What is told of groups and aggregates of them.

    ``p`` is the probability with which records' values would be kept; None of a release that was drawn.
    """

    def __init__(self, context: MeasureContext, shown: ShownGroups, p: float | None) -> None:
        self.shown = shown
        drawn = None if context.drawn is None else context.drawn.retained
        self._is_drawn = drawn is not None
        self._samples = drawn if isinstance(drawn, PublishedSamples) else None
        kept = p if drawn is None else drawn.p
        if kept is None:
            raise ValueError("of records it has to be said how probably values would be kept")
        self.replacement = UniformReplacement(kept, len(shown.labels))
        is_whole = self._samples is None or shown.attributes == context.table.quasi_identifiers
        self._groups = shown if is_whole else shown_groups(context, shown.name, None)

    @property
    def has_errors(self) -> bool:
        """Whether a reader can tell standard errors: of one record that is copied nobody can."""
        return self._samples is None or (self._samples.sample_size or 0) > 1

    @property
    def standard_errors(self) -> str:
        """What they are of."""
        if self._samples is not None:
            return OF_SAMPLES if self.has_errors else OF_COPIES
        return OF_RELEASE if self._is_drawn else OF_RECORDS

    def told(self, errors: float) -> Floats:
        """(G,) the estimate of each group's most frequent value, at most 1, less so many standard errors."""
        counts = self.shown.counts
        is_top = counts.counts == greatest_by_class(counts, counts.counts, 0)[counts.of_entry]
        tops = np.flatnonzero(is_top)
        tops = tops[np.unique(counts.of_entry[tops], return_index=True)[1]]
        shown, sizes = counts.counts[tops], counts.sizes
        deviations = self._deviations(shown, sizes, self._copies[:, tops], self._copied)
        return np.asarray(np.minimum(self._estimated(shown, sizes), 1.0) - errors * deviations)

    def values(self, groups: Longs, top: int) -> tuple[ValueTold, ...]:
        """What is told of the most frequent values of some groups together."""
        counts = self.shown.of(groups)
        amounts, sizes = counts.counts, np.repeat(counts.sizes, len(counts.counts))
        order = np.argsort(-amounts, kind="stable")[:top]
        likeliest, estimated = self._likeliest(counts), self._estimated(amounts, sizes)
        copied = None if self._copied is None else self._copied.together(groups)
        copies, every = np.zeros((2, len(self.shown.labels))), self.shown.counts
        for group in groups.tolist():
            entries = slice(*every.starts[group : group + 2].tolist())
            copies[:, every.values[entries]] += self._copies[:, entries]
        deviations = self._deviations(amounts, sizes, copies[:, counts.values], copied)
        before = beliefs_of_own_row(self._of_all[counts.values], self.replacement)
        believed = beliefs_of_own_row(likeliest, self.replacement)
        own_rows = not self._may_be_sampled[groups].any()
        return tuple(
            ValueTold(
                value=self.shown.labels[counts.values[i]],
                shown=int(amounts[i]),
                estimated=float(estimated[i]),
                likeliest=float(likeliest[i]),
                standard_error=float(deviations[i]) if self.has_errors else None,
                believed=float(believed[i]) if own_rows else None,
                believed_without_group=float(before[i]) if own_rows else None,
            )
            for i in order.tolist()
        )

    @cached_property
    def _of_all(self) -> Floats:
        """(m,) the likeliest shares of all rows together."""
        whole = self.shown.of(np.arange(self.shown.counts.n_classes))
        found = np.zeros(len(self.shown.labels))
        found[whole.values] = self._likeliest(whole)
        return found

    def _estimated(self, shown: Longs, sizes: Longs) -> Floats:
        if self._is_drawn:
            return estimated_shares(shown, sizes, self.replacement)
        return np.asarray(shown / sizes)

    def _likeliest(self, counts: SensitiveCounts) -> Floats:
        if self._is_drawn:
            return likeliest_shares(counts, self.replacement)
        return np.asarray(counts.counts / counts.sizes[counts.of_entry])

    def _deviations(self, shown: Longs, sizes: Longs, copies: Floats, copied: CopiedRows | None) -> Floats:
        """Of values that so many rows show, with their :attr:`_copies`."""
        if copied is not None:
            return copied.standard_errors(copies[0], copies[1], self.replacement)
        if self._is_drawn:
            return standard_errors(shown, sizes, self.replacement)
        return np.asarray(np.sqrt(variances(shown.astype(np.float64), sizes, self.replacement)) / sizes)

    @cached_property
    def _of_group(self) -> Longs:
        """(M,) in which of the groups looked at each group of the release is: both in canonical order."""
        if self._groups is self.shown:
            return np.arange(self.shown.counts.n_classes)
        places = [self._groups.attributes.index(j) for j in self.shown.attributes]
        columns = [self._groups.nodes[:, place] for place in places]
        sizes = [self.shown.table.sizes[j] for j in self.shown.attributes]
        return distinct_rows(columns, sizes, len(self._groups.nodes)).inverse.astype(np.int64)

    @cached_property
    def _copied(self) -> CopiedRows | None:
        """(G,) the samples that groups are of; None where nothing is sampled, or of unknown size."""
        if self._samples is None or self._samples.sample_size is None:
            return None
        sizes, n_groups = self._groups.counts.sizes, self.shown.counts.n_classes
        return CopiedRows.of(sizes, self._samples.sample_size, self._of_group, n_groups)

    @cached_property
    def _copies(self) -> Floats:
        """(2, E) of rows O that show a value in a group of n the sums of β·O and of κ·O·(n − O)."""
        counts, own = self.shown.counts, self._groups.counts
        if self._samples is None or self._samples.sample_size is None:
            return np.zeros((2, len(counts.counts)))
        m, entries, sizes = len(self.shown.labels), own.of_entry, own.sizes
        times, of_pairs = copies_of(sizes, np.minimum(sizes, self._samples.sample_size))
        places = np.searchsorted(
            counts.of_entry * m + counts.values, self._of_group[entries] * m + own.values
        )
        weighted = times[entries] * own.counts
        pairs = of_pairs[entries] * own.counts * (sizes[entries] - own.counts)
        return np.array([np.bincount(places, part, len(counts.counts)) for part in (weighted, pairs)])

    @cached_property
    def _may_be_sampled(self) -> Bools:
        """(G,) whether rows may be copies, so that of somebody there may be no own row."""
        found: Bools = np.zeros(self.shown.counts.n_classes, dtype=bool)
        if self._samples is not None:
            found[self._of_group[self._groups.counts.sizes > _surely_whole(self._samples)]] = True
        return found


def _surely_whole(samples: PublishedSamples) -> int:
    """Of groups of at most so many rows surely all records are published, whatever they show."""
    if samples.sample_size is not None:
        return samples.sample_size
    if samples.mode == "paper" or samples.epsilon is None or samples.delta is None or samples.bound is None:
        return 0
    return fixed_size(ReconstructionQuestion(samples.uniform, samples.epsilon, samples.delta), samples.bound)
