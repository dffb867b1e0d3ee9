"""Cells of experiments that are kept: found again, never taken for another's, and a run that was killed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from pathlib import Path

import pytest

from app.cli import program
from app.experiments import cells
from app.experiments.cells import Cells, data_hash
from app.experiments.report import Effort
from app.experiments.stand_in_census import EDUCATION, OCCUPATION, base_tables
from app.experiments.violating_groups import education
from tests.processes import until

ASKED = {"experiment": "R9", "p": 0.5}
NUMBERS = (0.1 + 0.2, 1e-300, math.inf)
TINY = ["--seeds", "1", "--records", "8", "--entities", "16"]


def kept(folder, question=None, data="d", length=3):
    """What a new run gets of the cell, how often it computed it, and what it said."""
    said, computed = [], []
    own = Cells(folder, said.append)
    found = own.of(question or ASKED, data, length, lambda: computed.append(1) or NUMBERS[:length])
    assert own.of(question or ASKED, data, length, lambda: pytest.fail("computed twice")) == found
    assert own.found == 1 - len(computed)
    return found, len(computed), said


def test_a_cell_is_found_again_to_the_last_digit(tmp_path):
    assert kept(tmp_path / "new") == (NUMBERS, 1, [])
    assert kept(tmp_path / "new") == (NUMBERS, 0, [])
    assert [path.suffix for path in (tmp_path / "new").iterdir()] == [".json"]


def test_nothing_is_kept_without_a_folder():
    assert kept(None) == (NUMBERS, 1, [])


def test_another_question_other_records_and_other_code_are_other_cells(tmp_path, monkeypatch):
    kept(tmp_path)
    assert kept(tmp_path, {**ASKED, "p": 0.25})[1] == 1
    assert kept(tmp_path, data="e")[1] == 1
    monkeypatch.setattr(cells, "code_version", lambda: "another")
    assert kept(tmp_path)[1:] == (1, [])
    assert len(list(tmp_path.iterdir())) == 4


def changed(document, **fields):
    return json.dumps({**document, **fields}).encode()


@pytest.mark.parametrize(
    "damage",
    [
        lambda whole: whole[: len(whole) // 2],
        lambda whole: b"",
        lambda whole: b"\xff\x00 no text",
        lambda whole: b"[" * 50_000,
        lambda whole: b"{}",
        lambda whole: b'"a list of friends"',
        lambda whole: whole.replace(b"0.30000000000000004", b"0.31"),
        lambda whole: changed(json.loads(whole), question={"experiment": "R1"}),
        lambda whole: changed(json.loads(whole), numbers=[1, 2]),
        lambda whole: changed(json.loads(whole), numbers="123"),
        lambda whole: changed(json.loads(whole), more=1),
    ],
)
def test_a_damaged_or_foreign_file_is_computed_anew_and_that_is_said(tmp_path, damage):
    kept(tmp_path)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    found, computed, said = kept(tmp_path)
    assert (found, computed) == (NUMBERS, 1)
    assert said == [f"{path} is damaged, or no cell of this run: it is computed anew, and replaced."]
    assert path.read_bytes() == whole


@pytest.mark.parametrize("numbers", [[1, 2], [1, 2, math.nan], [1, 2, "x"], 7])
def test_what_is_signed_by_its_hash_and_no_row_of_this_cell_is_computed_anew(tmp_path, numbers):
    kept(tmp_path)
    (path,) = tmp_path.iterdir()
    document = {**json.loads(path.read_bytes()), "numbers": numbers}
    del document["sha256"]
    path.write_text(json.dumps({**document, "sha256": cells._hash_of(document)}))
    found, computed, said = kept(tmp_path)
    assert (found, computed, len(said)) == (NUMBERS, 1, 1)


def test_a_write_that_fails_leaves_no_part_of_a_file(tmp_path, monkeypatch):
    monkeypatch.setattr(cells.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError("disk is full")))
    with pytest.raises(OSError, match="disk is full"):
        kept(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_records_are_told_apart_by_their_hash():
    effort = Effort(seeds=1, records=8, entities=16)
    hashes = [data_hash(own) for kind in (EDUCATION, OCCUPATION) for own in base_tables(effort, kind)]
    assert len(set(hashes)) == 10
    assert hashes[0] == data_hash(base_tables(effort, EDUCATION)[0])


def test_a_setting_that_several_grids_have_is_one_cell(tmp_path):
    own = Cells(tmp_path)
    first = education(Effort(seeds=1, records=8, entities=16, cells=own))
    assert (own.found, len(list(tmp_path.iterdir()))) == (0, 17)
    again = Cells(tmp_path)
    assert education(Effort(seeds=1, records=8, entities=16, cells=again)) == first
    assert again.found == 17


@pytest.mark.faults
def test_a_run_that_was_killed_goes_on_where_it_was(tmp_path, capsys):
    folder = tmp_path / "kept"
    command = ["experiment", "R2", *TINY, "--json"]
    process = subprocess.Popen(
        [sys.executable, "-m", "app", *command, "--output", str(folder)],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: len(list(folder.glob("cells/*.json"))) >= 5 or process.poll() is not None)
    finally:
        process.kill()
        process.wait()
    before = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*.json")}
    assert 5 <= len(before) < 194
    assert program.run([*command, "--output", str(folder)], None) == 0
    told = capsys.readouterr()
    assert f"{len(before)} cells of earlier runs were found in {folder / 'cells'}." in told.err
    assert "damaged" not in told.err
    assert {path: path.stat().st_mtime_ns for path in before} == before
    # 17 settings, 3 expectations, and of plain releases 20 and 2 of 8 others, of both balanced modes 20 and 2
    # of 16 others, of the mode paper 2 of 17.
    assert len(list(folder.glob("cells/*.json"))) == 17 + 3 + 36 + 2 * 52 + 34
    # It tells what a run tells that nobody interrupted.
    assert program.run(command, None) == 0
    assert capsys.readouterr().out == told.out
