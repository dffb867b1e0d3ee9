"""Attacks on the people of a table by a synthetic one made from it: singling out, linkability, inference.

Each attack is made on records of the original, and by guesses that ignore the synthetic table's records (the
baseline). Where records were held out it is made on them as well (the control): what succeeds on people of
whom the synthetic table cannot know is what the population tells, not a leak (Giomi et al. (2023)).

The residual risk (main − control) / (1 − control) is 1 less the ratio of two shares of failures. Its
interval is that of Koopman (1984) for such a ratio, which holds for shares of 0 and 1, too; see Definitions:
intervals of residual risks. Rates have Wilson's interval. Both are about the choice of the attacked, given
the tables; neither is about another synthetic table that the same program might have made.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Annotated, Final

import numpy as np
from annotated_types import doc

from app.domain.analyses.compared_tables import ComparedColumn, ComparedTables, times_there
from app.domain.arrays import Floats, Indices, Integers, Ints, Longs
from app.domain.catalogue.meanings import ASIDE, LOW, LOW_ASIDE, LOW_SHARE, SHARE, Meaning, Range
from app.domain.errors import Fault, InvalidInput, joined

COLUMNS_OF_PREDICATE: Final = 3
TOLERANCE: Final = 0.05
ATTEMPTS_PER_ATTACK: Final = 200
BATCH: Final = 1_000
MOST_IDLE: Final = 20
"""Batches without a new predicate after which no more are looked for."""
SCREENED: Final = 512
"""Records that predicates are first asked of: what selects two of them selects two of all."""
SCALE: Final = 2.0**40
"""Distances are whole multiples of 1 / SCALE, so that equal ones are equal whatever the order of the sum."""
TOP: Final = np.iinfo(np.int32).max
BISECTIONS: Final = 100
RISK: Final = LOW | Meaning(Range(greatest=1.0))


@dataclass(frozen=True)
class AttackRate:
    """How often an attack succeeded."""

    attacks: Annotated[int, doc("Attacks made.")]
    successes: Annotated[int, LOW, doc("How many of them succeeded.")]
    rate: Annotated[float, LOW_SHARE, doc("Share that succeeded.")]
    low: Annotated[float, LOW_SHARE, ASIDE, doc("Lower end of Wilson's interval of it.")]
    high: Annotated[float, LOW_SHARE, doc("Upper end of it.")]


@dataclass(frozen=True)
class AttackResult:
    """An attack on records of the original, beside random guesses and records held out."""

    main: Annotated[AttackRate, doc("The attack on the original.")]
    baseline: Annotated[
        AttackRate, LOW_ASIDE, doc("Random guesses on the original, without the synthetic records.")
    ]
    compared: Annotated[
        AttackRate | None,
        doc(
            "The attack on the original as far as the control is comparable with it. Of singling out with "
            "h < n records held out: those predicates, of main and of control, that select none of n − h "
            "drawn records of the original. Else `main`. None without a control."
        ),
    ]
    control: Annotated[
        AttackRate | None, LOW_ASIDE, doc("The attack on records held out; None if there are none.")
    ]
    risk: Annotated[
        float | None,
        RISK,
        doc(
            "Residual risk: (compared − control) / (1 − control), at most 1; below 0 where the control is "
            "attacked with more success. None without a control, or if that always succeeds."
        ),
    ]
    risk_low: Annotated[float | None, RISK, ASIDE, doc("Lower end of Koopman's interval of it.")]
    risk_high: Annotated[float | None, RISK, doc("Upper end of it.")]
    succeeds: Annotated[
        bool,
        LOW,
        ASIDE,
        doc(
            "Whether the attack is better than random guesses: the interval of (main − baseline) / "
            "(1 − baseline) lies above 0. An attack that is not has failed and says nothing about safety."
        ),
    ]


@dataclass(frozen=True)
class SinglingOutAttacks:
    """Predicates that select one synthetic record, which succeed where they select one original record."""

    univariate: Annotated[
        AttackResult | None,
        doc("Of one column: a value that occurs once, the least or greatest number. None: there is none."),
    ]
    multivariate: Annotated[
        AttackResult | None,
        doc("Of up to three columns of a synthetic record. None: no predicate selects one record only."),
    ]


@dataclass(frozen=True)
class SecretInferred:
    """How well a value is guessed from the nearest synthetic record."""

    attribute: Annotated[str, doc("The secret attribute.")]
    attack: Annotated[AttackResult, doc("The attack of whoever knows all other attributes.")]


@dataclass(frozen=True)
class SyntheticAttacks:
    """The three attacks on the people of a table by a synthetic one made from it."""

    confidence: Annotated[float, SHARE, doc("Level of each interval by itself.")]
    overlap: Annotated[
        int | None,
        doc("Records held out that equal a record of the original in all columns. None: none are held out."),
    ]
    singling_out: Annotated[SinglingOutAttacks, doc("Whether there is one person with such values.")]
    linkability: Annotated[
        AttackResult | None,
        doc("Whether two sets of columns lead to a common synthetic record. None: no sets are given."),
    ]
    inference: Annotated[tuple[SecretInferred, ...], doc("Whether secrets can be guessed, by attribute.")]
    risk_high: Annotated[
        float | None,
        RISK,
        doc(
            "Greatest upper end of the intervals of all attacks' residual risks; of singling out by one "
            "column if there are predicates for all attacks. None: one has none, as without records held out."
        ),
    ]


def synthetic_attacks(
    tables: ComparedTables,
    *,
    attacks: int,
    linkable: tuple[tuple[str, ...], tuple[str, ...]] | None,
    secrets: tuple[str, ...],
    confidence: float,
    rng: np.random.Generator,
    neighbours: int = 1,
) -> SyntheticAttacks:
    """Attack a table and the records held out by a synthetic table (Giomi et al. (2023), section 4).

    * Singling out: a predicate is made of a synthetic record (equal values; of numbers at least or at most
      its own, on the side of the median that it is on) and kept if it selects that synthetic record only.
      With a control each predicate is asked of one table only, so that the two rates are independent.
    * Linkability: the ``neighbours`` nearest synthetic records by either set of columns share one.
    * Inference: the secret of the nearest synthetic record by all other columns; numbers within 5 % of the
      true one are right.

    Nearest is by the distance of Gower (1971): the difference of numbers over the range of the original, at
    most 1; of other values 0 if equal and 1 if not. A missing value is a value like any other. Of equally
    near records each is as likely to be taken, anew for each attack. Memory: about 24 bytes per cell of the
    tables and 32 per synthetic record and per value of a column.

    Parameters
    ----------
    attacks
        Attacks of each kind on each table; fewer where there are fewer records or predicates.
    linkable
        Two disjoint sets of columns that two other tables have.
    confidence
        Of each interval, in (0, 1).

    Raises
    ------
    InvalidInput
        One column only, a secret or linkable column that is none.
    """
    _require_attackable(tables, linkable, secrets)
    names = [column.name for column in tables.columns]
    held = tables.holdout
    judge = _Judge(confidence)
    near = _Nearest(tables, rng)

    def of_records(attack: Callable[[Ints], int], guess: Callable[[Ints], int]) -> AttackResult:
        """An attack that is made on drawn records, and guesses about others."""

        def made(records: Ints, on: Callable[[Ints], int]) -> tuple[int, int]:
            drawn = rng.choice(len(records), min(attacks, len(records)), replace=False)
            return on(records[drawn]), len(drawn)

        main = made(tables.original, attack)
        control = None if held is None else made(held, attack)
        return judge.result(main, made(tables.original, guess), main, control)

    linkability = None
    if linkable is not None:
        first, second = ([names.index(name) for name in own] for own in linkable)
        linkability = of_records(
            lambda records: near.linked(records, first, second, neighbours),
            lambda records: near.linked_by_chance(len(records), neighbours),
        )
    inference = []
    for name in secrets:
        j = names.index(name)
        attack = of_records(
            lambda records, j=j: near.inferred(records, j),  # type: ignore[misc]
            lambda records, j=j: near.inferred_by_chance(records, j),  # type: ignore[misc]
        )
        inference.append(SecretInferred(name, attack))
    alone = _singled_out(tables, attacks, judge, rng)
    made = [alone.multivariate, linkability, *(own.attack for own in inference)]
    if alone.univariate is not None and alone.univariate.main.attacks == attacks:
        made.append(alone.univariate)
    highs = [own.risk_high for own in made if own is not None]
    known = [own for own in highs if own is not None]
    return SyntheticAttacks(
        confidence,
        None if held is None else int((times_there(held, tables.original) > 0).sum()),
        alone,
        linkability,
        tuple(inference),
        max(known) if known and len(known) == len(highs) else None,
    )


def _require_attackable(
    tables: ComparedTables, linkable: tuple[tuple[str, ...], tuple[str, ...]] | None, secrets: tuple[str, ...]
) -> None:
    names, faults = [column.name for column in tables.columns], []
    if len(names) < 2:
        message = "The tables have one column in common; attacks need at least two."
        faults.append(Fault("/synthetic", "too-few-columns", message, "Judge tables of several columns."))
    sides = [(joined("/linkable", i), side) for i, side in enumerate(linkable or ())]
    for pointer, chosen in [("/secrets", secrets), *sides]:
        for i, name in enumerate(chosen):
            if name not in names:
                message, remedy = f"{name!r} is not a column of the tables.", "Name a column that all have."
                own = Fault(joined(pointer, i), "unknown-attribute", message, remedy, tuple(names))
                faults.append(own)
    if linkable and (not all(linkable) or set(linkable[0]) & set(linkable[1])):
        message = "The two sets of linkable columns must have columns, none of them in both."
        remedy = "Give each set the columns that one other table has."
        faults.append(Fault("/linkable", "not-disjoint", message, remedy))
    if faults:
        raise InvalidInput(faults)


class _Judge:
    """Rates and risks with their intervals at a level."""

    def __init__(self, confidence: float) -> None:
        self.z = NormalDist().inv_cdf((1 + confidence) / 2)

    def rate(self, successes: int, attacks: int) -> AttackRate:
        """With Wilson's interval; of one attack at least."""
        share, squared = successes / attacks, self.z**2
        centre = (successes + squared / 2) / (attacks + squared)
        spread = self.z / (attacks + squared) * math.sqrt(attacks * share * (1 - share) + squared / 4)
        low = 0.0 if successes == 0 else centre - spread
        return AttackRate(
            attacks, successes, share, low, 1.0 if successes == attacks else min(1.0, centre + spread)
        )

    def result(
        self,
        main: tuple[int, int],
        baseline: tuple[int, int],
        compared: tuple[int, int],
        control: tuple[int, int] | None,
    ) -> AttackResult:
        """Of pairs of successes and attacks."""
        own, chance = self.rate(*main), self.rate(*baseline)
        better = self.excess(own, chance)
        succeeds = better is not None and better[1] > 0
        if control is None or not control[1] or not compared[1]:
            return AttackResult(own, chance, None, None, None, None, None, succeeds)
        beside, held = self.rate(*compared), self.rate(*control)
        risk, low, high = self.excess(beside, held) or (None, None, None)
        return AttackResult(own, chance, beside, held, risk, low, high, succeeds)

    def excess(self, main: AttackRate, other: AttackRate) -> tuple[float, float, float] | None:
        """(main − other) / (1 − other) and its interval; None if the other always succeeds.

        It is 1 − θ, θ the ratio of the shares of failures. The interval has all θ that the score test does
        not reject (Koopman (1984); Miettinen and Nurminen (1985) without their factor n / (n − 1)).
        """
        n, m = main.attacks, other.attacks
        x, y = n - main.successes, m - other.successes
        if y == 0:
            return None
        theta = (x / n) / (y / m)

        def rejected(ratio: float) -> bool:
            """Whether the score test rejects that the shares of failures have this ratio."""
            a, b = (n + m) * ratio, n * ratio + x + m + y * ratio
            q = (b - math.sqrt(max(0.0, b * b - 4 * a * (x + y)))) / (2 * a)
            p = ratio * q
            variance = p * (1 - p) / n + ratio**2 * q * (1 - q) / m
            return (x / n - ratio * y / m) ** 2 > self.z**2 * max(variance, 0.0)

        def end(outside: float) -> float:
            """The end of the interval between θ and what is outside, in θ / (1 + θ)."""
            inside = theta / (1 + theta)
            for _ in range(BISECTIONS):
                middle = (inside + outside) / 2
                if middle in (inside, outside):
                    break
                if rejected(middle / (1 - middle)):
                    outside = middle
                else:
                    inside = middle
            return inside / (1 - inside)

        return 1 - theta, 1 - end(1.0), 1 - (0.0 if x == 0 else end(0.0))


