"""Least loss under any criteria and by any loss: random questions, and every rule tried."""

from __future__ import annotations

import itertools
from collections import Counter
from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import strategies as st

from app.domain.classes.released import Release
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import TOP, Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice, SummedLoss
from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.class_suppression import suppress_records
from app.domain.models.delta_disclosure import DeltaDisclosure
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.disclosure_diversity import NpdRecursiveLDiversity, PdRecursiveLDiversity
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.judging import JudgedRecords
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_map import KMap
from app.domain.models.population_uniqueness import SampleUniqueness
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.models.reidentification_risk import AverageRisk, HighestRisk
from app.domain.models.t_closeness import TCloseness
from app.domain.search.budget import UNLIMITED
from app.domain.search.full_domain.plan import AnonymityPlan
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.tables.table import Table
from tests.oracles.search_instances import hierarchies
from tests.oracles.trees import ByHand

LOSSES = (
    "geometric",
    "arithmetic",
    "precision",
    "height",
    "discernibility",
    "average_class_size",
    "non_uniform_entropy",
    "ambiguity",
    "kl_divergence",
    "ail",
)


FLAT = [Hierarchy.from_parents({f"s{i}": [None] for i in range(n)}) for n in (2, 3, 4)]


@st.composite
def tables(draw, most_attributes=3, most_records=14, most_sensitive=2, trees=hierarchies()):  # noqa: B008
    """Quasi-identifiers of random trees and one or two sensitive attributes, in any order."""
    names = [f"q{j}" for j in range(draw(st.integers(1, most_attributes)))]
    sensitive = [f"s{j}" for j in range(draw(st.integers(1, most_sensitive)))]
    order = draw(st.permutations(names + sensitive))
    shapes = {name: draw(st.sampled_from(FLAT) if name in sensitive else trees) for name in order}
    n = draw(st.integers(1, most_records))
    codes = [[draw(st.integers(0, shapes[name].n_nodes - 1)) for name in order] for _ in range(n)]
    return Table(
        tuple(order),
        tuple(shapes[name] for name in order),
        np.array(codes, dtype=np.int32).reshape(n, len(order)),
        sensitive=frozenset(sensitive),
    )


def criteria_of(name, others):
    """One of each kind, with numbers that matter on small tables."""
    small, share = st.integers(1, 4), st.sampled_from([0.1, 0.25, 0.34, 0.5, 0.75, 1.0])
    c = st.sampled_from([0.5, 1.0, 1.5, 3.0])
    among = {"attribute": st.just(name), "others": st.just(others)}
    return {
        "k_anonymity": st.builds(KAnonymity, small),
        "distinct_l_diversity": st.builds(DistinctLDiversity, small, **among),
        "entropy_l_diversity": st.builds(EntropyLDiversity, st.sampled_from([1.0, 1.5, 2.0, 3.0]), **among),
        "recursive_l_diversity": st.builds(RecursiveLDiversity, c, small, **among),
        "pd_recursive_l_diversity": st.builds(
            PdRecursiveLDiversity, c, small, st.sampled_from([(), ("s0",)]), **among
        ),
        "npd_recursive_l_diversity": st.builds(
            NpdRecursiveLDiversity,
            c,
            small,
            st.sampled_from([(), ("s0",)]),
            protected=st.sampled_from([(), ("s1",)]),
            least_percent=st.sampled_from([10.0, 30.0]),
            **among,
        ),
        "alpha_k_anonymity": st.builds(AlphaKAnonymity, share, small, attribute=st.just(name)),
        "t_closeness": st.builds(
            TCloseness,
            st.sampled_from([0.0, 0.1, 0.2, 0.35, 0.6]),
            st.sampled_from(["equal", "hierarchical", "kl", "js"]),
            st.just(name),
        ),
        "delta_disclosure": st.builds(
            DeltaDisclosure, st.sampled_from([0.3, 0.8, 2.0]), attribute=st.just(name)
        ),
        "beta_likeness": st.builds(
            BetaLikeness,
            st.sampled_from([0.3, 1.0, 2.0]),
            st.sampled_from(["enhanced", "basic"]),
            attribute=st.just(name),
            beta_negative=st.sampled_from([None, None, 0.3, 0.8]),
        ),
        "highest_risk": st.builds(HighestRisk, share),
        "average_risk": st.builds(AverageRisk, share),
        "sample_uniqueness": st.builds(SampleUniqueness, share),
        "k_map": st.builds(KMap, small),
        "delta_presence": st.builds(
            DeltaPresence, st.sampled_from([0.0, 0.2]), st.sampled_from([0.3, 0.6, 1.0])
        ),
    }


@st.composite
def questions(draw, kinds=None, losses=LOSSES, **sizes):
    """A table, a problem on it."""
    table = draw(tables(**sizes))
    own = criteria_of(
        draw(st.sampled_from(sorted(table.sensitive))), draw(st.sampled_from(["in_classes", "apart"]))
    )
    offered = [own[kind] for kind in sorted(own) if kinds is None or kind in kinds]
    if kinds is None:
        offered = [own[kind] for kind in sorted(own) if kind not in ("k_map", "delta_presence")]
    privacy = draw(st.lists(st.one_of(offered), min_size=1, max_size=3))
    return table, AnonymityProblem(
        tuple(privacy),
        draw(st.sampled_from([0.0, 0.0, 0.2, 0.4, 0.6, 0.75, 1.0])),
        LossChoice(draw(st.sampled_from(losses))),
        draw(st.sampled_from(["own_category", "own_category", "excluded"])),
        draw(st.sampled_from(["excluded", "excluded", "own_block"])),
    )


