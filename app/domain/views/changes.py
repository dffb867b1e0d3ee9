"""Changes of a view after which it discloses nothing about a secret, those that take least away first.

A row that decides both answers fits a subgoal of the secret. A filter on the view that denies one of the
conditions of that subgoal takes the row out of the view. Taking away a column or a whole subgoal may help,
too, and mostly does not. No change is believed to help: each is decided like any other view, and only what is
proved private is offered. Filters can also make rows count that did not count before, so that the search is
one of tries.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Final

from app.domain.views.decision import PairVerdict
from app.domain.views.instances import Row
from app.domain.views.normal_form import Branch, Disjunct
from app.domain.views.orders import holds
from app.domain.views.queries import Atom, Comparison, Constant, Operator, Query, Rule, Term
from app.domain.views.ranges import Cell
from app.domain.views.work import OutOfBudget, Work

MOST_TRIED: Final = 40
"""Changed views that are decided."""
MOST_OFFERED: Final = 5
MOST_FILTERS: Final = 3
"""In one change."""
_MOST_THOUGHT_OF: Final = 500
"""Filters that are looked at for one row."""

Place = tuple[int, int, int]
"""A query, its rule, and a subgoal of it."""
_DENIED: Final[Mapping[Operator, Operator]] = {
    "=": "!=",
    "!=": "=",
    "<": ">=",
    ">=": "<",
    "<=": ">",
    ">": "<=",
}
_TURNED: Final[Mapping[Operator, Operator]] = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
_LEFT: Final[Mapping[Operator, int]] = {"!=": 0, "<": 1, "<=": 1, ">": 1, ">=": 1, "=": 2}
"""How much a filter takes away, roughly: one value, a range, all but one value."""


@dataclass(frozen=True)
class Subgoal:
    """What is written once in a view: a subgoal of one rule, or of several that are made from one text."""

    relation: str
    places: tuple[Place, ...]


@dataclass(frozen=True)
class Filter:
    """A comparison of a column of a subgoal with a value, or with another of its columns."""

    subgoal: int
    column: int
    operator: Operator
    other: Constant | int


@dataclass(frozen=True)
class DroppedColumn:
    """A term less in the head."""

    position: int


@dataclass(frozen=True)
class DroppedSubgoal:
    """A subgoal less, with the comparisons and the terms of the head that need it."""

    subgoal: int


Step = Filter | DroppedColumn | DroppedSubgoal


@dataclass(frozen=True)
class ChangeableView:
    """A view's queries, and what of them can be changed."""

    queries: tuple[Query, ...]
    subgoals: tuple[Subgoal, ...]
    columns: int
    """Terms of the head that can be dropped one by one."""


@dataclass(frozen=True)
class ChangesFound:
    """Changes that were proved private."""

    changes: tuple[tuple[Step, ...], ...]
    tried: int
    is_complete: bool
    """Whether all that was thought of was tried."""


Decide = Callable[[tuple[Query, ...]], PairVerdict | None]
"""The verdict on a changed view; None: it cannot be written, or no row is left in it."""


def changes_of(
    view: ChangeableView,
    secret: Sequence[Branch],
    found: PairVerdict,
    decide: Decide,
    work: Work,
    can_be_written: Callable[[Step], bool] = lambda _: True,
) -> ChangesFound:
    """Changes of a view that was ``found`` to disclose, as far as there is time."""
    offered: list[tuple[Step, ...]] = []
    seen: set[frozenset[Step]] = set()
    tried, is_complete = 0, True
    frontier: list[tuple[tuple[Step, ...], PairVerdict]] = [((), found)]
    for size in range(1, MOST_FILTERS + 1):
        waiting: list[tuple[Step, ...]] = []
        if size == 1:
            waiting += [(DroppedColumn(i),) for i in range(view.columns)]
            waiting += [(DroppedSubgoal(i),) for i in range(len(view.subgoals))]
        try:
            for steps, disclosing in frontier:
                own = list(islice(_filters(view, secret, disclosing, work), _MOST_THOUGHT_OF))
                is_complete = is_complete and len(own) < _MOST_THOUGHT_OF
                waiting += [(*steps, step) for step in own if can_be_written(step)]
        except OutOfBudget:
            return ChangesFound(tuple(offered), tried, is_complete=False)
        frontier = []
        for steps in sorted(waiting, key=_taken_away):
            new = frozenset(steps)
            if len(new) < size or new in seen or any(set(one) <= new for one in offered):
                continue
            seen.add(new)
            changed = changed_by(view, steps)
            if changed is None:
                continue
            if tried == MOST_TRIED or len(offered) == MOST_OFFERED:
                return ChangesFound(tuple(offered), tried, is_complete=False)
            tried += 1
            try:
                verdict = decide(changed)
            except OutOfBudget:
                return ChangesFound(tuple(offered), tried, is_complete=False)
            if verdict is not None and verdict.verdict == "PRIVATE":
                offered.append(steps)
            elif verdict is not None and verdict.verdict == "DISCLOSES" and isinstance(steps[-1], Filter):
                frontier.append((steps, verdict))
        if any(isinstance(step, Filter) for steps in offered for step in steps):
            break
    return ChangesFound(tuple(offered), tried, is_complete)


