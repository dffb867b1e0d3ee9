"""B1 to B7, B9 and B10: BUREL beside its rivals (Cao and Karras (2012), figures 4 to 8 and section 7)."""

from __future__ import annotations

import time
from collections import namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import pairwise
from typing import Final

import numpy as np

from app.domain.arrays import Floats, Longs
from app.domain.attacks.definetti_attack import DEFINETTI_ATTACK, DefinettiParameters
from app.domain.attacks.population_inference import POPULATION_INFERENCE, PopulationParameters
from app.domain.classes.gains import frequency_bounds, saturation
from app.domain.classes.ratios import as_written
from app.domain.errors import InvalidInput
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.losses.count_queries import CountedRows, LeafScale, Workload
from app.domain.losses.loss import LossChoice
from app.domain.models.beta_likeness import BetaLikeness
from app.domain.models.entry import MeasureContext
from app.domain.risk.models import MODEL_I
from app.domain.risk.utility import build_utility
from app.domain.rules.rule import TableRule
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.least_loss import least_loss_plan
from app.domain.search.partitions.burel import bucketise
from app.domain.search.solvers import AUTO, Burel, Mondrian, Solver
from app.domain.tables.distinct import distinct_rows
from app.domain.tables.table import Table
from app.experiments.census import ATTRIBUTES, CORRELATION, SALARY, census
from app.experiments.likeness_schemes import Partition, anatomy, released
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative

RECORDS_PER_ENTITY: Final = 25
QUERIES: Final = 1000
TO_FIVE: Final = (1.0, 2.0, 3.0, 4.0, 5.0)
BETAS: Final = "β", TO_FIVE
FEW: Final = 2_000
"""Records that deFinetti's attack is tried on, since classes are large."""
SHARES: Final = (0.05, 0.1, 0.15, 0.2, 0.25)
CLOSENESS: Final = tuple(k / 20 for k in range(1, 7))
SOUGHT: Final = (0.001, 0.01, 0.02, *(k / 20 for k in range(1, 13)))
"""Values of t that are tried where a loss is given."""
LOSSES: Final = (0.5, 0.6, 0.7, 0.8, 0.9)
DIVERSITIES: Final = (2.0, 3.0, 4.0, 5.0, 7.0, 10.0)
NUMBERS: Final = ("age", "education")
GROUPS: Final = {"marital": [*"aabbbb"], "work": ["aa", "aa", "ab", "ab", "ab", "ba", "ba", "bb", "bb", "bb"]}
"""Inner nodes of the surrogate's trees; those of numbers are halved again and again, others are flat."""
BY_BETA: Final = ("BUREL", "LMondrian", "DMondrian")
FREQUENT, CHANCE = "most frequent value", " at random"
MARGIN: Final = "BUREL, best margin"
BY_T: Final = ("tMondrian", "SABRE-like", "tMondrian, ordered", "SABRE-like, ordered")
SOLVERS: Final[Mapping[str, Solver]] = {"BUREL": Burel(), "LMondrian": Mondrian(), "min_loss": AUTO}


def _tree(attribute: str, size: int) -> Hierarchy:
    groups = GROUPS.get(attribute, [])
    if attribute in NUMBERS:
        return Hierarchy.from_rows([[str(v >> k) for k in range(size.bit_length() + 1)] for v in range(size)])
    if len(groups) == size:
        rows = [[f"{v} in {own}", *(own[:k] for k in range(len(own), 0, -1))] for v, own in enumerate(groups)]
        return Hierarchy.from_rows(rows)
    suffix = "" if attribute == ATTRIBUTES[SALARY] else " "
    return Hierarchy.from_rows([[f"{v}{suffix}"] for v in range(size)])


