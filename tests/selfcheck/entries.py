"""The entries of the catalogues, and which code of the product is at work for which of them."""

from __future__ import annotations

import functools
import inspect
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from types import CodeType, FrameType
from typing import Any, get_args

from app.domain.analyses.catalogue import MEASURES
from app.domain.losses import catalogue as losses
from app.domain.losses.loss import LossKind
from app.domain.mechanisms.catalogue import MECHANISMS
from app.domain.models.criteria import CRITERIA
from app.domain.search import plans
from app.domain.search.catalogue import SEARCHES
from app.domain.views import decision, leakage, query_classes

Entry = str
"""``kind name``, such as ``measure k_map``."""

_VIEW_CHECKS: Mapping[str, Callable[..., Any]] = {
    "decide": decision.decide,
    "disclosing_patterns": decision.disclosing_patterns,
    "leakage": leakage.leakage_of,
    "query_classes": query_classes.classes_of,
}
_JUDGING = ("failing", "attained", "satisfied", "failing_alone")


def catalogued() -> list[Entry]:
    """Every entry that must be compared with an oracle."""
    return [
        *(f"measure {own.name}" for own in MEASURES),
        *(f"criterion {own.kind}" for own in CRITERIA),
        *(f"loss {kind}" for kind in get_args(LossKind)),
        *(f"mechanism {own.name}" for own in MECHANISMS),
        *(f"search {own.name}" for own in SEARCHES),
        *(f"view check {name}" for name in _VIEW_CHECKS),
    ]


def at_work() -> dict[CodeType, list[Callable[[FrameType], Entry | None]]]:
    """Code → what says, of a frame that begins with it, which entry it computes for; None: for none.

    Of a measure with a file of its own, and of a mechanism, any function of that file; a criterion inherits
    how it judges, a loss and a search are chosen by an argument: the frame tells.
    """
    found: dict[CodeType, list[Callable[[FrameType], Entry | None]]] = defaultdict(list)
    for measure in MEASURES:
        found[_code(measure.compute)].append(_always(f"measure {measure.name}"))
    files = Counter(measure.compute.__module__ for measure in MEASURES)
    for measure in MEASURES:
        if files[measure.compute.__module__] == 1:
            asked = {_code(measure.cost), _code(measure.supports)}
            for code in _functions_of(measure.compute.__module__) - asked:
                found[code].append(_always(f"measure {measure.name}"))
    for criterion in CRITERIA:
        for name in _JUDGING:
            code = _code(getattr(criterion, name))
            if _judged not in found[code]:
                found[code].append(_judged)
    found[_code(losses.loss_of)].append(lambda frame: f"loss {frame.f_locals['choice'].kind}")
    for mechanism in MECHANISMS:
        for code in _functions_of(mechanism.draw.__module__) - {_code(mechanism.supports)}:
            found[code].append(_always(f"mechanism {mechanism.name}"))
    found[_code(plans.plan)].append(lambda frame: f"search {frame.f_locals['solver'].name}")
    for name, check in _VIEW_CHECKS.items():
        found[_code(check)].append(_always(f"view check {name}"))
    return found


def _functions_of(module: str) -> set[CodeType]:
    """The functions that a module defines itself, methods left out."""
    return {
        own.__code__
        for own in vars(sys.modules[module]).values()
        if inspect.isfunction(own) and own.__module__ == module
    }


def _judged(frame: FrameType) -> Entry | None:
    return f"criterion {frame.f_locals['self'].kind}"


def _always(entry: Entry) -> Callable[[FrameType], Entry]:
    return lambda _: entry


def _code(function: Any) -> CodeType:
    while isinstance(function, functools.partial):
        function = function.func
    code: CodeType = function.__code__
    return code
