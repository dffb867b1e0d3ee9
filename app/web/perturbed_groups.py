"""What groups of a table tell after perturbation: by size, and of the worst by each way to perturb them."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from app.web.forms import Fault, Form
from app.web.measured import answered, measured
from app.web.visits import Page, Visit
from privacy_risk import Json, ProblemError

GROUPS: Final = 3
TENTHS: Final = 10
BOUNDS: Final = ("chernoff_simple", "chernoff_full")
"""Criteria that bound samples: the first one where an exact one is asked for."""
USUAL: Final = {"p": 0.5, "epsilon": 0.3, "delta": 0.3}
CRITERIA: Final = {
    "chernoff_simple": "chernoff_simple: the published upper bound",
    "chernoff_full": "chernoff_full: a tighter upper bound",
    "exact_total": "exact_total: the probability of a bad estimate",
    "exact_min": "exact_min: the probability either way",
}
"""Those of the interface, in words; the first is the usual one."""
WAYS: Final = {
    "plain": "plain: every value is perturbed",
    "balanced_fixed": "samples, balanced_fixed",
    "balanced": "samples, balanced",
    "paper": "samples, paper",
}
"""The modes of the interface, in words."""


async def groups(visit: Visit) -> Page:
    """The groups of a dataset, perhaps under a rule, for the p, ε, δ and criterion of the query."""
    dataset = (await visit.client.datasets.get(visit.ref)).document
    sent = visit.request.query_params
    form = Form({name: sent.getlist(name) for name in (*USUAL, "criterion", "attribute") if name in sent})
    sensitive = [own["name"] for own in dataset["attributes"] if own["role"] == "sensitive"]
    rule = visit.asked("rule")
    shown: dict[str, Any] = {
        "dataset": dataset,
        "form": form,
        "usual": USUAL,
        "criteria": list(CRITERIA.items()),
        "sensitive": sensitive,
        "choices": [(name, name) for name in sensitive],
        "rule": rule,
        "ways": WAYS,
        "found": None,
        "errors": None,
        "is_waited_for": False,
    }
    if not sensitive or not {"assess", "data:read"} <= set(visit.key["scopes"]):
        return Page("perturbed_groups.html", shown)
    form, measure = _question(form, sensitive)
    shown["bound"] = _bound(measure)
    if not form.faults:
        try:
            of, content = await _measured(visit, dataset, rule)
            shown["found"], shown["errors"] = await asyncio.gather(
                answered(visit, {**of, "measure": measure}, content),
                measured(visit, {**of, "measure": _errors(measure)}, content),
            )
            shown["is_waited_for"] = shown["found"] is None
        except ProblemError as problem:
            form = form.refused(problem, lambda place: place.removeprefix("measure/"))
    return Page("perturbed_groups.html", {**shown, "form": form}, 422 if form.faults else 200)


def _question(form: Form, sensitive: list[str]) -> tuple[Form, Json]:
    """What is asked; what is no number is told beside its field."""
    measure: dict[str, Any] = {"kind": "reconstruction_privacy", "top": GROUPS, "by_mode": GROUPS}
    measure["attribute"] = form.text("attribute", sensitive[0])
    measure["criterion"] = form.text("criterion", next(iter(CRITERIA)))
    for name, usual in USUAL.items():
        try:
            measure[name] = form.number(name, usual)
        except ValueError:
            form = form.with_faults(Fault(name, "This is no number.", "Give one."))
    return form, measure


def _errors(measure: Json) -> Json:
    """What is asked of the errors of counts: for tenths of p, up to p itself."""
    p = measure["p"]
    same = {name: measure[name] for name in ("attribute", "epsilon", "delta")}
    tenths = [p * tenth / TENTHS for tenth in range(1, TENTHS + 1)]
    return {"kind": "expected_count_errors", **same, "p": tenths, "p_cap": p, "bound": _bound(measure)}


def _bound(measure: Json) -> str:
    """By which samples are small enough."""
    return str(measure["criterion"]) if measure["criterion"] in BOUNDS else BOUNDS[0]


async def _measured(visit: Visit, dataset: Json, rule: str | None) -> tuple[Json, str]:
    """What is measured, and the hash of it."""
    of, content = {"dataset": dataset["name"]}, str(dataset["sha256"])
    if rule is not None:
        of["rule"] = rule
        content += f" {(await visit.client.rules.get(rule)).document['sha256']}"
    return of, content