Point = namedtuple("Point", "scheme parameter t ordered loss beta is_kept")
"""What a release that a search has evaluated comes to."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Releases of a seed's records by scheme, parameter, quasi-identifiers and records, or their points."""

    table: Table
    seed: int
    made: dict[tuple[str, float, int, int], Partition] = field(default_factory=dict)
    points: dict[tuple[str, float], Point] = field(default_factory=dict)

    def point(self, scheme: str, parameter: float) -> Point:
        """What the release of a search comes to."""
        key = scheme, parameter
        if key not in self.points:
            own = released(scheme, self.part(3, self.table.n_records), parameter, self.seed)
            self.points[key] = Point(*key, own.t(), own.t(ordered=True), own.loss, own.beta, own.is_kept)
        return self.points[key]

    def part(self, attributes: int, records: int) -> Table:
        """The first quasi-identifiers, and the sensitive attribute, of the first records."""
        kept, own = [*range(attributes), SALARY], self.table
        names, trees = tuple(ATTRIBUTES[j] for j in kept), tuple(own.hierarchies[j] for j in kept)
        return Table(names, trees, own.codes[:records, kept], sensitive=own.sensitive)

    def at(self, scheme: str, parameter: float, attributes: float = 3, share: float = 1) -> Partition:
        """The release of the first so many quasi-identifiers and of such a share of the records."""
        key = scheme, parameter, int(attributes), round(self.table.n_records * share)
        if key not in self.made:
            self.made[key] = released(scheme, self.part(*key[2:]), parameter, self.seed)
        return self.made[key]


Answer = Callable[[str, Runs, float], float]
Titled = tuple[str, str]
Axes = tuple[str, Sequence[float]]
Releases = Callable[[Runs, str, float], Partition | Point]


@dataclass(frozen=True, eq=False)
class Panel:
    """Curves of a figure, in the mean over seeds."""

    title: str
    x_label: str
    x: Sequence[float]
    y: Mapping[str, Floats]

    def below(self, text: str, *names: str, factor: float = 1.0, first: int = 0) -> Claim:
        """The claim that the first curve is, from a point on, below such a share of each of the others."""
        own, *others = (self.y[name][first:] for name in names)
        points = np.all([own < factor * other for other in others], axis=0)
        evidence = f"at {points.sum()} of {len(points)} points: {self.shown(*names)}"
        return qualitative(text, bool(points.all()), evidence)

    def monotone(self, text: str, sign: int, name: str = "BUREL") -> Claim:
        """The claim that a curve rises (1) or falls (−1)."""
        return qualitative(text, bool((sign * np.diff(self.y[name]) > 0).all()), self.shown(name))

    def shown(self, *names: str) -> str:
        """Curves as text."""
        return "; ".join(f"{name} " + " ".join(f"{y:.3g}" for y in self.y[name]) for name in names)


def _panel(runs: list[Runs], title: str, axis: Axes, names: Iterable[str], answer: Answer) -> Panel:
    y = {name: np.mean([[answer(name, run, at) for at in axis[1]] for run in runs], 0) for name in names}
    return Panel(title, *axis, y)


def _told(runs: list[Runs], what: str, axis: Axes, names: Iterable[str], at: Releases) -> Panel:
    """An attribute of releases by schemes."""
    title = f"{what} of a release".replace("beta", "β")
    return _panel(runs, title, axis, names, lambda name, own, x: float(getattr(at(own, name, x), what)))


def _runs(effort: Effort, times: int = 1, correlation: float = CORRELATION) -> list[Runs]:
    """Surrogates of each seed, of so many times the records, or the reader's own census."""
    found = []
    for seed in range(1, effort.seeds + 1):
        own = effort.census or census(seed, RECORDS_PER_ENTITY * times * effort.entities, correlation)
        trees = tuple(map(_tree, ATTRIBUTES, own.sizes))
        codes = [tree.leaves[column - 1] for tree, column in zip(trees, own.columns, strict=True)]
        table = Table(ATTRIBUTES, trees, np.stack(codes, axis=1), sensitive=frozenset({ATTRIBUTES[SALARY]}))
        found.append(Runs(table, seed))
    return found


