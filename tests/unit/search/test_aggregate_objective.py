"""The aggregate objective on the specification's instances: optima, traces, closures and ring families."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from app.domain.errors import InvalidInput, NotSupported
from app.domain.search.aggregate.chain_records import ChainRecord
from app.domain.search.aggregate.objective import (
    BoxObjective,
    bisection,
    dinkelbach,
    maximise_aggregate,
)
from app.domain.search.aggregate.submodular import ClosureMaximiser, RingFamily, RingFamilyMaximiser, minimise
from app.domain.search.objectives import AggregateObjective
from tests.oracles.chain_instances import C1, best_by_loops, generated, nodes_of

MAXIMISERS = (ClosureMaximiser, RingFamilyMaximiser)


@pytest.mark.spec("TV-20", "E-37")
@pytest.mark.parametrize(
    ("maximiser", "search"),
    [
        (ClosureMaximiser, "dinkelbach"),
        (RingFamilyMaximiser, "bisection"),
        pytest.param(ClosureMaximiser, "bisection", marks=pytest.mark.deep),
        pytest.param(RingFamilyMaximiser, "dinkelbach", marks=pytest.mark.deep),
    ],
)
@pytest.mark.parametrize(
    ("trade_off", "options", "value", "levels"),
    [
        (1.0, {"kappa": 1}, 71.0, (2, 2)),
        (1.0, {"kappa": 2}, 71.0, (2, 2)),
        (0.1, {"kappa": 1}, 8.0, (2, 2)),
        (0.1, {"kappa": 2}, 25.1, (0, 0)),
        (0.01, {"kappa": 1}, 5.01, (0, 0)),
        (1.0, {"phi_zero_policy": "unbounded"}, math.inf, (3, 2)),
        (1.0, {"phi_zero_policy": "offset", "phi_offset": 0.5}, 20.0, (3, 2)),
        (0.1, {"phi_zero_policy": "offset", "phi_offset": 0.5}, 5.066667, (0, 0)),
    ],
)
def test_the_canonical_instance_has_the_tabulated_optima(
    maximiser, search, trade_off, options, value, levels
):
    asked = AggregateObjective(**options, parametric_search=search, trade_off=trade_off)
    found = maximise_aggregate(C1, asked, maximiser)
    assert found.levels == levels
    assert found.value == pytest.approx(value, abs=5e-7)
    assert found.bound == pytest.approx(found.value, rel=1e-11)


@pytest.mark.spec("TV-20")
@pytest.mark.parametrize(
    "maximiser", [ClosureMaximiser, pytest.param(RingFamilyMaximiser, marks=pytest.mark.deep)]
)
@pytest.mark.parametrize(
    ("instance", "trade_off", "kappa", "value", "levels"),
    [
        ((2009, (3, 2, 2), 25), 1.0, 1, 16.058824, (0, 0, 0)),
        ((2009, (3, 2, 2), 25), 50.0, 1, 226.0, (2, 2, 2)),
        ((2009, (3, 2, 2), 25), 1.0, 2, 256.058824, (0, 0, 0)),
        ((2012, (4, 3, 2, 2), 60), 1.0, 1, 42.0, (4, 2, 2, 2)),
        ((2012, (4, 3, 2, 2), 60), 50.0, 1, 1953.0, (4, 2, 2, 2)),
        ((2012, (4, 3, 2, 2), 60), 1.0, 2, 1444.021739, (0, 0, 0, 0)),
        ((7, (2, 2, 2, 2, 2), 80), 1.0, 1, 43.017857, (0, 0, 0, 0, 0)),
        ((7, (2, 2, 2, 2, 2), 80), 50.0, 1, 1481.0, (2, 2, 1, 2, 2)),
    ],
)
def test_generated_instances_have_the_tabulated_optima(maximiser, instance, trade_off, kappa, value, levels):
    found = maximise_aggregate(
        generated(*instance), AggregateObjective(kappa, trade_off=trade_off), maximiser
    )
    assert found.levels == levels
    assert found.value == pytest.approx(value, abs=5e-7)


@pytest.mark.spec("TV-20", "INV-19")
@pytest.mark.parametrize("maximiser", MAXIMISERS)
def test_dinkelbach_goes_through_the_published_steps(maximiser):
    found = maximise_aggregate(C1, AggregateObjective(trade_off=0.1), maximiser)
    assert found.boxes == (((0, 0), (2, 2)), ((0, 0), (3, 1)))
    wide, tall = found.steps
    assert [(s.alpha, s.levels) for s in wide] == [(pytest.approx(5.1), (2, 2)), (pytest.approx(8), (2, 2))]
    assert [s.greatest for s in wide] == pytest.approx([0.29, 0.0])
    assert [(s.alpha, s.greatest) for s in tall] == [(pytest.approx(5.1), pytest.approx(0.0))]


def gadget(edges, limit):
    """The hardness gadget of 17.1 for four vertices, and the floor for at most ``limit`` of them."""
    thresholds = [(0, 0, 0, 0), *(tuple(int(v in edge) for v in range(4)) for edge in edges)]
    chains = [np.array([1.0, 0.5])] * 4, [np.array([1.0, 0.0])] * 4
    return ChainRecord.of(*chains, np.array(thresholds)), 4 - limit / 2


@pytest.mark.spec("TV-20", "E-49")
def test_the_hardness_gadget_finds_the_densest_vertices():
    """Hard only while the number of attributes is part of the input: the lattice of four has 16 nodes."""
    edges = [(0, 1), (0, 2), (1, 2), (2, 3)]
    for limit, floor, risk, suppressed in (
        (3, 2.5, 0.25, [{0, 1, 2}]),
        (2, 3.0, 1.0, [set(edge) for edge in edges]),
    ):
        record, asked = gadget(edges, limit)
        assert asked == floor
        feasible = [(phi / count, x) for x, count, phi, u in nodes_of(record) if u >= floor]
        best = min(feasible)[0]
        assert best == risk
        found = [{i for i in range(4) if x[i]} for r, x in feasible if r == best]
        assert sorted(map(sorted, found)) == sorted(map(sorted, suppressed))


@pytest.mark.spec("TV-21", "INV-18", "E-40")
def test_the_ring_family_has_the_tabulated_extension():
    def g(nodes):
        return np.array(
            [0.1 * C1.count(x) + C1.phi(x) * C1.utility(x) - 5 * C1.phi(x) for x in map(tuple, nodes)]
        )

    values = {
        (0, 0): 0.1, (1, 0): -0.5, (0, 1): -0.6, (1, 1): -0.6, (2, 0): -0.7, (2, 1): -0.3, (0, 2): -1,
        (1, 2): -0.4, (2, 2): 0.3, (3, 0): -0.8, (3, 1): -0.1, (3, 2): 1,
    }  # fmt: skip
    assert g(np.array(list(values))).tolist() == pytest.approx(list(values.values()))
    family = RingFamily((3, 2), g)
    costs = family.costs()
    assert costs.tolist() == pytest.approx([0.6, 0.7, 0.7, 0.7, 1.1])
    order = [(1, 1), (1, 2), (1, 3), (2, 1), (2, 2)]
    for steps, value, closure in (
        ([(1, 2)], -1.3, (2, 0)), ([(1, 3)], -2.1, (3, 0)), ([(1, 1), (2, 2)], -1.1, (1, 2)),
        ([(1, 3), (2, 2)], -1.0, (3, 2)), ([(1, 1), (1, 2), (2, 1)], -0.3, (2, 1)),
    ):  # fmt: skip
        chosen = np.array([[step in steps for step in order]])
        assert tuple(family.closure(chosen)[0]) == closure
        assert family.extended(chosen, costs)[0] == pytest.approx(value)


@pytest.mark.spec("INV-18", "E-40")
@pytest.mark.parametrize("heights", [(2, 2), (3, 2), (2, 1, 2), (1, 1, 1, 1)])
@pytest.mark.parametrize("form", ["marginals", "penalty"])
def test_both_forms_are_supermodular_below_the_closure_and_have_its_maximisers(heights, form):
    rng = np.random.default_rng(sum(heights))
    thresholds = np.concatenate(
        [np.zeros((1, len(heights)), int), rng.integers(0, np.array(heights) + 1, (12, len(heights)))]
    )
    chains = [[np.sort(rng.random(h + 1))[::-1] for h in heights] for _ in range(2)]
    maximiser = RingFamilyMaximiser(BoxObjective(ChainRecord.of(*chains, thresholds), 0.1, 1))
    family = RingFamily(heights, lambda nodes: maximiser.lifted(nodes, 2.0), form)
    costs = family.costs()
    subsets = np.array(list(itertools.product([False, True], repeat=family.n_steps)))
    values = family.extended(subsets, costs)
    of_closure = family.evaluate(family.closure(subsets))
    assert (values <= of_closure + 1e-12).all()
    nodes = np.array(list(itertools.product(*(range(h + 1) for h in heights))))
    assert family.extended(family.steps_of(nodes), costs) == pytest.approx(family.evaluate(nodes))
    number = 2 ** np.arange(family.n_steps)[::-1]
    for a, b in rng.integers(0, len(subsets), (400, 2)):
        union, meet = (subsets[a] | subsets[b]) @ number, (subsets[a] & subsets[b]) @ number
        assert values[union] + values[meet] >= values[a] + values[b] - 1e-12
    best = values.max()
    assert best == pytest.approx(family.evaluate(nodes).max())
    found = minimise(lambda sets: -family.extended(sets, costs), family.n_steps, 1e-12)
    assert -family.extended(found[None, :], costs)[0] == pytest.approx(-best, abs=1e-12)


@pytest.mark.spec("E-38")
def test_an_exponential_sensitivity_is_not_supermodular():
    """Φ4 on two attributes: why only sums over attributes are searched this way."""
    phi = np.exp(np.add.outer([2.0, 0.0], [2.0, 0.0]))
    lifted = -phi
    assert lifted[0, 0] + lifted[1, 1] < lifted[0, 1] + lifted[1, 0]


@pytest.mark.spec("E-37")
def test_an_infinite_sensitivity_is_never_rewarded():
    weights = [np.array([math.inf, 1.0, 0.5]), np.array([1.0, 1.0])]
    utilities = [np.array([9.0, 1, 0]), np.array([1.0, 0])]
    record = ChainRecord.of(utilities, weights, np.array([(0, 0), (2, 0), (2, 1)]))
    for maximiser in MAXIMISERS:
        for trade_off in (0.0, 0.1, 10.0):
            found = maximise_aggregate(record, AggregateObjective(trade_off=trade_off), maximiser)
            assert found.levels[0] >= 1
            assert found.levels == best_by_loops(record, trade_off)[0]
    barred = ChainRecord.of(utilities, [np.full(3, math.inf), weights[1]], np.array([(0, 0)]))
    assert maximise_aggregate(barred, AggregateObjective(trade_off=1.0), ClosureMaximiser).levels is None


@pytest.mark.spec("E-37")
def test_a_record_with_nothing_at_stake_is_disclosed_as_it_is():
    record = ChainRecord.of([np.array([2.0, 0])], [np.zeros(2)], np.array([[0], [1]]))
    for policy in ("exclude", "unbounded"):
        asked = AggregateObjective(phi_zero_policy=policy, trade_off=5.0)
        found = maximise_aggregate(record, asked, ClosureMaximiser)
        assert found.levels == (0,)
        assert record.risk(found.levels) == 0


@pytest.mark.spec("E-39")
@pytest.mark.parametrize("search", [dinkelbach, bisection])
def test_logarithmic_utilities_end_at_the_maximum(search):
    utilities = [np.log(7 / np.array([1.0, 2, 3, 7])), np.log(5 / np.array([1.0, 3, 5]))]
    record = ChainRecord.of(utilities, [w + 0.1 for w in C1.weights], C1.thresholds, C1.multiplicity)
    for trade_off in (0.001, 0.05, 0.2, 1.0, 5.0):
        objective = BoxObjective(record, trade_off, 2)
        found = search(objective, ClosureMaximiser(objective))
        assert (found.levels, found.value) == (best_by_loops(record, trade_off, 2)[0], pytest.approx(
            best_by_loops(record, trade_off, 2)[1], rel=1e-12))  # fmt: skip


def test_a_large_expansion_is_refused_with_what_works_instead():
    steps = [np.linspace(1, 0, 41)] * 5
    record = ChainRecord.of(steps, steps, np.zeros((1, 5), int))
    with pytest.raises(NotSupported, match="products") as refusal:
        ClosureMaximiser(BoxObjective(record, 1.0, 2))
    assert "ring_family" in refusal.value.remedy


@pytest.mark.parametrize(
    "options",
    [{"kappa": -1}, {"kappa": 9}, {"phi_offset": 1.0}, {"phi_zero_policy": "offset"}, {"method": "guess"},
     {"phi_zero_policy": "offset", "phi_offset": 0.0}, {"parametric_search": "newton"}],
)  # fmt: skip
def test_options_out_of_range_are_refused(options):
    with pytest.raises(InvalidInput):
        AggregateObjective(trade_off=1.0, **options)


@pytest.mark.spec("INV-19")
def test_alpha_rises_strictly_to_the_maximum():
    for instance in ((2009, (3, 2, 2), 25), (2012, (4, 3, 2, 2), 60)):
        record = generated(*instance)
        for trade_off in (0.3, 1.0, 5.0, 50.0):
            found = maximise_aggregate(record, AggregateObjective(trade_off=trade_off), ClosureMaximiser)
            for steps in found.steps:
                alphas = [step.alpha for step in steps]
                assert all(a < b for a, b in itertools.pairwise(alphas))
                assert len(alphas) < 10
            assert (found.levels, found.value) == best_by_loops(record, trade_off)


def test_what_only_rounding_sets_apart_is_a_tie_of_which_the_least_is_chosen():
    """f is 9/35 at both ends of the chain; the capacities of a cut, rounded, prefer the upper one."""
    weights = [np.array([3 * 0.7, 2 * 0.7, 0.7])]
    record = ChainRecord.of([np.array([0.2, 0.1, 0.0])], weights, np.array([[0], [0], [0], [0], [1], [2]]))
    values = [0.03 * count / phi + u for _, count, phi, u in nodes_of(record)]
    assert values[::2] == pytest.approx([9 / 35] * 2, rel=1e-15)
    for maximiser in MAXIMISERS:
        assert maximise_aggregate(record, AggregateObjective(trade_off=0.03), maximiser).levels == (0,)


@pytest.mark.parametrize("search", ["dinkelbach", "bisection"])
def test_a_minimisation_ends_inside_itself_once_it_is_halted(search):
    record = generated(2012, (4, 3, 2, 2), 60)
    asked = AggregateObjective(parametric_search=search, trade_off=50.0)
    best = best_by_loops(record, 50.0)[1]
    for patience in (0, 3, 20):
        looks = itertools.count()

        def halted(looks=looks, patience=patience) -> bool:
            return next(looks) >= patience

        found = maximise_aggregate(
            record,
            asked,
            lambda objective, halted=halted: RingFamilyMaximiser(objective, halted=halted),
            halted=halted,
        )
        # A look per box and per ring family at the most, after the one that said so.
        assert next(looks) <= patience + 2 * len(found.boxes) + 1
        assert found.value <= best <= found.bound
        assert found.value in [pytest.approx(f) for f in _values(record, 50.0)]


def _values(record: ChainRecord, trade_off: float) -> list[float]:
    return [trade_off * count / phi + u for _, count, phi, u in nodes_of(record) if phi > 0]
