"""Classes of tables in which a person may have several records, counted by loops over persons."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.tables.table import Table
from tests.oracles import closeness_by_hand as closeness
from tests.oracles import diversity_by_hand as diversity

TREES = (
    Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]),
    Hierarchy.from_rows([("0", "low", "*"), ("1", "low", "*"), ("2", "high", "*"), ("3", "high", "*")]),
)
"""Two quasi-identifiers: their rules are a lattice of 3 × 3."""
VALUES = Hierarchy.from_parents({"g": [None], "u": ["g"], "v": ["g"], "w": [None]})
"""Sensitive values, two of which are much the same."""
ALIKE = frozenset({VALUES.node_of("u"), VALUES.node_of("v")})
LEVELS = tuple(itertools.product(range(3), range(3)))


@st.composite
def tables_of_persons(draw, most_records=3):
    """At most 6 persons with at most ``most_records`` records each, in any order of the rows."""
    persons = draw(st.integers(1, 6))
    rows = []
    for person in range(persons):
        for _ in range(draw(st.integers(1, most_records))):
            leaves = [int(draw(st.sampled_from(tree.leaves.tolist()))) for tree in TREES]
            rows.append((person, *leaves, int(draw(st.sampled_from(VALUES.leaves.tolist())))))
    return table_of(draw(st.permutations(rows)))


def table_of(rows):
    """The table of (person, first, second, value)."""
    numbers = {person: i for i, person in enumerate(dict.fromkeys(row[0] for row in rows))}
    return Table(
        ("q0", "q1", "s"),
        (*TREES, VALUES),
        np.array([row[1:] for row in rows], dtype=np.int32),
        sensitive=frozenset({"s"}),
        persons=np.array([numbers[row[0]] for row in rows], dtype=np.int32),
    )


def classes_of(table, levels):
    """What a class shows: the rows of the table in it."""
    found = defaultdict(list)
    for row, codes in enumerate(table.codes.tolist()):
        shown = tuple(
            int(tree.ancestors_at(level)[code])
            for tree, level, code in zip(TREES, levels, codes, strict=False)
        )
        found[shown].append(row)
    return dict(found)


class ClassByHand:
    """A class as {person: [values]}."""

    def __init__(self, table, rows):
        self.records = len(rows)
        self.values = defaultdict(list)
        for row in rows:
            self.values[int(table.persons[row])].append(int(table.codes[row, 2]))

    @property
    def persons(self):
        return len(self.values)

    @property
    def largest_share(self):
        return Fraction(max(map(len, self.values.values())), self.records)

    @property
    def expected(self):
        return sum(Fraction(len(own) ** 2, self.records) for own in self.values.values())

    def share(self, value):
        """q: persons with the value at least once, of the persons of the class."""
        return Fraction(sum(value in own for own in self.values.values()), self.persons)

    @property
    def shares(self):
        return {value: self.share(value) for own in self.values.values() for value in own}

    @property
    def distinct(self):
        if any(share == 1 for share in self.shares.values()):
            return 1
        return min(len(self.shares), self.persons)

    @property
    def weights(self):
        """w: how values are distributed where each person weighs one, divided among own records here."""
        found = defaultdict(Fraction)
        for own in self.values.values():
            for value in own:
                found[value] += Fraction(1, len(own) * self.persons)
        return dict(found)

    @property
    def numbers(self):
        """The same in whole numbers."""
        divisor = math.lcm(*(weight.denominator for weight in self.weights.values()))
        return {value: int(weight * divisor) for value, weight in self.weights.items()}


def whole_of(table):
    """All records as one class: its shares and weights are those that others are compared with."""
    return ClassByHand(table, range(table.n_records))


def gains_of(found, whole):
    return {value: share / whole.shares[value] - 1 for value, share in found.shares.items()}


def distance_of(found, whole, kind):
    """How far the weights of a class are from those of the whole table."""
    order = sorted(whole.numbers)
    totals, counts = ([own.numbers.get(value, 0) for value in order] for own in (whole, found))
    if kind == "hierarchical":
        groups = [
            [i for i, value in enumerate(order) if (value in ALIKE) == alike] for alike in (True, False)
        ]
        nested = (tuple(groups[0]), *groups[1]) if groups[0] else tuple(groups[1])
        # A tree of fewer values is as high: the distance is told as a share of the height of 2.
        return closeness.hierarchical(totals, counts, nested) * (2 if groups[0] else 1) / 2
    if kind == "kl":
        return closeness.kl(closeness.shares(totals), closeness.shares(counts))
    return {"equal": closeness.equal, "ordered": closeness.ordered, "js": closeness.js}[kind](totals, counts)


def fails(criterion, found, whole):
    """Whether a class fails a criterion of single classes."""
    match criterion.kind:
        case "k_anonymity":
            return found.persons < criterion.k
        case "highest_risk":
            return found.largest_share > Fraction(str(criterion.threshold)) + Fraction(1, 10**9)
        case "distinct_l_diversity":
            return found.distinct < criterion.l
        case "alpha_k_anonymity":
            greatest = max(found.shares.values())
            return greatest > Fraction(str(criterion.alpha)) or found.persons < criterion.k
        case "beta_likeness":
            for value, gain in gains_of(found, whole).items():
                most = Fraction(str(criterion.beta))
                if criterion.bound == "enhanced":
                    cap = -math.log(whole.shares[value])
                    if cap < most:
                        if gain > cap + 1e-9:
                            return True
                        continue
                if gain > most:
                    return True
            return False
        case "delta_disclosure":
            shares = found.shares
            if set(shares) != set(whole.shares):
                return True
            ratios = [abs(math.log(q / whole.shares[value])) for value, q in shares.items()]
            return any(ratio >= criterion.delta for ratio in ratios)
        case "entropy_l_diversity":
            return not diversity.entropy_at_least(found.numbers, criterion.l)
        case "recursive_l_diversity":
            least = diversity.least_c(found.numbers, criterion.l)
            return least is None or least >= Fraction(str(criterion.c))
        case "t_closeness":
            # Divergences are compared to 1e-9 of a bit.
            slack = Fraction(1, 10**9) if criterion.distance in ("kl", "js") else 0
            return distance_of(found, whole, criterion.distance) > Fraction(str(criterion.t)) + slack
    raise AssertionError(criterion.kind)


def mean_risk(classes):
    """The prosecutor's mean risk over the records of some classes; None of none."""
    records = sum(own.records for own in classes)
    return sum(own.expected for own in classes) / records if records else None


