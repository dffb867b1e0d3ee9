"""How many people of a population are unique, estimated from a sample alone.

A sample of n records of a population of N people falls into u classes, c_i of them of size i. Three
estimators of the number of classes of size 1 in the population, and the rule that chooses between them:

* Zayatz (1991): Bayes' rule, the sizes of the population's classes being distributed as those of the sample.
* Pitman (Hoshino (2001)): the sampling formula of two parameters, fitted by maximum likelihood.
* Slide negative binomial (Chen and Keller-McNulty (1998)): sizes less 1 are negative binomial, the number of
  classes is the estimate of Haas and Stokes (1998), and two parameters are those that c_1 and c_2 lead to.
* Dankar et al. (2012): Pitman for samples of up to a tenth, else the lesser of Zayatz and slide negative
  binomial; Zayatz wherever the other has no solution.

And the least class of a sample that speaks for k people of the population (El Emam and Dankar (2008)).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Final, Literal

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.classes.libraries import Library
from app.domain.errors import InvalidInput

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

MOST_PEOPLE: Final = 1_000_000_000_000
"""Most people of a population."""

OVERLAPPING: Final = (
    "What is asked needs classes that no record shares with another class, which missing values that match "
    "everything do not make. Take them for a category of their own, or leave these records out."
)
"""Why there is no estimate where a missing value matches everything."""

SMALL_SAMPLE: Final = 0.1
"""Up to this sampling fraction the decision rule takes Pitman's estimate."""

ALPHAS: Final = (1e-4, 1e-3, 0.01, *(i / 20 for i in range(1, 20)), 0.99, 0.999, 0.9999, 1 - 1e-6, 1 - 1e-9)
"""Between these the maxima of Pitman's likelihood are looked for."""

FAR: Final = 1e4
LOGITS: Final = np.linspace(-36.0, 36.0, 513)
"""Logits of β between which the solution of the slide negative binomial is looked for."""

Estimator = Literal["pitman", "zayatz", "slide_negative_binomial"]
SampleTest = Literal["poisson", "zero_truncated_poisson"]


@dataclass(frozen=True)
class Estimate:
    """The expected number of people who are unique in the population, or why there is none.

    ``fitted`` are the parameters of the model, by name.
    """

    uniques: float | None
    failure: str | None = None
    fitted: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Sample:
    """Class sizes of a sample: ``sizes`` ascending and how many ``classes`` have each.

    The ``population`` has at least as many people as the sample has records.
    """

    sizes: Longs
    classes: Longs
    population: int

    @cached_property
    def n(self) -> int:
        """Records."""
        return int((self.sizes * self.classes).sum())

    @cached_property
    def u(self) -> int:
        """Classes."""
        return int(self.classes.sum())

    @property
    def fraction(self) -> float:
        """The sampling fraction n/N."""
        return self.n / self.population

    def of_size(self, size: int) -> int:
        """How many classes have this size."""
        return int(self.classes[self.sizes == size].sum())


def sample_of(records: Longs, population: int) -> Sample:
    """The sample whose G classes have ``records`` (G,) each."""
    sizes, classes = np.unique(records, return_counts=True)
    return Sample(sizes.astype(np.int64), classes.astype(np.int64), population)


def people_of_fraction(records: int, fraction: float, at: str) -> int:
    """People of a population of which so many records are the fraction.

    InvalidInput, at the field of the object that is ``at`` a pointer, for more than can be.
    """
    if records > fraction * MOST_PEOPLE:
        raise InvalidInput.of(
            f"{at}/sampling_fraction",
            "out-of-range",
            f"The dataset of {records} records would be a sample of more than {MOST_PEOPLE} people.",
            "Give a greater sampling fraction.",
        )
    return max(records, round(records / fraction))


