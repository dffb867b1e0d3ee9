"""Closeness and gains on the public Adult table against dense arrays of counts, made from the files alone."""

import math
import os
from pathlib import Path

import numpy as np
import pytest

from app.domain.classes import closeness, gains
from app.domain.classes.gains import Gains
from app.domain.classes.ratios import as_written
from tests.oracles.adult_by_hand import read_rows
from tests.oracles.closeness_by_hand import counts_of, hierarchy_of

DATA = os.environ.get("PRIVACY_RISK_DATA")
pytestmark = [
    pytest.mark.real_data,
    pytest.mark.skipif(not DATA, reason="PRIVACY_RISK_DATA does not point at the public data sets"),
]

QUASI = ("sex", "age", "race", "education")


@pytest.fixture(scope="module", params=["occupation", "salary-class"])
def classes(request):
    """(G, m) counts of the sensitive values in the classes of the raw table."""
    header, *body = read_rows(Path(DATA or "") / "arx-adult" / "adult.csv")
    keys = [tuple(row[header.index(name)] for name in QUASI) for row in body]
    values = [row[header.index(request.param)] for row in body]
    of_class = {key: g for g, key in enumerate(dict.fromkeys(keys))}
    of_value = {value: v for v, value in enumerate(sorted(set(values)))}
    dense = np.zeros((len(of_class), len(of_value)), dtype=np.int64)
    for key, value in zip(keys, values, strict=True):
        dense[of_class[key], of_value[value]] += 1
    return dense


@pytest.fixture
def shares(classes):
    return classes.sum(axis=0) / classes.sum(), classes / classes.sum(axis=1, keepdims=True)


@pytest.fixture
def counts(classes):
    return counts_of(classes.sum(axis=0), classes.tolist())


def test_distances(counts, shares):
    p, q = shares
    m = len(p)
    flat = hierarchy_of(tuple(range(m)))
    equal = np.abs(p - q).sum(axis=1) / 2
    ordered = np.abs(np.cumsum(p - q, axis=1)[:, :-1]).sum(axis=1) / (m - 1)
    middle = (p + q) / 2
    js = (p * np.log2(p / middle)).sum(axis=1) + np.where(
        q > 0, q * np.log2(np.maximum(q, 1e-9) / middle), 0
    ).sum(axis=1)
    for kind, expected in (("equal", equal), ("ordered", ordered), ("hierarchical", equal), ("js", js / 2)):
        found = closeness.distances(counts, kind, flat)
        assert np.abs(found - expected).max() < 1e-12
        for t in (0.1, 0.2, 0.5):
            near = np.abs(expected - t) < 1e-9
            farther = closeness.farther(counts, kind, as_written(t), flat)
            assert (farther == (expected > t))[~near].all()
    complete = (q > 0).all(axis=1)
    kl = (p * np.log2(p / np.maximum(q, 1e-9))).sum(axis=1)
    found = closeness.kl_divergences(counts)
    assert np.abs(found[complete] - kl[complete]).max(initial=0) < 1e-12
    assert np.isinf(found[~complete]).all()


def test_gains(counts, shares):
    p, q = shares
    found = Gains.of(counts)
    relative = (q - p) / p
    assert np.abs(gains.greatest_gains(counts, found) - relative.max(axis=1).clip(0)).max() < 1e-10
    assert np.abs(gains.greatest_losses(counts, found) - (-relative).max(axis=1).clip(0)).max() < 1e-12
    ratios = np.abs(np.log(np.maximum(q, 1e-300) / p))
    absent = (q == 0).any(axis=1)
    star = gains.greatest_ratios(counts, found)
    assert np.isinf(star[absent]).all()
    assert np.abs(star[~absent] - ratios[~absent].max(axis=1)).max(initial=0) < 1e-12
    for beta in (0.5, 1, 3, 20):
        allowed = p * (1 + np.minimum(beta, -np.log(p)))
        far = (np.abs(q - allowed) > 1e-9).all(axis=1)
        unlike = gains.unlike(counts, as_written(beta), "enhanced")
        assert (unlike == (q > allowed).any(axis=1))[far].all()
    for base, unit in (("e", 1.0), ("2", math.log(2))):
        failing = gains.disclosing(counts, as_written(1.5), base)
        assert failing.tolist() == (star >= 1.5 * unit).tolist()