def loss_by_hand(table, levels, gone):
    """Precision: mean over cells of level / height, suppressed cells counting 1."""
    kept = table.n_records - len(gone)
    shown = sum(Fraction(level, tree.height) for level, tree in zip(levels, TREES, strict=True)) / len(TREES)
    return (kept * shown + len(gone)) / table.n_records


def best_by_hand(table, criteria, allowed):
    """Least loss of a rule of the lattice and a set of suppressed classes that pass all; None: none does."""
    whole, least = whole_of(table), None
    for levels in LEVELS:
        classes = {shown: ClassByHand(table, rows) for shown, rows in classes_of(table, levels).items()}
        rows = classes_of(table, levels)
        for n in range(len(classes) + 1):
            for chosen in itertools.combinations(classes, n):
                gone = [row for shown in chosen for row in rows[shown]]
                kept = [own for shown, own in classes.items() if shown not in chosen]
                nothing = (0, 0)
                if len(gone) > allowed or (gone and nothing in classes and nothing not in chosen):
                    continue
                if all(passes(criterion, kept, whole) for criterion in criteria):
                    loss = loss_by_hand(table, levels, gone)
                    least = loss if least is None else min(least, loss)
    return least


def passes(criterion, kept, whole):
    if criterion.kind == "average_risk":
        risk = mean_risk(kept)
        return risk is None or risk <= Fraction(str(criterion.threshold)) + Fraction(1, 10**9)
    if criterion.kind == "sample_uniqueness":
        unique = sum(own.records for own in kept if own.persons == 1)
        records = sum(own.records for own in kept)
        return not records or Fraction(unique, records) <= Fraction(str(criterion.threshold))
    return not any(fails(criterion, own, whole) for own in kept)
