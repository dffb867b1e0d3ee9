"""The deFinetti attack: values handed out within classes as all classes together make likely.

The reader knows which records are in a class and how often each sensitive value occurs there. Values are
handed out at random, naive Bayes is fitted as if that were true, and they are handed out anew so that the
whole is most likely, until nothing changes (Kifer (2009); Cao and Karras (2012), section 7).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Final

import numpy as np
from annotated_types import Ge, Le, doc

from app.domain.arrays import Floats, Longs, concatenated_ranges
from app.domain.catalogue.catalogue_types import CellValue
from app.domain.catalogue.meanings import FROM_MINUS_ONE, LOW_SHARE, SHARE
from app.domain.classes.grouping import SensitiveName
from app.domain.classes.libraries import Library
from app.domain.classes.sensitive_counts import value_numbers
from app.domain.errors import NotSupported
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.models.judged import ROWS_NAMED, ClassRef, JudgedOn, judged_on
from app.domain.models.sensitive_values import GroupingOfValues, sensitive_values
from app.domain.tables.distinct import distinct_rows

if TYPE_CHECKING:
    import scipy
else:
    scipy = Library("scipy")

SMOOTHING: Final = 0.5
PRECISION: Final = 2.0**32
"""Logarithms are whole multiples of 1 / PRECISION, so that sums of the same ones are equal in any order."""
MOST_RECORDS: Final = 2_000
"""Of a class of more than two values: to assign them takes its records to the third power."""
USUAL_ROUNDS: Final = 25
SECONDS_PER_ENTRY: Final = 1e-8


@dataclass(frozen=True, kw_only=True)
class DefinettiParameters(GroupingOfValues):
    """What is guessed, and how long and how often the reader tries."""

    attribute: SensitiveName = None
    rounds: Annotated[int, Ge(1), Le(1000), doc("Most rounds of fitting and handing out of a start.")] = 50
    starts: Annotated[int, Ge(2), Le(100), doc("Random assignments that are started from.")] = 4
    seed: Annotated[int, Ge(0), Le(2**63 - 1), doc("Seed of these; the same for the same result.")] = 0


@dataclass(frozen=True)
class DefinettiAttack:
    """How often values are handed out rightly, beside who does that at random or knows the table only."""

    judged: Annotated[JudgedOn, doc("Which records were judged, and how they were grouped.")]
    attribute: Annotated[str, doc("The sensitive attribute.")]
    records: Annotated[int, doc("Records in classes that show a value.")]
    success_rate: Annotated[
        float,
        LOW_SHARE,
        doc(
            "Share of these that got their own value, in the mean over starts, and over records of a class "
            "with equal quasi-identifiers, which nobody can tell apart."
        ),
    ]
    standard_error: Annotated[float, doc("Standard error of that over starts.")]
    success_random: Annotated[float, SHARE, doc("The same of handing out at random, in expectation.")]
    success_before: Annotated[float, SHARE, doc("The same of the most frequent value of the whole table.")]
    rounds: Annotated[tuple[int, ...], doc("Rounds of each start until nothing changed, or all allowed.")]
    worst_posterior: Annotated[
        float,
        LOW_SHARE,
        doc("Greatest belief in a record's own value by the last fit, in the mean over starts."),
    ]
    worst_gain: Annotated[float, FROM_MINUS_ONE, doc("(that − p) / p: p is the value's share of the table.")]
    worst_value: Annotated[CellValue, doc("The value.")]
    worst: Annotated[ClassRef, doc("The records of the class that have it and the same quasi-identifiers.")]


class _Reader:
    """What the reader knows: n records by class, their exact quasi-identifiers, and the class's values.

    Entries are pairs of a record and a value of its class: ``of_entry`` (E,) is the record and ``pairs``
    (E,) the entry of ``counts``. ``places`` (n,) are which of its class's values each record has, and
    ``alike`` (n,) how many records of the class have the same; ``several`` are the bounds of classes of more
    than two values.
    """

    def __init__(self, context: MeasureContext, parameters: DefinettiParameters) -> None:
        self.found = sensitive_values(context, parameters, parameters.attribute, "apart")
        self.counts, table, of_record = self.found.counts, context.table, self.found.classes.of_record
        counts, n_nodes = self.counts, self.found.hierarchy.n_nodes
        numbers = value_numbers(counts, context.release.values(parameters, self.found.name)[0], n_nodes)
        kept = np.flatnonzero((of_record >= 0) & (numbers >= 0))
        if not len(kept):
            raise NotSupported(
                f"No record in a class shows a value of {self.found.name!r}.",
                "Measure a release that suppresses less, or choose another attribute.",
            )
        self.records = kept[np.argsort(of_record[kept], kind="stable")]
        self.of_class, self.values = of_record[self.records].astype(np.int64), numbers[self.records]
        keys = counts.of_entry * counts.n_values + counts.values
        own = np.searchsorted(keys, self.of_class * counts.n_values + self.values)
        self.alike, self.distinct = counts.counts[own], counts.distinct[self.of_class]
        self.places = own - counts.starts[self.of_class]
        self.in_order = self.places[np.lexsort((self.places, self.of_class))]
        several = np.flatnonzero(counts.distinct > 2)
        self.several = np.searchsorted(self.of_class, [several, several + 1]).T.tolist()
        self.first = np.cumsum(self.distinct) - self.distinct
        self.of_entry = np.repeat(np.arange(len(self.records)), self.distinct)
        self.pairs = concatenated_ranges(counts.starts[self.of_class], self.distinct)
        columns = [table.codes[self.records, j] for j in self.found.classes.attributes]
        self.columns = [np.unique(column, return_inverse=True) for column in columns]
        sizes = [counts.n_classes, *(table.sizes[j] for j in self.found.classes.attributes)]
        self.equal = distinct_rows([self.of_class, *columns], sizes, len(self.records))

    def scores(self, places: Longs) -> Floats:
        """(E,) how likely a record is, had it the value, as fitted to the places (n,) of what each has."""
        counts, m = self.counts, self.counts.n_values
        values = counts.values[self.pairs].astype(np.int64)
        assigned = values[self.first + places]
        total, found = np.bincount(assigned, minlength=m), np.zeros(len(values))
        for occurring, column in self.columns:
            together = np.bincount(column * m + assigned, minlength=len(occurring) * m).reshape(-1, m)
            logs = np.log((together + SMOOTHING) / (total + SMOOTHING * len(occurring)))
            found += (np.rint(logs * PRECISION) / PRECISION).reshape(-1)[column[self.of_entry] * m + values]
        return found

    def most_likely(self, scores: Floats) -> Longs:
        """(n,) the places that make the sum of scores greatest, each value as often as the class has it.

        Of equally likely ones in classes of two values the first records have the first, else it is open.
        """
        places, two = self.in_order.copy(), np.flatnonzero(self.distinct == 2)
        gained = scores[self.first[two] + 1] - scores[self.first[two]]
        places[two[np.lexsort((gained, self.of_class[two]))]] = self.in_order[two]
        for first, last in self.several:
            begin, each = self.first[first], self.in_order[first:last]
            own = scores[begin : begin + len(each) * self.distinct[first]].reshape(len(each), -1)
            places[first:last] = each[scipy.optimize.linear_sum_assignment(own[:, each], maximize=True)[1]]
        return places

    def posteriors(self, scores: Floats) -> Floats:
        """(n,) belief in each record's own value, with the shares of its class before."""
        likely = scores + np.log(self.counts.counts[self.pairs])
        weights = np.exp(likely - np.maximum.reduceat(likely, self.first)[self.of_entry])
        return np.asarray(weights[self.first + self.places] / np.add.reduceat(weights, self.first))

    def success(self, places: Longs) -> float:
        """Share of the records that get their own value, in expectation over equal ones."""
        most = int(self.distinct.max())
        given, true = (self.equal.inverse.astype(np.int64) * most + own for own in (places, self.places))
        shared = np.bincount(given, minlength=self.equal.size * most)[true]
        return float((shared / self.equal.counts[self.equal.inverse]).mean())


