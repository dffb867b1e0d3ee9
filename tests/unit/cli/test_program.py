import json
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from app.cli.operations import Bootstrapped, Check, Operations, TenantLine
from app.cli.program import COMMANDS, parser_for, run
from app.domain.errors import InvalidInput, Unavailable

ROOT = Path(__file__).parents[3]


def refuse(*arguments):
    raise AssertionError("this operation is not part of the command")


def operations(**verbs):
    return Operations(**{name: verbs.get(name, refuse) for name in Operations.__dataclass_fields__})


def test_each_command_is_declared_by_the_file_that_is_loaded_for_it():
    def declared(argv):
        (action,) = (own for own in parser_for(argv)._actions if own.dest == "==SUPPRESS==" or own.choices)
        return list(action.choices)

    assert declared([]) == [name for names in COMMANDS.values() for name in names]
    for names in COMMANDS.values():
        for name in names:
            assert declared([name]) == list(names)


def test_a_command_that_there_is_not_is_refused_with_all_that_there_are(capsys):
    with pytest.raises(SystemExit) as ended:
        run(["guess"], operations())
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert all(name in said for names in COMMANDS.values() for name in names)


def test_serve_passes_on_what_was_said_and_nothing_else():
    said = []
    assert run(["serve"], operations(serve=lambda *address: said.append(address))) == 0
    given = ["serve", "--host", "::1", "--port", "0", "--processes", "2"]
    assert run(given, operations(serve=lambda *address: said.append(address))) == 0
    assert said == [(None, None, None), ("::1", 0, 2)]


def test_serve_keeps_a_service_in_the_background_and_ends_it(capsys):
    asked = []

    def keep(options):
        asked.append(options)
        return "http://127.0.0.1:8000", len(asked) > 1

    given = ["serve", "--background", "--port", "0", "--processes", "2"]
    assert run(given, operations(serve_in_background=keep)) == 0
    assert "pages: http://127.0.0.1:8000/" in (said := capsys.readouterr().out)
    assert "runs in the background, until: python -m app serve --stop" in said
    assert run(["serve", "--background"], operations(serve_in_background=keep)) == 0
    assert "runs already" in capsys.readouterr().out
    assert asked == [["--port=0", "--processes=2"], []]
    assert run(["serve", "--stop"], operations(stop_service=lambda: "It has ended.")) == 0
    assert capsys.readouterr().out == "It has ended.\n"
    with pytest.raises(SystemExit):
        run(["serve", "--stop", "--background"], operations())


def test_help_and_wrong_arguments_load_nothing_that_computes_serves_or_reads_tables():
    looking = f"""
import sys
from app.cli.program import parser_for
for command in {[name for names in COMMANDS.values() for name in names]}:
    parser_for([command])
parser_for(["--help"])
loaded = {{"numpy", "pandas", "pyarrow", "sqlalchemy", "fastapi", "psycopg", "scipy"}} & {{*sys.modules}}
assert not loaded, loaded
"""
    subprocess.run([sys.executable, "-c", looking], check=True, cwd=ROOT)


def test_an_option_before_the_command_changes_nothing_of_what_is_refused(capsys):
    with pytest.raises(SystemExit) as ended:
        run(["--loud", "openapi"], operations())
    assert ended.value.code == 2
    assert "--loud" in capsys.readouterr().err


def test_migrate_goes_to_the_newest_revision_unless_told_otherwise():
    said = []
    run(["migrate"], operations(migrate=lambda *asked: said.append(asked)))
    run(["migrate", "base", "--wait", "60"], operations(migrate=lambda *asked: said.append(asked)))
    assert said == [("head", 0), ("base", 60)]


def test_bootstrap_puts_the_key_alone_on_standard_output(capsys):
    asked = []

    def bootstrap(name, new_key):
        asked.append(new_key)
        return Bootstrapped("t-1", name, "pre.secret")

    assert run(["bootstrap", "acme", "--new-key"], operations(bootstrap=bootstrap)) == 0
    assert asked == [True]
    captured = capsys.readouterr()
    assert captured.out == "pre.secret\n"
    assert "acme (t-1)" in captured.err