def _report(titled: Titled, runs: list[Runs], panels: Sequence[Panel], *claims: Claim) -> Report:
    name, title = titled
    kept = [own.is_kept for run in runs for own in run.made.values()]
    kept += [own.is_kept for run in runs for own in run.points.values()]
    text = "Every release has all records, a loss from 0 to 1, and what its scheme promises"
    setting = f"{runs[0].table.n_records:,} records, seeds: {len(runs)}; 3 attributes, β = 4 unless varied"
    arrays = [(own, np.stack([*own.y.values()], axis=1)) for own in panels]
    tables = (ResultTable.of(own.title, (own.x_label, *own.y), own.x, y) for own, y in arrays)
    pictures = (
        Picture(f"{name.lower()}-{i}", own.title, own.x_label, own.title, curves([*own.y], own.x, y))
        for i, (own, y) in enumerate(arrays, 1)
    )
    first = exact(text, all(kept), f"{sum(kept)} of {len(kept)} releases")
    points = tuple((run.seed, *own[:-1]) for run in runs for _, own in sorted(run.points.items()))
    searched = ResultTable("Every release that a search evaluated", ("seed", *Point._fields[:-1]), points)
    shown = (*tables, searched) if points else tuple(tables)
    return Report(name, title, setting, shown, tuple(pictures), (first, *claims))


def same_distance(effort: Effort) -> Report:
    """B1: the β of t-close releases with the t that BUREL's have."""

    def at(own: Runs, name: str, beta: float) -> Partition:
        first = own.at("BUREL", beta)
        return first if name == "BUREL" else own.at(name, first.t(ordered="ordered" in name))

    panel = _told(runs := _runs(effort), "beta", BETAS, ("BUREL", *BY_T), at)
    claims = (
        panel.below("BUREL attains the lowest β of releases with its t", "BUREL", *BY_T),
        panel.below("From β = 2 on less than two thirds", "BUREL", *BY_T, factor=2 / 3, first=1),
    )
    return _report(("B1", "β of releases as close as BUREL's"), runs, [panel], *claims)


def _sought(own: Runs, scheme: str, what: str, limit: float, cost: str) -> Point:
    """The release of least cost of those with at most the limit (others than BUREL's: no less), or nearest.

    Of a grid, and of points between neighbours on different sides, for nothing is monotone here.
    """

    def excess(point: Point) -> float:
        return float(getattr(point, what) - limit) * (1 if scheme == "BUREL" else -1)

    betas = [k / 4 for k in range(1, 1 + max(1, int(4 * min(8.0, saturation(_totals(own.table))))))]
    found = [own.point(scheme, x) for x in (betas if scheme == "BUREL" else SOUGHT)]
    for below, above in pairwise(found[:]):
        ends = [below, above]
        for _ in range(3 * ((excess(below) > 0) != (excess(above) > 0))):
            middle = own.point(scheme, (ends[0].parameter + ends[1].parameter) / 2)
            ends[(excess(middle) > 0) == (excess(above) > 0)] = middle
            found.append(middle)
    return min(found, key=lambda point: (max(0.0, excess(point)), getattr(point, cost)))


def given_distance(effort: Effort) -> Report:
    """B2: the β of releases that have a t at most, of BUREL's the one that loses least."""

    def at(own: Runs, name: str, t: float) -> Point:
        what = "ordered" if "ordered" in name else "t"
        return own.point(name, t) if name in BY_T else _sought(own, "BUREL", what, t, "loss")

    runs, names = _runs(effort), ("BUREL", "BUREL, ordered", *BY_T)
    panels = [_told(runs, what, ("t", CLOSENESS), names, at) for what in ("beta", "loss")]
    claims = (
        panels[0].below("BUREL attains the lowest β of releases within t", "BUREL", *BY_T[:2]),
        panels[0].below("Likewise within an ordered t", "BUREL, ordered", *BY_T[2:]),
    )
    return _report(("B2", "β of releases within a t"), runs, panels, *claims)


