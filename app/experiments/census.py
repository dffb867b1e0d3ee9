"""A surrogate of the census extract of Cao and Karras (2012), which may not be passed on.

It has the extract's numbers of values and its range of frequencies of the salary class; how the attributes
hang together is ours (Definitions: surrogate census).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import numpy.typing as npt

from app.domain.arrays import Floats, Ints, Longs
from app.domain.hierarchies.hierarchy import Hierarchy

ATTRIBUTES: Final = ("age", "gender", "education", "marital", "work", "salary")
SIZES: Final = (79, 2, 17, 6, 10, 50)
SALARY: Final = 5
CORRELATION: Final = 0.5

_EXPONENT: Final = 1.872754120587
"""With it the shares of the salary classes sum to 1."""
_MARITAL: Final = (0.53, 0.02, 0.02, 0.10, 0.07, 0.26)
_WORK: Final = (0.55, 0.1, 0.08, 0.06, 0.05, 0.05, 0.04, 0.03, 0.02, 0.02)


@dataclass(frozen=True, eq=False)
class Census:
    """Records: per attribute a node of its hierarchy, a flat one of which value v is node v + 1.

    ``sizes`` are how many values each attribute has.
    """

    columns: tuple[Ints, ...]
    sizes: tuple[int, ...] = SIZES

    @property
    def salaries(self) -> Ints:
        """(n,) the number of each record's class."""
        return np.asarray(self.columns[SALARY] - 1, dtype=np.int32)


def hierarchy_of(attribute: int) -> Hierarchy:
    """The values of an attribute of the surrogate below ⊥."""
    return flat_hierarchy(SIZES[attribute])


@cache
def flat_hierarchy(size: int) -> Hierarchy:
    """So many values below ⊥."""
    return Hierarchy(("*", *map(str, range(size))), ((), *((0,) for _ in range(size))))


def salary_counts(records: int) -> Longs:
    """(50,) records per salary class, by largest remainder: from 0.2 % of them to 4.84 %."""
    k = np.arange(SIZES[SALARY])
    rising, falling = (k + 1) / 13, np.maximum(1 - (k - 12) / 37, 0.0)
    shares = 0.002018 + 0.046384 * np.where(k <= 12, rising, np.minimum(falling, 1.0) ** _EXPONENT)
    exact = shares * records
    counts = np.floor(exact).astype(np.int64)
    most = np.argsort(-(exact - counts), kind="stable")[: records - int(counts.sum())]
    counts[most] += 1
    return counts


def census(seed: int, records: int, correlation: float = CORRELATION) -> Census:
    """Records of a seed; salaries follow age, education and gender as closely as the correlation says."""
    rng = np.random.Generator(np.random.PCG64(seed))
    age = np.floor(79 * rng.beta(1.6, 2.6, records)).astype(np.int32)
    gender = (rng.random(records) < 0.48).astype(np.int32)
    education = rng.binomial(16, 0.55, records).astype(np.int32)
    marital = rng.choice(6, records, p=_MARITAL).astype(np.int32)
    work = rng.choice(10, records, p=_WORK).astype(np.int32)
    known = (_standard(age) + _standard(education) + 0.5 * _standard(gender)) / 1.5
    latent = correlation * known + np.sqrt(1 - correlation**2) * rng.standard_normal(records)
    salary = np.empty(records, dtype=np.int32)
    salary[np.argsort(latent, kind="stable")] = np.repeat(
        np.arange(SIZES[SALARY], dtype=np.int32), salary_counts(records)
    )
    return Census(tuple(column + 1 for column in (age, gender, education, marital, work, salary)))


def _standard(values: npt.NDArray[np.int32]) -> Floats:
    return np.asarray((values - values.mean()) / values.std())
