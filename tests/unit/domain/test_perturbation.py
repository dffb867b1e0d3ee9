"""The mechanism as services use it: what is refused, planned, promised, drawn and published."""

import os
import tracemalloc

import numpy as np
import pytest

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.errors import InvalidInput, TooLarge
from app.domain.hierarchies.hierarchy import Hierarchy
from app.domain.hierarchies.numbers import MANY_AMOUNTS
from app.domain.mechanisms import perturbed_column
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.common_hypotheses import one_record_per_person
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.perturbation import PERTURBATION
from app.domain.mechanisms.perturbed_column import Perturbation
from app.domain.mechanisms.several_draws import guarantee_together
from app.domain.rules.rule import CellRule, RecordRule, TableRule
from app.domain.tables.table import Table
from tests.oracles.perturbation_by_hand import stream, table_of

AGES = Hierarchy.from_rows([["30", "30s"], ["31", "30s"], ["40", "40s"], ["41", "40s"]])
ILLNESSES = Hierarchy.from_parents({"flu": [None], "hiv": [None], "ulcer": [None], "gout": [None]})


def table(illnesses=("flu", "hiv", "flu", "ulcer", "flu", None), **options):
    ages = np.resize([AGES.node_of(age) for age in ("30", "31", "40", "41")], len(illnesses))
    codes = np.stack([ages, ILLNESSES.encode(list(illnesses))[0]], axis=1)
    return Table(
        ("age", "illness"),
        (AGES, ILLNESSES),
        codes.astype(np.int32),
        sensitive=options.pop("sensitive", frozenset({"illness"})),
        **options,
    )


WHOLE = table(("flu", "hiv", "flu", "ulcer", "flu", "hiv"))


def plan(of=WHOLE, rule=None, **parameters):
    return PERTURBATION.plan(MechanismContext(of, rule), Perturbation(**{"beta": 1.0} | parameters))


def supports(of=WHOLE, rule=None, **parameters):
    return PERTURBATION.supports(MechanismContext(of, rule), Perturbation(**{"beta": 1.0} | parameters))


def draw(of=WHOLE, rule=None, bits=None, **parameters):
    context = MechanismContext(of, rule)
    return PERTURBATION.draw(context, Perturbation(**{"beta": 1.0} | parameters), bits or stream("drawn"))


def fault_of(work, **parameters):
    with pytest.raises(InvalidInput) as refused:
        work(**parameters)
    [fault] = refused.value.faults
    return fault


@pytest.mark.parametrize("beta", [0, -1, float("nan"), 1e6 + 1, 1e-10])
def test_a_beta_out_of_range_is_refused(beta):
    fault = fault_of(Perturbation, beta=beta)
    assert (fault.pointer, fault.code) == ("/beta", "out-of-range")


@pytest.mark.parametrize(("name", "value"), [("objective", "retention"), ("alpha_floor", 0.1)])
def test_the_published_formula_has_no_options(name, value):
    fault = fault_of(Perturbation, beta=1, mode="paper", **{name: value})
    assert (fault.pointer, fault.code) == (f"/{name}", "not-of-mode")


def test_who_keeps_next_to_nothing_is_warned_that_nothing_can_be_counted():
    of = table(("flu",) * 14 + ("hiv",) * 4 + ("ulcer", "gout"))
    told = [
        any("nothing can be counted" in own for own in plan(of, alpha_floor=floor).warnings)
        for floor in (None, 0.01, 1e-13)
    ]
    assert told == [False, False, True]
    assert not any("counted" in own for own in plan(of, alpha_floor=0.9).warnings)


def test_many_single_amounts_are_warned_of():
    def warned(number):
        amounts = Hierarchy.from_rows([[str(own), "*"] for own in range(number)])
        codes = np.resize(amounts.leaves, (number, 1)).astype(np.int32)
        of = Table(("pay",), (amounts,), codes, sensitive=frozenset({"pay"}))
        return any("put them into classes" in own for own in plan(of).warnings)

    assert warned(MANY_AMOUNTS + 1)
    assert not warned(MANY_AMOUNTS)


def test_a_floor_above_its_bound_is_refused_with_the_bound():
    found = plan(alpha_floor=0.9)
    [fault] = found.missing
    assert (fault.pointer, fault.code) == ("/mechanism/alpha_floor", "alpha-floor-too-large")
    most = found.constants["alpha_floor_greatest"]
    assert f"{most:.9g}" in fault.message
    offered = float(fault.remedy.split()[3].rstrip(","))
    assert most * (1 - 1e-5) < offered <= most
    assert plan(alpha_floor=offered).is_feasible
    assert "alpha_least" not in found.constants


