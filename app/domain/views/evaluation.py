"""Re-evaluates a disclosure on the queries as they are written, by nested loops.

Nothing of the decision is used here, neither its normal forms nor its unification nor its homomorphisms: what
it found is believed only if the plain reading of the queries agrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from zlib import crc32

from app.domain.views.instances import Row, Side, Witness
from app.domain.views.queries import Atom, Comparison, Constant, Query, Rule, Term
from app.domain.views.ranges import Cell
from app.domain.views.relational_schema import Positions, RelationalSchema
from app.domain.views.work import Work


def is_disclosure(witness: Witness, secret: Query, view: Query, schema: RelationalSchema, work: Work) -> bool:
    """Whether the witness proves that the view discloses something about the secret."""
    one, other = witness.secret.deciding, witness.view.deciding
    if one.relation != other.relation or not _are_linked(one, other, schema):
        return False
    return _decides(witness.secret, secret, schema, work) and _decides(witness.view, view, schema, work)


def _are_linked(one: Row, other: Row, schema: RelationalSchema) -> bool:
    """Whether the rows are one, or lie in one block in which rows can exclude each other."""
    relation = schema.relations[one.relation]
    if one == other:
        return True
    agree = all(one.cells[column] == other.cells[column] for column in relation.block)
    return agree and relation.is_tied(one.cells) and relation.is_tied(other.cells)


def _decides(side: Side, query: Query, schema: RelationalSchema, work: Work) -> bool:
    """Whether the answer is found, or found more often, with the deciding row."""
    everything = side.others | {side.deciding}
    if side.deciding in side.others or not _is_consistent(everything, schema, work):
        return False
    if query.keeps_duplicates:
        return _times(query, everything, side.answer, work) > _times(query, side.others, side.answer, work)
    return _is_found(query, everything, side.answer, work) and not _is_found(
        query, side.others, side.answer, work
    )


def _is_consistent(rows: Iterable[Row], schema: RelationalSchema, work: Work) -> bool:
    """Whether the rows lie in the domains and keep all dependencies."""
    for row in rows:
        relation = schema.relations[row.relation]
        for column, (cell, range_) in enumerate(zip(row.cells, relation.ranges, strict=True)):
            if column not in relation.nullable if cell is None else cell not in range_:
                return False
    return all(
        _keeps(relation_rows, determining, determined, work)
        for relation, relation_rows in _by_relation(rows).items()
        for determining, determined in schema.relations[relation].dependencies
    )


def _keeps(rows: Iterable[Row], determining: Positions, determined: Positions, work: Work) -> bool:
    """Whether rows with the same values, none of them NULL, in some columns have the same in others."""
    values: dict[tuple[Cell, ...], set[tuple[Cell, ...]]] = {}
    for row in rows:
        work.check()
        start = tuple(row.cells[i] for i in determining)
        if not any(cell is None for cell in start):
            values.setdefault(start, set()).add(tuple(row.cells[i] for i in determined))
    return all(len(own) == 1 for own in values.values())


def _is_found(query: Query, rows: Iterable[Row], answer: tuple[Cell, ...], work: Work) -> bool:
    return any(True for _ in islice(_valuations(query, rows, answer, work), 1))


def _times(query: Query, rows: Iterable[Row], answer: tuple[Cell, ...], work: Work) -> int:
    return sum(1 for _ in _valuations(query, rows, answer, work))


def _valuations(
    query: Query, rows: Iterable[Row], answer: tuple[Cell, ...], work: Work
) -> Iterator[dict[Term, Cell]]:
    """Every way in which a rule finds the answer in the rows."""
    by_relation = _by_relation(rows)
    for rule in query.rules:
        if len(rule.goal) != len(answer):
            continue
        # What the answer has in a column is known before a row is looked at, unless it is NULL.
        known: dict[Term, Cell] = {
            term: cell for term, cell in zip(rule.goal, answer, strict=True) if cell is not None
        }
        for valuation in _ways(_ordered(rule), by_relation, known, work):
            if _goal(rule, valuation) == answer and all(_holds(own, valuation) for own in rule.comparisons):
                yield valuation


def answers(query: Query, rows: Iterable[Row], work: Work) -> frozenset[tuple[Cell, ...]]:
    """All that the query finds in the rows."""
    by_relation = _by_relation(rows)
    return frozenset(
        _goal(rule, valuation)
        for rule in query.rules
        for valuation in _ways(_ordered(rule), by_relation, {}, work)
        if all(_holds(own, valuation) for own in rule.comparisons)
    )


def supports(
    rule: Rule, rows: Iterable[Row], work: Work
) -> Iterator[tuple[dict[Term, Cell], frozenset[Row]]]:
    """Every valuation by which the rule finds something in the rows, with the rows that it needs."""
    for valuation in _ways(_ordered(rule), _by_relation(rows), {}, work):
        if all(_holds(own, valuation) for own in rule.comparisons):
            needed = (Row(own.relation, tuple(_value(t, valuation) for t in own.terms)) for own in rule.atoms)
            yield valuation, frozenset(needed)


def _lot(row: Row) -> tuple[int, str]:
    """A place as if drawn by lot, and the same in every process: the steps of a search are counted.

    In the order of their texts rows that are alike stand together, and a search that fails there is long.
    """
    text = repr(row)
    return crc32(text.encode()), text


def _by_relation(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = {}
    for row in sorted(rows, key=_lot):
        found.setdefault(row.relation, []).append(row)
    return found


def _goal(rule: Rule, valuation: dict[Term, Cell]) -> tuple[Cell, ...]:
    return tuple(_value(term, valuation) for term in rule.goal)


def _ordered(rule: Rule) -> list[Atom]:
    """The subgoals, each as bound by those before it as can be."""
    left, bound, ordered = list(rule.atoms), set(), list[Atom]()
    while left:
        best = max(left, key=lambda atom: sum(t in bound or isinstance(t, Constant) for t in atom.terms))
        left.remove(best)
        bound |= set(best.terms)
        ordered.append(best)
    return ordered


def _ways(
    atoms: list[Atom], rows: dict[str, list[Row]], valuation: dict[Term, Cell], work: Work
) -> Iterator[dict[Term, Cell]]:
    if not atoms:
        yield valuation
        return
    first, *rest = atoms
    for row in rows.get(first.relation, ()):
        work.step()
        extended = dict(valuation)
        if all(_binds(term, cell, extended) for term, cell in zip(first.terms, row.cells, strict=True)):
            yield from _ways(rest, rows, extended, work)


def _binds(term: Term, cell: Cell, valuation: dict[Term, Cell]) -> bool:
    """Whether the term may be the cell's value; NULL equals nothing, itself included."""
    if isinstance(term, Constant):
        return cell is not None and term.value == cell
    if term in valuation:
        return cell is not None and valuation[term] == cell
    valuation[term] = cell
    return True


def _value(term: Term, valuation: dict[Term, Cell]) -> Cell:
    return term.value if isinstance(term, Constant) else valuation[term]


def _holds(own: Comparison, valuation: dict[Term, Cell]) -> bool:
    left, right = _value(own.left, valuation), _value(own.right, valuation)
    if left is None or right is None:
        return False
    if own.operator in ("=", "!="):
        return (left == right) == (own.operator == "=")
    if isinstance(left, str) or isinstance(right, str):
        return False
    match own.operator:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right
