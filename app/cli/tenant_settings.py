"""``tenant NAME [SETTING=VALUE …]``: how long a tenant's data are kept and how much it may have."""

from __future__ import annotations

import argparse

from app.cli.operations import Operations, TenantLine


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    tenant = commands.add_parser("tenant", help="show or change a tenant's retention and quotas")
    tenant.add_argument("tenant", help="the tenant's name")
    tenant.add_argument(
        "settings",
        nargs="*",
        type=_setting,
        metavar="SETTING=VALUE",
        help="a whole number, unlimited, or default; without any, all are shown",
    )
    tenant.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Change what is asked for, and print all settings."""
    lines = operations.tenant(arguments.tenant, dict(arguments.settings))
    width = max(len(line.name) for line in lines)
    for line in lines:
        print(f"{line.name:<{width}}  {_value(line):<40} {line.meaning}")
    return 0


def _value(line: TenantLine) -> str:
    value = "unlimited" if line.value is None else f"{line.value:,}"
    used = "" if line.used is None else f"{line.used:,} of "
    return f"{used}{value}" + ("" if line.is_own else " (default)")


def _setting(text: str) -> tuple[str, str]:
    name, found, value = text.partition("=")
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form SETTING=VALUE")
    return name, value
