"""What the page of a verdict says beyond its document: words for outcomes, pictures, and what they mean."""

from __future__ import annotations

import math
from typing import Any, Final

from markupsafe import Markup

from app.charts.drawing import Caption
from app.charts.rows import Amount, Margin, draw_amounts, draw_margins
from app.reports.assumptions import assumptions_of, rows_sentence
from app.reports.numbers import number, records

Document = dict[str, Any]
MOST_PAIRS: Final = 200
"""Of views, as many as a page shows."""

VERDICTS: Final = {
    "pass": ("Passed", "The release keeps every blocking criterion of the policy."),
    "fail": (
        "Failed",
        "The release does not keep every blocking criterion of the policy: do not release it.",
    ),
    "error": (
        "Not decided",
        "A blocking criterion could not be computed. That is no pass: do not release before it can be.",
    ),
}
VIEWS: Final = {
    "pass": ("Passed", "The views keep every blocking criterion of the policy."),
    "fail": (
        "Failed",
        "The views do not keep every blocking criterion of the policy: do not publish them.",
    ),
    "error": (
        "Not decided",
        "A blocking criterion could not be decided. That is no pass: do not publish before it can be.",
    ),
}
COLUMNS: Final = {
    "not_covered": (
        "Failed",
        "Columns of the release are not covered by any blocking criterion: do not release it.",
    ),
    "not_of_dataset": (
        "Failed",
        "The dataset cannot have produced the rows of the release file: do not release it.",
    ),
    "draft_schema": (
        "Not decided",
        "Nobody answers for the roles of the columns yet. That is no pass: do not release before that.",
    ),
    "missing_reason": (
        "Not decided",
        "Nobody has written why columns may leave. That is no pass: do not release before somebody does.",
    ),
    "not_computable": (
        "Not decided",
        "What the columns single out is not known. That is no pass: do not release before it is.",
    ),
}
"""Outcomes of the check of the columns that let nothing pass, whatever the criteria found."""
OUTCOMES: Final = {
    "passed": "passed",
    "failed": "failed",
    "waived": "failed, waived",
    "not_computable": "not computable",
}
COMPARISONS: Final = {
    "at_least": "at least",
    "at_most": "at most",
    "above": "above",
    "below": "below",
    "equals": "equal to",
}
GUARANTEES: Final = {
    "exact": "exact",
    "bound": "a proven bound",
    "statistical": "an estimate with a standard error",
    "heuristic": "an estimate without a bound of its error",
}
CHANGES: Final = {
    "found": "The nearest change that passes",
    "none_exists": "No change that only generalises this rule further passes; another rule may",
    "not_found": "Among changes that only generalise this rule further none was found that passes; there may "
    "be one, and another rule may pass",
}


def sections(report: Document) -> Document:
    """The values of the template ``verdict.html``."""
    result: Document = report["result"]
    criteria, risks = result["criteria"], result.get("risk") or {}
    # The pairs of a secret and a view that are not private.
    pairs = [pair for own in criteria for pair in own.get("pairs") or ()]
    open_pairs = [pair for pair in pairs if pair["verdict"] in ("DISCLOSES", "UNKNOWN")]
    return {
        "result": result,
        "judged": judged_of(result["subject"]),
        "open_pairs": open_pairs[:MOST_PAIRS],
        "more_pairs": max(0, len(open_pairs) - MOST_PAIRS),
        "heading": _heading(result),
        "rows": rows_sentence(result),
        "summary": _summary(criteria),
        "outcomes": OUTCOMES,
        "comparisons": COMPARISONS,
        "guarantees": GUARANTEES,
        "changes": [_change(own, criteria) for own in result["changes"]],
        "margins": _margins(criteria),
        **_by_questions(report.get("policy") or {}, criteria),
        "risks": [
            {"slot": slot, **risk, "picture": quantiles(f"risk-{place}", f"Risk under {slot}", risk)}
            for place, (slot, risk) in enumerate(sorted(risks.items()))
            if risk is not None
        ],
        "assumptions": [
            *(assumptions_of(report) if _is_scored(result) else ()),
            *result.get("assumptions", ()),
        ],
        "is_scored": _is_scored(result),
        "parameters": _parameters(report["parameters"], _is_scored(result)),
        "found": {own["id"]: _found(own) for own in criteria},
        "worst": [own for own in criteria if own["worst"] and own["outcome"] != "passed"],
        "waived": [own for own in criteria if own["waiver"]],
        "grouped": [own for own in criteria if any(part.get("group") for part in own["parts"])],
    }


def judged_of(subject: Document) -> str:
    """What was judged: the dataset by its name, or how many views."""
    if "views" not in subject:
        return str(subject["dataset"])
    count = len(subject["views"])
    return f"{count:,} view{'' if count == 1 else 's'}"


def _by_questions(policy: Document, criteria: list[Document]) -> Document:
    """The questions of the policy's outline with the criteria that answer them, and those that answer none.

    Without an outline there are no questions.
    """
    by_id = {own["id"]: own for own in criteria}
    outline: list[Document] = policy.get("outline") or []
    questions = [
        {**own, "criteria": [by_id[id_] for id_ in own["requirements"] if id_ in by_id]} for own in outline
    ]
    named = {id_ for own in outline for id_ in own["requirements"]}
    return {"questions": questions, "unasked": [own for own in criteria if own["id"] not in named]}