def people_with_all(records: int, people: int, at: str) -> int:
    """The people of a population; InvalidInput, likewise, if they are fewer than the records."""
    if people < records:
        raise InvalidInput.of(
            f"{at}/population",
            "out-of-range",
            f"The population of {people} people is smaller than the dataset of {records} records.",
            "Everybody in the dataset belongs to the population.",
        )
    return people


def zayatz(sample: Sample) -> Estimate:
    """Sample uniques times the probability that one is unique in the population, over the fraction."""
    known = _known(sample)
    if known is not None:
        return known
    unique = sample.of_size(1)
    # A class of one person is sampled once with probability n/N.
    probability = unique * sample.fraction / float(_seen_once(sample) @ sample.classes)
    return Estimate(unique * probability / sample.fraction, fitted={"probability": probability})


def _seen_once(sample: Sample) -> Floats:
    """Per size of the sample, the probability that one of so many people is sampled: hypergeometric."""
    n, population = sample.n, sample.population
    # i·C(N−i, n−1)/C(N, n) = i·(n/N)·Π_{j<i−1} (N−n−j)/(N−1−j)
    j = np.arange(int(sample.sizes[-1]) - 1, dtype=np.float64)
    others = np.maximum(population - n - j, 0.0)
    with np.errstate(divide="ignore"):
        logs = np.concatenate([[0.0], np.cumsum(np.log(others) - np.log(population - 1 - j))])
    return np.asarray(sample.sizes * sample.fraction * np.exp(logs[sample.sizes - 1]), dtype=np.float64)


def pitman(sample: Sample) -> Estimate:
    """N^α·Γ(θ + 1)/Γ(θ + α) where the likelihood of 0 < α < 1 and θ > −α is greatest."""
    known = _known(sample)
    if known is not None:
        return known
    if not 1 < sample.u < sample.n:
        return Estimate(None, "All records are unique, or all are alike: the likelihood has no maximum.")
    alpha = _likeliest_alpha(sample)
    if alpha is None:
        return Estimate(None, "The likelihood has no maximum with α between 0 and 1.")
    theta = _likeliest_theta(sample, alpha)
    fitted = {"theta": theta, "alpha": alpha}
    uniques = math.exp(math.lgamma(theta + 1) - math.lgamma(theta + alpha)) * sample.population**alpha
    if uniques > sample.population:
        return Estimate(None, "The model expects more uniques than people.", fitted)
    return Estimate(uniques, fitted=fitted)


def _known(sample: Sample) -> Estimate | None:
    """What needs no model: without uniques in the sample none are estimated; the population has its own."""
    unique = sample.of_size(1)
    return Estimate(float(unique)) if not unique or sample.population == sample.n else None


def _likeliest_alpha(sample: Sample) -> float | None:
    """The α of the greatest likelihood, θ being the likeliest for each; None if that is at an end."""

    def slope(alpha: float) -> float:
        """The derivative of the profile log-likelihood by α."""
        theta = _likeliest_theta(sample, alpha)
        blocks = (sample.u - 1 - theta * _reciprocals(theta, alpha, sample.u)) / alpha
        seen = scipy.special.digamma(sample.sizes - alpha) - scipy.special.digamma(1 - alpha)
        return blocks - float(seen @ sample.classes)

    slopes = [slope(alpha) for alpha in ALPHAS]
    maxima = [
        float(scipy.optimize.brentq(slope, low, high, xtol=1e-15))
        for low, high, before, after in zip(ALPHAS, ALPHAS[1:], slopes, slopes[1:], strict=False)
        if before > 0 >= after
    ]
    if not maxima:
        return None
    likelihoods = [_log_likelihood(sample, alpha) for alpha in (ALPHAS[0], *maxima)]
    best = int(np.argmax(likelihoods))
    return maxima[best - 1] if best else None


