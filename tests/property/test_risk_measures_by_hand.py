"""Who a record may be, and risks of drawn records and over drawn dictionaries: by loops over all entities."""

from __future__ import annotations

import bisect
import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from app.domain.analyses.bayes_risk_sampled import BAYES_RISK_SAMPLED, SampledBayesParameters
from app.domain.analyses.consistent_entities import CONSISTENT_ENTITIES, ConsistentEntitiesParameters
from app.domain.analyses.parametric_risk import PARAMETRIC_RISK, ParametricParameters
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.sensitivity.sensitivity import build_sensitivity
from app.domain.sensitivity.weights import LeafWeights
from tests.oracles.counting import brute_consistent, brute_counts, disclosed_by, instances, table_rules
from tests.oracles.effort import examples

SOME = settings(max_examples=examples(60), deadline=None)


def context_of(table, dictionary, rule=None):
    harms = {name: LeafWeights(0.25 * (1 + j)) for j, name in enumerate(table.attributes)}
    sensitivity = build_sensitivity(table, "linear", harms)
    utility = build_utility(table, "depth_sum")
    return MeasureContext(table, rule, dictionary, sensitivity, None, utility, MODEL_I, "zero")


def harm(context, row):
    """Φ: the weight of what is shown, ¼ of the first attribute for a leaf, ½ of the second, and so on."""
    return sum(context.sensitivity.shapes[j][0][node] for j, node in enumerate(row))


def losses(context, dictionary, rows):
    counts = brute_counts(context.table, dictionary, rows)
    return [harm(context, row) / n if n else 0.0 for row, n in zip(rows, counts, strict=True)], counts


@SOME
@given(instances(), st.data())
def test_consistent_entities_are_those_of_a_loop(instance, data):
    table, dictionary = instance
    rule, row = data.draw(table_rules(table)), data.draw(st.integers(1, table.n_records))
    most = data.draw(st.integers(1, 12))
    context = context_of(table, dictionary, rule)
    found = CONSISTENT_ENTITIES.compute(
        context, ConsistentEntitiesParameters(row, None, most), lambda _: None
    )
    shown = disclosed_by(table, rule.levels, table.codes[[row - 1]].tolist())[0]
    fits = [e for e in range(dictionary.n_entities) if brute_consistent(table, dictionary, shown, e)]
    names = [dictionary.entity_ids[e] for e in fits]
    assert (found.row, found.consistent) == (row, len(fits))
    assert list(found.entities) == names[:most]
    assert found.own_entity_consistent == (table.entity_ids[row - 1] in names)


def sample_of(dictionary, kept):
    """The dictionary of these entities alone."""
    links = tuple(replace(link, column=link.column[kept]) for link in dictionary.links)
    return replace(dictionary, n_entities=len(kept), links=links, entity_ids=dictionary.entity_ids[kept])


@SOME
@given(instances(), st.data())
def test_the_bayes_risk_over_drawn_dictionaries_is_the_mean_of_loops(instance, data):
    table, dictionary = instance
    rule, n = data.draw(table_rules(table)), dictionary.n_entities
    kept = data.draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), min_size=2, max_size=4))
    samples = {f"d{i}": sample_of(dictionary, np.flatnonzero(own)) for i, own in enumerate(kept)}
    named = tuple(data.draw(st.lists(st.sampled_from(sorted(samples)), min_size=2, max_size=6)))
    weights = np.array(
        data.draw(
            st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=table.n_records, max_size=table.n_records)
        )
    )
    context = replace(context_of(replace(table, weights=weights), None, rule), dictionaries=samples)
    found = BAYES_RISK_SAMPLED.compute(context, SampledBayesParameters(named), lambda _: None)
    rows = disclosed_by(table, rule.levels)
    own = {name: losses(context, sample, rows) for name, sample in samples.items()}
    risks = [sum(w * x for w, x in zip(weights, own[name][0], strict=True)) / weights.sum() for name in named]
    mean = sum(risks) / len(risks)
    assert found.risk == pytest.approx(mean, abs=1e-12)
    spread = sum((risk - mean) ** 2 for risk in risks) / (len(risks) - 1) / len(risks)
    assert found.standard_error == pytest.approx(math.sqrt(spread), abs=1e-9)
    assert (found.least, found.greatest) == pytest.approx((min(risks), max(risks)), abs=1e-12)
    assert found.risk_max == pytest.approx(max(max(own[name][0]) for name in named), abs=1e-12)
    for one, name, risk in zip(found.samples, named, risks, strict=True):
        assert (one.dictionary, one.risk) == (name, pytest.approx(risk, abs=1e-12))
        assert one.risk_max == pytest.approx(max(own[name][0]), abs=1e-12)
        assert one.absent == own[name][1].count(0)


