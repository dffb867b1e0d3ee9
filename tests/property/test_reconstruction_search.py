"""Rules after which plain perturbation is enough: found as by trying every rule."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from app.domain.classes.reconstruction_groups import TESTS
from app.domain.models.reconstruction_privacy import ReconstructionPrivacy
from tests.oracles.effort import examples
from tests.oracles.least_loss import questions, same_as_by_hand


@st.composite
def whole_questions(draw):
    """A table of which every record has its sensitive values, and the criterion, alone or with another."""
    table, problem = draw(questions(("k_anonymity",)))
    codes = table.codes.copy()
    for name in table.sensitive:
        column = codes[:, table.position(name)]
        column[column == 0] = 1
    criterion = ReconstructionPrivacy(
        draw(st.sampled_from([0.4, 0.7])),
        0.9,
        draw(st.sampled_from([0.3, 0.5, 0.85])),
        draw(st.sampled_from(TESTS)),
        draw(st.sampled_from([1, 2])),
        draw(st.sampled_from(sorted(table.sensitive))),
    )
    privacy = (criterion, *problem.privacy[: draw(st.integers(0, 1))])
    return replace(table, codes=codes), replace(problem, privacy=privacy)


@given(whole_questions())
@settings(deadline=None, max_examples=examples(90))
def test_the_rule_of_least_loss_is_that_of_trying_them_all(question):
    same_as_by_hand(*question)
