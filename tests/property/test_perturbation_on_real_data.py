"""Perturbed Adult tables and credit cards, against pandas, dense matrices and exact variances.

The bytes are the same in every run. With others an estimate would be farther off than is allowed, without a
fault, with a probability of less than 1e-9: by Bernstein's inequality, which holds of every sum of
independent draws, whatever the numbers are.
"""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from app.domain.attacks.group_inference import GROUP_INFERENCE
from app.domain.attacks.population_inference import POPULATION_INFERENCE
from app.domain.errors import InvalidInput
from app.domain.hierarchies.predicates import AskedAttribute, Predicate
from app.domain.mechanisms.count_estimates import EstimateOptions
from app.domain.mechanisms.counted_release import CountedRelease
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.perturbation import PERTURBATION
from app.domain.mechanisms.perturbed_column import Perturbation
from app.domain.tables.table import Table
from tests.oracles import perturbation_by_hand as by_hand
from tests.oracles.drawn_releases import context_of, measured
from tests.oracles.inference_by_hand import dense
from tests.oracles.real_frames import (
    CARDS,
    MISSING,
    NEEDS_DATA,
    WITH_MISSING,
    WITHOUT_MISSING,
    frame,
    shown,
    table,
)

pytestmark = [*NEEDS_DATA, pytest.mark.deep]
FALSE_ALARM = 1e-9
ADULT = ("sex", "race", "marital-status", "education", "workclass", "native-country", "age")
OF_CARDS = ("SEX", "EDUCATION", "MARRIAGE", "AGE")
GROUPED = {
    WITHOUT_MISSING: ((), ("sex",), ("sex", "education")),
    WITH_MISSING: ((), ("sex",), ("sex", "education")),
    CARDS: ((), ("SEX",), ("SEX", "EDUCATION", "AGE")),
}
LEAST = 100
CASES = [
    (WITHOUT_MISSING, "occupation", 4.0),
    (WITHOUT_MISSING, "salary-class", 0.5),
    (WITH_MISSING, "occupation", 4.0),
    (WITH_MISSING, "salary-class", 1.0),
    (CARDS, "PAY_0", 4.0),
    (CARDS, "default-payment-next-month", 1.0),
]


@pytest.fixture(scope="module", params=CASES, ids=lambda own: f"{own[1]} of {own[0]}")
def perturbed(request):
    """Records, their table, and what was drawn of it."""
    name, sensitive, beta = request.param
    rows = frame(name)
    known = OF_CARDS if name == CARDS else ADULT
    own = table(rows, known, sensitive, keeps_missing=True)
    bits = by_hand.stream(f"{name} {sensitive}")
    drawn = PERTURBATION.draw(MechanismContext(own), Perturbation(beta), bits)
    return rows, own, drawn, request.param


def matrix_and_prior(rows, drawn, sensitive):
    """PM and the true share of each value, in the published order."""
    counts = rows[sensitive].value_counts()
    values = list(drawn.published.values)
    assert set(values) == set(counts.index)
    return np.array(dense(drawn.published.matrix)), counts.reindex(values).to_numpy() / len(rows)


@pytest.mark.spec("BL-6")
def test_no_posterior_of_the_published_matrix_is_above_its_bound(perturbed):
    rows, _, drawn, (_, sensitive, beta) = perturbed
    matrix, prior = matrix_and_prior(rows, drawn, sensitive)
    assert drawn.published.prior == pytest.approx(prior)
    assert matrix.sum(axis=0) == pytest.approx(np.ones(len(prior)))
    assert matrix.min() >= 0
    posteriors = by_hand.greatest_posteriors(matrix.tolist(), prior.tolist())
    for share, posterior in zip(prior, posteriors, strict=True):
        assert posterior <= by_hand.bound(share, beta) * (1 + 1e-9)
    if sensitive == "occupation":
        assert matrix == pytest.approx(np.array(by_hand.matrix_as_published(prior.tolist(), beta)), abs=1e-9)


def test_all_but_the_sensitive_value_is_published_as_it_was(perturbed):
    rows, own, drawn, (_, sensitive, _) = perturbed
    released = shown(own, drawn.columns)
    known = [name for name in own.attributes if name != sensitive]
    assert (released[known].to_numpy() == rows[known].to_numpy()).all()
    kept = (released[sensitive].to_numpy() == rows[sensitive].to_numpy()).mean()
    matrix, prior = matrix_and_prior(rows, drawn, sensitive)
    expected = float(prior @ np.diag(matrix))
    reach = math.sqrt(math.log(2 / FALSE_ALARM) / (2 * len(rows)))  # Hoeffding
    assert abs(kept - expected) < reach


