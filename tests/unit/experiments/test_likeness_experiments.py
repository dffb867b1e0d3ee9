"""BUREL beside its rivals: schemes of the experiments alone, range cells, and what is claimed of figures."""

from fractions import Fraction

import numpy as np
import pytest

from app.cli import program
from app.domain.classes.closeness import equal_distances, ordered_distances
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.k_anonymity import KAnonymity
from app.domain.tables.table import Table
from app.experiments import likeness_figures
from app.experiments.census import Census
from app.experiments.likeness_figures import _errors, _necessary, _runs, _solved
from app.experiments.likeness_schemes import Partition, released, sabre_buckets, sabre_sizes
from app.experiments.report import Effort

SMALL = Effort(seeds=1, entities=240)
SHARES = np.array([1, 2, 3, 2, 2])


def table_of(columns, numeric, values):
    """Values from 0 on under flat trees; the last attribute is sensitive."""
    trees = [
        Hierarchy.from_rows([[str(v) if is_number else f"{v} "] for v in range(size)])
        for is_number, size in (*numeric, (True, max(values) + 1))
    ]
    codes = [tree.leaves[np.array(own)] for tree, own in zip(trees, (*columns, values), strict=True)]
    names = tuple("abcdefgh"[: len(trees)])
    return Table(names, tuple(trees), np.stack(codes, axis=1), sensitive=frozenset(names[-1:]))


def partition_of(table, *classes):
    of = np.empty(table.n_records, dtype=np.int64)
    for number, rows in enumerate(classes):
        of[list(rows)] = number
    return Partition(table, of, KAnonymity(k=1), 0.0)


@pytest.mark.spec("BL-T12")
def test_buckets_in_the_manner_of_sabre_are_the_fewest_within_their_budget():
    of, costs = sabre_buckets(SHARES, Fraction(1, 10), ordered=True)
    assert of.tolist() == [0, 0, 1, 2, 2]
    assert costs.tolist() == [0.05, 0, 0.05]
    of, costs = sabre_buckets(SHARES, Fraction(1, 20), ordered=True)
    assert of.tolist() == [0, 1, 2, 3, 3]
    assert costs.tolist() == [0, 0, 0, 0.05]
    # All as far apart: what a bucket of values of 1/10 and 1/5 costs is 1/5, by the rarest of them.
    assert sabre_buckets(SHARES, Fraction(1, 5), ordered=False)[1].max() <= 0.2
    assert sabre_buckets(SHARES, Fraction(0), ordered=False)[0].tolist() == [0, 1, 4, 2, 3]


@pytest.mark.spec("BL-T12")
def test_sizes_in_the_manner_of_sabre():
    of, leaves = sabre_sizes(4 * SHARES, 0.2, ordered=True)
    assert of.tolist() == [0, 0, 1, 2, 2]
    assert leaves.tolist() == [[1, 1, 2], [1, 1, 1], [1, 1, 1]] * 4


