"""How much a belief changes on a small domain."""

from __future__ import annotations

from fractions import Fraction

import pytest

from app.domain.views.datalog import parse_query
from app.domain.views.leakage import MOST_ROWS, AnswerPart, Question, leakage_of
from app.domain.views.normal_form import normalised
from app.domain.views.relational_schema import RelationDefinition, built
from tests.unit.views.vectors import VECTORS, decided, free_work, queries_of, schema_of


def question(query, schema, side):
    part = AnswerPart(query, len(query.rules[0].goal), alternatives=False)
    return Question([part], [normalised(query, schema, side, free_work())])


def leakage(secret, view, schema, example=()):
    return leakage_of(
        question(secret, schema, "s"), question(view, schema, "v"), example, schema, free_work()
    )


@pytest.mark.parametrize("name", [name for name, own in VECTORS.items() if "leakage" in own["expect"]])
def test_the_largest_change_is_the_one_that_is_stated(name):
    vector, (secret, (view,)) = VECTORS[name], queries_of(VECTORS[name])
    found = leakage(secret, view, schema_of(vector))
    stated = vector["expect"]["leakage"]
    assert abs(found.posterior - found.prior) == Fraction(stated["max_abs_change"])


def test_with_two_keys_a_row_that_shares_neither_still_tells():
    """Erratum E5 and the figures of it: 2/7 becomes 1/2, or the other way round."""
    vector, (secret, (view,)) = VECTORS["QV-24"], queries_of(VECTORS["QV-24"])
    found = leakage(secret, view, schema_of(vector))
    assert (found.prior, found.posterior) == (Fraction(2, 7), Fraction(1, 2))
    assert (found.secret, found.view) == (((),), ((),))


def test_the_domain_has_the_example_the_constants_and_what_is_none_of_them():
    schema = built({"E": RelationDefinition(["name", "salary"], {"salary": "number"})})
    secret = parse_query("S(n) :- E(n, s), s < 50.", schema)
    view = parse_query("V(n) :- E(n, s), s >= 40.", schema)
    witness = decided(secret, view, schema).witness
    example = [witness.secret.deciding, witness.view.deciding]
    found = leakage(secret, view, schema, example)
    names, salaries = found.domain["E"]
    assert names == ("#1",)
    assert {40, 50, 39, 51} < set(salaries)
    assert any(40 <= own < 50 for own in salaries)
    assert found.rows == len(salaries)


def test_too_many_rows_are_not_tried():
    schema = built({"R": RelationDefinition(["a"], {"a": tuple(range(MOST_ROWS + 1))})})
    secret, view = (parse_query(text, schema) for text in ("S(x) :- R(x).", "V() :- R(1)."))
    assert leakage(secret, view, schema) is None
    view = parse_query("V(x, y, z) :- R(x), R(y), R(z).", schema)
    assert leakage(view, view, schema) is None


def test_rows_that_fit_no_subgoal_are_left_out_of_account_unless_a_key_ties_them():
    values = tuple(range(100))
    texts = "S() :- R(1, 1).", "V() :- R(x, y), x != 2, 1 < y, y < 4, x < 5, x > 0."
    for keys in ([], [["a"]]):
        schema = built({"R": RelationDefinition(["a", "b"], dict.fromkeys("ab", values[:7]), keys)})
        found = leakage(*(parse_query(text, schema) for text in texts), schema)
        assert (found is None) == bool(keys)