def given_loss(effort: Effort) -> Report:
    """B3: the least β of BUREL's releases that lose so much at most, and that of others that lose no less."""

    def at(own: Runs, name: str, lost: float) -> Point:
        return _sought(own, name, "loss", lost, "loss" if name in BY_T else "beta")

    runs, names = _runs(effort), ("BUREL", *BY_T)
    beta, loss = (_told(runs, what, ("loss allowed", LOSSES), names, at) for what in ("beta", "loss"))
    claims = (
        beta.below("BUREL attains the lowest β of releases that lose as much", *names),
        beta.below("Then comes the scheme like SABRE", "SABRE-like", "tMondrian"),
        loss.below("BUREL loses no more than the others", *names, factor=1 + 1e-9),
    )
    return _report(("B3", "β of releases that lose as much"), runs, [beta, loss], *claims)


def _losses_and_times(
    titled: Titled, runs: list[Runs], x_label: str, sign: int, at: Releases, *claims: Claim
) -> Report:
    """Loss and time of the schemes under β, where the paper's loss falls (−1), grows (1) or stays (0)."""
    names = *BY_BETA, MARGIN
    loss, seconds = (_told(runs, what, (x_label, TO_FIVE), names, at) for what in ("loss", "seconds"))
    own = loss.y["BUREL"]
    is_steady = bool(own.max() <= 1.25 * own.min())
    stays = qualitative("BUREL's losses are within a quarter of the least", is_steady, loss.shown("BUREL"))
    text = f"'s loss {'grows' if sign > 0 else 'falls'} with {x_label}"
    moves = [loss.monotone(name + text, sign, name) for name in ("BUREL", MARGIN)]
    is_best = bool((loss.y[MARGIN] <= own).all())
    found = (
        exact("The best margin loses no more than none", is_best, loss.shown("BUREL", MARGIN)),
        *(moves if sign else [stays]),
        loss.below("BUREL beats LMondrian", "BUREL", "LMondrian"),
        loss.below("From the second point on LMondrian beats DMondrian", *BY_BETA[1:], first=1),
        loss.below("BUREL has half the loss of either", *BY_BETA, factor=0.5),
        seconds.below("It takes half the time of either", *BY_BETA, factor=0.5),
    )
    return _report(titled, runs, [loss, seconds], *claims, *found)


def _totals(table: Table) -> Longs:
    return np.unique(table.codes[:, -1], return_counts=True)[1].astype(np.int64)


def by_beta(effort: Effort) -> Report:
    """B4: loss and time by β."""
    runs = _runs(effort)
    totals = [_totals(own.table) for own in runs]
    buckets = [[len(bucketise(own, as_written(beta)).sizes) for beta in TO_FIVE] for own in totals]
    never = bool((np.diff(buckets) <= 0).all())
    claim = exact("The number of buckets never rises with β", never, f"{buckets[0]}")
    titled = "B4", "Loss and time by β"
    return _losses_and_times(titled, runs, "β", -1, lambda own, name, beta: own.at(name, beta), claim)


def by_attributes(effort: Effort) -> Report:
    """B5: loss and time by the number of quasi-identifiers."""
    titled = "B5", "Loss and time by quasi-identifiers"
    return _losses_and_times(
        titled, _runs(effort), "quasi-identifiers", 1, lambda own, name, n: own.at(name, 4, n)
    )


def by_records(effort: Effort) -> Report:
    """B6: loss and time by the number of records."""
    titled = "B6", "Loss and time by records"
    return _losses_and_times(
        titled, _runs(effort, 5), "fifths of the records", 0, lambda own, name, n: own.at(name, 4, 3, n / 5)
    )


