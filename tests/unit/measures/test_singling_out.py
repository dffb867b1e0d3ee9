"""What singles people out, against loops over persons, sets of columns and orders of adding them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.analyses.singling_out import MOST_EXACT, SINGLING_OUT, SinglingOutParameters
from app.domain.hierarchies.hierarchy import TOP
from app.domain.rules.rule import CellRule
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.unit.measures import diversity_tables as tables

NAMES = ("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
TREE = tables.flat("xyz")
CELL = {None: TOP, **{value: TREE.node_of(value) for value in "xyz"}}


def table_of(rows, persons=None):
    """Rows of x, y, z and None, which is missing."""
    codes = np.array([[CELL[cell] for cell in row] for row in rows], dtype=np.int32)
    numbers = None if persons is None else np.array(persons, dtype=np.int32)
    names = NAMES[: len(rows[0])]
    return Table(names, (TREE,) * len(names), codes, persons=numbers)


def measured(rows, persons=None, rule=None, **parameters):
    return tables.measured(SINGLING_OUT, table_of(rows, persons), rule, **parameters)


class ByHand:
    """Who is alone on which columns, by comparing every two rows."""

    def __init__(self, rows, persons, missing, suppressed=()):
        out = {row for row in range(len(rows)) if missing == "excluded" and None in rows[row]}
        self.judged = [row for row in range(len(rows)) if row not in out and row not in suppressed]
        self.rows, self.persons, self.missing = rows, persons or range(len(rows)), missing
        self.width = len(rows[0])
        self.everybody = {self.persons[row] for row in self.judged}
        self._alone = {}

    def alone(self, columns):
        """Persons with a combination that matches no row of another person."""
        key = frozenset(columns)
        if key not in self._alone:
            self._alone[key] = {
                self.persons[row]
                for row in self.judged
                if key
                and not any(
                    self.persons[row] != self.persons[other]
                    and all(self._match(self.rows[row][j], self.rows[other][j]) for j in key)
                    for other in self.judged
                )
            }
        return self._alone[key]

    def _match(self, one, other):
        return one == other or (self.missing == "matches_everything" and None in (one, other))

    def smallest(self, largest):
        """(columns, persons alone on these and on no subset, persons alone on these) in the order told."""
        found = []
        for size in range(1, largest + 1):
            for columns in itertools.combinations(range(self.width), size):
                below = set()
                for fewer in itertools.combinations(columns, size - 1):
                    below |= self.alone(fewer)
                new = self.alone(columns) - below
                if new:
                    named = tuple(NAMES[j] for j in columns)
                    found.append((size, -len(new), columns, named, len(self.alone(columns))))
        return [(named, -new, alone) for _, new, _, named, alone in sorted(found)]

    def additions(self):
        """By column the mean addition over all orders of adding columns."""
        sums = [0] * self.width
        for order in itertools.permutations(range(self.width)):
            for place, column in enumerate(order):
                sums[column] += len(self.alone(order[: place + 1])) - len(self.alone(order[:place]))
        return [Fraction(own, math.factorial(self.width)) for own in sums]


@st.composite
def people(draw, with_persons):
    width = draw(st.integers(1, 4))
    cell = st.sampled_from(["x", "x", "y", "z", None])
    rows = draw(st.lists(st.tuples(*[cell] * width), min_size=1, max_size=9))
    persons = draw(st.lists(st.integers(0, 4), min_size=len(rows), max_size=len(rows)))
    numbers = {person: place for place, person in enumerate(dict.fromkeys(persons))}
    return rows, [numbers[own] for own in persons] if with_persons else None


def assert_as_by_hand(found, by_hand, largest):
    assert found.persons == len(by_hand.everybody)
    assert found.singled_out == len(by_hand.alone(range(by_hand.width)))
    smallest = by_hand.smallest(largest)
    told = [(own.columns, own.persons, own.persons_in_all) for own in found.smallest_sets]
    assert (told, found.sets_found) == (smallest[:20], len(smallest))
    additions = dict(zip(NAMES, by_hand.additions(), strict=False))
    for own in found.columns:
        added = additions[own.column]
        assert math.isclose(own.share, added / max(1, found.persons), abs_tol=1e-12)
        assert math.isclose(own.part, added / max(1, found.singled_out), abs_tol=1e-12)
        assert own.standard_error is None
    assert [own.share for own in found.columns] == sorted((own.share for own in found.columns), reverse=True)
    whole = sum(own.share for own in found.columns)
    assert math.isclose(whole, found.singled_out / max(1, found.persons), abs_tol=1e-12)


@settings(max_examples=examples(120), deadline=None)
@given(
    people(with_persons=False), st.sampled_from(["own_category", "matches_everything", "excluded"]),
    st.integers(1, 4),
)  # fmt: skip
def test_sets_and_shares_of_records_are_those_of_all_subsets_and_orders(asked, missing, largest):
    rows, _ = asked
    found = measured(rows, missing=missing, max_size=largest)
    assert_as_by_hand(found, ByHand(rows, None, missing), min(largest, len(rows[0])))


@settings(max_examples=examples(120), deadline=None)
@given(people(with_persons=True), st.sampled_from(["own_category", "excluded"]))
def test_persons_with_several_rows_are_counted_once(asked, missing):
    rows, persons = asked
    assert_as_by_hand(
        measured(rows, persons, missing=missing), ByHand(rows, persons, missing), min(3, len(rows[0]))
    )


def test_the_example_of_the_documentation():
    found = measured([("x", "x", "x"), ("x", "y", "x"), ("y", "x", "x"), ("z", "z", "x"), ("x", "x", "x")])
    assert (found.persons, found.singled_out) == (5, 3)
    assert [(own.columns, own.persons, own.persons_in_all) for own in found.smallest_sets] == [
        (("a",), 2, 2), (("b",), 2, 2),
    ]  # fmt: skip
    parts = {own.column: own.part for own in found.columns}
    assert parts == {"a": 0.5, "b": 0.5, "c": 0.0}


def test_suppressed_records_hide_nobody_and_are_nobody():
    rows = [("x", "x"), ("x", "y"), ("y", "x")]
    table = table_of(rows)
    shown = table.codes.copy()
    shown[0] = TOP
    found = tables.measured(SINGLING_OUT, table, CellRule(shown))
    assert_as_by_hand(found, ByHand(rows, None, "own_category", suppressed={0}), 2)
    assert found.judged.records_suppressed == 1


def test_where_nobody_is_judged_nobody_is_singled_out():
    found = measured([("x", None), (None, "y")], missing="excluded")
    assert (found.persons, found.singled_out, found.smallest_sets) == (0, 0, ())
    assert [own.share for own in found.columns] == [0.0, 0.0]


def wide_rows(width, n=9):
    """Each of the first four columns tells one row, the last two together all of nine, the others nothing."""
    return [
        (*("y" if row == j < 4 else "x" for j in range(width - 2)), "xyz"[row // 3 % 3], "xyz"[row % 3])
        for row in range(n)
    ]


def test_drawn_orders_are_near_the_exact_shares_and_say_how_near():
    """By Hoeffding's inequality a mean of 400 gains in [0, 1] is off by 0.145 with a probability of 10⁻⁷.

    Of all nine columns together that is 9·10⁻⁷; what is drawn is of a fixed seed besides.
    """
    width, orders = MOST_EXACT + 1, 400
    rows = wide_rows(width)
    found, by_hand = measured(rows, orders=orders), ByHand(rows, None, "own_category")
    n = len(rows)
    values = [len(by_hand.alone(j for j in range(width) if mask >> j & 1)) / n for mask in range(2**width)]
    off = math.sqrt(math.log(2 / 1e-7) / (2 * orders))
    for own in found.columns:
        bit = 1 << NAMES.index(own.column)
        exact = sum(
            (values[mask | bit] - values[mask]) / (width * math.comb(width - 1, mask.bit_count()))
            for mask in range(2**width)
            if not mask & bit
        )
        assert abs(own.share - exact) < off
        assert own.standard_error is not None
        assert own.standard_error <= 0.5 / math.sqrt(orders - 1)
    assert math.isclose(sum(own.share for own in found.columns), found.singled_out / n)
    assert found.orders == orders
    assert found.columns[0].share - found.columns[-1].share > off  # so that a swap would be seen
    smallest = by_hand.smallest(3)
    assert [(own.columns, own.persons, own.persons_in_all) for own in found.smallest_sets] == smallest[:20]


def test_a_column_that_tells_nothing_gets_nothing_and_columns_that_tell_the_same_get_the_same():
    rows = [(row[-2], row[-1], row[-2], "x") for row in wide_rows(4)]
    parts = {own.column: own.part for own in measured(rows).columns}
    assert (parts["a"], parts["d"]) == (parts["c"], 0.0)
    assert math.isclose(parts["a"], 1 / 6)
    assert math.isclose(parts["b"], 2 / 3)
    drawn = {own.column: own for own in measured(wide_rows(MOST_EXACT + 2), orders=2).columns}
    assert (drawn["e"].share, drawn["e"].standard_error) == (0.0, 0.0)


def test_many_columns_are_looked_at_in_smaller_sets():
    parameters = SinglingOutParameters(orders=2)
    names = tuple(f"c{place}" for place in range(70))
    rows = np.full((3, 70), CELL["x"], dtype=np.int32)
    rows[0, 5] = CELL["y"]
    context = tables.context_of(Table(names, (TREE,) * 70, rows))
    found = SINGLING_OUT.compute(context, parameters, lambda _: None)
    assert found.largest_set == 1
    assert [own.columns for own in found.smallest_sets] == [("c5",)]
    assert (found.columns[0].column, found.columns[0].part) == ("c5", 1.0)


@pytest.mark.parametrize("width", [3, MOST_EXACT, MOST_EXACT + 1])
def test_memory_and_time_are_estimated_before(width):
    context = tables.context_of(table_of(wide_rows(width, n=200)))
    cost = SINGLING_OUT.cost(context, SinglingOutParameters())
    assert 0 < cost.seconds < 1
    assert 0 < cost.bytes < 1 << 20
