"""The closed form under independence against exhaustive search and the definition."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.analyses.independence_estimate import INDEPENDENCE_ESTIMATE, IndependenceParameters
from app.domain.dictionaries.dictionary import Dictionary, link_nodes
from app.domain.models.entry import MeasureContext
from app.domain.risk.independence import choose_in_cluster, least_loss
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from app.domain.tables.table import Table
from tests.oracles.counting import brute_counts, hierarchies, instances
from tests.oracles.effort import examples

WEIGHTS = [0.0, 0.25, 1.0, math.inf]


@st.composite
def partitions(draw, n: int) -> list[list[int]]:
    labels = [draw(st.integers(0, n - 1)) for _ in range(n)]
    return [[j for j in range(n) if labels[j] == label] for label in sorted(set(labels))]


def product_of(clusters, chosen, weights, counts, n_entities) -> float:
    """(1/N)·∏ s, an empty cluster outweighing all else."""
    shares = [counts[g][frozenset(chosen) & frozenset(cluster)] for g, cluster in enumerate(clusters)]
    if 0 in shares:
        return 0.0
    return math.exp(sum(weights[j] for j in chosen)) * math.prod(n_entities / c for c in shares) / n_entities


@pytest.mark.spec("INV-15")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_the_programme_finds_what_a_search_of_all_subsets_finds(data):
    m, n_entities = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 50))
    weights = [data.draw(st.sampled_from(WEIGHTS)) for _ in range(m)]
    clusters = data.draw(partitions(m))
    counts = []
    for cluster in clusters:
        subsets = [frozenset(c) for k in range(len(cluster) + 1) for c in itertools.combinations(cluster, k)]
        counts.append({s: data.draw(st.integers(0, n_entities)) if s else n_entities for s in subsets})
    choices = [
        choose_in_cluster(
            n_entities,
            np.array([[weights[j]] for j in cluster]),
            lambda subset, g=g, cluster=cluster: np.array(
                [counts[g][frozenset(j for i, j in enumerate(cluster) if subset >> i & 1)]]
            ),
        )
        for g, cluster in enumerate(clusters)
    ]
    found = least_loss(n_entities, clusters, choices)
    for q in range(m + 1):
        best = min(
            product_of(clusters, chosen, weights, counts, n_entities)
            for chosen in itertools.combinations(range(m), q)
        )
        chosen = np.flatnonzero(found.disclosed[q, 0]).tolist()
        assert len(chosen) == q
        own = product_of(clusters, chosen, weights, counts, n_entities)
        assert own == best or math.isclose(own, best, rel_tol=1e-12)
        assert found.unclamped[q, 0] == best or math.isclose(found.unclamped[q, 0], best, rel_tol=1e-11)
        assert found.clamped[q, 0] <= found.unclamped[q, 0] * (1 + 1e-12)


@pytest.mark.spec("INV-15")
@settings(max_examples=examples(200), deadline=None)
@given(st.data())
def test_for_single_attributes_the_best_are_those_of_smallest_score(data):
    m, n_entities = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 50))
    weights = np.array([data.draw(st.floats(0, 3)) for _ in range(m)])
    counts = np.array([data.draw(st.integers(0, n_entities)) for _ in range(m)])
    choices = [
        choose_in_cluster(
            n_entities, weights[[j]][:, None], lambda s, j=j: np.array([counts[j] if s else n_entities])
        )
        for j in range(m)
    ]
    found = least_loss(n_entities, [[j] for j in range(m)], choices)
    with np.errstate(divide="ignore"):
        scores = np.where(counts > 0, np.exp(weights) * n_entities / counts, 0.0)
    assume(len(set(np.log(scores[scores > 0]).round(9))) + (counts == 0).sum() == m)
    if (counts == 0).any():
        return
    for q in range(m + 1):
        assert set(np.flatnonzero(found.disclosed[q, 0])) == set(np.argsort(scores)[:q])
        assert math.isclose(found.unclamped[q, 0], np.sort(scores)[:q].prod() / n_entities, rel_tol=1e-11)


def estimate(table, dictionary, parameters=None):
    weights = dict.fromkeys(table.attributes, LeafWeights(0.5))
    sensitivity = build_sensitivity(table, "multiplicative", weights)
    context = MeasureContext(
        table, None, dictionary, sensitivity, None, build_utility(table), MODEL_I, "zero"
    )
    parameters = parameters or IndependenceParameters()
    assert INDEPENDENCE_ESTIMATE.supports(context, parameters) is None
    assert INDEPENDENCE_ESTIMATE.cost(context, parameters).seconds > 0
    return sensitivity, INDEPENDENCE_ESTIMATE.compute(context, parameters, lambda done: None)


@pytest.mark.spec("E-34")
@settings(max_examples=examples(100), deadline=None)
@given(instances(), st.data())
def test_the_measure_is_the_closed_form_of_every_record_beside_the_exact_loss(instance, data):
    table, dictionary = instance
    assume(dictionary.n_entities > 0)
    m, n_entities = table.n_attributes, dictionary.n_entities
    clusters = data.draw(partitions(m))
    together = tuple(tuple(table.attributes[j] for j in cluster) for cluster in clusters if len(cluster) > 1)
    sensitivity, found = estimate(table, dictionary, IndependenceParameters(clusters=together))
    least, all_disclosed = np.zeros(m + 1), 0.0
    for row in table.codes:
        weights = [float(sensitivity.shapes[j][0][row[j]]) for j in range(m)]
        counts = []
        for cluster in clusters:
            subsets = [c for k in range(len(cluster) + 1) for c in itertools.combinations(cluster, k)]
            shown = np.array([[row[j] if j in c else 0 for j in range(m)] for c in subsets], dtype=np.int32)
            found_counts = brute_counts(table, dictionary, shown)
            counts.append({frozenset(c): k for c, k in zip(subsets, found_counts, strict=True)})
        for q in range(m + 1):
            least[q] += min(
                product_of(clusters, chosen, weights, counts, n_entities)
                for chosen in itertools.combinations(range(m), q)
            )
        exact = brute_counts(table, dictionary, row[None])[0]
        all_disclosed += math.exp(sum(weights)) / exact if exact else 0.0
    assert found.by_number[m].loss_exact == pytest.approx(all_disclosed / table.n_records, rel=1e-12)
    for q, entry in enumerate(found.by_number):
        assert entry.loss_unclamped == pytest.approx(least[q] / table.n_records, rel=1e-11)
        assert entry.loss_clamped <= entry.loss_unclamped * (1 + 1e-12)
        assert sum(entry.disclosed.values()) == pytest.approx(q)
        if len(clusters) == 1:
            assert entry.loss_exact == pytest.approx(entry.loss_clamped, rel=1e-12)
            assert entry.absent == 0


@settings(max_examples=examples(50), deadline=None)
@given(st.data())
def test_on_a_dictionary_of_all_combinations_the_estimate_is_exact(data):
    hs = [data.draw(hierarchies()) for _ in range(data.draw(st.integers(1, 3)))]
    held = [data.draw(st.lists(st.sampled_from(h.leaves.tolist()), min_size=1, max_size=3)) for h in hs]
    people = list(itertools.product(*held))
    names = tuple(f"a{j}" for j in range(len(hs)))
    columns = np.array(people, dtype=np.int32)
    found = tuple(link_nodes(names[j], h, columns[:, j]) for j, h in enumerate(hs))
    table = Table(names, tuple(hs), columns[:4])
    _, result = estimate(table, Dictionary(len(people), found))
    for entry in result.by_number:
        assert entry.loss_exact == pytest.approx(entry.loss_clamped, rel=1e-12)
        assert entry.loss_clamped == pytest.approx(entry.loss_unclamped, rel=1e-12)
        assert entry.count_error.largest == pytest.approx(1.0, rel=1e-12)
