"""The composition root: reads the settings and hands each command what ``composition`` makes of them."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable, Sequence
from functools import cache
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from app.cli.operations import Operations
from app.cli.program import parser_for, told
from app.home import is_service_announced

if TYPE_CHECKING:
    from app.settings import Settings


def main() -> None:
    """Run the command line; status 2 if a setting is none: whoever reads a gate's status must not see 1."""
    # What is loaded here stays: looking for garbage in it takes a tenth of the time.
    gc.disable()
    argv = sys.argv[1:]
    arguments = parser_for(argv).parse_args(argv)
    gc.enable()
    sys.exit(told(lambda: arguments.run(arguments, operations(cache(_settings_read)))))


def _settings_read() -> Settings:
    """The settings of the environment, when a command first needs one: many need none."""
    from pydantic import ValidationError

    from app.settings import Settings

    try:
        return Settings()
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            of = f"{_variable(fault['loc'])}: " if fault["loc"] else ""  # some are of several together
            print(f"privacy-risk: {of}{fault['msg']}", file=sys.stderr)
        sys.exit(2)


def _variable(place: Sequence[int | str]) -> str:
    """The environment variable that a fault of the settings is about."""
    name = str(place[0])
    return name if name.isupper() else f"PRIVACY_RISK_{name.upper()}"


def operations(settings: Callable[[], Settings]) -> Operations:
    """The operator's verbs under the settings that this gives."""
    running_service = _verb("composition.kept:running_service", settings)
    return Operations(
        start_service=_verb("composition.commanded:start_service", settings),
        running_service=cache(lambda: running_service() if is_service_announced() else None),
        end_server=_verb("persistence.embedded:end_server"),
        serve=_verb("composition.service:serve", settings),
        serve_in_background=_verb("composition.kept:serve_in_background", settings),
        stop_service=_verb("composition.kept:stop_service", settings),
        worker=_verb("composition.working:worker", settings),
        migrate=_verb("composition.upkeep:migrate", settings),
        bootstrap=_verb("composition.upkeep:bootstrap", settings),
        tenant=_verb("composition.upkeep:tenant", settings),
        doctor=_verb("composition.upkeep:doctor", settings),
        rotate_keys=_verb("composition.upkeep:rotate_keys", settings),
        backup=_verb("composition.upkeep:backup", settings),
        restore=_verb("composition.upkeep:restore", settings),
        purge=_verb("composition.upkeep:purge", settings),
        openapi=_verb("composition.serving:openapi"),
    )


def _verb(place: str, *settings: Callable[[], Settings]) -> Callable[..., Any]:
    """The function at this place, which is loaded when it is called.

    That takes seconds, and a command that asks a server needs none of it.
    """
    return lambda *arguments, **options: resolve_name(f"app.{place}")(
        *(read() for read in settings), *arguments, **options
    )
