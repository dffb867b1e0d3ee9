"""Which documents let a release pass: only whole ones that agree with themselves."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.cli.gate_verdict import Outcome, read_verdict, shown
from app.domain.errors import InvalidInput
from tests.oracles.effort import examples
from tests.unit.cli.verdict_documents import ERROR, FAIL, PASS, criterion, verdict

EVIDENCE = {"id": "e", "sha256": "0"}
OUTCOMES = ("passed", "failed", "waived", "not_computable")


def exit_code(document: object) -> int:
    try:
        read = read_verdict(document)
    except InvalidInput:
        return 2
    return Outcome("p", "d", read, None, "name", EVIDENCE).exit_code


@pytest.mark.parametrize(("document", "code"), [(PASS, 0), (FAIL, 1), (ERROR, 2)])
def test_the_exit_status_is_the_verdict(document, code):
    assert exit_code(document) == code


def test_without_evidence_or_with_a_fault_nothing_passes():
    passed = read_verdict(PASS)
    assert Outcome("p", "d", passed, None, "name", None).exit_code == 2
    assert Outcome("p", "d", passed, "The disk is full.", "name", EVIDENCE).exit_code == 2
    assert Outcome("p", "d", None, None).exit_code == 2


CRITERIA = st.lists(
    st.tuples(st.sampled_from(OUTCOMES), st.sampled_from(["block", "warn"])),
    max_size=6,
)


@given(kinds=CRITERIA, status=st.sampled_from(["pass", "fail", "error", "PASS", "", None, True]))
@settings(max_examples=examples(300))
def test_0_only_for_a_pass_of_which_no_criterion_blocks(kinds, status):
    """The rule by a loop over the criteria, for every claimed verdict."""
    criteria = [criterion(f"c{n}", *kind) for n, kind in enumerate(kinds)]
    expected = "pass"
    for outcome, severity in kinds:
        if severity == "block" and outcome == "not_computable":
            expected = "error"
        elif severity == "block" and outcome == "failed" and expected == "pass":
            expected = "fail"
    code = exit_code(verdict(status, *criteria))
    if not kinds or status != expected:
        assert code == 2
    else:
        assert code == {"pass": 0, "fail": 1, "error": 2}[expected]


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(allow_nan=True) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=5,
)
PARTS = (
    ("kind",), ("version",), ("verdict",), ("policy",), ("criteria",), ("criteria", 0),
    ("criteria", 0, "outcome"), ("criteria", 0, "severity"), ("criteria", 0, "margin"), ("criteria", 0, "id"),
    ("criteria", 2, "waiver"), ("criteria", 2, "waiver", "in_force"),
)  # fmt: skip


@given(part=st.sampled_from(PARTS), value=JSON_VALUES)
@settings(max_examples=examples(400))
def test_a_failing_document_is_made_to_pass_by_no_single_change(part, value):
    document = copy.deepcopy(
        verdict("pass", criterion("a", "failed"), criterion("b"), criterion("c", "waived"))
    )
    assert exit_code(document) == 2
    place = document
    for step in part[:-1]:
        place = place[step]
    place[part[-1]] = value
    code = exit_code(document)
    changed = (
        document["criteria"][0] if isinstance(document["criteria"], list) and document["criteria"] else None
    )
    if code == 0:
        # The change has made the criterion one that does not block.
        assert changed["outcome"] in ("passed", "waived") or changed["severity"] == "warn"


@given(document=JSON_VALUES)
@settings(max_examples=examples(200))
def test_any_other_document_is_an_error(document):
    assert exit_code(document) == 2


@pytest.mark.parametrize(
    "wrong",
    [
        verdict("pass"),
        verdict("pass", criterion("a", margin=-1e-6)),
        verdict("pass", criterion("a", margin="-inf")),
        verdict("pass", criterion("a", margin=float("nan"))),
        verdict("pass", criterion("a", margin=True)),
        verdict("pass", criterion("a", value=4)),
        verdict("pass", criterion("a", value=4, margin=None)),
        verdict("pass", criterion("a", value="-inf")),
        verdict("pass", criterion("a", value=float("nan"))),
        verdict("pass", criterion("a", value=True)),
        verdict("pass", criterion("a", value="6")),
        verdict("pass", criterion("a", threshold=None)),
        verdict("pass", criterion("a", comparison="at_most")),
        verdict("pass", criterion("a", comparison="unlike")),
        verdict("pass", criterion("a", "waived", waiver=None)),
        verdict("pass", criterion("a", "waived", waiver={"in_force": False})),
        verdict("pass", criterion("a", severity="none")),
        verdict("pass", criterion("a"), criterion("a")),
        verdict("pass", criterion("a") | {"hypotheses": "assumed"}),
        verdict("pass", criterion("a") | {"hypotheses": [{"holds": "yes"}, "assumed"]}),
        verdict("pass", criterion("a") | {"hypotheses": 1}),
        verdict("pass", criterion("a") | {"quantity": ["share"]}),
        verdict("pass", criterion("a") | {"quantity": {"of_records": "12"}}),
        verdict("fail", criterion("a", "failed") | {"quantity": {"of_records": 12}, "value": "half"}),
        PASS | {"version": 2},
        PASS | {"kind": "assessment"},
        PASS | {"policy": {}},
        PASS | {"criteria": {"a": "passed"}},
        None,
        "pass",
    ],
)
def test_a_document_that_does_not_agree_with_itself_is_no_verdict(wrong):
    with pytest.raises(InvalidInput):
        read_verdict(wrong)


def test_numbers_are_shown_as_people_read_them():
    assert [shown(v) for v in (True, False, 12345, 0.25, "inf", "-inf", None)] == [
        "yes", "no", "12,345", "0.25", "∞", "−∞", "–",
    ]  # fmt: skip