def shares_of(table, smoothing):
    """Per attribute the nodes that may be drawn and their shares: those of the table, leaves counted more."""
    for j, h in enumerate(table.hierarchies):
        column, leaves = table.codes[:, j].tolist(), h.leaves.tolist()
        counts = [column.count(v) + smoothing * (v in leaves) for v in range(h.n_nodes)]
        yield [(v, n / sum(counts)) for v, n in enumerate(counts) if n]


def drawn_by_hand(shares, n, seed):
    """Each attribute's n uniform numbers after those of the one before, each by the sums of the shares."""
    rng, columns = np.random.default_rng(seed), []
    for own in shares:
        below = list(itertools.accumulate(share for _, share in own))
        places = [bisect.bisect_right(below, u * below[-1]) for u in rng.random(n).tolist()]
        columns.append([own[min(place, len(own) - 1)][0] for place in places])
    return list(zip(*columns, strict=True))


@SOME
@given(instances(), st.sampled_from([0.0, 0.5, 2.0]), st.integers(0, 2**32), st.data())
def test_the_risk_of_drawn_records_is_that_of_loops_and_near_that_of_all_records(
    instance, smoothing, seed, data
):
    """The interval misses the risk of all records that there can be with a probability of 10⁻¹² at most."""
    table, dictionary = instance
    rule, n = data.draw(table_rules(table)), 300
    context = context_of(table, dictionary, rule)
    shares = list(shares_of(table, smoothing))
    every = list(itertools.product(*shares))
    assume(len(every) <= 400)
    asked = ParametricParameters(samples=n, seed=seed, smoothing=smoothing, confidence=1 - 1e-12)
    found = PARAMETRIC_RISK.compute(context, asked, lambda _: None)

    rows = disclosed_by(table, rule.levels, drawn_by_hand(shares, n, seed))
    kinds = {tuple(row): i for i, row in enumerate(rows.tolist())}
    values, counts = losses(context, dictionary, np.array(list(kinds), dtype=np.int32))
    of_kind = dict(zip(kinds, zip(values, counts, strict=True), strict=True))
    drawn = [of_kind[tuple(row)] for row in rows.tolist()]
    mean = sum(loss for loss, _ in drawn) / n
    variance = sum((loss - mean) ** 2 for loss, _ in drawn) / (n - 1)
    assert found.risk == pytest.approx(mean, abs=1e-12)
    assert found.standard_error == pytest.approx(math.sqrt(variance / n), abs=1e-9)
    assert found.loss_max == pytest.approx(max(loss for loss, _ in drawn), abs=1e-12)
    assert found.absent == sum(not count for _, count in drawn) / n

    chances = [math.prod(share for _, share in own) for own in every]
    rows = disclosed_by(table, rule.levels, [[node for node, _ in own] for own in every])
    values, _ = losses(context, dictionary, rows)
    exact = sum(chance * loss for chance, loss in zip(chances, values, strict=True))
    assert found.interval_guaranteed.low - 1e-12 <= exact <= found.interval_guaranteed.high + 1e-12
    assert max(values) <= found.greatest_possible + 1e-12
    useful = [sum(context.utility.values[j][node] for j, node in enumerate(row)) for row in rows.tolist()]
    assert found.utility == pytest.approx(sum(c * u for c, u in zip(chances, useful, strict=True)), abs=1e-9)
