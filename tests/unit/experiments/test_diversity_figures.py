"""L1 to L10: least losses against loops over the records, the published numbers, and claims that can fail."""

import itertools
import math
import os
from collections import Counter, defaultdict
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from app.cli import program
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.experiments import diversity_figures
from app.experiments.adult import ATTRIBUTES, OCCUPATION, RECORDS, SALARY, _stand_in, adult
from app.experiments.diversity_figures import ENTROPY, MODELS, RECURSIVE, SETS, K, Losses, T, minimal
from app.experiments.report import Effort

DATA = os.environ.get("PRIVACY_RISK_DATA")
SMALL = Effort(seeds=1, entities=120)
NEEDS_ADULT = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]


def claims_of(report):
    return {claim.text: claim for claim in report.claims}


def claim_of(report, words):
    (found,) = [claim for claim in report.claims if words in claim.text]
    return found


def write(path, rows):
    path.write_text("\n".join([",".join(ATTRIBUTES), *(",".join(row) for row in rows)]) + "\n")
    return Effort(seeds=1, adult=path)


# Against loops over the records


def passes(model, t, counts):
    sizes = [sum(values.values()) for values in counts.values()]
    if model == "k-anonymity":
        return min(sizes) >= t
    for values in counts.values():
        ordered, n = sorted(values.values(), reverse=True), sum(values.values())
        if model == "entropy" and math.prod(r**r for r in ordered) * t**n > n**n:
            return False
        if model == "recursive (3, ℓ)" and ordered[0] >= 3 * sum(ordered[t - 1 :]):
            return False
    return True


def by_loops(table, model, t):
    """The minimal rules, and the least of each loss over all rules that pass."""
    trees, names = table.hierarchies[:-1], table.codes[:, :-1].tolist()
    values, n = table.codes[:, -1].tolist(), table.n_records
    raw = Counter(zip(map(tuple, names), values, strict=True))
    leaves = [set(column) for column in zip(*names, strict=True)]
    passing = {}
    for rule in itertools.product(*(range(tree.height + 1) for tree in trees)):
        above = [tree.ancestors_at(level).tolist() for tree, level in zip(trees, rule, strict=True)]
        groups, cells = defaultdict(Counter), []
        for row, value in zip(names, values, strict=True):
            cell = tuple(own[code] for own, code in zip(above, row, strict=True))
            groups[cell][value] += 1
            cells.append(cell)
        if passes(model, t, groups):
            area = {
                cell: math.prod(
                    sum(own[leaf] == code for leaf in values_of)
                    for own, code, values_of in zip(above, cell, leaves, strict=True)
                )
                for cell in groups
            }
            terms = [
                math.log(raw[tuple(row), value] * area[cell] / groups[cell][value])
                for row, value, cell in zip(names, values, cells, strict=True)
            ]
            sizes = [sum(own.values()) for own in groups.values()]
            passing[rule] = (sum(rule), n / len(sizes), sum(s * s for s in sizes), math.fsum(terms) / n)
    below = {rule: [(*rule[:j], rule[j] - 1, *rule[j + 1 :]) for j in range(len(rule))] for rule in passing}
    rules = {rule for rule in passing if not any(own in passing for own in below[rule])}
    return rules, np.min([*passing.values(), (np.inf,) * 4], axis=0)


@pytest.mark.spec("LD-D10")
@pytest.mark.parametrize("model", MODELS)
def test_minimal_tables_and_least_losses_are_those_of_loops_over_all_rules(model):
    table = adult(Effort(entities=20), 1).table(3, OCCUPATION)
    least, base = Losses(table).least()
    for t in (2, 6, 10):
        rules, expected = by_loops(table, model, t)
        assert set(minimal(table, MODELS[model](t))[1]) == rules
        assert least[:, [*MODELS].index(model), T.index(t)] == pytest.approx(expected, rel=1e-9)
    assert base == pytest.approx(by_loops(table, "k-anonymity", table.n_records)[1], rel=1e-9)


