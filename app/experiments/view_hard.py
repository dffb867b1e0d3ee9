"""V1, of the classes for which no bound below the exponential is known: all subgoals are of one relation.

Without comparisons every set of subgoals is looked at, with them values are tried where patterns do not
decide. Steps end by the limit of the service: what is not decided by then is counted.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Final, Literal

import numpy as np

from app.domain.views.decision import PairVerdict
from app.domain.views.relational_schema import RelationalSchema, RelationDefinition, built
from app.domain.views.work import Budget
from app.experiments.report import Claim, ResultTable, exact, qualitative
from app.experiments.view_pairs import judged, relations

Way = Literal["drawn", "apart", "redundant"]
Rows = list[tuple[str, ...]]
SIZES: Final = (2, 3, 4, 5)
"""Subgoals of either query."""
WAYS: Final[tuple[Way, ...]] = ("drawn", "apart", "redundant")
JOINED, COMPARED = "any number of one relation", "comparisons, any number of one relation"
Tried = Mapping[tuple[str, int], list[tuple[PairVerdict, float]]]
"""Class and subgoals → verdicts, with the seconds that they took."""


def free_rows(n: int, alike: int, rng: np.random.Generator) -> Rows:
    """Variables anywhere: half as many as there are subgoals, and a constant here and there."""

    def term() -> str:
        return f"x{rng.integers(n // 2 + 1)}" if rng.random() < 0.8 else str(rng.integers(2))

    return [(f"R{i // alike}", term(), term(), str(rng.integers(2))) for i in range(n)]


def hard_pairs(trials: int) -> Tried:
    """Pairs of both classes, as many of every way."""
    rng = np.random.Generator(np.random.PCG64(2))
    of = {"R0": "a b c"}
    numbers = built({"R0": RelationDefinition(of["R0"].split(), dict.fromkeys("abc", "number"))}, ())
    return {
        (name, n): [_tried(n, way, schema, rng) for way in WAYS for _ in range(trials)]
        for name, schema in ((JOINED, relations(of)), (COMPARED, numbers))
        for n in SIZES
    }


def _tried(n: int, way: Way, schema: RelationalSchema, rng: np.random.Generator) -> tuple[PairVerdict, float]:
    secret, view = free_rows(n, n, rng), free_rows(n, n, rng)
    if way != "drawn":
        secret, view = ([(*row[:3], mark) for row in rows] for rows, mark in ((secret, "7"), (view, "8")))
    if way == "redundant":
        secret = [*secret[:-1], ("R0", "f0", "f1", "f2")]
    is_compared = schema.relations["R0"].ranges[0].is_ordered
    written = [
        _query(name, rows, rng if is_compared else None) for name, rows in (("S", secret), ("V", view))
    ]
    started = time.process_time()
    found = judged(written[0], written[1], schema, Budget())
    return found, time.process_time() - started


def _query(name: str, rows: Rows, rng: np.random.Generator | None) -> str:
    """The query that asks whether there are such rows; with random numbers, it compares its variables."""
    variables = list(dict.fromkeys(term for _, *terms in rows for term in terms if term[0] in "xf"))
    body = [f"{relation}({', '.join(terms)})" for relation, *terms in rows]
    if rng is not None:
        for place, own in enumerate(variables):
            other = int(rng.integers(len(variables)))
            if place < other:
                body.append(f"{own} {rng.choice(['<', '!='])} {variables[other]}")
    return f"{name}() :- {', '.join(body)}."


def hard_tables(tried: Tried) -> tuple[ResultTable, ...]:
    """The work, and by how much it grows with every subgoal."""
    bounds = {JOINED: "4 times the pairs of sets, each by an exponential containment", COMPARED: "none"}
    return (
        ResultTable(
            "Work without a bound below the exponential",
            ("class", "subgoals", "pairs", "private", "undecided", "median steps", "most steps", "most ms"),
            tuple(_row(name, n, own) for (name, n), own in tried.items()),
        ),
        ResultTable(
            "How many times the most steps grow with a subgoal, beside the bounds",
            ("class", "times", "bound"),
            tuple((name, _factor(name, tried), bound) for name, bound in bounds.items()),
        ),
    )


def _row(name: str, n: int, own: list[tuple[PairVerdict, float]]) -> tuple[str | int | float, ...]:
    steps = [found.steps for found, _ in own]
    private, undecided = (
        sum(found.verdict == verdict for found, _ in own) for verdict in ("PRIVATE", "UNKNOWN")
    )
    most = 1000 * max(seconds for _, seconds in own)
    return name, n, len(own), private, undecided, int(np.median(steps)), max(steps), most


def _factor(name: str, tried: Tried) -> float:
    """By the slope of the logarithms."""
    most = [max(found.steps for found, _ in tried[name, n]) for n in SIZES]
    return float(np.exp(np.polyfit(SIZES, np.log(most), 1)[0]))


def hard_claims(tried: Tried) -> tuple[Claim, ...]:
    """That no more sets are looked at than there are, and what is decided."""
    every = [(n, found) for (_, n), own in tried.items() for found, _ in own]
    return (
        exact(
            "With s subgoals of one relation, at most (2^s − 1)² pairs of sets are looked at",
            all(found.subset_pairs <= (2**n - 1) ** 2 for n, found in every),
            f"at most {max(found.subset_pairs for _, found in every)}",
        ),
        qualitative(
            "Without comparisons every pair of one relation is decided, and with them most are",
            all(
                found.verdict != "UNKNOWN" or name == COMPARED
                for (name, _), own in tried.items()
                for found, _ in own
            )
            and sum(found.verdict == "UNKNOWN" for _, found in every) < len(every) / 10,
            f"{sum(found.verdict == 'UNKNOWN' for _, found in every)} of {len(every)} are not",
        ),
    )
