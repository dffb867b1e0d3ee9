"""How fast the privacy models of a release are measured, beside the group-by that all of them begin with.

On Adult as it is (8 quasi-identifiers, salary-class sensitive) and on Adult replicated to 995,346 records of
which 5 % of the cells are drawn anew. A measure alone groups the records itself; together they group once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd

from app.domain.analyses.catalogue import MEASURES
from app.domain.analyses.privacy_profile import PRIVACY_PROFILE, PrivacyProfile
from app.domain.analyses.singling_out import SINGLING_OUT, SinglingOut
from app.domain.classes.grouping import Grouping
from app.domain.models.entry import Measure, MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.tables.table import Table
from tests.benchmarks.anonymity import read_table, replicated
from tests.benchmarks.row import Report, Row, timed

SENSITIVE: Final = "salary-class"
ALONE_SECONDS: Final = 0.030
TOGETHER_SECONDS: Final = 0.150
MILLION_SECONDS: Final = 1.5
SETS_SECONDS: Final = 1.0
SETS_OF_MILLION_SECONDS: Final = 5.0
BASELINE: Final = "pandas: one group-by of text that counts the sensitive values of every class"
NEEDED: Final[Mapping[str, Mapping[str, Any]]] = {"population_uniqueness": {"sampling_fraction": 0.1}}
"""Parameters that have no default."""
OF_NUMBERS: Final = frozenset({"k_e_anonymity"})
"""Measures of numeric sensitive attributes; that of Adult is text."""


def rows(data: Path, report: Report) -> None:
    """All measurements on the folder of real data."""
    adult = read_table(data / "arx-adult", "adult.csv", "adult_hierarchy_")
    table = replace(adult, sensitive=frozenset({SENSITIVE}))
    by_hand = GroupBy(table)
    for measure in class_based(table):
        report(_alone(measure, table, by_hand))
    report(_together("Adult", table, by_hand, TOGETHER_SECONDS))
    million = replace(replicated(adult), sensitive=frozenset({SENSITIVE}))
    report(_together("Adult × 33", million, GroupBy(million), MILLION_SECONDS))
    report(_singled_out("Adult", table, SETS_SECONDS))
    report(_singled_out("Adult × 33", million, SETS_OF_MILLION_SECONDS))


def class_based(table: Table) -> Iterator[Measure[Any, Any]]:
    """The measures of equivalence classes that need nothing but the table; those with a seed draw queries.

    Of one grouping: what singles people out looks at all sets of columns, and has a row of its own.
    """
    context = _context(table)
    for measure in MEASURES:
        draws = any(own.name == "seed" for own in fields(measure.parameters))
        is_asked = issubclass(measure.parameters, Grouping) and not (
            measure.needs or draws or measure.name in OF_NUMBERS or measure is SINGLING_OUT
        )
        if is_asked and measure.supports(context, _parameters(measure)) is None:
            yield measure


class GroupBy:
    """The counts of every class by pandas, on columns of text and on columns that are encoded already."""

    def __init__(self, table: Table) -> None:
        self._known = [table.attributes[j] for j in table.quasi_identifiers]
        names = list(table.attributes)
        encoded = pd.DataFrame(table.codes, columns=names)
        labels = [np.array(tree.labels, dtype=object) for tree in table.hierarchies]
        columns = {name: labels[j][table.codes[:, j]] for j, name in enumerate(names)}
        text = pd.DataFrame(columns, dtype="str")
        self.seconds = timed(lambda: self._count(text), repeats=1).seconds
        timing = timed(lambda: self._count(encoded), repeats=3)
        self.encoded_seconds = timing.seconds
        self._counts = timing.answer

    def _count(self, frame: pd.DataFrame) -> pd.Series[int]:
        return frame.groupby([*self._known, SENSITIVE], sort=False).size()

    def figures(self) -> dict[str, float]:
        """What the profile must find."""
        classes = self._counts.groupby(level=self._known, sort=False)
        sizes = classes.sum()
        return {
            "k": float(sizes.min()),
            "mean_size": float(sizes.mean()),
            "distinct_l": float(classes.size().min()),
            "alpha": float((classes.max() / sizes).max()),
            "complete.share_of_records": float(sizes[classes.size() == 1].sum() / sizes.sum()),
        }


def _context(table: Table) -> MeasureContext:
    """A context that keeps nothing of an earlier one."""
    return MeasureContext(table, None, None, None, None, build_utility(table, "depth_sum"), MODEL_I, "zero")


def _computed(measure: Measure[Any, Any], context: MeasureContext) -> object:
    return measure.compute(context, _parameters(measure), lambda _: None)


def _parameters(measure: Measure[Any, Any]) -> object:
    return measure.parameters(**NEEDED.get(measure.name, {}))


def _row(
    work: str,
    by_hand: GroupBy,
    bar: float,
    measured: Callable[[], object],
    same: Callable[[Any], bool | None],
) -> Row:
    ours = timed(measured, repeats=5)
    return Row(
        work,
        bar=f"{bar:g} s",
        ours_seconds=ours.seconds,
        baseline=BASELINE,
        baseline_seconds=by_hand.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent,
        same_result=same(ours.answer),
        detail=f"pandas counts and measures nothing; on columns that are encoded already it takes "
        f"{by_hand.encoded_seconds:.4f} s",
        bar_seconds=bar,
    )


def _alone(measure: Measure[Any, Any], table: Table, by_hand: GroupBy) -> Row:
    def same(found: object) -> bool | None:
        return _agrees(found, by_hand) if isinstance(found, PrivacyProfile) else None

    context = _context(table)
    return _row(
        f"Adult ({table.n_records:,} records): {measure.name}",
        by_hand,
        ALONE_SECONDS if measure is not PRIVACY_PROFILE else TOGETHER_SECONDS,
        lambda: _computed(measure, replace(context)),
        same,
    )


def _together(name: str, table: Table, by_hand: GroupBy, bar: float) -> Row:
    chosen = [measure for measure in class_based(table) if measure is not PRIVACY_PROFILE]
    prepared = _context(table)

    def measured() -> object:
        context = replace(prepared)
        return [_computed(measure, context) for measure in chosen]

    def same(found: object) -> bool:
        return _agrees(_computed(PRIVACY_PROFILE, prepared), by_hand)

    work = f"{name} ({table.n_records:,} records): all {len(chosen)} together, one grouping"
    return _row(work, by_hand, bar, measured, same)


def _singled_out(name: str, table: Table, bar: float) -> Row:
    """All sets of quasi-identifiers, beside a group-by of encoded columns for each."""
    known = [table.attributes[j] for j in table.quasi_identifiers]
    frame = pd.DataFrame(table.codes[:, table.quasi_identifiers], columns=known)
    sets = [own for size in range(1, len(known) + 1) for own in itertools.combinations(known, size)]
    by_hand = timed(
        lambda: {own: int((frame.groupby(list(own), sort=False).size() == 1).sum()) for own in sets},
        repeats=1,
    )

    def same(found: object) -> bool:
        if not isinstance(found, SinglingOut):
            raise TypeError("only what singles people out can be compared")
        told = {own.columns: own.persons_in_all for own in found.smallest_sets}
        told[tuple(found.judged.quasi_identifiers)] = found.singled_out
        return all(by_hand.answer[own] == persons for own, persons in told.items())

    context = _context(table)
    ours = timed(lambda: _computed(SINGLING_OUT, replace(context)), repeats=3)
    return Row(
        f"{name} ({table.n_records:,} records): what singles people out, all {len(sets)} sets of columns",
        bar=f"{bar:g} s",
        ours_seconds=ours.seconds,
        baseline="pandas: a group-by of encoded columns for every set, no smallest sets and no shares",
        baseline_seconds=by_hand.seconds,
        peak_bytes=ours.peak_bytes,
        counters=ours.spent,
        same_result=same(ours.answer),
        bar_seconds=bar,
    )


def _agrees(profile: object, by_hand: GroupBy) -> bool:
    """Whether the profile says what pandas counts."""
    if not isinstance(profile, PrivacyProfile):
        raise TypeError("only a profile can be compared")
    found = {own.name: own.value for own in profile.figures}
    return all(
        value is not None and math.isclose(value, expected, rel_tol=1e-12)
        for name, expected in by_hand.figures().items()
        for value in (found[name],)
    )
