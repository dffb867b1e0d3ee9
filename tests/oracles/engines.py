"""The ways in which a lattice of rules is searched, each made to be used alone."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from app.domain.search.full_domain import lattice as anonymity_lattice
from app.domain.search.full_domain import plan as anonymity_plan
from app.domain.search.full_domain.boxes import Descent

ENGINES = ("lattice", "lattice after a descent", "boxes", "boxes after a descent")


@contextmanager
def searched_by(engine):
    """Lattices held in memory or searched by boxes; alone, lest a descent finds the optimum before."""
    with pytest.MonkeyPatch.context() as patch:
        if engine.startswith("boxes"):
            patch.setattr(anonymity_plan, "RULES_HELD", 0)
        if engine == "boxes":
            patch.setattr(Descent, "run", lambda self: None)
        if engine == "lattice after a descent":
            patch.setattr(anonymity_lattice, "DESCENT_FROM", 1)
        yield


def take(progress, levels):
    """Check a rule and take it as a candidate if it is allowed, as every engine does on its way."""
    verdict = progress.check(levels)
    if verdict.allowed:
        progress.evaluate(levels, verdict)
