"""What attackers conclude, by listing all worlds that they hold possible; shares no code with the product."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction


def assignments(values: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """All different ways to give the values of a class to its records."""
    yield from sorted(set(itertools.permutations(values)))


def belief(values: Sequence[str], statements: Sequence[tuple[int, str]], target: int, value: str) -> Fraction:
    """Share of the ways consistent with "record i does not have v" in which the target has the value."""
    possible = [way for way in assignments(values) if all(way[i] != v for i, v in statements)]
    if not possible:
        return Fraction(0)
    return Fraction(sum(way[target] == value for way in possible), len(possible))


def strongest(values: Sequence[str], target: int, negations: int) -> Fraction:
    """Strongest belief in the target's value after so many true statements that the target has not others."""
    own = values[target]
    others = sorted({v for v in values if v != own})
    return max(
        belief(values, [(target, v) for v in out], target, own)
        for out in itertools.combinations(others, min(negations, len(others)))
    )


def knowing(values: Sequence[str], known: Sequence[int], target: int, value: str) -> Fraction:
    """Belief of somebody who knows what some records have."""
    ways = [way for way in assignments(values) if all(way[i] == values[i] for i in known)]
    return Fraction(sum(way[target] == value for way in ways), len(ways))


def worlds(f: Counter[tuple[str, str]], shown: dict[str, str], counts: Counter[str], place: str, q: str):
    """Beliefs about a target with q in a class of what is shown at ``place``, whose values have these counts.

    A world gives everybody of the population a value, consistent with the joint counts f(q, s), and draws a
    sample that holds the target; it is possible if the class comes out as published. Returns the belief in
    each value, as shares of the possible worlds. Only people of the class matter.
    """
    kinds = sorted({q for q, _ in f})
    people = [kind for kind in kinds if shown[kind] == place for s in f.elements() if s[0] == kind]
    target = people.index(q)
    size = sum(counts.values())
    found: Counter[str] = Counter()
    ways = [
        assignments([s for (own, s), n in sorted(f.items()) if own == kind for _ in range(n)])
        for kind in kinds
        if shown[kind] == place
    ]
    for way in itertools.product(*ways):
        values = list(itertools.chain.from_iterable(way))
        for rest in itertools.combinations([i for i in range(len(people)) if i != target], size - 1):
            if Counter(values[i] for i in (target, *rest)) == counts:
                found[values[target]] += 1
    total = sum(found.values())
    return {value: Fraction(n, total) for value, n in found.items()}


def elimination(classes: Sequence[Sequence[tuple[str, str]]], confidence: Fraction):
    """Strongest "S is s" and "S is not s", records exposed by at most one true statement, and by none."""
    positive = negative = Fraction(0)
    exposed = without = 0
    for rows in classes:
        for s, v in rows:
            beliefs = [_share(rows, lambda row: True, v)]
            without += beliefs[0] >= confidence
            for told in {own for own, _ in rows}:
                is_true = told == s
                kept = [row for row in rows if (row[0] == told) is is_true]
                beliefs.append(_share(kept, lambda row: True, v))
            exposed += max(beliefs) >= confidence
        for told, v in itertools.product({s for s, _ in rows}, {v for _, v in rows}):
            positive = max(positive, _share(rows, lambda row, t=told: row[0] == t, v))
            negative = max(negative, _share(rows, lambda row, t=told: row[0] != t, v))
    return positive, negative, exposed, without


def _share(rows, kept, v) -> Fraction:
    left = [row for row in rows if kept(row)]
    return Fraction(sum(own == v for _, own in left), len(left)) if left else Fraction(0)