@dataclass(frozen=True, eq=False)
class _Predicates:
    """P conjunctions of c conditions: the keys of ``columns`` (P, c) are between ``lows`` and ``highs``."""

    columns: Longs
    lows: Longs
    highs: Longs

    def __len__(self) -> int:
        return len(self.columns)

    def chosen(self, which: Indices | slice) -> _Predicates:
        """Some of them."""
        return _Predicates(self.columns[which], self.lows[which], self.highs[which])


def _keys_of_codes(column: ComparedColumn) -> Ints:
    """(values,) the rank of each number, equal ones with one rank; other values are below 0, each its own."""
    keys = -1 - np.arange(len(column.values), dtype=np.int32)
    if column.numbers is not None:
        present = ~np.isnan(column.numbers)
        keys[present] = np.unique(column.numbers[present], return_inverse=True)[1]
    return keys


class _Asked:
    """Records (n, m) as keys, of which it is asked how many a predicate selects."""

    def __init__(self, columns: Sequence[Ints], records: Ints) -> None:
        self.keys = [own[records[:, j]] for j, own in enumerate(columns)]
        self.orders = [np.argsort(own, kind="stable") for own in self.keys]
        self.ascending = [own[order] for own, order in zip(self.keys, self.orders, strict=True)]

    def counts(self, predicates: _Predicates) -> Longs:
        """(P,) records selected: those of the narrowest condition are looked up, then the others asked."""
        begins, ends = np.zeros((2, *predicates.columns.shape), dtype=np.int64)
        for j, ascending in enumerate(self.ascending):
            own = predicates.columns == j
            begins[own] = np.searchsorted(ascending, predicates.lows[own])
            ends[own] = np.searchsorted(ascending, predicates.highs[own], side="right")
        found = np.zeros(len(predicates), dtype=np.int64)
        by_width = np.argsort(ends - begins, axis=1, kind="stable")
        for i, (first, *others) in enumerate(by_width.tolist()):
            rows = self.orders[predicates.columns[i, first]][begins[i, first] : ends[i, first]]
            for t in others:
                keys = self.keys[predicates.columns[i, t]][rows]
                rows = rows[(keys >= predicates.lows[i, t]) & (keys <= predicates.highs[i, t])]
            found[i] = len(rows)
        return found


