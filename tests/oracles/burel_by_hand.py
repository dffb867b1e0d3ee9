"""BUREL and median cuts row by row, as the specification lists them, in plain Python."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from app.samples.published_tables import table

ROWS = tuple((int(x), int(y), int(value[1:])) for x, y, value in table("likeness").rows)

Row = tuple[float, ...]
Like = Callable[[int, int, int], bool]


def within(beta: Fraction, population: int, bound: str = "enhanced") -> Like:
    """Whether x of n records may have a value that so many of the whole table have."""

    def found(x: int, n: int, total: int) -> bool:
        if n <= 0:
            return False
        if bound == "basic" or beta <= -math.log(total / population):
            return x * population <= (1 + beta) * total * n
        p = total / population
        return x / n <= p * (1 - math.log(p)) * (1 + 1e-12)

    return found


def all_partitions(counts: Sequence[int], beta: Fraction, bound: str) -> Iterator[list[list[int]]]:
    """All feasible buckets among runs of the values in order of frequency."""
    order = sorted(range(len(counts)), key=lambda i: (counts[i], i))
    fits = within(beta, sum(counts), bound)
    for cuts in range(2 ** (len(order) - 1)):
        runs: list[list[int]] = [[]]
        for place, value in enumerate(order):
            if place and cuts >> (place - 1) & 1:
                runs.append([])
            runs[-1].append(value)
        if all(
            len(run) == 1 or fits(sum(counts[i] for i in run), sum(counts), counts[run[0]]) for run in runs
        ):
            yield runs


def class_sizes(sizes: Sequence[int], least: Sequence[int], fits: Like, k_min: int = 1) -> list[list[int]]:
    """The leaves of the tree, halves rounded down, depth first."""

    def eligible(taken: list[int]) -> bool:
        n = sum(taken)
        return n >= max(1, k_min) and all(fits(x, n, own) for x, own in zip(taken, least, strict=True))

    stack, leaves = [list(sizes)], []
    while stack:
        node = stack.pop()
        left = [x // 2 for x in node]
        right = [x - half for x, half in zip(node, left, strict=True)]
        if eligible(left) and eligible(right):
            stack += [right, left]
        else:
            leaves.append(node)
    return leaves


def nearest(rows: list[tuple[int, int]], seed: int, amount: int) -> list[tuple[int, int]]:
    """The (position, row) nearest along the curve, one by one: ties from below."""
    rows, taken = sorted(rows), []
    at = sum(position < seed for position, _ in rows)
    left, right = at - 1, at
    for _ in range(amount):
        if left < 0 or (right < len(rows) and rows[right][0] - seed < seed - rows[left][0]):
            taken.append(rows[right])
            right += 1
        else:
            taken.append(rows[left])
            left -= 1
    return taken


def retrieved(
    bucket_of: Sequence[int], positions: Sequence[int], leaves: Sequence[Sequence[int]]
) -> list[int]:
    """The class of each row, each made around the first row that is left."""
    n_buckets = len(leaves[0])
    left = [[(p, i) for i, p in enumerate(positions) if bucket_of[i] == b] for b in range(n_buckets)]
    found = [-1] * len(positions)
    for number, leaf in enumerate(leaves):
        seed = min(min(rows) for rows, amount in zip(left, leaf, strict=True) if amount)[0]
        for bucket, amount in enumerate(leaf):
            for own in nearest(left[bucket], seed, amount) if amount else ():
                left[bucket].remove(own)
                found[own[1]] = number
    return found


def cut(
    rows: Sequence[Row], spans: Sequence[tuple[float, float]], ok: Callable[[list[int]], bool]
) -> list[list[int]]:
    """The classes of median cuts, by recursion."""

    def split(own: list[int]) -> list[list[int]]:
        n = len(own)

        def width(k: int) -> float:
            low, high = spans[k]
            values = [rows[i][k] for i in own]
            return (max(values) - min(values)) / (high - low) if high > low else 0.0

        for k in sorted(range(len(spans)), key=lambda k: (-width(k), k)):
            if not width(k):
                continue
            median = sorted(rows[i][k] for i in own)[(n - 1) // 2]
            left = [i for i in own if rows[i][k] <= median]
            if len(left) == n:
                left = [i for i in own if rows[i][k] < median]
            right = [i for i in own if i not in set(left)]
            if ok(left) and ok(right):
                return split(left) + split(right)
        return [own]

    return split(list(range(len(rows))))


def position_of(cell: Sequence[int], bits: int) -> int:
    """Skilling's transform as the specification lists it, one point at a time."""
    x, q = list(cell), 1 << (bits - 1)
    if len(x) == 1:
        return x[0]
    while q > 1:
        for i in range(len(x)):
            if x[i] & q:
                x[0] ^= q - 1
            else:
                t = (x[0] ^ x[i]) & (q - 1)
                x[0] ^= t
                x[i] ^= t
        q >>= 1
    for i in range(1, len(x)):
        x[i] ^= x[i - 1]
    t, q = 0, 1 << (bits - 1)
    while q > 1:
        if x[-1] & q:
            t ^= q - 1
        q >>= 1
    h = 0
    for bit in range(bits - 1, -1, -1):
        for own in x:
            h = 2 * h + (((own ^ t) >> bit) & 1)
    return h
