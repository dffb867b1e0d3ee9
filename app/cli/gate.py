"""``gate``: lets a release pass, or not, as a policy says; the exit status is the verdict."""

from __future__ import annotations

import argparse
import io
import os
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from app.cli.canonical_file import CANONICAL, check_canonical, write_canonical
from app.cli.error_text import EXPECTED, error_text
from app.cli.files import check_output, write_whole
from app.cli.gate_evidence import check_evidence, check_policy, check_report_page
from app.cli.gate_files import check_files, check_policy_file
from app.cli.gate_junit import junit_of
from app.cli.gate_markdown import markdown_of
from app.cli.gate_outline import outline_of
from app.cli.gate_question import Subject, add_subject_arguments, given_subject, policy_of
from app.cli.gate_sarif import sarif_of
from app.cli.gate_service import Gate, Told, service_client
from app.cli.gate_signing import (
    Own,
    add_signing_arguments,
    check_signing_arguments,
    requested_by,
    signed_here,
    signing_key,
)
from app.cli.gate_tables import roles_of_policy
from app.cli.gate_text import json_of, plan_text, text_of
from app.cli.gate_verdict import FAULT, Json, Kept, Outcome, Verdict, read_verdict
from app.cli.operations import Operations
from app.cli.plain_lines import plain_json, plain_lines
from app.cli.progress import Bar
from app.cli.unchanged_views import MEMBER, OPTION, earlier_of, without
from app.cli.verify import keys_beside
from app.domain.errors import InvalidInput
from app.evidence.canonical import sha256_of_bytes
from app.evidence.keys import keys_bytes
from privacy_risk import Client, Progress, Resource

FORMATS: Final[Mapping[str, Callable[[Outcome], str]]] = {
    "text": text_of,
    "json": json_of,
    "junit": junit_of,
    "sarif": sarif_of,
    "markdown": markdown_of,
}


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Declare the command."""
    parser = commands.add_parser(
        "gate",
        description="Judge a table under a rule, or a finished release, by a policy. Exit status: 0 it "
        "passes, 1 it fails, 2 there is no verdict. Only a pass is 0; a dry run, "
        "which judges nothing, is 0 if all is there.",
    )
    parser.add_argument("policy", metavar="POLICY", help="YAML or JSON file, or NAME[@VERSION] of the server")
    add_subject_arguments(parser)
    told = parser.add_argument_group("what is told")
    told.add_argument("--format", choices=FORMATS, default="text", help="of what is printed (default: text)")
    told.add_argument(
        "--output",
        action="append",
        default=[],
        metavar="[FORMAT=]FILE",
        help="write the outcome to a file, and print it as text; may be repeated",
    )
    told.add_argument("--report", type=Path, metavar="FILE", help="write the signed evidence")
    told.add_argument("--html", type=Path, metavar="FILE", help="write the evidence as a page to read")
    told.add_argument(
        CANONICAL, type=Path, metavar="FILE",
        help="if it passes, write the CSV file of --release in the one form that carries nothing but its "
        "cells; the evidence names both",
    )  # fmt: skip
    told.add_argument("--dry-run", action="store_true", help="say what judging would take, and judge nothing")
    told.add_argument("--quiet", action="store_true", help="no progress, and no text beside files")
    parser.add_argument(
        OPTION, type=Path, metavar="FILE",
        help="of views: evidence that this gate's key has signed. What it proves private and is unchanged "
        "is not judged again",
    )  # fmt: skip
    add_signing_arguments(parser)
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace, operations: Operations) -> int:
    """Judge; the exit status is 0 only for a verdict that says pass and was written wherever it was to be."""
    return guarded(lambda: _run(arguments, operations))


def guarded(command: Callable[[], int]) -> int:
    """The command's exit status; 2 for whatever goes wrong: never the 1 that means a verdict."""
    try:
        return command()
    except EXPECTED as error:
        print(plain_lines(f"privacy-risk: {error_text(error)}"), file=sys.stderr)
    except Exception:
        # A fault of this program must not be taken for a verdict either, as Python's own status 1 would be.
        traceback.print_exc()
    return FAULT


