"""Optima of the Adult table with weights, aggregates and a suppression factor against all rules by hand."""

from __future__ import annotations

import itertools
import os
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.loss import LossChoice
from app.domain.models.k_anonymity import KAnonymity
from app.domain.search.full_domain.estimates import Asked, steps_of_ranks
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.tables.table import Table
from tests.oracles.adult_by_hand import counted, read_rows
from tests.oracles.k_anonymity_by_hand import solved
from tests.oracles.weighed_losses import best_by_hand, value_of

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(DATA is None, reason="PRIVACY_RISK_DATA does not name the folder of real data"),
]
FIVE = ("sex", "age", "race", "marital-status", "education")
ALL = (*FIVE, "native-country", "workclass", "occupation", "salary-class")
UNEVEN = {"age": 3.0, "sex": 0.5, "race": 2.0}
CHOICES = (
    LossChoice("geometric", weights=UNEVEN),
    LossChoice("arithmetic", weights=UNEVEN, suppression_factor=0.25),
    LossChoice("arithmetic", suppression_factor=0.0),
    LossChoice("arithmetic", aggregate="maximum", weights=UNEVEN, suppression_factor=0.75),
    LossChoice("arithmetic", aggregate="rank"),
    LossChoice("precision", aggregate="rank", weights=UNEVEN),
)


class ByHand:
    """All rules of some attributes from the files alone: labels by level, shares by counting lines."""

    def __init__(self, file, names):
        folder = Path(DATA) / "arx-adult"
        header, *body = read_rows(folder / file)
        self.names = names
        self.paths = {name: read_rows(folder / f"adult_hierarchy_{name}.csv") for name in names}
        self.columns = {name: [row[header.index(name)] for row in body] for name in names}
        self.n = len(body)
        # Per attribute and level: a number for what each record shows, leaves under it, their sum.
        self._shown = []
        for name in names:
            line = {own[0]: own for own in self.paths[name]}
            levels = []
            for level in range(len(self.paths[name][0])):
                labels = [own[level] for own in self.paths[name]]
                number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
                codes = np.array([number[line[value][level]] for value in self.columns[name]])
                leaves = np.array([labels.count(label) for label in number])[codes]
                levels.append((codes, leaves, int(leaves.sum())))
            self._shown.append(levels)

    def table(self):
        trees = [Hierarchy.from_rows(self.paths[name]) for name in self.names]
        codes = [tree.encode(self.columns[name])[0] for tree, name in zip(trees, self.names, strict=True)]
        return Table(self.names, tuple(trees), np.stack(codes, axis=1))

    def rated(self, k, allowed, choices):
        """Per choice (levels, value, suppressed) of every allowed rule."""
        found = [[] for _ in choices]
        for levels in itertools.product(*(range(len(own)) for own in self._shown)):
            keys = np.zeros(self.n, dtype=np.int64)
            for own, level in zip(self._shown, levels, strict=True):
                keys = keys * 100 + own[level][0]
            of, sizes = counted(keys)
            gone = np.flatnonzero((sizes < k)[of])
            if len(gone) <= allowed:
                each = [
                    (own, level, len(gone), int(own[level][1][gone].sum()))
                    for own, level in zip(self._shown, levels, strict=True)
                ]
                for place, choice in enumerate(choices):
                    losses = [self._lost(choice, *own) for own in each]
                    found[place].append((levels, value_of(choice, losses, self.names), len(gone)))
        return found

    def _lost(self, choice, own, level, gone, leaves_gone):
        """The loss of an attribute at a level, of whose records some are gone, with so many leaves."""
        kept, lost = min(1.0, 2 - 2 * choice.suppression_factor), min(1.0, 2 * choice.suppression_factor)
        if choice.kind == "precision":
            least, most, of_all, of_gone = 0, len(own) - 1, level * self.n, level * gone
        else:
            least, most, of_all, of_gone = 1, own[-1][1][0], own[level][2], leaves_gone
        total = kept * (of_all - of_gone) + of_gone + lost * (most * gone - of_gone)
        return float(total - kept * least * self.n) / (self.n * (most - kept * least))


@cache
def by_hand(file, names):
    return ByHand(file, names)


def check(hand, k, limits):
    """All rules are rated once: under a lower limit some of them are not allowed."""
    table, rated = hand.table(), hand.rated(k, int(max(limits) * hand.n), CHOICES)
    for (choice, rules), limit in itertools.product(zip(CHOICES, rated, strict=True), limits):
        allowed = [own for own in rules if own[2] <= int(limit * hand.n)]
        levels, value, suppressed = best_by_hand(allowed)
        found = solved(table, AnonymityProblem((KAnonymity(k),), limit, choice))
        assert (found.status, found.rule.levels) == ("optimal", levels), choice
        assert found.suppressed_records == suppressed
        assert found.loss == pytest.approx(value[0], abs=1e-10)
        told = sorted((loss for _, loss in found.attribute_losses), reverse=True)
        if choice.aggregate == "rank":
            assert told == pytest.approx(value, abs=1e-10)


@pytest.mark.deep
def test_optima_over_five_attributes_of_a_part_are_those_of_trying_all_rules():
    check(by_hand("adult_subset.csv", FIVE), 5, (0.0, 0.04, 1.0))


@pytest.mark.deep
@pytest.mark.parametrize("names", [FIVE, ALL])
@pytest.mark.parametrize("limit", [0.0, 0.04])
@pytest.mark.parametrize("aggregate", ["maximum", "rank"])
def test_half_to_twice_as_many_rules_are_checked_as_estimated(names, limit, aggregate):
    table = by_hand("adult.csv", ALL).table()
    places = [ALL.index(name) for name in names]
    part = Table(names, tuple(table.hierarchies[j] for j in places), table.codes[:, places])
    asked = AnonymityProblem((KAnonymity(5),), limit, LossChoice("arithmetic", aggregate=aggregate))
    found = solved(part, asked)
    own = Asked(found.n_rules, part.n_records, 5, asked.suppression_allowed(part.n_records), True, 1, 0)
    assert 0.5 <= found.counters.risk_evaluations / steps_of_ranks(own, aggregate) <= 2


@pytest.mark.deep
@pytest.mark.timeout(1800)
def test_optima_over_all_nine_attributes_are_those_of_trying_all_rules():
    check(by_hand("adult.csv", ALL), 5, (0.0, 0.04))