def bernstein(variance, greatest, cases):
    """How far from its mean a sum of independent terms is at most, in so many cases together.

    ``variance`` is that of the sum, ``greatest`` how far one term may be from its own mean.
    """
    needed = math.log(2 * cases / FALSE_ALARM)
    own = greatest * needed / 3
    return own + np.sqrt(own**2 + 2 * variance * needed)


def released_as(own, drawn):
    """The release, its rows in another order."""
    codes = np.stack(drawn.columns, axis=1)[np.random.default_rng(7).permutation(own.n_records)]
    rows = Table(own.attributes, own.hierarchies, codes, sensitive=own.sensitive)
    return DrawnRelease(rows, PERTURBATION.name, drawn.published)


def counted_release(own, drawn):
    """The same as its reader counts it."""
    attributes = [
        AskedAttribute(name, tree, None, top_is_missing=True)
        for name, tree in zip(own.attributes, own.hierarchies, strict=True)
    ]
    return CountedRelease.drawn(released_as(own, drawn), attributes)


def crossed(rows, by, sensitive, values):
    """How often each value occurs in each group, by pandas; without attributes all are one group."""
    keys = [rows[column] for column in by] or [np.zeros(len(rows))]
    return pd.crosstab(keys, rows[sensitive]).reindex(columns=values, fill_value=0)


@pytest.fixture(scope="module")
def counts(perturbed):
    """By attributes, per group and value: the truth, what is published, and what is told."""
    rows, own, drawn, (name, sensitive, _) = perturbed
    values, released = list(drawn.published.values), shown(own, drawn.columns)
    release = counted_release(own, drawn)
    found = {}
    for by in GROUPED[name]:
        true = crossed(rows, by, sensitive, values)
        true = true[true.sum(axis=1) >= LEAST]
        published = crossed(released, by, sensitive, values).reindex(index=true.index, fill_value=0)
        queries = [
            [
                *(Predicate(*own) for own in zip(by, [(cell,) for cell in _cells(group, by)], strict=True)),
                Predicate(sensitive, (value,)),
            ]
            for group in true.index
            for value in values
        ]
        told = release.estimates(release.read(queries), EstimateOptions())
        found[by] = true.to_numpy(float), published.to_numpy(float), told
    return found


def _cells(group, by):
    """The cells of a group, which pandas gives as one where they are of one attribute."""
    return group if len(by) > 1 else (group,)[: len(by)]


@pytest.mark.spec("BL-6")
def test_counts_are_true_to_within_their_exact_variance_and_counts_as_published_are_not(perturbed, counts):
    rows, _, drawn, (_, sensitive, _) = perturbed
    matrix, _ = matrix_and_prior(rows, drawn, sensitive)
    inverse = np.linalg.inv(matrix)
    # Of a record with the value j the estimate of i gets inverse[i, shown], whose mean is 1 where i = j.
    of_record = np.einsum("ik,kj->ij", inverse**2, matrix) - np.eye(len(matrix))
    farthest = np.abs(inverse[:, :, None] - np.eye(len(matrix))[:, None, :]).max(axis=(1, 2))
    cases = sum(true.size for true, _, _ in counts.values())
    for by, (true, published, told) in counts.items():
        assert told.records.reshape(true.shape)[:, 0].tolist() == true.sum(axis=1).tolist()
        estimates = told.estimates.reshape(true.shape)
        assert estimates == pytest.approx(published @ inverse.T, rel=1e-9, abs=1e-6)
        variances = true @ of_record.T
        reach = bernstein(variances, farthest, cases)
        assert (np.abs(estimates - true) <= reach).all()
        assert by or (np.abs(published - true) > reach).any()
        # Stated errors are estimates as well: of the largest groups they are nearly exact.
        large = true.sum(axis=1) >= 9_000
        errors = told.standard_errors.reshape(true.shape)
        assert by or large.all()
        assert errors[large] == pytest.approx(np.sqrt(variances[large]), rel=0.05)