def _run(arguments: argparse.Namespace, operations: Operations) -> int:
    outputs = [_output(text, arguments.format) for text in arguments.output]
    for _, path in outputs:
        check_output("--output", path)
    files = (arguments.release, arguments.dataset, arguments.tables, Path(arguments.policy))
    check_canonical(arguments.write_canonical, arguments.release, files)
    if arguments.dry_run:
        return _dry_run(arguments, operations, outputs)
    outcome = _outcome(arguments, operations)
    if outcome.fault is not None:
        # Evidence of an earlier run must not lie in the place of a verdict: it may say pass.
        for path in (arguments.report, arguments.html):
            if path is not None and path.is_file():
                path.unlink()
    if outcome.canonical is None and arguments.write_canonical is not None:
        arguments.write_canonical.unlink(missing_ok=True)
    for format_, path in outputs:
        write_whole(path, FORMATS[format_](outcome).encode())
    if outcome.fault is not None:
        print(plain_lines(f"privacy-risk: {outcome.fault}"), file=sys.stderr)
    if not outputs:
        _print(FORMATS[arguments.format](outcome))
    elif not arguments.quiet:
        _print(text_of(outcome))
    return outcome.exit_code


def _dry_run(arguments: argparse.Namespace, operations: Operations, outputs: Sequence[object]) -> int:
    """Print what it would take; 0 says that it can be judged, not that it would pass."""
    written = (*outputs, arguments.report, arguments.html, arguments.write_canonical)
    if any(written) or arguments.format not in ("text", "json"):
        raise InvalidInput.of(
            "--dry-run",
            "nothing-to-write",
            "A dry run has no verdict to write.",
            f"Leave --output, --report, --html and {CANONICAL} out; --format is text or json.",
        )
    check_signing_arguments(arguments)
    if arguments.server is None:
        signing_key(arguments.signing_key, os.environ)
    with _asked(arguments, operations) as (policy, subject, client):
        plan = Gate(client, _told(arguments), believed=arguments.server is not None).plan(subject, policy)
    _print(plan_text(plan) if arguments.format == "text" else plain_json(plan))
    blocking = [own for own in plan.get("criteria") or () if own.get("severity") != "warn"]
    return FAULT if plan.get("missing") or any(own.get("error") for own in blocking) else 0


def _outcome(arguments: argparse.Namespace, operations: Operations) -> Outcome:
    """The outcome; what prevents a verdict is one too, so that reports say it where people look."""
    named = (
        arguments.views, arguments.stored_release, arguments.release, arguments.dataset, arguments.dataset_id,
        arguments.tables,
    )  # fmt: skip
    shown = next((str(own) for own in named if own is not None), "nothing")
    try:
        check_signing_arguments(arguments)
        key = None if arguments.server else signing_key(arguments.signing_key, os.environ)
        with _asked(arguments, operations) as (policy, subject, client):
            gate = Gate(client, _told(arguments), believed=arguments.server is not None)
            earlier = earlier_of(arguments.changed_since, key, arguments.server)
            unchanged = [] if earlier is None else earlier.unchanged(subject)
            judged = _judged(gate, client, without(subject, unchanged), policy)
            if earlier is not None and not earlier.has_basis_of(judged.envelope):
                unchanged, judged = [], _judged(gate, client, subject, policy)
            evaluation, verdict, envelope, evidence = judged
            if arguments.server is None:
                asked_by = requested_by(arguments.requested_by, os.environ)
                also = {MEMBER: {"evidence": earlier.sha256, "views": unchanged}} if earlier else {}
                own = signed_here(envelope, key, asked_by, subject, also)
                evidence, kept = _written_here(arguments, own, key)
            else:
                kept = _written(arguments, client, evaluation, envelope, evidence)
            outline = outline_of(client, policy, verdict)
            outcome = Outcome(
                arguments.policy,
                subject.shown,
                verdict,
                None,
                evaluation.name,
                evidence,
                kept,
                outline,
                subject.views,
                len(unchanged),
            )
            if arguments.write_canonical is None or outcome.exit_code != 0:
                return outcome
            judged_file = client.uploads.get(verdict.document["subject"]["release"]["upload"])
            write_canonical(arguments.write_canonical, arguments.release, judged_file.document)
            return replace(outcome, canonical=arguments.write_canonical)
    except EXPECTED as error:
        return Outcome(arguments.policy, shown, None, error_text(error))
    except Exception as error:
        traceback.print_exc()
        return Outcome(arguments.policy, shown, None, f"The command failed inside: {type(error).__name__}.")


