"""The nearest passing change of a rule.

Level vectors are taken in order of what the raised rule is worth, so that the first that passes loses least.
Where a requirement refutes a vector together with all below it, a chain of vectors above is searched for the
most general one that it refutes too: few answers then settle most of the lattice. Where failing classes may
be suppressed, the same vectors are taken once more with their utility after that, which is never greater.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from app.domain.arrays import Levels
from app.domain.risk.utility import Utility
from app.domain.rules.rule import Rule, TableRule
from app.domain.search.budget import UNLIMITED, Budget, EndedError, Halted, HaltedError, never, stop_if
from app.domain.search.nearest.change import (
    AllowedSuppression,
    Answer,
    Change,
    ChangeRequirement,
    ChangeStatus,
    ClassJudge,
)
from app.domain.search.nearest.raising import (
    Option,
    RaisedRule,
    Raising,
    Vector,
    are_held,
    in_order,
    nothing_settled,
)
from app.domain.tables.numbers import tie_margin
from app.domain.tables.table import Table

_NO_LIMIT: Final = -math.inf


def nearest_change(
    table: Table,
    rule: Rule,
    utility: Utility,
    requirements: Sequence[ChangeRequirement],
    *,
    attributes: Sequence[int] | None = None,
    suppression: AllowedSuppression | None = None,
    budget: Budget = UNLIMITED,
    tick: Callable[[int], None] = lambda _: None,
    halted: Halted = never,
) -> Change:
    """The change of least loss of utility with which the rule meets all requirements.

    A change generalises every record at least to one level per attribute. Of changes that lose as little,
    that which suppresses fewest records, then of the fewest levels, then the lexicographically smallest.

    Parameters
    ----------
    requirements
        What the changed rule has to meet, all of it.
    attributes
        Positions of those that may be raised; None: all. In a hierarchy that is no tree only to ⊥.
    suppression
        Classes that may be suppressed at the levels; None: none.
    budget
        ``max_nodes`` rules are examined at most.
    tick
        Takes the rules examined so far.

    InvalidInput where a criterion of ``suppression`` does not fit the table.
    """
    raising = Raising(table, rule, utility, None if attributes is None else tuple(attributes))
    return _Search(raising, requirements, suppression, budget, tick, halted).run()


class _Search:
    """One search."""

    def __init__(
        self,
        raising: Raising,
        requirements: Sequence[ChangeRequirement],
        suppression: AllowedSuppression | None,
        budget: Budget,
        tick: Callable[[int], None],
        halted: Halted,
    ) -> None:
        self._raising = raising
        self._requirements = sorted(requirements, key=lambda own: own.cost)
        self._suppression = suppression
        self._budget, self._tick, self._halted = budget, tick, halted
        self._settled = nothing_settled(raising.terms)
        self._unavoidable = nothing_settled(raising.terms)
        self._passed: dict[int, list[Vector]] = {}
        self._later: list[Option] = []
        self._best: Option | None = None
        self._spare: Option | None = None
        self._examined = 0
        self._judge = self._judge_of_classes()

    def run(self) -> Change:
        """Search until the best is known or the budget ends."""
        complete = proven = True
        try:
            proven = self._look()
        except HaltedError:
            complete = proven = False
        except EndedError:
            proven = False
        raising = self._raising
        before = self._before
        best = self._best or self._spare
        if best is None:
            status: ChangeStatus = "none_exists" if proven else "not_found"
            return Change(status, proven, None, None, None, 0, before, None, self._examined, complete)
        candidate = self._candidate(best)
        names = raising.table.attributes
        return Change(
            "found",
            proven and self._best is not None,
            {name: level for name, level in zip(names, best.levels, strict=True) if level},
            candidate.rule,
            candidate.suppression,
            best.suppressed,
            before,
            best.utility,
            self._examined,
            complete,
        )

    def _look(self) -> bool:
        """Take options in order of utility; whether all that could be better were taken."""
        self._refute_everything()
        vectors = in_order(self._raising.terms)
        upcoming = next(vectors, None)
        seen = 0
        while upcoming is not None or self._later:
            # What is worth less than this cannot be the answer any more.
            best = self._best
            floor = _NO_LIMIT if best is None else best.utility - tie_margin(best.utility)
            if upcoming is not None and self._comes_first(upcoming[0]):
                if upcoming[0] < floor:
                    break
                seen += 1
                self._take(*upcoming)
                upcoming = next(vectors, None)
            else:
                if self._later[0].utility < floor:
                    break
                self._take_suppressing(heapq.heappop(self._later))
            if self._suffices(upcoming):
                return False
        terms = self._raising.terms
        return self._best is not None or are_held(terms) or seen == math.prod(map(len, terms))

    def _suffices(self, upcoming: tuple[float, Vector] | None) -> bool:
        """Whether what is at hand is as close to the best as the budget asks for."""
        if self._spare is None or self._best is not None:
            return False
        left = [-math.inf if upcoming is None else upcoming[0], *(own.utility for own in self._later[:1])]
        before = self._before
        return self._budget.suffices(before - self._spare.utility, before - max(left))

    def _comes_first(self, utility: float) -> bool:
        if not self._later:
            return True
        other = self._later[0].utility
        return utility >= other - tie_margin(other)

    def _take(self, utility: float, vector: Vector) -> None:
        """Ask about a vector, and say what it is worth with failing classes suppressed."""
        levels = self._levels(vector)
        option = Option(-utility, 0, sum(levels), levels, vector)
        if self._best is not None and self._best.rank <= option.rank:
            return
        if vector not in self._settled and self._passes(option):
            self._best = option
        elif self._suppression is not None and vector not in self._unavoidable:
            self._consider_suppressing(option, self._suppression)

    def _passes(self, option: Option) -> bool:
        """Whether a vector meets all requirements; what that settles beside is noted."""
        candidate = self._candidate(option)
        self._count()
        implied = []
        for number, requirement in enumerate(self._requirements):
            if requirement.monotone and self._has_passed(number, option.vector):
                implied.append(requirement)
                continue
            answer = self._ask(number, option.vector, candidate)
            if answer.refutes_below:
                self._settle_above(option.vector, number)
            if not answer.holds:
                return False
        # The answer itself is evaluated by all requirements.
        return all(requirement.answer(candidate).holds for requirement in implied)

    def _ask(self, number: int, vector: Vector, candidate: RaisedRule) -> Answer:
        """What a requirement says of a vector; noted where it passes and so do all that are more general."""
        requirement = self._requirements[number]
        answer = requirement.answer(candidate)
        if answer.holds and requirement.monotone:
            self._passed.setdefault(number, []).append(vector)
        return answer

    def _has_passed(self, number: int, vector: Vector) -> bool:
        return any(
            all(a <= b for a, b in zip(own, vector, strict=True)) for own in self._passed.get(number, ())
        )

    def _refute_everything(self) -> None:
        """Settle all vectors at once if a requirement refutes the most general one."""
        top = tuple(len(own) - 1 for own in self._raising.terms)
        option = self._option(top)
        self._count()
        candidate = self._candidate(option)
        holds = True
        for number, requirement in enumerate(self._requirements):
            if not requirement.refutes:
                holds = False
                continue
            answer = self._ask(number, top, candidate)
            if answer.refutes_below:
                self._settled.add_below(top)
                return
            holds = holds and answer.holds
        if holds:
            self._spare = option

    def _settle_above(self, vector: Vector, number: int) -> None:
        """Settle what is below the most general vector of a chain that the requirement refutes."""

        def refutes(own: Vector) -> bool:
            """Whether the requirement fails here and at all that is less general."""
            if self._has_passed(number, own):
                return False
            self._count()
            return self._ask(number, own, self._candidate(self._option(own))).refutes_below

        last, after = self._last_on_chain(vector, refutes)
        self._settled.add_below(last)
        if after is not None:
            self._offer(after)

    def _offer(self, vector: Vector) -> None:
        """Keep a vector that passes, should the search end before the best is known."""
        option = self._option(vector)
        if self._spare is not None and option.utility <= self._spare.utility:
            return
        candidate = self._candidate(option)
        if all(requirement.answer(candidate).holds for requirement in self._requirements):
            self._spare = option

    def _last_on_chain(
        self, vector: Vector, refutes: Callable[[Vector], bool]
    ) -> tuple[Vector, Vector | None]:
        """The most general refuted vector that halving a chain finds, and the one after it, if any."""
        chain = list(self._chain(vector))
        low, high = 0, len(chain)
        while high - low > 1:
            middle = (low + high) // 2
            if refutes(chain[middle]):
                low = middle
            else:
                high = middle
        return chain[low], chain[high] if high < len(chain) else None

    def _chain(self, vector: Vector) -> Iterator[Vector]:
        """The vector and ever more general ones, one choice at a time.

        Attributes are raised first where that loses least utility, so that the vectors stay among those that
        have to be settled; of equal ones where records stay best told apart.
        """
        terms, entropies = self._raising.terms, self._raising.entropies

        def price(j: int) -> tuple[float, float]:
            here, above = vector[j], vector[j] + 1
            lost = round(float(terms[j][here] - terms[j][above]), 9)
            return lost, float(entropies[j][here] - entropies[j][above])

        while True:
            yield vector
            open_ = [j for j, own in enumerate(terms) if vector[j] + 1 < len(own)]
            if not open_:
                return
            j = min(open_, key=price)
            vector = (*vector[:j], vector[j] + 1, *vector[j + 1 :])

    def _consider_suppressing(self, option: Option, suppression: AllowedSuppression) -> None:
        """Note what a vector is worth with failing classes suppressed, if they are few enough."""
        judge = self._judge
        levels = option.levels
        if judge is not None and judge.knows(levels):
            self._count()
            verdict = judge.of(levels)
            if verdict.refutes_below:
                known = judge

                def refutes(own: Vector) -> bool:
                    of = self._levels(own)
                    return known.knows(of) and known.of(of).refutes_below

                self._unavoidable.add_below(self._last_on_chain(option.vector, refutes)[0])
            records = verdict.suppressed
        else:
            self._count()
            records = self._raising.raised_and_suppressed(levels, suppression.classes)[1]
        if records is None:
            return
        own = records & ~self._raising.suppressed_by_rule
        suppressed = int(own.sum())
        if not 0 < suppressed <= suppression.limit:
            return
        less = option.less + self._raising.suppression_loss(levels, own, suppression.classes)
        heapq.heappush(self._later, Option(less, suppressed, option.total, levels, option.vector))

    def _take_suppressing(self, option: Option) -> None:
        if self._best is not None and self._best.rank <= option.rank:
            return
        self._count()
        candidate = self._candidate(option)
        if all(requirement.answer(candidate).holds for requirement in self._requirements):
            self._best = option

    def _candidate(self, option: Option) -> RaisedRule:
        suppression = None
        if option.suppressed and self._suppression is not None:
            suppression = self._suppression.classes
        return RaisedRule(self._raising, option.levels, suppression)

    def _option(self, vector: Vector) -> Option:
        levels = self._levels(vector)
        utility = sum(float(own[number]) for own, number in zip(self._raising.terms, vector, strict=True))
        return Option(-utility, 0, sum(levels), levels, vector)

    @property
    def _before(self) -> float:
        return self._option((0,) * len(self._raising.terms)).utility

    def _levels(self, vector: Vector) -> Levels:
        return tuple(own[number] for own, number in zip(self._raising.choices, vector, strict=True))

    def _judge_of_classes(self) -> ClassJudge | None:
        """What knows quickly which classes have to be suppressed; None where only trying tells."""
        asked, raising = self._suppression, self._raising
        if asked is None or not isinstance(raising.rule, TableRule):
            return None
        own = asked.classes
        share = min(1.0, asked.limit / raising.table.n_records)
        return ClassJudge(
            raising.table,
            raising.rule,
            own.failing,
            share,
            missing=own.missing,
            suppressed=own.suppressed,
            suppresses=True,
        )

    def _count(self) -> None:
        stop_if(self._halted)
        if self._budget.max_nodes is not None and self._examined >= self._budget.max_nodes:
            raise EndedError
        self._examined += 1
        self._tick(self._examined)
