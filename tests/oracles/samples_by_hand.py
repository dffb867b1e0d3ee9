"""Sampled generalisation record by record, as the source writes it, and the exact law of small releases."""

from __future__ import annotations

import itertools
import math
from collections import Counter, defaultdict

CITY = {"Laf": ["Laf", "IN", "*"], "Day": ["Day", "IN", "*"], "Chi": ["Chi", "IL", "*"]}
JOB = {"Eng": ["Eng", "*"], "Nur": ["Nur", "*"]}
CITY_W = {"Laf": 0.6, "Day": 0.6, "Chi": 0.6, "IN": 0.3, "IL": 0.3, "*": 0.1}
JOB_W = {"Eng": 0.5, "Nur": 0.5, "*": 0.1}
CITY_D = {"Laf": 2, "Day": 2, "Chi": 2, "IN": 1, "IL": 1, "*": 0}
JOB_D = {"Eng": 1, "Nur": 1, "*": 0}
TOY = [
    ("Laf", "Eng"),
    ("Laf", "Eng"),
    ("Laf", "Nur"),
    ("Day", "Eng"),
    ("Day", "Nur"),
    ("Chi", "Nur"),
    ("Chi", "Nur"),
    ("Chi", "Eng"),
]
"""The specification's toy database."""


class World:
    """Chains, weights and utilities of some attributes: all generalisations of a record, and their worth."""

    def __init__(self, chains, weights, uses, trade_off=1.0, kappa=1):
        self.chains, self.weights, self.uses = chains, weights, uses
        self.trade_off, self.kappa = trade_off, kappa

    def above(self, record):
        return list(
            itertools.product(*(chain[value] for chain, value in zip(self.chains, record, strict=True)))
        )

    def count(self, x, data):
        return sum(x in self.above(b) for b in data)

    def phi(self, x):
        return sum(w[v] for w, v in zip(self.weights, x, strict=True))

    def use(self, x):
        return sum(d[v] for d, v in zip(self.uses, x, strict=True))

    def f(self, x, data):
        return self.trade_off * self.count(x, data) / self.phi(x) + self.use(x) ** self.kappa

    def risk(self, x, data):
        return self.phi(x) / self.count(x, data)

    def q(self, record, data, frequent, exponent, score=None):
        """Generalisation → probability: ∝ exp(exponent · score / m) among those that are frequent."""
        score = score or self.f
        options = [x for x in self.above(record) if x in frequent]
        worth = [exponent * score(x, data) / len(data) for x in options]
        powers = [math.exp(own - max(worth)) for own in worth]
        return {x: own / sum(powers) for x, own in zip(options, powers, strict=True)}

    def all_above(self, data):
        return {x for record in data for x in self.above(record)}

    def frequent(self, data, least):
        return {x for x in self.all_above(data) if self.count(x, data) >= least}

    def law(self, data, frequent, exponent, rate):
        """Multiset → probability, for one set of frequent generalisations."""
        found = {(): 1.0}
        for record in data:
            options = {None: 1 - rate}
            for x, p in self.q(record, data, frequent, exponent).items():
                options[x] = rate * p
            further = defaultdict(float)
            for outcome, p in found.items():
                for x, own in options.items():
                    further[outcome if x is None else tuple(sorted((*outcome, x)))] += p * own
            found = dict(further)
        return found

    def law_over_noise(self, data, exponent, rate, reaches):
        """The same with sets that are frequent from * down: one is if all above it are, and its noisy count.

        ``reaches`` tells with which probability that of so many records is.
        """
        found = defaultdict(float)
        every = sorted(self.all_above(data), key=lambda x: (self.use(x), x))
        for answers in itertools.product((True, False), repeat=len(every)):
            frequent, chance = set(), 1.0
            for x, is_in in zip(every, answers, strict=True):
                is_asked = all(y in frequent for y in self.above(x) if y != x)
                if not self.use(x):
                    frequent.add(x)
                    chance *= is_in
                elif not is_asked:
                    chance *= not is_in
                else:
                    chance *= reaches(self.count(x, data)) if is_in else 1 - reaches(self.count(x, data))
                    frequent |= {x} if is_in else set()
                if not chance:
                    break
            else:
                for outcome, p in self.law(data, frequent, exponent, rate).items():
                    found[outcome] += p * chance
        return dict(found)

    def law_over_shares(self, data, exponent, rate, least_share):
        """The same with the frequent set of a share θ that is uniform between least_share and 1."""
        m = len(data)
        cuts = sorted({least_share, 1.0, *(c / m for c in range(1, m + 1) if least_share < c / m < 1)})
        found = defaultdict(float)
        for low, high in itertools.pairwise(cuts):
            frequent = self.frequent(data, (low + high) / 2 * m)
            for outcome, p in self.law(data, frequent, exponent, rate).items():
                found[outcome] += p * (high - low) / (1 - least_share)
        return dict(found)


def toy(trade_off=0.1, kappa=1):
    return World((CITY, JOB), (CITY_W, JOB_W), (CITY_D, JOB_D), trade_off, kappa)


def one_attribute():
    """V7, D10 and D12: a root of weight ½ and use 0, leaves a and b of weight and use 1."""
    return World(
        ({"a": ["a", "*"], "b": ["b", "*"]},), ({"a": 1, "b": 1, "*": 0.5},), ({"a": 1, "b": 1, "*": 0},)
    )


def multisets(rows):
    """Rows as a multiset."""
    return tuple(sorted(Counter(rows).elements()))
