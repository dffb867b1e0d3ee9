"""JSON in slices: the same as in one go, and never more than a window at a time."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from app.api.bodies import validation
from app.api.bodies.reading import CONSIDERATION
from app.api.bodies.validation import SlicedValidator
from app.api.routers import routers
from app.api.routes import Route
from app.api.schemas.hierarchies import NewHierarchy
from app.domain.errors import TooLarge
from app.services import json_text
from app.services.json_text import sliced_json, whole_json

TEXTS = st.text(alphabet='ab,:[]{}"\\é\n ', max_size=12)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | st.sampled_from([1.5e10, -2.25]) | TEXTS,
    lambda inner: (
        st.lists(inner, max_size=5) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=5)
    ),
    max_leaves=30,
)


def outcome(read: Callable[[str], Any], text: str) -> Any:
    try:
        return read(text)
    except json.JSONDecodeError:
        return "no JSON"


@given(VALUES, st.sampled_from([None, 1]), st.integers(0, 10**6), st.sampled_from([*',:[]{}"1N', ""]))
def test_slices_give_the_value_of_the_whole_also_of_broken_texts(value, indent, place, character):
    text = json.dumps(value, indent=indent)
    broken = text[: place % len(text)] + character + text[place % len(text) + 1 :]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_text, "WINDOW", 32)
        assert sliced_json(text) == value
        assert outcome(sliced_json, broken) == outcome(whole_json, broken)


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, {"b": 1, "b": 2}]}',
        '{"a": 1, "a": 2}',
        "[NaN]",
        "[-Infinity]",
        "[1,]",
        "[,1]",
        "[1,,2]",
        "",
        "[1] 2",
    ],
)
def test_slices_refuse_what_strict_json_refuses(monkeypatch, text):
    monkeypatch.setattr(json_text, "WINDOW", 16)
    long = text.replace("[", "[" + " " * 40).replace("{", "{" + " " * 40)
    for refused in (text, long):
        with pytest.raises(json.JSONDecodeError):
            sliced_json(refused)


def test_a_text_of_more_parts_than_any_memory_is_meant_for_is_refused_unread(monkeypatch):
    monkeypatch.setattr(json_text, "_Reader", None)
    with pytest.raises(TooLarge, match="3,000,000"):
        sliced_json("[" + "{}," * 1_500_000 + "{}]")


class Watch:
    """The longest time of the processor between two moments at which another thread may run."""

    def __init__(self) -> None:
        self.last = time.thread_time()
        self.longest = 0.0
        self.pauses = 0

    def __call__(self, *_: Any) -> None:
        now = time.thread_time()
        self.longest, self.last = max(self.longest, now - self.last), now
        self.pauses += 1


def rows(number: int) -> dict[str, Any]:
    made = [[f"value {i}", f"group {i // 10}", f"all {i // 100}"] for i in range(number)]
    return {"name": "large", "definition": {"kind": "rows", "rows": made}}


@pytest.mark.deep
@pytest.mark.usefixtures("frozen")
def test_a_large_body_is_parsed_and_checked_in_slices_of_milliseconds(monkeypatch):
    """The longest slice, by the time of the processor, of 60,000 rows: a whole is some 200 ms.

    The best of ten attempts: other processes on the machine can only make a slice seem longer.
    """
    watch = Watch()
    move, windows = json_text._Reader._move, []

    def watched_move(reader: Any, start: int) -> None:
        watch()
        move(reader, start)
        windows.append(len(reader._window))

    monkeypatch.setattr(json_text._Reader, "_move", watched_move)
    monkeypatch.setattr(validation, "_pause", lambda value: (watch(), value)[1])
    body, validator = rows(60_000), SlicedValidator(NewHierarchy)
    text = json.dumps(body)
    longest = []
    CONSIDERATION.begin()  # as whoever reads a large body does
    for _ in range(10):
        watch.last, watch.longest = time.thread_time(), 0.0
        value = sliced_json(text)
        checked = validator.validate(value)
        watch()
        longest.append(watch.longest)
        if watch.longest < 0.05:
            break
    CONSIDERATION.end()
    assert (value, checked) == (body, NewHierarchy.model_validate(body))
    assert max(windows) <= 64 * 1024
    assert watch.pauses > 240_000 * len(longest)
    assert min(longest) < 0.05


def test_what_was_read_of_a_broken_text_is_freed_piece_by_piece(monkeypatch):
    """Its frames hold it until the error is forgotten, on the thread that serves everybody."""
    freed: list[Any] = []
    monkeypatch.setattr(json_text, "dismantle", freed.append)
    with pytest.raises(json.JSONDecodeError):
        sliced_json('{"rows": [' + "[1, 2], " * 20_000 + "}")
    assert len(freed[0][-1]) == 20_000


def test_dismantling_leaves_nothing_of_a_value():
    inner = {"b": [1, 2]}
    value = {"a": [inner, [3]], "c": "text"}
    json_text.dismantle(value)
    assert (value, inner) == ({}, {})


@pytest.mark.parametrize(
    "definition",
    [
        {"kind": "rows", "rows": [1] * 100_000},
        {"kind": "parents", "parents": {f"v{i}": 1 for i in range(100_000)}},
        {"kind": "rows", "rows": [["a"]]} | {f"v{i}": 1 for i in range(100_000)},
        {"kind": "flat", "values": [1] * 100_000},
    ],
    ids=["items", "values", "unknown fields", "texts"],
)
def test_checking_a_large_body_stops_before_faults_pile_up(definition):
    with pytest.raises(ValidationError) as caught:
        SlicedValidator(NewHierarchy).validate({"name": "large", "definition": definition})
    assert caught.value.error_count() == 1


def test_every_body_can_be_checked_in_slices():
    routes = [route for router in routers() for route in router.routes if isinstance(route, Route)]
    bodies = [route.body_field.field_info.annotation for route in routes if route.body_field is not None]
    assert len(bodies) > 20
    for body in bodies:
        with pytest.raises(ValidationError):
            SlicedValidator(body).validate([])


def test_documents_are_read_in_windows_however_deep(monkeypatch: pytest.MonkeyPatch) -> None:
    value: Any = ["x" * 20] * 5
    for _ in range(12):
        value = {"inner": value}
    flat = {"labels": [f"{i}" for i in range(50)], "parents": [[i] for i in range(50)]}
    monkeypatch.setattr(json_text, "WINDOW", 32)
    assert json_text.sliced_document(json.dumps(value)) == value
    monkeypatch.setattr(json, "loads", None)  # the first would not fit into windows, this one must
    assert json_text.sliced_document(json.dumps(flat)) == flat