def test_a_criterion_that_nothing_meets_has_no_table_and_the_base_is_of_all_records_nevertheless(tmp_path):
    others = ("Male", "White", "Divorced", "HS-grad", "Cuba", "Private", "Sales", "<=50K")
    rows = [(str(20 + i % 4), *others) for i in range(20)]
    losses = Losses(adult(write(tmp_path / "own.csv", rows), 1).table(3, OCCUPATION))
    least, base = losses.least()
    assert np.isinf(least[:, [ENTROPY, RECURSIVE]]).all()
    assert base.tolist() == [6, 20, 400, pytest.approx(0.0)]


# Against the published numbers

HOMOGENEOUS = {
    1.0: [
        (2, 10, 9, 5.100, 158.40), (5, 10, 9, 2.500, 91.10), (10, 8, 6, 1.250, 73.50),
        (15, 7, 4, 0.857, 62.71), (20, 7, 4, 0.857, 62.71), (30, 8, 2, 0.250, 28.88), (50, 8, 1, 0.125, 9.62),
    ],
    0.95: [
        (2, 10, 10, 12.200, 8658.40), (5, 10, 10, 8.000, 7587.30), (10, 8, 8, 6.375, 8919.88),
        (15, 7, 7, 5.429, 9540.29), (20, 7, 7, 5.429, 9540.29), (30, 8, 7, 2.375, 7124.50),
        (50, 8, 6, 1.875, 4494.88),
    ],
}  # fmt: skip
LEAST = """
3 2 2/1507.40/124598238/0.3021 - -
3 4 2/1507.40/124598238/0.3021 3/2826.38/218844682/0.5149 2/1507.40/124598238/0.5149
3 6 2/1507.40/124598238/0.3021 3/3014.80/218844682/0.5149 3/3014.80/218844682/0.5149
3 8 2/1507.40/124598238/0.5149 5/9044.40/1533331036/0.6879 3/3014.80/218844682/0.6879
3 10 2/1507.40/124598238/0.5149 6/45222/2045029284/1.7747 6/45222/2045029284/1.7747
4 2 4/1027.77/123542232/1.3113 4/1507.40/123542232/1.4817 4/1413.19/123542232/1.4817
4 4 4/1507.40/123542232/1.4817 4/1507.40/123542232/1.4940 4/1507.40/123542232/1.4940
4 6 4/1507.40/123542232/1.4817 4/1507.40/123542232/1.4940 4/1507.40/123542232/1.4940
4 8 4/1507.40/123542232/1.4940 6/4522.20/699994216/1.7441 5/3014.80/218844682/1.7441
4 10 4/1507.40/123542232/1.4940 8/45222/2045029284/2.9543 7/22611/1027159794/2.8378
5 2 6/611.11/78398394/2.7264 7/1027.77/110037788/2.9050 7/1027.77/110037788/2.9050
5 4 7/1027.77/110037788/2.9050 7/1507.40/123542232/3.0547 7/1507.40/123542232/3.0547
5 6 7/1413.19/123542232/2.9050 7/1507.40/123542232/3.0547 7/1507.40/123542232/3.0547
5 8 7/1413.19/123542232/3.0547 9/4522.20/699994216/3.3047 8/3014.80/218844682/3.3047
5 10 7/1413.19/123542232/3.0547 11/45222/2045029284/4.5149 10/22611/1027159794/4.3985
"""
"""Of the specification, section 8.4: by quasi-identifiers and k or ℓ, for each model."""


def published():
    return Effort(adult=Path(DATA or "", "uci-adult-48842"))


