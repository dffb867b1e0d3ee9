"""Reconstruction of shares from uniformly replaced values, by loops over what one group may show."""

import itertools
import math
from fractions import Fraction

import numpy as np


def rational_tails(with_value, size, p, m, epsilon):
    """Both tails as fractions: every number of kept and of wrongly shown values is gone through."""
    p, epsilon = Fraction(p), Fraction(epsilon)
    elsewhere = (1 - p) / m
    share = Fraction(with_value, size)
    low = high = Fraction(0)
    of_wrong = [_binomial(wrong, size - with_value, elsewhere) for wrong in range(size - with_value + 1)]
    for kept in range(with_value + 1):
        of_kept = _binomial(kept, with_value, p + elsewhere)
        for wrong, of_wrong_ones in enumerate(of_wrong):
            probability = of_kept * of_wrong_ones
            error = (Fraction(kept + wrong, size) - elsewhere) / p - share
            low += probability * (error < -epsilon * share)
            high += probability * (error > epsilon * share)
    return low, high


def _binomial(successes, trials, chance):
    return math.comb(trials, successes) * chance**successes * (1 - chance) ** (trials - successes)


def lower_bound(with_value, size, p, m, epsilon, full):
    """The bound of the lower tail, of the sentences of the source."""
    shown = with_value / size * p + (1 - p) / m
    theta = epsilon * p * with_value / size / shown
    if theta > 1 + 1e-12:
        return 0.0
    if not full:
        return math.exp(-size * shown * theta**2 / 2)
    rest = 0.0 if theta >= 1 else (1 - theta) * math.log(1 - theta)
    return math.exp(size * shown * (-theta - rest))


def entropy_bound(with_value, size, p, m, epsilon, is_high):
    """exp(−n·KL) of a tail, KL the relative entropy of the least share shown that is too far off and of w."""
    shown = with_value / size * p + (1 - p) / m
    off = epsilon * p * with_value / size
    far = shown + off if is_high else shown - off
    if not 0 <= far <= 1:
        return 0.0
    parts = ((far, shown), (1 - far, 1 - shown))
    return math.exp(-size * sum(q * math.log(q / w) for q, w in parts if q > 0))


def level(counts, p, m, epsilon, test):
    """The greatest δ with which a group of these counts passes a test."""
    size, own = sum(counts), [n for n in counts if n]
    if test.startswith("chernoff"):
        return min(lower_bound(n, size, p, m, epsilon, test == "chernoff_full") for n in own)
    tails = [rational_tails(n, size, p, m, epsilon) for n in own]
    return float(min(min(both) if test == "exact_min" else sum(both) for both in tails))


def census(n, first=0):
    """(n, 7) the stand-in for a census: age, gender, education, marital, race, work class, occupation.

    The records from number ``first`` on.
    """
    weights = [
        [77 - abs(v - 20) for v in range(77)],
        [52, 48],
        [50, 25, 12, 7, 4, 2],
        [75, 10, 6, 3, 2, 1, 1, 1, 1],
        [70, 10, 7, 5, 4, 3, 1],
        [30, 20, 14, 10, 7, 5, 4, 3, 2, 1, 1, 1, 1, 1],
    ]
    age, gender, marital, race, work, education = (_picked(n, first, j, own) for j, own in enumerate(weights))
    link = _picked(n, first, 6, [1] * 100)
    fallback = _picked(n, first, 7, [50 - v for v in range(50)])
    occupation = np.where(link < 45, (7 * education + 3 * gender + 11 * work) % 50, fallback)
    return np.column_stack([age, gender, education, marital, race, work, occupation]).astype(np.int32)


def _picked(n, first, draw, weights):
    """Index of the first cumulative weight above ⌊r·Σ/2³²⌋, r the upper half of the hash of 16·i + draw."""
    numbers = np.arange(first, first + n, dtype=np.uint64)
    z = np.uint64(16) * numbers + np.uint64(draw) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    r = (z ^ (z >> np.uint64(31))) >> np.uint64(32)
    upper = np.cumsum(weights)
    return np.searchsorted(upper, (r * np.uint64(upper[-1])) >> np.uint64(32), side="right")


def likeliest_by_steps(shown, p, steps=4000):
    """Shares by expectation-maximisation: each record's true value is guessed, and the guesses counted."""
    m, n = len(shown), sum(shown)
    c = (1 - p) / m
    shares = [1 / m] * m
    for _ in range(steps):
        of_other = sum(own / (p * share + c) for own, share in zip(shown, shares, strict=True))
        shares = [
            share * (c * of_other + p * own / (p * share + c)) / n
            for own, share in zip(shown, shares, strict=True)
        ]
    return np.array(shares)


def splitmix64(z):
    """The hash of a whole number, by whole numbers of any size."""
    mask = 2**64 - 1
    z = (z + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def words_of_pool(start=10**12):
    """Upper halves of the hashes of a number and of all after it."""
    for k in itertools.count(start):
        yield splitmix64(k) >> 32


def pool_by_hand(records, sizes, m, own, words):
    """How many queries are drawn to fill a pool, and each with its answer and the records that it selects.

    By loops over records (n, columns and the sensitive value). None if too few are kept.
    """
    rows, queries = records.tolist(), []
    for draw in range(1, own.most_draws + 1):
        d = 1 + next(words) * min(own.predicates, len(sizes)) // 2**32
        left, chosen = list(range(len(sizes))), []
        for _ in range(d):
            chosen.append(left.pop(next(words) * len(left) // 2**32))
        shown = [sorted(set(records[:, j].tolist())) for j in range(len(sizes))]
        places = {j: next(words) * len(shown[j]) // 2**32 for j in chosen}
        value = next(words) * m // 2**32
        inside = [row for row in rows if all(row[j] == shown[j][place] for j, place in places.items())]
        answer = sum(row[-1] == value for row in inside)
        if answer >= own.least_share * len(rows) and answer >= own.least_count:
            queries.append((places, value, answer, inside))
            if len(queries) == own.queries:
                return draw, queries
    return None


def log_high(estimates, bound):
    """The logarithm of U, the bound of the upper tail; for small θ (1 + θ)·ln(1 + θ) − θ by its series."""
    theta = estimates.deviation
    if bound == "chernoff_simple":
        return -estimates.mean * theta**2 / (2 + theta)
    series = sum((-theta) ** k / (k * (k - 1)) for k in range(2, 40))
    exponent = np.where(theta < 0.1, series, (1 + theta) * np.log1p(theta) - theta)
    return -estimates.mean * exponent