def test_a_tenants_settings_are_passed_on_and_shown_with_what_is_used(capsys):
    said = []

    def tenant(name, texts):
        said.append((name, texts))
        return [
            TenantLine("results_days", 90, True, None, "Days."),
            TenantLine("datasets", 1000, False, 3, "Most datasets."),
            TenantLine("runs_days", None, False, None, "Days of runs."),
        ]

    assert run(["tenant", "acme", "results_days=90", "uploads=default"], operations(tenant=tenant)) == 0
    assert run(["tenant", "acme"], operations(tenant=tenant)) == 0
    assert said == [("acme", {"results_days": "90", "uploads": "default"}), ("acme", {})]
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[:3]] == [
        ["results_days", "90", "Days."],
        ["datasets", "3", "of", "1,000", "(default)", "Most", "datasets."],
        ["runs_days", "unlimited", "(default)", "Days", "of", "runs."],
    ]
    with pytest.raises(SystemExit):
        run(["tenant", "acme", "results_days"], operations())


@pytest.mark.parametrize(("passed", "status"), [(True, 0), (False, 1)])
def test_the_doctor_fails_if_one_check_does(capsys, passed, status):
    checks = [Check("role", True, "app_runtime"), Check("disk", passed, "1 MiB is free", "Make room.")]
    assert run(["doctor"], operations(doctor=lambda: checks)) == status
    assert ("Make room." in capsys.readouterr().out) is not passed


def test_backup_and_restore_pass_on_the_file(capsys):
    said = []
    assert run(["backup", "a.dump"], operations(backup=said.append)) == 0
    assert run(["restore", "a.dump"], operations(restore=said.append)) == 0
    assert said == [Path("a.dump")] * 2
    assert "master key" in capsys.readouterr().out


def test_rotate_keys_counts(capsys):
    assert run(["rotate-keys"], operations(rotate_keys=lambda: 3)) == 0
    assert capsys.readouterr().out.startswith("3 keys")


@pytest.mark.parametrize("left", [(), ("CHECKPOINT",)])
def test_purge_says_what_is_left_to_the_superuser(left, capsys):
    assert run(["purge"], operations(purge=lambda: left)) == 0
    said = capsys.readouterr().out
    assert ("superuser" in said, "CHECKPOINT;" in said) == (bool(left), bool(left))


def test_openapi_prints_the_document(capsys):
    assert run(["openapi"], operations(openapi=lambda: {"openapi": "3.1.0"})) == 0
    assert json.loads(capsys.readouterr().out) == {"openapi": "3.1.0"}


def test_openapi_writes_the_document_and_notices_when_the_file_is_another(tmp_path, capsys):
    path = tmp_path / "openapi.json"
    assert run(["openapi", "--output", str(path)], operations(openapi=lambda: {"openapi": "3.1.0"})) == 0
    assert run(["openapi", "--check", str(path)], operations(openapi=lambda: {"openapi": "3.1.0"})) == 0
    assert capsys.readouterr().err == ""
    assert run(["openapi", "--check", str(path)], operations(openapi=lambda: {"openapi": "3.2.0"})) == 1
    assert "--output" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (
            Unavailable("The database does not answer.", "Start it."),
            "The database does not answer. Start it.",
        ),
        (
            InvalidInput.of("/port", "range", "The port is taken.", "Use another."),
            "/port: The port is taken.",
        ),
        (httpx.ConnectError("refused"), "refused"),
    ],
)
def test_a_failure_is_one_message_on_standard_error_and_status_1(capsys, error, text):
    def fail():
        raise error

    assert run(["worker"], operations(worker=fail)) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert text in captured.err
    assert "Traceback" not in captured.err


def test_an_interrupt_ends_quietly(capsys):
    def interrupt():
        raise KeyboardInterrupt

    assert run(["worker"], operations(worker=interrupt)) == 130
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("argv", [[], ["fly"], ["demo", "--scale", "0"], ["demo", "--scale", "nan"]])
def test_wrong_usage_is_status_2(argv, capsys):
    with pytest.raises(SystemExit) as caught:
        run(argv, operations())
    assert caught.value.code == 2


def test_own_tables_without_a_journey_file_are_refused_before_anything_starts(capsys):
    assert run(["demo", "--dataset", "mine.csv"], operations()) == 1
    assert "journey file" in capsys.readouterr().err


def test_sample_writes_the_demonstrations_files(tmp_path, capsys):
    assert run(["sample", str(tmp_path / "new"), "--members", "10", "--entities", "20"], operations()) == 0
    assert (tmp_path / "new" / "members.csv").read_text().count("\n") == 11
    assert "journey.toml" in capsys.readouterr().out
