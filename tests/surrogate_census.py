"""A surrogate of the census extract of Cao and Karras (2012), section 6, which is not supplied.

The marginal of its sensitive attribute has the paper's number of values and its least and greatest share.
What the quasi-identifiers are like, and how they go with it, is made up: what is found here says nothing of
the paper's own data.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.hierarchies.builders import intervals, ordered_groups
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table

SIZES: Final = {"age": 79, "gender": 2, "education": 17, "marital": 6, "work": 10}
"""Quasi-identifier → how many values it has."""
SALARY: Final = "salary"
VALUES: Final = 50
"""Values of the sensitive attribute."""

_PEAK: Final = 12
_LEAST, _WIDTH, _EXPONENT = 0.002018, 0.046384, 1.872754120587
_MARITAL: Final = (0.53, 0.02, 0.02, 0.10, 0.07, 0.26)
_WORK: Final = (0.55, 0.1, 0.08, 0.06, 0.05, 0.05, 0.04, 0.03, 0.02, 0.02)


def marginal(records: int) -> Longs:
    """Records of each sensitive value, by largest remainders."""
    k = np.arange(VALUES)
    rise, fall = (k + 1) / (_PEAK + 1), np.clip(1 - (k - _PEAK) / (VALUES - 1 - _PEAK), 0, None) ** _EXPONENT
    exact = (_LEAST + _WIDTH * np.where(k <= _PEAK, rise, np.minimum(fall, 1))) * records
    counts = np.floor(exact).astype(np.int64)
    order = np.argsort(counts - exact, kind="stable")
    counts[order[: records - int(counts.sum())]] += 1
    return counts


def columns(records: int, seed: int = 1, correlation: float = 0.5) -> dict[str, Longs]:
    """The quasi-identifiers, and the sensitive attribute that goes with age, education and gender."""
    random = np.random.Generator(np.random.PCG64(seed))
    age = 17 + np.floor(79 * random.beta(1.6, 2.6, records)).astype(np.int64)
    gender = (random.random(records) < 0.48).astype(np.int64)
    education = random.binomial(16, 0.55, records)
    marital = random.choice(len(_MARITAL), records, p=_MARITAL)
    work = random.choice(len(_WORK), records, p=_WORK)
    known = (_standardised(age) + _standardised(education) + 0.5 * _standardised(gender)) / 1.5
    latent = correlation * known + np.sqrt(1 - correlation**2) * random.standard_normal(records)
    salary = np.empty(records, dtype=np.int64)
    salary[np.argsort(latent, kind="stable")] = np.repeat(np.arange(VALUES), marginal(records))
    named = {"age": age, "gender": gender, "education": education, "marital": marital, "work": work}
    return {**named, SALARY: salary}


def surrogate(records: int, attributes: Sequence[str] = tuple(SIZES)[:3], seed: int = 1) -> Table:
    """The table of some quasi-identifiers and the sensitive attribute."""
    found, hierarchies = columns(records, seed), _hierarchies()
    names = (*attributes, SALARY)
    codes = np.empty((records, len(names)), dtype=np.int32, order="F")
    for j, name in enumerate(names):
        least = 17 if name == "age" else 0
        codes[:, j] = hierarchies[name].leaves[found[name] - least]
    trees = tuple(hierarchies[name] for name in names)
    return Table(names, trees, codes, sensitive=frozenset({SALARY}))


def _standardised(values: Longs) -> Floats:
    return np.asarray((values - values.mean()) / values.std())


def _hierarchies() -> dict[str, Hierarchy]:
    """Of numbers intervals that nest, of categories the groups of the specification, of salaries none."""
    marital = (("once", 2), ("other", 4))
    work = (("a", "a1", 2), ("a", "a2", 3), ("b", "b1", 2), ("b", "b2", 3))
    of_marital = [(above,) for above, n in marital for _ in range(n)]
    of_work = [(above, group) for above, group, n in work for _ in range(n)]
    return {
        "age": intervals([str(age) for age in range(17, 96)], (5, 10, 20, 40)),
        "gender": ordered_groups(["0", "1"], ()),
        "education": intervals([str(years) for years in range(17)], (2, 4, 8)),
        "marital": Hierarchy.from_rows([(str(v), *own) for v, own in enumerate(of_marital)]),
        "work": Hierarchy.from_rows([(str(v), group, above) for v, (above, group) in enumerate(of_work)]),
        SALARY: ordered_groups([str(v) for v in range(VALUES)], ()),
    }