def _singled_out(
    tables: ComparedTables, attacks: int, judge: _Judge, rng: np.random.Generator
) -> SinglingOutAttacks:
    """Both attacks; see :class:`AttackResult` for what is compared where fewer records were held out."""
    columns = [_keys_of_codes(column) for column in tables.columns]
    synthetic, original = _Asked(columns, tables.synthetic), _Asked(columns, tables.original)
    held = rest = None
    if tables.holdout is not None:
        n, h = len(tables.original), len(tables.holdout)
        records = tables.holdout[rng.choice(h, n, replace=False)] if h > n else tables.holdout
        held = _Asked(columns, records)
        rest = _Asked(columns, tables.original[rng.permutation(n)[: n - len(records)]])
    wanted = attacks if held is None else 2 * attacks

    def attacked(predicates: _Predicates, width: int) -> AttackResult | None:
        if not len(predicates):
            return None
        used = len(predicates) if held is None else (len(predicates) + 1) // 2
        own, others = predicates.chosen(slice(used)), predicates.chosen(slice(used, None))
        alone = original.counts(own) == 1
        chance = original.counts(_random_predicates(synthetic, used, width, rng)) == 1
        main, control = (int(alone.sum()), used), None
        compared = main
        if held is not None and rest is not None:
            kept = rest.counts(own) == 0
            compared = (int(alone[kept].sum()), int(kept.sum()))
            others = others.chosen(np.flatnonzero(rest.counts(others) == 0))
            control = (int((held.counts(others) == 1).sum()), len(others))
        return judge.result(main, (int(chance.sum()), used), compared, control)

    width = min(COLUMNS_OF_PREDICATE, len(columns))
    return SinglingOutAttacks(
        attacked(_univariate(synthetic, wanted, rng), 1),
        attacked(_multivariate(synthetic, wanted, width, rng), width),
    )


