"""As what a measure reads a release that a mechanism made, and why some can read none."""

from __future__ import annotations

from typing import Any

from app.domain.classes.grouping import Grouping, positions_of, require_rows_of_persons
from app.domain.mechanisms.drawn_release import DrawnRelease
from app.domain.mechanisms.private_release import PublishedPrivately
from app.domain.mechanisms.sample_perturb_scale import PublishedSamples
from app.domain.models.criterion import require_persons
from app.domain.models.entry import Measure, MeasureContext, given
from app.domain.tables.masks import shows_nothing


def as_read_by(measure: Measure[Any, Any], context: MeasureContext) -> MeasureContext:
    """What the measure is computed on: of a release that was drawn only its rows, if it reads classes."""
    return context if context.drawn is None or "classes" not in measure.reads else context.of_rows


def unreadable(measure: Measure[Any, Any], context: MeasureContext, parameters: object) -> str | None:
    """Why the measure cannot read the drawn release of the context, and what would do; None if it can.

    None also where no drawn release is measured. NotSupported where a person may have several records, and
    the measure needs one of each.
    """
    if context.table.persons is not None:
        require_persons(measure.name, measure.by_persons)
        if isinstance(parameters, Grouping):
            require_rows_of_persons(parameters.missing, parameters.suppressed)
    drawn = context.drawn
    if drawn is None or "table" in measure.reads:
        return None
    if isinstance(drawn.published, PublishedPrivately):
        return (
            f"Rows of a release by {drawn.mechanism} are {drawn.published.what_rows_are}, so that the "
            f"measure {measure.name} would say nothing of anybody. What such a release "
            "promises is told by its guarantee; judge it by a policy that asks for one of "
            "differential_privacy."
        )
    if "classes" in measure.reads:
        if not isinstance(parameters, Grouping):
            raise ValueError("a measure that reads classes groups records")
        return unclassed(context, parameters)
    if measure.reads & {"retention", "groups"} and drawn.retained is not None:
        return None
    if measure.reads & {"rows", "matrix", "matrix_and_prior"}:
        return _not_published(measure, drawn)
    if measure.reads & {"retention", "samples", "groups"}:
        return _not_uniform(measure, drawn)
    return (
        f"The measure {measure.name} compares released rows with the records that they are of, and nobody "
        f"can tell whose a row is that the mechanism {drawn.mechanism} made. Choose a measure that reads "
        "classes, matrix, retention or rows, as the catalogue tells in reads, or measure the dataset under a "
        "rule."
    )


def _not_published(measure: Measure[Any, Any], drawn: DrawnRelease) -> str | None:
    """What the measure would need of the mechanism; rows show drawn values, which mean nothing without it."""
    if drawn.replaced is None and (drawn.drawn_attribute is not None or "rows" not in measure.reads):
        return (
            f"The measure {measure.name} reads the matrix by which values were replaced, and the mechanism "
            f"{drawn.mechanism} publishes none. Measure a release of a mechanism that does."
        )
    if drawn.replaced_with_prior is None and "matrix_and_prior" in measure.reads:
        return (
            f"The measure {measure.name} needs to know how frequent values are before the release, which the "
            f"mechanism {drawn.mechanism} does not publish. Measure a release of a mechanism that does."
        )
    return None


def _not_uniform(measure: Measure[Any, Any], drawn: DrawnRelease) -> str | None:
    """What the measure would need to know of values that were all kept with the same probability."""
    if drawn.retained is None and drawn.replaced is not None:
        return (
            f"The measure {measure.name} asks for one probability with which all values were kept, and the "
            f"mechanism {drawn.mechanism} keeps each value with one of its own. Measure a release of "
            "uniform_perturbation or of sample_perturb_scale."
        )
    if drawn.retained is None:
        return (
            f"The measure {measure.name} reads the one probability with which all values were kept, and the "
            f"mechanism {drawn.mechanism} publishes none. Measure a release of uniform_perturbation or of "
            "sample_perturb_scale."
        )
    if "samples" in measure.reads and not isinstance(drawn.published, PublishedSamples):
        return (
            f"The measure {measure.name} reads the copies in which values of samples are published, and the "
            f"mechanism {drawn.mechanism} copies none. Measure a release of sample_perturb_scale."
        )
    return None


def unclassed(context: MeasureContext, grouping: Grouping) -> str | None:
    """Why the rows of the drawn release cannot be grouped so, and what would do; None if they can."""
    drawn = given(context.drawn)
    table, own = context.table, drawn.drawn_attribute
    attributes = positions_of(table, grouping.quasi_identifiers)
    if own is not None and table.position(own) in attributes:
        return (
            f"{own!r} is among the quasi-identifiers, and the release shows drawn values of "
            "it: who knows a person's own value does not find the person by it. Leave it out of "
            "quasi_identifiers."
        )
    hidden = [j for j in attributes if shows_nothing(drawn.table.codes[:, j]).all()]
    if grouping.missing != "own_category" and (drawn.suppresses or hidden):
        return (
            "The release does not tell which quasi-identifiers are missing and which a rule has suppressed. "
            "Leave the parameter missing out: own_category."
        )
    return None
