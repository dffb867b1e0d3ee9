"""Changes of a view in the words of its language."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.domain.views.changes import (
    ChangeableView,
    DroppedColumn,
    Filter,
    Place,
    Step,
    Subgoal,
    changed_by,
)
from app.domain.views.queries import Comparison, Operator
from app.domain.views.ranges import Value
from app.domain.views.written import (
    comparison_in_datalog,
    in_datalog,
    names_of,
    subgoal_in_datalog,
    value_in_words,
)
from app.services.resources import JsonObject
from app.services.views.column_types import ColumnType, shown
from app.services.views.pair_verdicts import Understood
from app.services.views.published import SESSION_WORDS, TablePlace
from app.services.views.reading import ReadSchema

_SQL: Final[Mapping[Operator, str]] = {"!=": "<>"}
_PLAIN: Final = re.compile(r"[a-z_][a-z0-9_]*")


def changeable(view: Understood) -> ChangeableView:
    """What of a view can be changed: in SQL, what is written in one place of FROM at once."""
    places: dict[tuple[str, Place | TablePlace], list[Place]] = {}
    for number, part in enumerate(view.parts):
        for i, rule in enumerate(part.query.rules):
            for j, atom in enumerate(rule.atoms):
                own = (number, i, j)
                where = part.places[i][j] if part.places else own
                places.setdefault((atom.relation, where), []).append(own)
    subgoals = tuple(Subgoal(relation, tuple(own)) for (relation, _), own in places.items())
    # Where an answer says how often a row is found, showing less of it does not make rows one.
    one_by_one = view.published.shows_all and not any(part.counts for part in view.parts)
    columns = view.parts[0].shown if one_by_one else 0
    return ChangeableView(tuple(part.query for part in view.parts), subgoals, columns)


@dataclass(frozen=True)
class Wording:
    """Says what a change is."""

    view: ChangeableView
    own: Understood
    schema: ReadSchema

    def can_be_written(self, step: Step) -> bool:
        """Whether the language has words for the value of a filter."""
        if not isinstance(step, Filter) or isinstance(step.other, int) or not self._is_sql:
            return True
        return _literal(step.other.value, self._type(step)) is not None

    def change(self, steps: Sequence[Step]) -> JsonObject:
        """The change step by step and, in Datalog, as the changed query."""
        text = None
        if not self._is_sql:
            queries = changed_by(self.view, steps) or ()
            head, relational = self.own.published.head, self.schema.relational
            text = "\n".join(in_datalog(query, head, relational) for query in queries)
        return {"steps": [self._step(step, steps) for step in steps], "query": text}

    @property
    def _is_sql(self) -> bool:
        return not self.own.published.head

    def _type(self, step: Filter) -> ColumnType:
        return self.schema.types[self.view.subgoals[step.subgoal].relation][step.column]

    def _step(self, step: Step, steps: Sequence[Step]) -> JsonObject:
        if isinstance(step, DroppedColumn):
            where = "what the outermost SELECT shows" if self._is_sql else "the head"
            words = f"Leave term {step.position + 1} out of {where}."
            if self._is_sql:
                words = f"Leave column {step.position + 1} out of {where}."
            return _document("drop_column", words)
        place = self._place(step.subgoal)
        what = self._subgoal(step.subgoal, steps)
        relation = self.view.subgoals[step.subgoal].relation
        if not isinstance(step, Filter):
            rest = (
                "all conditions on its columns and what is shown of them"
                if self._is_sql
                else "the comparisons and the terms of the head that need it"
            )
            return _document("drop_subgoal", f"Leave out {what}, with {rest}.", relation, place=place)
        condition = self._condition(step, steps)
        where = f"the rule that has {what}"
        if self._is_sql:
            where = f"the whole WHERE, by AND, of the SELECT that reads {what}"
        return _document(
            "add_condition",
            f"Add the condition {condition} to {where}.{self._of_null(step)}",
            relation,
            condition,
            place,
        )

    def _of_null(self, step: Filter) -> str:
        own = self.schema.relational.relations[self.view.subgoals[step.subgoal].relation]
        columns = (step.column, step.other) if isinstance(step.other, int) else (step.column,)
        names = [own.attributes[i] for i in columns if i in own.nullable]
        return f" Rows in which {' or '.join(names)} is NULL are left out as well." if names else ""

    def _place(self, number: int) -> TablePlace | None:
        query, rule, atom = self.view.subgoals[number].places[0]
        places = self.own.parts[query].places
        return places[rule][atom] if places else None

    def _subgoal(self, number: int, steps: Sequence[Step]) -> str:
        place, relation = self._place(number), self.view.subgoals[number].relation
        if place is not None:
            return f"{relation} at line {place.line}, column {place.column}"
        query, rule, atom = self.view.subgoals[number].places[0]
        filters = [step for step in steps if isinstance(step, Filter)]
        changed = (changed_by(self.view, filters) or self.view.queries)[query].rules[rule]
        names = names_of(changed, self.schema.relational)
        return f"the subgoal {subgoal_in_datalog(changed.atoms[atom], names)}"

    def _condition(self, step: Filter, steps: Sequence[Step]) -> str:
        place = self._place(step.subgoal)
        if place is not None:
            left = _named(place, step.column)
            right = (
                _named(place, step.other)
                if isinstance(step.other, int)
                else _literal(step.other.value, self._type(step))
            )
            return f"{left} {_SQL.get(step.operator, step.operator)} {right}"
        query, rule, atom = self.view.subgoals[step.subgoal].places[0]
        filters = [own for own in steps if isinstance(own, Filter)]
        changed = (changed_by(self.view, filters) or self.view.queries)[query].rules[rule]
        terms = changed.atoms[atom].terms
        other = terms[step.other] if isinstance(step.other, int) else step.other
        own = Comparison(terms[step.column], step.operator, other)
        return comparison_in_datalog(own, names_of(changed, self.schema.relational))


def _named(place: TablePlace, column: int) -> str:
    name = place.columns[column]
    return (
        f"{place.name}.{name}"
        if _PLAIN.fullmatch(name) and name not in SESSION_WORDS
        else f'{place.name}."{name.replace(chr(34), chr(34) * 2)}"'
    )


def _literal(value: Value | None, of: ColumnType) -> str | None:
    """The value as SQL writes it; None: it is no date that there is."""
    words = shown(value, of)
    if of.family in ("date", "timestamp"):
        is_known = isinstance(words, str) and not words.startswith("#")
        return f"{of.family.upper()} '{words}'" if is_known else None
    if of.family == "boolean":
        return str(value).upper()
    return value_in_words(words)


def _document(
    action: str,
    words: str,
    relation: str | None = None,
    condition: str | None = None,
    place: TablePlace | None = None,
) -> JsonObject:
    return {
        "action": action,
        "explanation": words,
        "relation": relation,
        "condition": condition,
        "line": place.line if place is not None else None,
        "column": place.column if place is not None else None,
    }
