"""Population inference: sensitive values guessed from what a release tells of people like the victim.

The reader counts in the release how often each value of each quasi-identifier comes with each sensitive
value, and classifies by Bayes as if the quasi-identifiers were independent given the sensitive value (Cao and
Karras (2012), section 7, equation 15). Counts of a perturbed release are reconstructed through its matrix, so
that what bounds a reader of the one record does not bound this one. Likelier counts need not guess better:
some of many reconstructions are tried, and the best one counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Annotated, Final

import numpy as np
from annotated_types import Ge, Le, Len, MaxLen, doc

from app.domain.arrays import Bools, Floats, Ints, Longs
from app.domain.attacks.shown_values import Method, ShownValues, shown_values
from app.domain.catalogue.meanings import FROM_ONE, FROM_ZERO, GAIN, LOW_AMOUNT, LOW_SHARE, MET, SHARE
from app.domain.classes.gains import NEAR, Gains, surprisals
from app.domain.classes.grouping import SensitiveName
from app.domain.classes.sensitive_counts import count_values
from app.domain.errors import NotSupported
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from app.domain.models.entry import Cost, Example, Measure, MeasureContext, Tick
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.masks import shows_nothing
from app.domain.tables.table import Table

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
    """What is guessed from what, and how long counts are reconstructed."""

    quasi_identifiers: QuasiIdentifiers = None
    attribute: SensitiveName = None
    rounds: Annotated[
        int,
        Ge(1),
        Le(10_000),
        doc(
            "Most rounds of expectation-maximisation by which counts of a drawn release are reconstructed; "
            "readers who stop after 1, 2, 4, … of them are tried, too."
        ),
    ] = 128


@dataclass(frozen=True)
class GuessedBy:
    """Guessing by one attribute."""

    attribute: Annotated[str, doc("The attribute.")]
    success_rate: Annotated[float, LOW_SHARE, doc("Share of the records of which the guess is right.")]


@dataclass(frozen=True)
class GuessedAfter:
    """Guessing by counts that were reconstructed so."""

    rounds: Annotated[int | None, doc("Rounds of expectation-maximisation; null: the inverse of the matrix.")]
    success_rate: Annotated[float, LOW_SHARE, doc("Share of the records of which the guess is right.")]


@dataclass(frozen=True)
class LikelihoodBound:
    """What β-likeness leaves of likelihoods (Cao and Karras (2012), equation 18), where most of it is used.

    A ratio is how much likelier cells above a value of one quasi-identifier are with a value of share p.
    """

    beta: Annotated[float, FROM_ZERO, GAIN, doc("β: the greatest relative gain in a class of equal cells.")]
    is_like: Annotated[bool, MET, doc("The hypothesis, enhanced β-likeness: no gain is above −ln p either.")]
    attribute: Annotated[str, doc("The quasi-identifier.")]
    ratio: Annotated[float, LOW_AMOUNT, doc("The ratio.")]
    bound: Annotated[float, FROM_ONE, doc("1 + min(β, −ln p): its bound by the hypothesis.")]
    holds: Annotated[bool, MET, doc("Whether no ratio of any value is above its bound.")]


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
    success_rate: Annotated[
        float,
        LOW_SHARE,
        doc("Share of the records of which the guess is right, by the best of `reconstructions`."),
    ]
    success_before: Annotated[
        float,
        SHARE,
        doc("Share of the records that have the most frequent value: right without the release."),
    ]
    by_attribute: Annotated[
        tuple[GuessedBy, ...], doc("The same by each quasi-identifier alone, in the schema's order.")
    ]
    reconstructions: Annotated[
        tuple[GuessedAfter, ...],
        doc(
            "What was tried, rounds of expectation-maximisation until they change nothing, and the inverse "
            "of the matrix last, if it has one. Empty under a rule: counts are as they are."
        ),
    ]
    success_with_own_row: Annotated[
        float | None,
        LOW_SHARE,
        doc(
            "The same for who also finds the record's own row, in expectation over what it shows, by the "
            "reconstruction that is best for that; null under a rule."
        ),
    ]
    likelihood_bound: Annotated[
        LikelihoodBound | None,
        doc("What β-likeness leaves of it; null if drawn, asked before this was told, or nothing is known."),
    ] = None


@dataclass(frozen=True, eq=False)
class _People:
    """Distinct records whose value is guessed: their nodes (d, known), values and numbers."""

    codes: Ints
    truths: Ints
    counts: Longs

    def guessed(self, shown: ShownValues, logs: Sequence[Floats], *, is_drawn: bool) -> _Guessed:
        """Of records, by counts that tell ``logs``; with the own row only of a release that was drawn."""
        right, undecided, with_row = np.zeros(len(logs) + 1, dtype=np.int64), 0, 0.0
        at_once = max(1, SCORES_AT_ONCE // shown.n_values)
        for start in range(0, len(self.codes), at_once):
            block = slice(start, start + at_once)
            own = [log.take(self.codes[block, i], axis=0) for i, log in enumerate(logs)]
            counts, truths = self.counts[block], self.truths[block]
            for place, parts in enumerate([own, *([part] for part in own)]):
                before = np.log(shown.prior)
                scores = np.asarray(before + sum(parts))
                is_ruled_out: Bools = np.isneginf(scores).all(axis=1)
                # Who is told nothing but contradictions knows the prior.
                scores[is_ruled_out] = before
                right[place] += int(counts[scores.argmax(axis=1) == truths].sum())
                if place == 0:
                    undecided += int(counts[is_ruled_out].sum())
                    if is_drawn:
                        with_row += float(counts @ _right_with_row(scores, truths, shown.matrix))
        return _Guessed(right, undecided, with_row)


@dataclass(frozen=True, eq=False)
class _Guessed:
    """Records guessed right by all attributes and by each, by the own row too, and those ruled out."""

    right: Longs
    undecided: int
    with_row: float


def _compute(context: MeasureContext, parameters: PopulationParameters, tick: Tick) -> PopulationInference:
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    table, known = context.table, shown.quasi_identifiers
    scored = np.flatnonzero(shown.truths >= 0)
    columns = [table.codes[scored, j] for j in known]
    rows = distinct_rows(
        [*columns, shown.truths[scored]], [*(table.sizes[j] for j in known), shown.n_values], len(scored)
    )
    people = _People(rows.codes[:, :-1], rows.codes[:, -1], rows.counts)
    tried = list(_tried(context, shown, people, parameters.rounds))
    best = max((own for _, own in tried), key=lambda own: own.right[0])
    frequent = int(np.argmax(shown.prior))
    tick(1)
    is_drawn = context.drawn is not None
    return PopulationInference(
        attribute=shown.name,
        values=shown.n_values,
        rows=int(np.count_nonzero(shown.numbers >= 0)),
        records=len(scored),
        undecided=best.undecided,
        success_rate=int(best.right[0]) / len(scored),
        success_before=int(np.count_nonzero(shown.truths == frequent)) / len(scored),
        by_attribute=tuple(
            GuessedBy(table.attributes[j], int(own) / len(scored))
            for j, own in zip(known, best.right[1:], strict=True)
        ),
        reconstructions=tuple(
            GuessedAfter(rounds, int(own.right[0]) / len(scored)) for rounds, own in tried if is_drawn
        ),
        success_with_own_row=max(own.with_row for _, own in tried) / len(scored) if is_drawn else None,
        likelihood_bound=None if is_drawn or not known else _bounded(table, shown),
    )


def _bounded(table: Table, shown: ShownValues) -> LikelihoodBound:
    """The bound of the likelihoods that are counted: means over classes, which gain no more than these."""
    rows, known, m = np.flatnonzero(shown.numbers >= 0), shown.quasi_identifiers, shown.n_values
    numbers, n = shown.numbers[rows], len(rows)
    classes = distinct_rows([shown.codes[rows, j] for j in known], [table.sizes[j] for j in known], n)
    of_class, ones = classes.inverse.astype(np.int64), np.ones(n, dtype=np.int64)
    starts, values, amounts = count_values(of_class, numbers, ones, classes.size, m)
    totals = np.bincount(numbers, minlength=m)
    gains = Gains(amounts, classes.counts.repeat(np.diff(starts)), totals[values], n)
    beta, found = max(0.0, float(gains.relative.max())), []
    bounds = 1 + np.minimum(beta, surprisals(totals, n))
    for j in known:
        tree = table.hierarchies[j]
        likely = np.exp(_likelihoods(shown, tree, j, "inverse", 0).logs[tree.leaves])
        among_all = likely @ shown.prior
        ratios = (likely[among_all > 0] / among_all[among_all > 0, None]).max(axis=0)
        value = int((ratios / bounds).argmax())
        found.append((float(ratios[value]), float(bounds[value]), table.attributes[j]))
    ratio, bound, attribute = max(found, key=lambda own: own[0] / own[1])
    is_like = not gains.breaks_cap.any()
    return LikelihoodBound(beta, is_like, attribute, ratio, bound, ratio <= bound * (1 + NEAR))


def _tried(
    context: MeasureContext, shown: ShownValues, people: _People, most: int
) -> Iterator[tuple[int | None, _Guessed]]:
    """What is guessed after 1, 2, 4, … rounds until they change nothing, and by the inverse.

    Under a rule once, by counts as they are.
    """
    is_drawn = context.drawn is not None

    def told(method: Method, rounds: int) -> list[_Likelihoods]:
        hierarchies = context.table.hierarchies
        return [_likelihoods(shown, hierarchies[j], j, method, rounds) for j in shown.quasi_identifiers]

    def guessed(found: Sequence[_Likelihoods]) -> _Guessed:
        return people.guessed(shown, [own.logs for own in found], is_drawn=is_drawn)

    rounds, is_over = 1, not is_drawn
    while not is_over:
        found = told("expectation_maximisation", rounds)
        yield max(own.rounds for own in found), guessed(found)
        is_over = rounds == most or all(own.is_converged for own in found)
        rounds = min(2 * rounds, most)
    with suppress(NotSupported):
        yield None, guessed(told("inverse", 0))


def _right_with_row(scores: Floats, truths: Ints, matrix: TransitionMatrix) -> Floats:
    """(people,) how probable it is to guess right by the scores and the row that the record becomes.

    A row that shows v multiplies the likelihood of v by PM[v][v] and that of every other value i by PM[v][i],
    which is the same for all v: v is guessed if it then exceeds the best of the others, else that one.
    """
    with np.errstate(divide="ignore"):
        others = scores + np.log(matrix.elsewhere)
        own = scores + np.log(matrix.kept)
    people = np.arange(len(scores))
    first = others.argmax(axis=1)
    best = others[people, first]
    others[people, first] = -np.inf
    second = others.argmax(axis=1)
    rival = np.repeat(best[:, None], scores.shape[1], axis=1)
    rival[people, first] = others[people, second]
    is_guessed = own > rival
    beaten = ~is_guessed
    of_first = np.where(first == truths, beaten.sum(axis=1) - beaten[people, first], 0)
    of_second = (second == truths) & beaten[people, first]
    elsewhere = matrix.elsewhere[truths]
    return np.asarray(matrix.kept[truths] * is_guessed[people, truths] + elsewhere * (of_first + of_second))


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


def _cost(context: MeasureContext, parameters: PopulationParameters) -> Cost:
    shown = shown_values(context, parameters.attribute, parameters.quasi_identifiers)
    m, known = shown.n_values, len(shown.quasi_identifiers)
    leaves = sum(context.table.hierarchies[j].n_leaves for j in shown.quasi_identifiers)
    seconds = SECONDS_PER_CELL * (len(shown.numbers) + context.table.n_records) * (known + 2)
    scorings = 1 if context.drawn is None else parameters.rounds.bit_length() + 2
    seconds += SECONDS_PER_SCORE * context.table.reduced.size * m * 4 * known * scorings
    if context.drawn is not None:
        seconds += SECONDS_PER_ROUND * 2 * parameters.rounds * leaves * m
    return Cost(seconds, 40 * leaves * m + 64 * SCORES_AT_ONCE, 1, "values")


POPULATION_INFERENCE: Final = Measure(
    name="population_inference",
    title="Population inference: sensitive values guessed from counts",
    source="Cao and Karras (2012), section 7, equation 15, through the inverse of section 5",
    guarantee="exact",
    parameters=PopulationParameters,
    result=PopulationInference,
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
