"""Whether two reports say the same: hashes, integers and verdicts equal, reals to 1e-12."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from app.cli.gate_verdict import Json

RELATIVE: Final = 1e-12
_SAID_LATER: Final = frozenset(
    {
        "assumptions",
        "private_if_keys_are_unknown_to_readers",
        "keys_left_out",
        "order",
        "order_chosen",
        "rows_are",
        "row_of_risk_max",
        "row_of_risk_min",
        "row_of_utility_min",
        "row_of_min_consistent",
        "row_of_k_equivalence",
    }
)
"""Members that reports of earlier versions do not have."""
_SENTENCES: Final = frozenset(
    {"assumptions", "explanation", "message", "not_covered", "quantity", "reason", "remedy", "warnings"}
)
"""Members that say what the numbers say, in words that a later version may choose better."""
_NAMES: Final = frozenset({"name", "upload", "dataset", "sensitivity", "failure"})
"""Members of a verdict's subject that say what things are called, which is nothing to recompute."""


def differences(then: Json, now: Json) -> list[str]:
    """What differs between two predicates, a line each; empty if they say the same."""
    left_out = _not_compared(then, now)
    results = [
        {key: value for key, value in _comparable(one).items() if key not in left_out} for one in (then, now)
    ]
    options = [one["parameters"].get("options") for one in (then, now)]
    return [
        *_inputs(then["inputs"], now["inputs"]),
        *_values("options", *options),
        *_values("result", *results),
        *_contradictions(then),
    ]


def versions(then: Json, now: Json) -> list[str]:
    """What computed each of the two, where it is not the same."""
    return list(_values("service", then["service"], now["service"]))


def _inputs(then: Sequence[Json], now: Sequence[Json]) -> Iterator[str]:
    before, after = _hashes(then), _hashes(now)
    for key in sorted(before.keys() | after.keys()):
        if before.get(key) != after.get(key):
            role, slot = key
            what = f"{role} of {slot}" if slot else role
            said = "is another one" if key in before and key in after else "is only in one of the two"
            yield f"input: the {what} {said}"


def _hashes(inputs: Sequence[Json]) -> dict[tuple[str, str], list[str]]:
    """Role and slot → hashes. Waivers are what people said, which no computation brings back."""
    found: dict[tuple[str, str], list[str]] = {}
    for own in inputs:
        if own["role"] != "waiver":
            found.setdefault((own["role"], own.get("slot") or ""), []).append(own["sha256"])
    return {key: sorted(hashes) for key, hashes in found.items()}


def _not_compared(then: Json, now: Json) -> set[str]:
    """Members of a verdict that depend on more than what is computed.

    What a waiver lets pass needs no change. And changes are looked for within a budget, which depends on how
    the answer was given.
    """
    criteria = [own for one in (then, now) for own in one["result"].get("criteria", ())]
    # What was released in the meantime is in a ledger, which no computation brings back.
    left_out = {"earlier_releases"}
    if "coverage" not in then["result"]:
        # A report from before columns were checked.
        left_out |= {"coverage"}
    elif "rows" in (now["result"].get("coverage") or {}) and "rows" not in then["result"]["coverage"]:
        # A report from before the rows of a file were matched with the records.
        left_out |= {"coverage", "not_covered"}
    elif "least_persons" not in then["result"]["coverage"]:
        # A later version warns of a check of columns that has changed.
        left_out |= {"warnings"}
    if any(own.get("waiver") for own in criteria):
        return left_out | {"warnings", "changes"}
    same_budget = then["parameters"].get("change_rules") == now["parameters"].get("change_rules")
    return left_out if same_budget else left_out | {"changes"}


def _comparable(predicate: Json) -> dict[str, Any]:
    """The result without names and without what waivers made of it."""
    result = dict(predicate["result"])
    if predicate["report"] != "verdict":
        return result
    result["criteria"] = [_computed(own) for own in result["criteria"]]
    result["verdict"] = _verdict(result["criteria"])
    # What the rule is called, its kind included, is nothing to recompute: its hash says what it does.
    result["subject"] = _without_names({**result["subject"], "rule": None})
    result["changes"] = [
        {key: value for key, value in change.items() if key != "rule"} for change in result["changes"]
    ]
    return result


def _computed(criterion: Json) -> Json:
    outcome = "failed" if criterion["outcome"] == "waived" else criterion["outcome"]
    computed = {**criterion, "outcome": outcome, "waiver": None}
    if computed.get("pairs"):
        # A change that would pass is looked for within a budget, and where a waiver lets it pass not at all.
        computed["pairs"] = [
            {key: value for key, value in own.items() if key != "nearest_change"} for own in computed["pairs"]
        ]
    return computed


def _verdict(criteria: Sequence[Json]) -> str:
    blocking = {own["outcome"] for own in criteria if own["severity"] == "block"}
    return "error" if "not_computable" in blocking else "fail" if "failed" in blocking else "pass"


def _contradictions(then: Json) -> Iterator[str]:
    """Where a report's verdict is not that of its own criteria and columns: nothing computed says it."""
    if then["report"] != "verdict":
        return
    result, coverage = then["result"], then["result"].get("coverage") or {}
    follows = _verdict(result["criteria"])
    if coverage.get("outcome") in ("draft_schema", "missing_reason", "not_computable"):
        follows = "error"
    elif coverage.get("outcome") == "not_of_dataset" or (coverage.get("uncovered") and follows == "pass"):
        follows = "fail"
    if result["verdict"] != follows:
        stated = result["verdict"]
        yield f"result/verdict: {stated} in the report, whose own criteria and columns say {follows}"


def _without_names(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping):
        return {
            key: _without_names(item)
            for key, item in value.items()
            if key not in _NAMES or not isinstance(item, str | None)
        }
    return value


def _values(place: str, then: Any, now: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON values
    if isinstance(then, Mapping) and isinstance(now, Mapping):
        for key in sorted(then.keys() | (now.keys() - _SAID_LATER)):
            before, after = then.get(key), now.get(key)
            if key not in _SENTENCES:
                yield from _values(f"{place}/{key}", before, after)
            elif _sentences(before) != _sentences(after):
                yield f"{place}/{key}: {_short(before)} in the report, {_short(after)} now"
    elif isinstance(then, list) and isinstance(now, list) and len(then) == len(now):
        for number, (before, after) in enumerate(zip(then, now, strict=True)):
            yield from _values(f"{place}/{number}", before, after)
    elif not _same(then, now):
        yield f"{place}: {_short(then)} in the report, {_short(now)} now"


def _sentences(value: Any) -> int:  # noqa: ANN401 - any JSON value
    """How many sentences there are."""
    return len(value) if isinstance(value, list) else int(value is not None)


def _same(then: Any, now: Any) -> bool:  # noqa: ANN401 - any JSON values
    numbers = isinstance(then, int | float) and isinstance(now, int | float)
    if numbers and bool not in (type(then), type(now)) and float in (type(then), type(now)):
        return math.isclose(then, now, rel_tol=RELATIVE, abs_tol=0.0)
    return type(then) is type(now) and bool(then == now)


def _short(value: Any) -> str:  # noqa: ANN401 - any JSON value
    if isinstance(value, Mapping | list):
        return f"{len(value)} entries"
    return "nothing" if value is None else str(value)
