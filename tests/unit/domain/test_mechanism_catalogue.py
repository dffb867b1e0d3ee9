"""What the catalogue says of each mechanism, against what its plans say."""

from __future__ import annotations

import pytest

from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.mechanisms.guarantee_models import MODEL_OF
from app.domain.mechanisms.mechanism import MechanismContext
from tests.oracles.perturbation_by_hand import table_of
from tests.unit.domain.mechanism_questions import QUESTIONS


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda own: own.name)
def test_the_catalogue_tells_every_constant_and_guarantee_of_plans(mechanism):
    table = table_of([700, 200, 100])
    context = MechanismContext(table, public=frozenset(table.attributes))
    plans = [mechanism.plan(context, mechanism.parameters(**own)) for own in QUESTIONS[mechanism.name]]
    assert {name for plan in plans for name in plan.constants} == mechanism.constants.keys()
    stated = [own for plan in plans for own in plan.guarantees]
    # What is always worth nothing is listed as no promise.
    assert {own.model for own in stated if own.status != "none"} == set(mechanism.guarantees)
    assert set(mechanism.guarantees) <= MODEL_OF.keys()
    assert all(own.endswith(".") for own in mechanism.constants.values())
