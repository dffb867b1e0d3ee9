"""What a request says about utility: what is built, stored and reported of it."""

from __future__ import annotations

from typing import Any

import pytest

from app.domain.errors import InvalidInput
from app.services.fingerprints import sha256_of
from app.services.scoring.assessment_results import more_results
from app.services.scoring.scoring_options import UtilitySpec
from tests.unit.domain.fixture_f import T, nodes

CUSTOM = UtilitySpec("custom", values={name: {"Low": 1} for name in T.attributes})


@pytest.mark.parametrize(
    ("spec", "document"),
    [
        (UtilitySpec(), "depth_sum"),
        (UtilitySpec("info_loss_lm", weights={"city": 1}), "info_loss_lm"),
        (UtilitySpec(weights={"city": 2}), {"kind": "depth_sum", "weights": {"city": 2.0}}),
        (
            UtilitySpec("log_leaves", round_before_constraint=True, display_rounding="nearest"),
            {"kind": "log_leaves", "round_before_constraint": True, "display_rounding": "nearest"},
        ),
        (
            UtilitySpec("custom", values={"race": {"Asian": 1}}),
            {"kind": "custom", "values": {"race": {"Asian": 1.0}}},
        ),
    ],
)
def test_equal_utilities_have_one_document_that_can_be_read_again(spec: UtilitySpec, document: Any) -> None:
    assert spec.document() == document
    again = UtilitySpec.of(spec.document())
    assert again.document() == document
    assert sha256_of(spec.document()) == sha256_of(document)


def test_lists_show_of_custom_values_only_how_many_there_are() -> None:
    assert UtilitySpec().shown() == "depth_sum"
    assert CUSTOM.shown() == {"kind": "custom", "values": dict.fromkeys(T.attributes, 1)}


def test_the_weights_and_values_of_a_request_are_checked() -> None:
    with pytest.raises(InvalidInput) as caught:
        UtilitySpec("custom", {"zip": 2.0}, {"race": {"Martian": 1.0}}).on(T)
    assert {fault.code for fault in caught.value.faults} >= {"unknown-attribute", "unknown-value"}


@pytest.mark.spec("E-16")
def test_a_loss_model_reports_its_loss_beside_the_utility() -> None:
    utility = UtilitySpec("info_loss_lm").on(T)
    rows = nodes(("Indiana", "White", None), (None, None, None))
    found = more_results(UtilitySpec("info_loss_lm"), utility, *utility.of(rows).tolist())
    assert found == pytest.approx({"information_loss_average": 1.5, "information_loss_max": 3.0})
    assert more_results(UtilitySpec(), UtilitySpec().on(T), 2.5, 1.0) == {}


@pytest.mark.spec("E-15")
def test_rounding_is_for_display_and_beside_the_exact_mean() -> None:
    spec = UtilitySpec(display_rounding="nearest")
    assert more_results(spec, spec.on(T), 2.5, 1.0) == {"utility_average_displayed": 3.0}
    loss = UtilitySpec("info_loss_lm", display_rounding="nearest")
    found = more_results(loss, loss.on(T), 1.75, 0.0)
    assert found == {
        "information_loss_average": 1.25,
        "information_loss_max": 3.0,
        "utility_average_displayed": 2.0,
        "information_loss_average_displayed": 1.0,
    }
