"""A gate's outcome as JUnit XML: a test case per criterion."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from app.cli.gate_text import FAILING, explanation_of, standing_of, uncovered_of, waiver_text
from app.cli.gate_verdict import JudgedCriterion, Outcome, Standing, Verdict
from app.cli.gate_views import lines_of_pairs
from app.cli.plain_lines import plain_line
from app.reports.assumptions import rows_sentence

_NOT_IN_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

_ELEMENTS = {
    Standing.FAILED: "failure",
    Standing.ERROR: "error",
    Standing.WARNING: "skipped",
    Standing.WAIVED: "skipped",
}


def junit_of(outcome: Outcome) -> str:
    """One suite; criteria that do not block are skipped cases, so that pipelines show them and go on."""
    verdict = outcome.verdict
    name = _clean(verdict.policy if verdict else outcome.policy)
    suite = Xml.Element("testsuite", name=name)
    if verdict is not None and (rows := rows_sentence(verdict.document)):
        Xml.SubElement(Xml.SubElement(suite, "properties"), "property", name="rows_are", value=_clean(rows))
    for criterion in verdict.criteria if verdict else ():
        suite.append(_case(criterion, outcome, name))
    if verdict is not None and standing_of(verdict) != "covered":
        suite.append(_columns(verdict, name))
    if outcome.fault is not None or verdict is None:
        case = Xml.SubElement(suite, "testcase", classname=name, name="the gate gives a verdict")
        Xml.SubElement(case, "error", type="fault", message=_clean(outcome.fault or "There is no verdict."))
    counted = {kind: len(suite.findall(f"testcase/{kind}")) for kind in ("failure", "error", "skipped")}
    totals = {
        "tests": str(len(suite.findall("testcase"))),
        "failures": str(counted["failure"]),
        "errors": str(counted["error"]),
        "skipped": str(counted["skipped"]),
    }
    suite.attrib.update(totals)
    suites = Xml.Element("testsuites", {"name": "privacy-risk gate", **totals})
    suites.append(suite)
    Xml.indent(suites)
    return Xml.tostring(suites, encoding="unicode", xml_declaration=True) + "\n"


def _columns(verdict: Verdict, suite: str) -> Xml.Element:
    """The case of the columns that are not covered, or of a schema that nobody answers for."""
    case = Xml.Element("testcase", classname=suite, name="every released column is covered")
    kind = "failure" if uncovered_of(verdict) and standing_of(verdict) in FAILING else "error"
    element = Xml.SubElement(case, kind, message=_clean(explanation_of(verdict)), type=standing_of(verdict))
    element.text = "\n".join(_clean(f"{own['message']} {own['remedy']}") for own in uncovered_of(verdict))
    return case


def _case(criterion: JudgedCriterion, outcome: Outcome, suite: str) -> Xml.Element:
    case = Xml.Element("testcase", classname=suite, name=_clean(f"{criterion.id}: {criterion.title}"))
    kind = _ELEMENTS.get(criterion.standing)
    if kind is not None:
        waiver = criterion.document.get("waiver")
        message = f"{criterion.standing}: {criterion.value_and_threshold}. {criterion.explanation}"
        if criterion.standing is Standing.WAIVED:
            message = f"{waiver_text(waiver or {})} {message}"
        element = Xml.SubElement(case, kind, message=_clean(message))
        if kind != "skipped":
            element.set("type", criterion.standing)
            lines = (criterion.explanation, criterion.reason, *lines_of_pairs(criterion, outcome))
            element.text = "\n".join(map(_clean, lines))
    return case


def _clean(text: str) -> str:
    """The text on one line, without characters that XML has no way to write."""
    return _NOT_IN_XML.sub("�", plain_line(text))
