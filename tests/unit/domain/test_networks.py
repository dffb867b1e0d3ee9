"""Networks of people: the specification's vectors, limits, hubs, and inputs that are refused."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from app.domain.errors import InvalidInput, NotSupported
from app.domain.networks.common_friends import common_friends
from app.domain.networks.diffusion import poisson_shares, spread
from app.domain.networks.graph import Graph, graph_of_edges
from app.domain.networks.plans import Sharing, greatest_utility, least_loss, least_trade_off, scores_of
from app.domain.networks.trust import agreement, risk_weights, with_entries

TRUST_OF_0 = np.array([1.0, 0.5, -0.2, -1.0])


def path() -> Graph:
    return graph_of_edges(4, np.array([0, 1, 2]), np.array([1, 2, 3]))


def triangle() -> Graph:
    return graph_of_edges(3, np.array([0, 1, 2]), np.array([1, 2, 0]))


def kernel_of(graph: Graph, kernel: str, time: float) -> np.ndarray:
    """K, column by column."""
    unit = np.eye(graph.n_people)
    return np.stack([spread(graph, own, kernel, time).values for own in unit], axis=1)


def risks(kernel: str, time: float = 1.0, steps: int = 1) -> np.ndarray:
    weights = risk_weights(TRUST_OF_0, "linear")
    weights[0] = 0.0
    return 2.5 * spread(path(), weights, kernel, time, steps).values


@pytest.mark.spec("DN-V9")
def test_kernels_of_the_triangle_are_those_of_the_specification():
    assert kernel_of(triangle(), "laplacian", 1.0)[0] == pytest.approx(
        [0.366525, 0.316738, 0.316738], abs=5e-7
    )
    assert kernel_of(triangle(), "random_walk", 1.0)[0] == pytest.approx(
        [0.482087, 0.258957, 0.258957], abs=5e-7
    )


@pytest.mark.spec("DN-V9", "DN-S6")
def test_kernel_and_risks_of_the_path_are_those_of_the_specification():
    found = kernel_of(path(), "laplacian", 0.8)
    assert found[0] == pytest.approx([0.572345, 0.298650, 0.100402, 0.028603], abs=5e-7)
    assert found[1] == pytest.approx([0.298650, 0.374098, 0.226851, 0.100402], abs=5e-7)
    assert risks("laplacian", 0.8) == pytest.approx([0.408766, 0.825092, 1.449553, 1.941590], abs=5e-7)
    assert risks("steps", steps=2) == pytest.approx([0.75, 1.09375, 1.125, 1.5625], abs=1e-15)
    assert risks("random_walk", 0.8) == pytest.approx([0.383302, 0.754357, 1.457993, 1.941996], abs=5e-7)


@pytest.mark.spec("DN-V9", "DN-S5")
def test_the_quantity_as_printed_grows_with_trust_and_is_no_risk():
    """The positive control: with the printed sign the order of the recipients is the wrong way round."""
    printed = 2.5 * spread(path(), TRUST_OF_0, "laplacian", 0.8).values
    assert printed == pytest.approx([1.682468, 0.849816, -0.399105, -1.383179], abs=5e-7)
    assert (np.diff(printed) < 0).all()
    assert (np.diff(risks("laplacian", 0.8)) > 0).all()


@pytest.mark.parametrize("kernel", ["random_walk", "laplacian"])
def test_each_component_tends_to_its_own_mean_and_isolated_people_keep_everything(kernel):
    graph = graph_of_edges(6, np.array([0, 1, 3]), np.array([1, 2, 4]))
    weights = np.array([1.0, 0.0, 0.5, 0.25, 0.75, 0.4])
    at_first, late = (spread(graph, weights, kernel, time).values for time in (0.0, 1_000.0))
    assert (at_first == weights).all()
    first = 0.5 if kernel == "laplacian" else (1.0 + 0.0 * 2 + 0.5) / 4
    assert late == pytest.approx([first] * 3 + [0.5, 0.5, 0.4], abs=1e-12)


def test_a_hub_of_100_000_friends_takes_few_products_and_keeps_the_mass():
    n = 100_001
    graph = graph_of_edges(n, np.zeros(n - 1, dtype=int), np.arange(1, n))
    unit = np.zeros(n)
    unit[0] = 1.0
    found = spread(graph, unit, "laplacian", 0.001)
    # The star's spectrum is 0, −1 and −n: K_00 = 1/n + e^(−tn)(n−1)/n.
    assert found.values[0] == pytest.approx(1 / n + np.exp(-0.001 * n) * (n - 1) / n, abs=1e-12)
    assert found.values.sum() == pytest.approx(1.0, abs=1e-9)
    assert spread(graph, np.ones(n), "random_walk", 1.0).values == pytest.approx(np.ones(n), abs=1e-12)


def test_a_reach_that_would_take_too_many_products_is_refused():
    graph = graph_of_edges(2, np.array([0]), np.array([1]), np.array([1e9]))
    with pytest.raises(InvalidInput, match="up to 2e\\+07 is computed"):
        spread(graph, np.ones(2), "laplacian", 1.0)
    assert spread(graph, np.array([0.0, 1.0]), "random_walk", 50.0).values == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("mean", [0.0, 1e-9, 0.8, 1.0, 17.3, 1_000.0])
def test_the_shares_of_steps_sum_to_one_but_for_the_stated_rest(mean):
    shares, tail = poisson_shares(mean)
    assert tail <= 1e-14
    assert shares.sum() + tail == pytest.approx(1.0, abs=1e-13)


def test_weights_and_directions_are_those_of_the_edges():
    graph = graph_of_edges(
        3, np.array([0, 0, 1]), np.array([1, 2, 2]), np.array([3.0, 1.0, 5.0]), directed=True
    )
    walk = np.array([[0, 0.75, 0.25], [0, 0, 1], [0, 0, 1]])
    expected = scipy.linalg.expm(1.7 * (walk - np.eye(3)))
    assert kernel_of(graph, "random_walk", 1.7) == pytest.approx(expected, abs=1e-13)
    with pytest.raises(InvalidInput, match="undirected"):
        spread(graph, np.ones(3), "laplacian")


def test_loops_and_repeated_edges_are_left_out_and_counted():
    graph = graph_of_edges(5, np.array([0, 1, 1, 2, 2, 0]), np.array([1, 0, 1, 2, 1, 1]))
    assert (graph.loops, graph.repeated, graph.links.nnz) == (2, 2, 4)
    both = graph_of_edges(2, np.array([0, 1]), np.array([1, 0]), directed=True)
    assert (both.repeated, both.links.nnz) == (0, 2)


@pytest.mark.parametrize(
    ("weights", "code"),
    [
        ([1.0, -1.0, 1.0], "weight-out-of-range"),
        ([1.0, np.nan, 1.0], "weight-out-of-range"),
        ([1.0, np.inf, 1.0], "weight-out-of-range"),
        ([1e-310, 1.0, 1.0], "weight-out-of-range"),
        ([0.0, 1.0, 1.0], "weight-out-of-range"),
        ([1.0, 1.0, 2.0], "conflicting-weights"),
    ],
)
def test_weights_that_are_none_are_refused_with_their_rows(weights, code):
    with pytest.raises(InvalidInput) as refused:
        graph_of_edges(3, np.array([0, 1, 1]), np.array([1, 2, 0]), np.array(weights))
    (fault,) = refused.value.faults
    assert fault.code == code
    row = next(i for i, own in enumerate(weights, 1) if own != 1.0)
    assert f"first rows: {row}" in fault.message


def test_leakage_that_does_not_sum_to_one_is_refused():
    ends = np.array([0, 0, 1, 2]), np.array([1, 2, 0, 0])
    graph_of_edges(3, *ends, np.array([0.5, 0.5, 1.0, 1.0]), directed=True).require_leakage()
    with pytest.raises(InvalidInput, match="from 2 people"):
        graph_of_edges(3, *ends, np.array([0.5, 0.4, 1.0, 2.0]), directed=True).require_leakage()


@pytest.mark.parametrize("time", [-1.0, np.inf, np.nan])
@pytest.mark.parametrize("kernel", ["random_walk", "laplacian"])
def test_a_time_that_is_none_is_refused(kernel, time):
    with pytest.raises(InvalidInput, match="finite and at least 0"):
        spread(path(), np.ones(4), kernel, time)
    with pytest.raises(InvalidInput, match="steps must be"):
        spread(path(), np.ones(4), "steps", steps=-1)


@pytest.mark.parametrize(
    ("form", "bad"), [("linear", 1.5), ("reciprocal", -0.1), ("exp", np.inf), ("exp", -231)]
)
def test_trust_outside_the_range_of_its_form_is_refused(form, bad):
    with pytest.raises(InvalidInput, match="1 pair has a trust outside"):
        risk_weights(np.array([0.0, bad]), form)


def test_trust_by_attributes_holds_missing_values_for_different_and_entries_of_users_win():
    codes = np.array([[1, 2], [1, 2], [1, 3], [0, 2], [0, 2]], dtype=np.int32)
    owners, others = np.array([0, 0, 0, 3, 1]), np.array([1, 2, 3, 4, 0])
    trust = agreement(codes, owners, others)
    assert trust.tolist() == [1.0, -1.0, -1.0, -1.0, 1.0]
    stated = with_entries(
        trust, owners * 5 + others, np.array([2, 1, 2, 24]), np.array([9.0, 0.5, 0.25, 0.0])
    )
    assert stated.tolist() == [0.5, 0.25, -1.0, -1.0, 1.0]


def test_common_friends_of_a_hub_and_of_people_without_friends_are_counted():
    n = 2_000
    hub = np.concatenate([np.zeros(n - 2, dtype=int), [1]]), np.concatenate([np.arange(1, n - 1), [2]])
    graph = graph_of_edges(n, *hub)
    found = common_friends(graph, np.array([0, 1, 3, 0, n - 1, 0]), np.array([1, 2, 4, n - 1, n - 1, 0]))
    assert found.tolist() == [1, 1, 1, 0, 0, n - 2]


def sharing(**other: bool) -> Sharing:
    """V10 of the specification."""
    owners, recipients = np.array([0, 0, 1, 1, 2, 2]), np.array([1, 2, 0, 2, 0, 1])
    trust = np.array([[0, 2, 0], [2, 0, 1], [0, 1, 0.0]])
    return Sharing(
        owners,
        recipients,
        risk_weights(trust[owners, recipients], "reciprocal"),
        np.array([[2, 1], [1, 3], [0.5, 0.5]]),
        np.array([[1, 0.5], [0.8, 1.2], [0.4, 2]]),
        np.array([3, 2]),
        **other,
    )


@pytest.mark.spec("DN-V10", "DN-S10")
def test_loss_and_utility_of_a_plan_are_those_of_the_specification():
    plan = np.array([[3, 2], [1, 0], [2, 2], [0, 1], [3, 1], [3, 2]])
    losses, utilities = scores_of(sharing(), plan)
    assert losses.sum(axis=1) == pytest.approx([4.666667, 4.166667, 3.25], abs=5e-7)
    assert utilities.sum(axis=1) == pytest.approx([6.5, 9.6, 2.4])
    _, printed = scores_of(sharing(as_printed=True), plan)
    assert printed.sum(axis=1) == pytest.approx([5.0, 5.2, 8.4])


@pytest.mark.spec("DN-V10")
def test_plans_of_the_three_problems_are_those_of_the_specification():
    traded = least_trade_off(sharing(), 0.7)
    assert traded.levels.tolist() == [[0, 2], [0, 2], [3, 0], [0, 0], [3, 0], [3, 2]]
    assert traded.value == pytest.approx(-5.623333, abs=5e-7)
    capped = greatest_utility(sharing(), 6.0, "exact")
    assert capped.levels.tolist() == [[0, 2], [0, 2], [3, 0], [0, 0], [2, 0], [3, 2]]
    assert (capped.value, capped.is_optimal) == (pytest.approx(16.2), True)
    floored = least_loss(sharing(), 15.0, "exact")
    assert (floored.value, floored.is_optimal) == (pytest.approx(5.416667, abs=5e-7), True)


def test_without_a_trade_off_or_a_cap_nothing_that_costs_is_shown():
    assert not least_trade_off(sharing(), 0.0).levels.any()
    assert not greatest_utility(sharing(), 0.0).levels.any()
    assert not least_loss(sharing(), 0.0).value


def test_a_floor_nearer_than_what_the_solver_sees_is_kept():
    ends, loss = (np.array([0, 1]), np.array([1, 0])), np.array([[0.0, 0.3], [0.1, 0.0]])
    near = Sharing(*ends, np.array([0.1, 0.1]), loss, loss, np.array([1, 1]), as_printed=True)
    found = least_loss(near, 5e-8, "exact")
    assert found.value == pytest.approx(0.01)
    assert scores_of(near, found.levels)[1].sum() == pytest.approx(0.1)
    assert found.bound <= found.value


def test_a_floor_that_no_plan_reaches_and_levels_above_the_height_are_refused():
    with pytest.raises(InvalidInput, match="no more utility than"):
        least_loss(sharing(), 1_000.0)
    with pytest.raises(InvalidInput, match="not from 0 to 2"):
        scores_of(sharing(), np.full((6, 2), 3))


def test_weights_of_plans_that_are_negative_are_refused():
    one = np.array([0]), np.array([1])
    with pytest.raises(InvalidInput, match="One of the interests"):
        Sharing(*one, np.ones(1), np.ones((2, 1)), -np.ones((2, 1)), np.array([1]))


def test_more_cells_than_are_solved_exactly_are_refused():
    n = 200_001
    owners, recipients = np.zeros(n, dtype=int), np.arange(1, n + 1)
    weights = np.linspace(0.3, 1.0, n + 1)[:, None]
    large = Sharing(owners, recipients, np.ones(n), np.ones((n + 1, 1)), weights, np.array([3]))
    with pytest.raises(NotSupported, match="200,001 cells"):
        greatest_utility(large, 1_000.5, "exact")
    found = greatest_utility(large, 1_000.5)
    assert 0 <= found.bound - found.value < 1.0