def queries(effort: Effort) -> Report:
    """B7: median relative errors of COUNT queries."""
    runs, errors = _runs(effort), cache(_errors)
    varied: Mapping[str, tuple[Sequence[float], Callable[[float], tuple[float, ...]]]] = {
        "quasi-identifiers asked about": (TO_FIVE, lambda n: (4, 5, n, 0.1)),
        "β": (TO_FIVE, lambda beta: (beta, 5, 3, 0.1)),
        "quasi-identifiers": (TO_FIVE, lambda n: (4, n, min(3, n), 0.1)),
        "selectivity": (SHARES, lambda share: (4, 5, 3, share)),
    }

    def error(point: Callable[[float], tuple[float, ...]]) -> Answer:
        return lambda name, own, x: errors(own, *point(x))[name]

    panels = [
        _panel(runs, "Median relative error", (x_label, x), BY_BETA, error(point))
        for x_label, (x, point) in varied.items()
    ]
    claims = (
        panels[1].monotone("BUREL's error falls with β", -1),
        panels[2].monotone("It rises with the quasi-identifiers", 1),
        panels[3].monotone("It falls with the selectivity", -1),
        *(own.below(f"BUREL's error is the least, by {own.x_label}", *BY_BETA) for own in panels),
    )
    return _report(("B7", "COUNT queries on generalised records"), runs, panels, *claims)


def _errors(own: Runs, beta: float, attributes: float, predicates: float, share: float) -> dict[str, float]:
    """Per scheme, of the counts above 0."""
    releases = {name: own.at(name, beta, attributes) for name in BY_BETA}
    table, d = releases["BUREL"].table, int(attributes)
    scales = {j: LeafScale(tree) for j, tree in enumerate(table.hierarchies)}
    counted = CountedRows.of(range(d + 1), table.reduced)
    workload, found = Workload(scales, range(d), d, int(predicates), share, own.seed), []
    for _ in range(QUERIES):
        asked = workload.draw()
        right = counted.count({j: scales[j].shares(interval) for j, interval in asked.items()})
        values = asked.pop(d)
        if right:
            found.append([abs(release.estimate(asked, values) / right - 1) for release in releases.values()])
    return dict(zip(releases, np.median(found, axis=0).tolist(), strict=True))


def closeness_and_diversity(effort: Effort) -> Report:
    """B9: t and ℓ of BUREL's releases."""
    told: Mapping[str, Callable[[Partition, float], float]] = {
        "t": lambda own, _: own.t(),
        "mean t": lambda own, _: float(own.distances[0].mean()),
        "ordered t": lambda own, _: own.t(ordered=True),
        "mean ordered t": lambda own, _: float(own.distances[1].mean()),
        "ℓ": lambda own, _: float(own.counts.distinct.min()),
        "mean ℓ": lambda own, _: float(own.counts.distinct.mean()),
        "ℓ by frequency": lambda own, _: float((own.sizes / own.per_value.max(axis=0)).min()),
        "necessary ℓ": lambda own, beta: _necessary(own.counts.totals, beta),
    }

    def answer(name: str, own: Runs, beta: float) -> float:
        return told[name](own.at("BUREL", beta), beta)

    panel = _panel(runs := _runs(effort), "Closeness and diversity", BETAS, told, answer)
    enough = bool((panel.y["necessary ℓ"] <= panel.y["ℓ"]).all())
    six = bool((panel.y["ℓ by frequency"] >= 6).all())
    claims = (
        exact("Classes have as many values as β makes necessary", enough, panel.shown("ℓ", "necessary ℓ")),
        qualitative("ℓ is at least 6, by frequency, too", six, panel.shown("ℓ by frequency")),
    )
    return _report(("B9", "t and ℓ of BUREL's releases"), runs, [panel], *claims)


def _necessary(totals: Longs, beta: float) -> int:
    """Different values that a class has at least: so many of the greatest bounds sum to 1."""
    bounds = np.sort(frequency_bounds(totals, int(totals.sum()), as_written(beta), "enhanced"))[::-1]
    return 1 + int(np.searchsorted(np.cumsum(bounds), 1 - 1e-9))


