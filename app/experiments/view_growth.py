"""V1: how the work of a verdict grows with the subgoals, for the classes that are known to be cheap.

Of each class pairs are drawn in three ways: at random; with rows of the view that none of the secret's can
be; and with rows of the secret that fit the view and are redundant, so that every pattern must be looked at
to prove that the pair is private. Beside them stand the classes without such a bound. Steps are counted by
the decision and are the same on every machine, times are not.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import numpy as np

from app.domain.views.decision import PairVerdict
from app.domain.views.query_classes import QueryClass
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative
from app.experiments.view_hard import Rows, Way, free_rows, hard_claims, hard_pairs, hard_tables
from app.experiments.view_pairs import classes, judged, relations

SIZES: Final = (6, 12, 24, 48)
"""Subgoals of either query."""
TRIALS: Final = 3
"""For each seed and way."""
Drawer = Callable[[int, np.random.Generator], Rows]
"""The rows of a query of so many subgoals: relation and three terms each."""


@dataclass(frozen=True)
class Kind:
    """A class, how many subgoals of a relation its queries have, and the exponent of its bound."""

    name: str
    of: QueryClass | None
    draw: Drawer
    alike: int | None
    """Subgoals of a relation; None: all are of one."""
    exponent: float | None
    """Of the number of subgoals in the source's bound, the relations growing with them."""
    overlaps_only: bool = False
    """Whether no sets of subgoals need to be looked at."""
    beside: tuple[QueryClass, Drawer] | None = None
    """The class of the view, if it is another than the secret's."""

    def relations(self, n: int) -> int:
        """How many there are."""
        return 1 if self.alike is None else n // self.alike

    def most_set_pairs(self, n: int) -> int:
        """Of all relations."""
        return 0 if self.overlaps_only or self.alike is None else self.relations(n) * (2**self.alike - 1) ** 2


def _maximal(n: int, rng: np.random.Generator) -> Rows:
    """One relation, whose rows differ in a constant; a variable stays in its column."""
    half = n // 2 + 1
    return [("R0", f"x{rng.integers(half)}", f"y{rng.integers(half)}", str(i)) for i in range(n)]


def _simple(n: int, rng: np.random.Generator) -> Rows:
    """What is shown repeats in the first column, one variable that is not shown in the second."""
    shown = [f"a{rng.integers(n // 3 + 1)}" for _ in range(n)]
    return [
        (f"R{i // 3}", own, "y" if rng.random() < 0.5 else f"y{i}", f"z{i}") for i, own in enumerate(shown)
    ]


def _chain(n: int, rng: np.random.Generator) -> Rows:
    """Every row is linked with the next."""
    return [(f"R{i // 3}", f"x{i}", f"x{i + 1}", str(rng.integers(2))) for i in range(n)]


def _cycle(n: int, rng: np.random.Generator) -> Rows:
    """A chain whose last row is linked with its first: it has no ears, and the query-width two."""
    return [(f"R{i // 3}", f"x{i}", f"x{(i + 1) % n}", str(rng.integers(2))) for i in range(n)]


