"""β-likeness of a release whose values were replaced at random (Cao and Karras (2012), definition 6).

It follows from the published matrix and from what a reader knows before; which values came of the draw plays
no part, but for how many rows show them.
"""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from app.domain.arrays import Floats
from app.domain.classes.ratios import as_written
from app.domain.mechanisms.posteriors import Pairs
from app.domain.models.drawn_gains import (
    DrawnGains,
    KnownBefore,
    judged_by_value,
    known_before,
    matrix_and_prior_of,
    numbers_shown,
)
from app.domain.models.entry import MeasureContext, Tick
from app.domain.models.likeness_found import BetaLikenessFound, BetaLikenessParameters, told_of_reference


def likeness_of_draw(
    context: MeasureContext, parameters: BetaLikenessParameters, tick: Tick
) -> BetaLikenessFound:
    """Every value that can be published plays the part of a class."""
    drawn, published = matrix_and_prior_of(context)
    known = known_before(context, published, parameters.reference)
    bounds = known.bounds(as_written(parameters.beta), parameters.bound)
    gains = DrawnGains(published, known.prior, bounds, numbers_shown(drawn, published))
    tick(1)
    return _with_mismatch(_found(context, parameters, gains, known), gains)


def _found(
    context: MeasureContext, parameters: BetaLikenessParameters, gains: DrawnGains, known: KnownBefore
) -> BetaLikenessFound:
    """All of it for the values that are possible to the reader."""
    published, posteriors = gains.published, gains.posteriors
    hierarchy = context.table.hierarchies[context.table.position(published.attribute)]
    greatest, least = posteriors.greatest_of_values(), posteriors.least_of_values()
    absolute = gains.prior[greatest.true] * (greatest.ratios - 1)
    caps, failing = posteriors.above(gains.caps()), posteriors.above(gains.limits()).published()
    basic, n_caps = max(0.0, float(greatest.ratios.max()) - 1), int(caps.counts().sum())
    lost, worst_lost = 1 - float(least.ratios.min()), int(least.published[least.ratios.argmin()])
    of_classes = gains.found(posteriors.greatest_of_published(), parameters.top)
    return BetaLikenessFound(
        judged=judged_by_value(parameters, gains),
        attribute=published.attribute,
        **told_of_reference(
            known.all_totals,
            float(known.all_totals.sum()),
            hierarchy.leaves_outside(known.nodes),
            parameters,
        ),
        records_without_value=0,
        reference="published" if parameters.reference is None else "given",
        values_mismatched=int(np.count_nonzero(~posteriors.is_known)),
        beta_basic=basic,
        beta_enhanced=math.inf if n_caps else basic,
        beta_negative=1.0 if len(known.others) else max(0.0, lost),
        max_absolute_gain=max(0.0, float(absolute.max())),
        is_met=not failing.any(),
        classes_failing=int(np.count_nonzero(failing)),
        records_failing=int(gains.rows[failing].sum()),
        caps_broken=n_caps,
        worst=of_classes[0],
        classes=of_classes,
        by_value=gains.found(greatest, parameters.top),
        caps=gains.found(caps.greatest(parameters.top), parameters.top),
        worst_negative=gains.class_of(0 if len(known.others) else worst_lost),
        worst_absolute=gains.class_of(_published_at(greatest, absolute)),
    )


def _published_at(pairs: Pairs, scores: Floats) -> int:
    """The published value of the pair with the highest score, the first of equals."""
    return int(pairs.published[scores.argmax()])


def _with_mismatch(found: BetaLikenessFound, gains: DrawnGains) -> BetaLikenessFound:
    """Nothing bounds the gain where a value can be published that the reference takes for impossible."""
    if not found.values_mismatched:
        return found
    return replace(
        found,
        beta_basic=math.inf,
        beta_enhanced=math.inf,
        is_met=False,
        classes_failing=len(gains.prior),
        records_failing=len(gains.numbers),
    )
