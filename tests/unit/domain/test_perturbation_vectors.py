"""Numbers that the specification of β-likeness states of perturbation, and where the paper is wrong."""

import decimal
import math
from fractions import Fraction

import numpy as np
import pytest

from app.domain.classes.gains import frequency_bounds
from app.domain.classes.ratios import as_written
from app.domain.errors import InvalidInput, NotSupported
from app.domain.mechanisms.count_estimates import deviations
from app.domain.mechanisms.inverse_matrix import InverseMatrix
from app.domain.mechanisms.likeness_matrix import excess_amplification, published_matrix, safe_matrix
from app.domain.mechanisms.mechanism import MechanismContext
from app.domain.mechanisms.perturbation import PERTURBATION
from app.domain.mechanisms.perturbed_column import Perturbation
from app.domain.mechanisms.several_draws import posterior, posteriors_together
from app.domain.mechanisms.transition_matrix import TransitionMatrix
from tests.oracles import perturbation_by_hand as by_hand

SIX_THREE_ONE = np.array([6, 3, 1])
SEVEN_TWO_ONE = np.array([7, 2, 1])


def exactly(*numbers):
    return pytest.approx(numbers, abs=1e-11)


def of(totals, beta):
    return excess_amplification(totals, as_written(beta))


def bounds_of(totals, beta):
    return frequency_bounds(totals, int(totals.sum()), as_written(beta), "enhanced")


def planned(totals, **parameters):
    return PERTURBATION.plan(MechanismContext(by_hand.table_of(totals)), Perturbation(**parameters))


@pytest.mark.spec("BL-T1")
@pytest.mark.parametrize(
    ("beta", "p", "gamma"),
    [
        (2, 0.1, 3.857142857143),
        (2, 0.2, 4.366233240302),
        (4, 0.5, 5.517782706542),
        (4, 0.05, 4.743666782834),
        (1, 0.048402, 2.107179394063),
        (4, 0.048402, 4.761633435561),
        (4, 0.002018, 5.040771383257),
        (3, Fraction(math.exp(-3)).limit_denominator(10**9), 4.746011777991),
        (1000, 1e-6, 14.815715244839),
        (0.01, 0.3, 1.014347202296),
        (5, 0.99, 201.33557273268),
        (1, 0.999999, 2000001.333276),
    ],
)
def test_by_what_factor_probabilities_may_differ(beta, p, gamma):
    share = as_written(p) if not isinstance(p, Fraction) else p
    totals = np.array([share.numerator, share.denominator - share.numerator])
    found = 1 + of(totals, beta)[0]
    # Two of the stated numbers are of 1 − p in doubles, which is off by 3e-11 of it for p = 0.999999.
    assert found == pytest.approx(gamma, rel=5e-11)
    with decimal.localcontext(prec=50):
        exact = decimal.Decimal(share.numerator) / share.denominator
        allowed = exact * (1 + min(decimal.Decimal(repr(beta)), -exact.ln()))
        assert found == pytest.approx(float(allowed / exact * (1 - exact) / (1 - allowed)), rel=1e-13)


@pytest.mark.spec("BL-T13")
def test_the_published_matrix_where_it_is_right():
    found = published_matrix(of(SIX_THREE_ONE, 2))
    assert (1 + found.excess).tolist() == exactly(6.463105378168, 4.553553163943, 3.857142857143)
    assert found.least_entry == pytest.approx(0.1181599372, abs=1e-11)
    matrix = found.matrix
    assert matrix.retention.tolist() == exactly(0.6455201884, 0.307071333831, 0.183639636656)
    assert matrix.kept.tolist() == exactly(0.7636801256, 0.538047555888, 0.455759757771)
    assert matrix.elsewhere.tolist() == exactly(0.1181599372, 0.230976222056, 0.272120121115)
    prior = SIX_THREE_ONE / 10
    assert matrix.greatest_posteriors(prior).tolist() == exactly(
        0.826027357001, 0.621966988345, 0.245342360989
    )
    assert bounds_of(SIX_THREE_ONE, 2).tolist() == exactly(0.90649537426, 0.661191841298, 0.3)
    counts = np.array([60.0, 30.0, 10.0])
    assert matrix.published(counts).tolist() == exactly(55.47129540885, 25.952224119766, 18.576480471384)
    assert prior @ matrix.kept == pytest.approx(0.665198317904, abs=1e-11)