def _likeliest_theta(sample: Sample, alpha: float) -> float:
    """The θ > −α of the greatest likelihood for one α; there is one if 1 < u < n."""

    def slope(log: float) -> float:
        theta = math.exp(log) - alpha
        return _reciprocals(theta, alpha, sample.u) - _reciprocals(theta, 1.0, sample.n)

    # In the logarithm of θ + α, which may be many powers of ten below 1 or above.
    low = high = math.log(alpha + 1)
    step = 1.0
    while slope(high) > 0:
        low, high, step = high, high + step, 2 * step
    step = 1.0
    while slope(low) <= 0:
        low, high, step = low - step, low, 2 * step
    return math.exp(float(scipy.optimize.brentq(slope, low, high, xtol=1e-14))) - alpha


def _reciprocals(theta: float, alpha: float, count: int) -> float:
    """Σ_{i=1}^{count−1} 1/(θ + iα)."""
    x = theta / alpha
    if x < FAR:
        return float(scipy.special.digamma(x + count) - scipy.special.digamma(x + 1)) / alpha
    # Two nearly equal numbers would be subtracted: take the expansion of their difference.
    first, last = x + 1, x + count
    difference = math.log1p((count - 1) / first) + (1 / first - 1 / last) / 2 + (first**-2 - last**-2) / 12
    return difference / alpha


def _log_likelihood(sample: Sample, alpha: float) -> float:
    """Of α and its likeliest θ, up to a constant."""
    theta = _likeliest_theta(sample, alpha)
    u, n = sample.u, sample.n
    blocks = (u - 1) * math.log(alpha) + float(
        scipy.special.gammaln(theta / alpha + u) - scipy.special.gammaln(theta / alpha + 1)
    )
    draws = float(scipy.special.gammaln(theta + n) - scipy.special.gammaln(theta + 1))
    sizes = float(
        (scipy.special.gammaln(sample.sizes - alpha) - scipy.special.gammaln(1 - alpha)) @ sample.classes
    )
    return blocks - draws + sizes


def slide_negative_binomial(sample: Sample) -> Estimate:
    """K·β^α, with K classes in the population and the α > 0, 0 < β < 1 that lead to c_1 and c_2."""
    known = _known(sample)
    if known is not None:
        return known
    if not sample.of_size(2):
        return Estimate(None, "The sample has no classes of two records: the equations have no solution.")
    total = classes_of_population(sample)
    below = _excess(sample, total, LOGITS) < 0
    crossings = np.flatnonzero(below[:-1] != below[1:])
    if len(crossings) != 1:
        several = "several solutions" if len(crossings) else "no solution"
        return Estimate(None, f"The equations have {several}.", {"classes": total})
    low, high = LOGITS[crossings[0] : crossings[0] + 2].tolist()
    logit = float(
        scipy.optimize.brentq(
            lambda x: float(_excess(sample, total, np.array([x]))[0]), low, high, xtol=1e-14
        )
    )
    alpha, log_beta = float(_alphas(sample, np.array([logit]))[0]), -math.log1p(math.exp(-logit))
    fitted = {"classes": total, "alpha": alpha, "beta": math.exp(log_beta)}
    uniques = total * math.exp(alpha * log_beta)
    if uniques > sample.population:
        return Estimate(None, "The model expects more uniques than people.", fitted)
    return Estimate(uniques, fitted=fitted)


def classes_of_population(sample: Sample) -> float:
    """K̂: the modified estimator of Shlosser, the third of Haas and Stokes."""
    p, i, c = sample.fraction, sample.sizes.astype(np.float64), sample.classes
    missed = float(((1 - p) ** i) @ c)
    if missed == 0:
        return float(sample.u)
    # (1 − p)^i·((1 + p)^i − 1), without subtracting nearly equal numbers
    second = (1 - p) ** i * np.expm1(i * math.log1p(p))
    first = float((i * p * p * (1 - p * p) ** (i - 1)) @ c)
    once = float((i * p * (1 - p) ** (i - 1)) @ c)
    return sample.u + sample.of_size(1) * first / float(second @ c) * (missed / once) ** 2


