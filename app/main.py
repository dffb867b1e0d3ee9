"""The composition root: reads the settings and hands each command what ``composition`` makes of them."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from app.cli.operations import Bootstrapped, Check, Operations, RunningService, TenantLine
from app.cli.program import run as run_program
from app.settings import Settings


def main() -> None:
    """Run the command line; status 2 if a setting is none: whoever reads a gate's status must not see 1."""
    try:
        settings = Settings()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            print(f"privacy-risk: {_variable(fault['loc'])}: {fault['msg']}", file=sys.stderr)
        sys.exit(2)
    sys.exit(run_program(sys.argv[1:], operations(settings)))


def _variable(place: Sequence[int | str]) -> str:
    """The environment variable that a fault of the settings is about."""
    name = str(place[0])
    return name if name.isupper() else f"PRIVACY_RISK_{name.upper()}"


def operations(settings: Settings) -> Operations:
    """The operator's verbs under these settings.

    Each loads what it needs when it is called: that takes seconds, and a command that asks a server needs
    none of it.
    """
    return Operations(
        start_service=_start_service,
        end_server=_end_server,
        serve=partial(_serve, settings),
        worker=partial(_work, settings),
        migrate=partial(_migrate, settings),
        bootstrap=partial(_bootstrap, settings),
        tenant=partial(_tenant, settings),
        doctor=partial(_doctor, settings),
        rotate_keys=partial(_rotate_keys, settings),
        backup=partial(_backup, settings),
        restore=partial(_restore, settings),
        openapi=_openapi,
    )


def _start_service(home: Path) -> RunningService:
    from app.composition.processes import start_service
    from app.composition.upkeep import bootstrap_demo

    return start_service(home, bootstrap_demo)


def _end_server(home: Path) -> None:
    from app.persistence.embedded import end_server

    end_server(home)


def _serve(settings: Settings, host: str | None, port: int | None) -> None:
    from app.composition.serving import serve

    serve(settings, host, port)


def _work(settings: Settings) -> None:
    from app.composition.working import work

    work(settings)


def _migrate(settings: Settings, revision: str) -> None:
    from app.composition.upkeep import migrate_database

    migrate_database(settings, revision)


def _bootstrap(settings: Settings, name: str, new_key: bool) -> Bootstrapped:
    from app.composition.upkeep import bootstrap_tenant

    return bootstrap_tenant(settings, name, new_key)


def _tenant(settings: Settings, name: str, texts: Mapping[str, str]) -> Sequence[TenantLine]:
    from app.composition.upkeep import tenant_as_set

    return tenant_as_set(settings, name, texts)


def _doctor(settings: Settings) -> Sequence[Check]:
    from app.composition.upkeep import examine

    return examine(settings)


def _rotate_keys(settings: Settings) -> int:
    from app.composition.upkeep import rotate_keys

    return rotate_keys(settings)


def _backup(settings: Settings, target: Path) -> None:
    from app.composition.upkeep import back_up

    back_up(settings, target)


def _restore(settings: Settings, source: Path) -> None:
    from app.composition.upkeep import put_back

    put_back(settings, source)


def _openapi() -> dict[str, Any]:
    from app.composition.serving import openapi_document

    return openapi_document()