def _taken_away(steps: Sequence[Step]) -> tuple[int, int]:
    """By which changes are ordered."""
    return len(steps), sum(_LEFT[own.operator] if isinstance(own, Filter) else 3 for own in steps)


def _filters(
    view: ChangeableView, secret: Sequence[Branch], found: PairVerdict, work: Work
) -> Iterator[Filter]:
    """Filters that take the row that was found to decide the view out of it."""
    if found.witness is None:
        return
    row = found.witness.view.deciding
    conditions = dict.fromkeys(
        condition
        for branch in secret
        for disjunct in branch.normal.disjuncts
        for atom in disjunct.body
        if atom.relation == row.relation
        for condition in _denied_conditions(disjunct, atom, work)
    )
    for number, subgoal in enumerate(view.subgoals):
        if subgoal.relation == row.relation:
            for column, operator, other in conditions:
                work.check()
                own = Filter(number, column, operator, other)
                if not _passes(row, own):
                    yield own


def _denied_conditions(
    own: Disjunct, atom: Atom, work: Work
) -> Iterator[tuple[int, Operator, Constant | int]]:
    """The opposite of each condition that a subgoal puts on one of its columns, or on two of them."""
    columns: dict[Term, list[int]] = {}
    for column, term in enumerate(atom.terms):
        columns.setdefault(term, []).append(column)
    for term, equal in columns.items():
        if isinstance(term, Constant):
            yield from ((column, "!=", term) for column in equal)
        else:
            yield from ((one, "!=", other) for one, other in combinations(equal, 2))
    for comparison in own.comparisons:
        work.check()
        for left, operator, right in (
            (comparison.left, comparison.operator, comparison.right),
            (comparison.right, _TURNED.get(comparison.operator, comparison.operator), comparison.left),
        ):
            for column in columns.get(left, ()) if not isinstance(left, Constant) else ():
                if isinstance(right, Constant):
                    yield column, _DENIED[operator], right
                elif left == comparison.left:
                    yield from ((column, _DENIED[operator], other) for other in columns.get(right, ()))


def _passes(row: Row, own: Filter) -> bool:
    """Whether the filter keeps the row."""
    left = row.cells[own.column]
    right: Cell = own.other.value if isinstance(own.other, Constant) else row.cells[own.other]
    if own.operator in (">", ">="):
        return holds(right, _TURNED[own.operator], left)
    return holds(left, own.operator, right)


def changed_by(view: ChangeableView, steps: Sequence[Step]) -> tuple[Query, ...] | None:
    """The view's queries after a change; None: nothing is left to filter, to join or to show."""
    rules = {
        (number, place): rule
        for number, query in enumerate(view.queries)
        for place, rule in enumerate(query.rules)
    }
    for step in steps:
        if not isinstance(step, Filter):
            continue
        for query, place, subgoal in view.subgoals[step.subgoal].places:
            rule = rules[query, place]
            filtered = _filtered(rule, rule.atoms[subgoal], step)
            if filtered is None:
                return None
            rules[query, place] = filtered
    gone = {
        place
        for step in steps
        if isinstance(step, DroppedSubgoal)
        for place in view.subgoals[step.subgoal].places
    }
    positions = {step.position for step in steps if isinstance(step, DroppedColumn)}
    changed = []
    for number, one in enumerate(view.queries):
        own = [_without(rules[number, i], number, i, gone) for i in range(len(one.rules))]
        shown = _shown(one, own, positions)
        if shown is None or not all(rule.atoms for rule in own):
            return None
        cut = tuple(replace(rule, goal=tuple(rule.goal[i] for i in shown)) for rule in own)
        changed.append(replace(one, rules=cut))
    return tuple(changed)


def _filtered(rule: Rule, atom: Atom, step: Filter) -> Rule | None:
    left = atom.terms[step.column]
    right = step.other if isinstance(step.other, Constant) else atom.terms[step.other]
    if left == right or (isinstance(left, Constant) and isinstance(right, Constant)):
        return None
    return replace(rule, comparisons=(*rule.comparisons, Comparison(left, step.operator, right)))


def _without(rule: Rule, query: int, place: int, gone: set[Place]) -> Rule:
    """The rule without subgoals, and without comparisons of variables that only they have."""
    atoms = tuple(atom for i, atom in enumerate(rule.atoms) if (query, place, i) not in gone)
    if len(atoms) == len(rule.atoms):
        return rule
    known = {term for atom in atoms for term in atom.terms}
    kept = tuple(
        own
        for own in rule.comparisons
        if all(term in known or isinstance(term, Constant) for term in (own.left, own.right))
    )
    return Rule(rule.goal, atoms, kept)


def _shown(query: Query, rules: Sequence[Rule], dropped: set[int]) -> list[int] | None:
    """The terms of the head that are left; None: it showed something, and shows nothing now."""
    length = len(query.rules[0].goal) if query.rules else 0
    known = [{term for atom in rule.atoms for term in atom.terms} for rule in rules]
    left = [
        i
        for i in range(length)
        if i not in dropped
        and all(
            isinstance(rule.goal[i], Constant) or rule.goal[i] in own
            for rule, own in zip(rules, known, strict=True)
        )
    ]
    return left if left or not length else None
