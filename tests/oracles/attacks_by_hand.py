"""Random small instances of every attacker, model, harm and weight, and loops that solve them."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.risk.attackers import DictionarySet
from app.domain.risk.models import RiskModel
from app.domain.sensitivity.interactions import GivenInteraction, GivenInteractions
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import ConstantWeight
from tests.oracles.search_instances import BruteForce, contexts

MODELS = [("I", None), ("II", None), ("III", None), ("custom", "phi / count ** 0.5"), ("III_raw", None)]
PRIORS = [(0.5, 0.5), (0.25, 0.75), (1.0, 0.0)]


@st.composite
def instances(draw, set_of_two=None, models=MODELS, max_records=4, shapes=None):
    """A context with a model, and perhaps Ψ, interactions, record weights and two dictionaries."""
    context = draw(contexts(shapes))
    table = context.table
    if table.n_records > max_records:
        kept = slice(0, max_records)
        groups = context.sensitivity.groups
        sensitivity = replace(context.sensitivity, groups=None if groups is None else groups[kept])
        table = replace(table, codes=table.codes[kept], entity_ids=table.entity_ids[kept])
        context = replace(context, table=table, sensitivity=sensitivity)
    if draw(st.booleans()):
        weights = [draw(st.sampled_from([0.0, 1.0, 2.0, 0.7])) for _ in range(table.n_records)]
        context = replace(context, table=replace(table, weights=np.array([1.0, *weights[1:]])))
    name, formula = draw(st.sampled_from(models))
    context = replace(context, model=RiskModel(name, formula))
    if name == "I" and draw(st.booleans()):
        context = replace(context, failure=draw(sensitivities(context.table)))
    if draw(st.integers(0, 2)) == 0:
        context = replace(context, sensitivity=draw(interactions(context.table)))
    if set_of_two if set_of_two is not None else draw(st.booleans()):
        second = draw(dictionaries(context.table))
        pair = DictionarySet((context.dictionary, second), draw(st.sampled_from(PRIORS)))
        context = replace(context, dictionaries=pair)
    return context


@st.composite
def sensitivities(draw, table):
    number = st.sampled_from([0.0, 0.25, 0.5, 3.0, math.inf])
    weights = {name: ConstantWeight(draw(number)) for name in table.attributes}
    return build_sensitivity(table, draw(st.sampled_from(["linear", "multiplicative"])), weights)


@st.composite
def interactions(draw, table):
    number = st.sampled_from([0.0, 0.25, 1.0, 2.0])
    weights = {name: ConstantWeight(draw(number)) for name in table.attributes}
    pairs = list(itertools.combinations(table.attributes, 2))
    given = tuple(GivenInteraction(pair, draw(number)) for pair in pairs)
    return build_sensitivity(table, "interactions", weights, interactions=GivenInteractions(given))


@st.composite
def dictionaries(draw, table):
    entities = draw(st.integers(0, 6))
    links = []
    for name, tree in zip(table.attributes, table.hierarchies, strict=True):
        if draw(st.integers(0, 3)):
            cells = [draw(st.integers(-1, tree.n_nodes - 1)) for _ in range(entities)]
            links.append(link_nodes(name, tree, np.array(cells, dtype=np.int32)))
    ids = np.array([f"e{i + draw(st.integers(0, 1)) * 100}" for i in range(entities)], dtype=object)
    return Dictionary(entities, tuple(links), ids, True)


@st.composite
def dags(draw):
    """A hierarchy of at most 7 nodes in which some values have two parents."""
    n = draw(st.integers(2, 6))
    parents = {}
    for i in range(n):
        above = sorted({draw(st.integers(-1, i - 1)) for _ in range(2)})
        parents[f"v{i}"] = [None if a < 0 else f"v{a}" for a in above]
        if -1 in above and len(above) > 1:
            parents[f"v{i}"] = [f"v{above[1]}"]
    return Hierarchy.from_parents(parents)


class ByHand:
    """Scores by looping over records, entities and nodes; a rule is the list of its disclosed codes."""

    def __init__(self, context, policy):
        self.context, self.policy = context, policy
        chosen = context.dictionaries
        self.all = chosen.dictionaries if chosen else (context.dictionary,)
        self.prior = chosen.prior if chosen else (1.0,)
        self.counters = [BruteForce(replace(context, dictionary=d), policy) for d in self.all]
        self.weights = (
            [1.0] * context.table.n_records
            if context.table.weights is None
            else context.table.weights.tolist()
        )
        self._known = {}

    def losses(self, row, codes):
        """The record's risk under each dictionary."""
        if (row, codes) not in self._known:
            self._known[row, codes] = [self._loss(i, row, codes) for i in range(len(self.all))]
        return self._known[row, codes]

    def _loss(self, i, row, codes):
        model, d = self.context.model, self.all[i]
        phi, psi = self._harm(self.context.sensitivity, row, codes), 0.0
        if self.context.failure is not None:
            psi = self._harm(self.context.failure, row, codes)
        count = self.counters[i].count(row, codes)
        known = self.context.table.entity_ids[row] in d.entity_ids.tolist()
        n = d.n_entities + (self.policy == "add_self" and not known)
        if model.name == "I":
            if psi == math.inf:
                return math.inf
            p = 1 / count if count else 0.0
            return (phi * p if p else 0.0) + ((1 - p) * psi if p < 1 else 0.0)
        if not count:
            return 0.0
        if model.name == "II":
            return 1 / count
        if model.name == "custom":
            return phi / count**0.5
        if phi == 0:
            return 0.0
        if model.name == "III":
            return math.inf if phi == math.inf else phi * math.log(n / count)
        return -phi * math.log(count) if count > 1 else 0.0

    def _harm(self, sensitivity, row, codes):
        groups = None if sensitivity.groups is None else sensitivity.groups[[row]]
        return float(sensitivity.phi(np.array([codes], dtype=np.int32), groups)[0])

    def of_record(self, view, row, codes):
        losses = self.losses(row, codes)
        if view == "bayes":
            return math.fsum(q * loss for q, loss in zip(self.prior, losses, strict=True) if q > 0)
        return max(losses)

    def utility(self, codes):
        return float(self.context.utility.of(np.array([codes], dtype=np.int32))[0])

    def score(self, view, aggregate, disclosed):
        """Risk and utility of a whole rule."""
        held = [(w, row) for row, w in enumerate(self.weights) if w > 0]
        total = math.fsum(self.weights)

        def amount(values):
            return (
                max(values)
                if aggregate == "max"
                else math.fsum(w * v for (w, _), v in zip(held, values, strict=True)) / total
            )

        if view == "worst_case":
            risk = max(
                amount([self.losses(r, disclosed[r])[i] for _, r in held]) for i in range(len(self.all))
            )
        else:
            risk = amount([self.of_record(view, r, disclosed[r]) for _, r in held])
        utility = math.fsum(w * self.utility(disclosed[r]) for w, r in held) / total
        return risk, utility

    def table_rules(self):
        table = self.context.table
        for levels in itertools.product(*(range(h + 1) for h in table.heights)):
            disclosed = [
                tuple(
                    int(t.ancestors_at(v)[c]) for t, v, c in zip(table.hierarchies, levels, row, strict=True)
                )
                for row in table.codes.tolist()
            ]
            yield levels, disclosed

    def nodes(self, row):
        """All codes that a record may be disclosed as."""
        ups = [
            sorted(t.up(c))
            for t, c in zip(
                self.context.table.hierarchies, self.context.table.codes[row].tolist(), strict=True
            )
        ]
        return list(itertools.product(*ups))

    def record_rules(self):
        yield from itertools.product(*(self.nodes(row) for row in range(self.context.table.n_records)))


def optimum(rated, objective, threshold):
    """(status, value) among pairs of risk and utility."""
    values = []
    for risk, utility in rated:
        if objective == "min_risk" and utility >= threshold - 1e-9:
            values.append(risk)
        if objective == "max_utility" and risk <= threshold + 1e-9:
            values.append(-utility)
        if objective == "lagrangian":
            values.append(risk - threshold * utility)
    if not values:
        return "infeasible", None
    return ("prohibited", None) if min(values) == math.inf else ("optimal", min(values))
