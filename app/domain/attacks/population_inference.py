"""Population inference: sensitive values guessed from what a release tells of people like the victim.

The reader counts in the release how often each value of each quasi-identifier comes with each sensitive
value, and classifies by Bayes as if the quasi-identifiers were independent given the sensitive value (Cao and
Karras (2012), section 7, equation 15). Counts of a perturbed release are reconstructed through its matrix, so
that what bounds a reader of the one record does not bound this one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.attacks.shown_values import Method, ShownValues, shown_values
from app.domain.catalogue.meanings import LOW_SHARE, SHARE
from app.domain.classes.grouping import SensitiveName
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing

SCORES_AT_ONCE: Final = 2**20
SECONDS_PER_CELL: Final = 4e-8
SECONDS_PER_SCORE: Final = 6e-9
SECONDS_PER_ROUND: Final = 2e-8

QuasiIdentifiers = Annotated[
    tuple[Annotated[str, MaxLen(1000)], ...] | None,
    Len(1, 100),
    doc("Attributes that the reader knows of a person; null: those of the role quasi_identifier."),
]


@dataclass(frozen=True, kw_only=True)
class PopulationParameters:
    """What is guessed from what, and how counts are reconstructed."""

    quasi_identifiers: QuasiIdentifiers = None
    attribute: SensitiveName = None
    method: Annotated[
        Method,
        doc(
            "How counts of a drawn release are reconstructed: by expectation-maximisation, which gives the "
            "likeliest ones, or by the inverse of the matrix, which may give negative ones and so rules "
            "values out by chance. Counts under a rule are as they are."
        ),
    ] = "expectation_maximisation"
    rounds: Annotated[
        int,
        Ge(1),
        Le(10_000),
        doc("Most rounds of expectation-maximisation; `is_converged` tells whether they were enough."),
    ] = 100


@dataclass(frozen=True)
class GuessedBy:
    """Guessing by one attribute."""

    attribute: Annotated[str, doc("The attribute.")]
    success_rate: Annotated[float, LOW_SHARE, doc("Share of the records of which the guess is right.")]


@dataclass(frozen=True)
class PopulationInference:
    """How often the reader guesses right, beside who only knows how frequent the values are."""

    attribute: Annotated[str, doc("The sensitive attribute.")]
    values: Annotated[int, doc("Its values in the release.")]
    rows: Annotated[int, doc("Rows of the release that show a value.")]
    records: Annotated[int, doc("Records whose value is guessed: those that have one.")]
    undecided: Annotated[
        int,
        doc("Records for which every value is ruled out by some attribute: the most frequent is guessed."),
    ]
    success_rate: Annotated[float, LOW_SHARE, doc("Share of the records of which the guess is right.")]
    success_before: Annotated[
        float,
        SHARE,
        doc("Share of the records that have the most frequent value: right without the release."),
    ]
    by_attribute: Annotated[
        tuple[GuessedBy, ...], doc("The same by each quasi-identifier alone, in the schema's order.")
    ]
    rounds_done: Annotated[
        int | None,
        doc(
            "Rounds of expectation-maximisation that were done, the most of any attribute. null: none, as "
            "nothing was drawn or the inverse was asked for; also measured before it was told."
        ),
    ] = None
    is_converged: Annotated[
        bool | None,
        doc(
            "Whether the rounds ended because no count changed by more than 1e-9 of all any more; if not, "
            "more rounds may guess otherwise. null as above."
        ),
    ] = None
    success_by_inverse: Annotated[
        float | None,
        LOW_SHARE,
        doc(
            "The success rate with counts by the inverse of the matrix, which depends on no rounds. null: it "
            "has none, or nothing was drawn; also measured before it was told."
        ),
    ] = None


@dataclass(frozen=True, eq=False)
class _People:
    """Distinct records whose value is guessed: their nodes (d, known), values and numbers."""

    codes: Ints
    truths: Ints
    counts: Longs

    def guessed(self, shown: ShownValues, logs: Sequence[Floats]) -> tuple[Longs, int]:
        """Records guessed right by all attributes and by each, and those of whom all values are ruled out."""
        right, undecided = np.zeros(len(logs) + 1, dtype=np.int64), 0
        at_once = max(1, SCORES_AT_ONCE // shown.n_values)
        for start in range(0, len(self.codes), at_once):
            block = slice(start, start + at_once)
            own = [log.take(self.codes[block, i], axis=0) for i, log in enumerate(logs)]
            counts, truths = self.counts[block], self.truths[block]
            for place, parts in enumerate([own, *([part] for part in own)]):
                guesses, is_ruled_out = _guesses(shown.prior, parts)
                right[place] += int(counts[guesses == truths].sum())
                undecided += 0 if place else int(counts[is_ruled_out].sum())
        return right, undecided


def _compute(context: MeasureContext, parameters: PopulationParameters, tick: Tick) -> PopulationInference:
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    table, known = context.table, shown.quasi_identifiers
    scored = np.flatnonzero(shown.truths >= 0)
    columns = [table.codes[scored, j] for j in known]
    rows = distinct_rows(
        [*columns, shown.truths[scored]], [*(table.sizes[j] for j in known), shown.n_values], len(scored)
    )
    people = _People(rows.codes[:, :-1], rows.codes[:, -1], rows.counts)
    by_rounds = context.drawn is not None and parameters.method != "inverse"
    method: Method = parameters.method if by_rounds else "inverse"
    told = [_likelihoods(shown, table.hierarchies[j], j, method, parameters.rounds) for j in known]
    right, undecided = people.guessed(shown, [own.logs for own in told])
    frequent = int(np.argmax(shown.prior))
    tick(1)
    return PopulationInference(
        attribute=shown.name,
        values=shown.n_values,
        rows=int(np.count_nonzero(shown.numbers >= 0)),
        records=len(scored),
        undecided=undecided,
        success_rate=int(right[0]) / len(scored),
        success_before=int(np.count_nonzero(shown.truths == frequent)) / len(scored),
        by_attribute=tuple(
            GuessedBy(table.attributes[j], int(own) / len(scored))
            for j, own in zip(known, right[1:], strict=True)
        ),
        rounds_done=max(own.rounds for own in told) if by_rounds else None,
        is_converged=all(own.is_converged for own in told) if by_rounds else None,
        success_by_inverse=None
        if context.drawn is None
        else _by_inverse(context, shown, people, len(scored)),
    )


def _by_inverse(context: MeasureContext, shown: ShownValues, people: _People, records: int) -> float | None:
    """The success rate with counts by the inverse; None if there is none."""
    try:
        told = [
            _likelihoods(shown, context.table.hierarchies[j], j, "inverse", 0)
            for j in shown.quasi_identifiers
        ]
    except NotSupported:
        return None
    return int(people.guessed(shown, [own.logs for own in told])[0][0]) / records


def _guesses(prior: Floats, parts: Sequence[Floats]) -> tuple[Ints, Bools]:
    """(people,) the likeliest value of each, the first of equals, and of whom every value is ruled out."""
    scores = np.log(prior) + sum(parts)
    is_ruled_out: Bools = np.isneginf(scores).all(axis=1)
    guesses = np.where(is_ruled_out, np.argmax(prior), scores.argmax(axis=1))
    return guesses.astype(np.int32), is_ruled_out


@dataclass(frozen=True, eq=False)
class _Likelihoods:
    """What an attribute tells, and how counts were reconstructed for it.

    ``logs`` (nodes, m) are the logarithms of how likely somebody with each value has each leaf, but for a
    constant. −∞ where nobody is estimated to have both. 0 for nodes that are no leaves: who is known by none
    of the attribute's values is told nothing by it, nor does a row that shows nothing tell anything.
    """

    logs: Floats
    rounds: int
    is_converged: bool


def _likelihoods(
    shown: ShownValues, hierarchy: Hierarchy, j: int, method: Method, rounds: int
) -> _Likelihoods:
    """What the attribute tells of the values."""
    m, column = shown.n_values, shown.codes[:, j]
    tells = (shown.numbers >= 0) & ~(shows_nothing(column) & (hierarchy.n_nodes > 1))
    found = np.zeros((hierarchy.n_nodes, m))
    if not tells.any():
        return _Likelihoods(found, 0, True)
    cells = column[tells].astype(np.int64) * m + shown.numbers[tells]
    of_node = np.bincount(cells, minlength=hierarchy.n_nodes * m).reshape(-1, m).astype(np.float64)
    of_node /= hierarchy.leaf_count[:, None]
    leaves, nodes = hierarchy.leaf_ancestors
    published = np.zeros((hierarchy.n_leaves, m))
    used = of_node.any(axis=1)[nodes]
    np.add.at(published, leaves[used], of_node[nodes[used]])
    own = shown.reconstructed(published, method, rounds)
    with np.errstate(divide="ignore"):
        found[hierarchy.leaves] = np.log(np.maximum(own.counts, 0.0)) - np.log(shown.prior)
    return _Likelihoods(found, own.rounds, own.is_converged)


def _supports(context: MeasureContext, parameters: PopulationParameters) -> str | None:
    """NotSupported where the inverse is asked for and there is none."""
    if parameters.method == "inverse":
        _ = shown_values(context, parameters.attribute, parameters.quasi_identifiers).inverse
    return None


def _cost(context: MeasureContext, parameters: PopulationParameters) -> Cost:
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    m, known = shown.n_values, len(shown.quasi_identifiers)
    leaves = sum(context.table.hierarchies[j].n_leaves for j in shown.quasi_identifiers)
    seconds = SECONDS_PER_CELL * (len(shown.numbers) + context.table.n_records) * (known + 2)
    scorings = 1 if context.drawn is None else 2
    seconds += SECONDS_PER_SCORE * context.table.reduced.size * m * 4 * known * scorings
    if context.drawn is not None and parameters.method != "inverse":
        seconds += SECONDS_PER_ROUND * parameters.rounds * leaves * m
    return Cost(seconds, 40 * leaves * m + 64 * SCORES_AT_ONCE, 1, "values")


POPULATION_INFERENCE: Final = Measure(
    name="population_inference",
    title="Population inference: sensitive values guessed from counts",
    source="Cao and Karras (2012), section 7, equation 15, through the inverse of section 5",
    guarantee="exact",
    parameters=PopulationParameters,
    result=PopulationInference,
    supports=_supports,
    cost=_cost,
    compute=_compute,
    example=Example(
        "how often is an income guessed right from the other attributes?",
        "proposal-guesses",
        rule="proposal",
    ),
    looks_at="originals",
    protects=False,
    reads=frozenset({"records", "matrix_and_prior"}),
)