def _univariate(synthetic: _Asked, wanted: int, rng: np.random.Generator) -> _Predicates:
    """Conditions that select one synthetic record, all equally likely."""
    found = [np.zeros((0, 3), dtype=np.int64)]
    for j, ascending in enumerate(synthetic.ascending):
        keys, counts = np.unique(ascending, return_counts=True)
        single = keys[counts == 1].astype(np.int64)
        found.append(np.stack([np.full(len(single), j), single, single], axis=1))
        numbers, of_numbers = keys[keys >= 0], counts[keys >= 0]
        if len(numbers) and of_numbers[0] == 1:
            found.append(np.array([[j, 0, numbers[0]]], dtype=np.int64))
        if len(numbers) and of_numbers[-1] == 1:
            found.append(np.array([[j, numbers[-1], TOP]], dtype=np.int64))
    all_of_them = np.concatenate(found)
    drawn = all_of_them[rng.permutation(len(all_of_them))[:wanted]]
    return _Predicates(drawn[:, :1], drawn[:, 1:2], drawn[:, 2:])


def _multivariate(synthetic: _Asked, wanted: int, width: int, rng: np.random.Generator) -> _Predicates:
    """Different predicates made of drawn records and columns that select one synthetic record."""
    keys = np.stack(synthetic.keys, axis=1)
    screen = keys[rng.permutation(len(keys))[:SCREENED]].T.copy()
    medians = np.array([_median(own) for own in synthetic.ascending])
    found: dict[tuple[int, ...], None] = {}
    idle = 0
    for _ in range(-(-ATTEMPTS_PER_ATTACK * wanted // BATCH)):
        before = len(found)
        columns = _drawn_columns(BATCH, len(medians), width, rng)
        own = keys[rng.integers(len(keys), size=BATCH)[:, None], columns].astype(np.int64)
        is_above = own > medians[columns]
        lows = np.where((own < 0) | is_above, own, 0)
        highs = np.where((own >= 0) & is_above, TOP, own)
        tried = _Predicates(columns, lows, highs)
        tried = tried.chosen(np.flatnonzero(_selected(screen, tried) < 2))
        alone = tried.chosen(np.flatnonzero(synthetic.counts(tried) == 1))
        found.update(dict.fromkeys(map(tuple, np.hstack([alone.columns, alone.lows, alone.highs]).tolist())))
        idle = idle + 1 if len(found) == before else 0
        if len(found) >= wanted or idle == MOST_IDLE:
            break
    kept = np.array(list(found)[:wanted], dtype=np.int64).reshape(-1, 3 * width)
    return _Predicates(kept[:, :width], kept[:, width : 2 * width], kept[:, 2 * width :])


def _selected(keys: Ints, predicates: _Predicates) -> Longs:
    """(P,) records that predicates select of a few, given as keys (m, few)."""
    inside = np.ones((len(predicates), keys.shape[1]), dtype=bool)
    for columns, lows, highs in zip(predicates.columns.T, predicates.lows.T, predicates.highs.T, strict=True):
        own = keys[columns]
        inside &= own >= lows[:, None].astype(np.int32)
        inside &= own <= highs[:, None].astype(np.int32)
    found: Longs = np.count_nonzero(inside, axis=1).astype(np.int64)
    return found


def _median(ascending: Ints) -> int:
    """The lower median of the ranks of numbers; −1 where there are none."""
    numbers = ascending[np.searchsorted(ascending, 0) :]
    return int(numbers[(len(numbers) - 1) // 2]) if len(numbers) else -1


def _random_predicates(synthetic: _Asked, amount: int, width: int, rng: np.random.Generator) -> _Predicates:
    """Of drawn columns with any of their values: equal to it, of numbers also at least or at most it."""
    values = [np.unique(own) for own in synthetic.ascending]
    columns = _drawn_columns(amount, len(values), width, rng)
    sizes = np.array([len(own) for own in values])
    starts = np.cumsum(sizes) - sizes
    keys = np.concatenate(values).astype(np.int64)[starts[columns] + rng.integers(sizes[columns])]
    relation = np.where(keys < 0, 0, rng.integers(3, size=keys.shape))
    return _Predicates(columns, np.where(relation == 1, 0, keys), np.where(relation == 2, TOP, keys))


def _drawn_columns(amount: int, of: int, width: int, rng: np.random.Generator) -> Longs:
    """(amount, width) different columns per row, ascending."""
    return np.sort(np.argsort(rng.random((amount, of)), axis=1)[:, :width], axis=1).astype(np.int64)


class _Nearest:
    """Synthetic records by their distance from a record."""

    def __init__(self, tables: ComparedTables, rng: np.random.Generator) -> None:
        self.synthetic, self.columns, self.rng = tables.synthetic, tables.columns, rng
        self.units: dict[int, float] = {}
        """Distance of numbers that differ by one; infinite where the original has no range."""
        self.numbers: dict[int, tuple[Floats, Ints, Floats, Longs]] = {}
        """Of a column: all numbers; the synthetic codes, their numbers, and where each record's stands."""
        for j, column in enumerate(tables.columns):
            if column.numbers is not None:
                codes, places = np.unique(tables.synthetic[:, j], return_inverse=True)
                self.numbers[j] = (column.numbers, codes, column.numbers[codes], places)
                occurring = column.numbers[tables.original[:, j]]
                occurring = occurring[~np.isnan(occurring)]
                span = float(np.ptp(occurring)) if len(occurring) else 0.0
                self.units[j] = SCALE / span if span else math.inf

    def nearest(self, record: Ints, columns: Sequence[int], k: int) -> Longs:
        """(k,) synthetic records, those at the greatest distance drawn from all that are as far.

        Values that are no numbers are compared first: where more of them differ than the whole distance of
        k records comes to, no number needs to be looked at.
        """
        k = min(k, len(self.synthetic))
        unequal = np.zeros(len(self.synthetic), dtype=np.min_scalar_type(len(columns)))
        numeric = []
        for j in columns:
            if j in self.numbers:
                numeric.append((self.numbers[j][-1], self._apart(record, j)))
            else:
                unequal += (self.synthetic[:, j] != record[j]).view(np.uint8)
        most = _kth_least(unequal, k)
        while True:
            near = np.flatnonzero(unequal <= most)
            distances = np.multiply(unequal.take(near), int(SCALE), dtype=np.int64)
            for places, apart in numeric:
                distances += apart.take(places.take(near))
            farthest = _kth_least(distances, k)
            if farthest < (most + 1) * SCALE:
                break
            most = farthest // int(SCALE)
        nearer, equal = near[distances < farthest], near[distances == farthest]
        found: Longs = np.concatenate([nearer, self.rng.choice(equal, k - len(nearer), replace=False)])
        return found

    def _apart(self, record: Ints, j: int) -> Longs:
        """By how much the synthetic numbers of a column differ from a record's, in 1 / SCALE."""
        (numbers, codes, found, _), unit = self.numbers[j], self.units[j]
        number = numbers[record[j]]
        if math.isnan(number):
            apart = (codes != record[j]) * SCALE
        elif math.isinf(unit):
            apart = (found != number) * SCALE
        else:
            # Where there is no number the difference is none, and the distance 1.
            apart = np.fmin(np.abs(found - number) * unit, SCALE)
        distances: Longs = np.rint(apart).astype(np.int64)
        return distances

    def linked(self, records: Ints, first: Sequence[int], second: Sequence[int], k: int) -> int:
        """For how many records both sets of columns have one of their k nearest in common."""
        return sum(
            bool(np.intersect1d(self.nearest(own, first, k), self.nearest(own, second, k)).size)
            for own in records
        )

    def linked_by_chance(self, amount: int, k: int) -> int:
        """For how many two drawn sets of k synthetic records have one in common."""
        k, s = min(k, len(self.synthetic)), len(self.synthetic)
        return int((self.rng.hypergeometric(k, s - k, k, size=amount) > 0).sum())

    def inferred(self, records: Ints, secret: int) -> int:
        """For how many records the nearest one by the other columns tells the secret."""
        others = [j for j in range(len(self.columns)) if j != secret]
        nearest = np.array([self.nearest(own, others, 1)[0] for own in records])
        return self._right(self.synthetic[nearest, secret], records[:, secret], secret)

    def inferred_by_chance(self, records: Ints, secret: int) -> int:
        """For how many a drawn synthetic record tells it."""
        drawn = self.rng.integers(len(self.synthetic), size=len(records))
        return self._right(self.synthetic[drawn, secret], records[:, secret], secret)

    def _right(self, guessed: Ints, true: Ints, secret: int) -> int:
        numbers, right = self.columns[secret].numbers, guessed == true
        if numbers is not None:
            # Where one of them is no number the comparison is false.
            right |= np.abs(numbers[guessed] - numbers[true]) <= TOLERANCE * np.abs(numbers[true])
        return int(right.sum())


def _kth_least(values: Integers, k: int) -> int:
    return int(values.min() if k == 1 else np.partition(values, k - 1)[k - 1])