@pytest.mark.spec("BL-T13")
def test_the_inverse_and_what_it_counts():
    matrix = published_matrix(of(SIX_THREE_ONE, 2)).matrix
    inverse = InverseMatrix(matrix)
    rows = inverse.applied(np.eye(3)).T
    assert rows[0].tolist() == exactly(1.466153356495, -0.341009513594, -0.671788751818)
    assert rows[1].tolist() == exactly(-0.174449397224, 2.539707841849, -1.412223004433)
    assert rows[2].tolist() == exactly(-0.291703959271, -1.198698328255, 3.08401175625)
    even = inverse.applied(np.array([50.0, 30.0, 20.0]))
    assert even.tolist() == exactly(49.641607380571, 39.224305305614, 11.134087313815)
    below = inverse.applied(np.array([70.0, 20.0, 10.0]))
    assert below.tolist() == exactly(89.092657164574, 24.460468986974, -13.553126151548)
    counts = np.array([60.0, 30.0, 10.0])
    for chosen, variance in [([0, 1, 0], 176.131435529426), ([0, 1, 1], 70.642897799957), ([1, 1, 1], 0)]:
        wanted = np.array(chosen, dtype=float)
        of_records = deviations(matrix, inverse.weights(wanted), wanted)
        assert counts @ of_records == pytest.approx(variance, abs=1e-10)


@pytest.mark.spec("BL-T13", "BL-11")
def test_another_matrix_keeps_more_values_than_the_published_one():
    """Erratum 2: the published retention is not the highest that is safe."""
    prior = SIX_THREE_ONE / 10
    found = safe_matrix(of(SIX_THREE_ONE, 2), prior, "retention")
    assert found.least_entry == pytest.approx(0.15258898112, abs=1e-11)
    assert found.matrix.kept.tolist() == exactly(0.694822037761, 0.694822037761, 0.588557498605)
    assert prior @ found.matrix.kept == pytest.approx(0.684195583845, abs=1e-11)
    assert (found.matrix.greatest_posteriors(prior) <= bounds_of(SIX_THREE_ONE, 2) * (1 + 1e-12)).all()


@pytest.mark.spec("BL-T13")
def test_equal_shares_reach_the_bound():
    totals = np.array([5, 5, 5, 5])
    found = published_matrix(of(totals, 1))
    assert (1 + found.excess).tolist() == exactly(3, 3, 3, 3)
    assert found.least_entry == pytest.approx(1 / 6)
    matrix = found.matrix
    assert matrix.retention.tolist() == exactly(*[1 / 3] * 4)
    assert (matrix.kept[0], matrix.elsewhere[0]) == exactly(1 / 2, 1 / 6)
    assert InverseMatrix(matrix).applied(np.eye(4))[0].tolist() == exactly(2.5, -0.5, -0.5, -0.5)
    assert matrix.greatest_posteriors(totals / 20).tolist() == exactly(*[1 / 2] * 4)
    assert bounds_of(totals, 1).tolist() == exactly(*[1 / 2] * 4)


@pytest.mark.spec("BL-T13")
def test_a_third_prior():
    totals = np.array([5, 3, 2])
    matrix = safe_matrix(of(totals, 1), totals / 10).matrix
    assert matrix.retention.tolist() == exactly(0.600946167626, 0.198344206654, 0.032071776499)
    assert matrix.greatest_posteriors(totals / 10).tolist() == exactly(
        0.717215433804, 0.515942220536, 0.325998222688
    )


@pytest.mark.spec("BL-T14", "BL-11")
def test_the_published_formula_breaks_its_promise_and_is_refused():
    """Erratum 1: with a retention below 0 the posteriors are above their bounds."""
    matrix = published_matrix(of(SEVEN_TWO_ONE, 1)).matrix
    assert matrix.retention.tolist() == exactly(0.702589640874, -0.103452854498, -0.165413345983)
    found, allowed = matrix.greatest_posteriors(SEVEN_TWO_ONE / 10), bounds_of(SEVEN_TWO_ONE, 1)
    assert found.tolist() == exactly(0.833124343636, 0.445124502576, 0.241112963355)
    assert allowed.tolist() == exactly(0.949672460757, 0.4, 0.2)
    assert (found > allowed).tolist() == [False, True, True]
    plan = planned(SEVEN_TWO_ONE, beta=1, mode="paper")
    assert not plan.is_feasible
    assert plan.guarantees == ()
    [fault] = plan.missing
    assert (fault.pointer, fault.code) == ("/mechanism/mode", "invalid-alpha")
    assert "2 of 3 values" in fault.message
    assert "-0.165413" in fault.message
    context = MechanismContext(by_hand.table_of(SEVEN_TWO_ONE))
    with pytest.raises(InvalidInput) as refused:
        PERTURBATION.draw(context, Perturbation(beta=1, mode="paper"), by_hand.stream("never"))
    assert refused.value.faults == (fault,)


