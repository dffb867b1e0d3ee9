"""Losses of the inpatient tables of the specification, and of rules that suppress, by hand."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass

import numpy as np
import pytest

from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice, SummedLoss
from app.domain.rules.rule import TableRule, apply_to_codes
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table
from app.samples.published_tables import table

ROWS = table("inpatients").rows


def inpatients() -> Table:
    """Table 3.1 with the hierarchies of the lattice search."""
    zips, ages, nationalities, conditions = (sorted(set(column)) for column in zip(*ROWS, strict=True))
    trees = (
        Hierarchy.from_rows([[z[: 5 - v] + "*" * v for v in range(6)] for z in zips]),
        Hierarchy.from_rows([[a, "<=40" if int(a) <= 40 else ">40", "*"] for a in ages]),
        Hierarchy.from_rows([[name, "*"] for name in nationalities]),
        Hierarchy.from_rows([[name, "*"] for name in conditions]),
    )
    columns = [
        tree.encode(list(column))[0] for tree, column in zip(trees, zip(*ROWS, strict=True), strict=True)
    ]
    names = ("zip", "age", "nationality", "condition")
    return Table(names, trees, np.stack(columns, axis=1), sensitive=frozenset({"condition"}))


@dataclass(frozen=True)
class Classes:
    """The classes of a rule on quasi-identifiers, as searches hand them over."""

    sizes: np.ndarray
    of_row: np.ndarray


def classes_of(table: Table, levels: tuple[int, ...]) -> Classes:
    every = list(levels) + [0] * (table.n_attributes - len(levels))
    shown = apply_to_codes(TableRule(tuple(every)), table, table.reduced.codes)[:, : len(levels)]
    rows = distinct_rows(list(shown.T), table.sizes[: len(levels)], len(shown))
    sizes = np.bincount(rows.inverse, table.reduced.counts).astype(np.int64)
    return Classes(sizes, rows.inverse.astype(np.intp))


TABLE = inpatients()
QUASI_IDENTIFIERS = (0, 1, 2)


def value(kind: str, levels: tuple[int, ...], **choice: object) -> float:
    loss = loss_of(TABLE, LossChoice(kind, **choice))
    return loss.of(levels) if isinstance(loss, SummedLoss) else loss.of(levels, classes_of(TABLE, levels))


@pytest.mark.spec("LD-S1", "LD-S2", "LD-E26", "LD-D10")
@pytest.mark.parametrize(
    ("levels", "height", "average", "discernibility", "kl"),
    [
        ((0, 1, 1), 2, 3.0, 40, 2.888113),
        ((4, 2, 0), 6, 3.0, 48, 3.249974),
        ((1, 1, 1), 3, 4.0, 48, 3.119162),
        ((4, 2, 1), 7, 12.0, 144, 3.850145),
    ],
)
def test_metrics_of_the_minimal_nodes(levels, height, average, discernibility, kl):
    assert value("height", levels) == height
    assert value("average_class_size", levels) == average
    assert value("discernibility", levels) == discernibility
    assert value("kl_divergence", levels) == pytest.approx(kl, abs=5e-7)


@pytest.mark.spec("LD-S2")
def test_the_baseline_is_the_divergence_of_everything_suppressed():
    assert value("kl_divergence", (5, 2, 1)) == pytest.approx(3.850145, abs=5e-7)
    assert value("kl_divergence", (0, 0, 0)) == 0.0


@pytest.mark.spec("FM-2")
def test_normalised_loss_by_hand():
    """Level 1 of the zip joins 14850 with 14853: 2 of 4 leaves for 4 records of 12."""
    lost = (4 * 2 + 8 * 1 - 12) / (12 * 3)
    assert value("geometric", (1, 0, 0)) == pytest.approx((1 + lost) ** (1 / 3) - 1, abs=1e-15)
    assert value("arithmetic", (1, 0, 0)) == pytest.approx(lost / 3, abs=1e-15)
    assert value("geometric", (5, 2, 1)) == pytest.approx(1.0, abs=1e-15)
    assert value("arithmetic", (0, 0, 0)) == 0.0


@pytest.mark.spec("FM-2")
def test_precision_ambiguity_entropy_and_ail_by_hand():
    assert value("precision", (1, 1, 0)) == pytest.approx((1 / 5 + 1 / 2 + 0) / 3)
    # (1, 0, 1): 4 records under 1485* have 2 · 1 · 4 originals, the others 1 · 1 · 4.
    assert value("ambiguity", (1, 0, 1)) == 4 * 2 * 4 + 8 * 1 * 4
    # zip at level 1: of 4 records 2 have each zip, one bit lost per record.
    assert value("non_uniform_entropy", (1, 0, 0)) == pytest.approx(4.0)
    # 1485* has 2 of 4 leaves; 1305* and 1306* stand for one leaf each and lose nothing.
    assert value("ail", (1, 0, 0)) == pytest.approx(4 / 12 * 2 / 4 / 3)
    # Ages 21 to 37 have a range of 16 of 34 years, 47 to 55 of 8: 8 and 4 records.
    expected = (8 * 16 + 4 * 8) / (12 * 34) / 3
    assert value("ail", (0, 1, 0), numeric=("age",)) == pytest.approx(expected)


def test_numbers_are_asked_for_only_where_there_are_numbers():
    for names in (("nationality",), ("condition",)):
        with pytest.raises(InvalidInput) as raised:
            loss_of(TABLE, LossChoice("ail", numeric=names))
        assert raised.value.faults[0].pointer == "/objective/loss/numeric"


def suppressed_by_hand(kind: str, levels: tuple[int, ...], below: int) -> float:
    """Loss of a rule that suppresses classes below a size, record by record."""
    n = len(ROWS)

    def chain(j, text):
        tree = TABLE.hierarchies[j]
        node = tree.node_of(text)
        return [int(tree.ancestors_at(v)[node]) for v in range(tree.height + 1)]

    def leaves(j, node):
        return [t for t in {row[j] for row in ROWS} if node in chain(j, t)]

    shown = [tuple(chain(j, row[j])[levels[j]] for j in range(3)) for row in ROWS]
    sizes = Counter(shown)
    suppressed = [sizes[key] < below for key in shown]
    cells = [(0, 0, 0) if out else key for key, out in zip(shown, suppressed, strict=True)]
    if kind == "discernibility":
        return sum(f * f for f in sizes.values() if f >= below) + n * sum(suppressed)
    if kind == "average_class_size":
        return n / (sum(f >= below for f in sizes.values()) + any(suppressed))
    if kind == "ambiguity":
        return sum(math.prod(len(leaves(j, node)) for j, node in enumerate(cell)) for cell in cells)
    if kind == "non_uniform_entropy":
        bits = 0.0
        for row, cell in zip(ROWS, cells, strict=True):
            for j, node in enumerate(cell):
                under = sum(r[j] in leaves(j, node) for r in ROWS)
                bits -= math.log2(sum(r[j] == row[j] for r in ROWS) / under)
        return bits
    if kind == "precision":
        heights = TABLE.heights
        shares = [1.0 if out else levels[j] / heights[j] for out in suppressed for j in range(3)]
        return sum(shares) / len(shares)
    if kind == "ail":
        total = 0.0
        for cell in cells:
            for j, node in enumerate(cell):
                count = len(leaves(j, node))
                total += (count / len({r[j] for r in ROWS}) if count > 1 else 0.0) / 3
        return total / n
    divergence = 0.0
    for row, count in Counter(ROWS).items():
        density = 0.0
        for other, cell in zip(ROWS, cells, strict=True):
            spreads = [leaves(j, node) for j, node in enumerate(cell)]
            if other[3] == row[3] and all(row[j] in spread for j, spread in enumerate(spreads)):
                density += 1 / math.prod(map(len, spreads)) / n
        divergence += count / n * math.log(count / n / density)
    return divergence


@pytest.mark.deep
@pytest.mark.spec("FM-2", "LD-E26")
@pytest.mark.parametrize(
    "kind",
    [
        "discernibility",
        "average_class_size",
        "ambiguity",
        "non_uniform_entropy",
        "precision",
        "ail",
        "kl_divergence",
    ],
)
@pytest.mark.parametrize("below", [1, 2, 3, 5])
def test_rules_that_suppress_by_loops(kind, below):
    loss = loss_of(TABLE, LossChoice(kind))
    for levels in itertools.product(range(0, 6, 2), range(3), range(2)):
        classes = classes_of(TABLE, levels)
        out = classes.sizes < below
        if isinstance(loss, SummedLoss):
            rows = out[classes.of_row]
            columns = zip(loss.nodes, TABLE.reduced.codes.T, strict=False)
            counts = TABLE.reduced.counts
            added = loss.added(
                [
                    np.array([counts[rows & (column == node)].sum() for node in nodes], dtype=np.int64)
                    for nodes, column in columns
                ]
            )
            found = loss.of(levels, added)
        else:
            found = loss.of(levels, classes, out)
        assert found == pytest.approx(suppressed_by_hand(kind, levels, below), abs=1e-12), levels


@pytest.mark.spec("LD-E26")
def test_a_leaf_domain_is_declared_or_active():
    """A zip of the hierarchy that no record has counts where all leaves do."""
    wide = Hierarchy.from_rows([["a", "*"], ["b", "*"], ["c", "*"]])
    table = Table(("x",), (wide,), np.array([[1], [1], [2]], dtype=np.int32))
    everything = (1,)
    kl = loss_of(table, LossChoice("kl_divergence", "declared"))
    assert kl.of(everything, classes_of(table, everything)) == pytest.approx(
        2 / 3 * math.log(2 / 3 * 3) + 1 / 3 * math.log(1 / 3 * 3)
    )
    kl = loss_of(table, LossChoice("kl_divergence"))
    assert kl.of(everything, classes_of(table, everything)) == pytest.approx(
        2 / 3 * math.log(2 / 3 * 2) + 1 / 3 * math.log(1 / 3 * 2)
    )
    counted = {
        domain: loss_of(table, LossChoice("ambiguity", domain)).of(everything, classes_of(table, everything))
        for domain in ("declared", "active")
    }
    assert counted == {"declared": 9.0, "active": 6.0}
