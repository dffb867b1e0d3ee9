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
from tests.oracles.adult_by_hand import read_rows
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
        # Per attribute and level: a number for what each record shows, leaves under it, share of the height.
        self._shown = []
        for name in names:
            line = {own[0]: own for own in self.paths[name]}
            levels = []
            for level in range(len(self.paths[name][0])):
                labels = [own[level] for own in self.paths[name]]
                number = {label: place for place, label in enumerate(dict.fromkeys(labels))}
                codes = np.array([number[line[value][level]] for value in self.columns[name]])
                leaves = np.array([labels.count(label) for label in number])[codes]
                levels.append((codes, leaves))
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
            _, of, sizes = np.unique(keys, return_inverse=True, return_counts=True)
            gone = (sizes < k)[of.reshape(-1)]
            if gone.sum() <= allowed:
                for place, choice in enumerate(choices):
                    losses = [self._lost(choice, *own) for own in self._each(levels, gone)]
                    found[place].append((levels, value_of(choice, losses, self.names), int(gone.sum())))
        return found

    def _each(self, levels, gone):
        for own, level in zip(self._shown, levels, strict=True):
            yield own, level, gone

    def _lost(self, choice, own, level, gone):
        kept, lost = min(1.0, 2 - 2 * choice.suppression_factor), min(1.0, 2 * choice.suppression_factor)
        most = len(own) - 1 if choice.kind == "precision" else own[-1][1][0]
        least = 0 if choice.kind == "precision" else 1
        costs = np.full(self.n, level) if choice.kind == "precision" else own[level][1]
        total = float(np.where(gone, costs + lost * (most - costs), kept * costs).sum())
        return (total - kept * least * self.n) / (self.n * (most - kept * least))


@cache
def by_hand(file, names):
    return ByHand(file, names)


def check(hand, k, limit):
    table, allowed = hand.table(), int(limit * hand.n)
    for choice, rated in zip(CHOICES, hand.rated(k, allowed, CHOICES), strict=True):
        levels, value, suppressed = best_by_hand(rated)
        found = solved(table, AnonymityProblem((KAnonymity(k),), limit, choice))
        assert (found.status, found.rule.levels) == ("optimal", levels), choice
        assert found.suppressed_records == suppressed
        assert found.loss == pytest.approx(value[0], abs=1e-10)
        told = sorted((loss for _, loss in found.attribute_losses), reverse=True)
        if choice.aggregate == "rank":
            assert told == pytest.approx(value, abs=1e-10)


@pytest.mark.deep
@pytest.mark.parametrize("limit", [0.0, 0.04, 1.0])
def test_optima_over_five_attributes_of_a_part_are_those_of_trying_all_rules(limit):
    check(by_hand("adult_subset.csv", FIVE), 5, limit)


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
@pytest.mark.parametrize("limit", [0.0, 0.04])
def test_optima_over_all_nine_attributes_are_those_of_trying_all_rules(limit):
    check(by_hand("adult.csv", ALL), 5, limit)