def _alphas(sample: Sample, logits: Floats) -> Floats:
    """For each β, by its logit, the one α > 0 at which the expected c_2/c_1 is as observed.

    E c_1 = Kπ·x^α·(1 + αq/(1−q)) and E c_2 = Kπ²·α(1−β)·β^α·(2 − (1−α)q) / (2(1−q)^(α+2)), with
    q = (1−π)(1−β) and x = β/(1−q): their quotient is a quadratic equation in α with roots of either sign.
    """
    p, ratio = sample.fraction, 2 * sample.of_size(2) / sample.of_size(1)
    rest = 1 / (1 + np.exp(logits))
    q = (1 - p) * rest
    left = p + (1 - p) / (1 + np.exp(-logits))
    a, b, c = p * rest * q, p * rest * (2 - q) - ratio * left * q, ratio * left**2
    root = np.sqrt(b * b + 4 * a * c)
    with np.errstate(divide="ignore", invalid="ignore"):
        alphas: Floats = np.where(b > 0, 2 * c / (b + root), (root - b) / (2 * a))
    return alphas


def _excess(sample: Sample, total: float, logits: Floats) -> Floats:
    """Logarithm of E c_1 / c_1 at each β, by its logit, and the α that goes with it."""
    p, alpha = sample.fraction, _alphas(sample, logits)
    rest = 1 / (1 + np.exp(logits))
    left = p + (1 - p) / (1 + np.exp(-logits))
    # log x = −log(1 + π(1−β)/β)
    log_x = -np.log1p(p * np.exp(-logits))
    expected = math.log(total * p) + alpha * log_x + np.log1p(alpha * (1 - p) * rest / left)
    excess: Floats = expected - math.log(sample.of_size(1))
    return excess


@dataclass(frozen=True)
class Choice:
    """The estimate of the decision rule: of which estimator, and why of that one."""

    estimator: Estimator
    uniques: float
    reason: str


def decision_rule(sample: Sample, by_pitman: Estimate, by_zayatz: Estimate, by_snb: Estimate) -> Choice:
    """The choice of Dankar et al. between the estimates of one sample."""
    fallback = by_zayatz.uniques
    if fallback is None:
        raise ValueError("the estimator of Zayatz always has a solution")
    if sample.fraction <= SMALL_SAMPLE:
        if by_pitman.uniques is not None:
            return Choice("pitman", by_pitman.uniques, "The sampling fraction is at most 0.1.")
        return Choice("zayatz", fallback, "The sampling fraction is at most 0.1, but Pitman has no solution.")
    if by_snb.uniques is None:
        reason = "The sampling fraction is above 0.1, but the slide negative binomial has no solution."
        return Choice("zayatz", fallback, reason)
    if fallback < by_snb.uniques:
        reason = "The sampling fraction is above 0.1 and Zayatz estimates less than the other."
        return Choice("zayatz", fallback, reason)
    reason = "The sampling fraction is above 0.1 and Zayatz estimates no less than the other."
    return Choice("slide_negative_binomial", by_snb.uniques, reason)


def least_sample_class(k: int, fraction: float, test: SampleTest, significance: float) -> tuple[int, float]:
    """The least class of a sample that speaks for at least k people, and the chance to be wrong.

    Of a class of k people Poisson(k·fraction) records are sampled, at least one of them with
    ``zero_truncated_poisson``. The least f such that f or more are sampled with a probability of at most
    ``significance``, but not above k: k records are k people. Returns f and that probability (0 for f = k).
    """
    mean = k * fraction
    some = -math.expm1(-mean) if test == "zero_truncated_poisson" else 1.0

    def chance(f: int) -> float:
        return min(1.0, float(scipy.special.pdtrc(f - 1, mean)) / some) if f > 0 else 1.0

    low, high = 0, k
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if chance(middle) <= significance else (middle, high)
    return high, 0.0 if high == k else chance(high)
