"""Whom each place that judges classes says fails and is suppressed, for every criterion and way of matching.

The places are the judge of table-level rules, that of levels per record, rules that state what they suppress
and gates. All are held against one another, and where a criterion is simple enough against pairs of records.
"""

from __future__ import annotations

import itertools
from typing import get_args

import numpy as np
import pytest

from app.domain.classes.grouping import Grouping, Missing
from app.domain.classes.released import Release
from app.domain.counting.counter import Counter
from app.domain.errors import NotSupported
from app.domain.gates.class_shares import failing_records
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.catalogue import loss_of
from app.domain.models.alpha_k_anonymity import AlphaKAnonymity
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.class_suppression import ClassSuppression, suppress_failing
from app.domain.models.criteria import CRITERIA
from app.domain.models.delta_disclosure import DeltaDisclosure
from app.domain.models.delta_presence import DeltaPresence
from app.domain.models.disclosure_diversity import NpdRecursiveLDiversity, PdRecursiveLDiversity
from app.domain.models.distinct_l_diversity import DistinctLDiversity
from app.domain.models.entropy_l_diversity import CorrectedEntropyLDiversity, EntropyLDiversity
from app.domain.models.journalist_risk import AverageJournalistRisk, HighestJournalistRisk, MarketerRisk
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.k_e_anonymity import KEAnonymity
from app.domain.models.k_map import EstimatedKMap, KMap
from app.domain.models.population_uniqueness import PopulationUniqueness, SampleUniqueness
from app.domain.models.prosecutor_risk import AverageRisk, HighestRisk
from app.domain.models.reconstruction_privacy import ReconstructionPrivacy
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.models.rho_privacy import RhoPrivacy
from app.domain.models.t_closeness import TCloseness
from app.domain.rules.rule import apply
from app.domain.search.full_domain.plan import suppressed_at
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.search.local_recoding.cells import Cells
from app.domain.search.local_recoding.class_criteria import ClassCriteria
from app.domain.search.local_recoding.losses import CellSums
from app.domain.search.local_recoding.recoding import Recoding
from app.domain.tables.table import Table
from tests.oracles.effort import examples
from tests.oracles.pairs_of_records import Shown, dictionary_of, released, suppressed_by_hand, table_rule
from tests.oracles.recodings import SMALL

MATCHING = get_args(Missing)
COSTS = Hierarchy.from_parents({"10": [None], "25": [None], "40": [None]})
"""A sensitive attribute whose values are numbers, too."""
OF_ILLNESS = {"attribute": "illness"}
BY_HAND = (
    KAnonymity(2),
    KMap(3),
    HighestRisk(0.5),
    AverageRisk(0.6),
    HighestJournalistRisk(0.34),
    AverageJournalistRisk(0.5),
    MarketerRisk(0.5),
    SampleUniqueness(0.25),
    DistinctLDiversity(2, **OF_ILLNESS),
    EntropyLDiversity(2, **OF_ILLNESS),
    RecursiveLDiversity(1.5, 2, **OF_ILLNESS),
    AlphaKAnonymity(0.5, 2, **OF_ILLNESS),
    TCloseness(0.25, **OF_ILLNESS),
    BetaLikeness(0.25, "basic", **OF_ILLNESS),
)
AGREEING = (
    EstimatedKMap(2, 0.5),
    DeltaPresence(0.0, 0.5),
    DeltaPresence(0.2, 0.7),
    PopulationUniqueness(0.3, 0.5, estimator="zayatz"),
    CorrectedEntropyLDiversity(2.0, **OF_ILLNESS),
    PdRecursiveLDiversity(1.5, 2, ("10",), **OF_ILLNESS),
    NpdRecursiveLDiversity(1.5, 2, (), protected=("25",), least_percent=20.0, **OF_ILLNESS),
    DeltaDisclosure(0.7, **OF_ILLNESS),
    RhoPrivacy(0.34, 0.7, **OF_ILLNESS),
    KEAnonymity(2, 20.0, **OF_ILLNESS),
    ReconstructionPrivacy(0.5, 0.9, 0.8, **OF_ILLNESS),
    ReconstructionPrivacy(0.5, 0.9, 0.3, "exact_min", **OF_ILLNESS),
)


def test_every_criterion_is_held_against_the_others():
    assert {type(own) for own in (*BY_HAND, *AGREEING)} == set(CRITERIA)


def worlds(seed, wanted, complete=False):
    """Tables of six records that lack some values, people with their illness, and levels to judge."""
    rng = np.random.default_rng(seed)
    for _ in range(examples(wanted)):
        leaves = SMALL.leaves
        codes = np.column_stack([rng.choice(leaves, 6), rng.choice(leaves[:3], 6), rng.integers(1, 4, 6)])
        codes[:, :2][rng.random((6, 2)) < (0 if complete else rng.choice([0.0, 0.2, 0.5]))] = 0
        if not complete and rng.random() < 0.3:
            codes[0, :2] = 0
        names = ("a0", "a1", "illness")
        table = Table(names, (SMALL, SMALL, COSTS), codes.astype(np.int32), sensitive=frozenset({names[2]}))
        people = [(*(c or int(rng.choice(leaves)) for c in row[:2]), int(row[2])) for row in codes.tolist()]
        people += [(*rng.choice(leaves, 2).tolist(), int(rng.integers(1, 4))) for _ in range(4)]
        every = list(itertools.product(range(SMALL.height + 1), repeat=2))
        yield table, people, [tuple(levels) for levels in rng.permutation(every)[:4].tolist()]


