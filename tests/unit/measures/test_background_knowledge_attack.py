"""Attackers with background knowledge: the dissertation's test vectors and edge cases."""

from dataclasses import replace

import numpy as np
import pytest

from app.domain.attacks.background_knowledge_attack import BACKGROUND_KNOWLEDGE_ATTACK
from app.domain.dictionaries.dictionary import Dictionary, link_identity
from app.domain.errors import InvalidInput, NotSupported
from app.domain.rules.rule import CellRule, TableRule
from tests.unit.measures import diversity_tables as tables


def attacked(found, rule=None, known=None, **parameters):
    measure = BACKGROUND_KNOWLEDGE_ATTACK
    if known is not None:
        parameters["knowledge"] = "known"
    asked = measure.parameters(**parameters)
    context = replace(tables.context_of(found, rule), dictionaries={"known": known} if known else {})
    reason = measure.supports(context, asked)
    if reason is not None:
        raise NotSupported(reason)
    ticks = []
    result = measure.compute(context, asked, ticks.append)
    assert ticks[-1] == measure.cost(context, asked).units
    return result


def people(found, rows, names):
    """A dictionary of people with values of some attributes."""
    links = tuple(
        link_identity(name, found.hierarchies[found.position(name)], [row[i] for row in rows])
        for i, name in enumerate(names)
    )
    return Dictionary(len(rows), links)


def steps(result):
    return [(own.negations, own.records_exposed, own.greatest_belief) for own in result.steps]


def believed(result):
    return {own.value: own.belief for own in result.target.beliefs}


@pytest.mark.spec("LD-S1", "LD-D03")
def test_the_american_of_31_has_cancer_in_one_release_and_perhaps_in_the_other():
    found, rule = tables.release_1()
    result = attacked(found, rule, target=9)
    assert believed(result) == {tables.C: 1.0}
    assert result.target.among.rows == (9, 10, 11, 12)
    assert result.target.is_confident
    result = attacked(*tables.release_2(), target=9)
    assert believed(result) == {tables.C: 1 / 2, tables.HD: 1 / 4, tables.VI: 1 / 4}
    assert not result.target.is_confident


@pytest.mark.spec("LD-S1", "LD-D08")
@pytest.mark.parametrize(
    ("release", "greatest", "exposed"),
    [(tables.release_1, [1, 1, 1], [4, 8, 12]), (tables.release_2, [1 / 2, 2 / 3, 1], [0, 0, 12])],
)
def test_negations_about_the_target_make_the_attacker_certain(release, greatest, exposed):
    result = attacked(*release(), confidence=1.0, negations=2)
    assert steps(result) == list(zip([0, 1, 2], exposed, greatest, strict=True))
    assert result.steps[-1].share_exposed == 1.0


@pytest.mark.spec("LD-S5", "LD-D08")
def test_one_class_after_each_number_of_negations():
    found = tables.one_class({"a": 9, "b": 6, "c": 4, "d": 3, "e": 1})
    result = attacked(found, confidence=0.9, negations=4)
    assert [own.greatest_belief for own in result.steps] == pytest.approx([9 / 23, 9 / 17, 9 / 13, 9 / 10, 1])
    # d, the fourth: 3/4 without a, b, c, and certain without e; e needs all others ruled out.
    assert [own.records_exposed for own in result.steps] == [0, 0, 0, 9, 23]
    first = result.exposed[0]
    assert (first.value, first.negations, first.belief, first.belief_after) == ("a", 3, 9 / 23, 9 / 10)
    assert (first.records.records, first.among) == (9, 23)


@pytest.mark.spec("LD-S8", "LD-D08")
def test_entropy_does_not_bound_the_belief():
    found = tables.one_class({"x": 80, **{f"v{i:02}": 1 for i in range(20)}})
    result = attacked(found, confidence=0.8)
    assert (result.steps[0].greatest_belief, result.steps[0].records_exposed) == (0.8, 80)


