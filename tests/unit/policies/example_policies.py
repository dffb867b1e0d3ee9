"""Small policies for tests, as documents."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]


def criterion(demand: Json, **more: Any) -> Json:
    return {"id": "it", "title": "It holds", "reason": "Because of this.", "demand": demand, **more}


def measured(kind: str, value: str, comparison: str, bound: Any, slot: str | None = None, **own: Any) -> Json:
    return {
        "kind": "measure",
        "measure": {"kind": kind, **own},
        "value": value,
        "comparison": comparison,
        "threshold": bound,
        **({} if slot is None else {"dictionary": slot}),
    }


def scored(value: str, comparison: str, bound: Any, **more: Any) -> Json:
    return {"kind": "score", "value": value, "comparison": comparison, "threshold": bound, **more}


def model(kind: str, **own: Any) -> Json:
    return {"kind": "privacy_model", "model": {"kind": kind, **own}}


def promised(beta: Any = None, *, may: bool = True, status: str = "certified", **own: Any) -> Json:
    """A guarantee of β-likeness with these bounds of β."""
    bounds = {} if beta is None else {"beta": beta}
    return {
        "kind": "guarantee",
        "model": {"kind": "beta_likeness", **bounds, **own},
        "status": status,
        "may_rest_on_assumptions": may,
    }


def document(*criteria: Json, **more: Any) -> Json:
    return {
        "format": "privacy-risk/policy/1",
        "name": "p",
        "version": 1,
        "title": "A policy",
        "assumes": {"attacker": "Anybody."},
        "dictionaries": [{"name": "register"}],
        "schema": {"attributes": {"race": "quasi_identifier"}},
        "criteria": list(criteria),
        **more,
    }