def _is_scored(result: Document) -> bool:
    """Whether anything of the verdict is about harm: then it matters how harm was counted."""
    return bool(result["risk"]) or any(_asks_for_harm(own["demand"], result) for own in result["criteria"])


def _parameters(parameters: Document, is_scored: bool) -> Document:
    """What recomputing needs; how harm would be counted is left out where nothing is about harm."""
    options = parameters.get("options")
    if is_scored or not options:
        return parameters
    of_harm = ("risk_model", "absent_policy")
    return {**parameters, "options": {key: own for key, own in options.items() if key not in of_harm}}


def _asks_for_harm(condition: Document, result: Document) -> bool:
    match condition["kind"]:
        case "privacy_model" | "perfect_privacy":
            return False
        case "optimum":
            return bool(condition["objective"]["kind"] != "min_loss")
        case "measure":
            return result["subject"].get("sensitivity") is not None
        case _:
            return True


def _found(criterion: Document) -> Document:
    """The value, what it is a number of, and what it must be; a share of records in records."""
    value, threshold = criterion["value"], criterion["threshold"]
    quantity = criterion.get("quantity") or {"what": "", "of_records": None}
    of = quantity["of_records"]
    wanted = number(threshold)
    if of is not None and threshold:
        wanted = f"{number(100 * float(threshold))} %"
    comparison, what = COMPARISONS.get(criterion["comparison"], ""), quantity["what"]
    shown = number(value) if of is None else f"{number(round(float(value) * of))} of {records(of)}"
    return {
        "value": shown,
        "what": what,
        "said": (f"{what} {shown}" if of is None else f"{shown} {what}").strip(),
        "wanted": f"{comparison} {wanted}".strip(),
    }


def _heading(result: Document) -> tuple[str, str]:
    """The verdict and what it means, of columns where it is they that stand in the way."""
    outcome = (result.get("coverage") or {}).get("outcome", "covered")
    if "views" in result["subject"]:
        word, meaning = VIEWS[result["verdict"]]
        keys = sorted({own["demand"].get("keys", "considered") for own in result["criteria"]})
        return word, f"{meaning} Keys are {' or '.join(keys)}."
    return COLUMNS.get(outcome, VERDICTS[result["verdict"]])


def _summary(criteria: list[Document]) -> str:
    """``3 criteria passed, 1 failed …``, with warnings told apart."""
    words = []
    for outcome, word in OUTCOMES.items():
        found = [own for own in criteria if own["outcome"] == outcome]
        if found:
            warn = sum(own["severity"] == "warn" for own in found)
            only = f" ({warn} of them only a warning)" if warn and outcome != "passed" else ""
            words.append(f"{len(found)} {word}{only}")
    return f"Of {len(criteria)} criteria: " + ", ".join(words) + "."


def _margins(criteria: list[Document]) -> Markup | None:
    """The picture of how far each number is from its threshold."""
    judged = [own for own in criteria if own["margin"] is not None and not isinstance(own["value"], bool)]
    if not judged:
        return None
    rows = [
        Margin(
            own["id"],
            _relative(float(own["margin"]), float(own["threshold"])),
            float(own["margin"]) >= 0 and own["outcome"] == "passed",
            f"{found['said']} ({found['wanted']})",
        )
        for own, found in ((own, _found(own)) for own in judged)
    ]
    caption = Caption(
        "margins",
        "Distance of each criterion from its threshold",
        "; ".join(f"{row.name}: {row.text}, {'passes' if row.passes else 'fails'}" for row in rows),
    )
    return Markup(draw_margins(caption, rows))  # noqa: S704 - texts are escaped where it is drawn


def _relative(margin: float, threshold: float) -> float:
    if math.isinf(margin) or threshold == 0 or math.isinf(threshold):
        return math.copysign(1.0, margin) if margin else 0.0
    return margin / abs(threshold)


def quantiles(place: str, title: str, risk: Document) -> Markup:
    """Mean, quantiles and maximum of the records' risks as bars on one scale."""
    named = [
        ("mean", risk["risk_average"]),
        *(
            (f"{100 * float(q):g} % are at most", risk["loss_quantiles"][q])
            for q in sorted(risk["loss_quantiles"], key=float)
        ),
        ("greatest", risk["risk_max"]),
    ]
    rows = [Amount(name, max(float(value), 0.0), number(value)) for name, value in named]
    caption = Caption(place, title, "; ".join(f"{row.name} {row.text}" for row in rows))
    return Markup(draw_amounts(caption, rows))  # noqa: S704 - texts are escaped where it is drawn


def _change(change: Document, criteria: list[Document]) -> Document:
    titles = {own["id"]: own["title"] for own in criteria}
    words = CHANGES[change["status"]]
    if change["status"] == "found" and not change["proven"]:
        words = "A change that passes, perhaps not the nearest"
    whom = "all criteria" if change["for"] == "all" else titles.get(change["for"], change["for"])
    return {**change, "words": words, "whom": whom}
