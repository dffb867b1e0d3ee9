"""Random rules to be explained, and the losses of partial disclosure by looping over records."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from app.domain.hierarchies.hierarchy import TOP
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.rules.rule import CellRule, RecordRule, TableRule, apply
from tests.oracles.search_instances import BruteForce, contexts


@st.composite
def questions(draw, weighted=False):
    """A context with a rule of any kind, and the brute force over it."""
    instance = draw(contexts())
    table = instance.table
    if weighted:
        weights = draw(st.lists(st.sampled_from([0.0, 0.5, 1.0, 3.0]), min_size=table.n_records,
                                max_size=table.n_records).filter(any))  # fmt: skip
        table = replace(table, weights=np.array(weights))
    levels = tuple(draw(st.integers(0, height)) for height in table.heights)
    kind = draw(st.sampled_from(["table", "record", "cell"]))
    rule = TableRule(levels)
    if kind != "table":
        steps = [[draw(st.integers(0, h)) for h in table.heights] for _ in range(table.n_records)]
        rule = RecordRule(np.array(steps, dtype=np.int16))
    if kind == "cell":
        rule = CellRule(apply(rule, table))
    policy = draw(st.sampled_from(["zero", "add_self"]))
    context = MeasureContext(
        table, rule, instance.dictionary, instance.sensitivity, None, instance.utility, MODEL_I, policy
    )
    return context, BruteForce(instance, policy)


def computed(measure, context, parameters):
    assert measure.supports(context, parameters) is None
    ticks = []
    found = measure.compute(context, parameters, ticks.append)
    assert ticks[-1] == measure.cost(context, parameters).units
    assert ticks == sorted(ticks)
    return found


def losses_when_shown(context, brute, shown):
    """Loss of every record if only these attributes are disclosed as the rule says."""
    disclosed = apply(context.rule, context.table)
    return [
        brute.score(row, [int(node) if j in shown else TOP for j, node in enumerate(codes)])[0]
        for row, codes in enumerate(disclosed)
    ]


def mean(context, values):
    weights = context.table.weights
    weights = [1.0] * len(values) if weights is None else weights.tolist()
    return math.fsum(w * v for w, v in zip(weights, values, strict=True) if w) / math.fsum(weights)