def classes_by_hand(table, levels, trees):
    """What each record shows of its quasi-identifiers."""
    return [
        tuple(
            tree.at(row[j], level)
            for j, tree, level in zip(table.quasi_identifiers, trees, levels, strict=True)
        )
        for row in table.codes.tolist()
    ]


def judged(table, rows, dictionary, levels, known=()):
    """The classes of rows that are equal; None leaves a record out, ``known`` are rows of the table, too."""
    numbers = {row: i for i, row in enumerate(dict.fromkeys(row for row in rows if row is not None))}
    of = np.array([-1 if row is None else numbers[row] for row in rows], dtype=np.int64)
    records = JudgedRecords(table, np.arange(len(rows), dtype=np.int32))
    found = records.judged(of, len(numbers), people_by_hand(table, list(numbers), dictionary, levels, known))
    return numbers, found


def people_by_hand(table, rows, dictionary, levels, known):
    if dictionary is None:
        return None
    trees = [ByHand(table.hierarchies[j]) for j in table.quasi_identifiers]
    shown = Counter(
        tuple(tree.at(code, level) for tree, code, level in zip(trees, person, levels, strict=True))
        for person in dictionary
    )
    found = [len(dictionary) if not any(row) else shown[row] for row in rows]
    return SimpleNamespace(
        entities=np.array(found, dtype=np.int64),
        outside=len(dictionary) - sum(shown[row] for row in {*rows, *known}),
    )


def place_in_order(table, sizes, row):
    """Where a class is in the order in which classes go: fewest records, most leaves, least nodes."""
    trees = [table.hierarchies[j] for j in table.quasi_identifiers]
    told = 0.0
    for tree, node in zip(trees, row, strict=True):
        if tree.n_leaves > 1:
            told += (tree.n_leaves - int(tree.leaf_count[node])) / (tree.n_leaves - 1)
    return sizes[row], told, row


def suppressed_by_hand(table, problem, rows, allowed, dictionary, levels):
    """Which records a rule suppresses; None for too many, or if what remains is not as asked.

    As soon as there is anybody, whoever shows nothing is among them.
    """
    nothing = tuple(0 for _ in table.quasi_identifiers)
    lacking = [
        problem.missing == "excluded" and any(row[j] == TOP for j in table.quasi_identifiers)
        for row in table.codes.tolist()
    ]
    kept = [None if lacks else row for lacks, row in zip(lacking, rows, strict=True)]
    numbers, found = judged(table, kept, dictionary, levels)
    one_by_one = [c for c in problem.privacy if not c.table_wide]
    together = [c for c in problem.privacy if c.table_wide]
    bad = {row for row, i in numbers.items() for c in one_by_one if c.failing(found)[i]}
    out = bad | ({nothing} if bad or any(lacking) else set())
    while True:
        left = [None if row is None or row in out else row for row in kept]
        if sum(row is None for row in left) > allowed:
            return None
        remaining = judged(table, left, dictionary, levels)[1]
        if not len(remaining.sizes) or all(c.satisfied(remaining) for c in together):
            break
        # Whoever shows nothing goes first, then the smallest, of equals whoever shows least.
        others = Counter(row for row in left if row is not None)
        is_next = partial(place_in_order, table, others)
        out = out | {nothing if nothing in others else min(others, key=is_next)}
    gone = [row is None for row in left]
    if any(gone) and outsiders_by_hand(table, problem, gone, dictionary, levels):
        return None
    if problem.suppressed == "own_block" and gone != lacking:
        own = zip(left, lacking, strict=True)
        own = [None if lacks else nothing if row is None else row for row, lacks in own]
        block = judged(table, own, dictionary, levels, rows)[1]
        if not all(c.satisfied(block) for c in problem.privacy):
            return None
    return gone


def outsiders_by_hand(table, problem, gone, dictionary, levels):
    """People with a tuple that no record has, by the least levels that a reader finds in what is shown.

    0 unless a lower bound of δ-presence makes them matter.
    """
    if not any(isinstance(c, DeltaPresence) and c.lower for c in problem.privacy):
        return 0
    trees = [ByHand(table.hierarchies[j]) for j in table.quasi_identifiers]
    shown = [row for row, g in zip(classes_by_hand(table, levels, trees), gone, strict=True) if not g]
    told = []
    for i, tree in enumerate(trees):
        j = table.quasi_identifiers[i]
        own = [code for code, g in zip(table.codes[:, j].tolist(), gone, strict=True) if not g]
        fits = (
            level
            for level in range(tree.height + 1)
            if all(tree.at(code, level) == row[i] for code, row in zip(own, shown, strict=True))
        )
        told.append(next(fits))
    known = classes_by_hand(table, told, trees)
    return people_by_hand(table, [], dictionary, told, known).outside