@pytest.mark.spec("LD-D03")
def test_known_records_are_taken_out_of_their_class():
    result = attacked(*tables.release_2(), known_records=(1, 9), target=10, negations=0, confidence=0.5)
    assert result.records_attacked == 10
    assert believed(result) == {tables.C: 1 / 2, tables.VI: 1 / 2}
    # Of the class VI and C are left; in the two others C 2 of 4 and VI 2 of 4.
    assert result.steps[0].records_exposed == 2 + 2 + 2


@pytest.mark.spec("LD-D03", "LD-14")
def test_statements_about_the_target_rule_values_out():
    found, rule = tables.release_1()
    result = attacked(found, rule, target=1, not_values=(tables.VI,))
    assert believed(result) == {tables.HD: 1.0, tables.VI: 0.0}
    contradiction = attacked(found, rule, target=9, not_values=(tables.C,)).target
    assert (contradiction.is_inconsistent, contradiction.beliefs) == (True, ())


J_AND_O = ("J", "O")
POPULATION = {
    ("J", "HD"): 1,
    ("J", "VI"): 99,
    ("J", "C"): 50,
    ("O", "HD"): 180,
    ("O", "VI"): 270,
    ("O", "C"): 400,
}


def japanese(*values):
    """A class of people of whom the first is J, with these conditions."""
    rows = [("J" if i == 0 else "O", value) for i, value in enumerate(values)]
    hierarchies = (tables.flat(J_AND_O), tables.flat(("HD", "VI", "C")))
    return tables.table(("origin", "condition"), hierarchies, rows, {"condition"})


@pytest.mark.spec("LD-S6", "LD-D03")
@pytest.mark.parametrize(
    ("values", "beliefs"),
    [
        (("VI", "VI", "HD", "HD"), {"HD": 41 / 2032, "VI": 1991 / 2032}),
        (("VI", "HD", "C", "C"), {"HD": 369 / 33130, "VI": 17919 / 33130, "C": 7421 / 16565}),
    ],
)
def test_japanese_rarely_have_heart_disease(values, beliefs):
    found = japanese(*values)
    rows = [row for row, n in POPULATION.items() for _ in range(n)]
    known = people(found, rows, ("origin", "condition"))
    result = attacked(found, TableRule((1, 0)), known, target=1, confidence=0.9)
    assert believed(result) == pytest.approx(beliefs, rel=1e-12)
    assert (result.knowledge.entities, result.knowledge.known) == (1000, ("origin",))
    assert result.steps[0].greatest_belief == pytest.approx(
        max(beliefs["VI"], believed(attacked(found, TableRule((1, 0)), known, target=2))[values[1]])
    )


@pytest.mark.spec("LD-14", "LD-D03")
def test_knowledge_that_contradicts_the_release_gives_no_number():
    found = japanese("VI", "HD", "VI", "HD")
    nobody_ill = [("J", "VI"), ("O", "VI"), ("O", "C")]
    result = attacked(found, TableRule((1, 0)), people(found, nobody_ill, ("origin", "condition")), target=1)
    assert (result.knowledge.records_contradicted, result.knowledge.records_inconsistent) == (4, 0)
    assert result.target.is_inconsistent
    assert steps(result)[0] == (0, 0, 0.0)
    no_japanese = [("O", "VI"), ("O", "HD")]
    result = attacked(found, TableRule((1, 0)), people(found, no_japanese, ("origin", "condition")))
    assert (result.knowledge.records_contradicted, result.knowledge.records_inconsistent) == (0, 1)
    # Everybody else is believed to be what every other is.
    assert result.steps[0].greatest_belief == 0.5


def test_people_with_a_missing_value_are_left_out_and_counted():
    found = japanese("VI", "HD")
    known = people(found, [("J", "VI"), ("O", "HD"), ("O", None), (None, "C")], ("origin", "condition"))
    result = attacked(found, TableRule((1, 0)), known)
    assert (result.knowledge.entities, result.knowledge.entities_left_out) == (2, 2)