def attacks(effort: Effort) -> Report:
    """B10: loss and time of the service's solvers, and how often two readers guess rightly."""
    runs, solved = _runs(effort), cache(_solved)
    few = min(FEW, runs[0].table.n_records // 50 + 2)

    def told(title: str, place: int, records: int, *more: str) -> Panel:
        def answer(name: str, own: Runs, beta: float) -> float:
            if name == FREQUENT:
                return float(_totals(own.table).max()) / own.table.n_records
            return solved(own, name.removesuffix(CHANCE), beta, records)[place + name.endswith(CHANCE)]

        return _panel(runs, title, BETAS, (*SOLVERS, *more), answer)

    n = runs[0].table.n_records
    loss, seconds = told("Loss", 0, n), told("Seconds", 1, n)
    bayes = told("Right by naive Bayes", 2, n, FREQUENT)
    title = f"Right by deFinetti's attack on {few:,} records"
    definetti = told(title, 3, few, *(name + CHANCE for name in SOLVERS))
    grouped, close, names = cache(_grouped), _runs(effort, correlation=0.9), ("attack", "at random")
    title = "Right by deFinetti's attack on Anatomy"
    control = _panel(close, title, ("ℓ", DIVERSITIES), names, lambda name, own, x: grouped(own, x)[name])
    claims = (
        control.below("deFinetti's attack gains much on Anatomy", "at random", "attack", factor=0.8),
        loss.below("min_loss loses least", "min_loss", "BUREL", "LMondrian"),
        bayes.below("Naive Bayes gains little on BUREL", "BUREL", FREQUENT, factor=1.2),
        definetti.below("deFinetti's attack gains little on BUREL", "BUREL", "BUREL at random", factor=1.2),
    )
    titled = "B10", "Attacks on releases of three solvers, nodes as cells"
    return _report(titled, runs, [loss, seconds, bayes, definetti, control], *claims)


def _solved(own: Runs, name: str, beta: float, records: int) -> tuple[float, ...]:
    """Loss, time and successes of a solver's rule on the first records; deFinetti's only on few."""
    table, promise = own.part(3, records), BetaLikeness(beta=beta)
    loss, start = LossChoice("ail", numeric=NUMBERS), time.process_time()
    problem = AnonymityProblem(privacy=(promise,), loss=loss, scope="record_level")
    plan = least_loss_plan(table, problem, solver=SOLVERS[name])
    outcome = plan.combine({0: plan.run_block(0, lambda _: None)})
    found = [float(outcome.loss or 0), time.process_time() - start]
    context = MeasureContext(table, outcome.rule, None, None, None, build_utility(table), MODEL_I, "zero")
    shown = [context.release.codes[:, j] for j in table.quasi_identifiers]
    classes = distinct_rows(shown, table.sizes[:-1], records).inverse.astype(np.int64)
    own.made[name, beta, -1, records] = Partition(table, classes, promise, found[1])
    try:
        guessed = POPULATION_INFERENCE.compute(context, PopulationParameters(), lambda _: None)
        found.append(guessed.success_rate)
    except InvalidInput:  # Nothing is shown: the most frequent value is guessed.
        found.append(float(_totals(table).max()) / records)
    if records > FEW:
        return tuple(found)
    asked = DefinettiParameters(starts=2, rounds=20, suppressed="own_block")
    attack = DEFINETTI_ATTACK.compute(context, asked, lambda _: None)
    return *found, attack.success_rate, attack.success_random


def _grouped(own: Runs, diversity: float) -> dict[str, float]:
    """How often deFinetti's attack is right of Anatomy's groups, and handing out at random."""
    table = own.part(3, min(20_000, own.table.n_records))
    values = np.unique(table.codes[:, -1], return_inverse=True)[1].reshape(-1)
    of = anatomy(values, int(diversity), np.random.default_rng(own.seed))
    tree = Hierarchy.from_rows([[str(group)] for group in range(int(of.max()) + 1)])
    names, trees = (*table.attributes, "group"), (*table.hierarchies, tree)
    codes = np.column_stack([table.codes, tree.leaves[of]])
    grouped = Table(names, trees, codes, sensitive=table.sensitive)
    rule = TableRule((*table.heights[:-1], 0, 0))
    context = MeasureContext(grouped, rule, None, None, None, build_utility(grouped), MODEL_I, "zero")
    found = DEFINETTI_ATTACK.compute(context, DefinettiParameters(starts=2, rounds=20), lambda _: None)
    return {"attack": found.success_rate, "at random": found.success_random}
