"""What ``policy`` does with its files."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from app.cli.error_text import EXPECTED, error_text
from app.cli.operations import Operations
from app.cli.plain_lines import plain_lines
from app.cli.policy_table import check_table
from app.domain.errors import Fault, InvalidInput, NotFound, TooLarge
from app.domain.policies.difference import difference
from app.domain.policies.findings import Findings, Lint
from app.domain.policies.policy import Policy
from app.services.datasets.structured_text import StructuredText, read_json, read_yaml
from app.services.gates.policies import NAMES, NEWEST, checked_policy, template, templates
from app.services.gates.policy_documents import policy_of

DONE: Final = 0
WRONG: Final = 1
UNREADABLE: Final = 2


class _Unreadable(Exception):
    """The file is not there, or no YAML or JSON."""


def _lint(arguments: argparse.Namespace, operations: Operations) -> int:
    path: Path = arguments.file
    try:
        text = _read(path)
        checked = checked_policy(text.value)
        beside = _of_table(checked.policy, arguments, operations)
        over = () if checked.lint.errors else _over_tables(checked.policy, arguments.relational_schema)
    except _Unreadable as error:
        return _refuse(error)
    found = Lint((*checked.lint.errors, *over), (*checked.lint.warnings, *beside))
    if arguments.json:
        document = {
            "errors": [dataclasses.asdict(own) for own in found.errors],
            "warnings": [dataclasses.asdict(own) for own in found.warnings],
        }
        print(json.dumps(document, ensure_ascii=False, indent=2))
        return WRONG if found.errors else DONE
    _print_faults(path, text, "error", found.errors)
    _print_faults(path, text, "warning", found.warnings)
    errors, warnings = len(found.errors), len(found.warnings)
    name = "not a policy" if checked.policy is None else f"{checked.policy.name}@{checked.policy.version}"
    print(f"{path}: {name}, {_counted(errors, 'error')}, {_counted(warnings, 'warning')}")
    return WRONG if errors else DONE


def _of_table(
    policy: Policy | None, arguments: argparse.Namespace, operations: Operations
) -> tuple[Fault, ...]:
    """What the table or dataset that was named says of the policy, if it is one."""
    found = Findings()
    if policy is not None:
        try:
            check_table(policy, arguments, operations, found)
        except EXPECTED as error:
            raise _Unreadable(plain_lines(error_text(error))) from None
    return found.lint().warnings


def _over_tables(policy: Policy | None, path: Path | None) -> tuple[Fault, ...]:
    """What the tables that were named say of the secrets of a policy that is well written."""
    if policy is None or path is None:
        return ()
    # What reads SQL is loaded for this alone.
    from app.cli.given_views import MOST_CHARACTERS_OF_A_SCHEMA, text_of
    from app.services.gates.secret_queries import lint_over

    try:
        return lint_over(policy, text_of(path, MOST_CHARACTERS_OF_A_SCHEMA))
    except InvalidInput as error:
        raise _Unreadable(plain_lines(f"{path}: {error_text(error)}")) from None


def _diff(arguments: argparse.Namespace, operations: Operations) -> int:
    found: list[Policy] = []
    for path in (arguments.old, arguments.new):
        try:
            text = _read(path)
        except _Unreadable as error:
            return _refuse(error)
        try:
            found.append(policy_of(text.value))
        except InvalidInput as error:
            _print_faults(path, text, "error", error.faults)
            return WRONG
    print(difference(*found).text())
    return DONE


def _template(arguments: argparse.Namespace, operations: Operations) -> int:
    if arguments.name is None:
        for own in templates():
            print(f"{own.policy.name:<27} {own.policy.title}")
        return DONE
    try:
        found = template(arguments.name)
    except NotFound:
        return _refuse(
            _Unreadable(f"there is no template {arguments.name!r}, only {', '.join(NAMES[NEWEST])}")
        )
    print(found.text, end="")
    return DONE


def _read(path: Path) -> StructuredText:
    try:
        text = path.read_text(encoding="utf-8-sig")
        return (read_json if path.suffix == ".json" else read_yaml)(text)
    except OSError as error:
        raise _Unreadable(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise _Unreadable(f"{path}: it is no text in UTF-8") from None
    except (InvalidInput, TooLarge) as error:
        raise _Unreadable(f"{path}: {error.message} {error.remedy}".rstrip()) from None


def _print_faults(path: Path, text: StructuredText, kind: str, faults: tuple[Fault, ...]) -> None:
    for fault in faults:
        line = text.line_of(fault.pointer)
        place = f"{path}:{line}" if line else f"{path}"
        print(f"{place}: {kind} [{fault.code}] {fault.pointer or '/'}: {fault.message}")
        if fault.remedy:
            print(f"    {fault.remedy}")


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _refuse(error: _Unreadable) -> int:
    print(f"privacy-risk: {error}", file=sys.stderr)
    return UNREADABLE


ACTIONS: Final[Mapping[str, Callable[[argparse.Namespace, Operations], int]]] = {
    "lint": _lint,
    "diff": _diff,
    "template": _template,
}
