"""L1 to L10: homogeneous groups, and the cost of ℓ-diversity, on Adult (Machanavajjhala (2008), 3.6)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import Final, NamedTuple

import numpy as np

from app.domain.arrays import Floats, Indices, Levels, Longs
from app.domain.attacks.homogeneity_attack import homogeneous
from app.domain.classes.quasi_part import group_of_row
from app.domain.losses.catalogue import loss_of
from app.domain.losses.loss import LossChoice, LossKind, SummedLoss
from app.domain.models.criterion import Criterion
from app.domain.models.entropy_l_diversity import EntropyLDiversity
from app.domain.models.k_anonymity import KAnonymity
from app.domain.models.recursive_l_diversity import RecursiveLDiversity
from app.domain.search.budget import UNLIMITED
from app.domain.search.full_domain.checks import Progress
from app.domain.search.full_domain.minimal_rules import minimal_rules
from app.domain.search.full_domain.problem import AnonymityProblem
from app.domain.search.full_domain.verdicts import Judge
from app.domain.tables.table import Table
from app.experiments.adult import OCCUPATION, PUBLISHED, QUASI_IDENTIFIERS, SALARY, adult
from app.experiments.report import Claim, Effort, Picture, Report, ResultTable, curves, exact, qualitative

EQUAL_HEIGHTS: Final = "The least heights for k and ℓ are usually equal"
KS: Final = (2, 5, 10, 15, 20, 30, 50)
KINDS: Final[tuple[LossKind, ...]] = ("height", "average_class_size", "discernibility", "kl_divergence")
MODELS: Final[Mapping[str, Callable[[int], Criterion]]] = {
    "k-anonymity": KAnonymity,
    "entropy": lambda t: EntropyLDiversity(float(t)),
    "recursive (3, ℓ)": lambda t: RecursiveLDiversity(3.0, t),
}
K, ENTROPY, RECURSIVE = range(3)
T, SETS, UP_TO_SIX, TIMED, SAMPLED = (2, 4, 6, 8, 10), (3, 4, 5), 3, 6, 0.05
LARGE, HUGE, COMPARABLE, CLOSE, GAP, LESS = 0.1, 1000, 2.0, 0.9, 0.22, 1 - 1e-9
"""A large share, a huge group, a factor of comparable losses, a share close to all suppressed, nats of close
divergences, and the share of a loss from which on it is equal but for rounding."""

Figure = Mapping[int, Floats]
"""By quasi-identifiers (samples, models, T) the least losses of a kind, ∞ where there is no table."""


def complete(effort: Effort) -> Report:
    """L1: groups with a single value."""
    return _homogeneous("L1", "All of a group have one salary class", 1.0, effort)


def near(effort: Effort) -> Report:
    """L2: groups in which one value has 95 % or more."""
    return _homogeneous("L2", "Nearly all of a group have one salary class", 0.95, effort)


def _homogeneous(name: str, title: str, theta: float, effort: Effort) -> Report:
    data, rows, are_minimal = adult(effort, max(KS)), [], True
    for k in KS:
        judge, rules, _ = minimal(data.table(5, SALARY), KAnonymity(k))
        below = {(*v[:j], v[j] - 1, *v[j + 1 :]) for v in rules for j in range(len(v)) if v[j]}
        judged = [judge.remaining(rule) for rule in rules]
        are_minimal &= all(own.records.sum() == data.n_records for own in judged)
        are_minimal &= not any(judge.judge(rule).allowed for rule in below)
        groups = [own.records[homogeneous(own.counts(None), theta)] for own in judged]
        means = (sum(map(len, groups)) / len(rules), sum(int(own.sum()) for own in groups) / len(rules))
        rows.append((k, len(rules), sum(len(own) > 0 for own in groups), *means))
    claims = [
        exact(
            "The tables are k-anonymous, and none is one level below any",
            are_minimal, f"{sum(row[1] for row in rows)} rules for {len(KS)} values of k",
        ),
        qualitative(
            "For every k most of the minimal tables have such groups",
            all(2 * row[2] > row[1] for row in rows), ", ".join(f"{row[2]} of {row[1]}" for row in rows),
        ),
        qualitative(
            f"For every k they have a large share of the records in the mean, {LARGE:.0%} or more",
            all(row[4] >= LARGE * data.n_records for row in rows),
            " ".join(f"{row[4] / data.n_records:.2%}" for row in rows),
        ),
    ]  # fmt: skip
    if data.is_published:
        known = PUBLISHED["homogeneity"][str(theta)]
        same = [[*row[:3], round(row[3], 3), round(row[4], 2)] in known for row in rows]
        claims.append(_as_published(same))
    columns = ("k", "minimal tables", "affected", "groups per table", "records in them per table")
    shown = ResultTable(f"Groups in which one value has {theta:.0%} or more", columns, tuple(rows))
    lines = curves(columns[1:4], KS, np.array(rows)[:, 1:4])
    picture = Picture(f"{name.lower()}-groups", title, "k", "number", lines)
    return Report(name, title, data.name, (shown,), (picture,), tuple(claims))


def times(effort: Effort) -> Report:
    """L3: time of the searches, and the rules that they checked, by the number of quasi-identifiers."""
    data, rows, above = adult(effort, TIMED), [], []
    for n in range(3, len(QUASI_IDENTIFIERS) + 1):
        table, found = data.table(n, OCCUPATION), []
        row: list[float] = [n, math.prod(height + 1 for height in table.heights[:-1]), table.reduced.size]
        for name in ("k-anonymity", "entropy"):
            start = time.process_time()
            _, rules, checked = minimal(table, MODELS[name](TIMED))
            row += [len(rules), checked, time.process_time() - start]
            found.append(np.array(rules).reshape(len(rules), n))
        rows.append(tuple(row))
        above += [bool((found[0] <= rule).all(axis=1).any()) for rule in found[1]]
    each = [f"{name}, {what}" for name in ("k = 6", "entropy ℓ = 6") for what in ("minimal", "checked", "s")]
    text = "Every minimal entropy-6-diverse table is a minimal 6-anonymous one or above one"
    claim = exact(text, all(above), f"{sum(above)} of {len(above)} rules")
    title = "Time of finding all minimal tables"
    shown = ResultTable(title, ("quasi-identifiers", "rules", "distinct records", *each), tuple(rows))
    lines = curves([*MODELS][:2], np.array(rows)[:, 0], np.array(rows)[:, [5, 8]])
    return Report(
        "L3", title, f"{data.name}; processor time, none claimed",
        (shown,), (Picture("l3-time", title, "quasi-identifiers", "seconds", lines),), (claim,),
    )  # fmt: skip


def heights(effort: Effort) -> Report:
    """L4: the least height."""
    setting, figure, _ = _samples(effort, (*SETS, 7), 0)
    return _report("L4", "Least height", setting, figure, [_mostly(EQUAL_HEIGHTS, figure, 1.0)])


def group_sizes(effort: Effort) -> Report:
    """L5: the least average group size."""
    setting, figure, _ = _samples(effort, (*SETS, 7), 1)
    whole = Losses(adult(effort, 4).table(5, OCCUPATION), KINDS[1::-1])
    judge, rules, _ = minimal(whole.table, KAnonymity(4))
    size, height = max(whole.of(judge, rule).tolist() for rule in rules)
    text = f"Of all records there are minimal 4-anonymous tables with groups of more than {HUGE:,}"
    evidence = f"{size:,.0f} in the mean at height {height:.0f}, the most of {len(rules)} tables"
    comparable = _mostly("The best tables for k and ℓ often have comparable groups", figure, COMPARABLE)
    claims = [qualitative(text, size > HUGE, evidence), comparable]
    return _report("L5", "Least average group size", setting, figure, claims)


def discernibilities(effort: Effort) -> Report:
    """L6: the least discernibility."""
    setting, figure, _ = _samples(effort, (*SETS, 7), 2)
    claim = _mostly("The best tables for k and ℓ often have comparable discernibility", figure, COMPARABLE)
    return _report("L6", "Least discernibility", setting, figure, [claim])


def divergences(effort: Effort) -> Report:
    """L7: the least divergence, of three and four quasi-identifiers."""
    return _divergences("L7", SETS[:2], effort)


def more_divergences(effort: Effort) -> Report:
    """L8: the least divergence, of five quasi-identifiers."""
    return _divergences("L8", SETS[2:], effort)


def _divergences(name: str, sets: Sequence[int], effort: Effort) -> Report:
    setting, figure, bases = _samples(effort, sets, 3)
    shares = np.concatenate([own / bases[n][:, None, None] for n, own in figure.items()]).mean(axis=0)
    last, six = shares[ENTROPY:, UP_TO_SIX:], shares[:, UP_TO_SIX - 1]
    claims = [
        _recursive(figure),
        qualitative(
            "For ℓ of 8 and 10 the best diverse tables are close to everything suppressed, or there is none",
            bool((last >= CLOSE).all()), "shares of it: " + " ".join(f"{own:.2f}" for own in last.flat),
        ),
        qualitative(
            "For ℓ = 6 recursive diversity is better than that by entropy",
            bool(six[RECURSIVE] < six[ENTROPY] * LESS), f"{six[RECURSIVE]:.3f} and {six[ENTROPY]:.3f} of it",
        ),
    ]  # fmt: skip
    return _report(name, "Least KL divergence in nats", setting, figure, claims, bases)


def whole_table(effort: Effort) -> Report:
    """L9: the least divergence of the whole table, and its other losses."""
    data = adult(effort, max(T))
    every = {n: Losses(data.table(n, OCCUPATION)).least() for n in SETS}
    figure, bases = ({n: own[place][-1:] for n, own in every.items()} for place in (0, 1))
    gaps = np.stack([own[0, ENTROPY:].min(axis=0) - own[0, K] for own in figure.values()])
    few, many = gaps[:, :UP_TO_SIX], gaps[:, UP_TO_SIX:]
    claims = [
        qualitative(
            f"Up to 6 the best diverse divergence is within {GAP} nats of the anonymous one, then above it",
            bool((few <= GAP).all() and (many > 0).all()), f"at most {few.max():.4f}, then {many.min():.4f}",
        ),
        _recursive(figure),
        _mostly(EQUAL_HEIGHTS, {n: own[:1] for n, (own, _) in every.items()}, 1.0),
    ]  # fmt: skip
    places = product(SETS, enumerate(T), enumerate(MODELS))
    rows = [(n, t, model, *every[n][0][:, i, j].tolist()) for n, (j, t), (i, model) in places]
    if data.is_published:
        same = [[*row[:4], round(row[4], 2), row[5], round(row[6], 4)] in PUBLISHED["losses"] for row in rows]
        same += [[n, round(float(base[0]), 6)] in PUBLISHED["bases"] for n, base in bases.items()]
        claims.append(_as_published(same))
    table = ResultTable("Least losses", ("quasi-identifiers", "k, ℓ", "model", *KINDS), tuple(rows))
    return _report("L9", "Least KL divergence in nats", data.name, figure, claims, bases, table)


def limits(effort: Effort) -> Report:
    """L10: what no generalisation of the whole table attains."""
    table = (data := adult(effort, 1)).table(3, OCCUPATION)
    judge, values = minimal(table, KAnonymity(1))[0], len(np.unique(table.codes[:, -1]))
    most = judge.attained_by_all(EntropyLDiversity(1.0)) or 0.0
    least_c = {t: judge.attained_by_all(RecursiveLDiversity(3.0, t)) or 0.0 for t in range(2, values + 2)}
    below, above = max(1.0, most - 1e-6), most + 1e-6
    asked = (*map(EntropyLDiversity, (below, above, values + 0.01)), RecursiveLDiversity(1e6, values + 1))
    exist = [bool(minimal(table, own)[1]) for own in asked]
    recursive = {t: bool(minimal(table, RecursiveLDiversity(3.0, t))[1]) for t in least_c}
    last = max((t for t, exists in recursive.items() if exists), default=1)
    claims = (
        exact(
            "Entropy diversity exists up to that of all records together, and none beyond the values",
            exist == [True, False, False, False], f"{most:.6f}, to a millionth; {values} values",
        ),
        exact(
            "Recursive (3, ℓ)-diversity exists where all records together have a least c below 3",
            all(exists == (least_c[t] < 3) for t, exists in recursive.items()), f"up to ℓ = {last}",
        ),
        qualitative(
            "As printed: entropy up to 10.57, recursive (3, 12) infeasible, nothing above 14",
            round(most, 2) == 10.57 and last == 11 and values == 14, f"{most:.2f}, (3, {last + 1}), {values}",
        ),
    )  # fmt: skip
    each = ((f"least c, ℓ = {t}", c) for t, c in least_c.items())
    rows = (("values", values), ("effective values", most), *each)
    shown = ResultTable("All records together", ("measure", "value"), rows)
    return Report("L10", "Limits", data.name, (shown,), (), claims)


def minimal(table: Table, criterion: Criterion) -> tuple[Judge, tuple[Levels, ...], int]:
    """All minimal rules without suppression, none if no rule will do, and how many rules were checked."""
    progress = Progress(Judge(table, AnonymityProblem((criterion,))), UNLIMITED, lambda _: None)
    return progress.judge, minimal_rules(progress) or (), progress.counted


class _Classes(NamedTuple):
    sizes: Longs
    of_row: Indices


class Losses:
    """Losses of a table's rules without suppression; what a rule loses is computed once."""

    def __init__(self, table: Table, kinds: Sequence[LossKind] = KINDS) -> None:
        self.table = table
        self._losses = [loss_of(table, LossChoice(kind)) for kind in kinds]
        self._known: dict[Levels, Floats] = {}

    def least(self) -> tuple[Floats, Floats]:
        """(kinds, models, T) least losses, which minimal rules have; (kinds,) those of all suppressed."""
        found = np.full((len(self._losses), len(MODELS), len(T)), np.inf)
        anything, *_ = minimal(self.table, KAnonymity(1))
        for (i, model), (j, t) in product(enumerate(MODELS.values()), enumerate(T)):
            judge, rules, _ = minimal(self.table, model(t))
            for rule in rules:
                found[:, i, j] = np.minimum(found[:, i, j], self.of(judge, rule))
        return found, self.of(anything, anything.table.heights)

    def of(self, judge: Judge, rule: Levels) -> Floats:
        """(kinds,) what a rule loses."""
        if rule not in self._known:
            judged = judge.remaining(rule)
            of_row = judged.class_of_group[group_of_row(self.table, judge.table)]
            shown, each = _Classes(judged.sizes, of_row), self._losses
            losses = (own.of(rule) if isinstance(own, SummedLoss) else own.of(rule, shown) for own in each)
            self._known[rule] = np.array([*losses])
        return self._known[rule]