def test_of_the_intervals_told_of_groups_about_one_in_twenty_misses(perturbed, counts):
    """Groups are drawn independently; their intervals follow the normal law, so that 0.05 may be 0.07."""
    _, _, drawn, _ = perturbed
    *_, (true, _, told) = counts.values()
    assert len(true) > 20
    value = int(np.argmax(drawn.published.prior))
    estimates, errors = (own.reshape(true.shape)[:, value] for own in (told.estimates, told.standard_errors))
    low, high = (own.reshape(true.shape)[:, value] for own in (told.low, told.high))
    # No narrower than by the standard errors: half a step more at either end, or what bounds few records.
    assert (high - low >= 2 * stats.norm.isf(0.025) * errors).all()
    most = stats.binom.isf(FALSE_ALARM, len(true), 0.07)
    off = np.abs(estimates - true[:, value])
    assert np.count_nonzero(off > (high - low) / 2) <= most
    assert np.count_nonzero(off > (high - low) / 2 / 10) > most


def reconstructed(matrix, prior, published, rounds):
    """(k, m) counts of k values, by the inverse or by so many rounds of expectation-maximisation."""
    if rounds is None:
        return np.linalg.solve(matrix, published.T).T
    found = published.sum(axis=1, keepdims=True) * prior
    for _ in range(rounds):
        found = found * ((published / (found @ matrix.T)) @ matrix)
    return found


def test_values_are_guessed_as_often_as_by_counts_of_pandas(perturbed):
    """Of each record by what its cells tell, multiplied; who lacks a cell is told nothing by it."""
    rows, own, drawn, (_, sensitive, _) = perturbed
    matrix, prior = matrix_and_prior(rows, drawn, sensitive)
    released, values = shown(own, drawn.columns), list(drawn.published.values)
    found = measured(POPULATION_INFERENCE, context_of(own, released_as(own, drawn)), rounds=4)
    assert [of.rounds for of in found.reconstructions] == [1, 2, 4, None]
    assert found.success_before == pytest.approx(prior.max())
    published = {
        name: crossed(released[released[name] != MISSING], (name,), sensitive, values)
        for name in own.attributes[:-1]
    }
    for of in found.reconstructions:
        scores = np.tile(np.log(prior), (len(rows), 1))
        for name, counts in published.items():
            told = np.maximum(reconstructed(matrix, prior, counts.to_numpy(float), of.rounds), 0.0)
            with np.errstate(divide="ignore"):
                logs = np.vstack([np.log(told / prior), np.zeros(len(prior))])  # the last row: nothing told
            scores += logs[counts.index.get_indexer(rows[name])]
        scores[np.isneginf(scores).all(axis=1)] = np.log(prior)
        right = np.array(values)[scores.argmax(axis=1)] == rows[sensitive].to_numpy()
        assert of.success_rate == pytest.approx(right.mean(), abs=1e-9)


def test_shares_told_of_groups_are_those_of_a_dense_inverse(perturbed):
    rows, own, drawn, (name, sensitive, _) = perturbed
    matrix, prior = matrix_and_prior(rows, drawn, sensitive)
    values, by = list(drawn.published.values), GROUPED[name][-1]
    published = crossed(shown(own, drawn.columns), by, sensitive, values)
    published = published[published.sum(axis=1) >= LEAST]
    inverse, counts = np.linalg.inv(matrix), published.to_numpy(float)
    sizes = counts.sum(axis=1, keepdims=True)
    estimated = counts @ inverse.T
    of_record = np.einsum("ik,kj->ij", inverse**2, matrix) - np.eye(len(matrix))
    errors = np.sqrt(np.maximum(estimated, 0) @ of_record.T) / sizes
    left = (estimated / sizes - 2 * errors - prior) / prior
    context = context_of(own, released_as(own, drawn))
    found = measured(GROUP_INFERENCE, context, quasi_identifiers=by, least_records=LEAST, top=200)
    assert (found.groups, found.records) == (len(counts), counts.sum())
    assert found.groups_exposed == (left.max(axis=1) > 1).sum()
    told = {of.shows: (of.value, of.estimated, of.standard_error, of.gain_left) for of in found.worst}
    assert len(told) == min(200, len(counts))
    for place, group in enumerate(published.index):
        value = int(left[place].argmax())
        expected = estimated[place, value] / sizes[place, 0], errors[place, value], left[place, value]
        assert told[group][0] == values[value]
        assert told[group][1:] == pytest.approx(expected, rel=1e-6, abs=1e-9)


def test_missing_occupations_are_a_value_of_their_own_only_where_that_is_said():
    rows = frame(WITH_MISSING)
    own = table(rows, ADULT, "occupation", keeps_missing=False)
    assert int((own.codes[:, -1] == 0).sum()) == int((rows["occupation"] == MISSING).sum()) == 2809
    with pytest.raises(InvalidInput, match="2,809 records have no value of 'occupation'"):
        PERTURBATION.draw(MechanismContext(own), Perturbation(2.0), by_hand.stream("missing"))
