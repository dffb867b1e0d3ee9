"""What holds of every page that is looked at in a browser."""

from __future__ import annotations

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.ui.conftest import Shots, Watched

STATUS = {"missing": 404, "rule-by-hand-faults": 422, "perturbation-faults": 422}
"""Of pages by the names of their pictures, where it is not 200."""


def assert_accessible(page: Page, shots: Shots, name: str, *, rules: tuple[str, ...] = ()) -> None:
    """No violation of these or all rules of axe-core (WCAG 2 A and AA, and its best practices)."""
    options = {"runOnly": {"type": "rule", "values": list(rules)}} if rules else {}
    found = Axe().run(page, options=options).response
    violations = [
        {"rule": one["id"], "help": one["help"], "at": [node["html"][:200] for node in one["nodes"]][:5]}
        for one in found["violations"]
    ]
    passed = sorted({one["id"] for one in found["passes"]})
    shots.write(f"{name}.axe.json", {"violations": violations, "passed": passed})
    assert violations == []


def assert_quiet(watched: Watched, shots: Shots, name: str) -> None:
    """Nothing on the console but, for a page that is not there or not accepted, that it is not."""
    shots.write(f"{name}.console.json", {"errors": watched.complaints, "foreign": watched.foreign})
    status = str(STATUS.get(name.partition(".")[0], "none"))
    complaints = [said for said in watched.complaints if status not in said]
    assert complaints == []
    assert watched.foreign == []
