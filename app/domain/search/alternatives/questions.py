"""Which searches make up a comparison: the alternatives, and the points of two curves."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Final, Literal, cast, get_args

import numpy as np

from app.domain.classes.gains import saturation
from app.domain.classes.quasi_part import required_quasi_identifiers, shown_at
from app.domain.errors import InvalidInput, pointing_into
from app.domain.losses.loss import LossChoice
from app.domain.models.criterion import Criterion, GainBound, ValueCriterion, version_of
from app.domain.models.judging import JudgedClasses, JudgedRecords
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.t_closeness import TCloseness
from app.domain.search.full_domain.problem import AnonymityProblem, criterion_document
from app.domain.search.objectives import MOST_CRITERIA, Alternatives
from app.domain.search.problem import Scope
from app.domain.tables.table import Table

Way = Literal[
    "one_level_per_column",
    "levels_per_record",
    "every_column_shown",
    "important_columns",
    "fewer_suppressed",
]
WAYS: Final[tuple[Way, ...]] = get_args(Way)
IMPORTANCE: Final = 10.0
"""How much more the loss of an important column counts than that of another."""
SIZES: Final = (2, 3, 5, 10, 20)
"""The k of the curve, beside the one that is asked for."""
TIMES: Final = (0.0, 0.5, 1.0, 2.0, 5.0)
"""The limits of the curve, as multiples of the one that is asked for."""
SHARES: Final = (0.0, 0.01, 0.02, 0.05, 0.1)
"""The same where nothing may be suppressed."""


def problem_of(asked: Alternatives) -> AnonymityProblem:
    """The question for one level per column, from which the others differ in one thing each."""
    return AnonymityProblem(asked.privacy, asked.suppression_limit, persons_per_value=asked.persons_per_value)


def problems_of(asked: Alternatives, table: Table) -> dict[Way, AnonymityProblem]:
    """The question of each alternative; none by records where a hierarchy is no tree.

    InvalidInput for an important column that is no quasi-identifier.
    """
    columns = required_quasi_identifiers(table)
    names = [table.attributes[j] for j in columns]
    for number, name in enumerate(asked.important):
        if name not in names:
            raise InvalidInput.of(
                f"/objective/important/{number}",
                "unknown-attribute",
                f"{name!r} is none of the quasi-identifiers.",
                f"These are: {', '.join(names)}.",
            )
    base = problem_of(asked)
    scope: Scope = "table_level"
    found: dict[Way, AnonymityProblem] = {"one_level_per_column": base}
    if all(table.hierarchies[j].is_tree for j in columns):
        scope = "record_level"
        found["levels_per_record"] = replace(base, scope=scope)
    found["every_column_shown"] = replace(base, shows_every=True)
    if asked.important:
        weights = dict.fromkeys(asked.important, IMPORTANCE)
        found["important_columns"] = replace(base, loss=LossChoice(weights=weights))
    found["fewer_suppressed"] = replace(base, scope=scope, suppression_limit=0.0)
    return found


def points_of(asked: Alternatives, n_records: int) -> dict[str, dict[float, AnonymityProblem]]:
    """Both curves: limit → question, and k → question."""
    base, limit = problem_of(asked), asked.suppression_limit
    limits = sorted({min(1.0, times * limit) for times in TIMES} if limit else SHARES)
    given = [own for own in asked.privacy if own.kind == KAnonymity.kind]
    others = tuple(own for own in asked.privacy if own.kind != KAnonymity.kind)
    sizes = sorted(k for k in {*SIZES, *(own.least_class_size or 1 for own in given)} if k <= n_records)
    room = len(others) < MOST_CRITERIA
    return {
        "suppression": {own: replace(base, suppression_limit=own) for own in limits},
        "k": {k: replace(base, privacy=(KAnonymity(k), *others)) for k in sizes if room},
    }


def weaker_than_likeness(asked: Alternatives, table: Table) -> dict[tuple[Criterion, ...], AnonymityProblem]:
    """The question as it was asked, by its criteria of β-likeness, and with what these imply in their place.

    That is the distinct ℓ, and the t, which every class has that is β-like: neither loses more, and neither
    bounds what a reader gains on a single value. Nothing without β-likeness of single values, or where a
    person may have several: nothing is implied then.
    """
    likeness = {own: own.gain_bound for own in asked.privacy if own.gain_bound is not None}
    if not likeness or table.persons is not None:
        return {}
    base = problem_of(asked)
    shown = shown_at(table, base.levels_of_sensitive(table))
    one_class = np.zeros(shown.n_records, dtype=np.int32)
    version = version_of(asked.privacy)
    whole = JudgedRecords(shown, one_class, version=version).whole
    others = tuple(own for own in asked.privacy if own not in likeness)
    ell: list[Criterion] = []
    for own in likeness:
        with pointing_into(f"/objective/privacy/{asked.privacy.index(own)}"):
            found = [one for one in own.implied(whole) if one.least_class_size is None]
            ell += (replace(cast(ValueCriterion, one), version=version) for one in found)
    t = tuple(replace(_implied_closeness(gain, whole), version=version) for gain in likeness.values())
    return {own: replace(base, privacy=(*others, *own)) for own in (tuple(likeness), tuple(ell), t) if own}


def _implied_closeness(gain: GainBound, whole: JudgedClasses) -> TCloseness:
    """The t of which no β-like class is farther, all values equally far apart, to four digits upwards.

    With the greatest relative gain g on any value the values that are more frequent in a class have there
    at most (1 + g) times their share p in the table, and at most all of it: t ≤ min(g · p, 1 − p).
    """
    greatest = float(gain.beta)
    if gain.kind == "enhanced":
        greatest = min(greatest, saturation(whole.counts(gain.attribute).totals))
    t = math.ceil(1e4 * greatest / (1 + greatest)) / 1e4
    return TCloseness(t, "equal", gain.attribute)


def document_of(asked: Alternatives) -> dict[str, Any]:
    """Plain JSON-able form, for results and hashes."""
    return {
        "kind": asked.kind,
        "privacy": [criterion_document(own) for own in asked.privacy],
        "suppression_limit": float(asked.suppression_limit),
        "important": list(asked.important),
        **({"persons_per_value": dict(asked.persons_per_value)} if asked.persons_per_value else {}),
    }
