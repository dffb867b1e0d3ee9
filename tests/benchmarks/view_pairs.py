"""How fast single pairs of queries are decided, by the classes for which the check is known to be cheap.

Each row takes drawn pairs in Datalog from their texts to their verdicts. One half of them is private, so that
nothing is found early; most of the others disclose. The bar is for the slowest pair, in processor time, of
which the least of five runs is taken. The baselines only decide: they read no text, verify no example and
know no comparisons, keys or NULL.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations
from random import Random
from typing import Final

from app.domain.views.datalog import parse_query
from app.domain.views.decision import PairVerdict, decide
from app.domain.views.normal_form import branches
from app.domain.views.relational_schema import RelationalSchema, RelationDefinition, built
from app.domain.views.work import Budget, Work
from tests.benchmarks.row import PeakWatch, Report, Row
from tests.oracles.plain_patterns import is_private
from tests.oracles.query_views import Fact, Relation, Rule, World, in_datalog, is_variable

PAIRS: Final = 30
"""Of either half."""
REPEATS: Final = 5
BASELINE_SECONDS: Final = 2.0
"""After which a baseline is stopped: it takes at least so long."""
COLUMNS: Final = ("a", "b", "c")
Pair = tuple[Rule, Rule]


def rows(report: Report) -> None:
    """The three classes."""
    random = Random(7)
    wide = [_without_self_joins(random) for _ in range(PAIRS)] + [_any(random, 50, 1) for _ in range(PAIRS)]
    work = "50 subgoals, no relation twice in a query or maximal rows"
    report(_row(work, 0.010, wide, _by_definition, times=100))
    for subgoals, most, bar in ((30, 2, 0.1), (20, 4, 1.0)):
        pairs = [_with_self_joins(random, subgoals, most) for _ in range(PAIRS)]
        pairs += [_any(random, subgoals, most) for _ in range(PAIRS)]
        work = f"{subgoals} subgoals, each relation up to {most} times in a query"
        report(_row(work, bar, pairs, _by_all_sets))


def _row(
    work: str, bar: float, pairs: list[Pair], baseline: Callable[[Pair], bool | None], times: int = 0
) -> Row:
    """The slowest pair against its bar: seconds, and if ``times`` so many times as fast as the baseline."""
    texts = [tuple(in_datalog((rule,), name) for rule, name in zip(own, "SV", strict=True)) for own in pairs]
    schema = _schema(pairs)
    _decided(texts[0], schema)
    watch, seconds, verdicts = PeakWatch(), [], []
    for one in texts:
        spent = []
        for _ in range(REPEATS):
            began = time.process_time()
            verdict = _decided(one, schema)
            spent.append(time.process_time() - began)
        verdicts.append(verdict)
        seconds.append(min(spent))
    peak, slowest = watch.peak(), max(range(len(pairs)), key=seconds.__getitem__)
    began = time.process_time()
    theirs = baseline(pairs[slowest])
    baseline_seconds = time.process_time() - began
    stopped = "" if theirs is not None else f"; it was stopped after {BASELINE_SECONDS:.0f} s"
    return Row(
        work=f"One pair decided: {work}",
        bar=f"{1000 * bar:.0f} ms" + (f", {times} times as fast" if times else ""),
        bar_seconds=min(bar, baseline_seconds / times) if times else bar,
        ours_seconds=seconds[slowest],
        baseline=baseline.__doc__.rstrip(".") if baseline.__doc__ else "",
        baseline_seconds=baseline_seconds,
        peak_bytes=peak,
        counters={
            "median_seconds": statistics.median(seconds),
            "pairs": len(pairs),
            "private": sum(own.verdict == "PRIVATE" for own in verdicts),
            "subset_pairs": max(own.subset_pairs for own in verdicts),
        },
        same_result=None if theirs is None else theirs == (verdicts[slowest].verdict == "PRIVATE"),
        detail=f"The slowest of {len(pairs)} pairs, and the baseline on that pair{stopped}.",
    )


def _decided(texts: tuple[str, ...], schema: RelationalSchema) -> PairVerdict:
    work = Work(Budget(), lambda: False)
    secret, view = (
        branches(parse_query(text, schema), schema, side, work)
        for text, side in zip(texts, "sv", strict=True)
    )
    return decide(secret, view, schema)


def _schema(pairs: list[Pair]) -> RelationalSchema:
    names = {str(atom[0]) for pair in pairs for rule in pair for atom in rule.atoms}
    return built({name: RelationDefinition(COLUMNS) for name in sorted(names)})


def _any(random: Random, subgoals: int, most: int) -> Pair:
    """Queries of variables and a few constants; most of them disclose."""

    def term(letter: str) -> object:
        return f"?{letter}{random.randrange(8)}" if random.random() < 0.85 else random.randrange(3)

    def rule() -> Rule:
        atoms = tuple((f"R{i // most}", *map(term, COLUMNS)) for i in range(subgoals // 2))
        used = sorted({str(t) for atom in atoms for t in atom[1:] if is_variable(t)})
        return Rule(tuple(used[:2]), atoms)

    return rule(), rule()


def _without_self_joins(random: Random) -> Pair:
    """Of 25 relations in each query each pair of subgoals has a constant that excludes the other.

    Of every second relation both queries have a row twice over, told apart by constants (maximal rows).
    """

    def rule(tag: int) -> Rule:
        atoms, numbers = [], list(range(17))
        random.shuffle(numbers)
        for number in numbers:
            for copy in range(1 + (number % 2 == 0 and number < 16)):
                variables = [f"?x{random.randrange(12)}a", f"?y{random.randrange(12)}b"]
                atoms.append((f"R{number}", *variables, f"{tag}.{copy}"))
        used = sorted({str(term) for atom in atoms for term in atom[1:3]})
        return Rule(tuple(used[:3]), tuple(atoms))

    return rule(0), rule(1)


def _with_self_joins(random: Random, subgoals: int, most: int) -> Pair:
    """Chains, each with weaker copies beside it.

    Rows of the copies overlap with those of the other query's chain, but no query depends on them; that takes
    a search to see, for a copy fits the chain only as a whole.
    """

    def rule(tag: int) -> Rule:
        length = subgoals // 2 // most
        chains = [[(f"?k{i}", f"t{tag}", f"?k{i + 1}") for i in range(length)]]
        chains += [
            [(f"?c{copy}_{i}", f"?m{copy}_{i}", f"?c{copy}_{i + 1}") for i in range(length)]
            for copy in range(most - 1)
        ]
        atoms = [(f"R{i}", *own) for chain in chains for i, own in enumerate(chain)]
        left = subgoals // 2 - len(atoms)
        atoms += [(f"T{i}", f"?k{i}", f"t{tag}", f"?k{i}") for i in range(left)]
        random.shuffle(atoms)
        return Rule(("?k0", f"?k{length}"), tuple(atoms))

    return rule(0), rule(1)


def _by_definition(pair: Pair) -> bool | None:
    """Every instance over two values."""
    end = time.process_time() + BASELINE_SECONDS
    names = sorted({str(atom[0]) for rule in pair for atom in rule.atoms})
    constants = {term for rule in pair for a in rule.atoms for term in a[1:] if not is_variable(term)}
    columns = ((0, 1), (0, 1), tuple(sorted(constants, key=str)))
    facts = World({name: Relation(columns) for name in names}).facts
    answers: dict[frozenset[object], set[frozenset[object]]] = {}
    for size in range(len(facts) + 1):
        for instance in combinations(facts, size):
            if time.process_time() > end:
                return None
            secret, view = (frozenset(_answers(rule, instance)) for rule in pair)
            answers.setdefault(view, set()).add(secret)
    return len({frozenset(own) for own in answers.values()}) == 1


def _answers(rule: Rule, instance: Sequence[Fact]) -> Iterator[tuple[object, ...]]:
    def ways(left: Sequence[Fact], value: dict[object, object]) -> Iterator[dict[object, object]]:
        if not left:
            yield value
            return
        for row in instance:
            if row[0] != left[0][0]:
                continue
            own = dict(value)
            pairs = zip(left[0][1:], row[1:], strict=True)
            if all((own.setdefault(t, c) if is_variable(t) else t) == c for t, c in pairs):
                yield from ways(left[1:], own)

    yield from (tuple(value.get(t, t) for t in rule.goal) for value in ways(rule.atoms, {}))


def _by_all_sets(pair: Pair) -> bool | None:
    """The pattern check without leaving sets out, and with a plain search."""
    return is_private(*pair)