def _samples(effort: Effort, sets: Sequence[int], kind: int) -> tuple[str, Figure, Figure]:
    """What was sampled, least losses, and by quasi-identifiers (samples,) those of everything suppressed."""
    data, least, bases = adult(effort, math.ceil(3 * max(T) / SAMPLED)), {}, {}
    draws = [np.random.default_rng(seed).random(data.n_records) for seed in range(1, effort.seeds + 1)]
    samples = [np.flatnonzero(draw < SAMPLED) for draw in draws]
    for n in sets:
        losses = (Losses(data.table(n, OCCUPATION, own), KINDS[kind : kind + 1]) for own in samples)
        least[n], bases[n] = map(np.concatenate, zip(*(own.least() for own in losses), strict=True))
    return f"{data.name}; {len(samples)} samples of {SAMPLED:.0%} of them", least, bases


def _as_published(same: Sequence[bool]) -> Claim:
    text = "The published table with our hierarchies has the numbers of the baseline"
    return exact(text, all(same), f"{sum(same)} of {len(same)} rows")


def _mostly(text: str, figure: Figure, factor: float) -> Claim:
    """The claim that most of the best diverse tables lose at most so many times what anonymous ones do."""
    found = np.stack([own[:, ENTROPY:] <= factor * own[:, [K]] / LESS for own in figure.values()])
    return qualitative(text, bool(found.mean() > 0.5), f"{found.mean():.0%} of {found.size} pairs")