class Judges:
    """The places that suppress records of a table, each made once for all its rules."""

    def __init__(self, table, problem, dictionary):
        self._table, self._problem = table, problem
        (self._criterion,) = problem.privacy
        known = dictionary if self._criterion.needs_population else None
        self._judge, self._demands = Judge(table, problem, known), ClassCriteria(table, problem, known)
        self._cells = Cells(table, loss_of(table, problem.loss), overlapping=self._demands.overlaps)

    def suppressed(self, levels):
        """(n,) per place whom it suppresses of a rule of levels."""
        rule = table_rule(self._table, levels)
        found = {"judge": suppressed_at(self._table, self._judge, rule.levels)}
        if not self._criterion.needs_population:
            stated = ClassSuppression((self._criterion,), self._problem.missing, order="class_by_class")
            found["rule"] = suppress_failing(self._table, rule, stated)[1]
        # Of recodings outsiders are judged as a whole, and who shows nothing is suppressed to begin with.
        bars_outsiders = getattr(self._criterion, "bars_outsiders", False)
        if not bars_outsiders and (found["judge"].any() or not shows_nothing(self._table, levels).any()):
            cells, criteria = self._cells, self._demands
            begun = Recoding(cells, criteria, CellSums(cells), cells.at_levels(levels))
            found["recoding"] = criteria.to_suppress(begun.placed)[self._table.reduced.inverse]
        return found


def shows_nothing(table, levels):
    shown = apply(table_rule(table, levels), table)[:, list(table.quasi_identifiers)]
    return ~shown.any(axis=1)


def failing_by_hand(table, problem, levels, people):
    """Whom gates count as failing: who is left out, and whose class fails without them.

    Where classes overlap they go by whom a rule would suppress: those of whom nothing is shown go first.
    """
    (criterion,) = problem.privacy
    lacks = (table.codes[:, :2] == 0).any(axis=1)
    gone = frozenset(np.flatnonzero(lacks).tolist()) if problem.missing == "excluded" else frozenset()

    def failing():
        kept = frozenset(range(table.n_records)) - gone
        return frozenset(Shown(table, levels, people, kept, missing=problem.missing).fails(criterion))

    if problem.missing != "matches_everything":
        return gone | failing()
    if failing():
        gone = frozenset(np.flatnonzero(shows_nothing(table, levels)).tolist())
    while more := failing():
        gone |= more
    return gone


@pytest.mark.deep
@pytest.mark.parametrize("missing", MATCHING)
@pytest.mark.parametrize("criterion", BY_HAND, ids=lambda own: own.kind)
def test_whoever_fails_and_is_suppressed_is_who_pairs_of_records_say(criterion, missing):
    problem, reading = AnonymityProblem((criterion,), 1.0, missing=missing), Grouping(missing=missing)
    for table, people, rules in worlds(1, 30):
        dictionary = dictionary_of(table, people, (2,))
        judges, counter = Judges(table, problem, dictionary), Counter(table, dictionary)
        for levels in rules:
            expected = suppressed_by_hand(table, problem, levels, people, table.n_records, by_rule=True)
            for place, records in judges.suppressed(levels).items():
                assert set(np.flatnonzero(records).tolist()) == expected, place
            if not criterion.table_wide:
                release = Release(table, table_rule(table, levels))
                found = failing_records(release, criterion, reading, counter)
                by_hand = failing_by_hand(table, problem, levels, people)
                assert set(np.flatnonzero(found).tolist()) == by_hand
            after = Release(table, released(table, problem, levels, expected))
            assert not failing_records(after, criterion, reading, counter).any()


@pytest.mark.deep
@pytest.mark.parametrize("missing", MATCHING)
@pytest.mark.parametrize("criterion", AGREEING, ids=lambda own: own.kind)
def test_all_places_suppress_the_same_records(criterion, missing):
    problem = AnonymityProblem((criterion,), 1.0, missing=missing)
    if criterion.needs_partition and missing == "matches_everything":
        pytest.skip("refused: it has no meaning for classes that overlap")
    for table, people, rules in worlds(2, 30, complete=isinstance(criterion, DeltaPresence)):
        dictionary = dictionary_of(table, people, (2,))
        judges, counter = Judges(table, problem, dictionary), Counter(table, dictionary)
        for levels in rules:
            found = judges.suppressed(levels)
            first = found["judge"]
            for place, own in found.items():
                assert (own == first).all(), place
            gone = set(np.flatnonzero(first).tolist())
            after = Release(table, released(table, problem, levels, gone))
            fails = failing_records(after, criterion, Grouping(missing=missing), counter)
            # Who is suppressed may be anybody: that somebody else is absent is told by the whole release.
            assert getattr(criterion, "bars_outsiders", False) or not fails.any()


@pytest.mark.parametrize(
    "criterion",
    [PopulationUniqueness(0.3, 0.5), ReconstructionPrivacy(0.5, 0.9, 0.8)],
    ids=lambda own: own.kind,
)
def test_no_place_judges_overlapping_classes_by_what_has_no_meaning_for_them(criterion):
    missing = "matches_everything"
    problem = AnonymityProblem((criterion,), 1.0, missing=missing)
    codes = np.array([[0, 1], [1, 1], [2, 2]], dtype=np.int32)
    table = Table(("a0", "illness"), (SMALL, COSTS), codes, sensitive=frozenset({"illness"}))
    with pytest.raises(NotSupported):
        Judge(table, problem)
    with pytest.raises(NotSupported):
        suppress_failing(table, table_rule(table, (0,)), ClassSuppression((criterion,), missing))
    with pytest.raises(NotSupported):
        failing_records(Release(table, None), criterion, Grouping(missing=missing))
