"""Comparisons of rules against every rule of small tables, tried one by one."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from app.domain.classes.released import Release
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.policies.objectives import objective_of, optimum_of
from app.domain.rules.rule import TableRule
from app.domain.search.alternatives.plan import AlternativesPlan
from app.domain.search.alternatives.questions import IMPORTANCE, document_of, weaker_than_likeness
from app.domain.search.alternatives.shown import shown_release, suggested
from app.domain.search.budget import UNLIMITED, Budget
from app.domain.search.objectives import Alternatives
from app.domain.tables.table import Table
from tests.unit.search.least_loss_tables import DATA, read

SIX = Hierarchy.from_rows([[str(v), f"pair {v // 2}", f"half {v // 4}", "*"] for v in range(6)])
FOUR = Hierarchy.from_rows([[str(v), f"pair {v // 2}", "*"] for v in range(4)])
FLAT = Hierarchy.from_rows([[str(v), "*"] for v in range(2)])
DAG = Hierarchy.from_parents(
    {"low": [None], "high": [None], "0": ["low"], "1": ["low", "high"], "2": ["high"]}
)


def table_of(seed, trees=(SIX, FOUR, FLAT), n=60, persons=None):
    random = np.random.default_rng(seed)
    columns = [
        tree.leaves[np.minimum(random.geometric(0.4, n) - 1, tree.n_leaves - 1)] for tree in (*trees, FOUR)
    ]
    names = tuple(f"q{number}" for number in range(len(trees)))
    people = None if persons is None else random.permutation(np.arange(n) % persons).astype(np.int32)
    return Table(
        (*names, "s"), (*trees, FOUR), np.stack(columns, axis=1), sensitive=frozenset("s"), persons=people
    )


def found(table, asked, budget=UNLIMITED):
    plan = AlternativesPlan(table, asked, budget)
    return plan.combine({number: plan.run_block(number, lambda _: None) for number in range(plan.n_blocks)})


def every_rule(table, k, values=1):
    """Levels → (suppressed records, losses of the columns) of every rule, counted by hand."""
    trees, columns, secret = table.hierarchies[:-1], table.codes[:, :-1], table.codes[:, -1]
    people = np.arange(len(columns)) if table.persons is None else table.persons
    for levels in itertools.product(*(range(tree.height + 1) for tree in trees)):
        shown = np.stack(
            [
                tree.ancestors_at(level)[columns[:, j]]
                for j, (tree, level) in enumerate(zip(trees, levels, strict=True))
            ],
            axis=1,
        )
        rows = [tuple(row) for row in shown.tolist()]
        members = {row: (set(), set()) for row in rows}
        for row, person, value in zip(rows, people.tolist(), secret.tolist(), strict=True):
            members[row][0].add(person)
            members[row][1].add(value)
        bad = {row for row, (own, told) in members.items() if len(own) < k or len(told) < values}
        gone = np.array([row in bad for row in rows])
        losses = []
        for j, tree in enumerate(trees):
            shares = np.where(gone, tree.n_leaves, tree.leaf_count[shown[:, j]]) / tree.n_leaves
            least = 1 / tree.n_leaves
            losses.append((shares.mean() - least) / (1 - least))
        yield levels, int(gone.sum()), losses


def geometric(losses, weights=None):
    weights = weights or [1] * len(losses)
    return math.expm1(sum(w * math.log1p(own) for w, own in zip(weights, losses, strict=True)) / sum(weights))


@pytest.mark.parametrize("visits", [1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_what_is_found_for_a_stricter_question_answers_the_others_whose_searches_ended_before(seed, visits):
    table, asked = table_of(seed), Alternatives((KAnonymity(4),), 0.1)
    ended, best = found(table, asked, Budget(visits)), found(table, asked)
    for got, least in ((ended.curves.suppression, best.curves.suppression), (ended.curves.k, best.curves.k)):
        assert all(own.loss >= true.loss for own, true in zip(got, least, strict=True))
        assert all(own.loss == true.loss for own, true in zip(got, least, strict=True) if own.is_proven)
    assert all(b.loss <= a.loss for a, b in itertools.pairwise(ended.curves.suppression))
    assert all(a.loss <= b.loss for a, b in itertools.pairwise(ended.curves.k))
    k_of_first = ended.found["one_level_per_column"].privacy[0].value
    losses = [own.loss for own in ended.curves.k if own.at <= k_of_first]
    assert all(own <= ended.found["one_level_per_column"].loss for own in losses)
    first, shown = (ended.found[way] for way in ("one_level_per_column", "every_column_shown"))
    assert first.bounds.lower <= best.found["one_level_per_column"].loss <= first.loss
    assert shown.loss is None or first.loss <= shown.loss


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize(("values", "persons"), [(1, None), (2, None), (1, 25)])
def test_every_rule_of_one_level_per_column_is_the_best_of_its_kind(seed, values, persons):
    table, k, limit = table_of(seed, persons=persons), 4, (0.02, 0.1, 0.3)[seed % 3]
    privacy = (KAnonymity(k), *(() if values == 1 else (DistinctLDiversity(values),)))
    outcome = found(table, Alternatives(privacy, limit, ("q1",)))
    rules = list(every_rule(table, k, values))
    allowed = math.floor(limit * table.n_records + 1e-9)
    feasible = [(levels, gone, losses) for levels, gone, losses in rules if gone <= allowed]
    best = outcome.found["one_level_per_column"]
    assert best.loss == pytest.approx(min(geometric(losses) for *_, losses in feasible))
    weighed = outcome.found["important_columns"]
    least = min(geometric(losses, [1, IMPORTANCE, 1]) for *_, losses in feasible)
    assert weighed.loss == pytest.approx(least)
    tops = [tree.height for tree in table.hierarchies[:-1]]
    shows_all = [own for own in rules if all(a < b for a, b in zip(own[0], tops, strict=True))]
    within = [geometric(losses) for _, gone, losses in shows_all if gone <= allowed]
    shown = outcome.found["every_column_shown"]
    if within:
        assert shown.loss == pytest.approx(min(within))
        assert outcome.short is None
    else:
        assert (shown.status, shown.rule) == ("infeasible", None)
        assert outcome.short.is_least == (values == 1)
        least = min(gone for _, gone, _ in shows_all) - allowed
        assert outcome.short.records == least if values == 1 else outcome.short.records >= least
    for point in outcome.curves.suppression:
        most = math.floor(point.at * table.n_records + 1e-9)
        losses = [geometric(losses) for _, gone, losses in rules if gone <= most]
        assert point.is_proven
        assert point.loss == pytest.approx(min(losses))
    for point in outcome.curves.k:
        losses = [geometric(own) for _, gone, own in every_rule(table, point.at, values) if gone <= allowed]
        assert point.loss == pytest.approx(min(losses))


def likeness_of_rules(table):
    """Levels → losses, least ℓ, greatest t and gain by value of every rule that suppresses nobody."""
    secret = table.codes[:, -1].tolist()
    whole, n = Counter(secret), len(secret)
    trees = table.hierarchies[:-1]
    for levels, _, losses in every_rule(table, 1):
        members = {}
        nodes = [
            tree.ancestors_at(level)[table.codes[:, j]].tolist()
            for j, (tree, level) in enumerate(zip(trees, levels, strict=True))
        ]
        for *row, value in zip(*nodes, secret, strict=True):
            members.setdefault(tuple(row), []).append(value)
        counts = [Counter(own) for own in members.values()]
        gains = {
            value: max(Fraction(own[value] * n, own.total() * whole[value]) - 1 for own in counts)
            for value in whole
        }
        far = [
            sum(abs(Fraction(own[v], own.total()) - Fraction(whole[v], n)) for v in whole) / 2
            for own in counts
        ]
        yield losses, min(map(len, counts)), max(far), gains


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("beta", ["0.7", "1", "2.5"])
@pytest.mark.parametrize("bound", ["enhanced", "basic"])
def test_likeness_stands_beside_the_values_and_the_distance_that_it_implies(seed, beta, bound):
    table = table_of(seed)
    shares = {value: n / 60 for value, n in Counter(table.codes[:, -1].tolist()).items()}
    asked = (KAnonymity(1), BetaLikeness(float(beta), bound, "s"))
    points = found(table, Alternatives(asked, 0.0)).curves.likeness
    kinds = [own["kind"] for point in points for own in point.privacy]
    assert kinds in (
        ["beta_likeness", "distinct_l_diversity", "t_closeness"],
        ["beta_likeness", "t_closeness"],
    )
    rules = list(likeness_of_rules(table))
    caps = {
        v: min(float(beta), -math.log(p) + 1e-9) if bound == "enhanced" else float(beta)
        for v, p in shares.items()
    }
    like = [own for own in rules if all(gain <= caps[value] for value, gain in own[3].items())]
    first, *_, last = points
    assert all(point.is_proven and point.suppressed_records == 0 for point in points)
    assert first.loss == pytest.approx(min(geometric(own[0]) for own in like))
    t = Fraction(str(last.privacy[0]["t"]))
    assert all(own[2] <= t for own in like)
    assert last.loss == pytest.approx(min(geometric(own[0]) for own in rules if own[2] <= t))
    if len(points) == 3:
        ell = points[1].privacy[0]["l"]
        assert all(own[1] >= ell for own in like)
        assert points[1].loss == pytest.approx(min(geometric(own[0]) for own in rules if own[1] >= ell))
    assert max(point.loss for point in points) == first.loss


@pytest.mark.parametrize("version", [1, 2])
def test_what_likeness_implies_is_asked_in_its_version(version):
    likeness = BetaLikeness(2, attribute="s", version=version)
    points = found(table_of(1), Alternatives((KAnonymity(2), likeness), 0.1)).curves.likeness
    assert len(points) == 3
    assert {own.get("version", 1) for point in points for own in point.privacy} == {version}


def test_nothing_stands_beside_likeness_of_persons_or_where_it_is_not_asked():
    likeness = (KAnonymity(2), BetaLikeness(2, attribute="s"))
    persons = weaker_than_likeness(Alternatives(likeness, 0.1), table_of(1, persons=20))
    assert persons == weaker_than_likeness(Alternatives(likeness[:1], 0.1), table_of(1)) == {}
    of_groups = BetaLikeness(2, attribute="s", groups=("pair 0",), values_in_groups="free")
    assert weaker_than_likeness(Alternatives((KAnonymity(2), of_groups), 0.1), table_of(1)) == {}
    with pytest.raises(InvalidInput) as refused:
        AlternativesPlan(table_of(1), Alternatives((KAnonymity(2), BetaLikeness(2, attribute="q")), 0.1))
    assert refused.value.faults[0].pointer == "/objective/privacy/1/attribute"


@pytest.mark.parametrize("seed", range(6))
def test_levels_per_record_lose_no_more_and_suppress_nobody_where_that_is_asked(seed):
    table = table_of(seed)
    outcome = found(table, Alternatives((KAnonymity(4),), 0.1))
    by_record, nobody = outcome.found["levels_per_record"], outcome.found["fewer_suppressed"]
    assert by_record.loss <= outcome.found["one_level_per_column"].loss + 1e-12
    assert by_record.bounds.lower <= by_record.loss
    assert nobody.suppressed_records == 0
    assert by_record.loss <= nobody.loss
    assert by_record.suppressed_records or nobody.loss == by_record.loss


def test_what_a_release_shows_is_counted_by_hand():
    table = table_of(5, persons=20)
    rule, gone = suppress_failing(table, TableRule((1, 2, 0, 0)), ClassSuppression((KAnonymity(4),)))
    assert 0 < gone.sum() < 60
    shown = shown_release(Release(table, rule))
    assert shown.suppressed_records == gone.sum()
    assert (shown.persons, shown.persons_suppressed) == (20, 20 - len(set(table.persons[~gone].tolist())))
    pairs = Counter(SIX.labels[node] for node in SIX.ancestors_at(1)[table.codes[~gone, 0]].tolist())
    first, hidden, flat = shown.columns
    assert [(own.level, own.records) for own in first.levels] == [(1, 60 - gone.sum())]
    assert pairs[first.levels[0].example] == max(pairs.values())
    assert (hidden.shown_share, hidden.levels[0].level, hidden.levels[0].example) == (0.0, 2, None)
    assert (flat.shown_share, flat.levels[0].level) == (1.0, 0)
    assert shown.loss == pytest.approx(geometric([own.loss for own in shown.columns]))
    assert shown.smallest_class >= 4
    assert shown.least_shown == 0.0


def test_the_suggestion_shows_every_column_if_any_does():
    table = table_of(1)
    releases = [
        shown_release(Release(table, TableRule(levels)))
        for levels in ((0, 0, 1, 0), (2, 1, 0, 0), (1, 1, 0, 0))
    ]
    assert suggested(releases) == 2
    assert suggested(releases[:1]) == 0
    assert suggested([]) is None


def test_hierarchies_that_are_no_trees_are_shown_as_they_are_or_not_at_all():
    table = table_of(2, trees=(DAG, FOUR))
    outcome = found(table, Alternatives((KAnonymity(3),), 0.5))
    assert "levels_per_record" not in {*outcome.found, *outcome.missing}
    assert outcome.found["fewer_suppressed"].suppressed_records == 0
    shown = outcome.found["every_column_shown"].rule
    assert shown is None or shown.levels[0] == 0


def test_one_quasi_identifier_is_enough_to_compare():
    outcome = found(table_of(3, trees=(SIX,)), Alternatives((KAnonymity(3),), 0.1))
    assert not outcome.missing
    assert outcome.complete


@pytest.mark.deep
@pytest.mark.parametrize("limit", [0.0, 0.1])
def test_sixty_quasi_identifiers_are_compared_soon_and_prove_less(limit):
    outcome = found(table_of(3, trees=(FLAT,) * 60, n=40), Alternatives((KAnonymity(3),), limit))
    assert outcome.found["one_level_per_column"].rule is not None
    assert outcome.found["every_column_shown"].rule is None
    assert outcome.short.records > 0
    assert outcome.complete


def test_a_table_of_sensitive_columns_alone_is_refused():
    table = Table(("s",), (FOUR,), FOUR.leaves[:, None], sensitive=frozenset("s"))
    with pytest.raises(InvalidInput) as refused:
        AlternativesPlan(table, Alternatives((KAnonymity(2),)))
    assert refused.value.faults[0].code == "no-quasi-identifiers"


def test_a_comparison_that_is_halted_tells_what_it_has():
    table = table_of(4)
    plan = AlternativesPlan(table, Alternatives((KAnonymity(4),), 0.1))
    outcome = plan.combine({0: plan.run_block(0, lambda _: None)})
    assert not outcome.complete
    assert outcome.found["one_level_per_column"].rule is not None
    assert set(outcome.missing) == {"levels_per_record", "every_column_shown", "fewer_suppressed"}


def test_a_comparison_is_read_as_it_was_written_and_is_no_optimum_for_a_policy():
    asked = Alternatives((KAnonymity(4),), 0.1, ("q1",))
    assert objective_of(document_of(asked)) == asked
    with pytest.raises(InvalidInput, match="no optimum"):
        optimum_of(document_of(asked))


@pytest.mark.parametrize("at", range(3))
def test_what_is_found_does_not_depend_on_an_interruption(at):
    asked = Alternatives((KAnonymity(4),), 0.1)
    whole, first = (AlternativesPlan(table_of(6), asked) for _ in range(2))
    blocks = {number: whole.run_block(number, lambda _: None) for number in range(whole.n_blocks)}
    for number in range(at + 1):
        first.run_block(number, lambda _: None)
    again = AlternativesPlan(table_of(6), asked)
    again.answers.recall(first.answers.kept())
    assert {
        number: again.run_block(number, lambda _: None) for number in reversed(range(again.n_blocks))
    } == blocks


@pytest.mark.deep
@pytest.mark.real_data
@pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets")
def test_on_adult_the_suggestion_shows_every_column():
    table = replace(read("arx-adult", "adult.csv", "adult_hierarchy_"), sensitive=frozenset({"occupation"}))
    outcome = found(table, Alternatives((KAnonymity(5),), 0.02))
    one, by_record = (outcome.found[way] for way in ("one_level_per_column", "levels_per_record"))
    assert one.status == "optimal"
    assert by_record.loss < one.loss / 4
    assert outcome.short.records > 0
    releases = [shown_release(Release(table, by_record.rule))]
    assert suggested(releases) == 0
    assert releases[0].least_shown > 0.5