class TestOnAdult:
    pytestmark = NEEDS_ADULT

    @pytest.mark.spec("LD-D02", "LD-E28", "L1", "L2")
    @pytest.mark.parametrize(("run", "theta"), [("complete", 1.0), ("near", 0.95)])
    def test_homogeneous_groups_are_those_of_the_baseline(self, run, theta):
        report = getattr(diversity_figures, run)(published())
        rows = [(*row[:3], round(row[3], 3), round(row[4], 2)) for row in report.tables[0].rows]
        assert rows == HOMOGENEOUS[theta]
        assert claim_of(report, "of the baseline").evidence == "7 of 7 rows"
        assert report.holds

    @pytest.mark.spec("LD-D10", "LD-E26", "LD-E27", "L9")
    def test_least_losses_are_those_of_the_baseline(self):
        report = diversity_figures.whole_table(published())
        found = {
            (row[0], row[1], row[2]): f"{row[3]:.0f}/{row[4]:.2f}/{row[5]:.0f}/{row[6]:.4f}"
            for row in report.tables[-1].rows
        }
        for line in LEAST.strip().splitlines():
            n, t, *models = line.split()
            for model, expected in zip(MODELS, models, strict=True):
                printed = (models[0] if expected == "-" else expected).replace("/45222/", "/45222.00/")
                assert found[int(n), int(t), model] == printed.replace("/22611/", "/22611.00/"), (line, model)
        bases = [table.rows[0][-1] for table in report.tables[: len(SETS)]]
        assert bases == pytest.approx([1.774653, 2.954251, 4.514909], abs=5e-7)
        claims = claims_of(report).values()
        assert [claim.holds for claim in claims if "heights" not in claim.text] == [True] * 4
        assert claim_of(report, "heights").evidence == "43% of 30 pairs"

    @pytest.mark.spec("LD-S10", "L10")
    def test_limits_are_those_that_are_printed(self):
        report = diversity_figures.limits(published())
        rows = dict(report.tables[0].rows)
        assert rows["effective values"] == pytest.approx(10.566936, abs=5e-7)
        assert rows["least c, ℓ = 3"] == pytest.approx(0.181358, abs=5e-7)
        assert rows["least c, ℓ = 11"] == pytest.approx(2.278577, abs=5e-7)
        assert rows["least c, ℓ = 12"] == pytest.approx(4.926350, abs=5e-7)
        table = adult(published(), 1).table(3, OCCUPATION)
        asked = (
            EntropyLDiversity(10.56),
            EntropyLDiversity(10.57),
            *map(MODELS["recursive (3, ℓ)"], (11, 12)),
        )
        assert [bool(minimal(table, own)[1]) for own in asked] == [True, False, True, False]
        assert all(claim.holds for claim in report.claims)

    @pytest.mark.deep
    def test_huge_groups_go_with_small_heights(self):
        report = diversity_figures.group_sizes(Effort(seeds=1, adult=published().adult))
        assert claim_of(report, "Of all records").holds


# Claims can fail


def test_numbers_that_are_not_the_baselines_are_found(tmp_path, capsys):
    """Positive control: as many records as published, and others."""
    write(tmp_path / "own.csv", _stand_in(RECORDS))
    assert program.run(["experiment", "L1", "--adult", str(tmp_path / "own.csv")], None) == 1
    assert "[exact, FAILS] The published table with our hierarchies" in capsys.readouterr().out


@pytest.mark.deep
def test_losses_that_are_not_the_baselines_are_found(tmp_path):
    claim = claim_of(
        diversity_figures.whole_table(write(tmp_path / "own.csv", _stand_in(RECORDS))), "of the baseline"
    )
    assert not claim.holds


def test_rules_that_are_not_minimal_and_rules_that_are_not_anonymous_are_found(monkeypatch):
    assert claim_of(diversity_figures.complete(SMALL), "none is one level below").holds
    judge_of = minimal

    def all_suppressed(table, criterion):
        judge, *_ = judge_of(table, criterion)
        return judge, (judge.table.heights,), 1

    monkeypatch.setattr(diversity_figures, "minimal", all_suppressed)
    assert not claim_of(diversity_figures.complete(SMALL), "none is one level below").holds

    def lenient(table, criterion):
        judge, *_ = judge_of(table, criterion)
        return judge, judge_of(table, MODELS["k-anonymity"](1))[1] + (judge.table.heights,), 1

    monkeypatch.setattr(diversity_figures, "minimal", lenient)
    assert not claim_of(diversity_figures.complete(SMALL), "none is one level below").holds


def salaries(path, one_in):
    """Four kinds of people of 60 records each, of whom every so many have the high salary."""
    kinds = itertools.product(("Male", "Female"), ("White", "Black"))
    return write(
        path,
        [
            (
                "30",
                sex,
                race,
                "Divorced",
                "HS-grad",
                "Cuba",
                "Private",
                "Sales",
                "<=50K" if i % one_in else ">50K",
            )
            for sex, race in kinds
            for i in range(60)
        ],
    )


