"""The operator's commands: tenants, serving, migrate, bootstrap, doctor, keys, backups, purge, openapi."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from app.cli.operations import Operations
from app.settings import MOST_PROCESSES

Command = Callable[[argparse.Namespace, Operations], int | None]
"""Does what was asked; its exit status, None for 0."""
Declare = Callable[[str, Command], argparse.ArgumentParser]
"""Declares a command by its name and what it does."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the commands."""

    def command(name: str, run: Command) -> argparse.ArgumentParser:
        parser = commands.add_parser(name)
        parser.set_defaults(run=run)
        return parser

    tenant = command("tenant", run_tenant)
    tenant.add_argument("tenant", help="the tenant's name")
    tenant.add_argument(
        "settings", nargs="*", type=_setting, metavar="SETTING=VALUE",
        help="a whole number, unlimited, or default; without any, all are shown",
    )  # fmt: skip
    _add_serving(command)
    bootstrap = command("bootstrap", run_bootstrap)
    bootstrap.add_argument("tenant", nargs="?", default="default", help="the tenant's name")
    bootstrap.add_argument(
        "--new-key", action="store_true", help="issue another key if the tenant exists (the first was lost)"
    )
    command("doctor", run_doctor)
    command("rotate-keys", run_rotate_keys)
    backup = command("backup", run_backup)
    backup.add_argument("file", type=Path, help="the file to write; the master key is not in it")
    restore = command("restore", run_restore)
    restore.add_argument("file", type=Path, help="a file that backup wrote")
    command("purge", run_purge)
    openapi = command("openapi", run_openapi)
    openapi.add_argument("--output", type=Path, help="write it to this file instead")
    openapi.add_argument(
        "--check",
        type=Path,
        nargs="?",
        const=Path("openapi/openapi.json"),
        help="fail if this file (default: openapi/openapi.json) holds another document",
    )


def _add_serving(command: Declare) -> None:
    """Declare what a service runs as."""
    serve = command(
        "serve",
        run_serve,
    )
    serve.add_argument("--host", help="address to listen on (default: PRIVACY_RISK_HOST)")
    serve.add_argument("--port", type=int, help="port to listen on (default: PRIVACY_RISK_PORT)")
    serve.add_argument(
        "--processes", type=_processes, metavar="N",
        help="processes that answer requests, 0 for one per core (default: PRIVACY_RISK_PROCESSES)",
    )  # fmt: skip
    kept = serve.add_mutually_exclusive_group()
    kept.add_argument(
        "--background", action="store_true",
        help="keep a service running for this home, which commands ask instead of starting their own",
    )  # fmt: skip
    kept.add_argument("--stop", action="store_true", help="end the service that runs for this home")
    command("worker", lambda _, operations: operations.worker())
    migrate = command(
        "migrate",
        lambda asked, operations: operations.migrate(asked.revision, asked.wait),
    )
    migrate.add_argument("revision", nargs="?", default="head", help="where to (default: head)")
    migrate.add_argument(
        "--wait", type=float, default=0, metavar="SECONDS",
        help="how long to wait for a server that does not take connections yet (default: not at all)",
    )  # fmt: skip


def run_serve(arguments: argparse.Namespace, operations: Operations) -> int:
    """Serve, here until interrupted or in the background; or end what serves."""
    given = {name: getattr(arguments, name) for name in ("host", "port", "processes")}
    if arguments.stop:
        print(operations.stop_service())
    elif arguments.background:
        options = [f"--{name}={value}" for name, value in given.items() if value is not None]
        print("A service for this home is being started or found …", file=sys.stderr)
        address, ran_already = operations.serve_in_background(options)
        runs = "runs already" if ran_already else "runs in the background"
        print(f"pages: {address}/\n{runs}, until: python -m app serve --stop")
    else:
        operations.serve(*given.values())
    return 0


def run_tenant(arguments: argparse.Namespace, operations: Operations) -> int:
    """Change what is asked for, and print all settings."""
    lines = operations.tenant(arguments.tenant, dict(arguments.settings))
    width = max(len(line.name) for line in lines)
    for line in lines:
        value = "unlimited" if line.value is None else f"{line.value:,}"
        used = "" if line.used is None else f"{line.used:,} of "
        told = f"{used}{value}" + ("" if line.is_own else " (default)")
        print(f"{line.name:<{width}}  {told:<40} {line.meaning}")
    return 0


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form SETTING=VALUE")
    return name, value


def _processes(text: str) -> int:
    if not text.isdecimal() or int(text) > MOST_PROCESSES:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 0 to {MOST_PROCESSES}")
    return int(text)


def run_bootstrap(arguments: argparse.Namespace, operations: Operations) -> int:
    """Make the tenant and show its key, this once: alone on standard output, for ``KEY=$(…)``."""
    made = operations.bootstrap(arguments.tenant, arguments.new_key)
    print(f"Key of the tenant {made.tenant_name} ({made.tenant_id}), shown this once:", file=sys.stderr)
    print(made.api_key)
    return 0


def run_doctor(arguments: argparse.Namespace, operations: Operations) -> int:
    """Print the findings; 1 if one of them is bad."""
    checks = operations.doctor()
    for check in checks:
        print(f"{'ok  ' if check.passed else 'BAD '} {check.name}: {check.message}")
        if not check.passed:
            print(f"     {check.remedy}")
    return 0 if all(check.passed for check in checks) else 1


def run_rotate_keys(arguments: argparse.Namespace, operations: Operations) -> int:
    """Rewrap the data and signing keys."""
    print(f"{operations.rotate_keys()} keys are wrapped with the current master key.")
    return 0


def run_backup(arguments: argparse.Namespace, operations: Operations) -> int:
    """Write the backup."""
    operations.backup(arguments.file)
    print(f"Wrote {arguments.file}. It cannot be read without the master key: keep that elsewhere.")
    return 0


def run_restore(arguments: argparse.Namespace, operations: Operations) -> int:
    """Restore the backup."""
    operations.restore(arguments.file)
    print(f"Restored {arguments.file}; it is read with the master key of the service that was backed up.")
    return 0


def run_purge(arguments: argparse.Namespace, operations: Operations) -> int:
    """Purge, and say what is left to do."""
    left = operations.purge()
    print("The tables are written anew, without what was deleted.")
    if left:
        print("Until PostgreSQL's superuser has done this there, the write-ahead log and statistics hold it:")
        print("\n".join(f"  {statement};" for statement in left))
    return 0


def run_openapi(arguments: argparse.Namespace, operations: Operations) -> int:
    """Print, write or compare the document."""
    document = operations.openapi()
    if arguments.check is not None:
        if json.loads(arguments.check.read_text(encoding="utf-8")) == document:
            return 0
        print(
            f"{arguments.check} is not the document of this code: "
            f"run `python -m app openapi --output {arguments.check}` and read the difference.",
            file=sys.stderr,
        )
        return 1
    text = json.dumps(document, indent=2, ensure_ascii=False)
    if arguments.output is not None:
        arguments.output.write_text(text + "\n", encoding="utf-8")
    else:
        print(text)
    return 0
