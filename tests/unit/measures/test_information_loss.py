"""Information loss as a measure: worked examples, suppressed records and missing values."""

from __future__ import annotations

import csv
import itertools
import math
import os
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from app.domain.analyses.information_loss import INFORMATION_LOSS, InformationLossParameters
from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice
from app.domain.losses.released import ReleaseDivergence
from app.domain.models.class_suppression import suppress_classes
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import CellRule, TableRule, record_rule
from app.domain.tables.table import Table

DATA = os.environ.get("PRIVACY_RISK_DATA")


def measured(table, rule=None, **parameters):
    context = MeasureContext(
        table, rule, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero"
    )
    asked = InformationLossParameters(**parameters)
    assert INFORMATION_LOSS.supports(context, asked) is None
    assert INFORMATION_LOSS.cost(context, asked).seconds > 0
    ticks = []
    result = INFORMATION_LOSS.compute(context, asked, ticks.append)
    assert ticks == [1]
    return result


def table_of(rows, trees, names, sensitive=()):
    columns = [
        tree.encode(list(column))[0] for tree, column in zip(trees, zip(*rows, strict=True), strict=True)
    ]
    return Table(tuple(names), tuple(trees), np.stack(columns, axis=1), sensitive=frozenset(sensitive))


def intervals(first, last, ranges):
    """Whole numbers with some ranges between leaves and top, each below the narrowest that hold it."""

    def parents(low, high):
        wider = [r for r in ranges if r[0] <= low and high <= r[1] and r != (low, high)]
        narrowest = [r for r in wider if not any(r != s and r[0] <= s[0] and s[1] <= r[1] for s in wider)]
        return [f"{a}..{b}" for a, b in narrowest] or [None]

    nodes = {f"{a}..{b}": parents(a, b) for a, b in ranges}
    return Hierarchy.from_parents(nodes | {str(i): parents(i, i) for i in range(first, last + 1)})


MARITAL = Hierarchy.from_parents(
    {"m1": [None], "m2": [None], "civ": ["m1"], "af": ["m1"]}
    | {name: ["m2"] for name in ("div", "sep", "wid", "never")}
)
SEX = Hierarchy.from_parents({"m": [None], "f": [None]})
PEOPLE = [
    ("20", "m", "4", "civ"),
    ("30", "m", "10", "af"),
    ("45", "f", "10", "civ"),
    ("60", "f", "16", "never"),
    ("60", "f", "16", "wid"),
]
NAMES = ("age", "gender", "education", "marital")


def released(rows, boxes):
    """Rows whose cells are shown as labels of nodes, and the ranges that the trees need."""
    ages = intervals(17, 95, {tuple(map(int, b[0].split(".."))) for b in boxes if ".." in b[0]})
    schooling = intervals(0, 16, {tuple(map(int, b[2].split(".."))) for b in boxes if ".." in b[2]})
    table = table_of(rows, (ages, SEX, schooling, MARITAL), NAMES)
    shown = [
        [0 if cell == "*" else h.labels.index(cell) for cell, h in zip(box, table.hierarchies, strict=True)]
        for box in boxes
    ]
    return table, CellRule(np.asfortranarray(np.array(shown, dtype=np.int32)))


FIRST, SECOND = ("20..30", "m", "4..10", "m1"), ("45..60", "f", "10..16", "*")
WEIGHTS = {"age": 0.5, "gender": 0.25, "education": 0.125, "marital": 0.125}


@pytest.mark.spec("BL-T7")
@pytest.mark.parametrize(
    ("rows", "boxes", "weights", "expected"),
    [
        (PEOPLE[:2], [FIRST] * 2, {}, Fraction(87, 416)),
        (PEOPLE[2:], [SECOND] * 3, {}, Fraction(163, 416)),
        (PEOPLE[3:], [("60", "f", "16", "m2")] * 2, {}, Fraction(1, 6)),
        (PEOPLE[:1], [PEOPLE[0]], {}, Fraction(0)),
        (PEOPLE, [("20..60", "*", "4..16", "*")] * 5, {}, Fraction(509, 624)),
        (PEOPLE, [FIRST] * 2 + [SECOND] * 3, {}, Fraction(51, 160)),
        (PEOPLE, [FIRST] * 2 + [SECOND] * 3, WEIGHTS, Fraction(71, 320)),
    ],
)
def test_average_information_loss_of_the_worked_example(rows, boxes, weights, expected):
    table, rule = released(rows, boxes)
    found = measured(table, rule, numeric=("age", "education"), weights=weights)
    assert found.ail == pytest.approx(float(expected), abs=1e-15)
    assert found.ail_of_classes == pytest.approx(float(expected), abs=1e-15)


ROWS = [("a", "x"), ("a", "y"), ("b", "x"), ("c", "x"), ("c", "x"), ("c", "y")]
TREE = Hierarchy.from_parents(
    {"ab": [None], "cd": [None], "a": ["ab"], "b": ["ab"], "c": ["cd"], "d": ["cd"]}
)
PAIR = Hierarchy.from_parents({"x": [None], "y": [None]})
TABLE = table_of(ROWS, (TREE, PAIR), ("place", "ill"), ["ill"])


