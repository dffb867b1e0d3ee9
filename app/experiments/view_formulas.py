"""V3: pairs of which it is as hard to say whether they are private as whether a formula can be true.

Two formulas of p variables make a pair over p + 2 columns of two values. A row (t, 1, 0) can change the
secret's answer exactly if t makes the first true, and the view's if it makes the second true, so that the
view discloses something exactly if both can be true at once. The formulas are tried on all 2^p values; of
columns that may hold anything the verdict is always a disclosure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

import numpy as np

from app.domain.views.decision import PairVerdict
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact
from app.experiments.view_pairs import is_critical, judged, relations

Clause = tuple[int, ...]
"""2 is the second variable, -2 its denial."""
Formula = tuple[Clause, ...]
MOST: Final = 6
PAIRS: Final = 4
"""Of either kind, for each number of variables and seed."""
LOOKED_AT: Final = 3
"""Up to so many variables, every row is asked about."""


@dataclass(frozen=True)
class Tried:
    """A pair of formulas, whether both can be true at once, and the verdict on their queries."""

    formulas: tuple[Formula, Formula]
    variables: int
    satisfiable: bool
    found: PairVerdict
    unbounded: PairVerdict

    @property
    def is_right(self) -> bool:
        """Whether the verdict says whether both can be true."""
        return self.found.verdict == ("DISCLOSES" if self.satisfiable else "PRIVATE")


def run(effort: Effort) -> Report:
    """Formulas of 2 to 6 variables."""
    rng = np.random.Generator(np.random.PCG64(1))
    tried = {p: [_tried(p, rng) for _ in range(PAIRS * effort.seeds)] for p in range(2, MOST + 1)}
    steps = {
        p: (float(np.median([own.found.steps for own in pairs])), max(own.found.steps for own in pairs))
        for p, pairs in tried.items()
    }
    every = [own for pairs in tried.values() for own in pairs]
    return Report(
        id="V3",
        title="Pairs that are as hard as formulas",
        setting=f"{len(every)} pairs of formulas of 2 to {MOST} variables, each of which can be true by "
        "itself; clauses of up to three",
        tables=(
            ResultTable(
                "Verdicts beside all values tried",
                ("variables", "pairs", "true at once", "right verdicts", "median steps", "most steps"),
                tuple(
                    (
                        p,
                        len(pairs),
                        sum(own.satisfiable for own in pairs),
                        sum(own.is_right for own in pairs),
                        *map(int, steps[p]),
                    )
                    for p, pairs in tried.items()
                ),
            ),
        ),
        pictures=(
            Picture(
                "v3-steps",
                "Steps of a verdict by the number of variables",
                "Variables of the formulas",
                "Steps",
                curves(("median", "most"), list(map(float, tried)), np.array(list(steps.values()), float)),
            ),
        ),
        claims=_claims(every),
    )


def _claims(every: Sequence[Tried]) -> tuple[Claim, ...]:
    small = [own for own in every if own.variables <= LOOKED_AT]
    return (
        exact(
            "The view discloses exactly if both formulas can be true at once",
            all(own.is_right for own in every),
            f"{sum(own.satisfiable for own in every)} of {len(every)} can",
        ),
        exact(
            "In columns that may hold anything, every pair discloses",
            all(own.unbounded.verdict == "DISCLOSES" for own in every),
            f"{len(every)} pairs",
        ),
        exact(
            "A row (t, 1, 0) is critical exactly if t makes the formula true",
            all(map(_rows_are_right, small)),
            f"all rows of {len(small)} pairs of up to {LOOKED_AT} variables",
        ),
    )


def _tried(p: int, rng: np.random.Generator) -> Tried:
    formulas = _formula(p, rng), _formula(p, rng)
    secret, view = queries(formulas, p)
    attributes = {"R": " ".join(f"x{i}" for i in range(p + 2))}
    both = [t for t in product((0, 1), repeat=p) if all(is_true(own, t) for own in formulas)]
    found, unbounded = (judged(secret, view, relations(attributes, values)) for values in ((0, 1), None))
    return Tried(formulas, p, bool(both), found, unbounded)


def _formula(p: int, rng: np.random.Generator) -> Formula:
    """Clauses of up to three variables, fewer the fewer there are, so that some values make it true."""
    while True:
        width = min(3, p)
        clauses = []
        for _ in range(int(rng.integers(1, 2 * p + 1))):
            chosen = rng.choice(p, int(rng.integers(1, width + 1)), replace=False) + 1
            clauses.append(tuple(int(own) * (1 if rng.random() < 0.5 else -1) for own in sorted(chosen)))
        formula = tuple(dict.fromkeys(clauses))
        if any(is_true(formula, t) for t in product((0, 1), repeat=p)):
            return formula


def is_true(formula: Formula, values: Sequence[int]) -> bool:
    """Whether the values make it true."""
    return all(any((values[abs(own) - 1] == 1) == (own > 0) for own in clause) for clause in formula)


def queries(formulas: tuple[Formula, Formula], p: int) -> tuple[str, str]:
    """The secret and the view that two formulas make."""
    goal = ", ".join(f"a{i}" for i in range(1, p + 1))

    def rows(formula: Formula, ends: str) -> list[str]:
        found = []
        for clause in formula:
            cells = [f"a{i}" for i in range(1, p + 1)]
            for own in clause:
                cells[abs(own) - 1] = "0" if own > 0 else "1"
            found.append(f"R({', '.join(cells)}, {ends})")
        return found

    secret = ", ".join([f"R({goal}, b, 0)", *rows(formulas[0], "0, 0")])
    view = ", ".join([f"R({goal}, 1, b)", *rows(formulas[1], "1, 1")])
    return f"S({goal}) :- {secret}.", f"V({goal}) :- {view}."


def _rows_are_right(own: Tried) -> bool:
    schema = relations({"R": " ".join(f"x{i}" for i in range(own.variables + 2))}, (0, 1))
    return all(
        is_critical(query, "R", (*t, 1, 0), schema) == is_true(formula, t)
        for formula, query in zip(own.formulas, queries(own.formulas, own.variables), strict=True)
        for t in product((0, 1), repeat=own.variables)
    )
