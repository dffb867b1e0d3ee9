"""The specification's synthetic data."""

import numpy as np
import pytest

from app.experiments.synthetic import generate


def test_the_trees_have_the_heights_and_leaves_of_the_specification():
    data = generate(1, 10)
    assert [h.height for h in data.hierarchies] == [3, 2, 3, 3]
    assert [h.n_leaves for h in data.hierarchies] == [48, 6, 60, 18]
    assert all(h.is_tree and h.is_balanced for h in data.hierarchies)


def test_every_cell_is_a_leaf_and_the_seed_alone_decides():
    data, again, other = generate(5, 500), generate(5, 500), generate(6, 500)
    assert all(h.is_leaf[data.leaves[:, j]].all() for j, h in enumerate(data.hierarchies))
    assert (data.leaves == again.leaves).all()
    assert (data.weights == again.weights).all()
    assert (data.leaves != other.leaves).any()


def test_leaves_follow_the_law_of_zipf():
    """Shares of 20,000 draws against r^-0.8: each within 6 standard errors, false alarm below 1e-6 in all."""
    data = generate(3, 20_000)
    for j, hierarchy in enumerate(data.hierarchies):
        counts = np.sort(np.bincount(data.leaves[:, j], minlength=hierarchy.n_nodes)[hierarchy.leaves])[::-1]
        expected = np.arange(1, hierarchy.n_leaves + 1) ** -0.8
        expected /= expected.sum()
        error = np.sqrt(expected * (1 - expected) / 20_000)
        assert (np.abs(counts[:3] / 20_000 - expected[:3]) < 6 * error[:3] + 0.005).all()


def test_the_attributes_are_correlated():
    """An attribute's most frequent value is more frequent among those with another's."""
    data = generate(3, 20_000)
    first, second = (np.bincount(data.leaves[:, j]).argmax() for j in (0, 1))
    has_first, has_second = data.leaves[:, 0] == first, data.leaves[:, 1] == second
    assert (has_first & has_second).mean() > 1.1 * has_first.mean() * has_second.mean()


def test_dictionaries_are_nested_and_hold_the_records():
    data = generate(2, 100)
    table, small, large = data.table(20), data.dictionary(0, 40), data.dictionary(0, 100)
    assert set(table.own_ids) <= set(small.entity_ids) <= set(large.entity_ids)
    assert large.n_entities == 100
    assert set(data.dictionary(20, 40).entity_ids).isdisjoint(table.own_ids)


@pytest.mark.parametrize("family", ["linear_personal", "multiplicative"])
def test_weights_are_the_entities_own(family):
    data = generate(2, 10)
    table = data.table(4)
    sensitivity = data.sensitivity(table, family)
    groups = np.arange(4, dtype=np.int32)
    total = data.weights[:4].sum(axis=1)
    expected = total if family == "linear_personal" else np.exp(total)
    assert sensitivity.phi(table.codes, groups) == pytest.approx(expected)
