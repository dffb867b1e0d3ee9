"""What the command says of released columns in every format; it believes no verdict without them."""

from __future__ import annotations

import json
from xml.etree import ElementTree as Xml

import pytest

from app.cli.gate import FORMATS
from app.cli.gate_verdict import Outcome, read_verdict
from app.domain.errors import InvalidInput
from tests.unit.cli.verdict_documents import NOT_COVERED, PASS, coverage, criterion, verdict

FAILED = verdict("fail", criterion("a"), coverage=NOT_COVERED)
DRAFT = verdict(
    "error",
    criterion("a"),
    coverage=coverage("draft_schema", explanation="The policy's schema is a draft.", columns=[]),
)


def told(document, format_: str) -> str:
    return FORMATS[format_](Outcome("policy.yaml", "members.csv", read_verdict(document), None))


@pytest.mark.parametrize("format_", FORMATS)
@pytest.mark.parametrize(("document", "said"), [(FAILED, "the column 'remark'"), (DRAFT, "is a draft")])
def test_what_is_not_covered_is_said_in_every_format(format_, document, said):
    text = told(document, format_).replace("\\", "")
    assert said in text.replace("&#x27;", "'")


@pytest.mark.parametrize("format_", ["text", "markdown"])
def test_every_column_is_listed_with_role_giver_levels_and_judges(format_):
    text = told(FAILED, format_).replace("\\", "")
    assert "city: quasi-identifier by the policy; level 1 of 3; singles out 0 %; judged by a" in text
    assert (
        "remark: sensitive by the policy; levels unknown; singles out 100 %; judged by no requirement" in text
    )
    assert "This release was judged alone; no earlier releases of the same data are known here." in text


def test_programs_see_a_failure_of_the_columns():
    suite = Xml.fromstring(told(FAILED, "junit"))
    assert suite.attrib["failures"] == "1"
    suite = Xml.fromstring(told(DRAFT, "junit"))
    assert suite.attrib["errors"] == "1"
    (found,) = json.loads(told(FAILED, "sarif"))["runs"][0]["results"]
    assert found["level"] == "error"


@pytest.mark.parametrize(
    "more",
    [
        {"coverage": None},
        {"coverage": NOT_COVERED},
        {"coverage": coverage("draft_schema")},
        {"coverage": coverage("not_computable")},
        {"coverage": coverage(uncovered=NOT_COVERED["uncovered"])},
        {"coverage": coverage("not_covered")},
        {"coverage": coverage("fine")},
    ],
)
def test_no_pass_is_believed_beside_columns_that_are_not_covered(more):
    with pytest.raises(InvalidInput):
        read_verdict(PASS | more)