def test_missing_values_are_refused_with_what_to_do():
    for work in (supports, draw):
        fault = fault_of(lambda work=work: work(table()))
        assert (fault.pointer, fault.code) == ("/mechanism/attribute", "missing-sensitive-values")
        assert fault.message == "1 record has no value of 'illness' that could be replaced: rows 6."
    many = fault_of(lambda: supports(table((None,) * 30 + ("flu", "hiv"))))
    assert many.message.endswith("rows 1, 2, 3, 4, 5, 6, 7, 8, 9, 10 and more.")
    assert supports() is None
    assert plan(table()).constants["values"] == 3


def test_rules_may_not_touch_what_is_perturbed():
    levels = TableRule((1, 0))
    assert supports(rule=levels) is None
    assert "leaves this attribute as it is" in supports(rule=TableRule((0, 1)))
    steps = np.zeros((6, 2), dtype=np.int16)
    assert supports(rule=RecordRule(steps)) is None
    steps[3, 1] = 1
    assert "suppresses no record" in supports(rule=RecordRule(steps))
    assert supports(rule=CellRule(WHOLE.codes)) is None


def test_a_rule_generalises_the_rest_first():
    drawn = draw(rule=TableRule((1, 0)))
    assert [AGES.labels[node] for node in drawn.columns[0]] == ["30s", "30s", "40s", "40s", "30s", "30s"]
    plain = draw()
    assert np.shares_memory(plain.columns[0], WHOLE.codes)
    assert drawn.columns[1].tolist() == plain.columns[1].tolist()
    assert drawn.columns[1].dtype == np.int32


def test_an_attribute_that_there_is_not_is_refused():
    assert fault_of(plan, attribute="name").pointer == "/mechanism/attribute"
    unclear = table(sensitive=frozenset({"age", "illness"}))
    assert fault_of(plan, of=unclear).code == "sensitive-attribute-unclear"
    both = plan(table(("flu", "hiv"), sensitive=frozenset({"age", "illness"})), attribute="illness")
    assert any("released unperturbed: age" in own for own in both.warnings)


@pytest.mark.parametrize(
    ("reference", "code"),
    [
        ({"flu": 1, "hiv": 1, "cough": 1}, "unknown-value"),
        ({"flu": 1, "hiv": 1}, "reference-lacks-values"),
        ({"flu": 1, "hiv": 1, "ulcer": 0}, "reference-lacks-values"),
        ({"flu": 1, "hiv": 1, "ulcer": 1, "*": 1}, "missing-value"),
    ],
)
def test_a_reference_has_every_value_of_the_table(reference, code):
    fault = fault_of(plan, reference=reference)
    assert (fault.pointer, fault.code) == ("/mechanism/reference", code)
    assert "hiv" not in fault.message


def test_values_of_the_reference_are_the_prior_and_are_published():
    drawn = draw(reference={"flu": 5, "hiv": 2, "ulcer": 2, "gout": 1})
    assert drawn.published.values == ("flu", "hiv", "ulcer", "gout")
    assert drawn.published.prior == (0.5, 0.2, 0.2, 0.1)
    assert draw().published.values == ("flu", "hiv", "ulcer")
    assert drawn.published.numbers(ILLNESSES).tolist() == [-1, 0, 1, 2, 3]


def test_unused_values_take_no_part():
    found = plan()
    assert (found.constants["values"], found.constants["values_unused"]) == (3, 1)
    many = table(("flu", "hiv", "ulcer") * 200)
    assert set(draw(many).columns[1].tolist()) == {ILLNESSES.node_of(own) for own in ("flu", "hiv", "ulcer")}


def test_beta_saturates():
    most = plan().constants["beta_saturation"]
    assert most == pytest.approx(np.log(6))
    above, far = plan(beta=most * 1.01), plan(beta=1e6)
    assert above.constants == far.constants


def test_a_single_value_is_released_as_it_is_with_a_warning():
    one = table(("flu", "flu", "flu"))
    found = plan(one)
    assert found.is_feasible
    assert any("a single value" in own for own in found.warnings)
    drawn = draw(one, bits=lambda n: pytest.fail("nothing is drawn"))
    assert drawn.columns[1].tolist() == one.codes[:, 1].tolist()
    assert drawn.published.retention == (1.0,)
    assert plan(one, mode="paper").is_feasible
    assert plan(one).guarantees[0].standing == "certified"


