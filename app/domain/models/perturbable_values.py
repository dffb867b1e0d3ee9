"""Sensitive values that can be replaced by any leaf of their hierarchy, and why others cannot."""

from __future__ import annotations

import numpy as np

from app.domain.classes.grouping import Grouping
from app.domain.classes.sensitive_counts import SensitiveCounts
from app.domain.errors import InvalidInput, NotSupported, having
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import MeasureContext
from app.domain.models.judged import ROWS_NAMED
from app.domain.models.sensitive_values import SensitiveValues, sensitive_values
from app.domain.tables.masks import shows_nothing


def unfit(counts: SensitiveCounts, hierarchy: Hierarchy, attribute: str) -> str | None:
    """Why the values of an attribute cannot be replaced by its hierarchy's leaves; None if they can."""
    if hierarchy.n_leaves < 2:
        return f"The hierarchy of {attribute} has a single value: there is nothing to perturb."
    if counts.n_values and shows_nothing(counts.nodes).any():
        return (
            f"Some records show no value of {attribute}: what is missing or suppressed cannot be perturbed."
        )
    if not hierarchy.is_leaf[counts.nodes].all():
        return f"Some values of {attribute} are generalised: only leaves of its hierarchy can be perturbed."
    return None


def perturbable_values(context: MeasureContext, grouping: Grouping, attribute: str | None) -> SensitiveValues:
    """The values of an attribute in groups; InvalidInput or NotSupported if they cannot be perturbed."""
    _require_values(context, grouping, attribute)
    values = sensitive_values(context, grouping, attribute, "apart")
    reason = unfit(values.counts, values.hierarchy, repr(values.name))
    if reason is not None:
        raise NotSupported(reason, "Choose another attribute, or a rule that leaves this one as it is.")
    return values


def _require_values(context: MeasureContext, grouping: Grouping, attribute: str | None) -> None:
    """Refuse groups that overlap, and records that have no value to perturb."""
    if grouping.missing == "matches_everything":
        raise InvalidInput.of(
            "/measure/missing",
            "groups-overlap",
            "Groups whose missing values match everything overlap, and a record is perturbed only once.",
            "Choose own_category or excluded.",
        )
    name = context.release.sensitive(attribute)
    position = context.table.position(name)
    if grouping.missing_sensitive == "excluded" or context.table.sizes[position] == 1:
        return
    rows = np.flatnonzero(context.table.is_missing(position)) + 1
    if len(rows):
        shown = ", ".join(map(str, rows[:ROWS_NAMED].tolist()))
        raise InvalidInput.of(
            "/measure/missing_sensitive",
            "missing-sensitive-values",
            f"{having(len(rows), 'record')} no value of {name!r}, which cannot be perturbed: rows {shown}"
            f"{' and more' if len(rows) > ROWS_NAMED else ''}.",
            "Leave them out by missing_sensitive: excluded, or map missing values to a category of the data.",
        )