def _compute(context: MeasureContext, parameters: DefinettiParameters, tick: Tick) -> DefinettiAttack:
    reader, rng = _Reader(context, parameters), np.random.default_rng(parameters.seed)
    rates, rounds, believed = [], [], np.zeros(len(reader.records))
    for start in range(parameters.starts):
        order = np.lexsort((rng.random(len(reader.records)), reader.of_class))
        before, places, done = None, reader.places[order], 0
        while done < parameters.rounds and (before is None or (before != places).any()):
            tick(start)
            scores = reader.scores(places)
            before, places, done = places, reader.most_likely(scores), done + 1
        believed += reader.posteriors(scores) / parameters.starts
        rates.append(reader.success(places))
        rounds.append(done)
    tick(parameters.starts)
    counts, worst = reader.counts, int(believed.argmax())
    exposed = reader.records[
        (reader.equal.inverse == reader.equal.inverse[worst]) & (reader.values == reader.values[worst])
    ]
    return DefinettiAttack(
        judged=judged_on(context.table, parameters, reader.found.classes),
        attribute=reader.found.name,
        records=len(reader.records),
        success_rate=float(np.mean(rates)),
        standard_error=float(np.std(rates, ddof=1)) / math.sqrt(len(rates)),
        success_random=float((reader.alike / counts.sizes[reader.of_class]).mean()),
        success_before=float((reader.values == counts.totals.argmax()).mean()),
        rounds=tuple(rounds),
        worst_posterior=float(believed[worst]),
        worst_gain=float(believed[worst]) * counts.population / int(counts.totals[reader.values[worst]]) - 1,
        worst_value=reader.found.label(int(reader.values[worst])),
        worst=ClassRef(tuple((exposed[:ROWS_NAMED] + 1).tolist()), len(exposed)),
    )


