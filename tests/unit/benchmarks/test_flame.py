"""Stacks become a tree, and the tree a picture."""

import xml.etree.ElementTree as ET

import pytest

from tests.benchmarks.flame import WIDTH, colour, drawn, folded, pruned
from tests.benchmarks.service.sampled import above_the_loop

STACKS = {
    ("app.api:answer", "app.domain:assess"): 3.0,
    ("app.api:answer", "sqlalchemy.engine:execute"): 1.0,
    ("app.api:answer",): 0.5,
    ("selectors:select",): 0.5,
}


def test_equal_beginnings_are_one_and_seconds_add_up():
    root = folded(STACKS)
    assert root.seconds == pytest.approx(5.0)
    assert set(root.children) == {"app.api:answer", "selectors:select"}
    answer = root.children["app.api:answer"]
    assert answer.seconds == pytest.approx(4.5)
    assert sum(child.seconds for child in answer.children.values()) == pytest.approx(4.0)
    assert root.depth == 3


def test_what_took_too_little_is_left_out_with_all_above_it():
    shown = pruned(folded(STACKS), 1.0)
    assert set(shown.children) == {"app.api:answer"}
    assert set(shown.children["app.api:answer"].children) == {
        "app.domain:assess",
        "sqlalchemy.engine:execute",
    }


def test_a_box_is_as_wide_as_its_share_and_stands_on_its_caller():
    picture = ET.fromstring(drawn(folded(STACKS), "Asking & <answering>", 10))
    namespace = "{http://www.w3.org/2000/svg}"
    boxes = {
        group.find(f"{namespace}title").text.split(",")[0]: group.find(f"{namespace}rect").attrib
        for group in picture.iter(f"{namespace}g")
    }
    whole, caller, called = (boxes[name] for name in ("all", "app.api:answer", "app.domain:assess"))
    assert float(whole["width"]) == pytest.approx(WIDTH, abs=1)
    assert float(caller["width"]) == pytest.approx(0.9 * WIDTH, abs=1)
    assert float(called["width"]) == pytest.approx(0.6 * WIDTH, abs=1)
    assert float(whole["y"]) > float(caller["y"]) > float(called["y"])
    assert picture.find(f"{namespace}title").text == "Asking & <answering>: 500.0 ms of processor time"
    assert any("app.domain:assess, 300.00 ms, 60.0%" in text for text in picture.itertext())


def test_colours_tell_packages_apart_and_not_names_that_begin_alike():
    assert colour("app.domain.risk:assess") != colour("app.api:answer") != colour("apparatus:run")
    assert colour("apparatus:run") == colour("selectors:select")


def test_a_stack_begins_where_the_work_of_a_request_does():
    below = [("runpy", "_run_code"), ("asyncio.runners", "Runner.run"), ("asyncio.events", "Handle._run")]
    assert above_the_loop([*below, ("app.api", "answer")]) == ("app.api:answer",)
    assert above_the_loop([*below[:2], ("selectors", "select")]) == ("selectors:select",)
    assert above_the_loop([("app.cli", "main")]) == ("app.cli:main",)
