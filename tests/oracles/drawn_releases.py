"""Releases that a mechanism draws of small tables, as measures are given them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.perturbation import PERTURBATION, PublishedPerturbation
from app.domain.mechanisms.perturbed_column import Perturbation
from app.domain.models.entry import MeasureContext
from app.domain.models.reading import as_read_by, unreadable
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream


def drawn_of(table, seed="a draw", rule=None, **parameters):
    """The table's release by perturbation, its rows in another order."""
    return drawn_by(PERTURBATION, Perturbation(**({"beta": 2.0} | parameters)), table, seed, rule)


def drawn_by(mechanism, parameters, table, seed="a draw", rule=None):
    """The table's release by a mechanism, its rows in another order."""
    drawn = mechanism.draw(MechanismContext(table, rule), parameters, stream(seed))
    codes = np.stack(drawn.columns, axis=1)
    order = np.random.default_rng(len(seed)).permutation(len(codes))
    rows = Table(table.attributes, table.hierarchies, codes[order], sensitive=table.sensitive)
    suppresses = rule is not None and not isinstance(rule, TableRule)
    return DrawnRelease(rows, mechanism.name, drawn.published, suppresses)


def drawn_with(table, matrix, prior, values):
    """A release of which only what was published matters: the table's own rows, and this matrix."""
    (attribute,) = table.sensitive
    alpha, elsewhere = tuple(matrix.retention.tolist()), tuple(matrix.elsewhere.tolist())
    published = PublishedPerturbation(attribute, tuple(values), tuple(prior), alpha, elsewhere)
    return DrawnRelease(table, PERTURBATION.name, published)


def context_of(table, drawn, dictionary=None):
    """The context of a measurement of the release."""
    utility = build_utility(table, "depth_sum")
    context = MeasureContext(table, None, dictionary, None, None, utility, MODEL_I, "zero")
    return replace(context, drawn=drawn)


def measured(measure, context, **parameters):
    """What the measure finds in the release."""
    asked = measure.parameters(**parameters)
    assert unreadable(measure, context, asked) is None
    own, ticks = as_read_by(measure, context), []
    assert measure.supports(own, asked) is None
    result = measure.compute(own, asked, ticks.append)
    assert ticks[-1] == measure.cost(own, asked).units
    return result
