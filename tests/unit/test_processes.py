"""How processes end, and what they load: without any service."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import weakref
from dataclasses import astuple
from pathlib import Path
from pkgutil import resolve_name

import pytest

from app import main
from app.cli.embedded import client_of, temporary_folder
from app.cli.operations import Operations, RunningService
from app.composition import processes
from app.composition.commanded import API
from app.settings import Settings

ROOT = Path(__file__).parents[2]


class Database:
    """Stands for a running database."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        return None


@pytest.fixture
def database(monkeypatch):
    monkeypatch.setattr(processes, "start_embedded", lambda home, **_: Database())


@pytest.mark.usefixtures("database")
def test_a_command_that_is_told_to_end_has_not_succeeded(tmp_path: Path):
    operations = Operations(**dict.fromkeys(Operations.__dataclass_fields__, lambda *_: None))
    with (
        pytest.raises(SystemExit) as ended,
        temporary_folder(operations),
        processes.embedded_database(tmp_path),
    ):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == 143


@pytest.mark.usefixtures("database")
@pytest.mark.parametrize(("said", "status"), [({}, 143), ({"status_when_ended": 0}, 0)])
def test_only_what_usually_ends_that_way_ends_with_0(tmp_path: Path, said, status):
    with pytest.raises(SystemExit) as ended, processes.embedded_database(tmp_path, **said):
        os.kill(os.getpid(), signal.SIGTERM)
    assert ended.value.code == status
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


class Referred:
    """Something that a weak reference may point to."""


@pytest.mark.usefixtures("database")
def test_a_request_to_end_is_not_lost_where_python_drops_exceptions(tmp_path: Path):
    """Imports and other libraries leave weak references with callbacks all over the place."""
    before = sys.unraisablehook

    def lose_a_request() -> None:
        short_lived = Referred()
        reference = weakref.ref(short_lived, lambda _: signal.raise_signal(signal.SIGTERM))
        del short_lived
        assert reference() is None
        time.sleep(20)  # left early

    with pytest.raises(SystemExit) as ended, processes.embedded_database(tmp_path):
        lose_a_request()
    assert ended.value.code == 143
    assert sys.unraisablehook is before


@pytest.mark.usefixtures("database")
def test_requests_to_end_that_are_repeated_do_not_interrupt_the_ending(tmp_path: Path):
    """The kernel may send one for each thread of a parent that is killed."""
    ended = []

    def be_asked_again_and_again() -> None:
        try:
            signal.raise_signal(signal.SIGTERM)
        finally:
            for one in ("first", "second"):
                signal.raise_signal(signal.SIGTERM)
                ended.append(one)

    with pytest.raises(SystemExit) as left, processes.embedded_database(tmp_path):
        be_asked_again_and_again()
    assert (left.value.code, ended) == (143, ["first", "second"])


def test_what_was_being_forked_when_its_process_was_asked_to_end_ends_too():
    """Otherwise its process would wait for it without end."""
    program = """
import itertools
import signal
import time
from multiprocessing.context import ForkProcess
from app.composition import api_processes
from app.cli.ending import leaving_on_sigterm

start = ForkProcess.start
ForkProcess.start = lambda process: (start(process), signal.raise_signal(signal.SIGTERM))
with leaving_on_sigterm(0):
    # No single long wait: a signal just before it would be seen only at its end.
    answer = lambda *_: [time.sleep(0.05) for _ in itertools.count()]
    api_processes.ApiProcesses(2, answer, print, print).keep()
"""
    assert subprocess.run([sys.executable, "-c", program], cwd=ROOT, timeout=60, check=False).returncode == 0


def test_a_service_on_this_machine_is_asked_without_the_proxies_of_others(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    service = RunningService("http://127.0.0.1:1", "pre.secret", 1, lambda: None, lambda: None)
    with client_of(service) as client:
        assert not client._pool._http._mounts


def loaded(module: str, heavy: set[str]) -> str:
    program = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout


def test_commands_load_nothing_that_only_a_service_needs():
    services = {"fastapi", "uvicorn", "sqlalchemy", "alembic", "scipy", "app.web", "app.domain.search"}
    assert loaded("app.main", {*services, "pandas"}) == "[]\n"


def test_a_command_starts_its_service_before_it_loads_what_makes_a_database():
    assert loaded("app.composition.commanded", {"psycopg", "sqlalchemy", "fastapi", "numpy"}) == "[]\n"


@pytest.mark.deep
def test_an_api_that_is_told_of_no_database_ends_by_itself():
    """As when the command that has started it could not make one."""
    command = [sys.executable, "-m", API]
    ended = subprocess.run(command, cwd=ROOT, input=b"", capture_output=True, timeout=60, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")


@pytest.mark.deep
def test_a_server_loads_what_its_requests_need_when_they_need_it():
    """The bodies of all operations, and what computes their answers, take longer to load than all else."""
    computing = {
        "scipy",
        "pyarrow",
        "faker",
        "app.domain.analyses",
        "app.domain.search",
        "app.composition.use_cases",
    }
    interface = {"app.api.routers.assessments", "app.api.schemas.results", "app.api.openapi"}
    assert loaded("app.composition.serving", computing | interface | {"alembic", "psutil"}) == "[]\n"


@pytest.mark.deep
def test_a_server_has_loaded_what_a_page_of_a_dataset_needs_before_it_answers_and_no_more():
    program = (
        "import sys; from app.composition import service; before = set(sys.modules); service._load(); "
        "from app.api.interface import _loaded; "
        "heavy = {'fastapi', 'scipy', 'faker', 'app.composition.use_cases', 'app.api.openapi'}; "
        "print(sorted(_loaded), sorted(heavy & before), sorted(heavy & set(sys.modules)))"
    )
    said = subprocess.check_output([sys.executable, "-c", program], cwd=ROOT, text=True)
    assert said == "['api-keys', 'datasets'] [] ['app.composition.use_cases', 'fastapi']\n"


@pytest.mark.deep
def test_what_computes_loads_the_parts_of_libraries_that_few_questions_need_later():
    later = {"scipy.optimize", "scipy.special", "scipy.sparse", "faker", "pandas"}
    assert loaded("app.composition.run_process", later) == "[]\n"
    assert loaded("app.composition.use_cases", later) == "[]\n"


def test_a_worker_loads_the_work_in_the_processes_that_do_it():
    assert loaded("app.composition.working", {"scipy", "fastapi", "app.composition.run_process"}) == "[]\n"


def test_every_verb_of_the_operator_leads_to_a_function(monkeypatch: pytest.MonkeyPatch) -> None:
    places: list[str] = []

    def note(place: str):
        places.append(place)
        return lambda *arguments: None

    monkeypatch.setattr(main, "resolve_name", note)
    monkeypatch.setattr(main, "is_service_announced", lambda: True)
    for verb in astuple(main.operations(Settings)):
        verb()
    assert len(places) == len(set(places)) == 16
    assert all(callable(resolve_name(place)) for place in places)
