"""How diverse the sensitive values of each class are: the ℓ-diversity family (Machanavajjhala (2008)).

Of a class, r_1 ≥ r_2 ≥ … ≥ r_m are the counts of its values and N is their sum. All functions look at all
classes at once. A class without values, all of whose records were left out of the counts, fails nothing and
is never the worst.

The verdicts are exact: recursive diversity compares ratios of counts with the threshold as it is written, and
entropy is compared with whole numbers ℓ in whole numbers. With other ℓ it carries the tolerance 1e-9 nats.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Final

import numpy as np

from app.domain.arrays import Bools, Floats, Longs
from app.domain.classes.libraries import Library
from app.domain.classes.ratios import LONGEST, is_at_most, is_below
from app.domain.classes.sensitive_counts import SensitiveCounts, greatest_by_class

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

ENTROPY_TOLERANCE = 1e-9

ESTIMATE_TOLERANCE: Final = 1e-9


def most_frequent(counts: SensitiveCounts, among: Bools | None = None) -> Longs:
    """(G,) r_1, how often the most frequent value of each class occurs in it; of some (m,) values only."""
    entries = counts.counts if among is None else np.where(among[counts.values], counts.counts, 0)
    return greatest_by_class(counts, entries, 0)


def distinct_values(counts: SensitiveCounts) -> Longs:
    """(G,) ℓ: different values of each class, between which whoever finds a person there has to choose.

    Where persons are counted, who may have several values, no more than there are persons, and 1 where all
    of them have one of the values.
    """
    if counts.persons is None:
        return counts.distinct
    shared = (most_frequent(counts) == counts.sizes) & (counts.sizes > 0)
    return np.where(shared, 1, np.minimum(counts.distinct, counts.sizes))


@dataclass(frozen=True, eq=False)
class RankedCounts:
    """The counts of each class from the greatest to the least.

    Attributes
    ----------
    starts
        As those of the counts.
    ordered
        (E,) r_1, r_2, … of the first class, then of the next.
    of_entry
        (E,) the class of each.
    """

    starts: Longs
    ordered: Longs
    of_entry: Longs

    @cached_property
    def _before(self) -> Longs:
        return np.concatenate([np.zeros(1, dtype=self.ordered.dtype), np.cumsum(self.ordered)])

    @property
    def n_classes(self) -> int:
        """G, empty classes included."""
        return len(self.starts) - 1

    @cached_property
    def distinct(self) -> Longs:
        """(G,) m."""
        return np.diff(self.starts)

    @cached_property
    def sizes(self) -> Longs:
        """(G,) N."""
        return self.of_first(self.distinct)

    @cached_property
    def first(self) -> Longs:
        """(G,) r_1; 0 in a class without values."""
        return self.of_first(1)

    def of_first(self, ranks: Longs | int) -> Longs:
        """(G,) r_1 + … + r_ranks."""
        first = self.starts[:-1]
        return np.asarray(self._before[first + np.minimum(ranks, self.distinct)] - self._before[first])

    def tail(self, ell: int) -> Longs:
        """(G,) r_ℓ + … + r_m."""
        return self.sizes - self.of_first(ell - 1)

    @cached_property
    def tails(self) -> Longs:
        """(E,) the sum of each count and those of lower rank in its class."""
        return np.asarray(self._before[self.starts[1:]][self.of_entry] - self._before[:-1])

    def ranks_with(self, holds: Bools) -> Longs:
        """(G,) how many ranks from 2 on hold what is given per entry."""
        later = holds.copy()
        later[self.starts[:-1][self.distinct > 0]] = False
        return np.diff(np.concatenate([[0], np.cumsum(later)])[self.starts])


def ranked(counts: SensitiveCounts, among: Bools | None = None) -> RankedCounts:
    """Sort the counts of each class; those of some (m,) values only."""
    starts, of_entry, amounts = counts.starts, counts.of_entry, counts.counts
    if among is not None:
        chosen = among[counts.values]
        starts = np.concatenate([[0], np.cumsum(chosen)])[starts]
        of_entry, amounts = of_entry[chosen], amounts[chosen]
    base = int(amounts.max(initial=0)) + 1
    if base * counts.n_classes > LONGEST:
        return RankedCounts(starts, amounts[np.lexsort((-amounts, of_entry))], of_entry)
    owners = of_entry * base
    keys = owners + (base - 1 - amounts)
    keys.sort()
    return RankedCounts(starts, base - 1 - (keys - owners), of_entry)


def effective_entropy(counts: SensitiveCounts) -> Floats:
    """(G,) exp of the entropy of each class: so many equally frequent values would be as diverse.

    Exactly m where all m values are equally frequent; +∞ in a class without values.
    """
    m, sizes = counts.distinct, counts.sizes
    found = np.clip(np.exp(entropy(counts, _logarithms(counts.counts))), 1.0, np.maximum(m, 1))
    found = np.where(most_frequent(counts) * m == sizes, m, found)
    return np.where(m > 0, found, np.inf)


def entropy(counts: SensitiveCounts, logs: Floats) -> Floats:
    """(G,) ln N − (1/N) Σ r_i · ``logs``_i, to about 1e-14 per nat; 0 in a class without values.

    With ``logs`` (E,) the logarithms of the counts it is the entropy of each class in nats.
    """
    sizes = np.maximum(counts.sizes, 1)
    if sizes.dtype == object:
        shares = (counts.counts / sizes[counts.of_entry]).astype(np.float64)
        means = np.add.reduceat(np.append(shares * logs, 0.0), counts.starts[:-1])
    else:
        means = np.add.reduceat(np.append(counts.counts * logs, 0.0), counts.starts[:-1]) / sizes
    return np.where(counts.distinct > 0, _logarithms(sizes) - means, 0.0)


def _logarithms(numbers: Longs) -> Floats:
    """Ln of whole numbers from 1 on, also of such that are no floats."""
    if numbers.dtype == object:
        return np.array([math.log(number) for number in numbers.tolist()])
    return np.log(numbers)


def has_entropy(counts: SensitiveCounts, ell: float) -> Bools:
    """(G,) whether each class has an entropy ≥ ln ℓ, exactly for whole ℓ.

    Source: Machanavajjhala (2008), definition 3.7.
    """
    m = counts.distinct
    found = entropy(counts, _logarithms(counts.counts))
    if not float(ell).is_integer():
        return np.asarray((found >= math.log(ell) - ENTROPY_TOLERANCE) | (m == 0))
    passes = np.asarray((found >= math.log(ell)) | (m == 0))
    near = (np.abs(found - math.log(ell)) <= ENTROPY_TOLERANCE) & (m > 0)
    uniform = most_frequent(counts) * m == counts.sizes
    passes[uniform & near] = m[uniform & near] >= ell
    for class_ in np.flatnonzero(near & ~uniform).tolist():
        own = counts.counts[counts.starts[class_] : counts.starts[class_ + 1]]
        reduced = np.sort(own // np.gcd.reduce(own))
        passes[class_] = _entropy_reaches(tuple(reduced.tolist()), int(ell))
    return passes


@lru_cache(maxsize=4096)
def _entropy_reaches(counts: tuple[int, ...], ell: int) -> bool:
    """Whether N^N ≥ ℓ^N · Π r^r, of counts that are not all equal.

    Such numbers have millions of digits in large classes. Their logarithms are told apart with as many digits
    as that takes, which ends because equal numbers are known by their prime factors.
    """
    if len(counts) <= ell:
        # Only equal counts are as diverse as there are values.
        return False
    size, amounts = sum(counts), Counter(counts)
    digits = 40 + 2 * len(str(size))
    while True:
        with localcontext(prec=digits):
            ahead = size * (Decimal(size).ln() - Decimal(ell).ln())
            ahead -= sum(n * count * Decimal(count).ln() for count, n in amounts.items())
        # Each of at most N terms is below N · 100 and right to all digits.
        if abs(ahead) > Decimal(10) ** (2 * len(str(size)) + 4 - digits):
            return ahead > 0
        if _is_equal(size, ell, amounts):
            return True
        digits *= 2


def _is_equal(size: int, ell: int, amounts: Mapping[int, int]) -> bool:
    """Whether N^N = ℓ^N · Π r^r, ``amounts`` being how often there is each r."""
    exponents: Counter[int] = Counter()
    for number, power in ((size, size), (ell, -size), *((r, -r * n) for r, n in amounts.items())):
        for prime, times in _prime_factors(number).items():
            exponents[prime] += times * power
    return not any(exponents.values())


def _prime_factors(number: int) -> Counter[int]:
    """How often each prime divides a number."""
    found: Counter[int] = Counter()
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found[divisor] += 1
            number //= divisor
        divisor += 1
    if number > 1:
        found[number] += 1
    return found


def least_c(ranks: RankedCounts, ell: int) -> Floats:
    """(G,) infimum of the c with which each class is recursively (c, ℓ)-diverse: r_1 / tail.

    Source: Machanavajjhala (2008), definition 3.8.

    0 for ℓ = 1, +∞ where no c does. Correctly rounded, so that for fewer than 2^26 records the greatest
    number is that of the greatest ratio.
    """
    if ell == 1:
        return np.zeros(ranks.n_classes)
    return _quotients(ranks.first, ranks.tail(ell))


def _quotients(upper: Longs, lower: Longs) -> Floats:
    """Upper / lower: 0 where the upper is 0, else +∞ where the lower is."""
    found = np.where(upper > 0, np.inf, 0.0)
    held = lower > 0
    found[held] = upper[held] / lower[held]
    return found


def is_recursive(counts: SensitiveCounts, c: Fraction, ell: int) -> Bools:
    """(G,) whether r_1 < c · (r_ℓ + … + r_m), strictly; always for ℓ = 1."""
    if ell == 1:
        return np.ones(counts.n_classes, dtype=bool)
    if ell == 2:
        first = most_frequent(counts)
        return np.asarray(is_below(first, c, counts.sizes - first) | (first == 0))
    ranks = ranked(counts)
    return np.asarray(is_below(ranks.first, c, ranks.tail(ell)) | (ranks.first == 0))


def deepest_recursion(ranks: RankedCounts, c: Fraction) -> Longs:
    """(G,) greatest ℓ with which each class is recursively (c, ℓ)-diverse; 1 always is."""
    return 1 + ranks.ranks_with(is_below(ranks.first[ranks.of_entry], c, ranks.tails))


def needed_negations(ranks: RankedCounts, confidence: Fraction) -> Longs:
    """(G,) values that an attacker must rule out to believe another one with at least this confidence.

    The least j with post(j) = r_1 / (r_1 + r_{j+2} + … + r_m) at least the confidence, in (0, 1].
    """
    # post(j) < τ iff r_1 · (1 − τ)/τ < r_{j+2} + … + r_m, which holds for the first j and for no later one.
    share = confidence / (1 - confidence) if confidence < 1 else None
    first = ranks.first[ranks.of_entry]
    short = ranks.tails > 0 if share is None else is_below(first, share, ranks.tails)
    return ranks.ranks_with(short)


def worst_posterior(ranks: RankedCounts, negations: int) -> Floats:
    """(G,) greatest belief in one value of an attacker who rules out so many values: post(j)."""
    rest = ranks.tail(negations + 2)
    return np.where(ranks.first > 0, ranks.first / np.maximum(ranks.first + rest, 1), 0.0)


def disclosure_terms(
    ranks: RankedCounts, counts: SensitiveCounts, harmless: Bools, ell: int
) -> tuple[Longs, Longs]:
    """(G,) both sides of pd-recursive (c, ℓ)-diversity, ℓ ≥ 2: left = 0 or left < c · right.

    Source: Machanavajjhala (2008), definition 3.9.

    ``harmless`` (m,) says which values may be disclosed. Left is the count s of the most frequent value that
    may not, right the sum of the other values' counts but for the ℓ − 2 greatest. One rule for both cases of
    the definition, and one that holds where no value is in danger.
    """
    left = most_frequent(counts, ~harmless)
    # The ℓ − 2 greatest others: the first ℓ − 2, or, if s is among these, the first ℓ − 1 without s.
    dropped = np.minimum(ranks.of_first(ell - 2), ranks.of_first(ell - 1) - left)
    return left, ranks.sizes - left - dropped


def least_c_of_disclosure(left: Longs, right: Longs) -> Floats:
    """(G,) infimum of the c with which pd-recursive diversity holds, of :func:`disclosure_terms`."""
    return _quotients(left, right)


def is_disclosure_recursive(counts: SensitiveCounts, harmless: Bools, c: Fraction, ell: int) -> Bools:
    """(G,) whether each class is pd-recursively (c, ℓ)-diverse; always for ℓ = 1."""
    if ell == 1:
        return np.ones(counts.n_classes, dtype=bool)
    left, right = disclosure_terms(ranked(counts), counts, harmless, ell)
    return np.asarray((left == 0) | is_below(left, c, right))


def records_with(counts: SensitiveCounts, chosen: Bools) -> Longs:
    """(G,) records of each class with one of the chosen (m,) values."""
    up_to = np.cumsum(np.where(chosen[counts.values], counts.counts, 0))
    return np.diff(np.concatenate([[0], up_to])[counts.starts])


def has_percentage(amounts: Longs, percent: Fraction, sizes: Longs) -> Bools:
    """Whether amounts are at least this percentage of sizes: what a protected value needs.

    Source: Machanavajjhala (2008), definition 3.10.
    """
    if not percent:
        return np.ones(len(amounts), dtype=bool)
    return is_at_most(sizes, 100 / percent, amounts)


def is_within_share(counts: SensitiveCounts, limited: Bools | None, alpha: Fraction) -> Bools:
    """(G,) whether no limited (m,) value, or none at all, has more than the share α of a class."""
    return is_at_most(most_frequent(counts, limited), alpha, counts.sizes)


_MOST_STEPS: Final = 1 << 20


def grassberger(amounts: Longs) -> Floats:
    """G(n) = ψ(n) + ½(−1)ⁿ [ψ((n+1)/2) − ψ(n/2)] of whole numbers from 1 on.

    The entropy of counted shares is too small on average where few records stand for many values. Grassberger
    (2003) corrects it: of a sample of N records, r_i with each value, H = ln N − (1/N) Σ r_i G(r_i). The
    steps G(2m + 1) = G(2m) and G(2m + 2) = G(2m) + 2/(2m + 1) lead from G(1) = −γ − ln 2 to
    ψ(⌊n/2⌋ + ½) + ln 2, without subtracting nearly equal numbers.
    """
    halves = amounts // 2
    most = int(halves.max(initial=0))
    found: Floats
    if most > _MOST_STEPS:
        found = np.asarray(scipy.special.digamma(halves + 0.5) + np.log(2.0), dtype=np.float64)
        return found
    # Most classes are small: the steps themselves are taken in less time than SciPy takes to be imported.
    steps = np.append(0.0, np.cumsum(2.0 / (2.0 * np.arange(1, most + 1) - 1.0)))
    found = steps[halves] - (np.euler_gamma + np.log(2.0))
    return found


def corrected_entropy(counts: SensitiveCounts) -> Floats:
    """(G,) estimated entropy of each class in nats; 0 in a class without values.

    The estimate of a small class may be negative, or above the logarithm of its number of values.
    """
    return entropy(counts, grassberger(counts.counts))


def corrected_values(counts: SensitiveCounts) -> Floats:
    """(G,) exp of the estimate, at least 1 and at most the m values that the class shows; +∞ without values.

    What is not in a class does not hide anybody in it: an estimate above m counts as m.
    """
    m = counts.distinct
    found = np.clip(np.exp(corrected_entropy(counts)), 1.0, np.maximum(m, 1))
    return np.where(m > 0, found, np.inf)


def has_corrected_entropy(counts: SensitiveCounts, ell: float) -> Bools:
    """(G,) whether :func:`corrected_values` is at least ℓ, to 1e-9 nats; always in a class without values."""
    return np.asarray(np.log(corrected_values(counts)) >= np.log(ell) - ESTIMATE_TOLERANCE)