def _supports(context: MeasureContext, parameters: DefinettiParameters) -> str | None:
    if parameters.missing == "matches_everything":
        return (
            "The reader knows in which class each record is, and one that matches everything may be in "
            "several. Choose own_category or excluded for missing."
        )
    counts = sensitive_values(context, parameters, parameters.attribute, "apart").counts
    if counts.sizes[counts.distinct > 2].max(initial=0) <= MOST_RECORDS:
        return None
    return (
        f"A class has more than {MOST_RECORDS:,} records and more than two values. Measure a release with "
        "smaller classes, or name more quasi-identifiers."
    )


def _cost(context: MeasureContext, parameters: DefinettiParameters) -> Cost:
    counts = sensitive_values(context, parameters, parameters.attribute, "apart").counts
    several, entries = counts.sizes[counts.distinct > 2], int((counts.sizes * counts.distinct).sum())
    seconds = float((3e-5 + 6e-8 * several**2).sum())
    seconds += entries * (context.table.n_attributes + 4) * SECONDS_PER_ENTRY
    seconds *= parameters.starts * min(parameters.rounds, USUAL_ROUNDS)
    held = 80 * entries + 8 * int(several.max(initial=0)) ** 2
    return Cost(5e-3 + seconds, held, parameters.starts, "classes")


DEFINETTI_ATTACK: Final = Measure(
    name="definetti_attack",
    version=2,
    title="deFinetti attack: values handed out within classes as all classes make likely",
    source="Kifer (2009); Cao and Karras (2012), section 7",
    guarantee="statistical",
    parameters=DefinettiParameters,
    result=DefinettiAttack,
    cost=_cost,
    supports=_supports,
    compute=_compute,
    example=Example(
        "which income of its class does each member have, judging by all the others?",
        "proposal-definetti",
        rule="proposal",
    ),
    looks_at="originals",
    protects=False,
)