def test_a_dictionary_must_say_something_of_the_value():
    found = japanese("VI", "HD")
    with pytest.raises(NotSupported, match="condition"):
        attacked(found, None, people(found, [("J",)], ("origin",)))
    with pytest.raises(NotSupported, match="none of the quasi-identifiers"):
        attacked(found, None, people(found, [("VI",)], ("condition",)))


SV = [("s1", "v1"), ("s1", "v2"), ("s2", "v3"), ("s3", "v3")]


def of_pairs(*rows):
    rows = [("here", *row) for row in rows]
    hierarchies = [tables.flat(row[j] for row in rows) for j in range(3)]
    return tables.table(("place", "s", "v"), hierarchies, rows, {"s", "v"})


@pytest.mark.spec("LD-S3", "LD-D07")
def test_ruling_out_one_attribute_determines_another():
    result = attacked(of_pairs(*SV), attribute="v", confidence=1.0)
    by_told = {own.told: own for own in result.eliminations}
    of_v = by_told["s"]
    assert (of_v.learnt, of_v.by_negation.belief) == ("v", 1.0)
    assert (of_v.by_negation.about, of_v.by_negation.value) == ("s1", "v3")
    assert of_v.by_negation.told_of.rows == (1, 2, 3, 4)
    # Rows 3 and 4: "not s1". Rows 1 and 2 have s1, and v1 and v2 stay equally likely.
    assert (of_v.records_exposed, of_v.records_exposed_without) == (2, 0)
    # The other way: v1 says s1, v2 says s1; "not v3" leaves s1 alone.
    of_s = by_told["v"]
    assert (of_s.by_negation.about, of_s.by_negation.value, of_s.records_exposed) == ("v3", "s1", 2)


def test_records_that_stand_out_without_a_statement_are_counted_apart():
    pairs = [("s1", "v1"), ("s2", "v1"), ("s2", "v1"), ("s1", "v2")]
    [of_v, _] = attacked(of_pairs(*pairs), attribute="v", confidence=0.75).eliminations
    assert (of_v.told, of_v.records_exposed_without, of_v.records_exposed) == ("s", 3, 3)
    assert (of_v.by_value.about, of_v.by_value.value, of_v.by_value.belief) == ("s2", "v1", 1.0)
    [lone, _] = attacked(of_pairs(("s1", "v1"), ("s1", "v2")), attribute="v").eliminations
    assert lone.by_negation is None


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"target": 13}, "/measure/target"),
        ({"known_records": (1, 13)}, "/measure/known_records"),
        ({"known_records": (1,), "target": 1}, "/measure/target"),
        ({"not_values": (tables.C,)}, "/measure/not_values"),
        ({"target": 1, "not_values": (tables.C, "plague")}, "/measure/not_values/1"),
    ],
)
def test_questions_that_make_no_sense_are_refused(parameters, pointer):
    with pytest.raises(InvalidInput) as refused:
        attacked(*tables.release_1(), **parameters)
    assert refused.value.faults[0].pointer == pointer


@pytest.mark.spec("LD-D08")
def test_long_classes_need_no_more_statements_than_they_have_values():
    counts = {f"v{i:04}": i + 1 for i in range(300)}
    found = tables.one_class(counts)
    result = attacked(found, confidence=1.0, negations=50, top=200)
    assert result.steps[-1].records_exposed == 0
    assert np.isclose(result.steps[50].greatest_belief, 300 / (300 + sum(range(1, 250))))


@pytest.mark.parametrize("known_records", [(), (3,)])
def test_what_is_suppressed_of_a_record_is_no_value_to_attack(known_records):
    """Two records are suppressed with their values and judged as a block: nothing of them can be believed."""
    rows = [("a", "flu"), ("a", "flu"), ("b", "hiv"), ("b", None)]
    found = tables.table(("q", "s"), (tables.flat("ab"), tables.flat(("flu", "hiv"))), rows, {"s"})
    shown = found.codes.copy(order="F")
    shown[2:] = 0
    result = attacked(found, CellRule(shown), suppressed="own_block", known_records=known_records)
    # A value missing in the original is a category of its own, and all that the block shows.
    assert result.records_attacked == 3
    assert [own.records.rows for own in result.exposed] == [(1, 2), (4,)]
    result = attacked(
        found,
        CellRule(shown),
        suppressed="own_block",
        missing_sensitive="excluded",
        known_records=known_records,
    )
    assert (result.records_attacked, steps(result)[0]) == (2, (0, 2, 1.0))
    assert [own.value for own in result.exposed] == ["flu"]