@pytest.mark.spec("LD-E28")
def test_claims_on_homogeneous_groups_follow_the_groups(tmp_path):
    """All groups have one value, or in them one in 30 has another one, or one in 3."""
    for one_in, run, holds in (
        (1000, "complete", False), (1, "complete", True), (30, "complete", False), (30, "near", True),
        (3, "near", False),
    ):  # fmt: skip
        report = getattr(diversity_figures, run)(salaries(tmp_path / "own.csv", one_in))
        assert claim_of(report, "most of the minimal").holds is holds, (one_in, run)
        assert claim_of(report, "large share").holds is holds, (one_in, run)


def test_a_diverse_table_below_the_anonymous_ones_is_found(monkeypatch):
    assert claim_of(diversity_figures.times(SMALL), "or above one").holds

    def as_they_are(table, criterion):
        judge, rules, checked = minimal(table, criterion)
        return (
            judge,
            ((0,) * len(judge.table.heights),) if criterion == MODELS["entropy"](6) else rules,
            checked,
        )

    monkeypatch.setattr(diversity_figures, "minimal", as_they_are)
    assert not diversity_figures.times(SMALL).holds


def figure_of(k, entropy, recursive):
    """A sample's least losses of five quasi-identifiers."""
    return {5: np.array([[k, entropy, recursive]], dtype=float)}


@pytest.mark.parametrize(
    "run", ["heights", "group_sizes", "discernibilities", "divergences", "more_divergences"]
)
def test_a_diverse_table_that_loses_less_than_an_anonymous_one_is_found(monkeypatch, run):
    for best, holds in ((5.0, True), (4.9, False), (np.inf, True)):
        figure = figure_of([5.0] * 5, [6.0] * 5, [6.0, 6.0, 6.0, 6.0, best])
        monkeypatch.setattr(
            diversity_figures, "_samples", lambda *_, own=figure: ("", own, {5: np.array([7.0])})
        )
        report = getattr(diversity_figures, run)(SMALL)
        assert claim_of(report, "No diverse table").holds is holds
        assert report.holds is holds


@pytest.mark.parametrize(
    ("run", "words", "good", "bad"),
    [
        ("heights", "usually equal", 5.0, 6.0),
        ("group_sizes", "often have comparable", 9.9, 10.1),
        ("discernibilities", "often have comparable", 9.9, 10.1),
    ],
)
def test_what_holds_of_most_pairs_holds_of_more_than_half(monkeypatch, run, words, good, bad):
    for n_good, holds in ((6, True), (5, False), (0, False)):
        values = [good] * n_good + [bad] * (10 - n_good)
        figure = figure_of([5.0] * 5, values[:5], values[5:])
        monkeypatch.setattr(diversity_figures, "_samples", lambda *_, own=figure: ("", own, {}))
        claim = claim_of(getattr(diversity_figures, run)(SMALL), words)
        assert claim.holds is holds
        assert claim.grade == "qualitative"


@pytest.mark.parametrize(
    ("entropy", "recursive", "better", "at_six", "is_close"),
    [
        ([1, 2, 3, 9, 10], [1, 2, 2.5, 9, 10], True, True, True),
        ([1, 2, 3, 9, 10], [1, 1.5, 3, 9, np.inf], False, False, True),
        ([1, 2, 3, 9, 10], [1, 1.5, 3, 8.9, 10], True, False, False),
        ([1, 2, 3, 9, 10], [1, 2, 3, 9, 10], False, False, True),
    ],
)
def test_claims_on_divergences_follow_the_divergences(
    monkeypatch, entropy, recursive, better, at_six, is_close
):
    figure = figure_of([1, 1, 1, 1, 1], entropy, recursive)
    monkeypatch.setattr(diversity_figures, "_samples", lambda *_: ("", figure, {5: np.array([10.0])}))
    report = diversity_figures.divergences(SMALL)
    assert claim_of(report, "worse ones nowhere").holds is better
    assert claim_of(report, "For ℓ = 6").holds is at_six
    assert claim_of(report, "close to everything").holds is is_close


