"""YAML and JSON texts: the same value from both, and nothing that a reader would not see."""

from __future__ import annotations

import json
import math

import pytest

from app.domain.errors import InvalidInput, TooLarge
from app.services.datasets.structured_text import MOST_CHARACTERS, read_json, read_yaml
from app.services.gates.policies import templates


def test_plain_scalars_are_those_of_json_and_no_more():
    text = """
    no: no
    on: on
    date: 2026-01-31
    time: 12:30:45
    octal: 0o17
    small: 1e-9
    whole: 007
    real: 1.
    sign: +5
    endless: .inf
    less: -.INF
    nothing:
    tilde: ~
    yes: TRUE
    text: "5"
    block: |
      a
      b
    """
    assert read_yaml(text).value == {
        "no": "no", "on": "on", "date": "2026-01-31", "time": "12:30:45", "octal": "0o17", "small": 1e-9,
        "whole": 7, "real": 1.0, "sign": 5, "endless": math.inf, "less": -math.inf, "nothing": None,
        "tilde": None, "yes": True, "text": "5", "block": "a\nb\n",
    }  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [
        "a: 1\na: 2",
        "a: &x [1]\nb: *x",
        "a: &x 1",
        "a: !!python/object/apply:os.system [ls]",
        "a: !!str 5",
        "!!map {a: 1}",
        "",
        "# nothing",
        "--- 1\n--- 2",
        "a: [1",
        "a:\tb: c",
        "? [1]\n: 2",
        "a: .nan",
        "a: 1e999",
        "\x00",
        "a: \ud800",
        "a: " + "[" * 40 + "]" * 40,
        "[" * 5_000,
        "- a\n" * 21_000,
        "&a [*a]",
    ],
)
def test_ambiguous_and_endless_yaml_is_refused(text):
    with pytest.raises(InvalidInput) as caught:
        read_yaml(text)
    assert caught.value.faults[0].code == "not-readable"


@pytest.mark.parametrize("text", ['{"a":1,"a":2}', '{"a":NaN}', "{", "", "[" * 100_000, "9" * 5_000])
def test_ambiguous_json_is_refused(text):
    with pytest.raises(InvalidInput):
        read_json(text)


@pytest.mark.parametrize("read", [read_json, read_yaml])
def test_a_long_text_is_refused_before_it_is_read(read):
    with pytest.raises(TooLarge):
        read(" " * (MOST_CHARACTERS + 1))


@pytest.mark.parametrize("text", [r'{"\ud800": 1}', r'{"a": ["\udfff"]}'])
@pytest.mark.parametrize("read", [read_json, read_yaml])
def test_half_a_character_is_refused(read, text):
    with pytest.raises(InvalidInput, match="half of a character"):
        read(text)


@pytest.mark.parametrize("read", [read_json, read_yaml])
def test_a_character_may_be_written_as_its_two_halves(read):
    assert read(r'{"\ud83d\ude00": "\ud83d\ude00"}').value == {"😀": "😀"}


def test_a_part_has_its_line_and_what_is_missing_that_of_the_whole():
    found = read_yaml("a: 1\nb:\n  - c: 2\n    d/e: 3\n")
    lines = {"": 1, "/a": 1, "/b/0/c": 3, "/b/0/d~1e": 4, "/b/0/missing": 3, "/zzz": 1}
    assert {pointer: found.line_of(pointer) for pointer in lines} == lines


def test_json_and_yaml_say_the_same():
    for own in templates():
        value = read_yaml(own.text).value
        assert read_json(json.dumps(value)).value == value
        assert read_yaml(json.dumps(value)).value == value