@pytest.mark.parametrize("ordered", [False, True])
def test_whatever_records_of_its_buckets_a_class_takes_it_is_near_enough(ordered):
    """Against random draws: the check of sizes is of the worst one."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        totals = rng.integers(1, 9, rng.integers(2, 7))
        t = float(rng.integers(1, 12)) / 20
        of_value, leaves = sabre_sizes(totals, t, ordered=ordered)
        assert leaves.sum(axis=0).tolist() == np.bincount(of_value, totals).tolist()
        values = np.repeat(np.arange(len(totals)), totals)
        of = np.empty(len(values), dtype=np.int64)
        for bucket in range(leaves.shape[1]):
            rows = rng.permutation(np.flatnonzero(of_value[values] == bucket))
            of[rows] = np.repeat(np.arange(len(leaves)), leaves[:, bucket])
        table = table_of([values * 0], [(True, 2)], values.tolist())
        counts = Partition(table, of, KAnonymity(k=1), 0.0).counts
        found = ordered_distances(counts) if ordered else equal_distances(counts)
        assert found.at_most(Fraction(repr(t))).all()


@pytest.mark.spec("BL-T7")
def test_loss_of_ranges_and_nodes():
    age, gender, education = [3, 13, 28, 43, 43], [0, 0, 1, 1, 1], [4, 10, 10, 16, 16]
    table = table_of([age, gender, education], [(True, 79), (False, 2), (True, 17)], [0, 1, 0, 1, 0])
    assert partition_of(table, [0, 1], [2, 3, 4]).loss == pytest.approx(
        (2 * (10 / 78 + 6 / 16) + 3 * (15 / 78 + 6 / 16)) / 15
    )
    assert partition_of(table, range(5)).loss == pytest.approx((40 / 78 + 1 + 12 / 16) / 3)
    assert partition_of(table, *([row] for row in range(5))).loss == 0


ROWS = (
    (1, 2, 0), (14, 3, 0), (3, 3, 1), (9, 8, 1), (12, 13, 1), (0, 7, 2), (6, 15, 2), (10, 1, 2), (4, 9, 3),
    (8, 4, 3), (2, 14, 3), (15, 15, 4), (11, 6, 4), (5, 0, 4), (7, 11, 4), (13, 9, 5), (1, 11, 5), (9, 14, 5),
    (6, 5, 5),
)  # fmt: skip


@pytest.mark.spec("BL-T16")
def test_counts_are_estimated_as_if_records_were_spread_over_their_boxes():
    x, y, values = map(list, zip(*ROWS, strict=True))
    release = partition_of(
        table_of([x, y], [(True, 16), (True, 16)], values),
        [0, 5, 13, 18],
        [2, 6, 10, 14, 16],
        [1, 3, 4, 7, 8, 9, 11, 12, 15, 17],
    )
    assert release.estimate({0: (2, 9), 1: (0, 7)}, (2, 4)) == pytest.approx(1957 / 546)
    assert release.estimate({0: (4, 12)}, (0, 1)) == pytest.approx(13 / 4)


def test_trees_of_the_surrogate_have_the_surrogates_values_in_order():
    (run,) = _runs(SMALL)
    sizes = [tree.n_leaves for tree in run.table.hierarchies]
    assert sizes == [79, 2, 17, 6, 10, 50]
    assert [tree.height for tree in run.table.hierarchies] == [7, 1, 5, 2, 3, 1]
    marital = run.table.hierarchies[3]
    assert [marital.labels[leaf] for leaf in marital.leaves.tolist()][:3] == ["0 in a", "1 in a", "2 in b"]


@pytest.mark.spec("BL-T17")
def test_errors_of_an_exact_release_are_none():
    """A class per record: every count is right, and the workload is that of the product."""
    (run,) = _runs(SMALL)
    for name in likeness_figures.BY_BETA:
        table = run.part(2, run.table.n_records)
        alike = np.unique(table.codes[:, :2], axis=0, return_inverse=True)[1].reshape(-1).astype(np.int64)
        run.made[name, 4.0, 2, table.n_records] = Partition(table, alike, KAnonymity(k=1), 0.0)
    assert list(_errors(run, 4.0, 2, 2, 0.1).values()) == pytest.approx([0, 0, 0], abs=1e-9)


def test_classes_have_as_many_values_as_beta_makes_necessary():
    totals = np.unique(_runs(Effort(seeds=1))[0].table.codes[:, -1], return_counts=True)[1]
    assert [_necessary(totals, beta) for beta in (1.0, 2.0, 3.0, 4.0, 5.0)] == [13, 8, 6, 6, 6]


def test_a_release_that_breaks_its_promise_is_not_kept():
    (run,) = _runs(SMALL)
    kept = released("BUREL", run.part(2, run.table.n_records), 2.0, 1)
    assert kept.is_kept
    by_value = kept.table.codes[:, -1].astype(np.int64)
    of = np.unique(by_value, return_inverse=True)[1].reshape(-1)
    assert not Partition(kept.table, of, kept.promise, 0.0).is_kept


def test_claims_follow_the_curves_beside_them():
    report = likeness_figures.by_attributes(SMALL)
    assert report.holds
    (losses, _) = report.tables
    by_name = dict(zip(losses.columns, zip(*losses.rows, strict=True), strict=True))
    (beats,) = [own for own in report.claims if own.text == "BUREL beats LMondrian"]
    better = [a < b for a, b in zip(by_name["BUREL"], by_name["LMondrian"], strict=True)]
    assert beats.grade == "qualitative"
    assert beats.holds == all(better)
    assert f"at {sum(better)} of 5 points" in beats.evidence


def test_whoever_is_shown_nothing_guesses_the_most_frequent_value():
    """Two records of 90 share a value, and all others have values of their own: no class may be divided."""
    rng = np.random.default_rng(3)
    columns = [rng.integers(1, 4, 90).astype(np.int32) for _ in range(5)]
    salaries = np.maximum(np.arange(90, dtype=np.int32), 1)
    (run,) = _runs(Effort(seeds=1, census=Census((*columns, salaries), (3, 3, 3, 3, 3, 89))))
    loss, _, bayes, definetti, chance = _solved(run, "BUREL", 0.5, 90)
    assert (loss, bayes) == (1, 2 / 90)
    assert chance == pytest.approx((88 + 2 * 2) / 90**2)
    assert 0 <= definetti <= 1


def test_the_readers_own_census_of_six_attributes(tmp_path, capsys):
    rng = np.random.default_rng(7)
    rows = rng.integers(0, [30, 2, 9, 5, 7, 12], (300, 6))
    text = "AGE,SEX,EDUC,MARST,CLASSWKR,INCWAGE\n" + "\n".join(
        ",".join(map(str, row)) for row in rows.tolist()
    )
    (tmp_path / "own.csv").write_text(text)
    own = ["--census", str(tmp_path / "own.csv"), "--seeds", "1"]
    assert program.run(["experiment", "B5", "B9", *own], None) == 0
    assert capsys.readouterr().out.count("300 records, seeds: 1") == 2