@pytest.mark.parametrize(
    ("entropy", "holds"),
    [([1, 1.2, 1.22, 1.1, 1.1], True), ([1, 1.2, 1.3, 1.4, 1.5], False), ([1, 1, 1, 1, 1.5], False)],
)
def test_the_claim_on_the_whole_table_follows_its_divergences(monkeypatch, entropy, holds):
    least = np.array([[[1.0] * 5, entropy, [9.0] * 5]] * 4)
    monkeypatch.setattr(Losses, "least", lambda _: (least, np.full(4, 10.0)))
    assert claim_of(diversity_figures.whole_table(SMALL), "Up to 6").holds is holds


def test_groups_of_a_small_table_are_not_huge(monkeypatch):
    figure = figure_of([5.0] * 5, [6.0] * 5, [6.0] * 5)
    monkeypatch.setattr(diversity_figures, "_samples", lambda *_: ("", figure, {}))
    report = diversity_figures.group_sizes(SMALL)
    assert not claim_of(report, "Of all records").holds


def test_limits_that_the_search_does_not_keep_to_are_found(monkeypatch):
    assert diversity_figures.limits(SMALL).holds
    for change in (lambda rules: (), lambda rules: rules or ((0, 0, 0),)):
        monkeypatch.setattr(
            diversity_figures,
            "minimal",
            lambda table, criterion, own=change: (
                minimal(table, criterion)[0],
                own(minimal(table, criterion)[1]),
                1,
            ),
        )
        report = diversity_figures.limits(SMALL)
        assert not any(claim.holds for claim in report.claims)


@pytest.mark.spec("LD-S10")
def test_limits_of_a_table_with_few_occupations_are_its_own(tmp_path):
    path = tmp_path / "own.csv"
    kinds = ("Sales",) * 4 + ("Tech-support",) * 3 + ("Craft-repair",) * 3
    write(
        path,
        [("30", "Male", "White", "Divorced", "HS-grad", "Cuba", "Private", own, "<=50K") for own in kinds],
    )
    report = diversity_figures.limits(Effort(adult=path))
    rows = dict(report.tables[0].rows)
    assert rows["values"] == 3
    assert rows["effective values"] == pytest.approx(math.exp(-sum(p * math.log(p) for p in (0.4, 0.3, 0.3))))
    assert rows["least c, ℓ = 3"] == pytest.approx(float(Fraction(4, 3)))
    assert report.holds
    assert not claim_of(report, "As printed").holds


@pytest.mark.parametrize(
    "occupations", [("Sales",), ("Sales", "Tech-support"), ("Sales", "Tech-support", "Craft-repair")]
)
def test_limits_of_equally_frequent_values_are_not_missed_by_rounding(tmp_path, occupations):
    path = tmp_path / "own.csv"
    write(
        path,
        [
            ("30", "Male", "White", "Divorced", "HS-grad", "Cuba", "Private", own, "<=50K")
            for own in occupations
        ],
    )
    report = diversity_figures.limits(Effort(adult=path))
    assert report.holds
    assert dict(report.tables[0].rows)["effective values"] == pytest.approx(len(occupations))


# Quick runs of what is not run above


@pytest.mark.spec("L3")
def test_searches_are_counted_by_quasi_identifiers():
    report = diversity_figures.times(SMALL)
    rows = report.tables[0].rows
    assert [row[:2] for row in rows] == [(3, 20), (4, 60), (5, 240), (6, 720), (7, 2160)]
    assert all(0 < row[4] <= row[1] and 0 < row[7] <= row[1] for row in rows)
    assert [picture.name for picture in report.pictures] == ["l3-time"]
    assert not any("second" in claim.text for claim in report.claims)


def test_samples_that_would_be_too_small_for_k_are_refused(capsys):
    small = ["--records", "2", "--entities", "40"]
    assert program.run(["experiment", "L8", *small], None) == 1
    assert "the experiment needs 600" in capsys.readouterr().err


@pytest.mark.spec("L8")
def test_a_figure_has_a_picture_per_set_with_the_divergence_of_everything_suppressed():
    report = diversity_figures.more_divergences(SMALL)
    (picture,) = report.pictures
    assert [series.name for series in picture.series] == [*MODELS, "all suppressed"]
    assert len(set(picture.series[-1].y)) == 1
    assert report.holds
    anonymous = np.array(picture.series[K].y)
    assert (anonymous <= picture.series[-1].y[0]).all()
    assert SALARY not in report.tables[0].title
