"""What a goal's form asks: what is recommended, what is refused, and the question that is asked again."""

from __future__ import annotations

import dataclasses

import pytest

from app.web.forms import Form
from app.web.goal_terms import Asked, Subject, asked_in, fields_of

TABLE = Subject(
    name="patients",
    sha256="0" * 64,
    rows=5000,
    quasi_identifiers=("age", "city"),
    sensitive={"diagnosis": 21, "cost": 4703, "clinic": 1},
    greatest_utility=12,
    registers=("census",),
    sensitivities=("harm",),
)


LIKE = {"kind": "beta_likeness", "beta": 2, "attribute": "diagnosis"}
CLOSE = {"kind": "t_closeness", "t": 0.5, "attribute": "diagnosis"}


def form(subject: Subject = TABLE, **changed: str) -> Form:
    """The form as it is shown, with changes."""
    fields = {"others": "apart", "dictionary": "census", "sensitivity": "harm"}
    shown = {name: str(value) for name, value in subject.recommended().items()}
    return Form({name: [value] for name, value in (fields | shown | changed).items()})


def question(subject: Subject = TABLE, **changed: str) -> dict:
    asked = asked_in(form(subject, **changed), subject)
    assert isinstance(asked, Asked), asked
    return dict(asked.question)


def test_what_is_recommended_never_asks_for_more_than_the_table_has():
    assert TABLE.diverse == ("diagnosis", "cost")
    assert TABLE.recommended()["template"] == "l"
    assert [own.get("l") for own in question()["objective"]["privacy"]] == [None, 3, 3]
    two = dataclasses.replace(TABLE, sensitive={"outcome": 2})
    assert two.recommended()["l/outcome"] == 2
    tiny = dataclasses.replace(TABLE, rows=4, sensitive={})
    assert (tiny.recommended()["k"], tiny.recommended()["template"]) == (2, "k")
    assert tiny.choices() == ["k", "register"]


def test_closeness_is_not_recommended_of_attributes_with_too_many_values():
    assert TABLE.recommended()["t/diagnosis"] == "0.3"
    assert TABLE.recommended()["t/cost"] == ""
    kinds = [(own["kind"], own.get("attribute")) for own in question(template="t")["objective"]["privacy"]]
    assert ("t_closeness", "diagnosis") in kinds
    assert ("t_closeness", "cost") not in kinds


def test_likeness_is_asked_alone_of_attributes_that_can_be_like_the_table():
    assert TABLE.choices() == ["k", "l", "t", "beta", "register"]
    assert (TABLE.recommended()["beta/diagnosis"], TABLE.recommended()["beta/cost"]) == ("2", "")
    asked = question(template="beta", **{"beta/cost": "0.1"})["objective"]["privacy"]
    assert asked == [
        {"kind": "k_anonymity", "k": 5},
        {"kind": "beta_likeness", "beta": 2, "attribute": "diagnosis"},
        {"kind": "beta_likeness", "beta": 0.1, "attribute": "cost"},
    ]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("0", "β of diagnosis is out of range."),
        ("-2", "β of diagnosis is out of range."),
        ("nan", "β of diagnosis is no number."),
        ("1000001", "β of diagnosis is out of range."),
        ("2.00000000000000000001", "β of diagnosis is not kept exactly."),
        ("", "No number stands for any β."),
    ],
)
def test_a_likeness_that_cannot_be_asked_is_refused_beside_its_field(given, said):
    faults = asked_in(form(template="beta", **{"beta/diagnosis": given}), TABLE)
    assert isinstance(faults, tuple)
    assert [(own.field, own.said) for own in faults] == [("beta/diagnosis", said)]


def test_only_what_the_choice_asks_for_is_asked():
    assert question(template="k", **{"l/cost": "x", "t/cost": "7"})["objective"] == {
        "kind": "alternatives",
        "privacy": [{"kind": "k_anonymity", "k": 5}],
        "suppression_limit": 0.02,
        "important": [],
    }
    assert question(template="register") == {
        "dataset": "patients",
        "dictionary": "census",
        "sensitivity": "harm",
        "objective": {"kind": "min_risk", "utility_floor": 6.0},
    }


