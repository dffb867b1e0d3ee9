"""The command for experiments: lists, groups, real data, results in a folder, interrupts."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from app.cli.program import run
from app.experiments import catalogue, groups
from app.experiments.catalogue import EXPERIMENTS, chosen
from app.experiments.real_files import REAL_FILES, real_files
from app.experiments.report import Effort, Experiment, Report, ResultTable
from tests.processes import HANG_SECONDS, descendants, until, until_gone

ROOT = Path(__file__).parents[3]
PEOPLE = (
    "AGEP,SEX,EDU,MSP,INDP_CAT,PINCP_DECILE\n" + "30,1,7,N,4,5\n40,2,8,1,N,5\n20,2,12,1,3,9\n30,1,2,6,4,0\n"
)


class Recorder:
    """Experiments that only record what they are run with."""

    def __init__(self) -> None:
        self.efforts: dict[str, Effort] = {}

    def experiment(self, name: str, fault: BaseException | None = None) -> Experiment:
        def work(effort: Effort) -> Report:
            self.efforts[name] = effort
            if fault is not None:
                raise fault
            return Report(name, "A title", "a setting", (ResultTable("T", ("a",), ((1,),)),), (), ())

        return Experiment(name, work, 1, "Fouad (2012), figure 0", "Is it so?")


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    recorder = Recorder()
    entries = tuple(recorder.experiment(name) for name in ("X4", "X14", "R1", "N4"))
    monkeypatch.setattr(catalogue, "EXPERIMENTS", entries)
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    return recorder


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A folder of public data sets with two of them."""
    for name, text in {
        "nist-acs-national/national2019.csv": PEOPLE,
        "network-a/edges.csv": "from,to\n1,2\n",
        "network-a/people.csv": "person\n1\n",
        "network-b/friendships.csv": "from,to\n1,2\n",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


# --- what there is ---------------------------------------------------------------------------------------


def test_every_experiment_is_listed_with_paper_question_and_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["experiment", "list"], None) == 0
    text = capsys.readouterr().out
    assert run(["experiment", "list", "--json"], None) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert [own["id"] for own in listed] == [own.id for own in EXPERIMENTS]
    for own in listed:
        assert re.fullmatch(r"[A-Z].* \(\d{4}\), .+", own["source"]), own
        assert own["question"].endswith("?")
        assert own["seconds"] >= 1
        assert f"{own['id']} " in text
        assert own["question"] in text
        assert own["source"] in text
    assert f"\n{sum(own['seconds'] for own in listed)} s of one processor" in text


def test_all_experiments_take_at_most_twenty_minutes_of_two_processors() -> None:
    assert sum(own.seconds for own in EXPERIMENTS) <= 2 * 20 * 60


def test_every_experiment_of_the_code_is_in_the_catalogue() -> None:
    assert {own.id for own in EXPERIMENTS} == set(catalogue._RUNS)


def test_the_page_has_the_table_of_the_catalogue() -> None:
    page = (ROOT / "docs" / "experiments.md").read_text()
    for own in EXPERIMENTS:
        assert f"| {own.id} | {own.source} | {own.question} | {own.seconds} |\n" in page
    for files in REAL_FILES:
        assert files.pattern.partition("[")[0] in page


def test_the_list_takes_names_and_groups(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["experiment", "list", "v", "X4", "--json"], None) == 0
    listed = json.loads(capsys.readouterr().out)["experiments"]
    assert [own["id"] for own in listed] == ["X4", "V1", "V2", "V3"]


def test_a_letter_chooses_its_group() -> None:
    assert [own.id for own in chosen(("n", "D5"))] == ["D5", "N1", "N2", "N3", "N4"]
    assert chosen(("ALL",)) == EXPERIMENTS


@pytest.mark.parametrize(("name", "nearest"), [("X44", "X4"), ("B8", "B"), ("lists", "LIST"), ("al", "ALL")])
def test_an_unknown_name_is_refused_with_the_nearest(
    name: str, nearest: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["experiment", name], None) == 1
    said = capsys.readouterr().err
    assert f"There is no experiment {name.upper()!r}. Did you mean {nearest}" in said
    assert "X1 to X14" in said


def test_help_names_the_groups_of_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        run(["experiment", "--help"], None)
    said = " ".join(capsys.readouterr().out.split())
    assert all(group in said for group in groups())


# --- real data -------------------------------------------------------------------------------------------


def test_files_that_are_there_are_used_and_each_report_says_so(
    recorder: Recorder, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["experiment", "all", "--data", str(data), "--json"], None) == 0
    said = {own["id"]: own["data"] for own in json.loads(capsys.readouterr().out)["experiments"]}
    assert said["X4"] == "generated, or printed in the source"
    assert said["X14"].endswith("(nist-acs-national/national2019.csv)")
    assert said["R1"] == f"generated, for there is no uci-adult-48842/adult.data below {data}"
    assert said["N4"].endswith("(network-a/edges.csv, network-b/friendships.csv)")
    census = recorder.efforts["X14"].census
    assert census is not None
    assert [column.tolist() for column in census.columns] == [[1, 2], [2, 1], [2, 1], [1, 2], [1, 2], [2, 1]]
    assert recorder.efforts["N4"].networks == (
        data / "network-a/edges.csv",
        data / "network-b/friendships.csv",
    )
    assert recorder.efforts["R1"].census is recorder.efforts["X4"].census is None