def test_the_table_as_it_is_loses_nothing():
    found = measured(TABLE)
    assert (found.geometric, found.arithmetic, found.precision_loss, found.ail) == (0.0, 0.0, 0.0, 0.0)
    assert (found.ail_of_classes, found.non_uniform_entropy, found.kl_divergence) == (0.0, 0.0, 0.0)
    assert (found.ambiguity, found.generalisation_height) == (6.0, 0)
    assert (found.discernibility, found.average_class_size) == (4 + 1 + 9, 2.0)
    assert found.judged.quasi_identifiers == ("place",)


def test_one_level_up_by_hand():
    found = measured(TABLE, TableRule((1, 0)))
    assert found.geometric == pytest.approx((12 - 6) / 18)
    assert found.geometric_active == pytest.approx((9 - 6) / 12)
    assert found.precision_loss == pytest.approx(0.5)
    assert found.ail == pytest.approx(0.5)
    # c alone is left in its class: its lowest node is itself.
    assert found.ail_of_classes == pytest.approx(3 / 6 * 2 / 4)
    assert found.non_uniform_entropy == pytest.approx(2 * math.log2(3 / 2) + math.log2(3))
    assert (found.ambiguity, found.generalisation_height, found.discernibility) == (12.0, 1, 18)
    assert measured(TABLE, TableRule((1, 0)), leaf_domain="active").ambiguity == 9.0


def suppressing():
    rule, suppressed = suppress_classes(TABLE, TableRule((0, 0)), 2)
    assert suppressed.sum() == 6 - 2
    return rule


@pytest.mark.spec("FM-2")
def test_suppressed_records_count_as_fully_generalised():
    """Of the classes (a,x), (a,y), (b,x), (c,x)², (c,y) only one has two records."""
    found = measured(TABLE, suppressing())
    assert found.judged.records_suppressed == 4
    assert found.judged.records_judged == 2
    assert found.geometric == pytest.approx((4 * 4 + 2 - 6) / 18)
    assert found.precision_loss == pytest.approx(4 / 6)
    assert found.ail == found.ail_of_classes == pytest.approx(4 / 6)
    assert found.non_uniform_entropy == pytest.approx(2 * math.log2(3) + math.log2(6) + math.log2(2))
    assert found.ambiguity == 4 * 4 + 2
    assert found.discernibility == 4 + 6 * 4
    assert (found.average_class_size, found.mean_class_size) == (3.0, 2.0)
    assert found.generalisation_height == 0
    assert found.kl_dropped == math.inf
    own = measured(TABLE, suppressing(), suppressed="own_block")
    assert (own.discernibility, own.average_class_size, own.mean_class_size) == (4 + 16, 3.0, 3.0)
    assert own.kl_divergence == found.kl_divergence


@pytest.mark.spec("LD-E26", "LD-S1")
def test_suppressed_records_are_spread_over_everything():
    """(a|b|c) evenly for the suppressed, by sensitive value; c as it is for the two that are kept."""
    shown = {
        ("a", "x"): 2 / 3,
        ("a", "y"): 2 / 3,
        ("b", "x"): 2 / 3,
        ("c", "x"): 2 + 2 / 3,
        ("c", "y"): 2 / 3,
    }
    expected = sum(ROWS.count(x) / 6 * math.log(ROWS.count(x) / mass) for x, mass in shown.items())
    assert measured(TABLE, suppressing()).kl_divergence == pytest.approx(expected, abs=1e-15)


def test_releases_that_treat_records_differently_are_reconstructed_from_all_their_boxes():
    steps = np.array([[0, 0], [1, 0], [2, 0], [1, 0], [0, 0], [2, 0]], dtype=np.int16)
    found = measured(TABLE, record_rule(TABLE, steps))
    inside = {0: lambda a, b: a == b, 1: lambda a, b: (a in "ab") == (b in "ab"), 2: lambda a, b: True}
    active = {"ab": 2, "c": 1}
    total = 0.0
    for place, ill in ROWS:
        mass = 0.0
        for (other, own), step in zip(ROWS, steps[:, 0], strict=True):
            if own == ill and inside[step](place, other):
                mass += 1 / (1 if step == 0 else 3 if step == 2 else active["ab" if other in "ab" else "c"])
        total += math.log(ROWS.count((place, ill)) / mass) / 6
    assert found.kl_divergence == pytest.approx(total, abs=1e-14)
    # Of the two that show ⊥ their only quasi-identifier is suppressed: they count as suppressed.
    assert found.judged.records_suppressed == 2
    assert found.generalisation_height == 1


def test_both_ways_to_reconstruct_agree_where_all_records_are_treated_alike():
    for level in range(3):
        rule = TableRule((level, 0))
        slow = ReleaseDivergence(Release(TABLE, rule), (0,), (1,), "declared").divergences()
        fast = measured(TABLE, rule, leaf_domain="declared")
        assert slow.spread == pytest.approx(fast.kl_divergence, abs=1e-15)
        assert slow.dropped == pytest.approx(fast.kl_dropped, abs=1e-15)
    assert fast.kl_divergence == fast.kl_withheld