def test_columns_that_are_ticked_are_important():
    assert question(**{"important/city": "on"})["objective"]["important"] == ["city"]
    assert question(**{"important/income": "on"})["objective"]["important"] == []


def test_what_the_attacker_knows_besides_is_asked_of_several_sensitive_attributes_only():
    assert {own.get("others") for own in question()["objective"]["privacy"][1:]} == {"apart"}
    one = dataclasses.replace(TABLE, sensitive={"diagnosis": 21})
    assert "others" not in question(one)["objective"]["privacy"][1]


@pytest.mark.parametrize(
    ("template", "changed"),
    [
        ("k", {}),
        ("k", {"important/city": "on"}),
        ("l", {"l/cost": ""}),
        ("l", {"others": "in_classes", "important/city": "on"}),
        ("t", {"suppressed": "7", "l/diagnosis": "", "l/cost": ""}),
        ("beta", {"beta/cost": "0.123456789012345"}),
        ("register", {"floor": "3.5"}),
    ],
)
def test_an_optimisation_is_asked_again_as_it_was_asked(template, changed):
    usual = {"failure": None, "utility": "depth_sum", "risk_model": "I", "absent_policy": "zero"}
    usual |= {"attacker_view": "known", "aggregate": "average", "scope": "table_level"}
    asked = question(template=template, **changed)
    again = fields_of({**usual, **asked})
    assert again is not None
    answer = asked_in(Form({name: [value] for name, value in again.items()}), TABLE)
    assert isinstance(answer, Asked)
    assert answer.question == asked


@pytest.mark.parametrize(
    "changed",
    [
        {"privacy": [{"kind": "k_map", "k": 5}]},
        {"privacy": [{"kind": "k_anonymity", "k": 5}, {"kind": "entropy_l_diversity", "l": 3}]},
        {"privacy": [{"kind": "k_anonymity", "k": 5}, {**LIKE, "bound": "basic"}]},
        {"privacy": [{"kind": "k_anonymity", "k": 5}, {**LIKE, "groups": ["bad"]}]},
        {"privacy": [{"kind": "k_anonymity", "k": 5}, {**LIKE, "beta_negative": 0.5}]},
        {"privacy": [{"kind": "k_anonymity", "k": 5}, {**LIKE}, {**CLOSE}]},
        {"suppressed": "own_block"},
        {"loss": {"kind": "geometric", "suppression_factor": 1}},
        {"loss": {"kind": "precision"}},
    ],
)
def test_what_the_form_does_not_know_it_does_not_ask_again(changed):
    objective = {"kind": "min_loss", "privacy": [{"kind": "k_anonymity", "k": 5}], "suppression_limit": 0}
    assert fields_of({"scope": "table_level", "objective": objective}) is not None
    assert fields_of({"scope": "table_level", "objective": objective | changed}) is None
    assert fields_of({"scope": "record_level", "objective": objective}) is None


def test_places_in_the_question_are_fields_of_the_form():
    asked = asked_in(form(template="t"), TABLE)
    assert isinstance(asked, Asked)
    assert asked.place("objective/privacy/0/k") == "k"
    assert asked.place("objective/privacy/2/l") == "l/cost"
    assert asked.place("objective/privacy/3/t") == "t/diagnosis"
    assert asked.place("objective/suppression_limit") == "suppressed"
    assert asked.place("name") == ""


def test_what_is_no_choice_for_the_table_is_refused():
    without = dataclasses.replace(TABLE, registers=())
    assert "register" not in without.choices()
    faults = asked_in(form(template="register"), without)
    assert isinstance(faults, tuple)
    assert dataclasses.replace(TABLE, quasi_identifiers=(), registers=()).choices() == []


def test_amounts_are_asked_for_in_bands_of_k_and_the_question_comes_back():
    banded = dataclasses.replace(TABLE, banded=("cost",))
    asked = question(banded, template="k", k="7")
    assert asked["objective"]["persons_per_value"] == {"cost": 7}
    again = fields_of({**asked, "scope": "table_level"})
    assert again is not None
    assert (again["template"], again["k"]) == ("k", "7")
    assert "persons_per_value" not in question(template="k")["objective"]
