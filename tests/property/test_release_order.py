"""Lines of a release: their order depends on what is released and on a secret, and on nothing else."""

from __future__ import annotations

import csv
import hashlib
import io
import itertools
import math
import tracemalloc
from collections import Counter

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.rules import release_order
from app.domain.rules.release_order import kept_order, secret_order, shuffled_lines, shuffled_rows
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from app.services.releases.released_tables import DrawnLines, ReleasedTable, release_of
from tests.oracles.effort import examples

SEEDS = st.binary(min_size=32, max_size=32)
TEXTS = ["b", "a", "a", "*", "", "z,z"]
"""Two codes of one text: readers cannot tell them apart, so that the order must not either."""


@st.composite
def releases(draw):
    """A release of texts, some of which several codes have."""
    m = draw(st.integers(1, 3))
    labels = tuple(tuple(draw(st.permutations(TEXTS))) for _ in range(m))
    row = st.tuples(*[st.integers(0, len(TEXTS) - 1)] * m)
    codes = np.array(sorted(draw(st.sets(row, min_size=1, max_size=6))), dtype=np.int32)
    lines = draw(st.lists(st.integers(0, len(codes) - 1), min_size=1, max_size=12))
    quasi = tuple(sorted(draw(st.sets(st.integers(0, m - 1)))))
    names = tuple(f"c{j}" for j in range(m))
    return ReleasedTable(names, labels, codes, np.array(lines, dtype=np.int32), quasi)


def csv_of(released: ReleasedTable) -> bytes:
    return b"".join(released.csv_chunks(neutralise_formulas=False))


def rows_of(data: bytes) -> list[tuple[str, ...]]:
    return [tuple(row) for row in csv.reader(io.StringIO(data.decode(), newline=""))][1:]


def texts_of(released: ReleasedTable) -> list[tuple[str, ...]]:
    """The cells of each line, not by way of a file."""
    rows = [
        tuple(own[j] for own, j in zip(released.labels, row, strict=True)) for row in released.codes.tolist()
    ]
    return [rows[j] for j in released.row_of_line.tolist()]


@settings(max_examples=examples(200))
@given(releases(), SEEDS, st.data())
def test_the_bytes_depend_on_the_released_lines_and_the_seed_alone(released, seed, data):
    """Another order of records, other codes of values, other numbers of rows: same bytes."""
    d, m = released.codes.shape
    of_code = [data.draw(st.permutations(range(len(TEXTS)))) for _ in range(m)]
    labels, codes = [], np.empty((d, m), dtype=np.int32)
    for j, numbers in enumerate(of_code):
        texts = [""] * len(TEXTS)
        for old, new in enumerate(numbers):
            texts[new] = released.labels[j][old]
        labels.append(tuple(texts))
        codes[:, j] = np.array(numbers)[released.codes[:, j]]
    place = np.array(data.draw(st.permutations(range(d))))
    lines = place[released.row_of_line[data.draw(st.permutations(range(released.n_records)))]]
    moved = np.empty_like(codes)
    moved[place] = codes
    other = ReleasedTable(
        released.columns, tuple(labels), moved, lines.astype(np.int32), released.quasi_identifiers
    )
    assert csv_of(released.shuffled(seed)) == csv_of(other.shuffled(seed))


@settings(max_examples=examples(200))
@given(releases(), SEEDS)
def test_the_lines_are_those_of_the_records_and_classes_are_sorted_by_their_texts(released, seed):
    shuffled = released.shuffled(seed)
    rows = rows_of(csv_of(shuffled))
    assert Counter(rows) == Counter(rows_of(csv_of(released)))
    classes = [tuple(row[j] for j in released.quasi_identifiers) for row in rows]
    assert classes == sorted(classes)
    parquet = pq.read_table(io.BytesIO(b"".join(shuffled.parquet_chunks({}))))
    assert list(zip(*parquet.to_pydict().values(), strict=True)) == rows