def loss_by_rows(loss, table, levels, rows, gone):
    """The loss of a rule from what is shown of each record and who is suppressed."""
    if isinstance(loss, SummedLoss):
        values = []
        for j, nodes in zip(table.quasi_identifiers, loss.nodes, strict=True):
            counted = Counter(table.codes[gone, j].tolist())
            values.append(np.array([counted[node] for node in nodes.tolist()], dtype=np.int64))
        return loss.of(levels, loss.added(values))
    keys = [(row, g) for row, g in zip(rows, gone, strict=True)]
    numbers = {key: i for i, key in enumerate(dict.fromkeys(keys))}
    of_row = np.empty(table.reduced.size, dtype=np.intp)
    of_row[table.reduced.inverse] = [numbers[key] for key in keys]
    sizes = np.bincount([numbers[key] for key in keys]).astype(np.int64)
    suppressed = np.array([g for _, g in numbers])
    return loss.of(levels, SimpleNamespace(sizes=sizes, of_row=of_row), suppressed if any(gone) else None)


def best_by_hand(table, problem, dictionary=None):
    """(levels, loss, suppressed) of the allowed rule of least loss, smallest levels of ties; None: none."""
    trees = [ByHand(table.hierarchies[j]) for j in table.quasi_identifiers]
    loss = loss_of(table, problem.loss)
    allowed = int(problem.suppression_limit * table.n_records + 1e-9)
    rated = []
    for levels in itertools.product(*(range(tree.height + 1) for tree in trees)):
        rows = classes_by_hand(table, levels, trees)
        gone = suppressed_by_hand(table, problem, rows, allowed, dictionary, levels)
        if gone is not None:
            rated.append((levels, loss_by_rows(loss, table, levels, rows, gone), sum(gone)))
    if not rated:
        return None
    least = min(value for _, value, _ in rated)
    return min(rule for rule in rated if rule[1] <= least + 1e-12 * max(1.0, abs(least)))


def solved(table, problem, budget=UNLIMITED, halted=lambda: False, dictionary=None):
    plan = AnonymityPlan(table, problem, budget, dictionary)
    return plan.combine({0: plan.run_block(0, lambda _: None, halted)})


@st.composite
def populations(draw):
    """A question about a population: every record's attributes are leaves, and so are the people's."""
    trees = st.sampled_from(
        [
            Hierarchy.from_parents({"a": [None], "b": [None], "c": [None]}),
            Hierarchy.from_rows([("a", "x", "*"), ("b", "x", "*"), ("c", "y", "*")]),
        ]
    )
    table, problem = draw(questions(("k_map", "delta_presence", "k_anonymity"), trees=trees))
    leaves = [table.hierarchies[j].leaves for j in table.quasi_identifiers]
    codes = table.codes.copy()
    for j, own in zip(table.quasi_identifiers, leaves, strict=True):
        codes[:, j] = own[codes[:, j] % len(own)]
    table = Table(table.attributes, table.hierarchies, codes, sensitive=table.sensitive)
    others = draw(st.lists(st.tuples(*(st.sampled_from(own.tolist()) for own in leaves)), max_size=8))
    listed = codes[:, table.quasi_identifiers].tolist()[draw(st.integers(0, 1)) :]
    people = [*map(tuple, listed), *others] or [tuple(int(own[0]) for own in leaves)]
    links = [
        link_nodes(table.attributes[j], table.hierarchies[j], np.array(column, dtype=np.int32))
        for j, column in zip(table.quasi_identifiers, zip(*people, strict=True), strict=True)
    ]
    return table, problem, Dictionary(len(people), tuple(links)), people


def released(table, problem, dictionary=None):
    """The release of the rule that a search finds, and the search's outcome; None if there is none."""
    plan = least_loss_plan(table, problem, dictionary=dictionary)
    outcome = plan.combine({0: plan.run_block(0, lambda _: None)})
    if outcome.rule is None:
        return None, outcome
    gone = plan.suppressed_records(outcome.rule.levels)
    rule = outcome.rule
    if gone.any():
        rule = suppress_records(table, rule, gone, problem.missing, problem.suppressed)
    return Release(table, rule), outcome


def same_as_by_hand(table, problem, dictionary=None, people=None):
    found, expected = solved(table, problem, dictionary=dictionary), best_by_hand(table, problem, people)
    # Other sets of classes than those in order may lose less.
    unproven = found.status == "heuristic" and any(own.table_wide for own in problem.privacy)
    if expected is None:
        assert found.rule is None
        assert unproven or (found.status == "infeasible" and found.refusals)
        return
    levels, loss, suppressed = expected
    assert found.status == "optimal" or unproven
    assert tuple(found.rule.levels[j] for j in table.quasi_identifiers) == levels
    assert all(found.rule.levels[table.position(name)] == 0 for name in table.sensitive)
    assert found.loss == pytest.approx(loss, abs=1e-12, rel=1e-12)
    assert found.suppressed_records == suppressed
    assert found.bounds.lower == found.loss or (unproven and found.bounds.lower < found.loss)