def test_an_option_wins_over_the_folder(
    recorder: Recorder, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    mine = str(data / "network-b/friendships.csv")
    assert run(["experiment", "N4", "--data", str(data), "--networks", mine], None) == 0
    assert f"Data: {mine}\n" in capsys.readouterr().out
    assert recorder.efforts["N4"].networks == (Path(mine),)


def test_texts_are_numbered_by_name_and_gaps_left_out(tmp_path: Path) -> None:
    path = tmp_path / "uci-adult-48842" / "adult.data"
    path.parent.mkdir()
    path.write_text(
        "age, workclass, education-num, marital-status, occupation, race, sex\n"
        "50, State-gov, 13, Single, Sales, White, Male\n9, ?, 13, Single, Sales, White, Male\n"
        "9, Private, 2, Married, Crafts, Black, Female\n"
    )
    files = real_files("R3")
    assert files is not None
    census = files.read([path])
    assert [own.tolist() for own in census.columns] == [[2, 1]] * 7
    assert census.sizes == (2,) * 7


def test_a_file_with_other_columns_is_refused_with_them_and_the_way_to_map_them(
    recorder: Recorder, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (data / "nist-acs-national/national2019.csv").write_text(PEOPLE.replace("MSP", "MARITAL"))
    assert run(["experiment", "X14", "--data", str(data)], None) == 1
    said = capsys.readouterr().err
    assert "does not have each of MSP once" in said
    assert "--census FILE with --census-columns age=… gender=…" in said
    assert not recorder.efforts


@pytest.mark.parametrize(
    ("argv", "said"),
    [
        (["X4", "--data", "nowhere"], "nowhere is no folder"),
        (["X4", "--census-columns", "age=AGE"], "--census-columns is of the table that --census names"),
        (["X4", "N4", "--full-size"], "for X4 to X7"),
        (["X4", "--full-size", "--records", "10"], "sets seeds, records, entities"),
    ],
)
def test_options_that_do_not_fit_are_refused(recorder: Recorder, argv: list[str], said: str) -> None:
    with pytest.raises(SystemExit, match=said):
        run(["experiment", *argv], None)
    assert not recorder.efforts


@pytest.mark.parametrize(
    ("argv", "text", "said"),
    [
        (
            ["X14", "--census"],
            "AGE,SEX,EDUC,MARST,CLASSWKR,INCWAGE\n" + "1,1,1,1,1,1\n" * 99,
            "fewer than 100",
        ),
        (
            ["X14", "--census"],
            "AGE,SEX,EDUC,MARST,CLASSWKR,INCWAGE\n" + "1,1,1,1,1,1\n" * 200,
            "single salary",
        ),
        (["S2", "--commuters"], "home,work,workers,metres\n", "cannot be read as a table of commuters"),
        (["N4", "--networks"], "from,to\n", "cannot be read as a network"),
    ],
)
def test_a_table_that_is_too_small_is_refused(
    argv: list[str], text: str, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "own.csv").write_text(text)
    small = ["--seeds", "1", "--records", "4", "--entities", "40"]
    assert run(["experiment", *argv, str(tmp_path / "own.csv"), *small], None) == 1
    assert said in capsys.readouterr().err


# --- results ---------------------------------------------------------------------------------------------


def test_a_folder_that_cannot_be_written_is_refused_before_anything_is_computed(
    recorder: Recorder, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    assert run(["experiment", "X4", "--output", str(tmp_path / "file" / "results")], None) == 1
    assert "cannot be written" in capsys.readouterr().err
    assert not recorder.efforts


@pytest.mark.parametrize("as_json", [[], ["--json"]])
def test_an_interrupt_keeps_what_is_finished_and_says_what(
    as_json: list[str],
    recorder: Recorder,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    entries = (
        recorder.experiment("X4"),
        recorder.experiment("N4", KeyboardInterrupt()),
        recorder.experiment("S1"),
    )
    monkeypatch.setattr(catalogue, "EXPERIMENTS", entries)
    assert run(["experiment", "all", "--output", str(tmp_path), *as_json], None) == 130
    assert list(recorder.efforts) == ["X4", "N4"]
    assert json.loads((tmp_path / "x4.json").read_text())["id"] == "X4"
    said = capsys.readouterr()
    assert f"interrupted. Finished, and kept in {tmp_path}: X4." in said.err
    if as_json:
        assert [own["id"] for own in json.loads(said.out)["experiments"]] == ["X4"]
    else:
        assert "X4  A title" in said.out


@pytest.mark.deep
@pytest.mark.parametrize("send", [os.killpg, os.kill], ids=["terminal", "process alone"])
def test_a_command_that_is_interrupted_ends_with_130_and_leaves_no_process(
    send: Callable[[int, int], None], tmp_path: Path
) -> None:
    command = [sys.executable, "-m", "app", "experiment", "N2", "B2", "--output", str(tmp_path)]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A script that runs the tests in the background has interrupts ignored, which is inherited.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    until((tmp_path / "n2.json").exists)
    started = descendants(psutil.Process(process.pid))
    send(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=HANG_SECONDS)
    assert process.returncode == 130
    assert "N2  A study of users of networks" in out
    assert f"Finished, and kept in {tmp_path}: N2." in err
    assert "Traceback" not in err
    until_gone(started)


@pytest.mark.deep
@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
def test_nothing_goes_on_once_the_command_is_ended(how: signal.Signals, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "app", "experiment", "N2", "B2", "--output", str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, start_new_session=True)
    until((tmp_path / "n2.json").exists)
    started = descendants(psutil.Process(process.pid))
    process.send_signal(how)
    assert process.wait(HANG_SECONDS) == -how
    until_gone(started)