@settings(max_examples=examples(200))
@given(releases(), SEEDS)
def test_lines_of_which_most_differ_are_put_in_the_same_order(released, seed):
    columns = [released.codes[released.row_of_line, j] for j in range(released.codes.shape[1])]
    lines = shuffled_lines(released.labels, columns, released.quasi_identifiers, seed)
    other = DrawnLines(released.columns, released.labels, tuple(columns), lines.order, lines.different)
    assert csv_of(other) == csv_of(released.shuffled(seed))
    assert lines.different == len(set(rows_of(csv_of(other))))
    assert other.suppressed() == released.suppressed()


def test_keys_that_do_not_fit_a_number_and_classes_that_fill_several_pieces_change_no_order(monkeypatch):
    rng = np.random.default_rng(3)
    labels = tuple(
        tuple(f"{value:04}" for value in range(size)) for size in (2, 9000, 9000, 9000, 9000, 9000)
    )
    columns = [rng.integers(0, len(own), 3000).astype(np.int32) for own in labels]
    expected = shuffled_rows(
        labels, np.stack(columns, axis=1), np.arange(3000, dtype=np.int32), (0, 1), seed_of(5)
    )
    assert (shuffled_lines(labels, columns, (0, 1), seed_of(5)).order == expected).all()
    for quasi in ((0,), (0, 1), (1, 2, 3, 4, 5)):
        whole = shuffled_lines(labels, columns, quasi, seed_of(6)).order
        with monkeypatch.context() as patched:
            patched.setattr(release_order, "ROWS_AT_ONCE", 7)
            assert (shuffled_lines(labels, columns, quasi, seed_of(6)).order == whole).all()


def test_lines_of_which_most_differ_are_ordered_in_little_memory():
    """24 bytes a line beside the answer and the pieces that are worked on at once; 8 of slack."""
    rng = np.random.default_rng(4)
    labels = tuple(tuple(f"{value:04}" for value in range(size)) for size in (5000, 5000, 5000, 5000, 5000))
    columns = [rng.integers(0, len(own), 500_000).astype(np.int32) for own in labels]
    tracemalloc.start()
    lines = shuffled_lines(labels, columns, (0, 1, 2, 3), seed_of(5))
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert lines.different == 500_000
    assert held < (24 + 4 + 8) * 500_000


def seed_of(number: int) -> bytes:
    return number.to_bytes(32, "big")


def p_value_of_uniformity(arrangements: list[tuple[str, ...]], possible: int) -> float:
    """Pearson's test that each possible arrangement is as likely as any other."""
    expected = len(arrangements) / possible
    counts = list(Counter(arrangements).values())
    statistic = sum((count - expected) ** 2 for count in counts) / expected
    statistic += (possible - len(counts)) * expected
    return float(chi2.sf(statistic, possible - 1))


def people(illnesses: str) -> ReleasedTable:
    """A class of those in town and, before and after it, classes of one."""
    town = Hierarchy.from_parents({"a": [None], "m": [None], "z": [None]})
    illness = Hierarchy.from_parents({name: [None] for name in sorted(set(illnesses))})
    towns = town.encode(["z", *("m" * len(illnesses)), "a"])[0]
    ill = illness.encode([illnesses[0], *illnesses, illnesses[-1]])[0]
    table = Table(
        ("town", "illness"), (town, illness), np.stack([towns, ill], axis=1), sensitive=frozenset({"illness"})
    )
    return release_of(table, TableRule((0, 0)))


@pytest.mark.deep
@pytest.mark.parametrize(("illnesses", "possible"), [("fghij", math.factorial(5)), ("ffgg", 6)])
def test_every_arrangement_of_a_class_is_as_likely_as_any_other(illnesses, possible):
    """6,000 seeds, fixed; of random ones the test would fail with probability 1e-6."""
    released = people(illnesses)
    seen = [
        tuple(row[1] for row in texts_of(released.shuffled(seed_of(i))) if row[0] == "m") for i in range(6000)
    ]
    assert p_value_of_uniformity(seen, possible) > 1e-6