@pytest.mark.spec("BL-T14")
@pytest.mark.parametrize("objective", ["paper", "retention"])
def test_the_safe_matrix_in_its_place(objective):
    prior = SEVEN_TWO_ONE / 10
    found = safe_matrix(of(SEVEN_TWO_ONE, 1), prior, objective, 0.001)
    assert found.least_entry == pytest.approx(0.148444444444, abs=1e-11)
    assert found.matrix.retention.tolist() == exactly(0.554666666667, 0.093777777778, 0.001)
    assert found.matrix.kept.tolist() == exactly(0.703111111111, 0.395851851852, 0.334)
    assert found.matrix.greatest_posteriors(prior).tolist() == exactly(
        0.840047790329, 0.365883299386, 0.168920690818
    )


@pytest.mark.spec("BL-T19")
def test_two_draws_tell_more_than_the_bound_allows():
    matrix, prior = published_matrix(of(SIX_THREE_ONE, 2)).matrix, SIX_THREE_ONE / 10
    found = posterior([matrix, matrix], prior, [2, 2])
    assert found.tolist() == exactly(0.185523020847, 0.354455611134, 0.460021368019)
    assert found[2] > bounds_of(SIX_THREE_ONE, 2)[2]
    together = posteriors_together([matrix, matrix], prior)
    rows = matrix.dense()
    for first in range(3):
        for second in range(3):
            by_bayes = prior * rows[first] * rows[second]
            assert posterior([matrix, matrix], prior, [first, second]).tolist() == exactly(
                *by_bayes / by_bayes.sum()
            )
            assert (by_bayes / by_bayes.sum() <= together * (1 + 1e-12)).all()


@pytest.mark.spec("BL-11")
def test_a_large_group_tells_its_values_whatever_beta_is():
    """Errata 16 and 17: the bound is for who reads one record; counts of a group of equals give it away."""
    totals = np.array([5000, 5000, 5000, 5000])
    context = MechanismContext(by_hand.table_of(totals, np.repeat([1, 2, 1, 2], totals)))
    drawn = PERTURBATION.draw(context, Perturbation(beta=1), by_hand.stream("group"))
    group = np.flatnonzero(drawn.columns[0] == 1)
    numbers = drawn.published.numbers(context.table.hierarchies[1])
    shown = np.bincount(numbers[drawn.columns[1][group]], minlength=4)
    rebuilt = InverseMatrix(drawn.published.matrix).applied(shown.astype(float)) / len(group)
    assert rebuilt.tolist() == pytest.approx([0.5, 0, 0.5, 0], abs=0.1)
    assert any("Groups of many records" in own for own in planned(totals, beta=1).warnings)
    [guarantee] = planned(totals, beta=1).guarantees
    assert {own.id: own.holds for own in guarantee.hypotheses}["own_record_only"] == "assumed"
    assert "definition 6" in guarantee.claimed_by_source


def test_one_retention_of_0_can_be_inverted_and_two_cannot():
    matrix = TransitionMatrix(np.array([0.5, 0.0, 0.2, 0.3]))
    inverse = InverseMatrix(matrix)
    found = inverse.applied(np.eye(4)).T
    assert found == pytest.approx(np.linalg.inv(matrix.dense()), abs=1e-12)
    assert inverse.condition == pytest.approx(np.linalg.cond(matrix.dense(), 1))
    with pytest.raises(NotSupported, match="condition number is inf"):
        InverseMatrix(TransitionMatrix(np.array([0.5, 0.0, 0.0, 0.3])))
    with pytest.raises(NotSupported, match="condition number is"):
        InverseMatrix(TransitionMatrix(np.array([0.5, 1e-14, 1e-14, 0.3])))
