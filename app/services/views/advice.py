"""Advice on a pair that discloses: changes of the view that pass, every pattern of rows, a change of belief.

None of it takes part in the verdict. A change is offered only if the same decision proves it private.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final, Literal

from app.domain.errors import InvalidInput
from app.domain.views.changes import MOST_TRIED, ChangesFound, changes_of
from app.domain.views.datalog import parse_query
from app.domain.views.decision import PairVerdict, decide, disclosing_patterns
from app.domain.views.leakage import MOST_ROWS, AnswerPart, Leakage, Question, leakage_of
from app.domain.views.normal_form import Branch, branches
from app.domain.views.patterns import Hit, Subgoals
from app.domain.views.queries import Atom, Constant, Query
from app.domain.views.ranges import Cell
from app.domain.views.work import Budget, OutOfBudget, Work
from app.domain.views.written import in_datalog, names_of, subgoal_in_datalog, value_in_words
from app.services.resources import JsonObject
from app.services.views.column_types import cell_in_json, shown
from app.services.views.pair_verdicts import Decided, Understood
from app.services.views.published import Part
from app.services.views.reading import ReadSchema
from app.services.views.view_changes import Wording, changeable

Advice = Literal["changes", "patterns", "leakage"]
ADVICE_SECONDS: Final = 3.0
"""For all that is asked about one pair."""
MOST_PATTERNS: Final = 20
"""That are listed."""
MOST_COUNTED: Final = 200
"""Patterns that are looked for."""
MOST_LISTED: Final = 20
"""Rows of an answer."""
_STEPS_OF_A_TRY: Final = 50_000


@dataclass(frozen=True)
class Adviser:
    """Advises on the pairs of one check."""

    schema: ReadSchema
    wanted: Sequence[Advice]
    ignore_foreign_keys: bool

    def advice(self, pair: Decided, is_late: Callable[[], bool]) -> JsonObject:
        """What is wanted to know about a pair that discloses; null is what was not asked for."""
        return {
            "changes": self._changes(pair, is_late) if "changes" in self.wanted else None,
            "patterns": self._patterns(pair, is_late) if "patterns" in self.wanted else None,
            "leakage": self._leakage(pair, is_late) if "leakage" in self.wanted else None,
        }

    def _changes(self, pair: Decided, is_late: Callable[[], bool]) -> JsonObject:
        view, head = changeable(pair.view), pair.view.published.head
        wording = Wording(view, pair.view, self.schema)

        def verdict(queries: tuple[Query, ...]) -> PairVerdict | None:
            if is_late():
                raise OutOfBudget
            work = Work(Budget(steps=_STEPS_OF_A_TRY), is_late)
            changed = self._read(queries, head, work)
            if all(own.normal.is_constant for own in changed):
                return None
            return decide(
                pair.secret.branches,
                changed,
                self.schema.relational,
                ignore_foreign_keys=self.ignore_foreign_keys,
                budget=Budget(steps=_STEPS_OF_A_TRY),
                is_late=is_late,
            )

        def tried(queries: tuple[Query, ...]) -> PairVerdict | None:
            try:
                return verdict(queries)
            except InvalidInput:
                return None

        found = changes_of(
            view, pair.secret.branches, pair.found, tried, Work(Budget(), is_late), wording.can_be_written
        )
        return {
            "found": [wording.change(steps) for steps in found.changes],
            "tried": found.tried,
            "complete": found.is_complete,
            "summary": _summary(found),
        }

    def _read(self, queries: tuple[Query, ...], head: str, work: Work) -> list[Branch]:
        """The changed view; in Datalog, what its text is read as: what is offered is what was decided."""
        relational = self.schema.relational
        if head:
            text = "\n".join(in_datalog(query, head, relational) for query in queries)
            keeps = queries[0].keeps_duplicates
            queries = (parse_query(text, relational, keeps_duplicates=keeps),)
        return [own for query in queries for own in branches(query, relational, "views.", work)]

    def _patterns(self, pair: Decided, is_late: Callable[[], bool]) -> JsonObject:
        listed: list[JsonObject] = []
        count, is_complete = 0, True
        found = disclosing_patterns(
            pair.secret.branches, pair.view.branches, self.schema.relational, Work(Budget(), is_late)
        )
        try:
            for hit, verdict in found:
                count += 1
                if len(listed) < MOST_PATTERNS and verdict.branches is not None:
                    decided = Decided(verdict, pair.secret, pair.view)
                    listed.append(self._pattern(hit, decided, verdict.branches, is_late))
                if count == MOST_COUNTED:
                    is_complete = False
                    break
        except OutOfBudget:
            is_complete = False
        return {
            "found": listed,
            "count": count,
            "complete": is_complete,
            "truncated": not is_complete or count > len(listed),
        }

    def _pattern(
        self, hit: Hit, found: Decided, pair: tuple[Branch, Branch], is_late: Callable[[], bool]
    ) -> JsonObject:
        is_verified = found.verdict == "DISCLOSES"
        words = (
            found.explanation(self.schema, is_late)
            if is_verified
            else "The conditions of both queries allow such a row; no example of it was verified within the "
            "limits."
        )
        return {
            "secret": self._overlap(found.secret, pair[0], hit.rows[0], hit.subgoals[0]),
            "view": self._overlap(found.view, pair[1], hit.rows[1], hit.subgoals[1]),
            "verified": is_verified,
            "explanation": words,
        }

    def _overlap(self, query: Understood, branch: Branch, row: Atom, subgoals: Subgoals) -> JsonObject:
        part, relation = query.part(branch), self.schema.relational.relations[row.relation]
        types = self.schema.types[row.relation]
        return {
            "subgoals": [self._subgoal(part, subgoals.rule, place) for place in subgoals.places],
            "relation": row.relation,
            "values": {
                name: cell_in_json(shown(term.value, of))
                for name, term, of in zip(relation.attributes, row.terms, types, strict=True)
                if isinstance(term, Constant)
            },
        }

    def _subgoal(self, part: Part, number: int, place: int) -> JsonObject:
        rule = part.query.rules[number]
        if not part.places:
            text = subgoal_in_datalog(rule.atoms[place], names_of(rule, self.schema.relational))
            return {"text": text, "line": None, "column": None}
        where, relation = part.places[number][place], rule.atoms[place].relation
        text = relation if where.name == relation else f"{relation} AS {where.name}"
        return {"text": text, "line": where.line, "column": where.column}

    def _leakage(self, pair: Decided, is_late: Callable[[], bool]) -> JsonObject:
        published = pair.secret.published, pair.view.published
        if not all(own.shows_all for own in published):
            return _not_computed("one of the queries shows counts or computed columns")
        if self.schema.relational.foreign_keys and not self.ignore_foreign_keys:
            return _not_computed("foreign keys are declared, and what they tell a reader is not counted")
        witness = pair.found.witness
        if witness is None:
            return _not_computed("there is no example to take the domain from")
        try:
            found = leakage_of(
                _question(pair.secret),
                _question(pair.view),
                [row for side in (witness.secret, witness.view) for row in (side.deciding, *side.others)],
                self.schema.relational,
                Work(Budget(), is_late),
            )
        except OutOfBudget:
            return _not_computed("there was not enough time")
        if found is None:
            return _not_computed(
                f"the smallest domain has more than {MOST_ROWS} rows that may exist, or too many ways to "
                "find an answer among them"
            )
        return self._belief(found, pair)

    def _belief(self, found: Leakage, pair: Decided) -> JsonObject:
        relations = self.schema.relational.relations
        domain = {
            name: {
                column: [cell_in_json(shown(cell, of)) for cell in values]
                for column, of, values in zip(
                    relations[name].attributes, self.schema.types[name], columns, strict=True
                )
            }
            for name, columns in found.domain.items()
        }
        secret, view = (
            [tuple(map(shown, row, own.parts[0].types)) if own.parts[0].types else row for row in answer]
            for own, answer in ((pair.secret, found.secret), (pair.view, found.view))
        )
        prior, posterior = found.prior, found.posterior
        words = (
            f"On the smallest domain of the example, where {found.rows} rows may exist, each with "
            "probability 1/2 and, but for keys and dependencies, independently: that the secret's answer is "
            f"{_answer(secret)} has the probability {prior}. To a reader who sees that the view's answer is "
            f"{_answer(view)}, it has {posterior}. No answer of this view changes a belief about an answer "
            "of this secret by more there. It is one reader's number on one domain, and no bound for others."
        )
        return {
            "change": str(abs(posterior - prior)),
            "prior": str(prior),
            "posterior": str(posterior),
            "secret_answer": [list(map(cell_in_json, row)) for row in secret[:MOST_LISTED]],
            "view_answer": [list(map(cell_in_json, row)) for row in view[:MOST_LISTED]],
            "domain": domain,
            "possible_rows": found.rows,
            "row_probability": str(Fraction(1, 2)),
            "explanation": words,
        }


def _question(query: Understood) -> Question:
    # The alternatives of a condition in SQL are about the same rows of FROM; rules of Datalog are not.
    alternatives = not query.published.head
    parts = [AnswerPart(own.query, own.shown, alternatives) for own in query.published.parts]
    return Question(parts, [own.normal for own in query.branches])


def _answer(rows: Sequence[tuple[Cell, ...]]) -> str:
    if not rows:
        return "empty"
    words = [f"({', '.join(map(value_in_words, row))})" for row in rows[:MOST_LISTED]]
    more = [f"{len(rows) - MOST_LISTED} more"] if len(rows) > MOST_LISTED else []
    return "{" + ", ".join(words + more) + "}"


def _summary(found: ChangesFound) -> str:
    if found.changes:
        return (
            f"Of the changed views that were tried ({found.tried}), {len(found.changes)} are proved to "
            "disclose nothing about this secret. Other secrets are not looked at: check a changed view "
            "against all of them."
        )
    if not found.tried and found.is_complete:
        return "No change of this view was found to try that denies what the secret asks of a row."
    rest = "" if found.is_complete else f" At most {MOST_TRIED} are tried, as far as there is time."
    return (
        f"None of the changed views that were tried ({found.tried}) is proved to disclose nothing about this "
        f"secret.{rest}"
    )


def _not_computed(why: str) -> JsonObject:
    return {
        **dict.fromkeys(
            ("change", "prior", "posterior", "secret_answer", "view_answer", "domain", "possible_rows")
        ),
        "row_probability": str(Fraction(1, 2)),
        "explanation": f"Not computed: {why}.",
    }
