"""Whether a release's guarantees keep a requirement: what they state, what they are worth, what they rest on.

A guarantee is judged by what is left of it once every hypothesis that is known not to hold is counted. Of
several the one that keeps the requirement best stands for it, or else the one that falls short in least.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from app.domain.catalogue.catalogue_types import Hypothesis
from app.domain.errors import NotSupported
from app.domain.gates.findings import Finding, held
from app.domain.mechanisms.guarantee import PrivacyGuarantee
from app.domain.mechanisms.guarantee_models import ATTRIBUTE, GuaranteeModel, is_worth, worth
from app.domain.policies.comparison import SYMBOLS, WORDS, number
from app.domain.policies.guarantee_bounds import GuaranteeBounds
from app.domain.policies.guarantee_condition import GuaranteeCondition


@dataclass(frozen=True)
class _Judged:
    """A guarantee with why it does not keep the requirement, a clause each; empty if it does."""

    guarantee: PrivacyGuarantee
    shortfalls: tuple[str, ...]
    order: tuple[float, ...]


def finding_of_guarantees(
    condition: GuaranteeCondition, guarantees: Sequence[PrivacyGuarantee], sensitive: Collection[str]
) -> Finding:
    """What is found of the guarantees of a release, as they stand, with these sensitive attributes.

    NotSupported if the requirement does not say which of several attributes is meant.
    """
    bounds = condition.bounds
    attribute = _attribute(bounds, sensitive)
    judged = [
        _judged(bounds, condition, own)
        for own in guarantees
        if own.model == condition.model and own.parameters.get(ATTRIBUTE) == attribute
    ]
    if not judged:
        return _finding(False, _nothing_promised(bounds.model, attribute, guarantees), None)
    best = min(judged, key=lambda own: own.order)
    said = _said(bounds.model, best.guarantee, attribute)
    if best.shortfalls:
        return _finding(False, f"{said} It falls short: {'; '.join(best.shortfalls)}.", best.guarantee)
    return _finding(True, f"{said}{_resting_on(best.guarantee)}", best.guarantee)


def _attribute(bounds: GuaranteeBounds, sensitive: Collection[str]) -> str | None:
    if bounds.attribute is not None or not bounds.model.is_of_one_attribute:
        return bounds.attribute
    if len(sensitive) != 1:
        listed = ", ".join(map(repr, sorted(sensitive))) or "none"
        raise NotSupported(
            f"The requirement does not say which attribute its guarantee is about; sensitive are: {listed}.",
            "Name one as attribute beside the model's kind.",
        )
    return next(iter(sensitive))


def _judged(bounds: GuaranteeBounds, condition: GuaranteeCondition, own: PrivacyGuarantee) -> _Judged:
    shortfalls = [
        f"{_symbol(bound.parameter)} is {_stated(own, bound.parameter)}; it must be "
        f"{WORDS[bound.comparison]} {number(bound.threshold)}"
        for bound in bounds.numbers
        if not bound.is_kept_by(own)
    ]
    shortfalls += [
        f"{_symbol(name)} is {_stated(own, name)}; it must be at least {bounds.choice(name)}"
        for name in bounds.model.choices
        if not bounds.is_kept_by(own, name)
    ]
    failing = [found for found in own.hypotheses if found.holds == "no"]
    if failing:
        shortfalls.append(f"nothing of it stands, because {_listed(failing)}")
    elif not is_worth(own.standing, condition.status):
        shortfalls.append(f"it is {_words(own.standing)}; it must be at least {_words(condition.status)}")
    if own.rests_on_assumptions and not condition.may_rest_on_assumptions:
        assumed = ", ".join(_words(found.id) for found in own.hypotheses if found.holds == "assumed")
        shortfalls.append(f"it rests on assumptions, which the policy does not allow: {assumed}")
    numbers = [
        (-1 if value.marks.safer == "high" else 1) * float(own.parameters.get(name) or 0)
        for name, value in bounds.model.numbers.items()
    ]
    order = (len(shortfalls), -worth(own.standing), own.rests_on_assumptions, *numbers)
    return _Judged(own, tuple(shortfalls), order)


def _finding(stands: bool, explanation: str, guarantee: PrivacyGuarantee | None) -> Finding:
    hypotheses = () if guarantee is None else guarantee.hypotheses
    part = held(stands, "equals", True)
    return Finding("equals", True, (part,), "exact", explanation, hypotheses=hypotheses, promised=guarantee)


def _nothing_promised(
    model: GuaranteeModel, attribute: str | None, guarantees: Sequence[PrivacyGuarantee]
) -> str:
    others = "; ".join(
        f"{_words(own.model)} of {own.parameters[ATTRIBUTE]!r}"
        if ATTRIBUTE in own.parameters
        else _words(own.model)
        for own in guarantees
    )
    of = "" if attribute is None else f" of {attribute!r}"
    return f"The release promises no {model.title}{of}. It promises: {others or 'nothing'}."


def _said(model: GuaranteeModel, own: PrivacyGuarantee, attribute: str | None) -> str:
    """Such as: The release promises β-likeness of 'illness' (β = 2, enhanced), certified."""
    if own.status == "none":
        return own.sentence
    told = [f"{_symbol(name)} = {_stated(own, name)}" for name in model.numbers if name in own.parameters]
    told += [_stated(own, name) for name in model.choices if name in own.parameters]
    of = "" if attribute is None else f" of {attribute!r}"
    return f"The release promises {model.title}{of} ({', '.join(told)}), {_words(own.status)}."


def _resting_on(own: PrivacyGuarantee) -> str:
    assumed = [_words(found.id) for found in own.hypotheses if found.holds == "assumed"]
    if not assumed:
        return " Every hypothesis was checked and holds."
    return f" No hypothesis is known to fail; assumed, which the policy allows: {', '.join(assumed)}."


def _listed(failing: Sequence[Hypothesis]) -> str:
    return " and because ".join(
        f"{_words(own.id)} does not hold: {own.reason.rstrip('.')}" for own in failing
    )


def _stated(own: PrivacyGuarantee, name: str) -> str:
    value = own.parameters.get(name)
    if value is None:
        return "not stated"
    return value if isinstance(value, str) else number(value)


def _symbol(name: str) -> str:
    return SYMBOLS.get(name, _words(name))


def _words(name: str) -> str:
    return name.replace("_", " ")
