"""Bounds of samples, what is drawn of them, and attacks on that, group by group (Wang et al. (2012)).

Written from the sentences of the source, by loops over records; shares no code with the product.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from fractions import Fraction

from scipy.integrate import quad

EQUAL = 1e-12
"""Part of a bound by which a size may be above it: what rounding makes of an equality."""
Read = Callable[[int], int]
"""The next bytes of a tape, as a whole number."""


def greatest_size(share, p, m, epsilon, delta, is_full=False):
    """Equations 9 and 10: so many records may be drawn of a group whose top value has this share."""
    shown = share * p + (1 - p) / m
    theta = epsilon * p * share / shown
    if theta > 1 + EQUAL:
        return 0.0
    if not is_full:
        return 2 * math.log(1 / delta) / (shown * theta**2)
    rest = 0.0 if theta >= 1 else (1 - theta) * math.log1p(-theta)
    return math.log(1 / delta) / (shown * (theta + rest))


def is_within(top, size, *asked):
    return size <= greatest_size(top / size, *asked) * (1 + EQUAL)


def balanced_size(counts, *asked):
    """The largest sample of which every rounding is within its bound: one record less at a time."""
    n, top = sum(counts), max(counts)
    if is_within(top, n, *asked):
        return n
    return next((k for k in range(n, 0, -1) if is_within(-(-k * top // n), k, *asked)), 0)


def fixed_size(*asked):
    """Of records that all have one value."""
    return math.floor(greatest_size(1.0, *asked) * (1 + EQUAL))


def variance(with_value, size, sample, p, m):
    """Of the estimate of a count in one group of which a sample is drawn and copied; or all of it."""
    if not sample:
        return 0.0
    c, t, times, more = (1 - p) / m, Fraction(with_value * sample, size), size / sample, size % sample
    a, rest, t = p + c, float(t - math.floor(t)), float(t)
    mean = t * a + (sample - t) * c
    of_sample = t * a * (1 - a) + (sample - t) * c * (1 - c) + p**2 * rest * (1 - rest)
    copied = 0.0
    if sample > 1:
        copied = more * (sample - more) / (sample - 1) * (sample * mean - of_sample - mean**2) / sample**2
    return (times**2 * of_sample + copied) / p**2


def tape(data: bytes):
    """The bytes one after another: as the product asks for them, and as whole numbers."""
    place = [0]

    def taken(n: int) -> bytes:
        place[0] += n
        if place[0] > len(data):
            raise AssertionError("the tape is too short")
        return data[place[0] - n : place[0]]

    return taken, lambda n: int.from_bytes(taken(n), "little")


def kept_or_drawn(value: int, p: float, m: int, read: Read) -> int:
    """What is published of one value: it is kept with p + (1 − p) / m, else any other, each as likely."""
    first, second = read(8), read(8)
    if first < round((Fraction(p) + (1 - Fraction(p)) / m) * 2**64):
        return value
    others = [own for own in range(m) if own != value]
    return others[second * len(others) >> 64]


def drawn_samples(groups: Sequence[Sequence[int]], mode: str, asked: Sequence[float], read: Read):
    """How often each group is published with each value: samples, what is drawn for them, and copies.

    ``groups`` are counts of the m values; ``asked`` is p, m, ε, δ and whether the bound is the full one.
    """
    p, m = asked[:2]
    samples = (_by_coins if mode == "paper" else _rounded)(groups, mode, asked, read)
    drawn = [
        [kept_or_drawn(value, p, m, read) for value, k in enumerate(sample) for _ in range(k)]
        for sample in samples
    ]
    shown: Counter[tuple[int, int]] = Counter()
    for place, (group, values) in enumerate(zip(groups, drawn, strict=True)):
        times = _copies(sum(group), len(values), mode == "paper", read)
        for value, n in zip(values, times, strict=True):
            shown[place, value] += n
    return +shown


def _by_coins(groups, mode, asked, read):
    found = []
    for group in groups:
        n, own = sum(group), []
        most = math.inf if is_within(max(group), n, *asked) else greatest_size(max(group) / n, *asked)
        for count in group:
            t = count * min(1.0, most / n)
            own.append(math.floor(t) + ((read(8) >> 11) / 2**53 < t - math.floor(t)) if count else 0)
        found.append(own)
    return found


def _rounded(groups, mode, asked, read):
    found = []
    for group in groups:
        n = sum(group)
        size = balanced_size(group, *asked) if mode == "balanced" else min(n, fixed_size(*asked))
        u, up_to, own = Fraction(read(8) >> 32, 2**32), 0, []
        for count in group:
            before, up_to = up_to, up_to + count
            own.append(math.floor(Fraction(size * up_to, n) + u) - math.floor(Fraction(size * before, n) + u))
        found.append(own)
    return found


def _copies(n, sample, is_by_coins, read):
    if not sample:
        return []
    times, more = divmod(n, sample)
    if is_by_coins:
        return [times + (Fraction(read(8) >> 11, 2**53) < Fraction(more, sample)) for _ in range(sample)]
    if not more:
        return [times] * sample
    words = [read(8) for _ in range(sample)]
    first = sorted(range(sample), key=lambda i: (words[i], i))[:more]
    return [times + (i in first) for i in range(sample)]


def likeliest(counts: Sequence[int], p: float) -> list[float]:
    """The likeliest shares of values that are shown so often: those that would be below 0 are left out."""
    m = len(counts)
    c, active = (1 - p) / m, set(range(m))
    while True:
        room, total = 1 - c * (m - len(active)), sum(counts[j] for j in active)
        q = [counts[j] / total * room if j in active else c for j in range(m)]
        below = {j for j in active if q[j] < c}
        if not below:
            return [(own - c) / p for own in q]
        active -= below


def tails_of_quotient(with_value: int, size: int, rate: float, epsilon: float) -> tuple[float, float]:
    """How probably (o2 + noise) / (o1 + noise) is below o2 / o1·(1 − ε), and above o2 / o1·(1 + ε).

    By integrals over the noise of o1, of density λ/2·exp(−λ·|z|); its sign turns the comparison round.
    """

    def above(z: float) -> float:
        return math.exp(-rate * z) / 2 if z >= 0 else 1 - math.exp(rate * z) / 2

    def part(bound: float, is_high: bool) -> float:
        def weighed(z: float) -> float:
            over = above(bound * (size + z) - with_value)
            return rate / 2 * math.exp(-rate * abs(z)) * (over if (size + z > 0) == is_high else 1 - over)

        ends = sorted({-60 / rate - size, -size, 0.0, with_value / bound - size, 60 / rate + size})
        return sum(
            quad(weighed, low, high, epsabs=1e-11, limit=100)[0] for low, high in itertools.pairwise(ends)
        )

    share = with_value / size
    return part(share * (1 - epsilon), False), part(share * (1 + epsilon), True)


def copies_read(counts: Sequence[int], most: int) -> int:
    """The largest B, at most ``most``, such that some k puts every count from B·k to (B + 1)·k; 0 if none."""
    shown = [own for own in counts if own]
    return next(
        (
            b
            for b in range(min(most, min(shown)), 0, -1)
            if all(any(b * k <= own <= (b + 1) * k for k in range(own + 1)) for own in shown)
        ),
        0,
    )


def fitting_by_chance(counts: Sequence[float], first: int, most: int) -> float:
    """How many numbers from the first to the last all of these counts but the least would fit by chance."""
    least, *others = sorted(counts)
    return sum(
        math.prod(min(1.0, (own // b + 1) / b) for own in others)
        for b in range(first, min(most, int(least)) + 1)
    )


def share_of_size(size: float, p: float, m: int, epsilon: float, delta: float) -> float:
    """Of which share this is the greatest sample, by the root in closed form; at most 1."""
    a, twice = size * (epsilon * p) ** 2, 2 * math.log(1 / delta)
    return min(1.0, (twice * p + math.sqrt((twice * p) ** 2 + 4 * a * twice * (1 - p) / m)) / (2 * a))
