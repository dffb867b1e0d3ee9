"""The comparison of two records of answers finds what changed, and nothing else."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from tests.record.__main__ import differences, read, tell


def answer(body: Any, **changed: Any) -> dict[str, Any]:
    return {
        "test": "t", "number": 1, "asked": "GET /v1/runs/0123456789abcdef0123456789abcdef", "status": 200,
        "headers": {}, "body": body, **changed,
    }  # fmt: skip


def recorded(folder: Path, name: str, *answers: dict[str, Any]) -> Path:
    place = folder / name
    with gzip.open(place, "wt", encoding="utf-8") as written:
        written.writelines(json.dumps(own) + "\n" for own in answers)
    return place


def pointers(before: Any, after: Any) -> list[str]:
    key = ("t", 1)
    return [own.place.pointer for own in differences({key: answer(before)}, {key: answer(after)})]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"id": "0123456789abcdef0123456789abcdef"}, {"id": "fedcba9876543210fedcba9876543210"}),
        ({"at": "2026-11-20T12:00:00Z"}, {"at": "2027-01-02T03:04:05.678Z"}),
        ("ended after 1.5 s", "ended after 12 s"),
        ({"0123456789abcdef01": 1}, {"0123456789abcdef01": 1}),
    ],
)
def test_what_no_two_runs_have_alike_is_no_difference(before: Any, after: Any) -> None:
    assert pointers(before, after) == []


@pytest.mark.parametrize(
    ("before", "after", "where"),
    [
        ({"k": 5}, {"k": 6}, ["body/k"]),
        ({"k": 1}, {"k": True}, ["body/k"]),
        ({"r": [{"k": 5}, {"k": 6}]}, {"r": [{"k": 5}, {"k": 7}, {"k": 8}]}, ["body/r/*/k", "body/r/*"]),
        ({"k": 5}, {"k": 5, "l": None}, ["body/l"]),
        ("one\ntwo\nthree", "one\n2\nthree", ["body"]),
        ({"payload": "eyJrIjogNX0="}, {"payload": "eyJrIjogNn0="}, ["body/payload/k"]),
        ({"k": "5"}, {"k": 5}, ["body/k"]),
    ],
)  # fmt: skip
def test_each_place_that_differs_is_found(before: Any, after: Any, where: list[str]) -> None:
    assert pointers(before, after) == where


def test_what_differs_within_one_revision_is_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first = recorded(tmp_path, "first", answer({"k": 5, "drawn": 3}))
    again = recorded(tmp_path, "again", answer({"k": 5, "drawn": 4}))
    changed = recorded(tmp_path, "changed", answer({"k": 6, "drawn": 9}), answer({}, number=2))
    assert tell(first, again, again) == 0
    assert tell(first, changed, again) == 1
    said = capsys.readouterr().out
    assert "GET /v0/runs/‹digits› body/k: 1 ×, as 5 → 6 in t" in said
    assert "/drawn" not in said
    assert "0 were only before, 1 are only after" in said
    assert read(changed).keys() == {("t", 1), ("t", 2)}
