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
from app.experiments.likeness_figures import (
    Point,
    Runs,
    _errors,
    _grouped,
    _necessary,
    _runs,
    _solved,
    _sought,
)
from app.experiments.likeness_schemes import Partition, anatomy, released, sabre_buckets, sabre_sizes
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


class Told(Runs):
    """Runs whose releases are said: BUREL's and the others' (t, loss, β) of a parameter."""

    burel = staticmethod(lambda x: (x / 10, 1 / (1 + x), x))
    others = staticmethod(lambda x: (x, 1 - x, 30 * x))

    def point(self, scheme, parameter):
        t, loss, beta = (self.burel if scheme == "BUREL" else self.others)(parameter)
        return self.points.setdefault(
            (scheme, parameter), Point(scheme, parameter, t, t, loss, beta, is_kept=True)
        )


def told(monkeypatch, **laws):
    (run,) = _runs(SMALL)
    own = type("Own", (Told,), {name: staticmethod(law) for name, law in laws.items()})
    found = own(run.table, 1)
    monkeypatch.setattr(likeness_figures, "_runs", lambda effort: [found])
    return found


def test_a_search_halves_every_bracket_and_keeps_what_it_evaluates(monkeypatch):
    """The grid is 1/4, 1/2 and 3/4; t is too great from 0.3 to 0.6, and the loss falls steadily."""
    run = told(monkeypatch, burel=lambda x: (float(0.3 < x < 0.6), 5 - x, x))
    monkeypatch.setattr(likeness_figures, "saturation", lambda totals: 0.75)
    best = _sought(run, "BUREL", "t", 0.5, "loss")
    assert best.parameter == 0.75
    tried = [0.25, 0.28125, 0.3125, 0.375, 0.5, 0.5625, 0.59375, 0.625, 0.75]
    assert sorted(x for _, x in run.points) == tried
    # Without any that fits, the nearest to it
    assert _sought(run, "BUREL", "loss", -1, "t").parameter == 0.75


def verdicts(report):
    return {own.text: own.holds for own in report.claims[1:]}


@pytest.mark.spec("B2")
def test_claims_of_beta_at_a_given_t_hold_and_fail_by_the_points(monkeypatch):
    told(monkeypatch)
    report = likeness_figures.given_distance(SMALL)
    assert all(verdicts(report).values())
    beta, loss, points = report.tables
    assert [row[:2] for row in beta.rows[:2]] == [(0.05, 0.5), (0.1, 1.0)]
    assert loss.rows[1][1] == pytest.approx(1 / 2)
    assert len(points.rows) > 50
    told(monkeypatch, others=lambda x: (x, 1 - x, 0), burel=lambda x: (0.9, 1 / x, x))
    assert not any(verdicts(likeness_figures.given_distance(SMALL)).values())


@pytest.mark.spec("B3")
def test_claims_of_beta_at_a_given_loss_hold_and_fail_by_the_points(monkeypatch):
    told(monkeypatch, burel=lambda x: (x, 0.01, x), others=lambda x: (x, 1 - x, 1 + x))
    found = verdicts(likeness_figures.given_loss(SMALL))
    assert list(found.values()) == [True, False, True]
    told(monkeypatch, burel=lambda x: (x, 1.0, x), others=lambda x: (x, 0.3, 0.0))
    assert not any(verdicts(likeness_figures.given_loss(SMALL)).values())


@pytest.mark.spec("B2", "B3")
@pytest.mark.parametrize("run", [likeness_figures.given_distance, likeness_figures.given_loss])
def test_what_is_sought_is_among_real_releases_that_keep_their_promises(run):
    report = run(SMALL)
    assert report.holds
    beta, loss, points = report.tables
    assert points.title == "Every release that a search evaluated"
    evaluated = [row[-2:] for row in points.rows]
    for row, lost in zip(beta.rows, loss.rows, strict=True):
        for pair in zip(lost[1:], row[1:], strict=True):
            assert pair in evaluated
    if run is likeness_figures.given_loss:
        # Within what is allowed, or as near to it as any
        least = min(row[-2] for row in points.rows if row[1] == "BUREL" and row[2] * 4 % 1 == 0)
        assert all(row[1] <= max(row[0], least) for row in loss.rows)


@pytest.mark.spec("B4")
def test_the_best_margin_never_loses_more_than_none():
    (run,) = _runs(SMALL)
    table = run.part(3, run.table.n_records)
    losses = [released(name, table, 4.0, 1).loss for name in ("BUREL", likeness_figures.MARGIN)]
    assert losses[1] < losses[0]


def test_groups_like_anatomys_have_so_many_values_each():
    values = np.random.default_rng(5).permutation(np.repeat(np.arange(5), (13, 10, 7, 4, 3)))
    of = anatomy(values, 2, np.random.default_rng(1))
    groups = [values[of == own].tolist() for own in range(of.max() + 1)]
    assert sum(map(len, groups)) == 37
    assert all(len(own) == len(set(own)) in (2, 3) for own in groups)
    # The first group has one of the two most frequent each.
    assert sorted(groups[0]) == [0, 1]
    # Nobody else has the value: it goes where there is room, or anywhere.
    assert sorted(anatomy(np.array([0, 0, 0, 1]), 2, np.random.default_rng(1)).tolist()) == [0, 0, 0, 0]
    assert anatomy(np.array([0, 0]), 3, np.random.default_rng(1)).tolist() == [0, 0]


def test_ties_of_frequency_are_broken_at_random():
    """Each of four values is as likely to be in the first group of two; 6 sigma of 2,000 draws is 0.067."""
    random, first = np.random.default_rng(8), np.zeros(4)
    for _ in range(2000):
        first += anatomy(np.arange(4), 2, random) == 0
    assert (abs(first / 2000 - 0.5) < 0.067).all()


def test_the_attack_on_groups_finds_what_hangs_together_and_nothing_else():
    """Positive control: it guesses far better than chance, and where values are shuffled it does not."""
    (run,) = _runs(SMALL, correlation=0.9)
    found = _grouped(run, 3)
    assert found["at random"] == pytest.approx(1 / 3)
    assert found["attack"] > 0.45
    shuffled = run.table.codes.copy()
    shuffled[:, -1] = np.random.default_rng(2).permutation(shuffled[:, -1])
    own = run.table
    apart = Runs(Table(own.attributes, own.hierarchies, shuffled, sensitive=own.sensitive), 1)
    # The standard error of 6,000 records in groups is below 0.007.
    assert _grouped(apart, 3)["attack"] == pytest.approx(1 / 3, abs=0.045)


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