def test_what_is_promised_and_what_it_rests_on():
    [guarantee] = plan().guarantees
    assert (guarantee.model, guarantee.status) == ("beta_likeness", "certified")
    assert guarantee.parameters == {"beta": 1.0, "bound": "enhanced", "attribute": "illness"}
    assert "'illness'" in guarantee.sentence
    assert "more than 2 times as likely" in guarantee.sentence
    holds = {own.id: own.holds for own in guarantee.hypotheses}
    assert holds == {
        "posteriors_within_bounds": "yes",
        "prior_is_common": "assumed",
        "domain_is_public": "assumed",
        "one_record_per_person": "assumed",
        "own_record_only": "assumed",
        "records_independent": "assumed",
        "not_shown_otherwise": "assumed",
        "drawn_once": "assumed",
    }
    assert guarantee.rests_on_assumptions
    [identified] = plan(table(("flu", "hiv"), entity_ids=np.array(["a", "b"]))).guarantees
    assert {own.id: own.holds for own in identified.hypotheses}["one_record_per_person"] == "yes"
    again = guarantee.given(Hypothesis("drawn_once", "no", "It was drawn before."))
    assert (guarantee.standing, again.standing) == ("certified", "none")
    with pytest.raises(ValueError, match="does not rest on"):
        guarantee.given(Hypothesis("weather", "yes", "It is fine."))


def test_a_broken_matrix_promises_nothing(monkeypatch):
    """The check is of the matrix at hand, whatever the proof says of how it was made."""
    literal = perturbed_column.published_matrix
    monkeypatch.setattr(perturbed_column, "safe_matrix", lambda excess, *_: literal(excess))
    [guarantee] = plan(table_of([7, 2, 1])).guarantees
    assert guarantee.standing == "none"
    assert guarantee.hypotheses[0].holds == "no"


def test_two_draws_are_worth_less_than_one():
    first, second = (draw(bits=stream(own), beta=beta).published for own, beta in (("a", 1.0), ("b", 2.0)))
    persons = one_record_per_person(WHOLE)
    one, both = (guarantee_together("illness", draws, persons) for draws in ([first], [first, second]))
    assert isinstance(both, PrivacyGuarantee)
    assert both.parameters["beta"] > one.parameters["beta"] > 0
    assert both.parameters["draws"] == 2


def test_the_same_bits_draw_the_same_and_others_do_not():
    many = table(("flu", "hiv", "ulcer") * 100)
    assert draw(many).columns[1].tolist() == draw(many).columns[1].tolist()
    assert draw(many).columns[1].tolist() != draw(many, bits=stream("others")).columns[1].tolist()
    assert draw(many, bits=os.urandom).columns[1].tolist() != draw(many, bits=os.urandom).columns[1].tolist()


@pytest.mark.deep
def test_100_000_values_take_memory_in_proportion():
    rng = np.random.default_rng(1)
    labels = [f"v{i}" for i in range(100_000)]
    values = Hierarchy(("*", *labels), ((), *((0,) for _ in labels)))
    column = np.concatenate([np.arange(1, 100_001), rng.integers(1, 1000, 20_000)])
    codes = np.stack([np.full(120_000, 1), column], axis=1)
    large = Table(("age", "code"), (AGES, values), codes, sensitive=frozenset({"code"}))
    tracemalloc.start()
    drawn = draw(large, beta=4.0)
    assert tracemalloc.get_traced_memory()[1] < 100 * 2**20
    tracemalloc.stop()
    matrix = drawn.published.matrix
    assert matrix.n_values == 100_000
    assert plan(large, beta=4.0).guarantees[0].standing == "certified"
    with pytest.raises(TooLarge, match="100,000 values"):
        matrix.dense()


def test_more_than_100_000_values_are_refused(monkeypatch):
    monkeypatch.setattr("app.domain.mechanisms.perturbation.MOST_VALUES", 2)
    assert "has 3 values" in supports()


def test_the_catalogue_says_what_mechanisms_are():
    entry = MECHANISMS[0]
    assert (entry.name, entry.family, entry.randomised) == ("perturbation", "perturb", True)
    assert entry.parameters is Perturbation
    assert all(own.isascii() and own for own in plan().constants)