@pytest.mark.spec("LD-14")
def test_missing_values_are_a_category_or_reason_to_leave_out_and_never_silent():
    table = table_of([*ROWS, (None, "x"), (None, "y")], (TREE, PAIR), ("place", "ill"), ["ill"])
    own = measured(table)
    assert (own.discernibility, own.kl_divergence) == (4 + 1 + 9 + 4, 0.0)
    assert own.geometric == pytest.approx((2 * 4 + 6 - 8) / (8 * 3)), "a missing cell has share 1"
    assert (own.precision_loss, own.non_uniform_entropy) == (0.0, 0.0)
    left_out = measured(table, missing="excluded")
    assert left_out.judged.records_missing == 2
    assert (left_out.discernibility, left_out.kl_divergence) == (14, 0.0)
    top = TableRule((2, 0))
    assert measured(table, top, missing="excluded").kl_divergence == pytest.approx(
        measured(TABLE, top).kl_divergence
    )


def test_a_measure_of_table_rules_is_the_loss_that_searches_minimise():
    for levels in itertools.product(range(3), range(2)):
        rule = TableRule((*levels,))
        table = Table(TABLE.attributes, TABLE.hierarchies, TABLE.codes)
        found = measured(table, rule)
        for kind, value in (
            ("geometric", found.geometric),
            ("arithmetic", found.arithmetic),
            ("precision", found.precision_loss),
            ("ail", found.ail),
            ("non_uniform_entropy", found.non_uniform_entropy),
            ("height", found.generalisation_height),
        ):
            assert loss_of(table, LossChoice(kind)).of(levels) == pytest.approx(value, abs=1e-12)


def test_weights_and_numbers_must_be_those_of_quasi_identifiers():
    for parameters, pointer in (
        ({"weights": {"ill": 1.0}}, "/measure/weights"),
        ({"weights": {"place": 0.5}}, "/measure/weights"),
        ({"numeric": ("ill",)}, "/measure/numeric"),
        ({"numeric": ("place",)}, "/measure/numeric"),
    ):
        with pytest.raises(InvalidInput) as raised:
            measured(TABLE, **parameters)
        assert raised.value.faults[0].pointer == pointer


def test_a_release_without_kept_records_is_measured_all_the_same():
    rule, _ = suppress_classes(TABLE, TableRule((0, 0)), 7)
    found = measured(TABLE, rule)
    assert (found.geometric, found.precision_loss, found.discernibility) == (1.0, 1.0, 36)
    assert (found.average_class_size, found.mean_class_size) == (6.0, None)
    assert found.kl_divergence == pytest.approx(found.kl_withheld)
    assert found.kl_dropped == math.inf


def test_an_attribute_without_any_value_has_nothing_to_lose_among_the_values_that_occur():
    table = table_of([(None, "x"), (None, "y")], (TREE, PAIR), ("place", "ill"), ["ill"])
    found = measured(table)
    assert (found.geometric, found.geometric_active) == (1.0, 0.0)
    assert (found.ail, found.ambiguity, found.non_uniform_entropy) == (1.0, 8.0, 0.0)


@pytest.mark.real_data
@pytest.mark.spec("FM-2")
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
def test_the_published_loss_of_adult_with_suppressed_records():
    """5-anonymity with 4 % suppression over all nine attributes (field models 6)."""

    def read(name):
        with Path(DATA or "", "arx-adult", name).open(encoding="utf-8") as lines:
            return list(csv.reader(lines, delimiter=";"))

    header, *rows = read("adult.csv")
    trees = [Hierarchy.from_rows(read(f"adult_hierarchy_{name}.csv")) for name in header]
    table = table_of(rows, trees, header)
    levels = TableRule((0, 3, 0, 1, 1, 1, 1, 2, 0))
    rule, suppressed = suppress_classes(table, levels, 5)
    found = measured(table, rule)
    assert suppressed.sum() == found.judged.records_suppressed == 1178
    assert found.geometric == pytest.approx(0.26611081915757495, abs=1e-9)
    assert found.generalisation_height == sum(levels.levels)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_a_sensitive_attribute_that_is_known_is_a_quasi_identifier_only(level):
    """Its values are spread over what they may stand for, in the baseline too, and not told besides."""
    tree = Hierarchy.from_parents({"1": ["12"], "2": ["12"], "3": [None], "12": [None]})
    letters = Hierarchy.from_parents({"x": [None], "y": [None]})
    rows = [("x", "1"), ("x", "1"), ("y", "2"), ("y", "3")]
    table = table_of(rows, (letters, tree), ("q", "s"), {"s"})
    known = ("q", "s")
    found = measured(table, TableRule((0, level)), quasi_identifiers=known)
    plain = measured(table_of(rows, (letters, tree), known), TableRule((0, level)))
    assert found.kl_divergence == plain.kl_divergence
    assert found.kl_withheld == plain.kl_withheld == pytest.approx(0.5 * math.log(3) + 0.5 * math.log(1.5))
