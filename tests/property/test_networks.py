"""Networks by brute force: kernels of whole matrices, friends as sets, all plans, and consistent friends."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import scipy.linalg
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from app.domain.counting.counter import Counter, dictionary_of
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.networks import diffusion
from app.domain.networks.common_friends import common_friends
from app.domain.networks.diffusion import Kernel, spread, spreads_of
from app.domain.networks.graph import Graph, graph_of_edges
from app.domain.networks.plans import Plan, Sharing, greatest_utility, least_loss, least_trade_off, scores_of
from app.domain.networks.trust import Decreasing, risk_weights
from app.domain.tables.table import Table

TIMES = st.one_of(st.just(0.0), st.floats(1e-6, 30.0))


@st.composite
def networks(draw: st.DrawFn, directed: bool = False, most: int = 9) -> Graph:
    n = draw(st.integers(1, most))
    people = st.integers(0, n - 1)
    weight = st.sampled_from([0.25, 1.0, 3.5])
    edges = draw(st.dictionaries(st.tuples(people, people), weight, max_size=3 * n))
    if not directed:
        edges = {(min(pair), max(pair)): own for pair, own in edges.items()}
    ends = np.array(list(edges), dtype=np.int64).reshape(-1, 2)
    weights = np.array(list(edges.values()))
    return graph_of_edges(n, ends[:, 0], ends[:, 1], weights, directed=directed)


def generator_of(graph: Graph, kernel: Kernel) -> np.ndarray:
    """The matrix whose exponential is the kernel, by its definition."""
    links = graph.links.toarray()
    if kernel == "laplacian":
        return links - np.diag(links.sum(axis=1))
    walk = np.array(
        [row / row.sum() if row.any() else unit for row, unit in zip(links, np.eye(len(links)), strict=True)]
    )
    return walk - np.eye(len(links))


@pytest.mark.spec("DN-S1", "DN-S2")
@given(networks(), TIMES, st.integers(0, 2**32 - 1), st.sampled_from(["laplacian", "random_walk"]))
def test_a_spread_is_that_of_the_dense_exponential(graph, time, seed, kernel):
    weights = np.random.default_rng(seed).uniform(0, 1, graph.n_people)
    exact = scipy.linalg.expm(time * generator_of(graph, kernel)) @ weights
    found = spread(graph, weights, kernel, time)
    assert found.truncation_error <= 1e-13
    assert np.abs(found.values - exact).max() <= 1e-12
    if kernel == "laplacian":
        eigenvalues, vectors = np.linalg.eigh(generator_of(graph, kernel))
        assert eigenvalues.max() <= 1e-12
        by_vectors = vectors @ (np.exp(time * eigenvalues) * (vectors.T @ weights))
        assert np.abs(found.values - by_vectors).max() <= 1e-12


@given(networks(directed=True), TIMES, st.integers(0, 2**32 - 1), st.sampled_from([1e-13, 1e-6, 1e-3, 0.1]))
def test_the_stated_truncation_error_is_never_exceeded(graph, time, seed, tolerance):
    """Coarse tolerances make the cut visible; sinks, people without edges and weights of any sign occur."""
    weights = np.random.default_rng(seed).normal(0, 1, (graph.n_people, 3)) * [1.0, 1e3, 0.0]
    exact = scipy.linalg.expm(time * generator_of(graph, "random_walk")) @ weights
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffusion, "TOLERANCE", tolerance)
        found = spread(graph, weights, "random_walk", time)
    assert np.abs(found.values - exact).max() <= found.truncation_error + 1e-9
    assert found.truncation_error <= tolerance * np.abs(weights).max() * (1 + 1e-9)


def test_people_among_whom_an_item_is_spread_evenly_need_no_further_products():
    """Without the range of what is left, 1,000 steps and more would be taken for a time of 1,000."""
    graph = graph_of_edges(61, *np.triu_indices(60, 1))
    taken = []
    with pytest.MonkeyPatch.context() as patch:
        walk_of = diffusion._walk
        patch.setattr(diffusion, "_walk", lambda *of: lambda values: taken.append(1) or walk_of(*of)(values))
        found = spread(graph, np.append(np.arange(60.0), 1e3), "random_walk", 1_000.0)
    assert found.values == pytest.approx(np.append(np.full(60, 29.5), 1e3), abs=1e-10)
    assert len(taken) < 20


@given(networks(), TIMES, st.sampled_from(["laplacian", "random_walk", "steps"]), st.integers(1, 40))
def test_all_owners_at_once_have_what_each_has_by_itself(graph, time, kernel, numbers):
    table = np.random.default_rng(5).uniform(0, 1, (graph.n_people, graph.n_people))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diffusion, "LEAST_TOGETHER", 1)
        patch.setattr(diffusion, "_IN_CACHE", numbers)
        everybody = np.arange(graph.n_people)
        blocks = list(spreads_of(graph, everybody, lambda owners: table[:, owners], kernel, time, 3))
    assert np.concatenate([owners for owners, _ in blocks]).tolist() == list(range(graph.n_people))
    together = np.concatenate([found.values for _, found in blocks], axis=1)
    for owner in range(graph.n_people):
        alone = spread(graph, table[:, owner], kernel, time, 3)
        assert np.abs(together[:, owner] - alone.values).max() <= 1e-12


@given(networks(directed=True), TIMES, st.integers(0, 6))
def test_directed_networks_spread_along_the_edges(graph, time, steps):
    weights = np.linspace(0, 1, graph.n_people)
    generator = generator_of(graph, "random_walk")
    exact = scipy.linalg.expm(time * generator) @ weights
    assert np.abs(spread(graph, weights, "random_walk", time).values - exact).max() <= 1e-12
    powers = np.linalg.matrix_power(generator + np.eye(len(weights)), steps) @ weights
    assert np.abs(spread(graph, weights, "steps", steps=steps).values - powers).max() <= 1e-12


@st.composite
def sparse_networks(draw: st.DrawFn) -> Graph:
    """Up to 40 people: a path, a hub and its spokes, two groups without an edge between, or any."""
    n, shape = (
        draw(st.integers(2, 40)),
        draw(st.sampled_from(["path", "hub", "two groups", "any", "directed"])),
    )
    if shape == "path":
        ends = np.stack([np.arange(n - 1), np.arange(1, n)])
    elif shape == "hub":
        ends = np.stack([np.zeros(n - 1, dtype=np.int64), np.arange(1, n)])
    else:
        ends = np.random.default_rng(draw(st.integers(0, 99))).integers(0, n, (2, n))
        if shape == "two groups":
            ends[1] = ends[1] // 2 * 2 + ends[0] % 2
            ends = ends[:, ends[1] < n]
    return graph_of_edges(n, *ends, directed=shape == "directed")


@given(
    sparse_networks(), TIMES, st.sampled_from([0.0, 0.5, -2.0]), st.integers(0, 3), st.integers(0, 99),
    st.sampled_from(["laplacian", "random_walk", "steps"]),
)  # fmt: skip
def test_weights_that_most_people_share_spread_as_the_dense_exponential_has_them(
    graph, time, usual, others, seed, kernel
):
    """None differs, a few do, or their edges are soon most of all: each product is taken either way."""
    if graph.directed and kernel == "laplacian":
        kernel = "random_walk"
    rng = np.random.default_rng(seed)
    weights = np.full(graph.n_people, usual)
    weights[rng.integers(0, graph.n_people, others)] = rng.uniform(0, 1, others)
    generator = generator_of(graph, "random_walk" if kernel == "steps" else kernel)
    exact = scipy.linalg.expm(time * generator) @ weights
    if kernel == "steps":
        exact = np.linalg.matrix_power(generator + np.eye(len(weights)), 5) @ weights
    found = spread(graph, weights, kernel, time, 5)
    assert found.truncation_error <= 1e-13 * np.abs(weights).max() * (1 + 1e-9)
    assert np.abs(found.values - exact).max() <= 1e-12
    assert weights.min() <= found.values.min()
    assert found.values.max() <= weights.max()


def test_only_the_edges_of_people_with_another_weight_are_read_while_these_are_few():
    """On a path each product reaches one person more on either side: never is the whole matrix multiplied."""

    class OfFew(scipy.sparse.csr_array):
        def __matmul__(self, other):
            raise AssertionError("all edges are read")

    graph = graph_of_edges(1_000, np.arange(999), np.arange(1, 1_000))
    weights = np.full(1_000, 0.5)
    weights[500] = 0.0
    exact = scipy.linalg.expm(generator_of(graph, "random_walk")) @ weights
    found = spread(Graph(OfFew(graph.links)), weights, "random_walk", 1.0)
    assert np.abs(found.values - exact).max() <= 1e-12
    weights[::3] = np.linspace(0, 1, 334)
    with pytest.raises(AssertionError, match="all edges"):
        spread(Graph(OfFew(graph.links)), weights, "random_walk", 1.0)


@pytest.mark.spec("DN-S3")
@given(networks(), TIMES, st.sampled_from(["laplacian", "random_walk", "steps"]))
def test_mass_is_kept_and_values_stay_between_the_least_and_the_greatest(graph, time, kernel):
    ones = spread(graph, np.ones(graph.n_people), kernel, time, 3)
    assert np.abs(ones.values - 1).max() <= 1e-12
    weights = np.linspace(0.2, 0.9, graph.n_people)
    values = spread(graph, weights, kernel, time, 3).values
    assert values.min() >= weights.min() - 1e-12
    assert values.max() <= weights.max() + 1e-12


@given(networks(), TIMES, st.sampled_from(["laplacian", "random_walk", "steps"]), st.data())
def test_risk_falls_at_every_recipient_where_trust_in_anybody_grows(graph, time, kernel, data):
    n = graph.n_people
    form: Decreasing = data.draw(st.sampled_from(["linear", "exp", "reciprocal"]))
    trust = np.array(data.draw(st.lists(st.floats(0, 0.5), min_size=n, max_size=n)))
    more = trust.copy()
    more[data.draw(st.integers(0, n - 1))] += 0.25
    owner = data.draw(st.integers(0, n - 1))

    def risks(of: np.ndarray) -> np.ndarray:
        weights = risk_weights(of, form)
        weights[owner] = 0.0
        return spread(graph, weights, kernel, time, 2).values

    assert (risks(more) <= risks(trust) + 1e-12).all()


def test_a_network_of_300_people_spreads_as_scipy_has_it():
    rng = np.random.default_rng(7)
    graph = graph_of_edges(300, *rng.integers(0, 300, (2, 900)))
    weights = rng.uniform(0, 1, 300)
    for kernel in ("laplacian", "random_walk"):
        generator = scipy.sparse.csr_array(generator_of(graph, kernel))
        for time in (0.3, 1.0, 7.0):
            exact = scipy.sparse.linalg.expm_multiply(
                time * generator, weights, traceA=time * generator.trace()
            )
            assert np.abs(spread(graph, weights, kernel, time).values - exact).max() <= 1e-12


@given(networks(directed=True, most=12), st.data())
def test_common_friends_are_those_of_the_sets(graph, data):
    people = st.integers(0, graph.n_people - 1)
    pairs = np.array(data.draw(st.lists(st.tuples(people, people), min_size=1, max_size=30)))
    friends = [set(np.flatnonzero(row).tolist()) for row in graph.links.toarray()]
    expected = [len(friends[i] & friends[j]) for i, j in pairs.tolist()]
    assert common_friends(graph, pairs[:, 0], pairs[:, 1]).tolist() == expected


@st.composite
def sharings(draw: st.DrawFn) -> Sharing:
    n = draw(st.integers(2, 3))
    heights = np.array(draw(st.lists(st.integers(1, 3), min_size=1, max_size=2)))
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    chosen = np.array(draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=3, unique=True)))
    value = st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0, 1.9])

    def table(*shape: int) -> np.ndarray:
        size = int(np.prod(shape))
        return np.array(draw(st.lists(value, min_size=size, max_size=size))).reshape(shape)

    k = len(heights)
    return Sharing(*chosen.T, table(len(chosen)), table(n, k), table(n, k), heights, draw(st.booleans()))


def all_plans(sharing: Sharing) -> list[tuple[float, float]]:
    """Loss and utility of every plan, by the definitions."""
    found = []
    cells = [(p, k) for p in range(len(sharing.owners)) for k in range(len(sharing.heights))]
    for levels in product(*(range(sharing.heights[k] + 1) for _, k in cells)):
        loss = utility = 0.0
        for (p, k), level in zip(cells, levels, strict=True):
            i, j = sharing.owners[p], sharing.recipients[p]
            loss += sharing.risk_weights[p] * sharing.sensitivities[i, k] * level
            utility += sharing.interests[i if sharing.as_printed else j, k] * level
        found.append((float(loss), float(utility)))
    return found


def scored(sharing: Sharing, plan: Plan) -> tuple[float, float]:
    losses, utilities = scores_of(sharing, plan.levels)
    return float(losses.sum()), float(utilities.sum())


@pytest.mark.spec("DN-S11")
@given(sharings(), st.floats(0, 1), st.floats(0, 3))
def test_plans_are_the_best_of_all_and_bounds_hold(sharing, share, trade_off):
    plans = all_plans(sharing)
    cap, floor = (share * max(own[i] for own in plans) for i in (0, 1))
    margin = 1e-9
    traded = least_trade_off(sharing, trade_off)
    loss, utility = scored(sharing, traded)
    assert traded.value == pytest.approx(loss - trade_off * utility, abs=margin)
    assert traded.value == pytest.approx(min(own - trade_off * u for own, u in plans), abs=margin)
    best = max(u for own, u in plans if own <= cap + 1e-11)
    least = min(own for own, u in plans if u >= floor - 1e-11)
    for method in ("greedy", "exact"):
        capped, floored = greatest_utility(sharing, cap, method), least_loss(sharing, floor, method)
        assert scored(sharing, capped)[0] <= cap + 1e-11
        assert scored(sharing, floored)[1] >= floor - 1e-11
        assert capped.value == pytest.approx(scored(sharing, capped)[1], abs=margin)
        assert floored.value == pytest.approx(scored(sharing, floored)[0], abs=margin)
        assert capped.value <= best + margin
        assert best <= capped.bound + margin
        assert floored.value >= least - margin
        assert least >= floored.bound - margin
        if capped.is_optimal:
            assert capped.value == pytest.approx(best, abs=margin)
        if floored.is_optimal:
            assert floored.value == pytest.approx(least, abs=margin)


@given(sharings(), st.floats(0, 1))
def test_greedy_plans_lack_less_than_one_level(sharing, share):
    plans = all_plans(sharing)
    cap, floor = (share * max(own[i] for own in plans) for i in (0, 1))
    capped, floored = greatest_utility(sharing, cap), least_loss(sharing, floor)
    gains = max(float(sharing.gains(k).max()) for k in range(len(sharing.heights)))
    losses = max(float(sharing.losses(k).max()) for k in range(len(sharing.heights)))
    assert capped.bound - capped.value <= gains + 1e-9
    assert floored.value - floored.bound <= losses + 1e-9


CITY = Hierarchy.from_parents({"Laf": ["IN"], "Day": ["IN"], "Chi": ["IL"], "IN": [None], "IL": [None]})
JOB = Hierarchy.from_parents({"Eng": [None], "Nur": [None]})
LEAVES = st.tuples(st.sampled_from(["Laf", "Day", "Chi"]), st.sampled_from(["Eng", "Nur"]))


def consistent_friends(person: tuple[str, str], friends: list[tuple[str, str]], mode: str) -> np.ndarray:
    """How many friends are consistent with what is disclosed at every level vector, in all or any attributes.

    ``all`` are the consistent entities of the friends as a dictionary; ``any`` is counted by its definition.
    """

    def coded(rows: list[tuple[str, str]]) -> np.ndarray:
        return np.array([[CITY.node_of(city), JOB.node_of(job)] for city, job in rows], dtype=np.int32)

    names, hierarchies = ("city", "job"), (CITY, JOB)
    shown = np.array(
        [
            [
                int(h.ancestors_at(level)[node])
                for h, level, node in zip(hierarchies, levels, own, strict=True)
            ]
            for levels in product(*(range(h.height + 1) for h in hierarchies))
            for own in coded([person]).tolist()
        ],
        dtype=np.int32,
    )
    shape = (CITY.height + 1, JOB.height + 1)
    if mode == "all":
        table = Table(names, hierarchies, coded([person]))
        counter = Counter(table, dictionary_of(Table(names, hierarchies, coded(friends))))
        return np.asarray(counter.count(shown).values).reshape(shape)
    found = [
        sum(
            any(h.is_above(node, own) for h, node, own in zip(hierarchies, row, friend, strict=True))
            for friend in coded(friends).tolist()
        )
        for row in shown.tolist()
    ]
    return np.array(found).reshape(shape)


def is_supermodular(values: np.ndarray) -> bool:
    levels = list(product(*map(range, values.shape)))
    return all(
        values[tuple(np.minimum(x, y))] + values[tuple(np.maximum(x, y))] >= values[x] + values[y]
        for x in levels
        for y in levels
    )


@given(LEAVES, st.lists(LEAVES, min_size=1, max_size=8))
def test_friends_consistent_in_all_attributes_are_supermodular_and_increasing(person, friends):
    """The theorem as it can be proved; friends consistent in any attribute are submodular instead."""
    counts = consistent_friends(person, friends, "all")
    assert is_supermodular(counts)
    assert is_supermodular(-consistent_friends(person, friends, "any"))
    assert all((np.diff(counts, axis=axis) >= 0).all() for axis in (0, 1))


@pytest.mark.spec("DN-V11", "DN-S13")
def test_friends_and_the_objective_of_the_formal_model_are_those_of_the_specification():
    friends = [("Laf", "Eng"), ("Laf", "Nur"), ("Day", "Eng"), ("Chi", "Eng"), ("Chi", "Nur")]
    of_all, of_any = (consistent_friends(("Laf", "Eng"), friends, mode) for mode in ("all", "any"))
    assert of_all.tolist() == [[1, 2], [2, 3], [3, 5]]
    assert of_any.tolist() == [[4, 5], [4, 5], [5, 5]]
    assert (is_supermodular(of_all), is_supermodular(of_any)) == (True, False)
    phi = np.array([0.6, 0.3, 0.1])[:, None] + np.array([0.5, 0.1])
    utility = np.array([2, 1, 0])[:, None] + np.array([1, 0])
    found = 0.2 * of_all / phi + utility
    assert found == pytest.approx(np.array([[3.181818, 2.571429], [2.5, 2.5], [2.0, 5.0]]), abs=5e-7)
    assert np.unravel_index(found.argmax(), found.shape) == (2, 1)
    assert (0.1 * of_all / phi + utility).max() == pytest.approx(3.090909, abs=5e-7)
    assert (0.2 * of_all / phi + utility**2).max() == pytest.approx(9.181818, abs=5e-7)


def test_one_friend_and_two_attributes_refute_the_proposition_in_the_mode_any():
    """The counterexample: nothing in common, and consistent as soon as either attribute is a root."""
    counts = consistent_friends(("Laf", "Eng"), [("Chi", "Nur")], "any")[[0, 2]]
    assert counts.tolist() == [[0, 1], [1, 1]]
    assert not is_supermodular(counts)