def _recursive(figure: Figure) -> Claim:
    means = np.stack([own.mean(axis=0) for own in figure.values()])
    better = int((means[:, RECURSIVE] < means[:, ENTROPY] * LESS).sum())
    worse = int((means[:, ENTROPY] < means[:, RECURSIVE] * LESS).sum())
    text = "Recursive diversity allows better tables than that by entropy, and worse ones nowhere"
    return qualitative(text, better > 0 == worse, f"better at {better} points and worse at {worse}")


def _report(
    name: str, title: str, setting: str, figure: Figure, claims: Sequence[Claim],
    bases: Figure | None = None, *more: ResultTable,
) -> Report:  # fmt: skip
    """Means over samples, with what is provable of all least losses."""
    holds = all((own[:, ENTROPY:] >= own[:, [K]] * LESS).all() for own in figure.values())
    text = "No diverse table loses less than the best k-anonymous one of k = ℓ"
    tables, pictures = [], []
    for n, own in figure.items():
        y, names, label = own.mean(axis=0).T, [*MODELS], ", ".join(QUASI_IDENTIFIERS[:n])
        if bases is not None:
            y, names = np.column_stack([y, np.full(len(T), bases[n].mean())]), [*names, "all suppressed"]
        tables.append(ResultTable.of(label, ("k, ℓ", *names), T, y))
        pictures.append(Picture(f"{name.lower()}-{n}", label, "k, ℓ", title, curves(names, T, y)))
    provable = exact(text, holds, f"for k and ℓ of {T}")
    return Report(name, title, setting, (*tables, *more), tuple(pictures), (provable, *claims))