def test_statements_tell_nothing_of_what_is_suppressed():
    rows = [("a", "x", "flu"), ("a", "x", "hiv"), ("b", "x", "flu"), ("b", "y", "hiv")]
    hierarchies = (tables.flat("ab"), tables.flat("xy"), tables.flat(("flu", "hiv")))
    found = tables.table(("q", "s", "t"), hierarchies, rows, {"s", "t"})
    shown = found.codes.copy(order="F")
    shown[2:, [0, 2]] = 0
    result = attacked(found, CellRule(shown), attribute="s", suppressed="own_block", confidence=0.9)
    of_t = next(own for own in result.eliminations if own.learnt == "t")
    assert (of_t.records_exposed, of_t.by_value.belief) == (0, 0.5)


def one_class(counts):
    return tables.one_class(dict(zip("abc", counts, strict=True)))


@pytest.mark.spec("BL-T19")
@pytest.mark.parametrize(
    ("known", "target", "beliefs"),
    [((3, 4), 1, {"a": 0.5, "b": 0.25, "c": 0.25}), ((1, 2, 3, 4, 6), 5, {"b": 1.0})],
)
def test_who_knows_others_of_the_class_takes_them_out(known, target, beliefs):
    """Of (2, 3, 1) the records known are (0, 2, 0), then (2, 2, 1)."""
    assert believed(attacked(one_class((2, 3, 1)), known_records=known, target=target)) == beliefs


def worst_by_hand(classes, known):
    """The strongest belief in the value of a record once these are known, by loops; classes are lists."""
    worst = 0.0
    for g, values in enumerate(classes):
        left = [v for i, v in enumerate(values) if (g, i) not in known]
        worst = max([worst, *(left.count(v) / len(left) for v in left)])
    return worst


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_random_shares_of_known_records_are_those_of_loops(share):
    classes = ["aab", "abcc", "abc", "ab"]
    rows = [(f"place {g}", value) for g, values in enumerate(classes) for value in values]
    found = tables.table(
        ("place", "value"), (tables.flat(r[0] for r in rows), tables.flat("abc")), rows, {"value"}
    )
    names = [(g, i) for g, values in enumerate(classes) for i in range(len(values))]
    result = attacked(found, known_share=share, known_draws=40, known_seed=3)
    rng, n = np.random.default_rng(3), round(share * len(names))
    worst = [
        worst_by_hand(classes, {names[i] for i in rng.choice(len(names), n, replace=False)})
        for _ in range(40)
    ]
    corruption = result.corruption
    assert corruption.known_records == n
    assert corruption.mean_belief == pytest.approx(np.mean(worst))
    assert corruption.quantiles == tuple(sorted(worst)[i] for i in (0, 9, 19, 29, 39))
    assert attacked(found, known_share=share, known_draws=40, known_seed=3) == result
    # What nobody corrupted says of the same release is unchanged.
    assert replace(result, corruption=None) == attacked(found)


def test_known_records_stay_known_when_others_are_drawn():
    """Five of six are known, and half of the one that is left is nobody, in every draw."""
    found = attacked(one_class((2, 3, 1)), known_records=(1, 2, 3, 4, 6), known_share=0.4, known_draws=2)
    assert found.corruption.known_records == 0
    assert (found.corruption.mean_belief, found.corruption.quantiles) == (1, (1,) * 5)


def test_of_a_class_of_which_all_are_known_nothing_is_left_to_believe():
    found = attacked(one_class((2, 3, 1)), known_share=0.99, known_draws=1)
    assert (found.corruption.known_records, found.corruption.mean_belief) == (6, 0)