def _sparse(n: int, alike: int, rng: np.random.Generator) -> Rows:
    """A row of each relation that another query has ``alike`` rows of."""
    return [(f"R{i}", *own[1:]) for i, own in enumerate(free_rows(n // alike, 1, rng))]


KINDS: Final = (
    Kind("no self-join", "no_self_join", lambda n, rng: free_rows(n, 1, rng), 1, 1, overlaps_only=True),
    Kind("maximal rows", "maximal_row", _maximal, None, 2, overlaps_only=True),
    Kind("one self-join", "one_self_join_per_relation", lambda n, rng: free_rows(n, 2, rng), 2, 3),
    Kind("simple tableau", "simple_tableau", _simple, 3, 4),
    Kind("acyclic", "acyclic", _chain, 3, 3),
    Kind("query-width two", None, _cycle, 3, 4),
    Kind(
        "one self-join beside none",
        "one_self_join_per_relation",
        lambda n, rng: free_rows(n, 2, rng),
        2,
        3,
        beside=("no_self_join", lambda n, rng: _sparse(n, 2, rng)),
    ),
    Kind("simple beside acyclic", "simple_tableau", _simple, 3, 4, beside=("acyclic", _chain)),
    Kind("any, three of a relation", None, lambda n, rng: free_rows(n, 3, rng), 3, None),
)
"""Bounds of Machanavajjhala (2008), figure 2.3 and table 2.1: patterns of n / 3 relations, by n³ or n² log n
steps each, or n³ log n for the query-width two; the slower of two classes counts.
"""


@dataclass(frozen=True)
class Decided:
    """A verdict on a pair of so many subgoals each."""

    kind: Kind
    n: int
    found: PairVerdict
    seconds: float
    belongs: bool
    """Whether both queries are of their classes."""


def run(effort: Effort) -> Report:
    """The steps of every class by the number of subgoals."""
    rng = np.random.Generator(np.random.PCG64(1))
    decided = {
        (kind.name, n): [
            _decided(kind, n, way, rng)
            for way in (("drawn", "apart") if kind.overlaps_only else ("drawn", "apart", "redundant"))
            for _ in range(TRIALS * effort.seeds)
        ]
        for kind in KINDS
        for n in SIZES
    }
    most = {
        kind.name: [max(own.found.steps for own in decided[kind.name, n]) for n in SIZES] for kind in KINDS
    }
    # The slopes through the logarithms.
    exponents = {
        name: float(np.polyfit(np.log(SIZES), np.log(np.maximum(steps, 1)), 1)[0])
        for name, steps in most.items()
    }
    hard = hard_pairs(TRIALS)
    return Report(
        id="V1",
        title="How the work of a verdict grows with the subgoals",
        setting=f"relations of three columns that may hold anything, {TRIALS * effort.seeds} pairs of every "
        "way; subgoals of either query; milliseconds are of this machine",
        tables=(*_tables(decided, exponents), *hard_tables(hard)),
        pictures=(
            Picture(
                "v1-steps",
                "Most steps of a verdict by class",
                "Subgoals of either query",
                "Steps",
                curves(
                    list(most),
                    list(map(float, SIZES)),
                    np.array(list(most.values()), dtype=float).T,
                ),
            ),
        ),
        claims=(
            *_claims([own for of_kind in decided.values() for own in of_kind], exponents),
            *hard_claims(hard),
        ),
    )


def _tables(
    decided: Mapping[tuple[str, int], list[Decided]], exponents: Mapping[str, float]
) -> tuple[ResultTable, ...]:
    return (
        ResultTable(
            "Work by class and number of subgoals",
            (
                *("class", "subgoals", "pairs", "private"),
                *("median steps", "most steps", "pairs of sets", "median ms"),
            ),
            tuple(_row(kind, n, decided[kind.name, n]) for kind in KINDS for n in SIZES),
        ),
        ResultTable(
            "Exponents of growth of the most steps, beside the bounds",
            ("class", "exponent", "bound"),
            tuple((kind.name, exponents[kind.name], kind.exponent or "none") for kind in KINDS),
        ),
    )


def _decided(kind: Kind, n: int, way: Way, rng: np.random.Generator) -> Decided:
    of_view, draw_view = kind.beside or (kind.of, kind.draw)
    secret, view = kind.draw(n, rng), draw_view(n, rng)
    if way != "drawn":
        secret, view = _marked(secret, "s"), _marked(view, "v")
    if way == "redundant" and kind.alike is not None:
        # The last row of every relation becomes one that any of its others is.
        secret = [
            (own[0], *(f"f{i}_{place}" for place in range(3))) if i % kind.alike == kind.alike - 1 else own
            for i, own in enumerate(secret)
        ]
    schema = relations({f"R{i}": "a b c" for i in range(kind.relations(n))})
    written = _query("S", secret), _query("V", view)
    started = time.process_time()
    found = judged(*written, schema)
    seconds = time.process_time() - started
    belongs = all(
        of is None or of in classes(own, schema) for of, own in zip((kind.of, of_view), written, strict=True)
    )
    return Decided(kind, n, found, seconds, belongs)


def _marked(rows: Rows, mark: str) -> Rows:
    """With constants in the last column that no query of another mark has."""
    return [(*own[:3], f"'{mark}{own[3] if own[3].isdigit() else ''}'") for own in rows]


def _query(name: str, rows: Rows) -> str:
    """The query that shows its variables of the first column that begin with a or x."""
    shown = ", ".join(dict.fromkeys(own[1] for own in rows if own[1][0] in "ax"))
    body = [f"{relation}({', '.join(terms)})" for relation, *terms in rows]
    return f"{name}({shown}) :- {', '.join(body)}."


def _row(kind: Kind, n: int, own: list[Decided]) -> tuple[str | int | float, ...]:
    steps = [one.found.steps for one in own]
    return (
        kind.name,
        n,
        len(own),
        sum(one.found.verdict == "PRIVATE" for one in own),
        int(np.median(steps)),
        max(steps),
        max(one.found.subset_pairs for one in own),
        float(np.median([1000 * one.seconds for one in own])),
    )


def _claims(decided: list[Decided], exponents: Mapping[str, float]) -> tuple[Claim, ...]:
    bounded = [own for own in decided if own.kind.alike is not None or own.kind.overlaps_only]
    cheap = [own for own in decided if own.kind.overlaps_only]
    apart = [own for own in cheap if own.found.verdict == "PRIVATE"]
    slower = [
        kind.name for kind in KINDS if kind.exponent is not None and exponents[kind.name] > kind.exponent
    ]
    return (
        exact(
            "Every query is of the class that it is drawn of",
            all(own.belongs for own in decided),
            f"{len(decided)} pairs",
        ),
        exact(
            "Without self-joins, and with maximal rows, no sets of subgoals are looked at",
            all(own.found.subset_pairs == 0 for own in cheap),
            f"{len(cheap)} pairs",
        ),
        exact(
            "Of them, a private pair takes a step for each two subgoals of one relation, at most",
            all(own.found.steps <= (own.n if own.kind.alike == 1 else own.n**2) for own in apart),
            f"{len(apart)} pairs",
        ),
        exact(
            "With s subgoals of each of m relations, at most m·(2^s − 1)² pairs of sets are looked at",
            all(own.found.subset_pairs <= own.kind.most_set_pairs(own.n) for own in bounded),
            f"at most {max(own.found.subset_pairs for own in bounded)}",
        ),
        qualitative(
            "Every pair is decided",
            all(own.found.verdict != "UNKNOWN" for own in decided),
            f"{sum(own.found.verdict == 'PRIVATE' for own in decided)} of {len(decided)} are private",
        ),
        qualitative(
            "The steps of no class grow faster than its bound",
            not slower,
            ", ".join(f"{name} {exponent:.2f}" for name, exponent in exponents.items()),
        ),
    )
