"""What a plain run of the tests leaves out, and what it says of that."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath

import pytest

from tests.tiers import FOLDERS, ROOT, closing_line, left_out, tier_of


@pytest.mark.parametrize(
    ("file", "tier"),
    [
        ("tests/faults/test_supervision.py", "faults"),
        ("tests/ui/test_pages.py", "ui"),
        ("tests/readme/test_demonstration.py", "readme"),
        ("tests/readme/test_documents.py", None),
        ("tests/api/test_tutorial.py", "readme"),
        ("tests/api/test_journey.py", None),
        ("tests/unit/test_tiers.py", None),
    ],
)
def test_a_files_folder_says_its_tier(file: str, tier: str | None) -> None:
    assert (ROOT / file).is_file()
    assert tier_of(PurePosixPath(file)) == tier


@pytest.mark.parametrize(
    ("named", "run"),
    [
        (["tests"], []),
        (["tests/unit", "tests/property"], []),
        (["tests/faults"], ["faults"]),
        (["tests/ui/test_pages.py", "tests/unit"], ["ui"]),
    ],
)
def test_a_tier_is_run_if_its_files_are_named(named: list[str], run: list[str]) -> None:
    assert left_out(PurePosixPath(name) for name in named) == [tier for tier in FOLDERS if tier not in run]


def test_what_was_left_out_is_counted_by_tier() -> None:
    said = closing_line(Counter(deep=3, ui=2))
    assert said.startswith("left out, because they are slow: ui (2), deep (3);")


def test_every_place_of_a_tier_exists() -> None:
    assert [place for places in FOLDERS.values() for place in places if not (ROOT / place).exists()] == []


def test_every_tier_is_run_by_the_checks_of_a_change() -> None:
    checks = (ROOT / ".ci" / "run").read_text()
    chosen = " ".join(line for line in checks.splitlines() if " -m " in line)
    assert {tier for tier in FOLDERS if tier not in chosen} == set()


def test_no_file_of_tests_imports_another() -> None:
    """What tests share stands in modules of its own: then each file can be run, moved or removed alone."""
    statement = re.compile(r"^\s*(?:from\s+(tests[\w.]*)\s+import|import\s+(?=tests))\s*(\([^)]*\)|.*)", re.M)
    found = [
        (path, module, names)
        for path in (ROOT / "tests").rglob("*.py")
        for module, names in statement.findall(path.read_text())
    ]
    assert len(found) > 200
    assert not [one for one in found if re.search(r"\btest_", f"{one[1]} {one[2]}".replace(".", " "))]