def test_the_test_of_arrangements_notices_a_slight_preference():
    """A control: one of the 120 arrangements half as likely again as the others."""
    random = np.random.default_rng(7)
    likely = np.array([1.5, *[1.0] * 119]) / 120.5
    arrangements = list(itertools.permutations("fghij"))
    seen = [arrangements[i] for i in random.choice(120, size=60_000, p=likely)]
    assert p_value_of_uniformity(seen, 120) < 1e-6
    kept = [tuple("fghij")] * 6000
    assert p_value_of_uniformity(kept, 120) < 1e-6


def test_the_order_of_a_seed_stays_what_it_was():
    """Stored hashes of releases rest on it: other bits, or another way to use them, would break them."""
    groups, seed = [0, 0, 0, 0, 0, 1, 1, 1], bytes(range(32))
    stream = hashlib.shake_256(seed + bytes(8)).digest(64)
    drawn = [int.from_bytes(stream[8 * i : 8 * i + 8], "little") for i in range(8)]
    by_hand = sorted(range(8), key=lambda i: (groups[i], drawn[i]))
    assert secret_order(np.array(groups), seed).tolist() == by_hand == [2, 0, 4, 3, 1, 5, 7, 6]
    with pytest.raises(ValueError, match="32 bytes"):
        secret_order(groups, b"short")


def test_lines_that_drew_the_same_draw_again(monkeypatch):
    class Stream:
        def __init__(self, seed: bytes) -> None:
            self.attempt = int.from_bytes(seed[32:], "little")

        def digest(self, n: int) -> bytes:
            draws = [3, 1, 3] if self.attempt == 0 else [2, 3, 1]
            return np.array(draws, dtype="<u8").tobytes()

    monkeypatch.setattr("app.domain.rules.release_order.hashlib.shake_256", Stream)
    assert secret_order(np.zeros(3, dtype=np.int32), seed_of(0)).tolist() == [2, 0, 1]
    # Lines of different groups may draw the same.
    assert secret_order(np.array([0, 0, 1]), seed_of(0)).tolist() == [1, 0, 2]


def brute_force(records, rows, classes):
    """By the definition: sort the lines of each group by their records and compare what they show."""
    n = len(rows)
    for within, groups in ((False, [0] * n), (True, classes)):
        alike = {group: [i for i in range(n) if groups[i] == group] for group in set(groups)}
        by_record = {group: sorted(own, key=lambda i: records[i]) for group, own in alike.items()}
        same = all([rows[i] for i in alike[g]] == [rows[i] for i in by_record[g]] for g in alike)
        if same and any(len({rows[i] for i in own}) > 1 for own in alike.values()):
            arrangements = math.prod(
                len(set(itertools.permutations([rows[i] for i in own]))) for own in alike.values()
            )
            return within, arrangements
    return None


@settings(max_examples=examples(200))
@given(st.data())
def test_a_file_keeps_the_order_if_it_reads_as_the_records_would(data):
    n = data.draw(st.integers(1, 5))
    records = data.draw(st.permutations(range(n)))
    if data.draw(st.booleans()):
        records = sorted(records)
    classes = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    shown = data.draw(st.lists(st.integers(0, 2), min_size=n, max_size=n))
    rows = [3 * a + b for a, b in zip(classes, shown, strict=True)]
    found = kept_order(np.array(records), np.array(rows, dtype=np.int32), np.array(classes, dtype=np.int32))
    expected = brute_force(records, rows, classes)
    if expected is None:
        assert found is None
    else:
        assert (found.within_classes, round(10**-found.log10_chance)) == expected


def test_no_order_of_codes_is_one_of_texts():
    """Domains may be coded in the order of their first occurrence; lines are sorted by what is read."""
    codes = np.array([[0], [1]], dtype=np.int32)
    lines = shuffled_rows((("z", "a"),), codes, np.array([0, 1], dtype=np.int32), (0,), seed_of(0))
    assert lines.tolist() == [1, 0]