class _Judged(NamedTuple):
    """A verdict with its evidence, as the service gives them."""

    evaluation: Resource
    verdict: Verdict
    envelope: bytes
    evidence: Json


def _judged(gate: Gate, client: Client, subject: Subject, policy: dict[str, Any] | str) -> _Judged:
    """The verdict and its evidence; InvalidInput unless they belong together and to the policy."""
    evaluation = gate.evaluate(subject, policy)
    verdict = read_verdict(evaluation.document.get("result"))
    check_policy(verdict, policy)
    envelope = client.evaluations.evidence(evaluation.id)
    evidence = check_evidence(envelope, evaluation.document.get("evidence"), evaluation.name, verdict)
    return _Judged(evaluation, verdict, envelope, evidence)


@contextmanager
def _asked(
    arguments: argparse.Namespace, operations: Operations
) -> Iterator[tuple[dict[str, Any] | str, Subject, Client]]:
    """What is asked of whom; InvalidInput for what can be told to be wrong before a service is started."""
    for option in ("report", "html", "keys"):
        check_output(f"--{option}", getattr(arguments, option))
    policy = policy_of(arguments.policy, arguments.server is not None)
    with given_subject(arguments) as subject:
        is_described = not isinstance(subject.dataset, Path) or subject.tables is not None
        # A service that runs reads policies itself, by its own version; but one that should describe the
        # columns and does not gets no further, and what else is wrong with it may be why.
        runs = arguments.server or operations.running_service()
        if isinstance(policy, dict) and not (runs and (is_described or roles_of_policy(policy))):
            check_policy_file(Path(arguments.policy), policy)
        if isinstance(subject.dataset, Path):
            check_files(subject, policy if isinstance(policy, dict) else {})
        with service_client(arguments.server, operations) as client:
            yield policy, subject, client


def _written(
    arguments: argparse.Namespace, client: Client, evaluation: Resource, envelope: bytes, evidence: Json
) -> Kept:
    """Write a server's evidence where it was asked for."""
    if arguments.report is not None:
        write_whole(arguments.report, envelope)
    if arguments.html is not None:
        page = client.evaluations.report(evaluation.id)
        check_report_page(page, evidence)
        write_whole(arguments.html, page.encode())
    return Kept("service", arguments.report, None)


def _written_here(arguments: argparse.Namespace, own: Own, key: object) -> tuple[Json, Kept]:
    """Write the evidence that the command has signed, its public key first, and the page made from it."""
    beside, page = None, b""
    if arguments.html is not None:
        # Pages load templates and pictures, which nobody else waits for.
        from app.reports.page import render_page

        page = render_page(own.envelope).encode()
    if arguments.report is not None:
        beside = arguments.keys or keys_beside(arguments.report)
        write_whole(beside, keys_bytes([own.key]))
        write_whole(arguments.report, own.envelope)
    if arguments.html is not None:
        write_whole(arguments.html, page)
    kept = Kept("temporary" if key is None else "pipeline", arguments.report, beside)
    return {"id": None, "sha256": sha256_of_bytes(own.envelope)}, kept


def _output(text: str, default: str) -> tuple[str, Path]:
    format_, separator, path = text.partition("=")
    if separator and format_ in FORMATS:
        return format_, Path(path)
    return default, Path(text)


def _told(arguments: argparse.Namespace) -> Told:
    """A bar on a terminal that somebody watches; nothing anywhere else."""
    if arguments.quiet or "CI" in os.environ or not sys.stderr.isatty():
        return lambda progress: None
    bar = Bar(sys.stderr)

    def tell(progress: Progress) -> None:
        bar.progress("gate", progress)

    return tell


def _print(text: str) -> None:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # What the terminal's encoding cannot write must not cost the verdict.
        sys.stdout.reconfigure(errors="backslashreplace")
    sys.stdout.write(text)
    # An error of the last write must be met here, where it still changes the exit status.
    sys.stdout.flush()
